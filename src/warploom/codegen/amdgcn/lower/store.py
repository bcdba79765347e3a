"""Storing C: one dword a lane and accumulator register, dropped where it lies outside M or N.

Values of no extent are computed once, values of a column once a column, values of a row once a
row; the rest element by element. Loads of a row's elements are issued together before the first of
them is used, so that their latencies overlap.
"""

from collections.abc import Iterable, Mapping

from warploom.codegen.amdgcn.lower.addresses import BUFFER_FLAGS, OUTSIDE
from warploom.codegen.amdgcn.lower.pointwise import (
    IrText,
    constant,
    convert,
    memory_type,
    narrow,
    pointwise,
    widen,
)
from warploom.codegen.amdgcn.plan import KernelPlan, argument_name, tensor_name
from warploom.codegen.amdgcn.tile import Operand
from warploom.codegen.amdgcn.tile_kernel import GemmTileKernel
from warploom.ir import tile as ir
from warploom.ir.tile import DType, Op, results

_IR = {"f32": "float", "i16": "i16", "i8": "i8"}
Place = tuple[str, ...]  # the variables a value extends over


class Tail:
    """Emits a text's tail. ``column``/``row`` hold SSA names of the place being written."""

    def __init__(self, text: IrText, plan: KernelPlan, gemm: GemmTileKernel) -> None:
        self._text = text
        self._gemm = gemm
        self._plan = plan
        self._types = {gemm.accumulator: DType.F32}
        self._extent: dict[str, Place] = {gemm.accumulator: (gemm.row, gemm.column)}
        self._once: dict[str, str] = {}
        self._columns: list[dict[str, str]] = []
        self._column_at: list[tuple[str, str]] = []
        self._clamped: list[str] = []
        for op in gemm.tail:
            for value in results(op):
                self._types[value.name] = value.dtype
                self._extent[value.name] = self._place(op)
        for tensor in (*gemm.read, *(gemm.kernel.tensor(s.tensor) for s in gemm.stores)):
            self._resource(tensor.name)
        self._run((), self._once)

    def column(self, index: str, inside: str) -> None:
        """Start the next column: its index in the matrix, and whether it is inside."""
        self._column_at.append((index, inside))
        last = self._text.value("sub i32 %dim_n, 1")
        self._clamped.append(self._text.value(f"call i32 @llvm.umin.i32(i32 {index}, i32 {last})"))
        self._columns.append(dict(self._once))
        self._run((self._gemm.column,), self._columns[-1], column=len(self._columns) - 1)

    def row(self, row: str, accumulators: Iterable[str]) -> None:
        """Write one row (its index in the block): an accumulator element a column."""
        own = dict(self._once)
        self._run((self._gemm.row,), own, row=row)
        both = (self._gemm.row, self._gemm.column)
        held = [
            own | values | {self._gemm.accumulator: element}
            for values, element in zip(self._columns, accumulators, strict=True)
        ]
        for j, values in enumerate(held):
            self._run(both, values, row=row, column=j, loads=True)
        for j, values in enumerate(held):
            # Pinned, or all addresses become live at once.
            self._text.add("call void @llvm.amdgcn.sched.barrier(i32 0)")
            self._run(both, values, row=row, column=j, loads=False)

    def _run(
        self,
        place: Place,
        values: dict[str, str],
        *,
        row: str = "",
        column: int = -1,
        loads: bool | None = None,
    ) -> None:
        for op in self._gemm.tail:
            if self._place(op) != place:
                continue
            if loads is not None and isinstance(op, ir.Load) is not loads:
                continue
            if isinstance(op, ir.Store):
                self._store(op, values, row, column)
            else:
                values[op.result.name] = self._value(op, values, row, column)  # type: ignore[union-attr]

    def _place(self, op: Op) -> Place:
        """The part of (row, column) an op depends on."""
        match op:
            case ir.Load() | ir.Store():
                touched = {a.var for a in op.at}
            case ir.Indices():
                touched = {op.var}
            case ir.Pointwise():
                touched = {v for a in op.args for v in self._extent[a]}
            case ir.Broadcast():
                touched = set(self._extent[op.arg])
            case _:
                touched = set()
        if isinstance(op, ir.Store):
            touched |= set(self._extent[op.value])
        return tuple(v for v in (self._gemm.row, self._gemm.column) if v in touched)

    def _value(  # noqa: PLR0911 (one line a kind of op)
        self, op: Op, values: dict[str, str], row: str, column: int
    ) -> str:
        text = self._text
        match op:
            case ir.Const():
                return constant(op.value, op.result.dtype)
            case ir.Scalar():
                return f"%{argument_name(op.parameter, scalar=True)}"
            case ir.Size():
                return f"%{self._gemm.dimension(op.axis)}"
            case ir.Broadcast():
                return values[op.arg]
            case ir.Indices() if op.var == self._gemm.row:
                return text.value(f"add i32 {row}, %first_row0")
            case ir.Indices():
                return self._column_at[column][0]
            case ir.Pointwise():
                kinds = [self._types[a] for a in op.args]
                args = [values[a] for a in op.args]
                return pointwise(text, op.fn, args, kinds, op.result.dtype)
            case ir.Load():
                return self._load(op, row, column)
        raise AssertionError(op)

    def _load(self, op: ir.Load, row: str, column: int) -> str:
        kind = memory_type(self._gemm.kernel.tensor(op.tensor).dtype)
        at = self._load_offset(op, row, column)
        bits = self._text.value(
            f"call {_IR[kind]} @llvm.amdgcn.raw.ptr.buffer.load.{kind}("
            f"ptr addrspace(8) %rsrc_{tensor_name(op.tensor)}, i32 {at}, i32 0, i32 0)"
        )
        return widen(self._text, bits, self._gemm.kernel.tensor(op.tensor).dtype)

    def _store(self, op: ir.Store, values: dict[str, str], row: str, column: int) -> None:
        dtype = self._gemm.kernel.tensor(op.tensor).dtype
        value = convert(self._text, values[op.value], self._types[op.value], DType.F32)
        bits, kind = narrow(self._text, value, dtype), memory_type(dtype)
        at = self._offset(op.tensor, row, column)
        self._text.add(
            f"call void @llvm.amdgcn.raw.ptr.buffer.store.{kind}({_IR[kind]} {bits}, "
            f"ptr addrspace(8) %rsrc_{tensor_name(op.tensor)}, i32 {at}, i32 0, i32 0)"
        )

    def _load_offset(self, op: ir.Load, row: str, column: int) -> str:
        """As ``_offset``, but inside: a load outside its buffer could overtake older ones."""
        text, tensor = self._text, self._gemm.kernel.tensor(op.tensor)
        size = tensor.dtype.bits // 8
        if row:
            row = text.value(f"call i32 @llvm.umin.i32(i32 {row}, i32 %last_row0)")
        if _in_blocks(tensor):
            return self._block_offset(op, row, column, size)
        if column < 0:
            return text.times(row, size)
        index = self._clamped[column]
        if len(tensor.axes) == 1:
            return text.times(index, size)
        at = text.value(f"mul i32 {row}, %dim_n")
        return text.times(text.value(f"add i32 {at}, {index}"), size)

    def _block_offset(self, op: ir.Load, row: str, column: int, size: int) -> str:
        """Of a tensor with one element for several rows or columns, from where it begins."""
        text, at = self._text, ""
        for place, axis in zip(op.at, self._gemm.kernel.tensor(op.tensor).axes, strict=True):
            if place.var == self._gemm.row:
                index = text.over(text.value(f"add i32 {row}, %first_row0"), axis.per)
            else:
                index = text.over(self._clamped[column], axis.per)
            if at:
                at = text.value(f"mul i32 {at}, {self._blocks('%dim_n', axis.per)}")
            at = text.value(f"add i32 {at}, {index}") if at else index
        return text.times(at, size)

    def _blocks(self, size: str, per: int) -> str:
        """How many elements an axis of blocks has."""
        text = self._text
        return size if per == 1 else text.over(text.value(f"add i32 {size}, {per - 1}"), per)

    def _offset(self, name: str, row: str, column: int) -> str:
        """Byte offset of an element in its buffer; beyond every buffer outside the columns."""
        text, tensor = self._text, self._gemm.kernel.tensor(name)
        size = tensor.dtype.bits // 8
        if len(tensor.axes) == 1:
            return text.times(row if column < 0 else self._column_at[column][0], size)
        index, inside = self._column_at[column]
        at = text.value(f"mul i32 {row}, %dim_n")
        at = text.times(text.value(f"add i32 {at}, {index}"), size)
        return text.value(f"select i1 {inside}, i32 {at}, i32 {OUTSIDE}")

    def _resource(self, name: str) -> None:
        """A buffer over the tensor's rows of this block, or over all of a vector of columns."""
        text, tensor = self._text, self._gemm.kernel.tensor(name)
        size = tensor.dtype.bits // 8
        ops = [
            op for op in self._gemm.tail if isinstance(op, ir.Load | ir.Store) and op.tensor == name
        ]
        if _in_blocks(tensor):
            sizes = {self._gemm.row: "%dim_m", self._gemm.column: "%dim_n"}
            count = "1"
            for place, axis in zip(ops[0].at, tensor.axes, strict=True):
                count = text.value(
                    f"mul i32 {count}, {self._blocks(sizes[place.var or ''], axis.per)}"
                )
            count = text.value(f"zext i32 {text.times(count, size)} to i64")
            text.add(
                f"%rsrc_{tensor_name(name)} = call ptr addrspace(8) "
                f"@llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %{argument_name(name)}, "
                f"i16 0, i64 {count}, i32 {BUFFER_FLAGS})"
            )
            return
        by_row = any(a.var == self._gemm.row for op in ops for a in op.at)
        pitch = "1" if len(tensor.axes) == 1 else "%dim_n"
        count = text.value(f"mul i32 {'%rows0' if by_row else '%dim_n'}, {pitch}")
        count = text.value(f"zext i32 {text.times(count, size)} to i64")
        base = f"%{argument_name(name)}"
        if by_row:
            first = text.value("zext i32 %first_row0 to i64")
            wide = text.value(f"zext i32 {pitch} to i64") if pitch != "1" else "1"
            first = text.value(f"mul i64 {first}, {wide}")
            first = text.value(f"mul i64 {first}, {size}")
            base = text.value(f"getelementptr i8, ptr addrspace(1) {base}, i64 {first}")
        text.add(
            f"%rsrc_{tensor_name(name)} = call ptr addrspace(8) "
            f"@llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) {base}, "
            f"i16 0, i64 {count}, i32 {BUFFER_FLAGS})"
        )


def _in_blocks(tensor: ir.Tensor) -> bool:
    return any(axis.per > 1 for axis in tensor.axes)


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
