"""How long a Hopper GEMM takes: its programs in the timing simulator, waves, and the power model.

One CTA is simulated for a few short tiles; the steady interval and the cost of a tile's end follow,
and with them any K and any number of tiles. At the power cap the joules of the bytes moved count
as well (``EnergyModel.seconds``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from warploom.document.roles import RolesDocument
from warploom.hopper.energy import Shape, joules_of
from warploom.hopper.kernel import GemmKernel
from warploom.hopper.pricing import gemm_costs
from warploom.sim.roles import simulate_roles
from warploom.target.h200 import HopperTarget, h200

FILL_CYCLES = 1500  # launch and first loads
SUSTAINED = (
    0.957  # simulated over profiled cycles, within 1 % for every kernel the tensor cores bind
)
SHORT, LONG = 8, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TileTime:
    """Cycles of a tile: ``interval`` for each stage of K and ``rest`` once."""

    interval: float
    rest: float

    def cycles(self, k_tiles: int) -> float:
        """Cycles of a tile of that many stages."""
        return self.interval * k_tiles + self.rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a kernel is expected to take on a shape."""

    waves: int
    cycles: float
    joules: float
    seconds: float


@cache
def tile_time(document: RolesDocument, kernel: GemmKernel, target: HopperTarget) -> TileTime:
    """Simulate tiles of two lengths: the difference is the interval, what is left the rest."""
    costs = gemm_costs(kernel, target)

    def tile(trips: int) -> float:
        ends = [
            simulate_roles(document, costs, trips=trips, tiles=tiles).cycles for tiles in (2, 4)
        ]
        return (ends[1] - ends[0]) / 2

    short, long = tile(SHORT), tile(LONG)
    interval = (long - short) / (LONG - SHORT)
    return TileTime(interval=interval, rest=short - SHORT * interval)


def predict(
    document: RolesDocument, kernel: GemmKernel, shape: Shape, target: HopperTarget | None = None
) -> Prediction:
    """Waves, cycles, joules and seconds of the kernel on the shape."""
    target = target or h200()
    cm, cn = kernel.cluster
    tiles_m, tiles_n = -(-shape.m // (kernel.tile_m * cm)), -(-shape.n // (kernel.tile_n * cn))
    waves = -(-tiles_m * tiles_n // target.limits.resident_clusters(cm * cn))
    k_tiles = max(1, -(-shape.k // kernel.block_k))
    cycles = waves * tile_time(document, kernel, target).cycles(k_tiles) / SUSTAINED + FILL_CYCLES
    joules = joules_of(kernel, shape, target)
    capped = target.energy.seconds(cycles=cycles, joules=joules)
    return Prediction(
        waves=waves,
        cycles=cycles,
        joules=joules,
        seconds=max(cycles / target.clock_hz, capped),
    )
