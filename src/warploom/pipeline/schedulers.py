"""Orders of a loop body and what they cost, as documented."""

from warploom.pipeline.scheduling.csp import (
    optimal_schedule,
    optimal_schedule_with_halves,
)
from warploom.pipeline.scheduling.greedy import (
    greedy_schedule,
    simple_greedy_schedule,
)
from warploom.pipeline.scheduling.result import (
    OrderResult,
    asap_lower_bound,
    evaluate_makespan,
    evaluate_schedule,
    partial_lower_bound,
)

__all__ = [
    "OrderResult",
    "asap_lower_bound",
    "evaluate_makespan",
    "evaluate_schedule",
    "greedy_schedule",
    "optimal_schedule",
    "optimal_schedule_with_halves",
    "partial_lower_bound",
    "simple_greedy_schedule",
]
