"""Mutants: every small systematic change of a schedule document.

Operators on each entry of prologue, kernel and epilogue: drop it, swap it with its neighbour, move
it three places, weaken or strengthen a wait, flip stage, subtile, k-offset or channel of a data op
or the accumulator of an MMA. Operators on the protocol: the stagger point, the barrier after the
prologue, the drain before the epilogue, the tail barriers.

Entries without effect (priorities, scheduling hints) are not mutated and not counted when moving.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, Phase, ScheduleEntry, ScheduleOps

_WAITS = (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM)
_DATA = (OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE, OpRole.FRAGMENT_LOAD)
_REACH = 3
_Entries = tuple[ScheduleEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A changed document: which operator made it, and where."""

    operator: str
    where: str
    document: ScheduleDocument


def mutants(document: ScheduleDocument) -> Iterator[Mutant]:
    """All mutants of a document, one change each, in a fixed order; some equal one another."""
    for phase in Phase:
        entries = document.phase(phase)
        for operator, index, new in _phase_mutants(entries, document):
            where = f"{phase.name.lower()}[{index}] {entries[index].op.label()}"
            yield Mutant(operator=operator, where=where, document=_with(document, phase, new))
    yield from _protocol_mutants(document)


def has_effect(op: OpDesc) -> bool:
    """Whether an op moves, multiplies or orders anything."""
    sync = (ScheduleOps.BARRIER, *_WAITS)
    return op.tag in sync or (op.tag <= 127 and (op.role in _DATA or op.role is OpRole.COMPUTE))


def _with(document: ScheduleDocument, phase: Phase, entries: _Entries) -> ScheduleDocument:
    match phase:
        case Phase.PROLOGUE:
            return replace(document, prologue=entries)
        case Phase.KERNEL:
            return replace(document, kernel=entries)
        case Phase.EPILOGUE:
            return replace(document, epilogue=entries)


def _phase_mutants(
    entries: _Entries, document: ScheduleDocument
) -> Iterator[tuple[str, int, _Entries]]:
    active = [i for i, entry in enumerate(entries) if has_effect(entry.op)]
    for rank, i in enumerate(active):
        op = entries[i].op
        kind = "barrier" if op.tag == ScheduleOps.BARRIER else "wait" if op.tag in _WAITS else "op"
        yield f"drop {kind}", i, entries[:i] + entries[i + 1 :]
        if rank + 1 < len(active):
            yield "swap", i, _swapped(entries, i, active[rank + 1])
        for step in (-_REACH, _REACH):
            if 0 <= rank + step < len(active):
                yield "move", i, _moved(entries, i, active[rank + step])
        for operator, new in _changed(op, document):
            yield operator, i, (*entries[:i], replace(entries[i], op=new), *entries[i + 1 :])


def _swapped(entries: _Entries, i: int, j: int) -> _Entries:
    row = list(entries)
    row[i], row[j] = row[j], row[i]
    return tuple(row)


def _moved(entries: _Entries, i: int, j: int) -> _Entries:
    row = list(entries)
    row.insert(j, row.pop(i))
    return tuple(row)


def _changed(op: OpDesc, document: ScheduleDocument) -> Iterator[tuple[str, OpDesc]]:
    if op.tag in _WAITS:
        yield from _other_counts(op, document)
    elif op.role is OpRole.COMPUTE:
        yield "flip accumulator", replace(op, stage=1 - min(op.stage, 1))
        yield "flip accumulator", replace(op, subtile=1 - min(op.subtile, 1))
    elif op.role in _DATA:
        yield "flip stage", replace(op, stage=1 - min(op.stage, 1))
        yield "flip subtile", replace(op, subtile=1 - min(op.subtile, 1))
        if op.channel >= 0:
            yield "flip channel", replace(op, channel=1 - min(op.channel, 1))
        if op.k_offset is not KOffsetKind.NONE:
            others = (KOffsetKind.K_PREV, KOffsetKind.K0, KOffsetKind.K1)
            for k in others:
                if k is not op.k_offset:
                    yield "flip k-offset", replace(op, k_offset=k)


def _other_counts(op: OpDesc, document: ScheduleDocument) -> Iterator[tuple[str, OpDesc]]:
    vm = op.tag == ScheduleOps.WAIT_VM
    units = document.counters.vm_per_load if vm else document.counters.lgkm_per_load
    n = op.wait_value
    for count in sorted({n + 1, n + max(units), 63 if vm else 15}):
        yield "weaken wait", replace(op, wait_value=count)
    for count in sorted({n - 1, n - max(units), 0}):
        if 0 <= count < n:
            yield "strengthen wait", replace(op, wait_value=count)


def _protocol_mutants(document: ScheduleDocument) -> Iterator[Mutant]:
    p = document.protocol
    joined, tails = p.barrier_after_prologue, p.tail_barriers
    changes = [
        (
            "flip barrier after the prologue",
            replace(p, barrier_after_prologue=not joined),
        ),
        ("flip drain before the epilogue", replace(p, epilogue_drain=not p.epilogue_drain)),
        ("extra tail barrier", replace(p, tail_barriers=(tails[0] + 1, *tails[1:]))),
    ]
    if p.stagger_index is not None:
        changes.append(("no stagger", replace(p, stagger_index=None)))
        for shift in (-2, -1, 1, 2):
            index = p.stagger_index + shift
            if 0 <= index <= len(document.prologue):
                changes.append(("move stagger", replace(p, stagger_index=index)))
    for operator, protocol in changes:
        where = f"protocol (stagger {protocol.stagger_index})"
        yield Mutant(operator=operator, where=where, document=replace(document, protocol=protocol))
