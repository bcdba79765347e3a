"""What the assembler must not move: readers of accumulators, and work after a turn is given.

It may move arithmetic across a wait that names no registers. A wait that takes the accumulators as
operands cannot be passed by their readers, and takes work that the schedule put before it along.
Work on what was waited for in a turn it moves up between the products that follow, as they are slow
to issue; the turn then is given only after that work, and the other instance waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warploom.document.roles import (
    Commit,
    Compute,
    Mma,
    NamedSync,
    RoleEntry,
    RoleProgram,
    WaitGroup,
)

Place = tuple[str, int]  # list, index


def retired_at(program: RoleProgram) -> dict[Place, tuple[str, ...]]:
    """For every wait: accumulators that no product in flight writes any more, in all runs."""
    found: dict[Place, set[str]] = {}
    for turns in (0, 1, 2, 3):
        flight: list[set[str]] = []
        group: set[str] = set()
        for place, entry in _run(program, turns):
            if isinstance(entry, Mma):
                group.add(entry.accumulator)
            elif isinstance(entry, Commit):
                flight.append(group)
                group = set()
            elif isinstance(entry, WaitGroup):
                keep = len(flight) - entry.pending
                done = set().union(*flight[: max(keep, 0)]) if keep > 0 else set()
                flight = flight[max(keep, 0) :]
                final = done - set().union(*flight, group)
                found[place] = found.get(place, final) & final
    return {place: tuple(sorted(names)) for place, names in found.items()}


def drawn_after(entries: Sequence[RoleEntry], given: int) -> bool:
    """Whether a step after a turn is given reads products that were waited for in that turn.

    Steps that could have run before the turn are left to the assembler: spread between the
    products they cost less than after them.
    """
    flight: list[str] = []
    done: set[str] = set()
    for e in entries[:given]:
        if isinstance(e, NamedSync):
            done = set()
        elif isinstance(e, Mma):
            flight.append(e.accumulator)
        elif isinstance(e, WaitGroup):
            keep = len(flight) - e.pending
            done |= set(flight[: max(keep, 0)])
            flight = flight[max(keep, 0) :]
    for e in entries[given + 1 :]:
        if isinstance(e, Mma | NamedSync):
            return False
        if isinstance(e, Compute) and set(e.reads) & done - set(flight):
            return True
    return False


def _run(program: RoleProgram, turns: int) -> Iterator[tuple[Place, RoleEntry]]:
    for _ in range(2):
        for name, times in (("prologue", 1), ("kernel", turns), ("epilogue", 1)):
            for _ in range(times):
                for i, entry in enumerate(getattr(program, name)):
                    yield (name, i), entry
