"""Vector work as CUDA text: what one thread does for its elements of a tile.

A thread's elements of 16 columns ``g`` (from half ``h`` = 2 g on, in units of 8) of a 64-row block
``b`` are ``e`` = 0..7: row ``8 i + lane / 4`` of its warp with ``i = e / 2 % 2``, column ``8 h + 8
(e / 4) + 2 (lane % 4) + e % 2``. Values of rows are computed once for ``i`` = 0, 1; values of no
extent once for the step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from warploom.emit.cuda.roles import indent
from warploom.emit.cuda.tile.columns import COLUMN, columns_text, early_vectors, vector_text
from warploom.emit.cuda.tile.context import Context, pointwise
from warploom.kernel.values import (
    At,
    Const,
    Dim,
    DType,
    Fn,
    Indices,
    Load,
    Pointwise,
    Reduce,
    Scalar,
    Size,
    Spread,
    Value,
)
from warploom.lower.body import refusal
from warploom.lower.fuse import Step
from warploom.lower.layout import Form, part_sums
from warploom.lower.ranges import Affine, comparisons, moves
from warploom.lower.slots import SlotTile

ELEMENTS = 8  # of a thread in 16 columns of a block
SMALL = 1 << 16
BYTES = (DType.I8, DType.E4M3, DType.E5M2)
LEAST = {Fn.MAX: "__int_as_float(0xff800000)", Fn.MIN: "__int_as_float(0x7f800000)"}
COMBINE = {Fn.MAX: "fmaxf({0}, {1})", Fn.MIN: "fminf({0}, {1})", Fn.ADD: "{0} + {1}"}
QUAD = {Fn.MAX: "quad_max", Fn.MIN: "quad_min", Fn.ADD: "quad_sum"}


@dataclass
class Scopes:
    """Lines by how often they run."""

    step: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    row_names: list[str] = field(default_factory=list)
    chunk: list[str] = field(default_factory=list)
    element: list[str] = field(default_factory=list)


class Vector:
    """Writes expressions of values on a tile ``rows`` x ``cols`` of the running iteration.

    ``local`` are values computed in this very text; everything else kept is read from its array.
    """

    def __init__(
        self,
        context: Context,
        rows: str | None,
        cols: str | None,
        *,
        local: Iterable[str] = (),
        iteration: str | None = None,
    ) -> None:
        self.context, self.rows, self.cols = context, rows, cols
        self.layout = context.layout
        self.body = context.layout.body
        self.homes = dict(self.layout.homes)
        self.local = set(local)
        self.iteration = iteration
        self.scopes = Scopes()
        self.names: dict[str, str] = {}

    def value(self, name: str) -> str:
        """An expression of the value at the element (or row) at hand."""
        if name in self.names:
            return self.names[name]
        inner, _ = self.body.through(name)
        if inner in self.homes and inner not in self.local:
            text = self._kept(inner)
        else:
            text = self._computed(inner)
        self.names[name] = text
        return text

    def _kept(self, name: str) -> str:
        array, form = self.homes[name], self.layout.form_of(name)
        if form is Form.TILE:
            return f"{array}[b][4 * h + e]"
        if form is Form.PACKED:
            dtype = self.body.values[name].dtype
            return f"unpack_{dtype}({array}[b][g][e / 2], e % 2)"
        return f"{array}[b][i]"

    def _computed(self, name: str) -> str:
        op = self.body.ops[name]
        value = self.body.values[name]
        if isinstance(op, Const | Scalar | Size) or not value.dims:
            return self._uniform(name)
        if isinstance(op, Spread):
            return self.value(op.arg)
        if isinstance(op, Indices):
            return self._indices(op.var)
        if isinstance(op, Load):
            return self._loaded(op)
        if isinstance(op, Pointwise):
            return self._declare(value, self._pointwise(op))
        raise refusal("this value has no place in vector work", value.line)

    def _uniform(self, name: str) -> str:
        op = self.body.ops[name]
        text = self.context.uniform(name, self.iteration)
        if isinstance(op, Const):
            return text
        kind = "int" if self.body.values[name].dtype is DType.I32 else "float"
        if self.body.values[name].dtype is DType.BOOL:
            kind = "bool"
        label = _label("u", name)
        self.scopes.step.append(f"const {kind} {label} = {text};")
        return label

    def _indices(self, var: str) -> str:
        at = self.context.position(var, self.iteration)
        if var == self.rows:
            return f"({at} + row_of(b, i))"
        if var == self.cols:
            return f"({at} + column_of(h, e))"
        raise refusal(f"index({var}) has no place on a tile of {self.rows} and {self.cols}", None)

    def _pointwise(self, op: Pointwise) -> str:
        if op.fn is Fn.DIV:
            divisor = self.body.values[op.args[1]]
            if len(divisor.dims) < len(op.result.dims):
                return f"{self.value(op.args[0])} * {self._reciprocal(op.args[1])}"
        if op.fn is Fn.WHERE and self.body.is_free(op.args[0]) and op.result.dims:
            chosen, other = self.value(op.args[1]), self.value(op.args[2])
            if not moves(self.body, op.args[0]):
                return f"({self.value(op.args[0])}) ? {chosen} : {other}"
            rows = self.rows in op.result.vars
            shown = self._condition(op.args[0]) if rows else self.value(op.args[0])
            return f"(!MASKED || {shown}) ? {chosen} : {other}"
        if op.fn is Fn.CAST and op.result.dtype.is_float and self._is_small(op.args[0]):
            return f"small_to_float({self.value(op.args[0])})"
        args = [self.value(a) for a in op.args]
        types = [self.body.values[a].dtype for a in op.args]
        return pointwise(op.fn, args, op.result.dtype, types)

    def _is_small(self, name: str) -> bool:
        """Whether a whole number has few bits, so that it converts by arithmetic alone."""
        op = self.body.ops.get(name)
        if isinstance(op, Const):
            return op.result.dtype is DType.I32 and abs(op.value) < SMALL
        if not isinstance(op, Pointwise) or op.result.dtype is not DType.I32:
            return False
        if op.fn is Fn.BITS:
            return any(self._is_small(a) for a in op.args)
        return op.fn in (Fn.ADD, Fn.SUB) and all(self._is_small(a) for a in op.args)

    def _condition(self, name: str) -> str:
        """A condition along the loop; limits of a row are computed once for the row."""
        parts = list(comparisons(self.body, name, self.rows))
        if self.cols != self.body.loop.var or any(p is None for p in parts):
            return f"({self.value(name)})"
        known = [p for p in parts if p is not None]
        tests = []
        for sign, word, pick in ((-1, "<=", "min"), (1, ">=", "max")):
            limits = [self._limit(p) for p in known if p.loop == sign]
            if limits:
                text = limits[0]
                for other in limits[1:]:
                    text = f"{pick}({text}, {other})"
                label = f"{_label('limit', name)}_{pick}"
                first = self.context.position(self.body.loop.var, self.iteration)
                if f"int {label}[2];" not in self.scopes.row_names:
                    self.scopes.row_names.append(f"int {label}[2];")
                    self.scopes.rows.append(f"{label}[i] = {text} - {first} - lane % 4 * 2;")
                tests.append(f"8 * h + e / 4 * 8 + e % 2 {word} {label}[i]")
        rest = [p for p in known if p.loop == 0]
        tests += [f"{self._limit(p)} >= 0" for p in rest]
        return f"({' && '.join(tests)})"

    def _limit(self, bound: Affine) -> str:
        """The loop's index up to (or from) which a bound holds in the row at hand."""
        terms = [str(bound.constant)] if bound.constant or not bound.rest else []
        terms += [
            f"{'' if f == 1 else f'{f} * '}({self.context.uniform(v, self.iteration)})"
            for f, v in bound.rest
        ]
        if bound.rows and self.rows is not None:
            terms.append(f"{bound.rows} * (pos_{self.rows} + row_of(b, i))")
        rest = " + ".join(terms)
        return f"-({rest})" if bound.loop > 0 else f"({rest})"

    def _reciprocal(self, name: str) -> str:
        key = f"1/{name}"
        if key not in self.names:
            value = self.body.values[name]
            text = f"__fdividef(1.0f, {self.value(name)})"
            self.names[key] = self._declare(value, text, _label("inverse", name))
        return self.names[key]

    def _declare(self, value: Value, text: str, label: str = "") -> str:
        """Give a computed value a name in the scope it belongs to."""
        label = label or _label("v", value.name)
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

    def _loaded(self, op: Load) -> str:
        found = self.layout.slot_of(op.result.name)
        if found is not None and found[1].vector and op.result.vars == (self.rows,):
            slot = _label("slot", op.result.name)
            return self._declare(op.result, f"load_shared1({slot} + 4 * row_of(b, i))")
        if found is not None and found[1].vector and op.result.dims[0].per > 1:
            label = _label("v", op.result.name)
            slot = _label("slot", op.result.name)
            self.scopes.step.append(f"const float {label} = load_shared1({slot});")
            return label
        if found is not None and found[1].vector:
            label = _label("v", op.result.name)
            name = op.result.name
            early = _label("early", name) if name in early_vectors(self.layout) else ""
            self.scopes.chunk += vector_text(label, _label("slot", name), early)
            return f"{label}{COLUMN}"
        if found is not None:
            return self._from_slot(op)
        if op.result.dims and all(self._one_element(d) for d in op.result.dims):
            return self._same_everywhere(op)
        indices = []
        for n, at in enumerate(op.at):
            per = self.context.kernel.tensor(op.tensor).axes[n].per
            text = self._place(at)
            indices.append(f"({text}) / {per}" if per > 1 and at.var else text)
        inside = [
            self.context.inside(i, self.context.size_of(op.tensor, a.name), at.var)
            if at.var is not None
            else f"(unsigned){i} < (unsigned){self.context.size_of(op.tensor, a.name)}"
            for i, at, a in zip(
                indices, op.at, self.context.kernel.tensor(op.tensor).axes, strict=True
            )
            if self._varies(at) or (at.var is not None and at.var in (self.rows, self.cols))
        ]
        element = self.context.element_at(op, indices)
        zero = "0" if op.result.dtype is DType.I32 else "0.0f"
        text = f"({' && '.join(inside)}) ? {element} : {zero}" if inside else element
        return self._declare(op.result, text)

    def _varies(self, at: At) -> bool:
        return at.value is not None and bool(self.body.values[at.value].dims)

    def _place(self, at: At) -> str:
        """The element an index stands for, at the element or row at hand."""
        if at.value is not None and self._varies(at):
            return self.value(at.value)
        if at.var is None:
            return self.context.index(at, self.iteration)
        if at.var in (self.rows, self.cols):
            return self._indices(at.var)
        return self.context.position(at.var, self.iteration)

    def _one_element(self, dim: Dim) -> bool:
        """Whether a tile lies within one block of elements that share a number."""
        return dim.per > 1 and dim.per % self.layout.extent(dim.var) == 0

    def _same_everywhere(self, op: Load) -> str:
        """A scale of the whole tile, read once."""
        indices = []
        for at, axis in zip(op.at, self.context.kernel.tensor(op.tensor).axes, strict=True):
            text = self.context.index(at, self.iteration)
            indices.append(f"({text}) / {axis.per}" if axis.per > 1 and at.var else text)
        label = _label("v", op.result.name)
        self.scopes.step.append(f"const float {label} = {self.context.element_at(op, indices)};")
        return label

    def _from_slot(self, op: Load) -> str:
        """Elements of a tile in shared memory, 16 columns of a warp at a time."""
        value = op.result
        found = self.layout.slot_of(value.name)
        assert found is not None
        if value.vars == (self.rows, self.cols) and value.dtype in BYTES:
            return self._bytes_of_slot(op, found[1])
        if value.vars != (self.rows, self.cols) or value.dtype.bits != 16:
            raise refusal(
                "vector work reads this tile in another shape than it lies in shared memory",
                value.line,
                why="a thread's elements of it are known for 16-bit tiles, rows as loaded",
                fix="use it untransposed, in bf16 or fp16",
            )
        label = _label("f", value.name)
        _, tile = found
        self.scopes.chunk += [
            f"uint32_t {label}[4];",
            f"ldmatrix4({label}, slot_element({_label('slot', value.name)}, {tile.rows}, b, g));",
        ]
        return f"unpack_{value.dtype}({label}[e / 2], e % 2)"

    def _bytes_of_slot(self, op: Load, tile: SlotTile) -> str:
        """Elements of 8 bits, or bytes that stand for two columns each."""
        value, per = op.result, op.result.dims[1].per
        label, slot = _label("f", value.name), _label("slot", value.name)
        each, pitch = "u16" if per == 1 else "u8", min(tile.cols, tile.block_cols)
        self.scopes.chunk += [
            f"uint32_t {label}[4];",
            "#pragma unroll",
            "for (int u = 0; u < 4; ++u)",
            f"  {label}[u] = load_shared_{each}(slot_byte({slot}, {tile.rows}, {pitch},"
            f" row_of(b, u % 2), column_of(h, u / 2 * 4) / {per}));",
        ]
        if value.dtype is DType.I8:
            return f"(int)(signed char)({label}[e / 2]{'' if per == 2 else ' >> e % 2 * 8'})"
        return f"unpack_{value.dtype}({label}[e / 2], e % 2)"


