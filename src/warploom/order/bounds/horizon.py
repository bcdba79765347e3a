"""The interval that decides: a body that fits at no II up to it fits at none.

Take any schedule and keep its pattern: stages, the order of all issues, releases and ends of life
round the interval. Under that pattern every constraint compares two such events, with a constant of
the body (a latency, an occupancy, a hold) and a whole number of intervals. The least II of the
pattern is the largest ratio of a simple cycle of these, hence at most the sum of all constants.
"""

from __future__ import annotations

from warploom.order.bounds.system import System
from warploom.order.model import ModuloProblem


def deciding_interval(system: System) -> int:
    """An II at which (or, without monotony, up to which) any feasible body can be scheduled."""
    problem = system.problem
    handoffs = [problem.handoff if e.handoff is None else e.handoff for e in problem.edges]
    total = sum(e.latency for e in problem.edges) + sum(handoffs)
    total += sum(h.cycles for op in problem.ops for h in op.holds())
    total += sum(op.issue for op in problem.ops)
    for ring in problem.rings:
        reads = [u for uses in ring.readers for u in uses]
        total += sum(u.hold + problem.release for u in reads)
    for value in problem.values:
        total += value.late + sum(u.hold for u in value.uses)
    return max(total, len(problem.ops), 2)


def is_monotone(problem: ModuloProblem) -> bool:
    """True when a schedule at one II gives one at every larger II.

    It does, by adding cycles at the end of the interval, unless a value starts to live later than
    its issue and counts against a budget: the start then moves against everything else.
    """
    limited = any(r.register_budget is not None for r in problem.roles)
    return not limited or all(v.late == 0 for v in problem.values)
