"""Vector work as CUDA source: what one thread does for its elements of a tile.

A thread's elements of 16 columns ``g`` (from half ``h`` = 2 g on, in units of 8) of a 64-row block
``b`` are ``e`` = 0..7: row ``8 i + lane / 4`` of its warp with ``i = e / 2 % 2``, column ``8 h + 8
(e / 4) + 2 (lane % 4) + e % 2``. Values of rows are computed once for ``i`` = 0, 1; values of no
extent once for the step.
"""

from __future__ import annotations

from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.expressions import BINARY, pointwise, wrapped
from warploom.codegen.cuda.tile.loads import Loads, called
from warploom.ir.tile import (
    Broadcast,
    Const,
    DType,
    Fn,
    Indices,
    Load,
    Pointwise,
    Position,
    Scalar,
    Size,
)
from warploom.passes.body import refusal
from warploom.passes.layout import Form
from warploom.passes.loop_bounds import Affine, comparisons, moves, unless_whole

ELEMENTS = 8  # of a thread in 16 columns of a block
SMALL = 1 << 16
FAR = 1 << 30  # further than any index


class Vector(Loads):
    """Writes expressions of values on a tile ``rows`` x ``cols`` of the running iteration.

    ``local`` are values computed in this very text; everything else kept is read from its array.
    ``step``: the name of the step it is; ``product``: the fresh one it works on, if that is one.
    """

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
        left = [(name, False)]
        while left:
            at, done = left.pop()
            if done:
                order[at] = None
                continue
            op = self.body.ops.get(at)
            if at in self.names or at in order or not isinstance(op, Pointwise):
                continue
            if at in self.homes and at not in self.local:
                continue
            if not op.result.dims and not self.body.is_heavy(at):
                continue
            if self.body.is_line(at) or self.body.is_distance(at):
                continue
            left.append((at, True))
            masks = op.fn is Fn.WHERE and self.body.is_free(op.args[0])
            args = op.args[1:] if masks else op.args
            left += [(a, False) for a in reversed(args)]
        order.pop(name, None)
        return list(order)

    def _named(self, name: str) -> str:
        if name in self.names:
            return self.names[name]
        inner, _ = self.body.through(name)
        if inner in self.homes and inner not in self.local:
            text = self._kept(inner)
        else:
            text = self._computed(inner)
        self.names[name] = text
        return text

    def array_of(self, name: str) -> str | None:
        """The array whose element the expression of a value is itself; None where it has a name of
        its own, or lies in no array.
        """
        inner, _ = self.body.through(name)
        if inner in self.homes and inner not in self.local:
            return self.homes[inner]
        op = self.body.ops.get(inner)
        return self.array_of(op.arg) if isinstance(op, Broadcast) else None

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
        if isinstance(op, Broadcast):
            return self.value(op.arg)
        if isinstance(op, Indices):
            return self.indices(op.var)
        if isinstance(op, Load):
            return self.loaded(op)
        if isinstance(op, Pointwise):
            return self.declare(value, self._line(op) or self._pointwise(op))
        raise refusal("this value has no place in vector work", value.line)

    def _uniform(self, name: str) -> str:
        op = self.body.ops[name]
        if isinstance(op, Position):
            return self.position(op.var)
        if isinstance(op, Pointwise) and self.body.is_heavy(name):
            args = [self.value(a) for a in op.args]
            types = [self.body.values[a].dtype for a in op.args]
            text = pointwise(op.fn, args, op.result.dtype, types)
        else:
            known = {x.result.name: self._ahead(x) for x in self.context.moving_elements(name)}
            text = self.context.uniform(name, self.iteration, known)
        if isinstance(op, Const):
            return text
        kind = "int" if self.body.values[name].dtype is DType.I32 else "float"
        if self.body.values[name].dtype is DType.BOOL:
            kind = "bool"
        label = called("u", name)
        line = f"const {kind} {label} = {text};"
        if line not in self.scopes.step:  # the elements and the rows of a step may both ask for it
            self.scopes.step.append(line)
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

    def indices(self, var: str) -> str:
        """The element a variable is at."""
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
        if isinstance(op, Broadcast):
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
        whole = op.result.dtype is DType.I32 and op.fn in (Fn.ADD, Fn.SUB, Fn.MUL, Fn.NEG)
        if whole and self.body.wraps(op.result.name):
            return wrapped(op.fn, args)
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