def _label(kind: str, name: str) -> str:
    return f"{kind}_{name.replace('.', '_')}"


def step_text(context: Context, step: Step, iteration: str | None) -> list[str]:
    """The body of a step: elements with the rows they need, then reductions and rows after them."""
    made = {op.result.name for op in step.ops}
    inner = Vector(context, step.rows, step.cols, local=made, iteration=iteration)
    outer = Vector(context, step.rows, None, local=made, iteration=iteration)
    outer.scopes.step = inner.scopes.step
    reduces = [op for op in step.ops if isinstance(op, Reduce)]
    parts = part_sums(context.layout.body)
    sums: list[str] = []
    for op in reduces:
        sums += _reduce(inner, op, step)
        quad = f"{_label('red', op.result.name)}[b][i]"
        whole = op.result.name not in parts
        outer.names[op.result.name] = f"{QUAD[op.fn]}({quad})" if whole else quad
    stores: list[str] = []
    packs: list[tuple[str, str]] = []
    row_stores: list[tuple[str, str]] = []
    homes = dict(context.layout.homes)
    for work in step.ops:
        name = work.result.name
        if name not in step.results:
            continue
        if len(work.result.dims) == 2 and not isinstance(work, Reduce):
            _store_element(context, name, _unrounded(inner, work), stores, packs)
        else:
            row_stores.append((homes[name], outer.value(name)))
    blocks = _blocks(context, step)
    lines = [*_skip(context, step, blocks), *inner.scopes.step]
    for op in reduces:
        lines += _reduction_start(op, blocks)
    if step.cols is not None:
        lines += tile_loop(context, inner, stores + sums, packs, blocks, step.cols)
    return lines + (_row_loop(outer, row_stores, blocks) if row_stores else [])


