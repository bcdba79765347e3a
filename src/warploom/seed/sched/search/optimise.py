"""The optimum by completion tests: least makespan, then least peak, then first in order.

Each step asks ``Completer`` yes-or-no questions under tighter and tighter limits. A seed order,
when given, is the answer to beat; it need not obey the load limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from warploom.seed.sched.search.complete import (
    Completer,
    State,
    WorkLimitReached,
    WorkMeter,
    start_state,
)
from warploom.seed.sched.search.problem import OrderProblem, price

NO_LIMIT = 10**12


@dataclass(slots=True)
class Incumbent:
    """The best order so far and what is known about it; sharpened step by step."""

    order: tuple[int, ...]
    makespan: int
    peak: int
    lower_bound: int
    is_seed: bool
    exact: bool = True  # every question asked so far was answered

    def improve(self, problem: OrderProblem, order: tuple[int, ...]) -> None:
        """Take a better order."""
        self.order = order
        self.makespan, self.peak = price(problem, order)
        self.is_seed = False


def any_within(
    problem: OrderProblem, makespan: int, budget: int, meter: WorkMeter
) -> tuple[int, ...] | None:
    """Some order within both limits, or None when there is none."""
    return Completer(problem, makespan, budget, meter).complete(start_state(problem))


def first_within(
    problem: OrderProblem, makespan: int, budget: int, meter: WorkMeter
) -> tuple[int, ...] | None:
    """The lexicographically first order within both limits, or None when there is none."""
    completer = Completer(problem, makespan, budget, meter)
    state = start_state(problem)
    rest = completer.complete(state)
    if rest is None:
        return None
    order: list[int] = []
    while rest:
        op, state, rest = _smallest_step(completer, state, rest)
        order.append(op)
    return tuple(order)


def _smallest_step(
    completer: Completer, state: State, rest: Sequence[int]
) -> tuple[int, State, tuple[int, ...]]:
    """The smallest next op that can still be completed; ``rest`` shows that one can."""
    for op in completer.candidates(state):
        child = completer.place(state, op)
        if child is None:
            continue
        tail = tuple(rest[1:]) if op == rest[0] else completer.complete(child)
        if tail is not None:
            return op, child, tail
    raise AssertionError("a known completion was lost")


def lower_makespan(problem: OrderProblem, best: Incumbent, budget: int, meter: WorkMeter) -> None:
    """Bisect between bound and incumbent, then press on from the incumbent downwards."""
    probe = best.lower_bound
    while probe < best.makespan:
        middle = (probe + best.makespan) // 2
        try:
            _ask(problem, best, middle, budget, meter.share(2))
        except WorkLimitReached:  # left open: look for something slower
            probe = middle + 1
        else:
            probe = max(probe, best.lower_bound)
    with suppress(WorkLimitReached):
        while best.lower_bound < best.makespan:
            _ask(problem, best, best.makespan - 1, budget, meter)
    best.exact = best.makespan <= best.lower_bound


def _ask(
    problem: OrderProblem, best: Incumbent, makespan: int, budget: int, meter: WorkMeter
) -> None:
    """Is there an order as fast as this? Either answer sharpens the incumbent."""
    order = any_within(problem, makespan, budget, meter)
    if order is not None:
        best.improve(problem, order)
    else:
        best.lower_bound = makespan + 1


def lower_peak(problem: OrderProblem, best: Incumbent, meter: WorkMeter) -> None:
    """Ask for fewer registers at the incumbent's makespan until there is no such order."""
    try:
        while True:
            order = any_within(problem, best.makespan, best.peak - 1, meter.share(2))
            if order is None:
                return
            best.improve(problem, order)
    except WorkLimitReached:
        best.exact = False


def least_peak(problem: OrderProblem, meter: WorkMeter) -> int | None:
    """The smallest register budget with which any order exists; None when no order does."""
    order = any_within(problem, NO_LIMIT, NO_LIMIT, meter)
    peak = None
    while order is not None:
        peak = price(problem, order)[1]
        order = any_within(problem, NO_LIMIT, peak - 1, meter)
    return peak


def take_first(problem: OrderProblem, best: Incumbent, budget: int, meter: WorkMeter) -> None:
    """Replace the incumbent by the first order within its makespan and ``budget``."""
    try:
        order = first_within(problem, best.makespan, budget, meter)
    except WorkLimitReached:
        best.exact = False
        return
    if order is not None:
        best.improve(problem, order)
