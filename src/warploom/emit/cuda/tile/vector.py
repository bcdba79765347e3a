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
from warploom.emit.cuda.tile.columns import COLUMN, columns_text, vector_text
from warploom.emit.cuda.tile.context import BINARY, Context, pointwise
from warploom.kernel.values import (
    At,
    Const,
    Dim,
    Dot,
    DType,
    Fn,
    Indices,
    Load,
    Pointwise,
    Position,
    Scalar,
    Size,
    Spread,
    Value,
)
from warploom.lower.body import refusal
from warploom.lower.hand_over import early_vectors
from warploom.lower.layout import Form
from warploom.lower.ranges import Affine, comparisons, moves, unless_whole

ELEMENTS = 8  # of a thread in 16 columns of a block
SMALL = 1 << 16
FAR = 1 << 30  # further than any index
BYTES = (DType.I8, DType.E4M3, DType.E5M2)


@dataclass
class Scopes:
    """Lines by how often they run; ``ahead``: what a step keeps for its next iteration."""

    ahead: dict[str, str] = field(default_factory=dict)
    step: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    row_names: list[str] = field(default_factory=list)
    chunk: list[str] = field(default_factory=list)
    element: list[str] = field(default_factory=list)


class Vector:
    """Writes expressions of values on a tile ``rows`` x ``cols`` of the running iteration.

    ``local`` are values computed in this very text; everything else kept is read from its array.
    ``step``: the name of the step it is; ``product``: the fresh one it works on, if that is one.
    """

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
            return self.declare(value, self._line(op) or self._pointwise(op))
        raise refusal("this value has no place in vector work", value.line)

    def _uniform(self, name: str) -> str:
        op = self.body.ops[name]
        if isinstance(op, Position):
            return self.position(op.var)
        known = {x.result.name: self._ahead(x) for x in self.context.moving_elements(name)}
        text = self.context.uniform(name, self.iteration, known)
        if isinstance(op, Const):
            return text
        kind = "int" if self.body.values[name].dtype is DType.I32 else "float"
        if self.body.values[name].dtype is DType.BOOL:
            kind = "bool"
        label = called("u", name)
        self.scopes.step.append(f"const {kind} {label} = {text};")
        return label

    def position(self, var: str) -> str:
        """Where a variable stands; a list of tiles is asked once a step."""
        at = self.context.position(var, self.iteration)
        if var != self.body.loop.var or not self.body.loop.lists:
            return at
        line = f"const int at_{var} = {at};"
        if line not in self.scopes.step:
            self.scopes.step.append(line)
        return f"at_{var}"

    def _indices(self, var: str) -> str:
        at = self.position(var)
        if var == self.rows:
            return f"({at} + row_of(b, i))"
        if var == self.cols:
            return f"({at} + column_of(h, e))"
        raise refusal(f"index({var}) has no place on a tile of {self.rows} and {self.cols}", None)

    def _line(self, op: Pointwise) -> str:
        """Numbers that rise evenly along the columns, from where a row's first one stands."""
        name = op.result.name
        if op.result.vars in ((self.rows, self.cols), (self.cols,)) and self.body.is_line(name):
            return self._line_from(name, name)
        if self.body.is_distance(name) and op.result.vars == (self.rows, self.cols):
            inner = self.body.ops[op.args[0]]
            assert isinstance(inner, Pointwise)
            return f"fabsf({self._line_from(name, inner.args[0])})"
        return ""

    def _line_from(self, name: str, inner: str) -> str:
        slope, start = self._rise(inner)
        label, at = called("slope", name), called("start", name)
        self.scopes.step.append(f"const float {label} = (float)({slope or '0'});")
        if self.body.values[name].vars == (self.cols,):
            self.scopes.step.append(f"const float {at} = (float)({start});")
        else:
            self.scopes.row_names.append(f"float {at}[2];")
            self.scopes.rows.append(f"{at}[i] = (float)({start});")
            at += "[i]"
        return f"fmaf({label}, (float)(8 * h + e / 4 * 8 + e % 2), {at})"

    def _rise(self, name: str) -> tuple[str, str]:
        """By how much a value grows with every column, and what it is in a thread's first one."""
        op, value = self.body.ops[name], self.body.values[name]
        if self.cols not in value.vars:
            return "", self.value(name)
        if isinstance(op, Indices):
            return "1", f"({self.position(op.var)} + lane % 4 * 2)"
        if isinstance(op, Spread):
            return self._rise(op.arg)
        assert isinstance(op, Pointwise)
        rises = [self._rise(a) for a in op.args]
        if op.fn in (Fn.NEG, Fn.CAST):
            slope, start = rises[0]
            sign = "-" if op.fn is Fn.NEG else "(float)" if value.dtype is DType.F32 else ""
            return slope and f"({sign}{slope})", f"({sign}{start})"
        (a, first), (b, second) = rises
        word = "/" if op.fn is Fn.DIV else BINARY[op.fn]
        if op.fn in (Fn.ADD, Fn.SUB):
            slope = f"({a or '0'} {word} {b or '0'})"
        else:
            slope = f"({a or first} {word} {b or second})"
        return slope, f"({first} {word} {second})"

    def _pointwise(self, op: Pointwise) -> str:
        if op.fn is Fn.DIV:
            divisor = self.body.values[op.args[1]]
            if len(divisor.dims) < len(op.result.dims):
                return f"{self.value(op.args[0])} * {self._reciprocal(op.args[1])}"
        if op.fn is Fn.WHERE and self.body.is_free(op.args[0]) and op.result.dims:
            chosen, other = self.value(op.args[1]), self.value(op.args[2])
            # what is written out where it is used has no say in which iterations hide something
            if not moves(self.body, op.args[0]) or self.body.is_free(op.result.name):
                return f"({self.value(op.args[0])}) ? {chosen} : {other}"
            return f"(!MASKED || {self._condition(op.args[0])}) ? {chosen} : {other}"
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
        """A condition along the loop; limits of a row are computed once for the row.

        What tiles listed as whole need not fulfil holds where the step is one of them.
        """
        limits: dict[int, list[str]] = {-1: [], 1: []}
        tests: list[str] = []
        for part, whole in unless_whole(self.body, name):
            guard = f"{self.value(whole)} || " if whole is not None else ""
            (bound,) = comparisons(self.body, part, self.rows)
            if bound is None or self.cols != self.body.loop.var:
                tests.append(f"({guard}{self.value(part)})")
            elif bound.loop == 0:
                tests.append(f"({guard}{self._limit(bound)} >= 0)")
            else:
                limit, none = self._limit(bound), f"{-bound.loop * FAR}"
                text = f"({self.value(whole)} ? {none} : {limit})" if whole is not None else limit
                limits[bound.loop].append(text)
        first = self.position(self.body.loop.var)
        for sign, word, pick in ((-1, "<=", "min"), (1, ">=", "max")):
            if limits[sign]:
                text = limits[sign][0]
                for other in limits[sign][1:]:
                    text = f"{pick}({text}, {other})"
                label = f"{called('limit', name)}_{pick}"
                if f"int {label}[2];" not in self.scopes.row_names:
                    self.scopes.row_names.append(f"int {label}[2];")
                    self.scopes.rows.append(f"{label}[i] = {text} - {first} - lane % 4 * 2;")
                tests.append(f"8 * h + e / 4 * 8 + e % 2 {word} {label}[i]")
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
            self.names[key] = self.declare(value, text, called("inverse", name))
        return self.names[key]

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

    def _loaded(self, op: Load) -> str:
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
        indices = []
        for n, at in enumerate(op.at):
            per = self.context.kernel.tensor(op.tensor).axes[n].per
            text = self._place(at) + self.context.later(op, at)
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
        return self.declare(op.result, text)

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
        return self.position(at.var)

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
        self.scopes.step.append(f"const float {label} = {element};")
        return label

    def _from_slot(self, op: Load) -> str:
        """Elements of a tile in shared memory, 16 columns of a warp at a time."""
        value = op.result
        found = self.layout.slot_of(value.name)
        assert found is not None
        if value.vars == (self.rows, self.cols) and value.dtype in BYTES:
            return self._bytes_of_slot(op)
        if value.vars != (self.rows, self.cols) or value.dtype.bits != 16:
            raise refusal(
                "vector work reads this tile in another shape than it lies in shared memory",
                value.line,
                why="a thread's elements of it are known for 16-bit tiles, rows as loaded",
                fix="use it untransposed, in bf16 or fp16",
            )
        label = called("f", value.name)
        _, tile = found
        self.scopes.chunk += [
            f"uint32_t {label}[4];",
            f"ldmatrix4({label}, slot_element({called('slot', value.name)}, {tile.rows}, b, g));",
        ]
        return f"unpack_{value.dtype}({label}[e / 2], e % 2)"

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
