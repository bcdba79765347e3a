"""Longest paths at one II: positive cycles, RecMII, and the all-pairs distance matrix."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warploom.order.bounds.system import Arc

IntMatrix = npt.NDArray[np.int64]

NEG = -(1 << 40)
UNREACHED = NEG // 2


def positive_cycle(n: int, arcs: Sequence[Arc], ii: int) -> list[Arc] | None:
    """A cycle that no schedule at ``ii`` can satisfy, or None. Queue-driven Bellman-Ford."""
    out: list[list[tuple[int, int, Arc]]] = [[] for _ in range(n)]
    for a in arcs:
        out[a.src].append((a.dst, a.latency - a.distance * ii, a))
    dist, hops = [0] * n, [0] * n
    parent: list[Arc | None] = [None] * n
    queue, queued = deque(range(n)), [True] * n
    while queue:
        v = queue.popleft()
        queued[v] = False
        base = dist[v]
        for w, weight, arc in out[v]:
            if base + weight <= dist[w]:
                continue
            dist[w] = base + weight
            parent[w] = arc
            hops[w] = hops[v] + 1
            if hops[w] > n or w == v:
                cycle = _cycle_through(parent, w)
                if cycle is not None:
                    return cycle
                hops[w] = 0  # counted along arcs that have been replaced since
            if not queued[w]:
                queued[w] = True
                queue.append(w)
    return None


def _cycle_through(parent: Sequence[Arc | None], v: int) -> list[Arc] | None:
    """The cycle that the last arcs into each op lead back to; None when they lead to a root."""
    for _ in range(len(parent)):
        arc = parent[v]
        if arc is None:
            return None
        v = arc.src
    cycle, at = [], v
    while True:
        arc = parent[at]
        assert arc is not None
        cycle.append(arc)
        at = arc.src
        if at == v:
            return cycle[::-1]


def rec_mii(n: int, arcs: Sequence[Arc]) -> tuple[int, tuple[Arc, ...]]:
    """The least II without a positive cycle, and the cycle that forbids one less.

    Arcs of distance 0 must be free of positive cycles (``validate`` saw to it), so that the sum of
    all latencies is feasible. Ring arcs can still close a cycle of distance <= 0: then no II helps
    and the answer is 0 with that cycle.
    """
    low, high = 0, sum(a.latency for a in arcs) + 1
    blocked = positive_cycle(n, arcs, high)
    if blocked is not None:
        return 0, tuple(blocked)
    critical: list[Arc] = []
    while low + 1 < high:
        mid = (low + high) // 2
        cycle = positive_cycle(n, arcs, mid)
        if cycle is None:
            high = mid
        else:
            low, critical = mid, cycle
    return high, tuple(critical)


def distances(n: int, arcs: Sequence[Arc], ii: int) -> IntMatrix | None:
    """``d[u, v]``: how much later v must issue than u at least; None when a cycle is positive."""
    d = np.full((n, n), NEG, dtype=np.int64)
    np.fill_diagonal(d, 0)
    for a in arcs:
        weight = a.latency - a.distance * ii
        d[a.src, a.dst] = max(d[a.src, a.dst], weight)
    return d if close(d) else None


def close(d: IntMatrix) -> bool:
    """Max-plus closure in place (Floyd-Warshall); False, and half done, on a positive cycle.

    The diagonal is watched at each step: past a positive cycle the numbers double and overflow.
    """
    if (d.diagonal() > 0).any():
        return False
    for k in range(len(d)):
        rows = np.nonzero(d[:, k] > UNREACHED)[0]
        cols = np.nonzero(d[k] > UNREACHED)[0]
        if len(rows) < 2 and len(cols) < 2:
            continue
        block = np.ix_(rows, cols)
        d[block] = np.maximum(d[block], d[rows, k][:, None] + d[k, cols][None, :])
        if (d.diagonal() > 0).any():
            return False
    return True
