"""``MMABlockSpec``: one MMA with its fragments, loads, waits and barriers, and the ops of it all.

The first two fragments and loads have documented slots (``pre_op_0/1``, ``global_load/_1``);
further ones follow in ``more_pre_ops`` and ``more_global_loads``, so that no op is ever dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.errors import ProgramError
from warploom.ir.schedule_ops import OpDesc, Phase, ScheduleEntry
from warploom.ir.validation import boolean, check_fields, instance
from warploom.pipeline.body import EntryBuilder
from warploom.pipeline.sync.marks import derived

_ABSENT = OpDesc.none()
_FENCE = OpDesc.schedule_barrier()
_BARRIER = OpDesc.barrier()
Emission = Iterator[tuple[OpDesc, bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MMABlockSpec:
    """One block of a program. Absent ops are ``OpDesc.none()``."""

    mma: OpDesc
    pre_op_0: OpDesc = _ABSENT
    pre_op_1: OpDesc = _ABSENT
    global_load: OpDesc = _ABSENT
    global_load_1: OpDesc = _ABSENT
    entry_wait: OpDesc = _ABSENT
    entry_wait_lgkm: OpDesc = _ABSENT
    pre_sync: OpDesc = _ABSENT
    fused_mma: OpDesc = _ABSENT
    pre_mma_barrier: bool = True
    pre_mma_set_prio: bool = True
    post_mma_barrier: bool = True
    post_mma_set_prio: bool = True
    post_barrier_lgkm: bool = True
    post_barrier_sched: bool = False
    trailing_sched_barrier: bool = False
    global_load_prefetch: bool = False
    global_load_1_prefetch: bool = False
    drain_lgkm_before_loads: bool = False
    global_before_frag: bool = False
    barrier_before_pre_ops: bool = False
    wrap_waits_with_sched_barrier: bool = False
    more_pre_ops: tuple[OpDesc, ...] = ()
    more_global_loads: tuple[OpDesc, ...] = ()
    more_global_prefetch: tuple[bool, ...] = ()
    stated: frozenset[str] = frozenset()  # flags above that an author asked for

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.more_global_loads) != len(self.more_global_prefetch):
            raise ProgramError(
                f"more_global_prefetch has {len(self.more_global_prefetch)} flags for "
                f"{len(self.more_global_loads)} loads",
                where="MMABlockSpec.more_global_prefetch",
                fix="one flag a load",
            )

    @property
    def fragments(self) -> tuple[OpDesc, ...]:
        """All present fragment loads, in order."""
        return tuple(
            op for op in (self.pre_op_0, self.pre_op_1, *self.more_pre_ops) if op.is_present()
        )

    @property
    def loads(self) -> tuple[tuple[OpDesc, bool], ...]:
        """All present global loads with their prefetch flags, in order."""
        slots = (
            (self.global_load, self.global_load_prefetch),
            (self.global_load_1, self.global_load_1_prefetch),
            *zip(self.more_global_loads, self.more_global_prefetch, strict=True),
        )
        return tuple((op, flag) for op, flag in slots if op.is_present())

    def with_fragments(self, fragments: Sequence[OpDesc]) -> MMABlockSpec:
        """This block with other fragment loads."""
        first, second = (*fragments, _ABSENT, _ABSENT)[:2]
        return replace(self, pre_op_0=first, pre_op_1=second, more_pre_ops=tuple(fragments[2:]))

    def with_loads(self, loads: Sequence[tuple[OpDesc, bool]]) -> MMABlockSpec:
        """This block with other global loads, each with its prefetch flag."""
        first, second = (*loads, (_ABSENT, False), (_ABSENT, False))[:2]
        return replace(
            self,
            global_load=first[0],
            global_load_prefetch=first[1],
            global_load_1=second[0],
            global_load_1_prefetch=second[1],
            more_global_loads=tuple(op for op, _ in loads[2:]),
            more_global_prefetch=tuple(flag for _, flag in loads[2:]),
        )

    def expand(self, out: EntryBuilder) -> None:
        """Append this block's entries to a phase, by the documented template."""
        for op, prefetch in _template(self):
            out.emit(op, prefetch)

    def expand_to_list(self, phase: Phase) -> list[ScheduleEntry]:
        """This block's entries by the documented template, as a phase of its own."""
        out = EntryBuilder(phase)
        self.expand(out)
        return list(out.entries)

    @property
    def has_entry_group(self) -> bool:
        """Whether any wait stands at the start of the block."""
        return self.entry_wait.is_present() or self.entry_wait_lgkm.is_present()

    @property
    def has_sync_group(self) -> bool:
        """Whether a wait or barrier stands before the MMA."""
        return self.pre_sync.is_present() or self.pre_mma_barrier

    @property
    def wraps_entry(self) -> bool:
        """Whether the entry group is fenced."""
        return self.wrap_waits_with_sched_barrier and self.has_entry_group

    @property
    def wraps_sync(self) -> bool:
        """Whether the sync group is fenced."""
        return self.wrap_waits_with_sched_barrier and self.has_sync_group

    def _ops_before_mma(self) -> int:
        """Entries before the MMA, without barrier section and priority."""
        return (
            2 * self.entry_wait.is_present()
            + self.entry_wait_lgkm.is_present()
            + len(self.fragments)
            + self.drain_lgkm_before_loads
            + len(self.loads)
            + self.pre_sync.is_present()
            + 2 * self.wraps_entry
            + 2 * self.wraps_sync
        )

    def _barrier_section(self) -> int:
        if not self.pre_mma_barrier:
            return 0
        return 1 + self.post_barrier_sched + self.post_barrier_lgkm

    def entry_count(self) -> int:
        """Entries this block expands to."""
        after = int(self.post_mma_set_prio)
        if self.post_mma_barrier:
            after += 1 + self.trailing_sched_barrier
        return self.mma_position() + 1 + self.fused_mma.is_present() + after

    def mma_position(self) -> int:
        """Index of the MMA among the block's entries."""
        return self._ops_before_mma() + self._barrier_section() + self.pre_mma_set_prio

    def n_ops_before_barrier_section(self) -> int:
        """The documented estimate of where the barrier section starts.

        Kept as documented: it counts the closing fence of a wrapped sync group, and not the
        barrier after an entry wait. For exact positions look at the expanded entries.
        """
        if not self.barrier_before_pre_ops:
            return self._ops_before_mma()
        return (
            self.entry_wait.is_present()
            + self.entry_wait_lgkm.is_present()
            + self.pre_sync.is_present()
            + 2 * self.wraps_entry
            + self.wraps_sync
        )

    def post_barrier_lgkm_position(self) -> int:
        """The documented estimate of the post-barrier lgkm wait's index; -1 if there is none."""
        if not (self.post_barrier_lgkm and self.pre_mma_barrier):
            return -1
        return self.n_ops_before_barrier_section() + 1 + self.post_barrier_sched


def _drain(block: MMABlockSpec, flag: str) -> OpDesc:
    """A drain that ``flag`` of the block asks for: stated by an author, or placed by a rule."""
    wait = OpDesc.wait_lgkm(0)
    return wait if flag in block.stated else derived(wait)


def _template(block: MMABlockSpec) -> Emission:
    yield from _plain(_entry_section(block, wrap=block.wraps_entry))
    if block.barrier_before_pre_ops:
        yield from _plain(_sync_section(block))
    fragments = [(op, False) for op in block.fragments]
    drain = (
        [(_drain(block, "drain_lgkm_before_loads"), False)] if block.drain_lgkm_before_loads else []
    )
    if block.global_before_frag:
        yield from (*block.loads, *drain, *fragments)
    else:
        yield from (*fragments, *drain, *block.loads)
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
