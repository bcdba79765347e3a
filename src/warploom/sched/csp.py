"""Optimal orders, of a whole body or partition by partition.

``optimal_schedule`` and ``optimal_schedule_with_halves`` start from a greedy seed and return it
when it meets the makespan bound. Otherwise they return the lexicographically first order with the
least makespan (with partitions: the least makespan and, among those, the least register peak).
Search effort is limited by a count of placed ops; ``OrderResult`` says what was proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from warploom.errors import CycleError, InfeasibleError, SchedulingError
from warploom.graph.loop_body import LoopBody
from warploom.sched.bounds import asap_lower_bound
from warploom.sched.evaluate import evaluate_schedule
from warploom.sched.greedy import greedy_schedule
from warploom.sched.search.complete import WorkLimitReached, WorkMeter
from warploom.sched.search.optimise import (
    NO_LIMIT,
    Incumbent,
    any_within,
    first_within,
    least_peak,
    lower_makespan,
    lower_peak,
    take_first,
)
from warploom.sched.search.problem import OrderProblem, is_closed, order_problem, price

UNLIMITED_VGPR = 999999
DEFAULT_WORK_LIMIT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderResult:
    """An order, what it costs, and how much of that is proven."""

    order: tuple[int, ...]
    makespan: int
    vgpr_peak: int
    lower_bound: int  # no admissible order is faster than this
    exact: bool  # the search ended: this is the very order the definition names
    work: int  # ops placed by the search; 0 when the seed was good enough

    @classmethod
    def given(cls, body: LoopBody, order: Sequence[int]) -> OrderResult:
        """An order that no search made, evaluated; edges it breaks leave the bound at 0."""
        metrics = evaluate_schedule(body, order)
        try:
            bound = asap_lower_bound(body)
        except CycleError:
            bound = 0
        return cls(
            order=tuple(order),
            makespan=metrics.makespan,
            vgpr_peak=metrics.vgpr_peak,
            lower_bound=min(bound, metrics.makespan),
            exact=True,
            work=0,
        )

    @property
    def proven(self) -> bool:
        """Whether the makespan is proven to be the least possible."""
        return self.makespan <= self.lower_bound


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One question: which order of this body, under which limits."""

    problem: OrderProblem
    seed: tuple[int, ...]
    seed_makespan: int
    seed_peak: int
    stated_bound: int  # decides when the seed is good enough; with a penalty it may be too high
    true_bound: int
    budget: int
    meter: WorkMeter

    @property
    def seed_is_closed(self) -> bool:
        return not self.problem.closed or is_closed(self.problem, self.seed)

    @property
    def seed_fits(self) -> bool:
        return self.seed_peak <= self.budget and self.seed_is_closed


def optimal_schedule(
    body: LoopBody, max_vgpr: int | None = None, *, work_limit: int = DEFAULT_WORK_LIMIT
) -> OrderResult:
    """The first order of least makespan within ``max_vgpr`` registers (None: no limit)."""
    task = _task(body, 1, 0, 0, max_vgpr, work_limit=work_limit)
    if task.seed_fits and task.seed_makespan == task.stated_bound:
        return _seed_result(task)
    best = _starting_point(task)
    lower_makespan(task.problem, best, task.budget, task.meter.share(2))
    if not best.is_seed:
        take_first(task.problem, best, task.budget, task.meter)
    return _result(task, best)


def optimal_schedule_with_halves(
    body: LoopBody,
    max_globals_per_block: int = 0,
    lds_contention_penalty: int = 0,
    max_vgpr: int | None = None,
    *,
    partitions: int = 2,
    end_in_compute: bool = False,
    work_limit: int = DEFAULT_WORK_LIMIT,
) -> OrderResult:
    """The best order that keeps partitions apart.

    At most ``max_globals_per_block`` global loads (0: any number) come between two COMPUTEs of a
    partition. The greedy seed is returned when nothing beats it, even if it breaks that limit.
    With ``end_in_compute`` every partition that has a COMPUTE ends in one, seed or not.
    """
    task = _task(
        body,
        partitions,
        max_globals_per_block,
        lds_contention_penalty,
        max_vgpr,
        closed=end_in_compute,
        work_limit=work_limit,
    )
    if task.seed_fits and task.seed_makespan == task.stated_bound:
        return _seed_result(task)
    best = _starting_point(task)
    lower_makespan(task.problem, best, task.budget, task.meter.share(2))
    lower_peak(task.problem, best, task.meter.share(2))
    if not best.is_seed:
        take_first(task.problem, best, best.peak, task.meter)
    if not end_in_compute:
        _stop_at_stated_bound(task, best)
    return _result(task, best)


