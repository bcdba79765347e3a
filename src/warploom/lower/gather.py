"""Rows that a list picks: the producer's other warps fetch them and lay them where products read.

The copy engine walks no lists. ``Fetch`` loads the rows of an iteration into registers, ``Lay``
writes them into the slot of their ring, as copies would have; then the next ones are fetched, so
that their way through memory is hidden by the products of as many iterations as the ring holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.kernel.values import Load
from warploom.lower.body import Body, refusal
from warploom.lower.price import Cost
from warploom.lower.slots import LINE_BYTES, SlotRing, list_of
from warploom.lower.tiling import Tiling
from warploom.target.h200 import HopperTarget

GATHERER = "gatherer"
THREADS = 96
CHUNK_BYTES = 16  # what a thread loads at once: eight threads take a line of a row
AT_ONCE = THREADS * CHUNK_BYTES // LINE_BYTES  # rows
REGISTERS = 44  # of a thread that gathers, besides what it fetches and the numbers of its rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """The rows of an iteration into registers."""

    ring: SlotRing

    @property
    def name(self) -> str:
        """The op's name."""
        return f"fetch_{self.ring.name}"

    @property
    def result(self) -> str:
        """The rows as they lie in registers."""
        return f"{self.ring.tiles[0].value}.rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lay:
    """Fetched rows into their slot."""

    ring: SlotRing

    @property
    def name(self) -> str:
        """The op's name."""
        return f"lay_{self.ring.name}"


def rounds_of(ring: SlotRing) -> int:
    """How often the threads take rows until they have all of a tile."""
    return -(-ring.tiles[0].rows // AT_ONCE)


def gathered_array(ring: SlotRing) -> tuple[str, int]:
    """The registers that rows pass through, and how many of them a thread has."""
    tile = ring.tiles[0]
    return f"rows_{tile.value.replace('.', '_')}", 4 * tile.blocks * rounds_of(ring)


def gather_registers(rings: tuple[SlotRing, ...]) -> int:
    """Registers of a thread that gathers; 0 where none does."""
    each = [gathered_array(r)[1] + rounds_of(r) for r in rings if r.gathered]
    return -(-(REGISTERS + sum(each)) // 8) * 8 if each else 0


def fetch_cost(ring: SlotRing, target: HopperTarget) -> Cost:
    """Loads of 16 bytes; the last of them is there after the latency of memory."""
    busy = ring.bytes // LINE_BYTES
    latency = busy + target.load_latency(ring.bytes, from_dram=False)
    return Cost(unit="gather", occupancy=busy, latency=latency, issue=busy)


def lay_cost(ring: SlotRing, target: HopperTarget) -> Cost:
    """Stores of 16 bytes to shared memory, and the fence after them."""
    busy = ring.bytes // LINE_BYTES
    latency = busy + target.tiles.step_tail + target.tiles.fence
    return Cost(unit="gather", occupancy=busy, latency=latency, issue=busy)


def check_gathered(body: Body, tiling: Tiling, rings: tuple[SlotRing, ...]) -> None:
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
        elif tiling.cluster > 1:
            why, fix = "rows are not fetched for other CTAs", "cluster=1"
        elif any(r.filled for r in rings):
            why, fix = "the loop computes operands of its own", "gather before the call"
        if why:
            raise refusal(
                f"rows of {op.tensor} gathered by a list", op.result.line, why=why, fix=fix
            )
