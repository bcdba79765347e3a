"""What the assembler must not move: readers of accumulators, and work after a turn is given.

It may move arithmetic across a wait that names no registers. A wait that takes the accumulators as
operands cannot be passed by their readers, and takes work that the schedule put before it along.
Work whose values are there it moves up between products, as they are slow to issue; the turn on
the tensor unit then is given only after that work, and the other instance waits.
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


def drawn_after(entries: Sequence[RoleEntry], at: int) -> bool:
    """Whether a step after an entry could run before it: it reads no product in flight there."""
    flight: list[str] = []
    for e in entries[:at]:
        if isinstance(e, Mma):
            flight.append(e.accumulator)
        elif isinstance(e, WaitGroup):
            flight = flight[len(flight) - e.pending :] if e.pending else []
    for e in entries[at + 1 :]:
        if isinstance(e, Mma | NamedSync):
            return False
        if isinstance(e, Compute) and not set(e.reads) & set(flight):
            return True
    return False


def _run(program: RoleProgram, turns: int) -> Iterator[tuple[Place, RoleEntry]]:
    for _ in range(2):
        for name, times in (("prologue", 1), ("kernel", turns), ("epilogue", 1)):
            for _ in range(times):
                for i, entry in enumerate(getattr(program, name)):
                    yield (name, i), entry
