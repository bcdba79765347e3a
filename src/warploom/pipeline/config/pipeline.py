"""``PipelineConfig``: the structure of a pipeline, and the small records of configurations."""

from __future__ import annotations

import inspect
from enum import Enum

from warploom.dataclass import dataclass
from warploom.errors import ConfigError
from warploom.ir.schedule_ops import OpDesc, OpRole
from warploom.ir.validation import check_fields


def field_docs(cls: type) -> dict[str, str]:
    """Field name -> description."""
    docs: dict[str, str] = {}
    name = ""
    for line in (inspect.getdoc(cls) or "").partition("Attributes:")[2].splitlines():
        indent = len(line) - len(line.lstrip())
        head, colon, rest = line.strip().partition(": ")
        if colon and indent == 4 and head.isidentifier():
            name = head
            docs[name] = rest
        elif name and line.strip():
            docs[name] += " " + line.strip()
    return docs


class SchedulingStrategy(Enum):
    """How the ops of a body are put in order.

    MODULO minimises the initiation interval and derives lags, buffer depths and phases as well.
    AUTO takes the best of many orders, each synchronised, verified and simulated.
    """

    IDENTITY = 0
    GREEDY = 1
    CSP = 2
    MODULO = 3
    AUTO = 4


@dataclass(frozen=True, slots=True)
class LoopCarriedSpec:
    """Which ops cross the loop boundary: those of ``role`` with subtile ``selector``."""

    role: OpRole
    selector: int

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def fragment_zero(cls) -> LoopCarriedSpec:
        """The fragment load of subtile 0."""
        return cls(OpRole.FRAGMENT_LOAD, 0)

    @classmethod
    def none(cls) -> LoopCarriedSpec:
        """No role. The selector is still 0, which some derivations look at."""
        return cls(OpRole.NONE, 0)


@dataclass(frozen=True, slots=True)
class BlockSizing:
    """How many ops an MMA block takes: ``heavy`` when it opens a row, else ``light``.

    ``max_globals`` caps the global loads of a block; 0 means no cap.
    """

    heavy: int
    light: int
    max_globals: int = 0

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def default_2x2(cls) -> BlockSizing:
        """The sizing of a 2x2 grid: 4 and 2, no cap."""
        return cls(4, 2, 0)

    @classmethod
    def uniform(cls, n: int) -> BlockSizing:
        """The same size for every block."""
        return cls(n, n, 0)


@dataclass(frozen=True, slots=True)
class FragOrder:
    """Whether a block reads its B fragment before its A fragment."""

    b_before_a: bool

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def b_first(cls) -> FragOrder:
        """B, then A."""
        return cls(True)

    @classmethod
    def a_first(cls) -> FragOrder:
        """A, then B."""
        return cls(False)


@dataclass(frozen=True, slots=True)
class WarpStaggerRule:
    """Where the second wave group falls behind: nowhere, after the stage-0 loads, or fixed."""

    enabled: bool
    compute_from_body: bool
    fixed_amount: int

    def __post_init__(self) -> None:
        check_fields(self, why={"fixed_amount": "it is the index of a prologue entry"})

    @classmethod
    def none(cls) -> WarpStaggerRule:
        """No stagger."""
        return cls(False, False, 0)

    @classmethod
    def auto(cls) -> WarpStaggerRule:
        """After the prefetches of stage 0."""
        return cls(True, True, 0)

    @classmethod
    def fixed(cls, amount: int) -> WarpStaggerRule:
        """Before prologue entry ``amount``."""
        return cls(True, False, amount)


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
        mma_serial: Whether the matrix unit is serial in the model orders are checked by.
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
        check_fields(self, bounds={"depth": (0, MAX_DEPTH), **fields}, why=why)
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