def _reduction_start(op: Reduce, blocks: int) -> list[str]:
    first, label = LEAST.get(op.fn, "0.0f"), _label("red", op.result.name)
    return [
        f"float {label}[{blocks}][2];",
        "#pragma unroll",
        f"for (int b = 0; b < {blocks}; ++b) {label}[b][0] = {label}[b][1] = {first};",
    ]


def _skip(context: Context, step: Step, blocks: int) -> list[str]:
    """Multiplying by 1 changes nothing: a warp whose rows all say so leaves the tile as it is."""
    homes = dict(context.layout.homes)
    if len(step.ops) != 1 or not isinstance(step.ops[0], Pointwise):
        return []
    op = step.ops[0]
    rows = [a for a in op.args if len(context.layout.body.values[a].dims) == 1 and a in homes]
    tiles = [a for a in op.args if a in homes and homes[a] == homes.get(op.result.name)]
    if op.fn is not Fn.MUL or len(rows) != 1 or len(tiles) != 1:
        return []
    same = " && ".join(
        f"{homes[rows[0]]}[{b}][{i}] == 1.0f" for b in range(blocks) for i in range(2)
    )
    return [f"if (__all_sync(~0u, {same})) return;"]


def _reduce(vector: Vector, op: Reduce, step: Step) -> list[str]:
    label = f"{_label('red', op.result.name)}[b][i]"
    if op.over != step.cols:
        raise refusal(
            "a reduction over the rows of a tile",
            op.result.line,
            why="rows lie in different warps",
            fix="reduce over the columns, or work on the transposed tile",
        )
    return [f"{label} = {COMBINE[op.fn].format(label, vector.value(op.arg))};"]


