"""Energetic closure: longest paths strengthened by units.

Ops of a unit of capacity 1 are disjoint modulo II, so those of one iteration are disjoint
in time. For any set S of them, ``t[v] - t[u]`` is at least the least distance from u into S, plus
all of S's cycles on the unit, plus the least distance from S's ends to v. Sets are picked by two
thresholds; a few rounds with the transitive closure between them. A positive diagonal proves II
infeasible. Source, sink and one end-of-life node per value give bounds on length and registers.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warploom.modulo.bounds.paths import NEG, UNREACHED, IntMatrix, close, distances
from warploom.modulo.bounds.system import Arc, System

MAX_NODES = 260
ROUNDS = 2
THRESHOLDS = 12


def op_span(system: System, op: int) -> int:
    """Cycles from issue until an op has released all its units (at least one)."""
    return max((h.cycles for h in system.problem.ops[op].holds()), default=1)


def closure(system: System, ii: int, depths: Sequence[int]) -> IntMatrix | None:
    """Distances between ops, source (n), sink (n + 1) and value ends (n + 2 ...), or None.

    Above ``MAX_NODES`` nodes the plain distances are returned: still sound, only weaker.
    """
    nodes = system.n + 2 + len(system.problem.values)
    d = distances(nodes, [*system.all_arcs(depths), *_frame(system)], ii)
    if d is None or nodes > MAX_NODES:
        return d
    units = [u.ops for u in system.units if u.capacity == 1 and len(u.ops) > 1]
    for _ in range(ROUNDS):
        before = d.copy()
        for ops in units:
            _strengthen(d, np.array([v for v, _ in ops]), np.array([c for _, c in ops]))
        if (d == before).all():
            break
        if not close(d):
            return None
    return d


def _frame(system: System) -> list[Arc]:
    n = system.n
    arcs = [Arc(n, v, 0, 0, "source") for v in range(n)]
    arcs += [Arc(v, n + 1, op_span(system, v), 0, "sink") for v in range(n)]
    for i, value in enumerate(system.problem.values):
        arcs += [Arc(u.op, n + 2 + i, u.hold, -u.distance, "last use") for u in value.uses]
    return arcs


def _strengthen(d: IntMatrix, ops: npt.NDArray[np.int64], cycles: npt.NDArray[np.int64]) -> None:
    """One pass over all sources u and subsets of one unit.

    A subset in order of its ends is the whole unit in that order, with the others left out: sorted
    once, and all thresholds of a source at a time.
    """
    tails = d[ops] - cycles[:, None]
    order = np.argsort(-tails, axis=0, kind="stable")
    ranked = np.take_along_axis(tails, order, axis=0)
    ranked[ranked <= UNREACHED] = NEG
    held = cycles[order]
    for u in range(len(d)):
        heads = d[u, ops]
        reached = heads > UNREACHED
        if reached.sum() < 2:
            continue
        least = np.unique(heads[reached])[-THRESHOLDS:]
        chosen = heads >= least[:, None]
        several = chosen.sum(axis=1) > 1
        least, chosen = least[several], chosen[several][:, order]
        work = np.cumsum(np.where(chosen, held, 0), axis=1)
        best = np.where(chosen, ranked + work, NEG).max(axis=1) + least[:, None]
        best = best.max(axis=0, initial=NEG)
        d[u] = np.maximum(d[u], np.where(best > UNREACHED, best, NEG))


def energetic_bound(system: System, low: int, top: int) -> int | None:
    """The least II from ``low`` on that the closure does not refute (rings at largest depth).

    None: it refutes ``top`` as well, the interval that decides for all.
    """
    largest = system.max_depths()
    if closure(system, low, largest) is not None:
        return low
    step = 1
    while closure(system, min(low + step, top), largest) is None:
        if low + step >= top:
            return None
        low += step
        step *= 2
    high = min(low + step, top)
    while low + 1 < high:
        mid = (low + high) // 2
        if closure(system, mid, largest) is None:
            low = mid
        else:
            high = mid
    return high


def length_bound(system: System, d: IntMatrix) -> int:
    """Least length of one iteration."""
    return int(d[system.n, system.n + 1])
