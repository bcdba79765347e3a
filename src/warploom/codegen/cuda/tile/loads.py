"""What vector work loads: elements of slots, of memory, and numbers a tile has one of."""

from __future__ import annotations

from dataclasses import field

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.tile.columns import COLUMN, columns_text, vector_text
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import ModulePrinter, printer
from warploom.codegen.cuda.tile.work import (
    COL,
    COLUMN_REGISTER,
    ROW,
    T_STEP,
    Work,
    at_iteration,
    axes_of,
    first_of,
)
from warploom.dataclass import dataclass
from warploom.ir import operations as ops
from warploom.ir.expr import Binary, Const, IntExpr, Op, SymKind, lift, symbols
from warploom.ir.module import PartShape
from warploom.ir.tile_schedule import let
from warploom.ir.types import DType

LINE_BYTES = 128  # of a row of a block in shared memory, and of the L2
BYTES = (DType.I8, DType.E4M3, DType.E5M2)


@dataclass
class Scopes:
    """Lines by how often they run; ``ahead``: what a step keeps for its next iteration."""

    ahead: dict[str, str] = field(default_factory=dict)
    tile: list[str] = field(default_factory=list)  # long before a tile is stored
    words: list[str] = field(default_factory=list)  # of all columns of a stored chunk
    step: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    row_names: list[str] = field(default_factory=list)
    chunk: list[str] = field(default_factory=list)
    element: list[str] = field(default_factory=list)


