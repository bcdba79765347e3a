"""Why there is no order: the errors of the search, with the smallest budget that would do."""

from __future__ import annotations

from contextlib import suppress

from warploom.errors import InfeasibleError, SchedulingError
from warploom.seed.sched.search.complete import WorkLimitReached, WorkMeter
from warploom.seed.sched.search.optimise import least_peak
from warploom.seed.sched.search.problem import OrderProblem


def no_order(
    problem: OrderProblem, budget: int, seed_peak: int | None, meter: WorkMeter
) -> SchedulingError:
    """For a proven lack of orders. ``seed_peak``: a fallback order needs that many registers."""
    fix, smallest = "raise max_vgpr", None
    with suppress(WorkLimitReached):
        peaks = (least_peak(problem, meter), seed_peak)
        smallest = min((p for p in peaks if p is not None), default=None)
        if smallest is None:
            return _no_closed_order(problem)
        fix = f"raise max_vgpr to at least {smallest}"
    return InfeasibleError(
        f"no order of these {problem.n} ops needs as few as {budget} registers",
        where=f"max_vgpr={budget}",
        why="every order that respects the dependences has more registers live at some op",
        fix=fix,
        smallest_feasible=smallest,
    )


def _no_closed_order(problem: OrderProblem) -> SchedulingError:
    return SchedulingError(
        "no order lets every partition end in a COMPUTE",
        where=f"{problem.n} ops in {len(problem.bounds) - 1} partition(s), at most "
        f"{problem.max_loads or 'any number of'} loads between two COMPUTEs",
        why="some other op waits for a partition's last COMPUTE, or its loads find no place",
        fix="move that op to the next partition, or raise max_globals_per_block",
    )


def undecided(budget: int, seed_peak: int, meter: WorkMeter) -> SchedulingError:
    """For a search that ended before it found an order or proved that there is none."""
    return SchedulingError(
        f"the search ended before it found an order within {budget} registers",
        where=f"max_vgpr={budget}, work_limit={meter.limit}",
        why="the work limit was reached; such an order may or may not exist",
        fix=f"raise work_limit, or max_vgpr (the greedy order needs {seed_peak})",
    )
