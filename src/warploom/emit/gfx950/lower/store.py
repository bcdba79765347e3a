"""Storing C: one dword a lane and accumulator register, dropped where it lies outside M or N."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from warploom.emit.gfx950.lower.addresses import BUFFER_FLAGS, OUTSIDE
from warploom.emit.gfx950.lower.tail import Tail
from warploom.emit.gfx950.lower.text import IrText
from warploom.emit.gfx950.plan import KernelPlan
from warploom.emit.gfx950.tile import Operand


def emit_store(text: IrText, plan: KernelPlan, accumulators: Mapping[tuple[int, int], str]) -> None:
    """Store every accumulator. Rows end with the buffer; columns past N go ``OUTSIDE``."""
    text.comment("store C")
    mfma = plan.tile.mfma
    registers = mfma.accumulator_registers
    text.add(f"%lane_group = lshr i32 %lane, {mfma.n.bit_length() - 1}")
    text.add(f"%lane_column = and i32 %lane, {mfma.n - 1}")
    rows, columns = plan.grid
    writer = _Plain(text) if plan.text is None else Tail(text, plan, plan.text)
    for j in range(columns):
        column = _column(text, plan, j)
        writer.column(column, text.value(f"icmp ult i32 {column}, %dim_n"))
    group_row = text.times("%lane_group", 4)
    for i in range(rows):
        row0 = text.sum(_first(text, plan, plan.tile.operands[0], i), group_row)
        for r in range(registers):
            row = text.sum(row0, mfma.accumulator_row(0, r))
            held = (accumulators[i, j] for j in range(columns))
            kind = f"<{registers} x float>"
            writer.row(row, (text.value(f"extractelement {kind} {v}, i32 {r}") for v in held))
    text.add("ret void")


class _Plain:
    """C as it is: one dword an element."""

    def __init__(self, text: IrText) -> None:
        self._text = text
        self._columns: list[tuple[str, str]] = []
        _c_resource(text)

    def column(self, index: str, inside: str) -> None:
        """Start the next column."""
        self._columns.append((self._text.times(index, 4), inside))

    def row(self, row: str, accumulators: Iterable[str]) -> None:
        """Write one row."""
        text = self._text
        at = text.value(f"mul i32 {row}, %c_pitch")
        values = iter(accumulators)
        for column, inside in self._columns:
            # Pinned, or all addresses become live at once.
            text.add("call void @llvm.amdgcn.sched.barrier(i32 0)")
            value = next(values)
            offset = text.value(f"add i32 {at}, {column}")
            offset = text.value(f"select i1 {inside}, i32 {offset}, i32 {OUTSIDE}")
            text.add(
                f"call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float {value}, "
                f"ptr addrspace(8) %rsrc_c, i32 {offset}, i32 0, i32 0)"
            )


def _c_resource(text: IrText) -> None:
    text.add("%c_pitch = shl i32 %dim_n, 2")
    size = text.value("mul i32 %rows0, %c_pitch")
    size = text.value(f"zext i32 {size} to i64")
    row = text.value("zext i32 %first_row0 to i64")
    pitch = text.value("zext i32 %c_pitch to i64")
    offset = text.value(f"mul i64 {row}, {pitch}")
    base = text.value(f"getelementptr i8, ptr addrspace(1) %mat_c, i64 {offset}")
    text.add(
        "%rsrc_c = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1("
        f"ptr addrspace(1) {base}, i16 0, i64 {size}, i32 {BUFFER_FLAGS})"
    )


def _first(text: IrText, plan: KernelPlan, operand: Operand, tile: int) -> str:
    """First row (or column) in the block of a wave's ``tile``-th MMA tile along an operand."""
    per = plan.tiles(operand.channel)
    subtile, inside = divmod(tile, per)
    share = text.times(f"%wave{operand.channel}", per * operand.mma_rows)
    first = subtile * (operand.rows // plan.subtiles[operand.channel]) + inside * operand.mma_rows
    return text.sum(share, first)


def _column(text: IrText, plan: KernelPlan, j: int) -> str:
    first = _first(text, plan, plan.tile.operands[1], j)
    column = text.value(f"add i32 {first}, %lane_column")
    return text.value(f"add i32 {column}, %first_row1")
