"""``simulate``: run a schedule document against machine costs and say what happened.

    >>> sim = simulate(document, mi355x_costs(), trips=16)
    >>> sim.ii, sim.bound.unit
    (4608.0, 'MMA_UNIT/simd0')

The result holds the events and the figures drawn from them: the interval reached, how busy each
unit was, and how long each wait stalled and for which op.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from warploom.dataclass import dataclass
from warploom.errors import ConfigError
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.format1 import AnyGiven, counter_document_of, document_of
from warploom.ir.machine_costs import MachineCosts, RoleCosts
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.repr_html import Pictured
from warploom.sim.chip import chip_costs
from warploom.sim.contention import contended
from warploom.sim.costs import TargetCosts, costs_of
from warploom.sim.engine import run
from warploom.sim.events import (
    BarrierEvent,
    Link,
    OpEvent,
    PhaseSpan,
    Row,
    SlotEvent,
    StallEvent,
    StallKind,
    WaitEvent,
)
from warploom.sim.lower import lower
from warploom.sim.program import Workload
from warploom.sim.roles import lower_roles
from warploom.sim.state import Trace
from warploom.sim.steady import (
    SteadyState,
    UnitLoad,
    phase_spans,
    steady_state,
    storage_events,
    unit_loads,
)

DEFAULT_TRIPS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitUse:
    """How busy a unit was: over the whole run, and per iteration of the steady state."""

    unit: str
    lane: str
    capacity: int
    busy: int
    utilisation: float
    steady_utilisation: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StallSite:
    """A place that stalled, over all rows and iterations, with its most costly cause."""

    phase: str
    index: int
    label: str
    kind: StallKind
    cycles: int
    times: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Simulation(Pictured):
    """One run. All times are in cycles from the start of the prologue."""

    name: str
    costs: str
    trips: int
    cycles: int
    rows: tuple[Row, ...]
    ops: tuple[OpEvent, ...]
    stalls: tuple[StallEvent, ...]
    waits: tuple[WaitEvent, ...]
    barriers: tuple[BarrierEvent, ...]
    slots: tuple[SlotEvent, ...]
    links: tuple[Link, ...]
    spans: tuple[PhaseSpan, ...]
    units: tuple[UnitUse, ...]
    loads: tuple[UnitLoad, ...]
    state: SteadyState | None
    sites: tuple[StallSite, ...]

    @property
    def ii(self) -> float | None:
        """Cycles per loop iteration once the pipeline runs; None with fewer than two trips."""
        return None if self.state is None else float(self.state.interval)

    @property
    def steady(self) -> bool:
        """Whether ``ii`` is exact: the run became periodic."""
        return self.state is not None and self.state.steady

    def __repr__(self) -> str:
        interval = "" if self.ii is None else f", II {self.ii:g}"
        return f"<Simulation {self.name}: {self.trips} trips, {self.cycles} cycles{interval}>"

    @property
    def bound(self) -> UnitLoad | None:
        """The unit that limits the interval from below, with its load."""
        return self.loads[0] if self.loads else None


def simulate(
    document: AnyGiven,
    costs: MachineCosts | TargetCosts | RoleCosts | None = None,
    *,
    trips: int = DEFAULT_TRIPS,
    waves: int | None = None,
) -> Simulation:
    """Run ``trips`` loop iterations on every wave of the workgroup.

    ``waves=1`` runs one wave of each group, standing for all of them: faster, and nearly the same
    where the waves of a group run alike. ``document`` may be what compilation returned, ``costs``
    a target; without ``costs`` those of the machine the document was compiled for count, as for
    every command: its own, the chip's for an MI355X, else the ops' own latencies. Programs of
    roles carry their prices (``RoleCosts``).

    Raises ``SimulationError`` when waves wait for each other for ever, ``CostModelError`` when an
    op has no price and ``ConfigError`` for impossible numbers. A schedule that races is run all
    the same: time is all this looks at.
    """
    if type(trips) is not int:
        raise ConfigError(f"{trips!r} is no number of loop iterations", where="trips")
    found = document_of(document)
    if isinstance(found, RolesDocument) and (prices := _prices(found, costs)) is not None:
        return simulate_roles(found, prices, trips=trips)
    given = counter_document_of(document)
    if isinstance(costs, RoleCosts):
        raise ConfigError(
            f"prices of roles for the counter schedule {given.name}",
            where="costs",
            fix="MachineCosts, a target, or nothing",
        )
    machine = chip_costs(given) if costs is None else costs_of(costs)
    workload = lower(given, machine, trips, waves)
    return simulate_workload(workload, costs=machine.name, trips=trips)


def simulate_roles(
    document: RolesDocument, costs: RoleCosts, *, trips: int = DEFAULT_TRIPS, tiles: int = 1
) -> Simulation:
    """Run ``tiles`` output tiles of ``trips`` iterations each on all role instances of a CTA."""
    workload = lower_roles(document, contended(document, costs), trips, tiles)
    return simulate_workload(workload, costs=costs.name, trips=trips * tiles)


def _prices(document: RolesDocument, costs: object) -> RoleCosts | None:
    """Given prices of roles, or those that the document carries."""
    return costs if isinstance(costs, RoleCosts) else document.costs if costs is None else None


def interval_cost(
    costs: MachineCosts, *, trips: int = 16, waves: int | None = 1
) -> Callable[[ScheduleDocument], float]:
    """A score of documents: simulated cycles per loop iteration (infinite when none is reached)."""
    return _Interval(costs, trips, waves)


@dataclass(frozen=True, slots=True)
class _Interval:
    """Equal for equal costs, and can be sent to other processes."""

    costs: MachineCosts
    trips: int
    waves: int | None

    def __call__(self, document: ScheduleDocument) -> float:
        state = steady_state(run(lower(document, self.costs, self.trips, self.waves)))
        return float("inf") if state is None else float(state.interval)


def simulate_workload(workload: Workload, *, costs: str = "given", trips: int = 0) -> Simulation:
    """Run programs given directly, one per row: warp roles, or anything else that issues."""
    trace = run(workload)
    state = steady_state(trace)
    loads = unit_loads(workload)
    ends = [steps[-1].leave for steps in trace.steps if steps]
    cycles = max([0, *ends, *(op.done for op in trace.ops), *(op.end for op in trace.ops)])
    slots, links = storage_events(trace)
    return Simulation(
        name=workload.name,
        costs=costs,
        trips=trips,
        cycles=cycles,
        rows=trace.rows,
        ops=trace.ops,
        stalls=trace.stalls,
        waits=trace.waits,
        barriers=trace.barriers,
        slots=slots,
        links=links,
        spans=phase_spans(trace.steps),
        units=_unit_uses(workload, trace, cycles, loads, state),
        loads=loads,
        state=state,
        sites=_sites(trace.stalls),
    )


def _unit_uses(
    workload: Workload,
    trace: Trace,
    cycles: int,
    loads: tuple[UnitLoad, ...],
    state: SteadyState | None,
) -> tuple[UnitUse, ...]:
    busy: Counter[str] = Counter()
    for op in trace.ops:
        busy[op.unit] += op.end - op.start
    bounds = {load.unit: load.bound for load in loads}
    return tuple(
        UnitUse(
            unit=unit.name,
            lane=unit.lane,
            capacity=unit.capacity,
            busy=busy[unit.name],
            utilisation=busy[unit.name] / (cycles * unit.capacity) if cycles else 0.0,
            steady_utilisation=(
                float(bounds[unit.name] / state.interval) if state and state.interval else None
            ),
        )
        for unit in workload.units
    )


def _sites(stalls: tuple[StallEvent, ...]) -> tuple[StallSite, ...]:
    """Stalls by place and kind, the most costly first."""
    cycles: Counter[tuple[str, int, str, StallKind]] = Counter()
    times: Counter[tuple[str, int, str, StallKind]] = Counter()
    causes: dict[tuple[str, int, str, StallKind], Counter[str]] = {}
    for stall in stalls:
        place = stall.place
        key = (place.phase, place.index, place.label, stall.cause.kind)
        cycles[key] += stall.end - stall.start
        times[key] += 1
        causes.setdefault(key, Counter())[stall.cause.text] += stall.end - stall.start
    sites = [
        StallSite(
            phase=key[0],
            index=key[1],
            label=key[2],
            kind=key[3],
            cycles=total,
            times=times[key],
            cause=max(causes[key].items(), key=lambda item: (item[1], item[0]))[0],
        )
        for key, total in cycles.items()
    ]
    return tuple(sorted(sites, key=lambda site: (-site.cycles, site.phase, site.index)))


def simulation_to_json(sim: Simulation) -> dict[str, Any]:
    """The figures of a run (not its events) as plain data."""
    bound = sim.bound
    return {
        "name": sim.name,
        "costs": sim.costs,
        "trips": sim.trips,
        "cycles": sim.cycles,
        "ii": sim.ii,
        "steady": sim.steady,
        "period": sim.state.period if sim.state else None,
        "bound": None if bound is None else {"unit": bound.unit, "ii": float(bound.bound)},
        "rows": [row.name for row in sim.rows],
        "units": [asdict(use) for use in sim.units],
        "stalls": [asdict(site) for site in sim.sites],
    }
