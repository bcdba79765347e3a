"""Edges are conditions: elements past the end of the loop must leave no trace.

Copies fill what does not exist with zeros, which sums and products do not see. Where arithmetic
turns these zeros into something else (exponentials, maxima), a condition hides the elements: a tile
of which the maximum is taken is -inf there, a summand or left operand 0. Which of it is needed
follows from what elements past the end are known to be.

A loop that ends before its axis does meets elements that exist and do not count. Where a product
sums over them, its copies are bounded: they fill with zeros from the loop's end on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.frontend.rewrite import renamed
from warploom.ir.elementwise import functions
from warploom.ir.tile import (
    Access,
    Broadcast,
    Const,
    Dim,
    Dot,
    DType,
    Fn,
    Given,
    Indices,
    Kernel,
    Line,
    Load,
    Loop,
    Op,
    Pointwise,
    Reduce,
    Size,
    Store,
    Transpose,
    Value,
    Walk,
    operands,
    results,
    walk,
)
from warploom.passes.body import Body, is_end, made_by, refusal
from warploom.passes.loop_ends import MOST_AXES
from warploom.passes.out_of_bounds import NEUTRAL, Outside, known_as, neutral
from warploom.passes.pad import is_padded
from warploom.passes.single_steps import is_computed

FEW = 1 << 12  # a number that every 16-bit type comes near to
# What gives no infinity of numbers: exponentials, logarithms and quotients do.
TAME = functions(lambda row: row.finite)


def hide_edges(kernel: Kernel, positive: frozenset[str]) -> Kernel:
    """Conditions where elements past the end of a loop, or of a tile's columns, would count."""
    ops = tuple(_hidden(kernel, op, positive) if isinstance(op, Loop) else op for op in kernel.ops)
    return replace(kernel, ops=_columns_hidden(kernel, ops))


def _columns_hidden(kernel: Kernel, ops: tuple[Op, ...]) -> tuple[Op, ...]:
    """What is reduced along a tile of the grid, or along a padded axis, without what lies past the
    end of its axis; and computed operands of products that contract a padded axis.
    """
    padded = {v.name for v in kernel.vars if is_padded(kernel, v)}
    tiles = {v.name for v in kernel.vars if v.walk is Walk.TILE} | padded
    made = {name: op for op in walk(ops) if (name := made_by(op)) is not None}
    made |= {c.inside.name: Given(result=c.inside, of="") for x in kernel.loops for c in x.carried}
    made |= {c.result.name: Given(result=c.result, of="") for x in kernel.loops for c in x.carried}
    out: list[Op] = []
    for op in ops:
        if isinstance(op, Loop):
            out.append(replace(op, body=_columns_hidden(kernel, op.body)))
        elif isinstance(op, Reduce) and op.over in tiles and not is_end(op, made.get(op.arg)):
            tag = f"{op.over}_{op.result.name}"
            *condition, inside = _condition(kernel, op.over, None, op.result.line, tag)
            number = neutral(NEUTRAL[op.fn], op.result.dtype)
            hidden = [*_where(made[op.arg], op.arg, number, inside.result.name, tag)]
            out += [*condition, inside, *hidden, replace(op, arg=hidden[-1].result.name)]
        elif isinstance(op, Dot) and padded:
            out += _contraction_hidden(kernel, op, made, padded)
        else:
            out.append(op)
    return tuple(out)


def _contraction_hidden(
    kernel: Kernel, op: Dot, made: Mapping[str, Op], padded: set[str]
) -> Iterator[Op]:
    """A product whose computed left operand is 0 past the end of a padded axis it sums over."""
    left = made.get(op.a)
    inner = None if left is None else results(left)[0].vars[-1]
    source = left
    while isinstance(source, Transpose):
        source = made.get(source.arg)
    if left is None or inner not in padded or isinstance(source, Load):
        yield op
        return
    tag = f"{inner}_{op.result.name}"
    *condition, inside = _condition(kernel, inner or "", None, op.result.line, tag)
    hidden = [*_where(left, op.a, 0.0, inside.result.name, tag)]
    yield from (*condition, inside, *hidden, replace(op, a=hidden[-1].result.name))


