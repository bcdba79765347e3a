"""A role's lists run over a few short tiles, to see what each text position meets.

Which wait a position needs depends on what came before it: on the first iteration after the
prologue, in the steady state, and across the seam between two tiles. All of these occur in two
tiles of every length from ``peel`` to a few more, so counting there decides the counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from warploom.guard.mbarrier.expand import Lists, Step

Position = tuple[str, int]  # list name, index
REACH = 4


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One execution of a step: where it stands, and the iteration (over all tiles) it means."""

    position: Position
    step: Step
    tile: int
    use: int


def runs(lists: Lists) -> Iterator[list[Occurrence]]:
    """Executions of three tiles of ``peel`` .. ``peel + REACH`` iterations."""
    for trips in range(max(lists.peel, 1), lists.peel + REACH + 1):
        yield _run(lists, (trips,) * 3)


def _run(lists: Lists, tiles: tuple[int, ...]) -> list[Occurrence]:
    out: list[Occurrence] = []
    base = 0
    for tile, trips in enumerate(tiles):
        out += _occurrences("prologue", lists.prologue, tile, base)
        for i in range(lists.peel, trips):
            out += _occurrences("kernel", lists.kernel, tile, base + i)
        out += _occurrences("epilogue", lists.epilogue, tile, base + trips)
        base += trips
    return out


def _occurrences(name: str, steps: tuple[Step, ...], tile: int, at: int) -> list[Occurrence]:
    return [Occurrence((name, i), s, tile, at + s.k) for i, s in enumerate(steps)]
