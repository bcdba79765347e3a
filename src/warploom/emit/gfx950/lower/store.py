"""Storing C: one dword a lane and accumulator register, dropped where it lies outside M or N."""

from __future__ import annotations

from collections.abc import Mapping

from warploom.emit.gfx950.lower.addresses import BUFFER_FLAGS
from warploom.emit.gfx950.lower.text import IrText
from warploom.emit.gfx950.plan import KernelPlan
from warploom.emit.gfx950.tile import Operand

OUTSIDE = 0x80000000  # an offset behind every buffer: the hardware drops the store


def emit_store(text: IrText, plan: KernelPlan, accumulators: Mapping[tuple[int, int], str]) -> None:
    """Store every accumulator. Rows end with the buffer; columns behind N go ``OUTSIDE``."""
    text.comment("store C")
    _c_resource(text)
    mfma = plan.tile.mfma
    registers = mfma.accumulator_registers
    text.add(f"%lane_group = lshr i32 %lane, {mfma.n.bit_length() - 1}")
    text.add(f"%lane_column = and i32 %lane, {mfma.n - 1}")
    rows, columns = plan.grid
    column_offsets = [_column(text, plan, j) for j in range(columns)]
    group_row = text.times("%lane_group", 4)
    for i in range(rows):
        row0 = text.sum(_first(text, plan, plan.tile.operands[0], i), group_row)
        for r in range(registers):
            row = text.sum(row0, mfma.accumulator_row(0, r))
            at = text.value(f"mul i32 {row}, %c_pitch")
            for j in range(columns):
                # Pinned, or all addresses become live at once.
                text.add("call void @llvm.amdgcn.sched.barrier(i32 0)")
                vector = accumulators[i, j]
                value = text.value(f"extractelement <{registers} x float> {vector}, i32 {r}")
                offset = text.value(f"add i32 {at}, {column_offsets[j]}")
                offset = text.value(f"select i1 %inside{j}, i32 {offset}, i32 {OUTSIDE}")
                text.add(
                    f"call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float {value}, "
                    f"ptr addrspace(8) %rsrc_c, i32 {offset}, i32 0, i32 0)"
                )
    text.add("ret void")


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
    cut = plan.subtiles[operand.channel]
    per = operand.tiles(cut)
    subtile, inside = divmod(tile, per)
    share = text.times(f"%wave{operand.channel}", per * operand.mma_rows)
    first = subtile * (operand.rows // cut) + inside * operand.mma_rows
    return text.sum(share, first)


def _column(text: IrText, plan: KernelPlan, j: int) -> str:
    first = _first(text, plan, plan.tile.operands[1], j)
    column = text.value(f"add i32 {first}, %lane_column")
    column = text.value(f"add i32 {column}, %first_row1")
    text.add(f"%inside{j} = icmp ult i32 {column}, %dim_n")
    return text.times(column, 4)
