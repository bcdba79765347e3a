"""Optimal orders, of a whole body, partition by partition, or between fixed sync ops.

``optimal_schedule`` and ``optimal_schedule_with_halves`` start from a greedy seed and return it
when it meets the makespan bound. Otherwise they return the lexicographically first order with the
least makespan (with partitions: the least makespan and, among those, the least register peak).
Search effort is limited by a count of placed ops (``work_limit``; by default 100,000, fewer in
bodies of more than 64 ops); ``OrderResult`` says what was proven.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.errors import OverBudgetWarning, SchedulingError
from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole
from warploom.ir.validation import boolean, instance, integer
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.config.schedule import UNLIMITED_VGPR
from warploom.pipeline.graph_builder.edges import derive_edges_from_ops
from warploom.pipeline.graph_builder.loop_body import LoopBody
from warploom.pipeline.scheduling import greedy
from warploom.pipeline.scheduling.result import (
    OrderResult,
    asap_lower_bound,
    evaluate_schedule,
    live_peak,
)
from warploom.pipeline.scheduling.search.complete import WorkLimitReached, WorkMeter
from warploom.pipeline.scheduling.search.optimise import (
    NO_LIMIT,
    Incumbent,
    any_within,
    first_within,
    lower_makespan,
    lower_peak,
    no_blocks,
    no_order,
    take_first,
    undecided,
)
from warploom.pipeline.scheduling.search.problem import OrderProblem, order_problem, price

DEFAULT_WORK = 6_400_000  # ops placed times ops in the body, at least 64: seconds, not minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    """What an order must obey, and the memory port it is priced with.

    ``closed``: every partition ends in a COMPUTE and no block has more than ``max_loads`` loads,
    whether the order is the seed or not. ``insist``: the register budget is no mere hint.
    """

    partitions: int = 1
    max_loads: int = 0
    penalty: int = 0
    budget: int
    closed: bool = False
    lifetimes: bool = False
    insist: bool = False

    def problem(self, body: LoopBody) -> OrderProblem:
        """The search problem of ``body`` under these limits."""
        return order_problem(
            body,
            partitions=self.partitions,
            max_loads=self.max_loads,
            penalty=self.penalty,
            closed=self.closed,
            lifetimes=self.lifetimes,
        )

    def admits(self, body: LoopBody, order: Sequence[int]) -> bool:
        """Whether an order can be cut into blocks, where it must."""
        if not self.closed:
            return True
        cuts = greedy.ends_in_compute(body, order, self.partitions)
        return cuts and greedy.loads_within(body, order, self.partitions, self.max_loads)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seed:
    """The greedy order: the answer to beat."""

    order: tuple[int, ...]
    makespan: int
    peak: int
    admitted: bool
    fits: bool
    stated_bound: int  # decides when the seed is good enough; with a penalty it may be too high

    def answer(self) -> OrderResult | None:
        """The seed as the result when it meets the bound without a search."""
        if not self.fits or self.makespan != self.stated_bound:
            return None
        return self.result(self.stated_bound, exact=True)

    def result(self, bound: int, *, exact: bool) -> OrderResult:
        """The seed as a result."""
        return OrderResult(
            order=self.order,
            makespan=self.makespan,
            vgpr_peak=self.peak,
            lower_bound=min(bound, self.makespan),
            exact=exact,
            work=0,
        )


def optimal_schedule(
    body: LoopBody,
    max_vgpr: int | None = None,
    *,
    work_limit: int | None = None,
    insist: bool = False,
) -> OrderResult:
    """The first order of least makespan within ``max_vgpr`` registers (None: no limit).

    The budget is a hint: if no order keeps it, a warning says so and the greedy order is given.
    With ``insist`` that is an ``InfeasibleError``.
    """
    _check(body, max_vgpr=max_vgpr, work_limit=work_limit, insist=insist)
    limits = _Limits(budget=_budget(max_vgpr), insist=insist)
    return _priced(body, _hinted(body, limits, work_limit, _plain_search))


def _plain_search(body: LoopBody, limits: _Limits, work_limit: int | None) -> OrderResult:
    seed = _seed(body, limits)
    if answer := seed.answer():
        return answer
    problem, meter = limits.problem(body), _meter(body, work_limit)
    best = _starting_point(problem, seed, limits, meter)
    lower_makespan(problem, best, limits.budget, meter.share(2))
    if not best.is_seed:
        take_first(problem, best, limits.budget, meter)
    return _result(best, meter)


def optimal_schedule_with_halves(
    body: LoopBody,
    max_globals_per_block: int = 0,
    lds_contention_penalty: int = 0,
    max_vgpr: int | None = None,
    *,
    partitions: int = 2,
    end_in_compute: bool = False,
    lifetimes: bool = False,
    work_limit: int | None = None,
    insist: bool = False,
) -> OrderResult:
    """The best order that keeps partitions apart.

    At most ``max_globals_per_block`` global loads (0: any number) come between two COMPUTEs of a
    partition. The greedy seed is returned when nothing beats it, even if it breaks that limit.
    With ``end_in_compute`` every partition that has a COMPUTE ends in one and the limit holds,
    seed or not. ``max_vgpr`` is a hint unless ``insist``; with ``lifetimes`` registers are freed
    by their last reader and not by ``vgpr_kill``.
    """
    _check(
        body,
        max_globals_per_block=max_globals_per_block,
        lds_contention_penalty=lds_contention_penalty,
        max_vgpr=max_vgpr,
        work_limit=work_limit,
        insist=insist,
    )
    limits = _Limits(
        partitions=partitions,
        max_loads=max_globals_per_block,
        penalty=lds_contention_penalty,
        budget=_budget(max_vgpr),
        closed=end_in_compute,
        lifetimes=lifetimes,
        insist=insist,
    )
    return _priced(body, _hinted(body, limits, work_limit, _partition_search))


def _partition_search(body: LoopBody, limits: _Limits, work_limit: int | None) -> OrderResult:
    seed = _seed(body, limits)
    answer = seed.answer()
    if answer and limits.penalty <= 0:
        return answer
    problem, meter = limits.problem(body), _meter(body, work_limit)
    if answer:
        return replace(answer, lower_bound=problem.least_makespan)
    best = _starting_point(problem, seed, limits, meter)
    lower_makespan(problem, best, limits.budget, meter.share(2))
    lower_peak(problem, best, meter.share(2))
    if not best.is_seed:
        take_first(problem, best, best.peak, meter)
    if not limits.closed:
        _stop_at_stated_bound(problem, best, seed, limits.budget, meter)
    return _result(best, meter)


def optimal_block_order(
    body: LoopBody,
    max_globals_per_block: int = 0,
    lds_contention_penalty: int = 0,
    max_vgpr: int | None = None,
    *,
    partitions: int = 2,
    blocks: Callable[[Sequence[int]], bool] | None = None,
    insist: bool = False,
) -> OrderResult:
    """The best order that can be cut into blocks, each closed by its COMPUTE.

    ``blocks`` says of an order whether it can; by default one that ends each partition in a
    COMPUTE and keeps the cap. The order of ``optimal_schedule_with_halves`` is
    taken if so; a penalty, a cost model or a budget may move loads to the end of a partition, and
    then it is the best order whose partitions all end in a COMPUTE and whose blocks keep the cap.
    A register budget is held against what is live, every value being freed by its last reader.
    """
    limits = (max_globals_per_block, lds_contention_penalty, max_vgpr)
    budgeted = _budget(max_vgpr) != NO_LIMIT
    result = optimal_schedule_with_halves(
        body, *limits, partitions=partitions, lifetimes=budgeted, insist=insist
    )
    closed = _Limits(
        partitions=partitions, max_loads=max_globals_per_block, budget=NO_LIMIT, closed=True
    )
    if blocks(result.order) if blocks is not None else closed.admits(body, result.order):
        return result
    return optimal_schedule_with_halves(
        body, *limits, partitions=partitions, end_in_compute=True, lifetimes=budgeted, insist=insist
    )


def first_block_order(
    body: LoopBody, max_globals_per_block: int = 0, *, partitions: int = 2
) -> OrderResult:
    """The first order, op number by op number, that can be cut into blocks."""
    limits = _Limits(
        partitions=partitions, max_loads=max_globals_per_block, budget=NO_LIMIT, closed=True
    )
    greedy.check_partition_order(body, greedy.partition_bounds(len(body.ops), partitions))
    problem, meter = limits.problem(body), _meter(body, None)
    try:
        order = any_within(problem, NO_LIMIT, NO_LIMIT, meter.share(2))
        if order is None:
            raise no_blocks(problem)
        with suppress(WorkLimitReached):
            order = first_within(problem, NO_LIMIT, NO_LIMIT, meter) or order
    except WorkLimitReached:
        raise undecided(NO_LIMIT, meter) from None
    return OrderResult.given(body, order)


Search = Callable[[LoopBody, _Limits, int | None], OrderResult]


def _hinted(body: LoopBody, limits: _Limits, work_limit: int | None, search: Search) -> OrderResult:
    """The search's answer; where no order keeps the budget and it is a hint, one without it."""
    try:
        return search(body, limits, work_limit)
    except SchedulingError as refusal:
        if limits.insist or limits.budget == NO_LIMIT or "max_vgpr" not in refusal.where:
            raise
        warnings.warn(
            f"{refusal.what}; the order given needs more ({refusal.fix})",
            OverBudgetWarning,
            stacklevel=4,
        )
    seed = _seed(body, limits)
    if seed.admitted:
        return seed.result(limits.problem(body).least_makespan, exact=False)
    return search(body, replace(limits, budget=NO_LIMIT), work_limit)