class Loads:
    """The text of a tile's loads; what else it computes is ``Vector``'s."""

    def __init__(self, context: Context, work: Work, *, looping: bool = False) -> None:
        self.context, self.work, self.looping = context, work, looping
        self.printed: ModulePrinter = printer(context).knowing(self.value)
        self.scopes, self.groups = Scopes(), 0  # of 16 columns, of a chunk that is to be stored
        self.names: dict[str, str] = {}

    def value(self, name: str) -> str:
        """An expression of the value at the element (or row) at hand."""
        raise NotImplementedError

    def declare(self, name: str, text: str, label: str = "") -> str:
        """Give a computed value a name in the scope it belongs to."""
        label = label or called("v", name)
        axes, kind = self.work.axes(name), kind_of(self.work.dtype(name))
        if not axes:
            self.once(f"const {kind} {label} = {text};")
        elif axes == {ROW}:
            self.scopes.row_names.append(f"{kind} {label}[2];")
            self.scopes.rows.append(f"{label}[i] = {text};")
            return f"{label}[i]"
        elif axes == {COL}:
            self.scopes.chunk += columns_text(kind, label, text)
            return f"{label}{COLUMN}"
        else:
            self.scopes.element.append(f"const {kind} {label} = {text};")
        return label

    def once(self, line: str) -> None:
        """A line of the step, once: elements and rows may both ask for it."""
        if line not in self.scopes.step:
            self.scopes.step.append(line)

    # Registers.

    def kept(self, op: ops.VectorRegister) -> str:
        """An element of a register array."""
        array = self.work.array(op.array)
        if array.form != "thread":
            self.work.refuse_register(array, op.register)
            if array.form == "tile":
                return f"{array.name}[b][4 * h + e]"
            if array.form == "packed":
                return f"{device[f'unpack_{array.dtype}']}({array.name}[b][g][e / 2], e % 2)"
            return f"{array.name}[b][i]"
        if op.register == Const(0):
            return array.name
        if op.register == COLUMN_REGISTER:
            label = called("v", op.result)
            self.scopes.chunk += vector_text(label, "", array.name)
            return f"{label}{COLUMN}"
        raise self.work.refused(f"register {op.register} of {array.name}")

    # Slots.

    def in_slot(self, op: ops.VectorSlot) -> str:
        """An element of a slot's tile or vector."""
        part = self.context_part(op)
        axes, slot = self.work.axes(op.result), called("slot", op.result)
        if part.swizzle:
            return self._from_tile(op, part)
        if op.row != Const(0):
            raise self.work.refused(f"row {op.row} of the vector {op.part}")
        if not axes:
            return self.declare(op.result, f"{device.load_shared1}({slot})")
        if axes == {ROW}:
            return self.declare(op.result, f"{device.load_shared1}({slot} + 4 * row_of(b, i))")
        label = called("v", op.result)
        self.scopes.chunk += vector_text(label, slot, loose=op.col != COL)
        return f"{label}{COLUMN}"

    def context_part(self, op: ops.VectorSlot) -> PartShape:
        """How a part of a slot lies in shared memory."""
        return self.printed.module.part(op.ring, op.part)

    def _from_tile(self, op: ops.VectorSlot, part: PartShape) -> str:
        """Elements of a tile in shared memory, 16 columns of a warp at a time."""
        per = shared_columns(op)
        if op.row != ROW or per not in (1, 2) or (per == 2 and op.dtype is not DType.I8):
            raise self.work.refused(f"[{op.row}, {op.col}] of the tile {op.part}")
        if op.dtype in BYTES:
            return self._bytes_of_tile(op)
        if op.dtype is DType.F32:
            return self._floats_of_tile(op, part)
        label, slot = called("f", op.result), called("slot", op.result)
        self.scopes.chunk += [
            f"uint32_t {label}[4];",
            f"{device.ldmatrix4}({label}, slot_element({slot}, {part.rows}, b, g));",
        ]
        return f"{device[f'unpack_{op.dtype}']}({label}[e / 2], e % 2)"

    def _floats_of_tile(self, op: ops.VectorSlot, part: PartShape) -> str:
        """Elements of 32 bits: two neighbours of a row at a time."""
        label, slot = called("f", op.result), called("slot", op.result)
        self.scopes.chunk += [
            f"float {label}[8];",
            "#pragma unroll",
            "for (int u = 0; u < 4; ++u)",
            f"  {device.load_shared2}({device.slot_byte}({slot}, {part.rows}, {part.swizzle},"
            " row_of(b, u % 2), 32 * h + u / 2 * 32 + lane % 4 / 2 * 16, lane % 2 * 8),"
            f" {label}[2 * u], {label}[2 * u + 1]);",
        ]
        return f"{label}[e]"

    def bytes_of(self, op: ops.VectorSlot) -> str:
        """The bytes of a slot's tile that a thread has of 16 columns, or pairs of bytes."""
        part, per = self.context_part(op), shared_columns(op)
        label, slot = called("f", op.result), called("slot", op.result)
        each = "u16" if per == 1 else "u8"
        pitch = min(part.cols, LINE_BYTES * 8 // part.dtype.bits)
        if f"uint32_t {label}[4];" not in self.scopes.chunk:
            self.scopes.chunk += [
                f"uint32_t {label}[4];",
                "#pragma unroll",
                "for (int u = 0; u < 4; ++u)",
                f"  {label}[u] = {device[f'load_shared_{each}']}("
                f"{device.slot_byte}({slot}, {part.rows}, {pitch}, row_of(b, u % 2),"
                f" (8 * h + u / 2 * 8) / {per}, lane % 4 * {2 // per}));",
            ]
        return label

    def _bytes_of_tile(self, op: ops.VectorSlot) -> str:
        """Elements of 8 bits, or bytes that stand for two columns each."""
        label = self.bytes_of(op)
        if op.dtype is DType.I8:
            shift = "" if shared_columns(op) == 2 else " >> e % 2 * 8"
            return f"(int)(signed char)({label}[e / 2]{shift})"
        return f"{device[f'unpack_{op.dtype}']}({label}[e / 2], e % 2)"

    # Memory.

    def loaded(self, op: ops.VectorLoad) -> str:
        """An element of a tensor."""
        if self.groups and self._lies_in_pairs(op):
            return self._words(op)
        return self.declare(op.result, self.element(op))

    def element(self, op: ops.VectorLoad) -> str:
        """An element where it exists, else 0."""
        at, inside = self.printed.loaded(op)
        text = self.context.element(op.tensor, at)
        zero = "0" if op.dtype is DType.I32 else "0.0f"
        return f"({' && '.join(inside)}) ? {text} : {zero}" if inside else text

    def number(self, op: ops.VectorLoad) -> str:
        """The one element that a tile or a step needs, as part of an expression."""
        at, inside = self.printed.loaded(op)
        text = self.context.element(op.tensor, at)
        zero = "0" if op.dtype is DType.I32 else "0.0f"
        return f"({' && '.join(inside)} ? {text} : {zero})" if inside else text

    def ahead(self, op: ops.VectorLoad) -> str:
        """One element of an iteration, read before it is needed, since memory is far away: the step
        keeps it for its next iteration, as it runs for all of them in turn.
        """
        label = called("v", op.result)
        if label not in self.scopes.ahead:
            kind = kind_of(op.dtype)
            name = called(f"ahead_{self.work.op.op}", op.result)
            now, after = (self.number(at_iteration(op, x)) for x in (Const(0), lift(T_STEP + 1)))
            self.scopes.ahead[label] = f"{kind} {name} = {now};"
            self.scopes.step += [f"const {kind} {label} = {name};", f"{name} = {after};"]
        return label

    def _lies_in_pairs(self, op: ops.VectorLoad) -> bool:
        """Whether two neighbours of a row, or of what all rows share, are 32 bits of memory."""
        varies = any(s.kind is SymKind.VALUE for x in op.at for s in symbols(x))
        along = first_of(op.at[-1], COL) is not None and not any(
            COL in axes_of(x) for x in op.at[:-1]
        )
        rows = [first_of(x, ROW) for x in op.at[:-1] if ROW in axes_of(x)]
        return along and not varies and op.dtype.bits == 16 and None not in rows and len(rows) < 2

    def _words(self, op: ops.VectorLoad) -> str:
        """A tile in memory, read a chunk ahead of its use and two elements at once: memory is far
        away, and nothing is read past what writes to shared memory. Where all of a chunk is there,
        nothing is asked of its elements.
        """
        label, made = called("w", op.result), self.printed
        indices, sizes, there = made.limits(op)
        row = next((n for n, at in enumerate(op.at) if ROW in axes_of(at)), None)
        first = first_of(op.at[-1], COL)
        assert first is not None
        end = f"{made.text(first)} + column + {16 * self.groups}"
        whole = " && ".join([f"even_{label}", f"{end} <= {sizes[-1]}", *there])
        if row is not None:
            begin = first_of(op.at[row], ROW)
            assert begin is not None
            early = made.from_zero(op, op.at[row])
            inside = f"{indices[row]} < {sizes[row]}"
            if early:
                inside = f"(unsigned)({indices[row]}) < (unsigned)({sizes[row]})"
            there.insert(0, inside)
            rows = self.context.loop.extent(self.work.op.op, ROW)
            whole += f" && {made.text(begin)} + {rows} <= {sizes[row]}"
            whole += f" && {made.text(begin)} >= 0" if early else ""
        exists = f"{' && '.join(there)} ? " if there else ""
        axes = len(op.at)
        strides = [self.context.stride(op.tensor, n) for n in range(axes - 1)]
        odd = " | ".join([f"(uint64_t){self.context.pointer(op.tensor)} / 2", *strides])
        halves, element = (4, "2 * u, i = u % 2") if row is not None else (2, "4 * u")
        place = self.context.place(op.tensor, indices)
        each = [
            "#pragma unroll",
            f"  for (int j = 0; j < {self.groups}; ++j)",
            "#pragma unroll",
            f"    for (int u = 0; u < {halves}; ++u) {{",
            f"      const int h = column / 8 + 2 * j, e = {element};",
        ]
        self.scopes.words += [
            f"const bool even_{label} = !(({odd}) & 1);",
            f"uint32_t {label}[{self.groups}][{halves}];",
            f"if ({whole}) {{",
            *each,
            f"      {label}[j][u] = *(const uint32_t*)&{place};",
            "    }",
            "} else {",
            *each,
            f"      {label}[j][u] = {exists}{device.load_pair}(&{place},"
            f" {sizes[-1]} - {indices[-1]}, even_{label}){' : 0u' if exists else ''};",
            "    }",
            "}",
        ]
        if row is not None and not self.looping:
            self.scopes.tile += self._fetched(op)
        return f"{device[f'unpack_{op.dtype}']}({label}[j][e / {8 // halves}], e % 2)"

    def _fetched(self, op: ops.VectorLoad) -> list[str]:
        """A tile's lines on their way into the L2 while its products run."""
        made, loop, name = self.printed, self.context.loop, self.work.op.op
        high = loop.extent(name, ROW) // loop.consumers
        wide = -(-loop.extent(name, COL) * op.dtype.bits // 8 // LINE_BYTES)
        indices, inside = made.named_places(op, {ROW: let("row"), COL: let("column")})
        return [
            f"for (int n = threadIdx.x % 128; n < {high * wide}; n += 128) {{",
            f"  const int row = {high} * instance + n / {wide};",
            f"  const int column = n % {wide} * {LINE_BYTES * 8 // op.dtype.bits};",
            f"  if ({inside}) {device.prefetch_line}(&{self.context.place(op.tensor, indices)});",
            "}",
        ]


def shared_columns(op: ops.VectorSlot) -> int:
    """How many columns of the tile share an element of a slot; 0: it has another index."""
    col: IntExpr = op.col
    if col == COL:
        return 1
    by = col.b if isinstance(col, Binary) and col.op is Op.DIV and col.a == COL else None
    return by.value if isinstance(by, Const) else 0


def kind_of(dtype: DType) -> str:
    """The type of a value in the source."""
    return {DType.I32: "int", DType.BOOL: "bool"}.get(dtype, "float")


def called(kind: str, name: str) -> str:
    """What a value is called in the text."""
    return f"{kind}_{name.replace('.', '_')}"
