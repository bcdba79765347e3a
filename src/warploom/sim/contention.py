"""Role programs whose ops are in each other's way: vector work beside products and on one pipe.

Vector work of a warp is slower while the tensor cores read and write registers, most of all for
its own warp's products, and while other roles use its pipe. How long an op takes then depends on
when it runs, and when it runs on how long ops take: a run of a few iterations is repeated, each op
with its share of time beside others from the run before. So prices are those of the document,
however many iterations are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import fmean

from warploom.ir.machine_costs import RoleCosts, RoleOpCost
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.sim.engine import run
from warploom.sim.events import OpEvent
from warploom.sim.roles import GROUPS, lower_roles

ROUNDS, TRIPS = 3, 12
START = 0.7  # of the time beside products, before anything is known
EDGE = 3  # iterations at either end that do not count

Shares = dict[str, tuple[float, float]]  # by op: of its time beside products, and on a taken pipe


@lru_cache(maxsize=64)
def contended(document: RolesDocument, costs: RoleCosts) -> RoleCosts:
    """The prices with what ops lose to each other in this document."""
    shares: Shares = {name: (START, 0.0) for name, cost in costs.ops if cost.beside}
    if not shares:
        return costs
    for _ in range(ROUNDS):
        workload = lower_roles(document, _slowed(costs, shares), max(TRIPS, document.minimum_trips))
        seen = _shares(run(workload).ops, costs, shares)
        for name, (beside, taken) in seen.items():
            shares[name] = ((shares[name][0] + beside) / 2, taken)
    return _slowed(costs, shares)


def _slowed(costs: RoleCosts, shares: Shares) -> RoleCosts:
    def slowed(cost: RoleOpCost, products: float, pipe: float) -> RoleOpCost:
        timing = cost.timing
        more = round(cost.beside * products + timing.issue * pipe)
        timing = replace(timing, issue=timing.issue + more, latency=timing.latency + more)
        return replace(cost, timing=timing)

    return replace(costs, ops=tuple((n, slowed(c, *shares.get(n, (0, 0)))) for n, c in costs.ops))


def _shares(ops: Sequence[OpEvent], costs: RoleCosts, names: Shares) -> Shares:
    """Of the time of each op in the loop that of products, own ones counted more, and of others
    on its pipe.
    """
    products = [o for o in ops if o.queue == GROUPS]
    steps = [o for o in ops if o.place.label in names]
    inner = sorted({o.place.iteration for o in steps if o.place.iteration is not None})[EDGE:-EDGE]
    found: dict[str, list[tuple[float, float]]] = {}
    for o in steps:
        if o.place.phase != "kernel" or o.place.iteration not in inner:
            continue
        beside = sum(
            max(0, min(o.issued, p.end) - max(o.issue, p.start))
            * (costs.own if p.row == o.row else 1.0)
            for p in products
        )
        taken = sum(
            max(0, min(o.issued, p.issued) - max(o.issue, p.issue))
            for p in steps
            if p.row != o.row and p.unit == o.unit
        )
        time = max(1, o.issued - o.issue)
        found.setdefault(o.place.label, []).append((beside / time, taken / time))
    return {n: (fmean(b for b, _ in all_), fmean(t for _, t in all_)) for n, all_ in found.items()}
