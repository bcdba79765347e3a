"""``PipelineConfig``: the structure of a pipeline, and the counts that follow from it."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.document.fields import judge
from warploom.document.ops import OpDesc
from warploom.errors import ConfigError
from warploom.seed.config.parts import BlockSizing, FragOrder, LoopCarriedSpec, WarpStaggerRule

MAX_DEPTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineConfig:
    """How a logical loop body becomes a pipeline: depth, grid, partitions, counters.

    Attributes:
        depth: Buffers of the ring: 1 single, 2 double, up to 8; one K-partition each.
        prefetch: Distance of the DRAM prefetch in iterations; 1, since depth reaches further.
        drain_passes: K-tiles the epilogue drains: a description, partitions decide.
        prologue_fill: Extra load iterations in the prologue: a description, depth decides.
        loop_carried: Ops that cross the loop boundary.
        block_sizing: How many ops an MMA block takes.
        frag_order: Fragment order inside a block.
        m_mmas: Rows of the MMA grid of one partition.
        n_mmas: Columns of the MMA grid of one partition.
        num_partitions: K-partitions in one loop body.
        mma_serial: Whether the matrix unit is serial in the model orders are judged by.
        mma_latency: Matrix latency in cycles: a description, the cost model decides.
        vm_per_load_a: vmcnt units of one channel-A global load.
        vm_per_load_b: vmcnt units of one channel-B global load.
        lgkm_per_load_a: lgkmcnt units of one channel-A fragment load; 0 uses ScheduleConfig's.
        lgkm_per_load_b: lgkmcnt units of one channel-B fragment load; 0 uses ScheduleConfig's.
        ch0_match_field: MMA field a channel-0 fragment matches: 0 row (stage), 1 column.
        ch1_match_field: MMA field the other channels' fragments match.
        warp_stagger: Where the second wave group falls behind.
        cross_stage_rotation: Fragments are read from the other stage on purpose (4-wave).
    """

    depth: int
    prefetch: int
    drain_passes: int
    prologue_fill: int
    loop_carried: LoopCarriedSpec
    block_sizing: BlockSizing
    frag_order: FragOrder
    m_mmas: int
    n_mmas: int
    num_partitions: int
    mma_serial: bool
    mma_latency: int
    vm_per_load_a: int
    vm_per_load_b: int
    lgkm_per_load_a: int = 0
    lgkm_per_load_b: int = 0
    ch0_match_field: int
    ch1_match_field: int
    warp_stagger: WarpStaggerRule
    cross_stage_rotation: bool = False

    def __post_init__(self) -> None:
        why = {"depth": "every buffer of the ring holds a whole tile of shared memory"}
        fields = dict.fromkeys(("ch0_match_field", "ch1_match_field"), (None, None))
        judge(self, bounds={"depth": (0, MAX_DEPTH), **fields}, why=why)
        for name in ("ch0_match_field", "ch1_match_field"):
            if getattr(self, name) not in (0, 1):
                raise ConfigError(
                    f"{name} = {getattr(self, name)} names no field",
                    where=f"PipelineConfig.{name}",
                    fix="0 matches the MMA's row (stage), 1 its column (subtile)",
                )

    def mmas_per_partition(self) -> int:
        """MMAs of one partition."""
        return self.m_mmas * self.n_mmas

    def globals_per_partition(self) -> int:
        """Global loads of one partition: A and B tiles."""
        return self.m_mmas + self.n_mmas

    def frags_per_partition(self) -> int:
        """Fragment loads of one partition: A and B fragments."""
        return self.m_mmas + self.n_mmas

    def ops_per_partition(self) -> int:
        """Data ops of one partition."""
        return self.globals_per_partition() + self.frags_per_partition() + self.mmas_per_partition()

    def total_ops(self) -> int:
        """Data ops of the body."""
        return self.num_partitions * self.ops_per_partition()

    def blocks_per_partition(self) -> int:
        """MMA blocks of one partition: one per MMA."""
        return self.mmas_per_partition()

    def total_blocks(self) -> int:
        """MMA blocks of the body."""
        return self.num_partitions * self.blocks_per_partition()

    def compute_match_key(self, compute_op: OpDesc, channel: int) -> int:
        """The field of an MMA that a fragment on ``channel`` must match."""
        match_field = self.ch0_match_field if channel == 0 else self.ch1_match_field
        return compute_op.stage if match_field == 0 else compute_op.subtile

    def vm_per_channel(self, channel: int) -> int:
        """vmcnt units of a global load on ``channel`` (0 is A, anything else B)."""
        return self.vm_per_load_a if channel == 0 else self.vm_per_load_b

    def lgkm_per_channel(self, channel: int) -> int:
        """lgkmcnt units of a fragment load on ``channel``; 0 if unset."""
        return self.lgkm_per_load_a if channel == 0 else self.lgkm_per_load_b

    def total_edges(self) -> int:
        """Dependence edges of the ping-pong body: closed form, informational."""
        g = self.globals_per_partition()
        mn, h = self.mmas_per_partition(), self.num_partitions
        return 2 * h * mn + 2 * mn + 2 * h * g + 2 * (2 * g - 1)
