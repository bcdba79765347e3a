"""Why there is no order: the errors of the search, with the smallest budget that would do."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

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
            return no_blocks(problem)
        fix = f"raise max_vgpr to at least {smallest}"
    return InfeasibleError(
        f"no order of these {problem.n} ops needs as few as {budget} registers",
        where=f"max_vgpr={budget}",
        why="every order that respects the dependences has more registers live at some op",
        fix=fix,
        smallest_feasible=smallest,
    )


def no_blocks(problem: OrderProblem) -> InfeasibleError:
    """For a proven lack of orders that can be cut into blocks."""
    bounds = list(pairwise(problem.bounds))
    for p, (lo, hi) in enumerate(bounds):
        loads, computes = sum(problem.is_load[lo:hi]), sum(problem.is_compute[lo:hi])
        if problem.max_loads and computes and loads > problem.max_loads * computes:
            return InfeasibleError(
                f"partition {p} has {loads} global loads, its {computes} block(s) take at most "
                f"{problem.max_loads} each",
                where="BlockSizing.max_globals",
                why="a load without a block would never run",
                fix=f"max_globals >= {-(-loads // computes)}, or 0 for no cap",
            )
    return InfeasibleError(
        "no order lets every block end in its COMPUTE"
        + (f" with at most {problem.max_loads} global loads" if problem.max_loads else ""),
        where=f"{problem.n} ops in {len(bounds)} partition(s)",
        why="the dependences leave some op no place before its partition's last COMPUTE",
        fix="drop a dependence, move that op to the next partition, or raise max_globals",
    )


def undecided(budget: int, meter: WorkMeter, seed_peak: int | None = None) -> SchedulingError:
    """For a search that ended before it found an order or proved that there is none."""
    known = "" if seed_peak is None else f", or max_vgpr (the greedy order needs {seed_peak})"
    return SchedulingError(
        f"the search ended before it found an order within {budget} registers",
        where=f"max_vgpr={budget}, work_limit={meter.limit}",
        why="the work limit was reached; such an order may or may not exist",
        fix=f"raise work_limit{known}",
    )