@dataclass
class _Edge:
    """What is known of values past the end, and the condition's own values."""

    kernel: Kernel
    loop: Loop
    positive: frozenset[str]

    def __post_init__(self) -> None:
        every = (*self.kernel.ops, *self.loop.body)
        self.numbers = {op.result.name: op.value for op in every if isinstance(op, Const)}
        self.ops = {name: op for op in every if (name := made_by(op)) is not None}
        made = {v.name: v for op in walk(self.kernel.ops) for v in results(op)}
        made |= {v.name: v for op in self.loop.body for v in results(op)}
        inside = {c.inside.name: c.inside for x in self.kernel.loops for c in x.carried}
        self.kinds = {name: v.dtype for name, v in (made | inside).items()}
        self.outside: dict[str, Outside] = {}

    def spans(self, value: Value) -> bool:
        """Whether a value extends along the loop."""
        return Dim(self.loop.var) in value.dims or any(d.var == self.loop.var for d in value.dims)

    def learn(self, op: Op) -> None:
        """What an op's result is past the end."""
        for value in results(op):
            if self.spans(value):
                self.outside[value.name] = self._of(op)

    def _of(self, op: Op) -> Outside:
        ends_early = self.loop.until is not None and not self._is_whole()
        if isinstance(op, Load):
            ended = op.bounded or (op.end is not None and op.end == self.loop.until)
            return Outside.UNKNOWN if ends_early and not ended else Outside.ZERO
        if isinstance(op, Transpose | Broadcast):
            return self.outside.get(op.arg, Outside.UNKNOWN)
        if isinstance(op, Dot):  # its columns or rows past the end are products with zeros
            parts = [self.outside.get(n) for n in (op.a, op.b)]
            zero = Outside.ZERO in parts and op.into is None and self._is_tame(op.a)
            zero = zero and self._is_tame(op.b)
            return Outside.ZERO if zero else Outside.UNKNOWN
        return self._pointwise(op) if isinstance(op, Pointwise) else Outside.UNKNOWN

    def _is_whole(self) -> bool:
        found = self.ops.get(self.loop.until or "")
        return isinstance(found, Size) and found.axis == self.kernel.var(self.loop.var).axis

    def _pointwise(self, op: Pointwise) -> Outside:  # noqa: PLR0911 (one rule a function)
        args = [self.outside.get(a, Outside.UNKNOWN) for a in op.args]
        if op.fn is not Fn.WHERE and any(self.kinds[a] is DType.I32 for a in op.args):
            ends = (Outside.LOWEST, Outside.HIGHEST)  # whole numbers wrap, floats have more
            args = [Outside.UNKNOWN if a in ends else a for a in args]
        if op.fn is Fn.CAST:
            unknown = args[0] is Outside.UNKNOWN
            return Outside.FINITE if unknown and self._fits(op) else args[0]
        if op.fn is Fn.MUL:
            return self._product(op, args)
        if op.fn in (Fn.SUB, Fn.ADD):
            return self._sum(args)
        if op.fn in (Fn.EXP2, Fn.EXP) and args[0] is Outside.ZERO:
            return Outside.FINITE
        if op.fn in (Fn.EXP2, Fn.EXP) and args[0] is Outside.LOWEST:
            return Outside.ZERO
        if op.fn is Fn.WHERE:
            return self._chosen(op, args)
        return Outside.UNKNOWN

    def _fits(self, op: Pointwise) -> bool:
        """Whether a conversion is of whole numbers that its type can hold."""
        if self.values(op.args[0]).dtype.is_float:
            return False
        return op.result.dtype is not DType.F16 or self._few_bits(op.args[0])

    def _few_bits(self, name: str) -> bool:
        op = self.ops.get(name)
        if isinstance(op, Const):
            return abs(float(op.value)) < FEW
        if not isinstance(op, Pointwise) or op.fn not in (Fn.BITS, Fn.ADD, Fn.SUB):
            return False
        found = [self._few_bits(a) for a in op.args]
        return any(found) if op.fn is Fn.BITS else all(found)

    def _sum(self, args: list[Outside]) -> Outside:
        if args[0] is Outside.LOWEST:
            return Outside.LOWEST
        return Outside.ZERO if set(args) == {Outside.ZERO} else Outside.UNKNOWN

    def _chosen(self, op: Pointwise, args: list[Outside]) -> Outside:
        """A condition that says what is inside decides; else both choices must agree."""
        if _inside(self.loop) in self._conditions(op.args[0]):
            number = self.number(op.args[2])
            return known_as(number, op.result.dtype)
        finite = args[1] in (Outside.ZERO, Outside.FINITE)
        if finite and self.number(op.args[2]) == 0.0:
            return args[1]
        return args[1] if args[1] is args[2] else Outside.UNKNOWN

    def _conditions(self, name: str) -> set[str]:
        op = self.ops.get(name)
        if isinstance(op, Pointwise) and op.fn is Fn.AND:
            return set[str]().union(*(self._conditions(a) for a in op.args))
        return {name}

    def number(self, name: str) -> float:
        """A constant, spread or not; NaN for anything else."""
        op = self.ops.get(name)
        if isinstance(op, Broadcast):
            return self.number(op.arg)
        return float(self.numbers.get(name, float("nan")))

    def source(self, name: str) -> Op | None:
        """What makes a value, through transposed views."""
        op = self.ops.get(name)
        return self.source(op.arg) if isinstance(op, Transpose) else op

    def ends(self, op: Load) -> bool:
        """Whether a load meets elements past the end of the loop that it must not bring."""
        return self.outside.get(op.result.name) is Outside.UNKNOWN

    def values(self, name: str) -> Value:
        """A value by its name."""
        return results(self.ops[name])[0]

    def _product(self, op: Pointwise, args: list[Outside]) -> Outside:
        if Outside.LOWEST in args:
            other = op.args[1] if args[0] is Outside.LOWEST else op.args[0]
            return Outside.LOWEST if self._is_positive(other) else Outside.UNKNOWN
        zero = Outside.ZERO in args and all(self._is_tame(a) for a in op.args)
        return Outside.ZERO if zero else Outside.UNKNOWN

    def _is_tame(self, name: str) -> bool:
        """Whether what lies past the end times 0 is 0. What counts is finite or the author's own
        matter; an exponential of what is not there may be infinite, and memory past the end of a
        loop that ends early anything at all.
        """
        known, op = self.outside.get(name), self.ops.get(name)
        if known is not Outside.UNKNOWN or op is None:
            return known not in (Outside.LOWEST, Outside.HIGHEST)
        if isinstance(op, Pointwise) and op.fn not in TAME:
            return False
        return not isinstance(op, Load) and all(self._is_tame(a) for a in operands(op))

    def _is_positive(self, name: str) -> bool:
        op = self.ops.get(name)
        if isinstance(op, Pointwise) and op.fn is Fn.MUL:
            return all(self._is_positive(a) for a in op.args)
        parameter = getattr(op, "parameter", None)
        return parameter in self.positive or float(self.numbers.get(name, 0)) > 0