def _unrounded(vector: Vector, op: Pointwise | Spread) -> str:
    """The value of a result; packing rounds by itself."""
    last = isinstance(op, Pointwise) and op.fn is Fn.CAST and op.result.dtype.bits < 32
    text = vector.value(op.args[0] if last and isinstance(op, Pointwise) else op.result.name)
    return text


def _store_element(
    context: Context, name: str, text: str, stores: list[str], packs: list[tuple[str, str]]
) -> None:
    array = context.layout.array_of(name)
    if array.form is Form.TILE:
        stores.append(f"{array.name}[b][4 * h + e] = {text};")
        return
    temporary = f"y_{array.name}"
    stores.append(f"{temporary}[e] = {text};")
    packs.append((temporary, array.name))


def tile_loop(
    context: Context,
    vector: Vector,
    element: list[str],
    packs: list[tuple[str, str]],
    blocks: int,
    cols: str,
) -> list[str]:
    """Loops over blocks, 16 columns and elements."""
    chunk = [f"float {t}[{ELEMENTS}];" for t, _ in packs]
    after = []
    for temporary, array in packs:
        pack = f"pack_{context.layout.array_of(_member(context, array)).dtype}"
        after += [
            "#pragma unroll",
            f"for (int u = 0; u < 4; ++u) {array}[b][g][u] = "
            f"{pack}({temporary}[2 * u], {temporary}[2 * u + 1]);",
        ]
    groups = context.layout.extent(cols) // 16
    return [
        "#pragma unroll",
        f"for (int b = 0; b < {blocks}; ++b) {{",
        *indent(row_scope(vector), 2),
        "#pragma unroll",
        f"  for (int g = 0; g < {groups}; ++g) {{",
        "    const int h = 2 * g;",
        *indent([*vector.scopes.chunk, *chunk], 4),
        "#pragma unroll",
        f"    for (int e = 0; e < {ELEMENTS}; ++e) {{",
        *(
            ["      const int i = e / 2 % 2;"]
            if _uses_row([*vector.scopes.element, *element])
            else []
        ),
        *indent([*vector.scopes.element, *element], 6),
        "    }",
        *indent(after, 4),
        "  }",
        "}",
    ]


