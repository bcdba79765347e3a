"""The reference's rules: where waits, barriers, priorities and drains stand in each block."""

from collections.abc import Sequence
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.ir.schedule_ops import OpDesc, OpRole
from warploom.ir.validation import instance, integer
from warploom.pipeline.block_expand.program import Program, blocks_of
from warploom.pipeline.block_expand.spec import MMABlockSpec
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.config.schedule import SchedulePolicy
from warploom.pipeline.sync.marks import derived

_ABSENT = OpDesc.none()
_DRAIN = derived(OpDesc.wait_lgkm(0))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a block stands in its partition, and how its fragments cross stages."""

    position: int
    last: bool
    first_cross: bool
    top_drain: bool

    @property
    def has_entry_wait(self) -> bool:
        return self.first_cross or self.top_drain


def main_wait_vm(body: Sequence[OpDesc], config: PipelineConfig) -> int:
    """The count of entry waits: prefetch units of an iteration, less one partition's share."""
    total = sum(
        config.vm_per_channel(op.channel)
        for op in body
        if op.role is OpRole.GLOBAL_LOAD and op.is_prefetch()
    )
    return total - total // config.num_partitions if config.num_partitions > 0 else total


def guard_blocks(
    blocks: Sequence[MMABlockSpec],
    body: Sequence[OpDesc],
    config: PipelineConfig,
    policy: SchedulePolicy,
) -> list[MMABlockSpec]:
    """Give every block its waits, barriers, priorities, drain and fences."""
    count = main_wait_vm(body, config)
    flags, out = policy.flags, []
    for b, (block, place) in enumerate(zip(blocks, _places(blocks, config), strict=True)):
        guarded, after_barrier = _with_waits(block, place, count, policy)
        guarded = _with_barriers(guarded, place, after_barrier, policy)
        stated = {"drain_lgkm_before_loads"} if not policy.derives_drains else set()
        if place.last and flags.lgkm_after_last:
            stated.add("post_barrier_lgkm")
        out.append(
            replace(
                guarded,
                stated=frozenset(stated),
                trailing_sched_barrier=bool(flags.sched_barrier_mask >> b & 1),
                drain_lgkm_before_loads=bool(
                    flags.drain_lgkm_mask >> b & 1 and block.fragments and block.loads
                ),
                global_before_frag=flags.global_before_frag,
                barrier_before_pre_ops=flags.barrier_before_pre_ops,
                wrap_waits_with_sched_barrier=flags.wrap_waits_with_sched_barrier,
            )
        )
    return out


def _places(blocks: Sequence[MMABlockSpec], config: PipelineConfig) -> list[_Place]:
    per_partition = config.blocks_per_partition()
    places = []
    for p in range(config.num_partitions):
        part = blocks[p * per_partition : (p + 1) * per_partition]
        cross = [any(f.stage != p for f in block.fragments) for block in part]
        for i in range(len(part)):
            places.append(
                _Place(
                    position=i,
                    last=i == per_partition - 1,
                    first_cross=cross[i] and not any(cross[:i]),
                    top_drain=i == 0 and any(cross),
                )
            )
    return places


def _with_waits(
    block: MMABlockSpec, place: _Place, count: int, policy: SchedulePolicy
) -> tuple[MMABlockSpec, bool]:
    """The block with its waits, and whether a post-barrier lgkm wait is wanted."""
    flags = policy.flags
    entry = derived(OpDesc.wait_vm(count)) if place.has_entry_wait else _ABSENT
    at_entry = flags.minimal_barriers and place.has_entry_wait
    block = replace(block, entry_wait=entry)
    if place.position == 0 and policy.lgkm_first is not None:
        wait = _DRAIN if at_entry else policy.placed(OpDesc.wait_lgkm(policy.lgkm_first))
        return _with_lgkm(block, wait, at_entry=at_entry), True
    if place.first_cross:
        return _with_lgkm(block, _DRAIN, at_entry=at_entry), True
    if place.last:
        manual = policy.placed(OpDesc.wait_vm(flags.wait_vm_last))
        return replace(block, pre_sync=manual), flags.lgkm_after_last
    if flags.inter_block_lgkm_drain:
        drain = _DRAIN if "inter_block_lgkm_drain" in policy.forced else OpDesc.wait_lgkm(0)
        return _with_lgkm(block, drain, at_entry=True), True
    return block, True


def _with_lgkm(block: MMABlockSpec, wait: OpDesc, *, at_entry: bool) -> MMABlockSpec:
    return replace(block, entry_wait_lgkm=wait) if at_entry else replace(block, pre_sync=wait)


def _with_barriers(
    block: MMABlockSpec, place: _Place, after_barrier: bool, policy: SchedulePolicy
) -> MMABlockSpec:
    if not policy.flags.minimal_barriers:  # on both sides of every MMA, with priorities
        return replace(block, post_barrier_lgkm=after_barrier)
    first = place.position == 0
    return replace(
        block,
        pre_mma_barrier=policy.barrier_at_top and first and not place.has_entry_wait,
        pre_mma_set_prio=not policy.flags.omit_mma_set_prio and (first or place.first_cross),
        post_mma_barrier=False,
        post_mma_set_prio=False,
        post_barrier_lgkm=False,
    )


