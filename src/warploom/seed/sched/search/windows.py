"""Heads and tails: when an op can start at the earliest, and what must still follow its start.

Both hold for every order, because they only use what no order can change: dependences, the serial
units, and that partitions follow each other. They are what makes the search finish.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

UNITS = 3
NO_UNIT = UNITS
_NOTHING = -(10**12)  # tail of a unit that has no ops left to serve


@dataclass(frozen=True, slots=True)
class Shape:
    """The timing side of a body; every sequence is indexed by op."""

    latency: Sequence[int]
    unit: Sequence[int]
    hold: Sequence[int]
    preds: Sequence[Sequence[int]]
    succs: Sequence[Sequence[int]]
    partition: Sequence[int]
    topological: Sequence[int]

    def gap(self, i: int, j: int) -> int:
        """Least time from the start of ``i`` to the start of its direct successor ``j``."""
        same_unit = self.unit[i] == self.unit[j] != NO_UNIT
        return max(self.latency[i], self.hold[i]) if same_unit else self.latency[i]

    def below(self, i: int) -> dict[int, int]:
        """Every descendant of ``i``, with the longest path between the two starts."""
        far = {i: 0}
        for j in self.topological:
            if j in far:
                for k in self.succs[j]:
                    far[k] = max(far.get(k, 0), far[j] + self.gap(j, k))
        del far[i]
        return far

    def above(self, i: int) -> dict[int, int]:
        """Every ancestor of ``i``, with the longest path between the two starts."""
        far = {i: 0}
        for j in reversed(self.topological):
            if j in far:
                for k in self.preds[j]:
                    far[k] = max(far.get(k, 0), far[j] + self.gap(k, j))
        del far[i]
        return far

    def on_unit(self, ops: Iterable[int], unit: int) -> list[int]:
        """Those of ``ops`` that the unit serves."""
        return [i for i in ops if self.unit[i] == unit]


def tails(shape: Shape, partitions: int) -> tuple[int, ...]:
    """Least time from each op's start to the end; last partition first.

    A unit serves all its ops of one partition before any of the next.
    """
    tail = [0] * len(shape.latency)
    after = [_NOTHING] * UNITS
    for p in reversed(range(partitions)):
        members = [i for i in reversed(shape.topological) if shape.partition[i] == p]
        for i in members:
            tail[i] = _tail(shape, i, tail, after)
        for u in range(UNITS):
            if mine := shape.on_unit(members, u):
                after[u] = sequence_tail(mine, shape.hold, tail)
    return tuple(tail)


def _tail(shape: Shape, i: int, tail: Sequence[int], after: Sequence[int]) -> int:
    unit = shape.unit[i]
    found = [shape.latency[i]]
    if unit != NO_UNIT:
        found.append(shape.hold[i] + after[unit])
    below = shape.below(i)
    found += [distance + tail[j] for j, distance in below.items()]
    for u in range(UNITS):
        if ops := shape.on_unit(below, u):
            found.append(min(below[j] for j in ops) + sequence_tail(ops, shape.hold, tail))
    return max(found)


def heads(shape: Shape, partitions: int) -> tuple[int, ...]:
    """Earliest start of each op; first partition first."""
    head = [0] * len(shape.latency)
    busy = [0] * UNITS
    for p in range(partitions):
        members = [i for i in shape.topological if shape.partition[i] == p]
        for i in members:
            head[i] = _head(shape, i, head, busy)
        for u in range(UNITS):
            if mine := shape.on_unit(members, u):
                busy[u] = sequence_end(mine, shape.hold, head)
    return tuple(head)


def _head(shape: Shape, i: int, head: Sequence[int], busy: Sequence[int]) -> int:
    found = [busy[shape.unit[i]] if shape.unit[i] != NO_UNIT else 0]
    above = shape.above(i)
    found += [head[j] + distance for j, distance in above.items()]
    for u in range(UNITS):
        if ops := shape.on_unit(above, u):
            # Whichever of them is served last starts its hold before the unit's end.
            last = min(above[j] - shape.hold[j] for j in ops)
            found.append(sequence_end(ops, shape.hold, head) + last)
    return max(found)


def sequence_tail(ops: Sequence[int], hold: Sequence[int], tail: Sequence[int]) -> int:
    """Time from the unit's release to the end when it serves ``ops``, most urgent first.

    Urgent is what has the longest tail after it leaves the unit: the best order on one machine
    when all ops are available (Jackson's rule), hence a bound.
    """
    clock = worst = 0
    for i in sorted(ops, key=lambda j: hold[j] - tail[j]):
        worst = max(worst, clock + tail[i])
        clock += hold[i]
    return worst


def sequence_end(ops: Sequence[int], hold: Sequence[int], head: Sequence[int]) -> int:
    """When the unit is free at the earliest after serving ``ops``: first come, first served."""
    clock = 0
    for i in sorted(ops, key=lambda j: head[j]):
        clock = max(clock, head[i]) + hold[i]
    return clock


def least_makespan(shape: Shape, head: Sequence[int], tail: Sequence[int]) -> int:
    """A bound on every order: each unit on its own, with heads and tails (Carlier 1982)."""
    ops = range(len(head))
    found = [0, *(head[i] + tail[i] for i in ops)]
    for u in range(UNITS):
        mine = shape.on_unit(ops, u)
        for start in sorted({head[i] for i in mine}):
            later = [i for i in mine if head[i] >= start]
            found.append(start + sequence_tail(later, shape.hold, tail))
    return max(found)
