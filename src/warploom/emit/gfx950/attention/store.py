"""What stands after the loop: the tail's vector work, and stores of four neighbours a lane."""

from __future__ import annotations

from warploom.emit.gfx950.attention.addresses import emit_resource
from warploom.emit.gfx950.attention.plan import MMA, AttentionPlan
from warploom.emit.gfx950.attention.work import Registers, Work, place_in_tile
from warploom.emit.gfx950.lower.addresses import OUTSIDE
from warploom.emit.gfx950.lower.pointwise import convert, memory_type, narrow
from warploom.emit.gfx950.lower.text import IrText
from warploom.kernel.values import DType, Store

_STORED = {DType.F32: "float", DType.BF16: "bfloat", DType.F16: "half"}


def emit_stores(text: IrText, plan: AttentionPlan, carried: dict[str, list[Registers]]) -> None:
    """Store the outputs; rows past the last lie outside their buffer and are dropped."""
    for op in plan.text.stores:
        rows = op.at[: len(plan.text.kernel.grid.vars) - 1]
        emit_resource(text, plan, Work(text, plan, {}), op.tensor, rows, f"rsrc_{op.tensor}")
    for op in plan.text.stores:
        text.comment(f"store {op.tensor}")
        wide = op.at[-1].var == plan.text.head
        for j in range(plan.head_tiles if wide else 1):
            given = {name: p[j if len(p) > 1 else 0] for name, p in carried.items()}
            work = Work(text, plan, given)
            _store_tile(text, plan, op, work, j) if wide else _store_row(text, plan, op, work)
    text.add("ret void")


def _store_tile(text: IrText, plan: AttentionPlan, op: Store, work: Work, piece: int) -> None:
    dtype = plan.text.kernel.tensor(op.tensor).dtype
    size, kind = dtype.bits // 8, plan.text.body.values[op.value].dtype
    row = text.value(f"mul i32 %row, {plan.tile.block_k * size}")
    half = text.value(f"mul i32 %half_rows, {size}")
    start = text.value(f"add i32 {row}, {half}")
    for group in range(0, 16, 4):
        text.add("call void @llvm.amdgcn.sched.barrier(i32 0)")
        wide = "poison"
        for i in range(4):
            value = convert(text, work.at(op.value, group + i), kind, DType.F32)
            wide = text.value(f"insertelement <4 x float> {wide}, float {value}, i32 {i}")
        held, suffix = "<4 x float>", "v4f32"
        if dtype is not DType.F32:
            cut = text.value(f"fptrunc <4 x float> {wide} to <4 x {_STORED[dtype]}>")
            wide = text.value(f"bitcast <4 x {_STORED[dtype]}> {cut} to <2 x i32>")
            held, suffix = "<2 x i32>", "v2i32"
        at = text.sum(start, (MMA[0] * piece + place_in_tile(group)) * size)
        text.add(
            f"call void @llvm.amdgcn.raw.ptr.buffer.store.{suffix}({held} {wide}, "
            f"ptr addrspace(8) %rsrc_{op.tensor}, i32 {at}, i32 0, i32 0)"
        )


def _store_row(text: IrText, plan: AttentionPlan, op: Store, work: Work) -> None:
    """A number a query: both halves of the lanes have it, the first one stores it."""
    dtype = plan.text.kernel.tensor(op.tensor).dtype
    kind = memory_type(dtype)
    value = convert(text, work.at(op.value), plan.text.body.values[op.value].dtype, DType.F32)
    bits = narrow(text, value, dtype)
    at = text.value(f"mul i32 %row, {dtype.bits // 8}")
    first = text.value("icmp eq i32 %half, 0")
    at = text.value(f"select i1 {first}, i32 {at}, i32 {OUTSIDE}")
    held = "float" if kind == "f32" else kind
    text.add(
        f"call void @llvm.amdgcn.raw.ptr.buffer.store.{kind}({held} {bits}, "
        f"ptr addrspace(8) %rsrc_{op.tensor}, i32 {at}, i32 0, i32 0)"
    )
