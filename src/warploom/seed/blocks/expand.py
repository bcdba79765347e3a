"""From blocks to ops: the one template walk, and the minimal-barrier form of the 4-wave kernel."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.document.fields import boolean, instance
from warploom.document.ops import OpDesc
from warploom.seed.blocks.spec import MMABlockSpec
from warploom.seed.body import EntryBuilder
from warploom.seed.sync.marks import derived

_FENCE = OpDesc.schedule_barrier()
_BARRIER = OpDesc.barrier()


def _drain(block: MMABlockSpec, flag: str) -> OpDesc:
    """A drain that ``flag`` of the block asks for: stated by an author, or placed by a rule."""
    wait = OpDesc.wait_lgkm(0)
    return wait if flag in block.stated else derived(wait)


Emission = Iterator[tuple[OpDesc, bool]]


def expand_block(block: MMABlockSpec, out: EntryBuilder) -> None:
    """Append the entries of a block: entry, loads, sync, MMA (sections as the block orders)."""
    for op, prefetch in _template(block):
        out.emit(op, prefetch)


def _template(block: MMABlockSpec) -> Emission:
    yield from _plain(_entry_section(block, wrap=block.wraps_entry))
    if block.barrier_before_pre_ops:
        yield from _plain(_sync_section(block))
    yield from _load_section(block)
    if not block.barrier_before_pre_ops:
        yield from _plain(_sync_section(block))
    yield from _plain(_mma_section(block))


def _plain(ops: Iterator[OpDesc]) -> Emission:
    return ((op, False) for op in ops)


def _entry_section(block: MMABlockSpec, *, wrap: bool) -> Iterator[OpDesc]:
    if wrap:
        yield _FENCE
    if block.entry_wait.is_present():
        yield block.entry_wait
    if block.entry_wait_lgkm.is_present():
        yield block.entry_wait_lgkm
    if block.entry_wait.is_present():
        # A vm wait drains only its own wave's loads; the barrier makes them visible to all.
        yield _BARRIER
    if wrap:
        yield _FENCE


def _load_section(block: MMABlockSpec) -> Emission:
    fragments = [(op, False) for op in block.fragments]
    drain = (
        [(_drain(block, "drain_lgkm_before_loads"), False)] if block.drain_lgkm_before_loads else []
    )
    if block.global_before_frag:
        yield from (*block.loads, *drain, *fragments)
    else:
        yield from (*fragments, *drain, *block.loads)


def _sync_section(block: MMABlockSpec) -> Iterator[OpDesc]:
    if block.wraps_sync:
        yield _FENCE
    if block.pre_sync.is_present():
        yield block.pre_sync
    if block.pre_mma_barrier:
        yield _BARRIER
        if block.post_barrier_sched:
            yield _FENCE
        if block.post_barrier_lgkm:
            yield _drain(block, "post_barrier_lgkm")
    if block.wraps_sync:
        yield _FENCE


def _mma_section(block: MMABlockSpec) -> Iterator[OpDesc]:
    if block.pre_mma_set_prio:
        yield OpDesc.set_prio(1)
    yield block.mma
    if block.fused_mma.is_present():
        yield block.fused_mma
    if block.post_mma_set_prio:
        yield OpDesc.set_prio(0)
    if block.post_mma_barrier:
        yield _BARRIER
        if block.trailing_sched_barrier:
            yield _FENCE


def emit_minimal_barrier_block(
    block: MMABlockSpec, wrap_waits: bool, global_before_frag: bool = False
) -> list[OpDesc]:
    """A block without priorities and post-MMA barrier: waits, loads, sync group, MMA.

    Fragment reads and global loads are always fenced apart, since a code generator may otherwise
    hoist a read over a load into the same LDS region.
    """
    instance(block, MMABlockSpec, "block", "emit_minimal_barrier_block")
    boolean(wrap_waits, "wrap_waits", "emit_minimal_barrier_block")
    boolean(global_before_frag, "global_before_frag", "emit_minimal_barrier_block")
    ops: list[OpDesc] = []
    if block.has_entry_group:
        ops += _entry_section(block, wrap=wrap_waits)
    fragments, loads = list(block.fragments), [op for op, _ in block.loads]
    fence = [_FENCE] if fragments and loads else []
    ops += loads + fence + fragments if global_before_frag else fragments + fence + loads
    if block.has_sync_group:
        ops += [_FENCE] if wrap_waits else []
        ops += [block.pre_sync] if block.pre_sync.is_present() else []
        if block.pre_mma_barrier:
            ops.append(_BARRIER)
            ops += [_drain(block, "post_barrier_lgkm")] if block.post_barrier_lgkm else []
        ops += [_FENCE] if wrap_waits else []
    return [*ops, block.mma]
