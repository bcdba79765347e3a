"""Vector work as CUDA source: what one thread does for its elements of a tile.

A thread's elements of 16 columns ``g`` (from half ``h`` = 2 g on, in units of 8) of a 64-row block
``b`` are ``e`` = 0..7: row ``8 i + lane / 4`` of its warp with ``i = e / 2 % 2``, column ``8 h + 8
(e / 4) + 2 (lane % 4) + e % 2``. Values of rows are computed once for ``i`` = 0, 1; values of no
extent once for the step.

What is computed is what the operations of the module say. The printer chooses how: a quotient by a
value of fewer axes is a product with its reciprocal, numbers that rise evenly along the columns are
one multiply-add from where their row begins, limits of a condition are computed once a row.
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.expressions import BINARY, number, pointwise, wrapped
from warploom.codegen.cuda.tile.loads import Loads, called, kind_of
from warploom.codegen.cuda.tile.work import COL, T_STEP, first_of
from warploom.ir import operations as ops
from warploom.ir.affine import Affine
from warploom.ir.expr import (
    CALLS,
    Apply,
    Binary,
    Const,
    IntExpr,
    Sym,
    SymKind,
    elements,
    rewrite,
)
from warploom.ir.tile_schedule import let
from warploom.ir.types import DType, Fn

ELEMENTS = 8  # of a thread in 16 columns of a block
FAR = 1 << 30  # further than any index


class Vector(Loads):
    """Writes expressions of the values of one vector operation."""

    masked = False  # whether something is asked of iterations that hide elements

    def value(self, name: str) -> str:
        """An expression of the value at the element (or row) at hand."""
        if name in self.names:
            return self.names[name]
        for earlier in self._behind(name):
            self._named(earlier)
        return self._named(name)

    def _behind(self, name: str) -> list[str]:
        """Values that one is computed from element by element, in the order in which they are
        written: long chains need no deep recursion.
        """
        order: dict[str, None] = {}
        left, work = [(name, False)], self.work
        while left:
            at, done = left.pop()
            if done:
                order[at] = None
                continue
            op = work.makers.get(at)
            if at in self.names or at in order or not isinstance(op, ops.VectorPointwise):
                continue
            if not work.axes(at) and not work.is_heavy(at):
                continue
            if work.is_line(at) or work.is_distance(at):
                continue
            left.append((at, True))
            masks = op.fn is Fn.WHERE and work.fact(op.args[0]).free
            args = op.args[1:] if masks else op.args
            left += [(a, False) for a in reversed(args)]
        order.pop(name, None)
        return list(order)

    def _named(self, name: str) -> str:
        if name not in self.names:
            self.names[name] = self._computed(name)
        return self.names[name]

    def array_of(self, name: str) -> str | None:
        """The array whose element the expression of a value is itself; None where it has a name of
        its own, or lies in no array.
        """
        op = self.work.makers.get(name)
        return op.array if isinstance(op, ops.VectorRegister) else None

    def _computed(self, name: str) -> str:
        op = self.work.makers.get(name)
        match op:
            case ops.VectorRegister():
                return self.kept(op)
            case ops.VectorSlot():
                return self.in_slot(op)
            case ops.VectorReduce() | None:
                raise self.work.refused(f"{name} among the elements it is made of")
            case _ if not self.work.axes(name):
                return self._uniform(name)
            case ops.VectorIndex():
                return f"({self._index(op.value)})"
            case ops.VectorLoad():
                return self.loaded(op)
            case ops.VectorPointwise():
                return self.declare(name, self._line(op) or self._pointwise(op))
            case _:
                raise self.work.refused(f"the value {name}")

    def _constant(self, name: str) -> float | None:
        """The number a value is, if it is a constant."""
        op = self.work.makers.get(name)
        return op.value if isinstance(op, ops.VectorConst) else None

    # Numbers of the tile or step.

    def _uniform(self, name: str) -> str:
        op = self.work.makers[name]
        if isinstance(op, ops.VectorIndex) and _is_position(op.value):
            return self._index(op.value)
        if isinstance(op, ops.VectorPointwise) and self.work.is_heavy(name):
            args = [self.value(a) for a in op.args]
            types = [self.work.dtype(a) for a in op.args]
            text = pointwise(op.fn, args, op.dtype, types, by=self._constant(op.args[-1]))
        else:
            known = {x.result: self.ahead(x) for x in self._moving(name)}
            text = self._written(name, known)
        if isinstance(op, ops.VectorConst):
            return text
        label = called("u", name)
        self.once(f"const {kind_of(self.work.dtype(name))} {label} = {text};")
        return label

    def _moving(self, name: str) -> list[ops.VectorLoad]:
        """Loads of one element, another one in every iteration, that a number is made of."""
        op = self.work.makers[name]
        if isinstance(op, ops.VectorLoad):
            return [op] if self.work.fact(name).moves else []
        args = op.args if isinstance(op, ops.VectorPointwise) else ()
        return [x for a in args for x in self._moving(a)]

    def _written(self, name: str, known: Mapping[str, str]) -> str:  # noqa: PLR0911 (a line a kind)
        """A number as one expression; ``known``: loaded ones that have a name already."""
        if name in known:
            return known[name]
        op = self.work.makers[name]
        match op:
            case ops.VectorConst():
                return number(op.value, op.dtype)
            case ops.VectorScalar():
                return self.context.scalar(op.parameter)
            case ops.VectorIndex():
                text = self.printed.text(op.value)
                plain = not isinstance(op.value, Binary) or op.value.op in CALLS
                return text if plain else f"({text})"
            case ops.VectorLoad():
                return self.number(op)
            case ops.VectorPointwise():
                args = [self._written(a, known) for a in op.args]
                types = [self.work.dtype(a) for a in op.args]
                by = self._constant(op.args[-1])
                return pointwise(op.fn, args, op.dtype, types, once=True, by=by)
            case _:  # what lies in registers or slots has a name of its own
                return self.value(name)

    def _index(self, expr: IntExpr) -> str:
        """An index; where a step begins is asked once of a list of tiles."""
        functions = {f.name: f for f in self.printed.loop.functions}

        def asked(node: IntExpr) -> IntExpr | None:
            if not isinstance(node, Apply) or node.argument != T_STEP:
                return None
            if next(elements(functions[node.function].value), None) is None:
                return None
            name = let(f"at_{node.function}")
            self.once(f"const int {name.name} = {self.printed.text(node)};")
            return name

        return self.printed.text(rewrite(expr, asked))

    # Numbers that rise evenly.

    def _line(self, op: ops.VectorPointwise) -> str:
        """Numbers that rise evenly along the columns, from where a row's first one stands."""
        name = op.result
        if self.work.is_line(name):
            return self._line_from(name, name)
        if self.work.is_distance(name):
            inner = self.work.makers[op.args[0]]
            assert isinstance(inner, ops.VectorPointwise)
            return f"fabsf({self._line_from(name, inner.args[0])})"
        return ""

    def _line_from(self, name: str, inner: str) -> str:
        slope, start = self._rise(inner)
        label, at = called("slope", name), called("start", name)
        self.once(f"const float {label} = (float)({slope or '0'});")
        if self.work.axes(name) == {COL}:
            self.once(f"const float {at} = (float)({start});")
        else:
            self.scopes.row_names.append(f"float {at}[2];")
            self.scopes.rows.append(f"{at}[i] = (float)({start});")
            at += "[i]"
        return f"fmaf({label}, (float)(8 * h + e / 4 * 8 + e % 2), {at})"

    def _rise(self, name: str) -> tuple[str, str]:
        """By how much a value grows with every column, and what it is in a thread's first one."""
        op = self.work.makers[name]
        if COL not in self.work.axes(name):
            return "", self.value(name)
        if isinstance(op, ops.VectorIndex):
            first = first_of(op.value, COL)
            if first is None:
                raise self.work.refused(f"an index {op.value} along the columns")
            return "1", f"({self._index(first)} + lane % 4 * 2)"
        assert isinstance(op, ops.VectorPointwise)
        rises = [self._rise(a) for a in op.args]
        if op.fn in (Fn.NEG, Fn.CAST):
            slope, start = rises[0]
            sign = "-" if op.fn is Fn.NEG else "(float)" if op.dtype is DType.F32 else ""
            return slope and f"({sign}{slope})", f"({sign}{start})"
        (a, first_), (b, second) = rises
        word = "/" if op.fn is Fn.DIV else BINARY[op.fn]
        if op.fn in (Fn.ADD, Fn.SUB):
            slope = f"({a or '0'} {word} {b or '0'})"
        else:
            slope = f"({a or first_} {word} {b or second})"
        return slope, f"({first_} {word} {second})"

    # Functions of elements.

    def _pointwise(self, op: ops.VectorPointwise) -> str:
        work = self.work
        if op.fn is Fn.DIV and len(work.axes(op.args[1])) < len(work.axes(op.result)):
            return f"{self.value(op.args[0])} * {self._reciprocal(op.args[1])}"
        if op.fn is Fn.WHERE and work.fact(op.args[0]).free:
            chosen, other = self.value(op.args[1]), self.value(op.args[2])
            asked = work.hidden_unless_whole(op.args[0])
            if asked is None:
                return f"({self.value(op.args[0])}) ? {chosen} : {other}"
            self.masked = True
            return f"(!MASKED || {self._condition(asked)}) ? {chosen} : {other}"
        if op.fn is Fn.CAST and op.dtype.is_float and work.fact(op.args[0]).small:
            return f"{device.small_to_float}({self.value(op.args[0])})"
        args = [self.value(a) for a in op.args]
        whole = op.dtype is DType.I32 and op.fn in (Fn.ADD, Fn.SUB, Fn.MUL, Fn.NEG)
        if whole and work.wraps(op.result):
            return wrapped(op.fn, args)
        types = [work.dtype(a) for a in op.args]
        return pointwise(op.fn, args, op.dtype, types, by=self._constant(op.args[-1]))

    def _condition(self, name: str) -> str:
        """A condition along the loop; limits of a row are computed once for the row.

        What tiles listed as whole need not fulfil holds where the step is one of them.
        """
        limits: dict[int, list[str]] = {-1: [], 1: []}
        tests: list[str] = []
        column = self.work.first_column
        for part, whole in self.work.unless_whole(name):
            guard = f"{self.value(whole)} || " if whole is not None else ""
            bound = self.work.comparison(part)
            if bound is None or column is None:
                tests.append(f"({guard}{self.value(part)})")
            elif bound.loop == 0:
                tests.append(f"({guard}{self._limit(bound)} >= 0)")
            else:
                limit, none = self._limit(bound), f"{-bound.loop * FAR}"
                text = f"({self.value(whole)} ? {none} : {limit})" if whole is not None else limit
                limits[bound.loop].append(text)
        for sign, word, pick in ((-1, "<=", "min"), (1, ">=", "max")):
            if limits[sign] and column is not None:
                text = limits[sign][0]
                for other in limits[sign][1:]:
                    text = f"{pick}({text}, {other})"
                label = f"{called('limit', name)}_{pick}"
                if f"int {label}[2];" not in self.scopes.row_names:
                    first = self._index(column)
                    self.scopes.row_names.append(f"int {label}[2];")
                    self.scopes.rows.append(f"{label}[i] = {text} - {first} - lane % 4 * 2;")
                tests.append(f"8 * h + e / 4 * 8 + e % 2 {word} {label}[i]")
        return f"({' && '.join(tests)})"

    def _limit(self, bound: Affine) -> str:
        """The loop's index up to (or from) which a bound holds in the row at hand."""
        terms = [str(bound.constant)] if bound.constant or not bound.rest else []
        terms += [f"{'' if f == 1 else f'{f} * '}({self._written(v, {})})" for f, v in bound.rest]
        if bound.rows:
            assert self.work.first_row is not None
            row = self.printed.text(self.work.first_row)
            terms.append(f"{bound.rows} * ({row} + row_of(b, i))")
        rest = " + ".join(terms)
        return f"-({rest})" if bound.loop > 0 else f"({rest})"

    def _reciprocal(self, name: str) -> str:
        key = f"1/{name}"
        if key not in self.names:
            text = f"__fdividef(1.0f, {self.value(name)})"
            self.names[key] = self.declare(name, text, called("inverse", name))
        return self.names[key]


def _is_position(expr: IntExpr) -> bool:
    """Whether an expression is where a tile or step begins."""
    return isinstance(expr, Apply | Const) or (isinstance(expr, Sym) and expr.kind is SymKind.LET)


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
