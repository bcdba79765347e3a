"""Rows that a list picks: the producer's other warps copy them where products read.

The copy engine walks no lists. Threads issue copies of 16 bytes, which land in the slot of their
ring by themselves and announce it there: as many iterations are in flight as the ring holds.
"""

from __future__ import annotations

from warploom.ir.tile import Load
from warploom.passes.body import Body, refusal
from warploom.passes.kernel_config import KernelConfig
from warploom.passes.op_cost import Cost
from warploom.passes.smem_layout import LINE_BYTES, SlotRing, list_of
from warploom.targets.h200 import HopperTarget

GATHERER = "gatherer"
THREADS = 96
CHUNK_BYTES = 16  # what a thread copies at once: eight threads take a line of a row
AT_ONCE = THREADS * CHUNK_BYTES // LINE_BYTES  # rows
REGISTERS = 56  # of a thread that gathers, besides where its rows lie


def rounds_of(ring: SlotRing) -> int:
    """How often the threads take rows until they have all of a tile."""
    return -(-ring.tiles[0].rows // AT_ONCE)


def gather_registers(rings: tuple[SlotRing, ...]) -> int:
    """Registers of a thread that gathers; 0 where none does."""
    each = [3 * rounds_of(r) for r in rings if r.gathered]
    return -(-(REGISTERS + sum(each)) // 8) * 8 if each else 0


def gather_cost(ring: SlotRing, target: HopperTarget) -> Cost:
    """Copies of 16 bytes, in flight like those of the copy engine."""
    busy = ring.bytes // LINE_BYTES
    return Cost(
        unit="gather", occupancy=busy, latency=busy + target.load_latency(ring.bytes), issue=busy
    )


def check_gathered(body: Body, config: KernelConfig, rings: tuple[SlotRing, ...]) -> None:
    """Refuse what has no form: other elements, clusters, lists for columns."""
    for ring in rings:
        op = body.ops[ring.tiles[0].value]
        if not ring.gathered or not isinstance(op, Load):
            continue
        listed, tile = list_of(body, op), ring.tiles[0]
        assert listed is not None
        rows, cols = op.result.vars
        why = fix = ""
        if body.values[listed].vars != (rows,) or op.at[-1].var != cols:
            why, fix = (
                "a list picks rows: whole lines of the innermost axis",
                "transpose the tensor",
            )
        elif rows == body.loop.var:
            why, fix = (
                "the list is read once a tile",
                "a list for rows of the tile, not of the loop",
            )
        elif tile.dtype.bits != 16:
            why, fix = "rows are gathered as bf16 or fp16", "gather before the call"
        elif config.cluster > 1:
            why, fix = "rows are not fetched for other CTAs", "cluster=1"
        elif any(r.filled for r in rings):
            why, fix = "the loop computes operands of its own", "gather before the call"
        if why:
            raise refusal(
                f"rows of {op.tensor} gathered by a list", op.result.line, why=why, fix=fix
            )