def _hidden(kernel: Kernel, loop: Loop, positive: frozenset[str]) -> Loop:
    """The loop with a condition at every value whose edge would count, until none is left."""
    loop = _with_bounds(_Edge(kernel, loop, positive))
    for _ in range(len(loop.body) + 1):
        edge = _Edge(kernel, loop, positive)
        want = next(_unmet(edge), None)
        if want is None:
            return loop
        loop = _with_condition(edge, *want)
    raise refusal("elements past the end of this loop cannot be hidden", loop.line)


def _with_bounds(edge: _Edge) -> Loop:
    """The loop with copies bounded where products sum over what they bring.

    So is a right operand whose left one is computed, and hidden: 0 times NaN is NaN.
    """
    for op in edge.loop.body:
        edge.learn(op)
    bounded: set[str] = set()
    for op in edge.loop.body:
        if not isinstance(op, Dot) or edge.values(op.a).vars[1] != edge.loop.var:
            continue
        left, right = (edge.source(n) for n in (op.a, op.b))
        bounded |= {x.result.name for x in (left, right) if isinstance(x, Load) and edge.ends(x)}
    body = [
        replace(op, bounded=True) if isinstance(op, Load) and op.result.name in bounded else op
        for op in edge.loop.body
    ]
    for op in body:
        if isinstance(op, Load) and op.bounded and op.at[-1].var == edge.loop.var:
            raise refusal(
                f"a product sums over columns of {op.tensor} past the end of this loop",
                op.result.line,
                why="copies end before the tensor does along rows only, not along columns",
                fix=f"store {op.tensor} with that axis before its last one",
            )
        if isinstance(op, Load) and op.bounded and len(op.at) > MOST_AXES:
            raise refusal(
                f"a product sums over rows of {op.tensor} past the end of this loop",
                op.result.line,
                why=f"copies of tensors of {MOST_AXES} axes at most end before the tensor does",
                fix=f"store {op.tensor} with fewer axes",
            )
    return replace(edge.loop, body=tuple(body))


