"""``Pace``: the one figure of a loop that every command and table shows.

An interval means nothing without the machine it was reckoned for and the work an iteration does:
a loop that covers two K-tiles is not slower than one that covers one because its iteration takes
longer. So a pace names its costs, and compares by cycles a tile. It is taken from a run that has
become periodic wherever there is one, so it does not depend on how many trips a picture shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from warploom.dataclass import dataclass
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.machine_costs import MachineCosts
from warploom.sim.engine import run as run_workload
from warploom.sim.lower import lower
from warploom.sim.simulation import Simulation
from warploom.sim.steady import SteadyState, steady_state

TRIPS = (8, 16, 32, 64)
MATRIX_LANES = ("MMA_UNIT", "tensor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a loop runs on some costs.

    ``interval`` is cycles a loop iteration of ``tiles`` tiles of K (or of keys); ``bound`` what
    the busiest unit alone would need; ``matrix`` the share of time the matrix unit works.
    ``exact``: the run became periodic; otherwise the interval is an average.
    """

    costs: str
    interval: float
    tiles: int
    exact: bool
    bound: float
    unit: str
    matrix: float | None
    word: str = "K-tile"

    @property
    def per_tile(self) -> float:
        """Cycles a tile."""
        return self.interval / self.tiles

    def text(self) -> str:
        """One line: cycles a tile, the bound, how busy the matrix unit is, on which costs."""
        whole = f" ({self.interval:g} for {self.tiles} an iteration)" if self.tiles > 1 else ""
        average = "" if self.exact else ", average"
        matrix = "" if self.matrix is None else f", matrix unit {self.matrix:.0%} busy"
        return (
            f"{self.per_tile:g} cycles a {self.word}{whole}{average}, "
            f"bound {self.bound / self.tiles:g} by {self.unit}{matrix}, on {self.costs} costs"
        )

    def to_json(self) -> dict[str, Any]:
        """The same as JSON-ready values."""
        return {
            "costs": self.costs,
            "cycles_per_k_tile": self.per_tile,
            "interval": self.interval,
            "k_tiles_per_iteration": self.tiles,
            "exact": self.exact,
            "bound_per_k_tile": self.bound / self.tiles,
            "bound_by": self.unit,
            "matrix_utilisation": self.matrix,
        }


def find_pace(
    run: Callable[[int], Simulation], tiles: int = 1, word: str = "K-tile"
) -> Pace | None:
    """The pace of a loop: ``run`` simulates it for a number of trips, few first.

    ``word`` names what an iteration walks over.
    """
    sim = None
    for trips in TRIPS:
        sim = run(trips)
        if sim.steady:
            break
    found = None if sim is None else pace_of(sim, tiles)
    return None if found is None else replace(found, word=word)


def steady_interval(document: ScheduleDocument, costs: MachineCosts) -> float:
    """The interval ``find_pace`` finds, without events: for scoring many documents."""
    state: SteadyState | None = None
    for trips in TRIPS:
        state = steady_state(run_workload(lower(document, costs, trips)))
        if state is not None and state.steady:
            break
    return inf if state is None else float(state.interval)


def pace_of(sim: Simulation, tiles: int = 1) -> Pace | None:
    """The pace a run shows; None for a run of fewer than two iterations."""
    if sim.ii is None:
        return None
    bound = sim.bound
    matrix = [u for u in sim.units if u.lane in MATRIX_LANES]
    return Pace(
        costs=sim.costs,
        interval=sim.ii,
        tiles=max(1, tiles),
        exact=sim.steady,
        bound=float(bound.bound) if bound else 0.0,
        unit=next(u.lane for u in sim.units if u.unit == bound.unit) if bound else "nothing",
        matrix=matrix[0].steady_utilisation if matrix else None,
    )
