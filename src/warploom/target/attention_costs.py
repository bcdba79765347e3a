"""Costs of one key tile of attention forward, per consumer, on Hopper and on MI355X.

Hopper: 64 query rows, 128 keys, head dimension 128, from measured rates. QK and PV are eight
m64n128k16 each (512 cycles of tensor cores, 574 until usable). Row maximum 8192 FMNMX (128 cycles
of ALU, 188 with its shuffles), exponentials 8192 ex2 at 16 a cycle (512), conversion 64, rescaling
of the output 64. MI355X: 32 rows and 64 keys a wave, derived from peak rates, not measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.target.h200 import TENSOR_DRAIN, h200
from warploom.target.unit_costs import Source, UnitCost


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCosts:
    """Prices of one consumer's ops and the storage one key tile takes.

    ``exp_alu`` is the ALU time that rides along with the exponentials (0: they run on the ALU
    themselves). ``issue`` is the stream time of one matrix product, ``product_tail`` what its
    result takes longer than its occupancy.
    """

    name: str
    matrix_unit: str
    product: UnitCost
    row_max: UnitCost
    exp: UnitCost
    convert: UnitCost
    rescale: UnitCost
    load: UnitCost
    issue: int
    product_tail: int
    exp_unit: str
    alu_unit: str
    exp_alu: int
    s_registers: int
    p_registers: int
    o_registers: int
    tile_bytes: int


def _cost(occupancy: int, latency: int, source: Source) -> UnitCost:
    return UnitCost(occupancy=occupancy, latency=latency, source=source)


_HOPPER = h200()

HOPPER_ATTENTION = AttentionCosts(
    name="hopper",
    matrix_unit="tensor",
    product=_cost(
        8 * _HOPPER.wgmma_interval(128), _HOPPER.group_latency(n=128, count=8), Source.MEASURED
    ),
    row_max=_cost(128, 188, Source.MEASURED),
    exp=_cost(512, 552, Source.MEASURED),
    convert=_cost(64, 84, Source.MEASURED),
    rescale=_cost(64, 84, Source.MEASURED),
    load=_cost(400, 1000, Source.MEASURED),
    issue=16,
    product_tail=TENSOR_DRAIN,
    exp_unit="mufu",
    alu_unit="alu",
    exp_alu=128,
    s_registers=64,
    p_registers=32,
    o_registers=64,
    tile_bytes=32_768,
)

MI355X_ATTENTION = AttentionCosts(
    name="mi355x",
    matrix_unit="mma",
    product=_cost(512, 544, Source.DERIVED),
    row_max=_cost(64, 112, Source.DERIVED),
    exp=_cost(640, 660, Source.DERIVED),
    convert=_cost(64, 72, Source.DERIVED),
    rescale=_cost(128, 136, Source.DERIVED),
    load=_cost(400, 1000, Source.DERIVED),
    issue=64,
    product_tail=32,
    exp_unit="valu",
    alu_unit="valu",
    exp_alu=0,
    s_registers=32,
    p_registers=16,
    o_registers=64,
    tile_bytes=16_384,
)
