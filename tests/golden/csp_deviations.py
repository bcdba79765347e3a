"""When the reference's order searches return an order that breaks the register budget.

Both searches of the reference start from a greedy seed and keep it unless they find something
better than it, even when the seed itself is over the budget:

- the partitioned search accepts an order within the budget only if it is at least as fast as the
  seed (its peak is lower, so an equal makespan is enough);
- the plain search accepts it only if it is strictly faster.

In exactly these cases warploom differs: it returns the best order within the budget, or raises
``InfeasibleError`` when there is none.
"""

from __future__ import annotations

from warploom.errors import WarploomError
from warploom.seed.graph.loop_body import LoopBody
from warploom.seed.sched.evaluate import evaluate_schedule
from warploom.seed.sched.greedy import greedy_schedule
from warploom.seed.sched.search.complete import WorkMeter
from warploom.seed.sched.search.optimise import any_within
from warploom.seed.sched.search.problem import order_problem

UNLIMITED = 999999
NO_WORK_LIMIT = 10**9


def halves_search_keeps_over_budget_seed(
    body: LoopBody, max_globals: int, penalty: int, max_vgpr: int, partitions: int = 2
) -> bool:
    """The partitioned search of the reference returns its seed, which is over the budget."""
    return _keeps_seed(body, partitions, max_globals, penalty, max_vgpr, slack=0)


def plain_search_keeps_over_budget_seed(body: LoopBody, max_vgpr: int) -> bool:
    """The plain search of the reference returns its seed, which is over the budget."""
    return _keeps_seed(body, 1, 0, 0, max_vgpr, slack=1)


def _keeps_seed(body, partitions, max_loads, penalty, budget, *, slack):
    if budget == UNLIMITED:
        return False
    try:
        seed = evaluate_schedule(body, greedy_schedule(body, partitions), penalty)
    except WarploomError:
        return False
    if seed.vgpr_peak <= budget:
        return False
    problem = order_problem(body, partitions=partitions, max_loads=max_loads, penalty=penalty)
    return any_within(problem, seed.makespan - slack, budget, WorkMeter(NO_WORK_LIMIT)) is None
