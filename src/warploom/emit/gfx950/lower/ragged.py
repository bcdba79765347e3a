"""Any K: the last tiles reach past the rows' ends, and what lies there must count as zero.

Loads stay inside the matrix: outside its buffer a load would return at once and could overtake
older ones, and the waits of a schedule count on their order (A1). A lane past the end of its row
fetches the row's first chunk instead, a tile past the end is the last one again. Only the epilogue
multiplies such tiles, so only there the fragments' chunks past K are made zero, on both sides: what
was fetched instead may be infinite.
"""

from __future__ import annotations

from collections import Counter

from warploom.document.kinds import OpRole
from warploom.document.ops import OpDesc
from warploom.emit.gfx950.lower.text import IrText
from warploom.emit.gfx950.plan import KernelPlan, Movement
from warploom.emit.gfx950.tile import CHUNK
from warploom.errors import BackendError
from warploom.target.mi355x import LANES

Quadrant = tuple[int, int]


def emit_ends(text: IrText, plan: KernelPlan) -> None:
    """``%trips``, ``%k_end`` (bytes covered), ``%k_last`` (start of the last tile), ``%part``."""
    protocol, tile = plan.document.protocol, plan.tile
    per, base = (n * tile.block_k for n in (protocol.k_tiles_per_iteration, protocol.kernel_k_base))
    left = text.value(f"sub i32 %dim_k, {base}")
    left = text.value(f"call i32 @llvm.smax.i32(i32 {left}, i32 0)")
    left = text.value(f"add i32 {left}, {per - 1}")
    text.add(f"%trips = udiv i32 {left}, {per}")
    done = text.times("%trips", protocol.k_tiles_per_iteration * tile.row_bytes)
    text.add(f"%k_end = add i32 {done}, {protocol.kernel_k_base * tile.row_bytes}")
    last = text.over(text.value("sub i32 %row_pitch, 1"), tile.row_bytes)
    text.add(f"%k_last = mul i32 {last}, {tile.row_bytes}")
    part = text.over("%lane", tile.mfma.m)
    text.add(f"%part = mul i32 {part}, {CHUNK}")


def check_ragged(plan: KernelPlan) -> None:
    """Refuse a schedule that multiplies a tile past the end outside its epilogue."""
    protocol = plan.document.protocol
    need = max(protocol.k_tiles_per_iteration, protocol.kernel_k_base)
    if min(_last_tiles(plan).values(), default=0) < need:
        raise BackendError(
            "the schedule multiplies its last K-tiles in the loop, so K must fill whole iterations",
            where=f"schedule {plan.document.name!r}",
            why=f"the last {need} K-tile(s) can reach past K, and only the epilogue masks them",
            fix="pad K with zeros and emit without ragged_k, or use a schedule that drains later",
        )


class Ends:
    """Where K ends, as the lowering of one kernel goes on."""

    def __init__(self, text: IrText, plan: KernelPlan) -> None:
        self._text = text
        self._plan = plan
        self._left = _last_tiles(plan)
        self._inside: dict[tuple[int, int], str] = {}
        self._zeroed: set[str] = set()

    def load_at(self, along_k: str) -> tuple[str, str]:
        """The scalar offset of a load op, and whether a lane's chunk is inside its row."""
        text = self._text
        start = text.value(f"call i32 @llvm.smin.i32(i32 {along_k}, i32 %k_last)")
        left = text.value(f"sub i32 %row_pitch, {start}")
        return start, text.value(f"icmp slt i32 %load_column, {left}")

    def lane_offset(self, offset: str, inside: str) -> str:
        """A lane's byte offset: its chunk, or the first of its row."""
        first = self._text.value(f"sub i32 {offset}, %load_column")
        return self._text.value(f"select i1 {inside}, i32 {offset}, i32 {first}")

    def next_tile(self, op: OpDesc) -> int:
        """Tiles from the end of the one an epilogue's MMA multiplies: 1 for the last."""
        quadrant = _quadrant(op)
        self._left[quadrant] -= 1
        return self._left[quadrant] + 1

    def zeroed(self, name: str, kind: str, read: int, from_end: int) -> str:
        """A fragment's chunk, zero past K; ``read``: its place along K, in reads."""
        if name in self._zeroed:
            return name
        inside = self._inside.get((read, from_end)) or self._chunk_inside(read, from_end)
        self._inside[read, from_end] = inside
        made = self._text.value(f"select i1 {inside}, {kind} {name}, {kind} zeroinitializer")
        self._zeroed.add(made)
        return made

    def _chunk_inside(self, read: int, from_end: int) -> str:
        text, tile = self._text, self._plan.tile
        start = text.value(f"sub i32 %k_end, {from_end * tile.row_bytes}")
        left = text.value(f"sub i32 %row_pitch, {start}")
        column = text.sum("%part", read * (LANES // tile.mfma.m) * CHUNK)
        return text.value(f"icmp slt i32 {column}, {left}")


def _last_tiles(plan: KernelPlan) -> Counter[Quadrant]:
    """How many tiles the epilogue multiplies, for each quadrant (or part of K)."""
    ops = (e.op for e in plan.document.epilogue if e.op.role is OpRole.COMPUTE)
    found = Counter(_quadrant(op) for op in ops)
    if plan.movement is Movement.DMA:
        rows, columns = plan.subtiles
        found.update({(i, j): 0 for i in range(rows) for j in range(columns)})
    return found


def _quadrant(op: OpDesc) -> Quadrant:
    return op.stage, op.subtile