def _check(body: LoopBody, **values: object) -> None:
    instance(body, LoopBody, "body", "optimal_schedule")
    for name, value in values.items():
        if name == "insist":
            boolean(value, name, "optimal_schedule")
        elif value is not None or name not in ("max_vgpr", "work_limit"):
            integer(value, name, "optimal_schedule", least=0)


def _priced(body: LoopBody, result: OrderResult) -> OrderResult:
    """The result with its documented register peak, and the one that frees at last reads."""
    peak = evaluate_schedule(body, result.order).vgpr_peak
    return replace(result, vgpr_peak=peak, registers=live_peak(body, result.order))


def _budget(max_vgpr: int | None) -> int:
    return NO_LIMIT if max_vgpr is None or max_vgpr == UNLIMITED_VGPR else max_vgpr


def _meter(body: LoopBody, work_limit: int | None) -> WorkMeter:
    if work_limit is None:
        return WorkMeter(DEFAULT_WORK // max(len(body.ops), 64))
    return WorkMeter(work_limit)


def _seed(body: LoopBody, limits: _Limits) -> _Seed:
    order = greedy.greedy_schedule(body, limits.partitions)
    cost = evaluate_schedule(body, order, limits.penalty)
    peak = live_peak(body, order) if limits.lifetimes else cost.vgpr_peak
    admitted = limits.admits(body, order)
    return _Seed(
        order=order,
        makespan=cost.makespan,
        peak=peak,
        admitted=admitted,
        fits=admitted and peak <= limits.budget,
        stated_bound=asap_lower_bound(body, limits.penalty),
    )


def _starting_point(
    problem: OrderProblem, seed: _Seed, limits: _Limits, meter: WorkMeter
) -> Incumbent:
    """The seed, or any order within the limits when the seed breaks them."""
    bound = problem.least_makespan
    if seed.fits:
        return Incumbent(seed.order, seed.makespan, seed.peak, bound, is_seed=True)
    try:
        order = any_within(problem, NO_LIMIT, limits.budget, meter.share(2))
    except WorkLimitReached:
        raise undecided(limits.budget, meter, seed.peak if seed.admitted else None) from None
    if order is None:
        raise no_order(problem, limits.budget, seed.peak if seed.admitted else None, meter)
    makespan, peak = price(problem, order)
    return Incumbent(order, makespan, peak, bound, is_seed=False)


def _stop_at_stated_bound(
    problem: OrderProblem, best: Incumbent, seed: _Seed, budget: int, meter: WorkMeter
) -> None:
    """Honour the early end of the defining scan.

    The scan in lexicographic order ends at the first order that uses no register and has exactly
    the stated bound as makespan. With a penalty that bound can lie above the optimum; the scan
    then ends early unless a faster order comes first.
    """
    bound = seed.stated_bound
    if best.makespan >= bound or budget < 0 or seed.makespan < bound:
        return
    try:
        stop = first_within(problem, bound, 0, meter)
        if stop is None:
            return
        faster = first_within(problem, bound - 1, budget, meter)
    except WorkLimitReached:
        best.exact = False
        return
    if price(problem, stop)[0] == bound and (faster is None or stop < faster):
        best.improve(problem, stop)


def _result(best: Incumbent, meter: WorkMeter) -> OrderResult:
    return OrderResult(
        order=best.order,
        makespan=best.makespan,
        vgpr_peak=best.peak,
        lower_bound=best.lower_bound,
        exact=best.exact,
        work=meter.used,
    )


def optimize_within_barriers(body: Sequence[OpDesc], config: PipelineConfig) -> list[OpDesc]:
    """Order each run of ops between sync ops for the least makespan; sync ops stay."""
    edges = derive_edges_from_ops(body, config)
    out: list[OpDesc] = []
    start = 0
    for end in [*(i for i, op in enumerate(body) if op.role is OpRole.SYNC), len(body)]:
        out += _ordered(body[start:end], edges, start)
        out += body[end : end + 1]
        start = end + 1
    return out


def _ordered(ops: Sequence[OpDesc], edges: Sequence[DepEdge], start: int) -> list[OpDesc]:
    if len(ops) <= 1:
        return list(ops)
    inside = range(start, start + len(ops))
    local = [
        DepEdge(e.producer_idx - start, e.consumer_idx - start, e.dep_kind, 0)
        for e in edges
        if e.loop_distance == 0 and e.producer_idx in inside and e.consumer_idx in inside
    ]
    return [ops[i] for i in optimal_schedule(LoopBody.of(ops, local)).order]
