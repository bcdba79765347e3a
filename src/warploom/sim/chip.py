"""The chip's costs for a counter document: what its ops stand for on an MI355X, by tile and type.

One compute entry of a document is a block of MFMAs; how long it holds the matrix unit follows from
the tile, the waves and the number of such entries, so it is reckoned here and nowhere else. A
document that carries its machine is priced by that, one of any other target by the latencies its
own cost model gave its ops.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.ir.counter_dialect import Counters, KernelShape, ScheduleDocument
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import OpDesc, OpRole
from warploom.sim.costs import mi355x_costs
from warploom.targets import seed_model
from warploom.targets.mi355x import mi355x

Tile = tuple[int, int, int]
K_STEPS = 2  # products along K of the shipped tiles (64 deep in bf16)
CHIP = mi355x().name


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
    if not is_chip(document.target):
        return model_costs(document)
    waves = document.protocol.groups * document.protocol.waves_per_group
    shape = document.shape
    if tile is None and shape is None:
        return _by_counters(document.counters)
    if tile is None or (shape is not None and shape.tile == tile):
        assert shape is not None
        return shape_costs(shape, waves, products_a_tile(document))
    shape = KernelShape(tile=tile, mma=mi355x().usual_mfma(dtype), dtype=dtype)
    return shape_costs(shape, waves, products_a_tile(document))


def is_chip(target: str) -> bool:
    """Whether a target of that name is priced in the chip's cycles."""
    return target.partition("-")[0] == CHIP


def products_a_tile(document: ScheduleDocument) -> int:
    """Compute entries of one K-tile of a document."""
    return _blocks([e.op for e in document.kernel], document.protocol.k_tiles_per_iteration)


def body_costs(
    shape: KernelShape | None,
    body: Sequence[OpDesc],
    partitions: int,
    waves: int,
    counters: Counters,
) -> MachineCosts:
    """The chip's costs for a declared body of so many K-partitions."""
    if shape is None:
        return _by_counters(counters)
    return shape_costs(shape, waves, _blocks(body, partitions))


def shape_costs(shape: KernelShape, waves: int, blocks: int) -> MachineCosts:
    """The costs of a kernel of that shape whose waves work a K-tile off in ``blocks`` products."""
    chip, (m, n, k) = mi355x(), shape.tile
    cycles = max(1, round(2 * m * n * k / waves / blocks / chip.flops(shape.dtype)))
    one = min(cycles, chip.mfma_cycles(*shape.mma, shape.dtype))
    return mi355x_costs(mma_cycles=cycles, mfma_cycles=one)


def model_costs(document: ScheduleDocument) -> MachineCosts:
    """The latencies the document's own ops carry: the seed's model, or that of an own target."""
    own = f"{document.target} model"
    return MachineCosts(name=seed_model.NAME if is_chip(document.target) else own)


def _blocks(ops: Sequence[OpDesc], tiles: int) -> int:
    return max(1, sum(op.role is OpRole.COMPUTE for op in ops) // max(1, tiles))


def _by_counters(counters: Counters) -> MachineCosts:
    one = mi355x().mfma_cycles(*mi355x().usual_mfma("bf16"), "bf16")
    a, b = counters.lgkm_per_load
    return mi355x_costs(mma_cycles=max(one, a * b * one // K_STEPS) if a and b else 16 * one)
