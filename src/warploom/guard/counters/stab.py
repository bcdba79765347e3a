"""Fewest points that stab every arc of a circle often enough.

Barriers of a loop (each window needs ``demand`` of them) and wait positions of a loop (each
requirement needs one) are the same problem. Let ``B(t)`` count the points before place ``t`` on
the unrolled circle, ``B(t + size) = B(t) + n``. An arc asks ``B(end) - B(start) >= demand``, so for
a fixed number ``n`` of points the problem is a system of difference constraints: solvable iff it
has no positive cycle. Trying ``n = 0, 1, ...`` therefore *proves* the smallest number, in
polynomial time; enumerating which sets reach it is a bounded search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arc:
    """Places ``start .. start + length - 1``, taken round the circle, hold ``demand`` points."""

    start: int
    length: int
    demand: int

    def hits(self, place: int, size: int) -> int:
        """How often one point at ``place`` counts (an arc may go round more than once)."""
        full, rest = divmod(self.length, size)
        return full + ((place - self.start) % size < rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stabbing:
    """``sets``: distinct smallest multisets of places; ``complete``: no other one exists."""

    count: int
    sets: tuple[tuple[int, ...], ...]
    complete: bool


def stab(arcs: Sequence[Arc], size: int, *, extra: int = 0, limit: int = 64) -> Stabbing | None:
    """All smallest stabbings (at most ``limit``), or all with ``extra`` points more.

    ``None`` when some arc covers no place at all.
    """
    if any(a.demand > 0 and a.length == 0 for a in arcs):
        return None
    live = _tightest([a for a in arcs if a.demand > 0], size)
    count, first = _smallest(live, size)
    search = _Search(live, size, count + extra, limit)
    search.grow(())
    sets = search.found or {tuple(sorted((*first, *(0,) * extra)))}
    return Stabbing(
        count=count + extra, sets=tuple(sorted(sets)), complete=not search.cut and extra == 0
    )


def _tightest(arcs: list[Arc], size: int) -> list[Arc]:
    """Without arcs that others imply: those inside them, with at least their demand."""
    kept: list[Arc] = []
    for arc in sorted(set(arcs), key=lambda a: (a.length, -a.demand, a.start)):
        inside = (
            k.demand >= arc.demand
            and (
                (k.start - arc.start) % size + k.length <= arc.length
                or k.length <= size <= arc.length
            )
            for k in kept
        )
        if not any(inside):
            kept.append(arc)
    return [a for a in dict.fromkeys(arcs) if a in kept]


def _smallest(arcs: list[Arc], size: int) -> tuple[int, tuple[int, ...]]:
    most = sum(a.demand for a in arcs)
    least = max((-(-a.demand // -(-a.length // size)) for a in arcs), default=0)
    for n in range(least, most + 1):
        solution = _solve(arcs, size, n, Counter())
        if solution is not None:
            return n, solution
    raise AssertionError("one point per unit of demand always suffices")


def _solve(arcs: list[Arc], size: int, n: int, fixed: Counter[int]) -> tuple[int, ...] | None:
    """A multiset of ``n`` places that contains ``fixed`` and stabs all arcs, by longest paths."""
    if size == 0:
        return () if n == 0 else None
    edges = [(t, t + 1, fixed[t]) for t in range(size - 1)]
    edges.append((size - 1, 0, fixed[size - 1] - n))
    for a in arcs:
        turns, end = divmod(a.start + a.length, size)
        edges.append((a.start, end, a.demand - turns * n))
    edges.sort()  # so that one round goes all the way round the circle
    before = [0] * size
    for _ in range(size + 1):
        changed = False
        for u, v, weight in edges:
            if before[u] + weight > before[v]:
                before[v] = before[u] + weight
                if before[v] > n:  # no two counts of one turn differ by more: a positive cycle
                    return None
                changed = True
        if not changed:
            points = [before[t + 1] - before[t] for t in range(size - 1)]
            points.append(before[0] + n - before[size - 1])
            return tuple(t for t, k in enumerate(points) for _ in range(k))
    return None


class _Search:
    """Branch on the unsatisfied arc with fewest places; prune what cannot be completed."""

    def __init__(self, arcs: list[Arc], size: int, count: int, limit: int) -> None:
        self.arcs, self.size, self.count, self.limit = arcs, size, count, limit
        self.places = [
            sorted({(a.start + k) % size for k in range(min(a.length, size))}) for a in arcs
        ]
        self.found: set[tuple[int, ...]] = set()
        self.seen: set[tuple[int, ...]] = set()
        self.cut = False
        self.budget = 60 * limit

    def grow(self, chosen: tuple[int, ...]) -> None:
        if chosen in self.seen or self.cut:
            return
        self.seen.add(chosen)
        if len(self.found) >= self.limit or len(self.seen) > self.budget:
            self.cut = True
            return
        left = self.count - len(chosen)
        branch: list[int] | None = None
        for arc, places in zip(self.arcs, self.places, strict=True):
            missing = arc.demand - sum(arc.hits(c, self.size) for c in chosen)
            if missing > 0 and (branch is None or len(places) < len(branch)):
                branch = places
        if left == 0:
            if branch is None:
                self.found.add(chosen)
            return
        if _solve(self.arcs, self.size, self.count, Counter(chosen)) is None:
            return
        for place in branch if branch is not None else range(self.size):
            self.grow(tuple(sorted((*chosen, place))))
