"""The order of a schedule as constraints: what an in-order machine makes of it.

Fixing the order in which each unit takes its ops turns scheduling into longest paths. So a schedule
found at some II can be *tightened*: the least II of its order, at no cost of search.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.order.bounds.paths import Paths
from warploom.order.bounds.system import Arc, System, build_system
from warploom.order.check import check_schedule
from warploom.order.exact.request import Incumbent
from warploom.order.model import ModuloProblem


def unit_order_arcs(system: System, ii: int, times: Sequence[int]) -> list[Arc]:
    """Each unit of capacity 1 takes its ops in the order of issue, turn after turn."""
    out = []
    for unit in system.units:
        if unit.capacity > 1 or not unit.ops:
            continue
        cycles = dict(unit.ops)
        order = sorted(cycles, key=lambda v: (times[v] % ii, v))
        for v, w in zip(order, [*order[1:], order[0]], strict=True):
            wrap = 1 if w == order[0] else 0
            distance = times[v] // ii - times[w] // ii + wrap
            out.append(Arc(v, w, cycles[v], distance, f"unit {unit.name}"))
    return out


def tightened(problem: ModuloProblem, ii: int, found: Incumbent) -> tuple[int, Incumbent]:
    """The least II of the schedule's own order, and the schedule there; itself if none is valid."""
    fixed = problem.with_roles(found.roles) if problem.roles else problem
    system = build_system(fixed)
    arcs = [*system.all_arcs(found.depths), *unit_order_arcs(system, ii, found.times)]
    least, _, earliest = Paths(system.n, arcs).least()
    if not 1 <= least < ii:
        return ii, found
    times = tuple(earliest)
    report = check_schedule(problem, least, times, found.depths, roles=found.roles)
    if report.errors:
        return ii, found
    return least, Incumbent(times=times, depths=found.depths, roles=found.roles)
