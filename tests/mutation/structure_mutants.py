"""Edits of several places at once, and of what a document declares: consistent, and yet wrong.

Single edits of entries are in ``role_mutants``. These change both sides of a protocol, the threads
or rings behind it, or what a tile is. Whether a mutant is wrong is decided by runs in which one
step after the other is held back (``tests/modelcheck/held_back.py``), which share no code with the
verifier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise, permutations

from tests.mbarrier.samples import SHIPPED, lowered
from tests.modelcheck.held_back import first_fault
from warploom.errors import DocumentError
from warploom.ir.mbarrier_dialect import (
    LISTS,
    Arrive,
    NamedArrive,
    NamedSync,
    ProxyFence,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import Scope, Side
from warploom.verify.roles import verify_roles

from .role_mutants import RoleMutant

POINTS = 60
LISTED = ("prologue", "kernel", "epilogue")


def structure_mutants(document: RolesDocument) -> Iterator[RoleMutant]:
    """All mutants of a document, in a fixed order."""
    for make in OPERATORS:
        for where, mutant in make(document):
            if mutant != document:
                yield RoleMutant(document=mutant, operator=make.__name__, where=where)


def _with(document: RolesDocument, program: RoleProgram) -> RolesDocument:
    programs = tuple(program if p.name == program.name else p for p in document.programs)
    return replace(document, programs=programs)


def _rows(program: RoleProgram, change) -> RoleProgram:
    """All lists of a program; ``change`` gives the entries in place of one."""
    rows = {n: tuple(x for e in getattr(program, n) for x in change(e)) for n in LISTS}
    return replace(program, **rows)


def release_protocol_left_out(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    """Nobody releases a ring, and nobody waits for releases."""
    for ring in document.rings:

        def kept(e: RoleEntry, name: str = ring.name) -> list[RoleEntry]:
            free = isinstance(e, Arrive) and e.side is Side.EMPTY
            return [] if (free or isinstance(e, WaitEmpty)) and e.ring == name else [e]

        programs = tuple(_rows(p, kept) for p in document.programs)
        yield ring.name, replace(document, programs=programs)


def turns_left_out(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    for barrier in document.barriers:

        def kept(e: RoleEntry, name: str = barrier.name) -> list[RoleEntry]:
            return [] if isinstance(e, NamedSync | NamedArrive) and e.barrier == name else [e]

        programs = tuple(_rows(p, kept) for p in document.programs)
        yield barrier.name, replace(document, programs=programs)


def another_ring_s_barrier(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    """Both sides of a ring's hand-over use another ring's barriers."""
    for one, other in permutations(document.rings, 2):
        for kinds, side in (((WaitFull, Arrive), Side.FULL), ((WaitEmpty, Arrive), Side.EMPTY)):

            def moved(e: RoleEntry, a=one.name, b=other.name, k=kinds, s=side) -> list[RoleEntry]:
                mine = isinstance(e, k) and getattr(e, "side", s) is s and e.ring == a
                return [replace(e, ring=b)] if mine else [e]

            programs = tuple(_rows(p, moved) for p in document.programs)
            yield f"{side.value} of {one.name}", replace(document, programs=programs)


def iterations_shifted(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    """All that a list says of a ring speaks of the iteration before, or after."""
    for program in document.programs:
        for phase in LISTED:
            for ring in document.rings:
                for by in (-1, 1):
                    row = tuple(
                        replace(e, k=e.k + by) if getattr(e, "ring", None) == ring.name else e
                        for e in getattr(program, phase)
                    )
                    yield (
                        f"{program.name}.{phase}",
                        _with(document, replace(program, **{phase: row})),
                    )


def releases_before_their_wait(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    """A release and the wait for products in front of it change places."""
    for program in document.programs:
        for phase in LISTED:
            row = list(getattr(program, phase))
            for i, (a, b) in enumerate(pairwise(row)):
                if isinstance(a, WaitGroup) and isinstance(b, Arrive):
                    made = (*row[:i], b, a, *row[i + 2 :])
                    changed = replace(program, **{phase: made})
                    yield f"{program.name}.{phase}[{i}]", _with(document, changed)


def peeled_otherwise(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    """The loop begins an iteration earlier or later than its lists mean."""
    for program in document.programs:
        for peel in (program.peel - 1, program.peel + 1):
            if peel >= 0:
                yield program.name, _with(document, replace(program, peel=peel))


def slots_counted_otherwise(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    for ring in document.rings:
        for depth in {1, ring.depth - 1, ring.depth + 1} - {0, ring.depth}:
            rings = tuple(replace(r, depth=depth) if r is ring else r for r in document.rings)
            yield f"{ring.name} of {depth}", replace(document, rings=rings)


def parts_of_warps(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    for program in document.programs:
        for threads in (program.threads - 16, program.threads + 16, program.threads + 32):
            if threads > 0:
                yield program.name, _with(document, replace(program, threads=threads))


def more_or_fewer_instances(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    for program in document.programs:
        for n in (program.instances - 1, program.instances + 1):
            if n > 0:
                yield program.name, _with(document, replace(program, instances=n))


def taken_in_turn_or_shared(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    for program in document.programs:
        if program.instances > 1:
            changed = replace(program, alternates=not program.alternates)
            yield program.name, _with(document, changed)


def positions_start_anew(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    for program in document.programs:
        yield program.name, _with(document, replace(program, carries_phase=False))
    yield (
        "all",
        replace(
            document, programs=tuple(replace(p, carries_phase=False) for p in document.programs)
        ),
    )


def one_thread_for_all(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    """One thread releases for its instance, and the barrier counts instances."""
    for ring in document.rings:
        users = [p for p in document.programs if p.threads > 1]

        def lone(e: RoleEntry, name: str = ring.name) -> list[RoleEntry]:
            free = isinstance(e, Arrive) and e.side is Side.EMPTY and e.ring == name
            return [replace(e, scope=Scope.THREAD)] if free else [e]

        programs = tuple(_rows(p, lone) if p in users else p for p in document.programs)
        count = sum(1 if p.alternates else p.instances for p in users)
        rings = tuple(replace(r, empty_arrivals=count) if r is ring else r for r in document.rings)
        yield ring.name, replace(document, programs=programs, rings=rings)


def syncs_left_out(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    """All syncs of a scope, or all fences, are left out together."""
    for program in document.programs:
        for scope in (Scope.WARP, Scope.WARPGROUP):

            def kept(e: RoleEntry, s: Scope = scope) -> list[RoleEntry]:
                return [] if isinstance(e, ScopeSync) and e.scope is s else [e]

            yield f"{program.name} {scope.value}", _with(document, _rows(program, kept))
        unfenced = _rows(program, lambda e: [] if isinstance(e, ProxyFence) else [e])
        yield f"{program.name} fences", _with(document, unfenced)


OPERATORS = (
    release_protocol_left_out,
    turns_left_out,
    another_ring_s_barrier,
    iterations_shifted,
    releases_before_their_wait,
    peeled_otherwise,
    slots_counted_otherwise,
    parts_of_warps,
    more_or_fewer_instances,
    taken_in_turn_or_shared,
    positions_start_anew,
    one_thread_for_all,
    syncs_left_out,
)


def judge_structure(mutant: RoleMutant, intended: RolesDocument) -> tuple[str, str]:
    """``found``, ``missed``, ``reported only`` or ``passed``, and why."""
    document = mutant.document
    try:
        report = verify_roles(document)
    except DocumentError as error:
        return "found", f"malformed: {error}"
    least = max(document.minimum_trips, intended.minimum_trips)
    depth = max((r.depth for r in document.rings), default=1)
    runs = ((least,) * 3, (least + 1, least + 2), (least + depth + 1, least), (least + 2,) * 4)
    clean = report.verdict in ("clean", "timing")
    for tiles in runs if document.cluster == 1 else ():
        try:
            fault = first_fault(document, intended, tiles, most=POINTS, seed=mutant.where)
        except (AssertionError, KeyError, IndexError):
            fault = None  # what the machine has no place for
        if fault:
            return ("missed" if clean else "found"), fault
    return ("passed" if clean else "reported only"), report.verdict


@cache
def mutants_of(name: str) -> tuple[RolesDocument, tuple[RoleMutant, ...]]:
    """A shipped schedule and its mutants."""
    document = lowered(name).document
    return document, tuple(structure_mutants(document))


def compare(seed: int) -> tuple[str, str]:
    """One mutant of a shipped schedule: what runs show, and the verdict; ``none`` where there are
    not so many.
    """
    number, which = divmod(seed, len(SHIPPED))
    document, mutants = mutants_of(list(SHIPPED)[which])
    if number >= len(mutants):
        return "none", "none"
    judged, _ = judge_structure(mutants[number], document)
    kinds = {"found": "wrong", "reported only": "unshown", "passed": "right"}
    return kinds.get(judged, judged), f"{judged} {mutants[number].operator}"