def _uses_row(lines: list[str]) -> bool:
    return any("[i]" in line or ", i)" in line for line in lines)


def _member(context: Context, array: str) -> str:
    return next(v for v, home in context.layout.homes if home == array)


def row_scope(vector: Vector) -> list[str]:
    """Values of rows, for both rows of a thread."""
    if not vector.scopes.rows:
        return []
    return [
        *vector.scopes.row_names,
        "#pragma unroll",
        "for (int i = 0; i < 2; ++i) {",
        *indent(vector.scopes.rows, 2),
        "}",
    ]


def _row_loop(vector: Vector, stores: list[tuple[str, str]], blocks: int) -> list[str]:
    """Rows of a step, once for each of a thread's rows; results are written last."""
    values = [f"const float out_{k} = {text};" for k, (_, text) in enumerate(stores)]
    writes = [f"{home}[b][i] = out_{k};" for k, (home, _) in enumerate(stores)]
    return [
        "#pragma unroll",
        f"for (int b = 0; b < {blocks}; ++b) {{",
        *indent(vector.scopes.row_names, 2),
        "#pragma unroll",
        "  for (int i = 0; i < 2; ++i) {",
        *indent([*vector.scopes.rows, *values, *writes], 4),
        "  }",
        "}",
    ]


def _blocks(context: Context, step: Step) -> int:
    rows = context.layout.extent(step.rows) if step.rows else 64
    return rows // context.layout.tiling.consumers // 64
