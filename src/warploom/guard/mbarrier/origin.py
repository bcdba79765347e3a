"""Where a role's loop begins: any op may come first, for roles meet through rings only.

Without more to go by it is the op that issues first. Where registers are counted, it is the op at
whose issue the fewest of them are in use by values that a later iteration of the text ends: a value
that crosses the loop's end must be in the same registers at its beginning, and the assembler copies
what it cannot place so; of a product in flight it cannot even be copied.
"""

from __future__ import annotations

from warploom.guard.mbarrier.plan import Plan, Product
from warploom.order import ModuloResult

IN_FLIGHT = 100  # accumulators of products weigh more than anything else


def origin_of(result: ModuloResult, plan: Plan, member: str) -> int:
    """The time at which the role's first iteration begins; no op of it issues before."""
    times = [result.times[v] for v in range(len(result.times)) if result.roles[v] == member]
    first = min(times, default=0)
    if not any(result.roles[v.src] == member for v in result.problem.values):
        return first
    starts = [first - (first - t) % result.ii for t in dict.fromkeys(times)]

    def cost(start: int) -> tuple[int, int, int]:
        lag = max((t - start) // result.ii for t in times)
        return _crossing(result, plan, member, start), lag, -start

    return min(starts, key=cost)


def _crossing(result: ModuloResult, plan: Plan, member: str, start: int) -> int:
    """Registers of values whose life spans the end of an iteration that begins at ``start``."""
    total = 0
    for value in result.problem.values:
        if result.roles[value.src] != member:
            continue
        name = result.problem.ops[value.src].name
        action = plan.actions.get(plan.aliases.get(name, name))
        weight = IN_FLIGHT if isinstance(action, Product) else 1
        born = (result.times[value.src] - start) // result.ii
        ends = [result.times[u.op] + u.distance * result.ii - start for u in value.uses]
        total += weight * value.size * any(end // result.ii != born for end in ends)
    return total
