"""The optimum by completion tests: least makespan, then least peak, then first; or why none.

Each step asks ``Completer`` yes-or-no questions under tighter and tighter limits. A seed order,
when given, is the answer to beat; it need not obey the load limit.
"""

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

from warploom.dataclass import dataclass
from warploom.errors import InfeasibleError, SchedulingError
from warploom.pipeline.scheduling.search.complete import (
    Completer,
    State,
    WorkLimitReached,
    WorkMeter,
    start_state,
)
from warploom.pipeline.scheduling.search.problem import OrderProblem, price

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