def bounded_axis(body: Body, op: Load | Store) -> int | None:
    """The axis of a tensor along which a copy ends where its loop does."""
    if not isinstance(op, Load) or not op.bounded:
        return None
    return next(n for n, at in enumerate(op.at) if at.var == body.loop.var)


def _unmet(edge: _Edge) -> Iterator[tuple[str, Outside, Op]]:
    for op in edge.loop.body:
        for arg, wanted in _wants(edge, op):
            if edge.outside.get(arg) is not wanted and not _harmless(edge, op):
                yield arg, wanted, op
        edge.learn(op)


def _with_condition(edge: _Edge, arg: str, wanted: Outside, user: Op) -> Loop:
    """The value hidden past the end from where it is made; a condition it has gets one more.

    A value of which a sum and a maximum are taken is hidden for each of them apart.
    """
    loop = edge.loop
    number = neutral(wanted, edge.kinds[arg])
    names: dict[str, str] = {}
    known = any(made_by(op) == _inside(loop) for op in loop.body)
    body: list[Op] = []
    if not known:
        body += _condition(edge.kernel, loop.var, loop.until, loop.line, loop.var)
    if len({w for op in loop.body for a, w in _wants(edge, op) if a == arg}) > 1:
        hidden = list(_where(edge.ops[arg], arg, number, _inside(loop), tag=wanted.value))
        names = {arg: hidden[-1].result.name}
        for op in loop.body:
            body += [*hidden, renamed(op, names)] if op is user else [op]
        return replace(loop, body=tuple(body))
    for op in loop.body:
        if made_by(op) != arg:
            body.append(renamed(op, names))
            continue
        if isinstance(op, Pointwise) and op.fn is Fn.WHERE and edge.number(op.args[2]) == number:
            both = replace(edge.values(op.args[0]), name=f"{arg}_and")
            both = replace(both, dims=op.result.dims)
            body.append(Pointwise(result=both, fn=Fn.AND, args=(_inside(loop), op.args[0])))
            body.append(replace(op, args=(both.name, *op.args[1:])))
            edge.outside[arg] = wanted
            continue
        body.append(op)
        body += _where(op, arg, number, _inside(loop))
        names[arg] = f"{arg}_here"
    if all(made_by(op) != arg for op in loop.body):  # made before the loop: hidden as it begins
        first = [op for op in body if made_by(op) in _condition_names(loop)]
        made = _where(edge.ops[arg], arg, number, _inside(loop))
        names = {arg: f"{arg}_here"}
        body = [*first, *made, *(renamed(op, names) for op in body if op not in first)]
    carried = tuple(replace(c, last=names.get(c.last, c.last)) for c in loop.carried)
    return replace(loop, body=tuple(body), carried=carried)


