"""Costs of one key tile of attention forward, per consumer, on Hopper and on MI355X.

Hopper: 64 query rows, from measured rates. With 128 keys and head dimension 128, QK and PV are
eight m64n128k16 each (512 cycles of tensor cores, 574 until usable). Row maximum 8192 FMNMX (128
cycles of ALU, 188 with its shuffles), exponentials 8192 ex2 at 16 a cycle (512), conversion 64,
rescaling of the output 64; other tiles in proportion. MI355X: 32 rows and 64 keys a wave, derived
from peak rates, not measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.targets.h200 import h200


@dataclass(frozen=True, slots=True)
class UnitCost:
    """Cycles a unit is held, and until the result may be used."""

    occupancy: int
    latency: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCosts:
    """Prices of one consumer's ops and the storage one key tile takes.

    ``exp_alu`` is the ALU time that rides along with the exponentials (0: they run on the ALU
    themselves). ``issue`` is the stream time of one matrix product, ``product_tail`` what its
    result takes longer than its occupancy. ``pieces`` instructions make a product; with a ``queue``
    the unit takes so many unfinished ones, and issuing more holds the stream.
    """

    name: str
    matrix_unit: str
    qk: UnitCost
    pv: UnitCost
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
    pieces: int = 0
    queue: int | None = None


ROWS = 64  # query rows of a Hopper consumer: one wgmma
LANES = 128  # results a cycle of the ordinary units of an SM


def hopper_attention(
    *,
    head_dim: int = 128,
    tile_k: int = 128,
    q_registers: bool = False,
    queued: bool = False,
) -> AttentionCosts:
    """One consumer of 64 query rows, ``tile_k`` keys; ``q_registers``: Q is not read from smem.

    ``queued``: issuing products costs what it was measured to cost, under the bounded queue of the
    tensor cores; without it 16 cycles, as the shipped kernels were solved.
    """
    target, scores = h200(), ROWS * tile_k
    qk_steps, pv_steps = head_dim // 16, tile_k // 16
    qk, pv = (
        target.wgmma_interval(tile_k, a_in_registers=q_registers),
        target.wgmma_interval(head_dim, a_in_registers=True),
    )
    tile_bytes = tile_k * head_dim * 2
    landing = -(-400 * tile_bytes // 32_768)

    def vector(cycles: int, tail: int) -> UnitCost:
        return UnitCost(cycles, cycles + tail)

    return AttentionCosts(
        name="hopper",
        matrix_unit="tensor",
        qk=vector(qk_steps * qk, h200().tensor_drain),
        pv=vector(pv_steps * pv, h200().tensor_drain),
        row_max=vector(scores // 64, 60),
        exp=vector(scores // 16, 40),
        convert=vector(scores // 128, 20),
        rescale=vector(ROWS * head_dim // LANES, 20),
        load=vector(landing, 600),
        issue=max(
            qk_steps * target.product_issue(tile_k // 2),
            pv_steps * target.product_issue(head_dim // 2),
        )
        if queued
        else 16,
        product_tail=h200().tensor_drain,
        exp_unit="mufu",
        alu_unit="alu",
        exp_alu=2 * scores // LANES,
        s_registers=tile_k // 2,
        p_registers=tile_k // 4,
        o_registers=head_dim // 2,
        tile_bytes=tile_bytes,
        pieces=max(qk_steps, pv_steps),
        queue=target.wgmma_queue if queued else None,
    )


HOPPER_ATTENTION = hopper_attention()

MI355X_ATTENTION = AttentionCosts(
    name="mi355x",
    matrix_unit="mma",
    qk=UnitCost(512, 544),
    pv=UnitCost(512, 544),
    row_max=UnitCost(64, 112),
    exp=UnitCost(640, 660),
    convert=UnitCost(64, 72),
    rescale=UnitCost(128, 136),
    load=UnitCost(400, 1000),
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
