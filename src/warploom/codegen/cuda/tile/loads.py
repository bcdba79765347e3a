"""What vector work loads: elements of slots, of memory, and numbers a tile has one of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from warploom.codegen.cuda.tile.columns import COLUMN, columns_text, vector_text
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import printer
from warploom.ir.tile import At, Dim, Dot, DType, Load, Value
from warploom.passes.body import refusal
from warploom.passes.smem_layout import LINE_BYTES
from warploom.passes.smem_ops import early_vectors

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

    def __init__(
        self,
        context: Context,
        rows: str | None,
        cols: str | None,
        *,
        local: Iterable[str] = (),
        iteration: str | None = None,
        step: str = "",
        product: str | None = None,
    ) -> None:
        self.context, self.rows, self.cols = context, rows, cols
        self.step, self.product = step, product
        self.layout = context.layout
        self.body = context.layout.body
        self.homes = dict(self.layout.homes)
        self.local = set(local)
        self.iteration = iteration
        self.scopes, self.groups = Scopes(), 0  # of 16 columns, of a chunk that is to be stored
        self.names: dict[str, str] = {}

    def value(self, name: str) -> str:
        """An expression of the value at the element (or row) at hand."""
        raise NotImplementedError

    def position(self, var: str) -> str:
        """Where a variable begins."""
        raise NotImplementedError

    def indices(self, var: str) -> str:
        """The element a variable is at."""
        raise NotImplementedError

    def declare(self, value: Value, text: str, label: str = "") -> str:
        """Give a computed value a name in the scope it belongs to."""
        label = label or called("v", value.name)
        kind = {DType.I32: "int", DType.BOOL: "bool"}.get(value.dtype, "float")
        if not value.dims:
            self.scopes.step.append(f"const {kind} {label} = {text};")
        elif value.vars == (self.rows,):
            self.scopes.row_names.append(f"{kind} {label}[2];")
            self.scopes.rows.append(f"{label}[i] = {text};")
            return f"{label}[i]"
        elif value.vars == (self.cols,):
            self.scopes.chunk += columns_text(kind, label, text)
            return f"{label}{COLUMN}"
        else:
            self.scopes.element.append(f"const {kind} {label} = {text};")
        return label

    def loaded(self, op: Load) -> str:  # noqa: PLR0911 (one line a place)
        """An element of a load, from wherever it lies."""
        found = self.layout.slot_of(op.result.name)
        if found is not None and found[1].vector and found[1].cols == 1:
            return self._number(op)
        if found is not None and found[1].vector and op.result.vars == (self.rows,):
            return self._scale_of_rows(op)
        if found is not None and found[1].vector:
            name = op.result.name
            label = called("v", name)
            early = called("early", name) if name in early_vectors(self.layout) else ""
            slot = called("slot", name)
            self.scopes.chunk += vector_text(label, slot, early, loose=found[1].loose)
            return f"{label}{COLUMN}"
        if found is not None:
            return self._from_slot(op)
        if op.result.dims and all(self._one_element(d) for d in op.result.dims):
            return self._same_everywhere(op)
        if self.groups and self._lies_in_pairs(op):
            return self._words(op)
        indices, inside = printer(self.context).knowing(self.value).loaded(op.result.name)
        element = self.context.element_at(op, indices)
        zero = "0" if op.result.dtype is DType.I32 else "0.0f"
        text = f"({' && '.join(inside)}) ? {element} : {zero}" if inside else element
        return self.declare(op.result, text)

    def _lies_in_pairs(self, op: Load) -> bool:
        """Whether two neighbours of a row, or of what all rows share, are 32 bits of memory."""
        last = self.context.kernel.tensor(op.tensor).axes[-1]
        plain = op.at[-1].var == self.cols and last.per == 1 and not any(map(self._varies, op.at))
        walked = op.result.vars in ((self.rows, self.cols), (self.cols,))
        return plain and walked and op.result.dtype.bits == 16

    def _words(self, op: Load) -> str:
        """A tile in memory, read a chunk ahead of its use and two elements at once: memory is far
        away, and nothing is read past what writes to shared memory. Where all of a chunk is there,
        nothing is asked of its elements.
        """
        label, axes = called("w", op.result.name), self.context.kernel.tensor(op.tensor).axes
        made = printer(self.context).knowing(self.value)
        indices, sizes, there = made.limits(op.result.name)
        row = next((n for n, at in enumerate(op.at) if at.var == self.rows), None)
        end = f"{self.position(op.at[-1].var or '')} + column + {16 * self.groups}"
        whole = " && ".join([f"even_{label}", f"{end} <= {sizes[-1]}", *there])
        if row is not None and self.rows is not None:
            there.insert(0, self.context.inside(indices[row], sizes[row], self.rows))
            last = f"{self.position(self.rows)} + {self.layout.extent(self.rows)}"
            whole += f" && {last} <= {sizes[row]}"
            if self.rows == self.context.early:
                whole += f" && {self.position(self.rows)} >= 0"
        exists = f"{' && '.join(there)} ? " if there else ""
        strides = [self.context.stride(op.tensor, n) for n in range(len(axes) - 1)]
        odd = " | ".join([f"(uint64_t){self.context.pointer(op.tensor)} / 2", *strides])
        halves, element = (4, "2 * u, i = u % 2") if row is not None else (2, "4 * u")
        place = self.context.address(op, indices)
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
            f"      {label}[j][u] = {exists}load_pair(&{place},"
            f" {sizes[-1]} - {indices[-1]}, even_{label}){' : 0u' if exists else ''};",
            "    }",
            "}",
        ]
        if row is not None and op not in self.body.loop.body:
            self.scopes.tile += self._fetched(op, sizes)
        return f"unpack_{op.result.dtype}({label}[j][e / {8 // halves}], e % 2)"

    def _fetched(self, op: Load, sizes: list[str]) -> list[str]:
        """A tile's lines on their way into the L2 while its products run."""
        rows, cols = op.result.vars
        high = self.layout.extent(rows) // self.layout.config.consumer_warpgroups
        wide = -(-self.layout.extent(cols) * op.result.dtype.bits // 8 // LINE_BYTES)
        at = {rows: f"({self.position(rows)} + row)", cols: f"({self.position(cols)} + column)"}
        indices = [at[a.var] if a.var in at else self._place(op, a) for a in op.at]
        inside = [
            self.context.inside(i, size, a.var)
            for i, size, a in zip(indices, sizes, op.at, strict=True)
            if a.var in at
        ] + self.context.within(op, indices)
        return [
            f"for (int n = threadIdx.x % 128; n < {high * wide}; n += 128) {{",
            f"  const int row = {high} * instance + n / {wide};",
            f"  const int column = n % {wide} * {LINE_BYTES * 8 // op.result.dtype.bits};",
            f"  if ({' && '.join(inside)}) prefetch_line(&{self.context.address(op, indices)});",
            "}",
        ]

    def _varies(self, at: At) -> bool:
        return at.value is not None and bool(self.body.values[at.value].dims)

    def _place(self, op: Load, at: At) -> str:
        """The element an index stands for, at the element or row at hand."""
        if at.value is not None and self._varies(at):
            return self.value(at.value)
        if at.var is None:
            return self.context.index(at, self.iteration)
        if at.var in (self.rows, self.cols) and at.var in op.result.vars:
            return self.indices(at.var)
        return self.position(at.var)  # of one block too, in which the step lies

    def _one_element(self, dim: Dim) -> bool:
        """Whether a tile lies within one block of elements that share a number."""
        return dim.per > 1 and dim.per % self.layout.extent(dim.var) == 0

    def _ahead(self, op: Load) -> str:
        """One element of an iteration, read before it is needed, since memory is far away.

        Where the step works on a fresh product it is read as that is issued. Else the step keeps it
        for its next iteration: it runs for all of them in turn.
        """
        label = called("v", op.result.name)
        if label not in self.scopes.ahead:
            kind = "int" if op.result.dtype is DType.I32 else "float"
            name = called(f"ahead_{self.step}", op.result.name)
            if self.product is not None:
                self.context.before(self.product)[name] = op
                self.scopes.ahead[label] = f"{kind} {name};"
                self.scopes.step.append(f"const {kind} {label} = {name};")
            else:
                now, after = (self.context.one_element(op, at) for at in ("0", "k + 1"))
                self.scopes.ahead[label] = f"{kind} {name} = {now};"
                self.scopes.step += [f"const {kind} {label} = {name};", f"{name} = {after};"]
        return label

    def _lies_with_product(self, op: Load) -> bool:
        """Whether a vector arrives with an operand of the product the step works on."""
        dot = self.body.ops.get(self.product or "")
        found = self.layout.slot_of(op.result.name)
        if not isinstance(dot, Dot) or found is None:
            return False
        operands = {self.body.through(n)[0] for n in (dot.a, dot.b)}
        return bool(operands & {t.value for t in found[0].tiles})

    def _scale_of_rows(self, op: Load) -> str:
        """A vector of rows in shared memory; read as the product that it scales is issued."""
        label, slot = called("v", op.result.name), called("slot", op.result.name)
        if not self._lies_with_product(op) or self.layout.crowded:
            return self.declare(op.result, f"load_shared1({slot} + 4 * row_of(b, i))")
        name = called(f"rows_{self.step}", op.result.name)
        self.context.before(self.product or "")[name] = op
        self.scopes.ahead[label] = f"float {name}[{self.layout.blocks}][2];"
        return f"{name}[b][i]"

    def _number(self, op: Load) -> str:
        """One number in shared memory; read as the product that it scales is issued."""
        label, slot = called("v", op.result.name), called("slot", op.result.name)
        if not self._lies_with_product(op) or self.layout.crowded:
            self.scopes.step.append(f"const float {label} = load_shared1({slot});")
            return label
        name = called(f"number_{self.step}", op.result.name)
        self.context.before(self.product or "")[name] = op
        self.scopes.ahead[label] = f"float {name};"
        return name

    def _same_everywhere(self, op: Load) -> str:
        """A scale of the whole tile, read once."""
        if any(at.var == self.body.loop.var for at in op.at):
            return self._ahead(op)
        label = called("v", op.result.name)
        element = self.context.one_element(op, self.iteration)
        kind = "int" if op.result.dtype is DType.I32 else "float"
        self.scopes.step.append(f"const {kind} {label} = {element};")
        return label

    def _from_slot(self, op: Load) -> str:
        """Elements of a tile in shared memory, 16 columns of a warp at a time."""
        value = op.result
        found = self.layout.slot_of(value.name)
        assert found is not None
        if value.vars == (self.rows, self.cols) and value.dtype in BYTES:
            return self._bytes_of_slot(op)
        if value.vars == (self.rows, self.cols) and value.dtype is DType.F32:
            return self._floats_of_slot(op)
        if value.vars != (self.rows, self.cols) or value.dtype.bits != 16:
            raise refusal(
                "vector work reads this tile in another shape than it lies in shared memory",
                value.line,
                why="a thread's elements of it are known for rows as loaded",
                fix="use it untransposed",
            )
        label = called("f", value.name)
        _, tile = found
        self.scopes.chunk += [
            f"uint32_t {label}[4];",
            f"ldmatrix4({label}, slot_element({called('slot', value.name)}, {tile.rows}, b, g));",
        ]
        return f"unpack_{value.dtype}({label}[e / 2], e % 2)"

    def _floats_of_slot(self, op: Load) -> str:
        """Elements of 32 bits: two neighbours of a row at a time."""
        found = self.layout.slot_of(op.result.name)
        assert found is not None
        label, slot, tile = called("f", op.result.name), called("slot", op.result.name), found[1]
        self.scopes.chunk += [
            f"float {label}[8];",
            "#pragma unroll",
            "for (int u = 0; u < 4; ++u)",
            f"  load_shared2(slot_byte({slot}, {tile.rows}, {tile.span}, row_of(b, u % 2),"
            " 32 * h + u / 2 * 32 + lane % 4 / 2 * 16, lane % 2 * 8),"
            f" {label}[2 * u], {label}[2 * u + 1]);",
        ]
        return f"{label}[e]"

    def bytes_of(self, op: Load) -> str:
        """The bytes of a slot's tile that a thread has of 16 columns, or pairs of bytes."""
        found = self.layout.slot_of(op.result.name)
        assert found is not None
        value, per, tile = op.result, op.result.dims[1].per, found[1]
        label, slot = called("f", value.name), called("slot", value.name)
        each, pitch = "u16" if per == 1 else "u8", min(tile.cols, tile.block_cols)
        if f"uint32_t {label}[4];" not in self.scopes.chunk:
            self.scopes.chunk += [
                f"uint32_t {label}[4];",
                "#pragma unroll",
                "for (int u = 0; u < 4; ++u)",
                f"  {label}[u] = load_shared_{each}(slot_byte({slot}, {tile.rows}, {pitch},"
                f" row_of(b, u % 2), (8 * h + u / 2 * 8) / {per}, lane % 4 * {2 // per}));",
            ]
        return label

    def _bytes_of_slot(self, op: Load) -> str:
        """Elements of 8 bits, or bytes that stand for two columns each."""
        value, label = op.result, self.bytes_of(op)
        if value.dtype is DType.I8:
            shift = "" if value.dims[1].per == 2 else " >> e % 2 * 8"
            return f"(int)(signed char)({label}[e / 2]{shift})"
        return f"unpack_{value.dtype}({label}[e / 2], e % 2)"


def called(kind: str, name: str) -> str:
    """What a value is called in the text."""
    return f"{kind}_{name.replace('.', '_')}"