def optimal_block_order(
    body: LoopBody,
    max_globals_per_block: int = 0,
    lds_contention_penalty: int = 0,
    max_vgpr: int | None = None,
    *,
    partitions: int = 2,
) -> OrderResult:
    """The best order that can be cut into blocks, each closed by its COMPUTE.

    The order of ``optimal_schedule_with_halves`` when its partitions end in a COMPUTE, as they do
    unless a penalty or budget moves loads to the very end; otherwise the best order that does.
    """
    limits = (max_globals_per_block, lds_contention_penalty, max_vgpr)
    found = optimal_schedule_with_halves(body, *limits, partitions=partitions)
    if is_closed(order_problem(body, partitions=partitions), found.order):
        return found
    return optimal_schedule_with_halves(body, *limits, partitions=partitions, end_in_compute=True)


def _task(
    body: LoopBody,
    partitions: int,
    max_loads: int,
    penalty: int,
    max_vgpr: int | None,
    *,
    closed: bool = False,
    work_limit: int,
) -> _Task:
    seed = greedy_schedule(body, partitions)
    metrics = evaluate_schedule(body, seed, penalty)
    unlimited = max_vgpr is None or max_vgpr == UNLIMITED_VGPR
    problem = order_problem(
        body, partitions=partitions, max_loads=max_loads, penalty=penalty, closed=closed
    )
    return _Task(
        problem=problem,
        seed=seed,
        seed_makespan=metrics.makespan,
        seed_peak=metrics.vgpr_peak,
        stated_bound=asap_lower_bound(body, penalty),
        true_bound=problem.least_makespan,
        budget=NO_LIMIT if unlimited or max_vgpr is None else max_vgpr,
        meter=WorkMeter(work_limit),
    )


def _starting_point(task: _Task) -> Incumbent:
    """The seed, or any order within the limits when the seed breaks them."""
    bound = task.true_bound
    if task.seed_fits:
        return Incumbent(task.seed, task.seed_makespan, task.seed_peak, bound, is_seed=True)
    try:
        order = any_within(task.problem, NO_LIMIT, task.budget, task.meter.share(2))
    except WorkLimitReached:
        raise _undecided(task) from None
    if order is None:
        raise _infeasible(task)
    best = Incumbent(order, 0, 0, bound, is_seed=False)
    best.improve(task.problem, order)
    return best


def _stop_at_stated_bound(task: _Task, best: Incumbent) -> None:
    """Honour the early end of the defining scan.

    The scan in lexicographic order ends at the first order that uses no register and has exactly
    the stated bound as makespan. With a penalty that bound can lie above the optimum; the scan
    then ends early unless a faster order comes first.
    """
    bound = task.stated_bound
    if best.makespan >= bound or task.budget < 0 or task.seed_makespan < bound:
        return
    try:
        stop = first_within(task.problem, bound, 0, task.meter)
        if stop is None:
            return
        faster = first_within(task.problem, bound - 1, task.budget, task.meter)
    except WorkLimitReached:
        best.exact = False
        return
    if price(task.problem, stop)[0] == bound and (faster is None or stop < faster):
        best.improve(task.problem, stop)


def _seed_result(task: _Task) -> OrderResult:
    return OrderResult(
        order=task.seed,
        makespan=task.seed_makespan,
        vgpr_peak=task.seed_peak,
        lower_bound=task.true_bound,
        exact=True,
        work=0,
    )


def _result(task: _Task, best: Incumbent) -> OrderResult:
    return OrderResult(
        order=best.order,
        makespan=best.makespan,
        vgpr_peak=best.peak,
        lower_bound=best.lower_bound,
        exact=best.exact,
        work=task.meter.used,
    )


def _infeasible(task: _Task) -> SchedulingError:
    """The error for a proven lack of orders, with the budget that would do."""
    fix, smallest = f"raise max_vgpr; the greedy order needs {task.seed_peak}", None
    with suppress(WorkLimitReached):
        peaks = [least_peak(task.problem, task.meter)]
        peaks += [task.seed_peak] if task.seed_is_closed else []
        smallest = min((p for p in peaks if p is not None), default=None)
        if smallest is None:
            return _cannot_close(task)
        fix = f"raise max_vgpr to at least {smallest}"
    return InfeasibleError(
        f"no order of these {task.problem.n} ops needs as few as {task.budget} registers",
        where=f"max_vgpr={task.budget}",
        why="every order that respects the dependences has more registers live at some op",
        fix=fix,
        smallest_feasible=smallest,
    )


def _cannot_close(task: _Task) -> SchedulingError:
    return SchedulingError(
        "no order lets every partition end in a COMPUTE",
        where=f"{task.problem.n} ops in {len(task.problem.bounds) - 1} partition(s), at most "
        f"{task.problem.max_loads or 'any number of'} loads between two COMPUTEs",
        why="some other op waits for a partition's last COMPUTE, or its loads find no place",
        fix="move that op to the next partition, or raise max_globals_per_block",
    )


def _undecided(task: _Task) -> SchedulingError:
    return SchedulingError(
        f"the search ended before it found an order within {task.budget} registers",
        where=f"max_vgpr={task.budget}, work_limit={task.meter.limit}",
        why="the work limit was reached; such an order may or may not exist",
        fix=f"raise work_limit, or max_vgpr (the greedy order needs {task.seed_peak})",
    )
