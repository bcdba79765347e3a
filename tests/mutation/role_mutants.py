"""Mutants of warp-specialised schedules: every single edit of every entry, ring and barrier.

Edits of the *protocol*: leave an entry out, swap it with its neighbour, change a count, an index,
a parity, bytes, a scope, a turn; change what barriers are initialised with; make a ring shorter;
start the ring positions anew with every tile; let instances share tiles that they took in turn, or
the other way. Edits of the *work*: leave an ordinary op out, swap
two of them, sum where a product should replace; these leave the protocol alone, and only values
can show them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from warploom.ir.mbarrier_dialect import (
    Arrive,
    BulkWait,
    Compute,
    Expect,
    Load,
    Mma,
    NamedArrive,
    NamedSync,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import Per, Scope

_Edit = tuple[str, tuple[RoleEntry, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleMutant:
    """A changed document: which operator made it, and where. ``work``: no protocol was touched."""

    operator: str
    where: str
    document: RolesDocument
    work: bool = False


def role_mutants(document: RolesDocument) -> Iterator[RoleMutant]:
    """All mutants of a document, one edit each, in a fixed order; none equals another."""
    seen = {_plain(document)}
    for mutant in _all(document):
        plain = _plain(mutant.document)
        if plain not in seen:
            seen.add(plain)
            yield mutant


def _all(document: RolesDocument) -> Iterator[RoleMutant]:
    for program in document.programs:
        for phase, entries in program.phases():
            yield from _phase_mutants(document, program, phase, entries)
        if program.carries_phase:
            new = replace(program, carries_phase=False)
            yield RoleMutant(
                operator="positions start anew",
                where=program.name,
                document=_with(document, new),
            )
        if program.instances > 1:
            new = replace(program, alternates=not program.alternates)
            yield RoleMutant(
                operator="whose tiles", where=program.name, document=_with(document, new)
            )
    yield from _shared_mutants(document)


def _plain(document: RolesDocument) -> RolesDocument:
    """The document without its reasons: what decides whether two are equal."""
    programs = []
    for p in document.programs:
        phases = {n: tuple(replace(e, reason="") for e in es) for n, es in p.phases()}
        programs.append(replace(p, **phases))  # type: ignore[arg-type]
    return replace(document, programs=tuple(programs))


def _with(document: RolesDocument, program: RoleProgram) -> RolesDocument:
    programs = tuple(program if p.name == program.name else p for p in document.programs)
    return replace(document, programs=programs)


def _phase_mutants(
    document: RolesDocument, program: RoleProgram, phase: str, entries: tuple[RoleEntry, ...]
) -> Iterator[RoleMutant]:
    for i, entry in enumerate(entries):
        where = f"{program.name}.{phase}[{i}] {label(entry)}"
        ordinary = isinstance(entry, Compute)
        dropped: _Edit = (f"drop {type(entry).__name__}", ())
        for operator, new in (dropped, *_changed(document, program, entry)):
            work = ordinary or operator == "accumulate flipped"
            phases: Any = {phase: (*entries[:i], *new, *entries[i + 1 :])}
            changed = _with(document, replace(program, **phases))
            yield RoleMutant(operator=operator, where=where, document=changed, work=work)
        if i + 1 < len(entries):
            other = entries[i + 1]
            phases = {phase: (*entries[:i], other, entry, *entries[i + 2 :])}
            changed = _with(document, replace(program, **phases))
            work = ordinary and isinstance(other, Compute)
            yield RoleMutant(
                operator="swap", where=f"{where} / {label(other)}", document=changed, work=work
            )


def label(entry: RoleEntry) -> str:
    """A short form of an entry."""
    parts = [type(entry).__name__]
    parts += [str(v) for n in ("op", "ring", "pending", "barrier") if (v := _get(entry, n)) != ""]
    k = _get(entry, "k")
    return " ".join(parts) + (f" k{k:+d}" if k else "")


def _get(entry: RoleEntry, name: str) -> Any:
    return getattr(entry, name, "")


def _changed(document: RolesDocument, program: RoleProgram, entry: RoleEntry) -> Iterator[_Edit]:
    yield from _other_uses(document, entry)
    match entry:
        case Mma():
            yield "accumulate flipped", (replace(entry, accumulate=not entry.accumulate),)
        case WaitGroup() | BulkWait():
            yield from _other_counts(entry)
        case ScopeSync():
            for scope in (Scope.WARP, Scope.WARPGROUP):
                yield f"scope {scope}", (replace(entry, scope=scope),)
        case NamedSync() | NamedArrive():
            yield from _other_turns(document, program, entry)
        case _:
            pass


def _other_uses(document: RolesDocument, entry: RoleEntry) -> Iterator[_Edit]:
    """Other iterations, phases, bytes and arrivals of a ring's use."""
    if isinstance(entry, WaitFull | WaitEmpty | Expect | Load | Arrive | Mma):
        ring = getattr(entry, "ring", None)
        per_tile = ring is not None and document.ring(ring).per is Per.TILE
        for step in () if per_tile else (-1, 1):  # entries of a ring used once a tile take no k
            yield f"k {step:+d}", (replace(entry, k=entry.k + step),)
    match entry:
        case WaitFull() | WaitEmpty():
            yield "parity flipped", (replace(entry, parity=1 - entry.parity),)
        case Expect():
            for size in (entry.bytes - 128, entry.bytes + 128, entry.bytes // 2):
                yield "bytes", (replace(entry, bytes=size),)
        case Arrive():
            for scope in Scope:
                yield f"scope {scope}", (replace(entry, scope=scope),)
            yield "twice", (entry, entry)
        case _:
            pass


def _other_counts(entry: WaitGroup | BulkWait) -> Iterator[_Edit]:
    yield "pending +1", (replace(entry, pending=entry.pending + 1),)
    if entry.pending:
        yield "pending -1", (replace(entry, pending=entry.pending - 1),)
    if isinstance(entry, BulkWait):
        yield "source_read flipped", (replace(entry, source_read=not entry.source_read),)


def _other_turns(
    document: RolesDocument, program: RoleProgram, entry: NamedSync | NamedArrive
) -> Iterator[_Edit]:
    count = next(b.count for b in document.barriers if b.name == entry.barrier)
    for turn in range(count):
        yield "turn", (replace(entry, turn=turn),)
    for instance in (None, *range(program.instances)):
        yield "instance", (replace(entry, instance=instance),)
    other = NamedArrive if isinstance(entry, NamedSync) else NamedSync
    same = {"barrier": entry.barrier, "turn": entry.turn, "instance": entry.instance}
    yield f"{other.__name__} instead", (other(**same),)  # type: ignore[arg-type]
    yield "twice", (entry, entry)


def _shared_mutants(document: RolesDocument) -> Iterator[RoleMutant]:
    for i, ring in enumerate(document.rings):
        changes = [("arrivals of full", {"full_arrivals": ring.full_arrivals + 1})]
        for n in (ring.empty_arrivals - 1, ring.empty_arrivals + 1):
            changes.append(("arrivals of empty", {"empty_arrivals": n}))
        if ring.depth > 1:
            changes.append(("one slot less", {"depth": ring.depth - 1}))
        for operator, fields in changes:
            rings = (*document.rings[:i], replace(ring, **fields), *document.rings[i + 1 :])  # type: ignore[arg-type]
            where = f"ring {ring.name} {fields}"
            new = replace(document, rings=rings)
            yield RoleMutant(operator=operator, where=where, document=new)
    for i, barrier in enumerate(document.barriers):
        for threads in (barrier.threads - 128, barrier.threads + 128):
            changed = replace(barrier, threads=threads)
            barriers = (*document.barriers[:i], changed, *document.barriers[i + 1 :])
            new = replace(document, barriers=barriers)
            where = f"barrier {barrier.name} of {threads} threads"
            yield RoleMutant(operator="threads of a barrier", where=where, document=new)