def derive_waits_from_blocks(
    program: Program, config: PipelineConfig, lgkm_per_a: int = 0, lgkm_per_b: int = 0
) -> tuple[int, int]:
    """(lgkm count of each partition's first block, vm count of its last), from the loads.

    ``program`` may be its blocks alone. ``lgkm_per_a`` and ``lgkm_per_b`` are the lgkmcnt units of
    a fragment load where the pipeline config states none.

    A load into this partition's own stage is a prefetch and may stay in flight; one into another
    stage completes a tile that is read next and must land before the partition ends.
    """
    owner = "derive_waits_from_blocks"
    blocks = blocks_of(program, owner)
    instance(config, PipelineConfig, "config", owner)
    integer(lgkm_per_a, "lgkm_per_a", owner, least=0)
    integer(lgkm_per_b, "lgkm_per_b", owner, least=0)
    lgkm_fallback = (lgkm_per_a, lgkm_per_b)
    per_partition = config.blocks_per_partition()
    lgkm_first, vm_last = 0, 255
    for p in range(config.num_partitions):
        part = blocks[p * per_partition : (p + 1) * per_partition]
        first = sum(_lgkm(op.channel, config, lgkm_fallback) for b in part[:1] for op, _ in b.loads)
        in_flight = sum(
            config.vm_per_channel(op.channel) for b in part for op, _ in b.loads if op.stage == p
        )
        lgkm_first, vm_last = max(lgkm_first, first), min(vm_last, in_flight)
    return lgkm_first, vm_last


def _lgkm(channel: int, config: PipelineConfig, fallback: tuple[int, int]) -> int:
    return lgkm_units(config, fallback)[0 if channel == 0 else 1]


def lgkm_units(config: PipelineConfig, fallback: tuple[int, int]) -> tuple[int, int]:
    """lgkmcnt units of a fragment load, per channel: the pipeline's, or where it has none these."""
    return config.lgkm_per_load_a or fallback[0], config.lgkm_per_load_b or fallback[1]


derive_wait_counts = derive_waits_from_blocks  # the name the documents use


def derive_drain_mask(program: Program, config: PipelineConfig | None = None) -> int:
    """Blocks whose fragments and first load use different channels, as a bit mask.

    ``config`` is taken as documented and decides nothing: the blocks name their channels.
    """
    if config is not None:
        instance(config, PipelineConfig, "config", "derive_drain_mask")
    mask = 0
    for b, block in enumerate(blocks_of(program, "derive_drain_mask")):
        if block.global_load.is_present() and any(
            f.channel >= 0 and f.channel != block.global_load.channel for f in block.fragments
        ):
            mask |= 1 << b
    return mask


def apply_derived_waits(
    blocks: Sequence[MMABlockSpec],
    config: PipelineConfig,
    policy: SchedulePolicy,
    counts: tuple[int, int],
) -> list[MMABlockSpec]:
    """Put derived counts into each partition's first and last block, and derived drains."""
    per_partition = config.blocks_per_partition()
    lgkm_first, vm_last = counts
    out = _with_drains(blocks, policy)
    if per_partition == 0:
        return out
    for first in range(0, len(out), per_partition):
        if lgkm_first < 255:
            bound = _outstanding(out[first], lgkm_first, lgkm_units(config, policy.lgkm_fallback))
            wait = derived(OpDesc.wait_lgkm(0 if policy.flags.barrier_before_pre_ops else bound))
            at_entry = policy.flags.minimal_barriers and out[first].entry_wait.is_present()
            out[first] = (
                replace(out[first], entry_wait_lgkm=wait, pre_sync=_ABSENT)
                if at_entry
                else replace(out[first], pre_sync=wait)
            )
        last = first + per_partition - 1
        out[last] = replace(out[last], pre_sync=derived(OpDesc.wait_vm(vm_last)))
    return out


def _outstanding(block: MMABlockSpec, derived: int, units: tuple[int, int]) -> int:
    """The derived count, but no more than this partition's own first block leaves outstanding.

    The count is derived for the partition that loads most; a partition that loads less would
    otherwise wait for nothing.
    """
    if max(units) <= 0:
        return derived
    return min(derived, sum(units[0 if op.channel == 0 else 1] for op, _ in block.loads))


def _with_drains(blocks: Sequence[MMABlockSpec], policy: SchedulePolicy) -> list[MMABlockSpec]:
    if not policy.derives_drains:
        return list(blocks)
    mask = derive_drain_mask(blocks)
    return [
        replace(
            block, drain_lgkm_before_loads=bool(mask >> b & 1 and block.fragments and block.loads)
        )
        for b, block in enumerate(blocks)
    ]