def _condition_names(loop: Loop) -> set[str]:
    return {f"edge_{loop.var}", f"before_{loop.var}", f"at_{loop.var}", _inside(loop)}


def _inside(loop: Loop) -> str:
    return f"inside_{loop.var}"


def _wants(edge: _Edge, op: Op) -> Iterator[tuple[str, Outside]]:
    """Operands that must be neutral past the end."""
    if isinstance(op, Reduce) and op.over == edge.loop.var and op.fn in NEUTRAL:
        yield op.arg, NEUTRAL[op.fn]
    if isinstance(op, Dot):
        a = edge.ops.get(op.a)
        along = [d.var for d in a.result.dims] if isinstance(a, Pointwise) else []
        if along[1:] == [edge.loop.var]:
            yield op.a, Outside.ZERO


def _harmless(edge: _Edge, op: Op) -> bool:
    """A left operand that is some number where the right operand is 0."""
    if not isinstance(op, Dot) or edge.outside.get(op.a) is not Outside.FINITE:
        return False
    return edge.outside.get(op.b) is Outside.ZERO


def _condition(
    kernel: Kernel, var: str, until: str | None, line: Line | None, tag: str
) -> Iterator[Pointwise | Indices | Size]:
    """Whether an element of a variable lies before the end, of a loop or of the axis."""
    whole = Value(name=f"edge_{tag}", dims=(), dtype=DType.I32, line=line)
    axis = kernel.var(var).axis
    computed = until is not None and (
        is_computed(kernel, until) or not _is_inside(kernel, until, axis)
    )
    if until is None or computed:
        tensor = next(t for t in kernel.tensors if any(a == axis for a in _plain(t.axes)))
        yield Size(result=whole, tensor=tensor.name, axis=axis)
    if until is not None and computed:  # it may lie past the axis
        last = replace(whole, name=f"before_{tag}")
        yield Pointwise(result=last, fn=Fn.MIN, args=(until, whole.name))
        until = last.name
    index = Value(name=f"at_{tag}", dims=(Dim(var),), dtype=DType.I32, line=line)
    yield Indices(result=index, var=var)
    inside = replace(index, name=f"inside_{tag}", dtype=DType.BOOL)
    yield Pointwise(result=inside, fn=Fn.LT, args=(index.name, until or whole.name))


def _is_inside(kernel: Kernel, until: str, axis: str) -> bool:
    """Whether a bound surely lies on the axis: its size, the least of it and another number, or
    the end of a group. What callers give otherwise may lie past it.
    """
    made = {v.name: op for op in walk(kernel.ops) for v in results(op)}
    op = made.get(until)
    if isinstance(op, Load):
        return kernel.tensor(op.tensor).access is Access.STARTS
    if isinstance(op, Pointwise) and op.fn is Fn.MIN:
        return any(_is_inside(kernel, a, axis) for a in op.args)
    return isinstance(op, Size) and op.axis == axis


def _plain(axes: tuple[object, ...]) -> Iterator[str]:
    for axis in axes:
        if getattr(axis, "per", 1) == 1:
            yield str(getattr(axis, "name", ""))


def _where(
    op: Op, arg: str, number: float, condition: str, tag: str = "here"
) -> Iterator[Const | Pointwise]:
    value = results(op)[0]
    dtype = DType.I32 if value.dtype is DType.I32 else DType.F32
    none = replace(value, name=f"{arg}_{tag}_none", dims=(), dtype=dtype)
    yield Const(result=none, value=number)
    inner = replace(value, name=f"{arg}_{tag}")
    yield Pointwise(result=inner, fn=Fn.WHERE, args=(condition, arg, none.name))
