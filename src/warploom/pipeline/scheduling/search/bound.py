"""Is there any hope left for a prefix? Each unit looked at on its own, with release times.

For every release time r, the ops a unit must still serve that cannot start before r are served
from r on, most urgent first; if one ends too late, no completion is in time (Jackson's preemptive
bound as Carlier uses it). A limit on loads between computes defers loads too: of those left, only
a few can come before the next compute, and that compute waits for its own fragments on the port.
"""

from collections.abc import Sequence
from itertools import pairwise

from warploom.pipeline.scheduling.search.problem import NO_UNIT, UNITS, OrderProblem

_Job = tuple[int, int, int, int]  # op, bit, tail, hold


class UnitBound:
    """The test for one problem and one makespan."""

    def __init__(self, problem: OrderProblem, makespan: int) -> None:
        self.problem = problem
        self.makespan = makespan
        self._jobs = _jobs_by_urgency(problem)
        self._awaited = _awaited(problem)
        self._gates = _gates(problem) if problem.max_loads else ()

    def holds(
        self, placed: int, free: Sequence[int], ready: Sequence[int], loads: int, part: int
    ) -> bool:
        """Whether the ops left, partition ``part`` being under way, may still end in time."""
        release = list(free)
        ready = self._propagated(placed, free, ready, part)
        for p in range(part, len(self._jobs)):
            if self._gates and not self._loads_in_time(placed, release, ready, loads, p):
                return False
            for unit, jobs in self._jobs[p]:
                left = [job for job in jobs if not placed & job[1]]
                end = self._served(left, release[unit], ready)
                if end is None:
                    return False
                release[unit] = end
            loads = 0
        return True

    def _propagated(
        self, placed: int, free: Sequence[int], ready: Sequence[int], part: int
    ) -> list[int]:
        """Earliest starts, pushed back by predecessors that still wait for their own unit."""
        earliest = list(ready)
        for i, bit, awaited in self._awaited[part]:
            if placed & bit:
                continue
            start = earliest[i]
            for p, pred_bit, unit, gap in awaited:
                if not placed & pred_bit:
                    start = max(start, max(earliest[p], free[unit]) + gap)
            earliest[i] = start
        return earliest

    def _served(self, left: Sequence[_Job], free: int, ready: Sequence[int]) -> int | None:
        """When the unit is free after ``left`` at the earliest; None when one ends too late.

        ``left`` is served most urgent first, from the unit's and from every op's release on.
        """
        limit = self.makespan
        clock = free
        for _, _, tail, hold in left:
            if clock + tail > limit:
                return None
            clock += hold
        end = clock
        for release in sorted({ready[job[0]] for job in left if ready[job[0]] > free}):
            clock = release
            for op, _, tail, hold in left:
                if ready[op] >= release:
                    if clock + tail > limit:
                        return None
                    clock += hold
            end = max(end, clock)
        return end

    def _loads_in_time(
        self, placed: int, free: Sequence[int], ready: Sequence[int], loads: int, part: int
    ) -> bool:
        """Loads that must wait for the next compute, and with it for a fragment of its."""
        jobs, unit, computes = self._gates[part]
        opening = _opening(placed, ready, computes)
        if opening <= free[unit]:
            return True
        left = [job for job in jobs if not placed & job[1]]
        waiting = [job for job in left if self.problem.is_load[job[0]]]
        early = self.problem.max_loads - loads
        # Any loads may be the early ones; letting the most urgent go first keeps this a bound.
        late = {job[0] for job in waiting[early:]}
        clock = opening
        for op, _, tail, hold in left:
            if op in late or (ready[op] >= opening and not self.problem.is_load[op]):
                if clock + tail > self.makespan:
                    return False
                clock += hold
        return True


def _opening(
    placed: int, ready: Sequence[int], computes: Sequence[tuple[int, Sequence[_Job]]]
) -> int:
    """The earliest start of the last fragment that the next compute, whichever it is, awaits."""
    soonest = None
    for bit, awaited in computes:
        if placed & bit:
            continue
        start = max((ready[op] for op, b, _, _ in awaited if not placed & b), default=0)
        if soonest is None or start < soonest:
            soonest = start
    return 0 if soonest is None else soonest


_Jobs = tuple[tuple[int, tuple[_Job, ...]], ...]


def _job(problem: OrderProblem, i: int) -> _Job:
    return i, 1 << i, problem.tail[i], problem.hold[i]


def _jobs_by_urgency(problem: OrderProblem) -> tuple[_Jobs, ...]:
    """[partition]: each unit with its ops, most urgent first."""
    order = sorted(range(problem.n), key=lambda i: (problem.hold[i] - problem.tail[i], i))
    return tuple(
        tuple(
            (
                unit,
                tuple(_job(problem, i) for i in order if lo <= i < hi and problem.unit[i] == unit),
            )
            for unit in range(UNITS)
            if unit in problem.unit[lo:hi]
        )
        for lo, hi in pairwise(problem.bounds)
    )


_Awaited = tuple[tuple[int, int, tuple[tuple[int, int, int, int], ...]], ...]


def _awaited(problem: OrderProblem) -> tuple[_Awaited, ...]:
    """[partition]: in topological order, ops with the predecessors they await in it."""
    return tuple(
        tuple(
            (
                i,
                1 << i,
                tuple(
                    (p, 1 << p, problem.unit[p], problem.latency[p])
                    for p in range(lo, hi)
                    if problem.preds[i] >> p & 1
                ),
            )
            for i in problem.topological
            if lo <= i < hi and problem.preds[i] >> lo
        )
        for lo, hi in pairwise(problem.bounds)
    )


_Gate = tuple[tuple[_Job, ...], int, tuple[tuple[int, tuple[_Job, ...]], ...]]


def _gates(problem: OrderProblem) -> tuple[_Gate, ...]:
    """[partition]: the ops and number of the loads' unit, and what each compute awaits on it."""
    units = {u for u, is_load in zip(problem.unit, problem.is_load, strict=True) if is_load}
    if len(units) != 1 or NO_UNIT in units:
        return ()
    (unit,) = units
    gates = []
    for (lo, hi), jobs in zip(pairwise(problem.bounds), _jobs_by_urgency(problem), strict=True):
        mine = dict(jobs).get(unit, ())
        computes = tuple(
            (1 << c, tuple(job for job in mine if problem.preds[c] & job[1]))
            for c in range(lo, hi)
            if problem.is_compute[c]
        )
        gates.append((mine, unit, computes))
    return tuple(gates)
