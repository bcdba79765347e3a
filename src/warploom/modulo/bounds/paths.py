"""Longest paths at one II: cycles that forbid it, RecMII, and the all-pairs distance matrix."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from warploom.modulo.bounds.system import Arc

IntMatrix = npt.NDArray[np.int64]

NEG = -(1 << 40)
UNREACHED = NEG // 2


class Cycle(tuple[Arc, ...]):
    """Arcs that lead from an op back to it and ask for more time than there is."""


class Paths:
    """Arcs by their source, to be asked for the earliest times at many an II.

    Rounds over the ops (Bellman-Ford) in ``order``: few are needed when most arcs lead forward in
    it. The last arcs into the ops are looked at after each round, since a cycle among them is
    positive: a refusal comes as soon as its cycle has been gone round once.
    """

    def __init__(self, n: int, arcs: Sequence[Arc], order: Sequence[int] = ()) -> None:
        self.order = order or range(n)
        self.out: list[list[Arc]] = [[] for _ in range(n)]
        for a in arcs:
            self.out[a.src].append(a)

    def at(self, ii: int) -> Cycle | list[int]:
        """The earliest time of every op at an II, or a cycle that forbids it."""
        n = len(self.out)
        ahead = [[(a.dst, a.latency - a.distance * ii, a) for a in mine] for mine in self.out]
        time, moved = [0] * n, [True] * n
        last: list[Arc | None] = [None] * n
        while True:
            settled = True
            for v in self.order:
                if not moved[v]:
                    continue
                moved[v] = False
                base = time[v]
                for w, weight, arc in ahead[v]:
                    if base + weight > time[w]:
                        time[w] = base + weight
                        last[w] = arc
                        moved[w] = True
                        settled = False
            if settled:
                return time
            cycle = _cycle_among(last)
            if cycle is not None:
                return cycle

    def least(self) -> tuple[int, Cycle, list[int]]:
        """The least II, the cycle that forbids one less, and the earliest times there.

        Each cycle found names the least II it allows itself, so few are asked for. II 0: a cycle
        of distance <= 0 forbids every II.
        """
        ii, critical = 1, Cycle()
        while isinstance(found := self.at(ii), Cycle):
            critical = found
            latency, distance = sum(a.latency for a in found), sum(a.distance for a in found)
            if distance <= 0:
                return 0, critical, []
            ii = -(-latency // distance)
        return ii, critical, found


def _cycle_among(last: Sequence[Arc | None]) -> Cycle | None:
    """A cycle of the last arcs into each op, if there is one."""
    seen = [-1] * len(last)
    for v in range(len(last)):
        at = v
        while seen[at] < 0:
            seen[at] = v
            arc = last[at]
            if arc is None:
                break
            at = arc.src
        else:
            if seen[at] == v:
                return _cycle_through(last, at)
    return None


def _cycle_through(last: Sequence[Arc | None], v: int) -> Cycle:
    cycle, at = [], v
    while True:
        arc = last[at]
        assert arc is not None
        cycle.append(arc)
        at = arc.src
        if at == v:
            return Cycle(reversed(cycle))


def rec_mii(n: int, arcs: Sequence[Arc]) -> tuple[int, Cycle]:
    """The least II without a positive cycle, and the cycle that forbids one less.

    Ring arcs can close a cycle of distance <= 0: then no II helps and the answer is 0 with it.
    """
    return Paths(n, arcs).least()[:2]


def nothing() -> None:
    """What is called now and then where nobody has a deadline."""


def distances(
    n: int, arcs: Sequence[Arc], ii: int, check: Callable[[], None] = nothing
) -> IntMatrix | None:
    """``d[u, v]``: how much later v must issue than u at least; None when a cycle is positive.

    ``check`` is called at every step, so that a deadline can end a large body's.
    """
    d = np.full((n, n), NEG, dtype=np.int64)
    np.fill_diagonal(d, 0)
    for a in arcs:
        weight = a.latency - a.distance * ii
        d[a.src, a.dst] = max(d[a.src, a.dst], weight)
    return d if close(d, check) else None


def close(d: IntMatrix, check: Callable[[], None] = nothing) -> bool:
    """Max-plus closure in place (Floyd-Warshall); False, and half done, on a positive cycle.

    The diagonal is watched at each step: past a positive cycle the numbers double and overflow.
    """
    if (d.diagonal() > 0).any():
        return False
    for k in range(len(d)):
        check()
        rows = np.nonzero(d[:, k] > UNREACHED)[0]
        cols = np.nonzero(d[k] > UNREACHED)[0]
        if len(rows) < 2 and len(cols) < 2:
            continue
        block = np.ix_(rows, cols)
        d[block] = np.maximum(d[block], d[rows, k][:, None] + d[k, cols][None, :])
        if (d.diagonal() > 0).any():
            return False
    return True
