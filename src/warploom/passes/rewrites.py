"""Rewrites experts use, applied where they keep the meaning. They change only how a result is
rounded. ``REWRITES`` lists them in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from warploom.ir.tile import (
    Broadcast,
    Carried,
    Const,
    DType,
    Fn,
    Kernel,
    Load,
    Loop,
    Op,
    Pointwise,
    Position,
    Reduce,
    Scalar,
    Scan,
    Size,
    Store,
    Transpose,
    Value,
    Walk,
    operands,
    results,
    walk,
)
from warploom.passes.body import made_by, refusal
from warploom.passes.boundary_masks import hide_edges
from warploom.passes.loop_ends import ended_copies
from warploom.passes.pad import pad_whole_axes
from warploom.passes.single_steps import keep_carried

Rewrite = Callable[[Kernel, frozenset[str]], Kernel]


def rewrite(kernel: Kernel, positive: frozenset[str] = frozenset()) -> Kernel:
    """All rewrites. ``positive``: scalars of the call known to exceed 0."""
    _refuse_nested(kernel)
    _refuse_places(kernel)
    _refuse_whole_sums(kernel)
    _refuse_scans(kernel)
    for change in REWRITES:
        kernel = change(kernel, positive)
    return kernel


def _refuse_places(kernel: Kernel) -> None:
    """Trip counts are known before a loop, and the last tile of an axis may be moved inside."""
    used = {op.tensor for op in walk(kernel.ops) if isinstance(op, Load | Store)}
    for tensor in kernel.tensors:
        if tensor.dtype is DType.I4 and tensor.name in used:
            raise refusal(
                f"'{tensor.name}' of type i4",
                kernel.line,
                why="copies and threads address whole bytes",
                fix="two elements of i4 as one of i8, an axis 'k/2': "
                "(w[n, k] >> (wl.index(k) % 2 * 4)) & 15, minus 16 where that is above 7",
            )
    for op in walk(kernel.ops):
        if isinstance(op, Loop) and op.stop is not None:
            raise refusal(
                "a pipelined loop that ends early",
                op.line,
                why="copies of later steps are under way when a step decides",
                fix="until= with a bound that is computed before the loop",
            )
        if isinstance(op, Loop) and op.share is not None:
            raise refusal(
                "a pipelined loop over a part of a list",
                op.line,
                why="its roles walk whole lists",
                fix="a list for each part: tiles and counts with the axis of part=",
            )
        if isinstance(op, Position) and kernel.var(op.var).walk is Walk.TILE:
            raise refusal(
                f"a pipelined kernel that stores by blocks of '{op.var}'",
                op.result.line,
                why="the last tile of an axis is moved inside it, and begins in no block",
                fix=f"extents of {op.var} alone: .with_config({op.var}=...)",
            )


def _refuse_whole_sums(kernel: Kernel) -> None:
    for op in walk(kernel.ops):
        if isinstance(op, Store) and op.add and not kernel.tensor(op.tensor).dtype.is_float:
            raise refusal(
                f"'{op.tensor}' of type {kernel.tensor(op.tensor).dtype} is added to beside matrix "
                "products",
                op.line,
                why="accumulators are added to memory as floats",
                fix="an output of type f32, or a second kernel without products",
            )


def _refuse_scans(kernel: Kernel) -> None:
    for op in walk(kernel.ops):
        if isinstance(op, Pointwise) and op.code is not None:
            raise refusal(
                f"inline function '{op.code.name}' in a pipelined kernel",
                op.result.line,
                why="what it computes past the edges of a tensor is not known",
                fix="words of the language",
            )
        if isinstance(op, Scan):
            raise refusal(
                f"a running {'sum' if op.fn is Fn.ADD else f'{op.fn}imum'} along '{op.over}' beside"
                " matrix products",
                op.result.line,
                why="accumulators lie over threads in pairs of columns, through which no prefix "
                "goes",
                fix="a kernel of its own before this one, whose output this one loads",
            )
        if isinstance(op, Store) and op.when is not None:
            raise refusal(
                f"'{op.tensor}' is stored under a condition, beside matrix products",
                op.line,
                why="tiles of accumulators leave by bulk copies, which no condition stops",
                fix="store always, and let the loop of tiles that do not count run no step: "
                "wl.steps(x.k, until=wl.where(condition, x.k, 0))",
            )
        if isinstance(op, Store) and op.add and op.fn is not Fn.ADD:
            raise refusal(
                f"a {op.fn}imum in memory of '{op.tensor}' beside matrix products",
                op.line,
                why="accumulators are added to memory; extremes are made by kernels without "
                "products",
                fix="store the extreme of each tile, and reduce it in a second kernel",
            )


def _refuse_nested(kernel: Kernel) -> None:
    """Loops inside loops have one program for all threads; pipelined ones follow one another."""
    for loop in kernel.loops:
        for op in loop.body:
            if isinstance(op, Loop):
                raise refusal(
                    "a loop inside a loop beside matrix products",
                    op.line,
                    why="copies and products of a pipelined loop are scheduled as one steady state;"
                    " an inner loop would have to fill and drain it in every step",
                    fix="make the inner axis whole, two loops one after the other, or two kernels",
                )


PAST_ALL = 1 << 30  # past the end of every axis


def begin_past_the_end(kernel: Kernel, positive: frozenset[str]) -> Kernel:
    """A loop that runs whole or not at all begins past its end where it does not run.

    ``until=where(c, x.k, 0)`` has no end inside the axis, so that copies need no bound: those past
    the axis' own end bring zeros.
    """
    made = {v.name: op for op in walk(kernel.ops) for v in results(op)}

    def whole(name: str | None, loop: Loop) -> bool:
        op = made.get(name or "")
        return isinstance(op, Size) and op.axis == kernel.var(loop.var).axis

    def is_zero(name: str) -> bool:
        op = made.get(name)
        return isinstance(op, Const) and op.value == 0

    taken = {c.inside.name for op in kernel.loops for c in op.carried} | set(made)
    ops: list[Op] = []
    for op in kernel.ops:
        bound = made.get(op.until or "") if isinstance(op, Loop) else None
        runs = isinstance(bound, Pointwise) and bound.fn is Fn.WHERE
        if not isinstance(op, Loop) or not isinstance(bound, Pointwise) or not runs:
            ops.append(op)
            continue
        condition, full, none = bound.args
        if op.start is not None or not whole(full, op) or not is_zero(none):
            ops.append(op)
            continue
        names = [f"{op.var}_{word}" for word in ("begins", "past")]
        while set(names) & taken:
            names = [f"{n}_" for n in names]
        taken |= set(names)
        first, past = (Value(name=n, dims=(), dtype=DType.I32, line=op.line) for n in names)
        ops += [
            Const(result=past, value=PAST_ALL),
            Pointwise(result=first, fn=Fn.WHERE, args=(condition, none, past.name)),
            replace(op, start=first.name, until=None),
        ]
    return replace(kernel, ops=tuple(ops))


def scale_after_maximum(kernel: Kernel, positive: frozenset[str]) -> Kernel:
    """max(x * c) = max(x) * c for c > 0: a multiplication of a row instead of a tile.

    Scaled values hidden by a condition are scaled after it: where(p, x * c, -inf) becomes
    where(p, x, -inf) * c.
    """

    def change(loop: Loop) -> Loop:
        known = _Known(kernel, loop, positive)
        body: list[Op] = []
        for op in loop.body:
            body += known.hidden(op) if _is_where(op) else known.reduced(op)
        return replace(loop, body=tuple(body))

    return _with_loops(kernel, change)


class _Known:
    """Values of a loop that are a tile times a positive scalar."""

    def __init__(self, kernel: Kernel, loop: Loop, positive: frozenset[str]) -> None:
        every = (*kernel.ops, *loop.body)
        self.ops = {name: op for op in every if (name := made_by(op)) is not None}
        self.positive = positive

    def scaled(self, name: str) -> tuple[str, str] | None:
        """(tile, scalar) of a product of both."""
        op = self.ops.get(name)
        if not (isinstance(op, Pointwise) and op.fn is Fn.MUL and len(op.result.dims) == 2):
            return None
        for tile, factor in (op.args, op.args[::-1]):
            if self._is_positive(factor):
                return tile, factor
        return None

    def _is_positive(self, name: str) -> bool:
        op = self.ops.get(name)
        if isinstance(op, Scalar):
            return op.parameter in self.positive
        if isinstance(op, Const):
            return op.value > 0
        if isinstance(op, Pointwise) and op.fn is Fn.MUL and not op.result.dims:
            return all(self._is_positive(a) for a in op.args)
        return False

    def _is_lowest(self, name: str) -> bool:
        op = self.ops.get(name)
        if isinstance(op, Broadcast):
            return self._is_lowest(op.arg)
        return isinstance(op, Const) and op.value == float("-inf")

    def hidden(self, op: Op) -> Iterator[Op]:
        """where(p, x * c, -inf) as where(p, x, -inf) * c."""
        assert isinstance(op, Pointwise)
        found = self.scaled(op.args[1])
        if found is None or not self._is_lowest(op.args[2]):
            yield op
            return
        tile, factor = found
        inner = replace(op.result, name=f"{op.result.name}_seen")
        made = (
            replace(op, result=inner, args=(op.args[0], tile, op.args[2])),
            Pointwise(result=op.result, fn=Fn.MUL, args=(inner.name, factor)),
        )
        for new in made:
            self.ops[new.result.name] = new
        yield from made

    def reduced(self, op: Op) -> Iterator[Op]:
        """max(x * c) as max(x) * c."""
        found = self.scaled(op.arg) if isinstance(op, Reduce) and op.fn is Fn.MAX else None
        if found is None or not isinstance(op, Reduce):
            yield op
            return
        inner = replace(op.result, name=f"{op.result.name}_raw")
        yield replace(op, result=inner, arg=found[0])
        yield Pointwise(result=op.result, fn=Fn.MUL, args=(inner.name, found[1]))


def _is_where(op: Op) -> bool:
    return isinstance(op, Pointwise) and op.fn is Fn.WHERE and len(op.result.dims) == 2


def _with_loops(kernel: Kernel, change: Callable[[Loop], Loop]) -> Kernel:
    ops = tuple(change(op) if isinstance(op, Loop) else op for op in kernel.ops)
    return replace(kernel, ops=ops)


def stores_by_name(kernel: Kernel, positive: frozenset[str]) -> Kernel:
    """``out[m, n] = x.T`` stores x itself: elements find their places by the names of axes."""
    _ = positive
    turned = {op.result.name: op.arg for op in kernel.ops if isinstance(op, Transpose)}

    def change(op: Op) -> Op:
        if isinstance(op, Store) and op.value in turned:
            return change(replace(op, value=turned[op.value]))
        return op

    ops = tuple(change(op) for op in kernel.ops)
    read = {
        name
        for op in (*ops, *(o for x in ops if isinstance(x, Loop) for o in x.body))
        for name in operands(op)
    }
    kept = (op for op in ops if not (isinstance(op, Transpose) and op.result.name not in read))
    return replace(kernel, ops=tuple(kept))


def own_lasts(kernel: Kernel, positive: frozenset[str]) -> Kernel:
    """Every carried value has a last of its own, made in the loop: ``a, b = b, c`` copies b."""
    _ = positive

    def change(loop: Loop) -> Loop:
        made = {made_by(op) for op in loop.body}
        before, after, carried = list[Op](), list[Op](), list[Carried]()
        for c in loop.carried:
            if c.last == c.inside.name or (
                c.last in made and c.last not in {x.last for x in carried}
            ):
                carried.append(c)
                continue
            if c.last not in made and c.last not in {x.inside.name for x in loop.carried}:
                raise refusal(
                    "a carried value that becomes one from before the loop",
                    loop.line,
                    why="what a step leaves is made in the step",
                    fix="use the value itself, and wl.where(wl.index(k) ...) for the first step",
                )
            own = replace(c.inside, name=f"{c.inside.name}_next")
            one = replace(own, name=f"{own.name}_one", dims=())
            copy = Pointwise(result=own, fn=Fn.MUL, args=(c.last, one.name))
            number = 1.0 if own.dtype.is_float else 1
            (after if c.last in made else before).extend((Const(result=one, value=number), copy))
            carried.append(replace(c, last=own.name))
        return replace(loop, body=(*before, *loop.body, *after), carried=tuple(carried))

    return _with_loops(kernel, change)


def begin_in_registers(kernel: Kernel, _: frozenset[str] = frozenset()) -> Kernel:
    """A carried tile that begins as one loaded is read into its registers by a step of its own."""
    loaded = {
        op.result.name: op.result
        for op in kernel.ops
        if isinstance(op, Load) and len(op.result.dims) == 2
    }
    begun = dict.fromkeys(c.first for op in kernel.ops if isinstance(op, Loop) for c in op.carried)
    ops: list[Op] = []
    for op in kernel.ops:
        name = made_by(op)
        if isinstance(op, Loop):
            carried = (
                replace(c, first=f"{c.first}_begun") if c.first in loaded else c for c in op.carried
            )
            ops.append(replace(op, carried=tuple(carried)))
            continue
        ops.append(op)
        if name in loaded and name in begun:
            one = replace(loaded[name], name=f"{name}_one", dims=())
            made = replace(loaded[name], name=f"{name}_begun")
            ops.append(Const(result=one, value=1.0))
            ops.append(Pointwise(result=made, fn=Fn.MUL, args=(name, one.name)))
    return replace(kernel, ops=tuple(ops))


REWRITES: tuple[Rewrite, ...] = (
    begin_past_the_end,
    pad_whole_axes,
    ended_copies,
    begin_in_registers,
    scale_after_maximum,
    own_lasts,
    hide_edges,
    keep_carried,
    stores_by_name,
)
