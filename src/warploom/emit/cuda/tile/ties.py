"""Which accumulators a wait for products has made final: the emitted wait owns them.

The assembler may move arithmetic across a wait that names no registers. A wait that takes the
accumulators as operands cannot be passed by their readers, and takes work that the schedule put
before it along.
"""

from __future__ import annotations

from collections.abc import Iterator

from warploom.document.roles import Commit, Mma, RoleEntry, RoleProgram, WaitGroup

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


def _run(program: RoleProgram, turns: int) -> Iterator[tuple[Place, RoleEntry]]:
    for _ in range(2):
        for name, times in (("prologue", 1), ("kernel", turns), ("epilogue", 1)):
            for _ in range(times):
                for i, entry in enumerate(getattr(program, name)):
                    yield (name, i), entry
