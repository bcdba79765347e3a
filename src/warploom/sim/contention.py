"""Role programs with what their own streams take: waits, fences, and vector work beside products.

Vector work of a warp is slower while the tensor cores read and write registers, most of all for
its own warp's products. How long an op takes then depends on when it runs, and when it runs on how
long ops take: the run is repeated with each op's share of time beside products from the run before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from warploom.document.machine import RoleCosts, RoleOpCost
from warploom.document.roles import RolesDocument
from warploom.sim.events import OpEvent
from warploom.sim.roles import lower_roles
from warploom.sim.simulation import Simulation, simulate_workload

ROUNDS = 4
START = 0.7  # of the time beside products, before anything is known
EDGE = 4  # iterations at either end that do not count


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention:
    """``step``: cycles of every step of a stream itself; ``slowed``: ops with how many times as
    long they take beside others' products; ``own``: how much more a role's own products count than
    those of others; ``unit``: what runs products.
    """

    step: int
    slowed: tuple[tuple[str, float], ...]
    own: float = 0.0
    unit: str = "tensor"


def simulate_contended(
    document: RolesDocument,
    costs: RoleCosts,
    contention: Contention,
    *,
    trips: int = 16,
    tiles: int = 1,
) -> Simulation:
    """Like ``simulate_roles``; the costs are those of ops that have the registers to themselves."""
    beside = {name: START for name, _ in contention.slowed}
    for turn in range(ROUNDS):
        prices = replace(costs, ops=tuple(_slowed(costs, contention, beside)))
        workload = lower_roles(document, prices, trips, tiles, contention.step)
        sim = simulate_workload(workload, costs=costs.name, trips=trips * tiles)
        if turn + 1 < ROUNDS:
            seen = _shares(sim.ops, contention, trips)
            beside = {n: (s + seen.get(n, s)) / 2 for n, s in beside.items()}
    return sim


def _slowed(
    costs: RoleCosts, contention: Contention, beside: dict[str, float]
) -> Sequence[tuple[str, RoleOpCost]]:
    factors, out = dict(contention.slowed), []
    for name, cost in costs.ops:
        more = round(cost.timing.issue * (factors.get(name, 1.0) - 1.0) * beside.get(name, 0.0))
        timing = replace(
            cost.timing, issue=cost.timing.issue + more, latency=cost.timing.latency + more
        )
        out.append((name, replace(cost, timing=timing)))
    return out


def _shares(ops: Sequence[OpEvent], contention: Contention, trips: int) -> dict[str, float]:
    """Per slowed op how much of its time products ran, its own role's counted ``own`` more."""
    products = [(o.start, o.end, o.row) for o in ops if o.unit == contention.unit]
    names, found = {n for n, _ in contention.slowed}, dict[str, list[float]]()
    edge = min(EDGE, trips // 4)
    for o in ops:
        steady = o.place.phase == "kernel" and edge <= (o.place.iteration or 0) < trips - edge
        if o.place.label not in names or not steady:
            continue
        shared = sum(
            max(0, min(o.issued, end) - max(o.issue, start))
            * (1.0 + contention.own * (row == o.row))
            for start, end, row in products
        )
        found.setdefault(o.place.label, []).append(shared / max(1, o.issued - o.issue))
    return {name: fmean(shares) for name, shares in found.items()}
