"""The chip's costs for a counter document: what its ops stand for on an MI355X, by tile and type.

One compute entry of a document is a block of MFMAs; how long it holds the matrix unit follows from
the tile, the waves and the number of such entries, so it is reckoned here and nowhere else. A
document that carries its machine is priced by that, one of any other target by the latencies its
own cost model gave its ops.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.document.counters import ScheduleDocument
from warploom.document.kinds import OpRole
from warploom.document.machine import MachineCosts
from warploom.sim.costs import mi355x_costs
from warploom.target.mi355x_units import FLOP_PER_CYCLE_SIMD

Tile = tuple[int, int, int]
MMA_CYCLES = 16  # one 16x16x32 bf16 product, or half of one 16x16x128 in fp8
K_STEPS = 2  # products along K of the shipped tiles (64 deep in bf16)
CHIP = "mi355x"


def chip_costs(
    document: ScheduleDocument, tile: Tile | None = None, dtype: str = "bf16"
) -> MachineCosts:
    """The costs to simulate a document with: its own machine's, the chip's for MI355X, else the
    ops' own latencies.

    Without a ``tile`` the document's own shape counts; where it carries none, the block of products
    an entry stands for is read off the counters (one fragment read each), at the depth of the
    shipped tiles.
    """
    if document.machine is not None:
        return document.machine
    if document.target.partition("-")[0] != CHIP:
        return model_costs(document)
    shape = getattr(document, "shape", None)
    if tile is None and shape is not None:
        tile, dtype = shape.tile, shape.dtype
    return replace(mi355x_costs(mma_cycles=_block_cycles(document, tile, dtype)), name=CHIP)


def model_costs(document: ScheduleDocument) -> MachineCosts:
    """The latencies the document's own ops carry, named after its target."""
    return MachineCosts(name=f"{document.target} model")


def _block_cycles(document: ScheduleDocument, tile: Tile | None, dtype: str) -> int:
    """Cycles one compute entry holds the matrix unit of its SIMD."""
    if tile is None:
        a, b = document.counters.lgkm_per_load
        return max(MMA_CYCLES, a * b * MMA_CYCLES // K_STEPS) if a and b else 256
    waves = document.protocol.groups * document.protocol.waves_per_group
    entries = sum(e.op.role is OpRole.COMPUTE for e in document.kernel)
    blocks = max(1, entries // max(1, document.protocol.k_tiles_per_iteration))
    rate = FLOP_PER_CYCLE_SIMD["fp8" if dtype == "fp8" else "bf16"]
    m, n, k = tile
    return max(1, round(2 * m * n * k / waves / blocks / rate))
