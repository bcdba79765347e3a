"""What is added to a whole row moves past the maximum: max(x + r) = max(x) + r.

A score that rises evenly along the keys (ALiBi) is a number of the column, counted from the tile's
first, plus a number of the row. The first is the same in every iteration, the second is added to
the row's maximum and taken off the reference that exponentials are taken with, instead of being
added to every element: x + l - m becomes (x + column) - (m - row).
"""

from __future__ import annotations

from dataclasses import replace

from warploom.kernel.rewrite import fresh
from warploom.kernel.values import (
    Const,
    Dim,
    DType,
    Fn,
    Indices,
    Kernel,
    Loop,
    Op,
    Pointwise,
    Position,
    Reduce,
    Spread,
    Value,
    operands,
    results,
)
from warploom.lower.body import Body, body_of


def shift_after_maximum(kernel: Kernel, positive: frozenset[str]) -> Kernel:
    """Lines that are added to a tile of scores, as numbers of columns and of rows."""
    _ = positive
    if len(kernel.loops) != 1:
        return kernel
    body = body_of(kernel)
    chosen = next((op for op in body.loop.body if _is_shifted(body, op)), None)
    if not isinstance(chosen, Pointwise):
        return kernel
    loop = _Shift(body, chosen).loop()
    return replace(kernel, ops=tuple(loop if isinstance(op, Loop) else op for op in kernel.ops))


def _is_shifted(body: Body, op: Op) -> bool:
    """A tile plus a line, of which maxima are taken and differences with rows."""
    if not isinstance(op, Pointwise) or op.fn not in (Fn.ADD, Fn.SUB) or len(op.result.dims) != 2:
        return False
    if op.result.vars[1] != body.loop.var or _sides(body, op) is None:
        return False
    return _only_shifts(body, op.result.name)


def _sides(body: Body, op: Pointwise) -> tuple[str, str] | None:
    """The tile and the line that are added."""
    lines = [len(body.values[a].dims) == 2 and body.is_line(a) for a in op.args]
    if lines == [False, True] and len(body.values[op.args[0]].dims) == 2:
        return op.args[0], op.args[1]
    if lines == [True, False] and op.fn is Fn.ADD and len(body.values[op.args[1]].dims) == 2:
        return op.args[1], op.args[0]
    return None


def _only_shifts(body: Body, name: str) -> bool:
    if any(name == c.last for c in body.loop.carried) or not body.users[name]:
        return False
    return all(_takes_shift(body, name, user) for _, user in body.users[name])


def _takes_shift(body: Body, name: str, user: Op) -> bool:
    if isinstance(user, Reduce):
        return user.fn is Fn.MAX and user.over == body.loop.var
    if not isinstance(user, Pointwise):
        return False
    if user.fn is Fn.SUB:
        rows = body.values[user.args[1]].vars
        return user.args[0] == name and user.args[1] != name and body.loop.var not in rows
    if user.fn is Fn.WHERE and user.args[1] == name and name not in (user.args[0], user.args[2]):
        return body.is_lowest(user.args[2]) and _only_shifts(body, user.result.name)
    return False


class _Shift:
    """The loop anew: ``moved`` are values that are less by ``row`` than they were."""

    def __init__(self, body: Body, op: Pointwise) -> None:
        self.body, self.op = body, op
        self.taken: set[str] = set()
        self.made: list[Op] = []
        self.moved = {op.result.name}
        self.row = ""

    def loop(self) -> Loop:
        for op in self.body.loop.body:
            if op is self.op:
                self._split()
            elif self.moved & set(operands(op)):
                self._user(op)
            else:
                self.made.append(op)
        return replace(self.body.loop, body=tuple(self.made))

    def _new(
        self, kind: type, hint: str, dims: tuple[Dim, ...], dtype: DType, **more: object
    ) -> str:
        name = fresh(self.body.kernel, self.taken, hint)
        value = Value(name=name, dims=dims, dtype=dtype, line=self.op.result.line)
        self.made.append(kind(result=value, **more))
        return name

    def _split(self) -> None:
        """The tile plus a number of its column, and the number of the row."""
        sides = _sides(self.body, self.op)
        assert sides is not None
        tile, line = sides
        loop, name = self.body.loop.var, self.op.result.name
        slope, self.row = self._parts(line)
        here = self._new(Position, f"{loop}_first", (), DType.I32, var=loop)
        index = self._new(Indices, f"{loop}_index", (Dim(loop),), DType.I32, var=loop)
        away = self._pointwise(f"{loop}_away", Fn.SUB, (index, here), DType.I32, (Dim(loop),))
        away = self._pointwise(f"{loop}_away", Fn.CAST, (away,), DType.F32, (Dim(loop),))
        column = self._pointwise(f"{name}_column", Fn.MUL, (away, slope), DType.F32, (Dim(loop),))
        if self.op.fn is Fn.SUB:
            self.row = self._pointwise(f"{name}_row", Fn.NEG, (self.row,), DType.F32)
        self.made.append(replace(self.op, args=(tile, column)))

    def _user(self, op: Op) -> None:
        if isinstance(op, Reduce):
            inner = replace(
                op.result, name=fresh(self.body.kernel, self.taken, f"{op.result.name}_low")
            )
            self.made += [
                replace(op, result=inner),
                Pointwise(result=op.result, fn=Fn.ADD, args=(inner.name, self.row)),
            ]
            return
        assert isinstance(op, Pointwise)
        if op.fn is Fn.SUB:
            less = self._pointwise(f"{op.args[1]}_less", Fn.SUB, (op.args[1], self.row), DType.F32)
            self.made.append(replace(op, args=(op.args[0], less)))
            return
        self.moved.add(op.result.name)
        self.made.append(op)

    def _pointwise(
        self,
        hint: str,
        fn: Fn,
        args: tuple[str, ...],
        dtype: DType,
        dims: tuple[Dim, ...] | None = None,
    ) -> str:
        if dims is None:
            known = {v.name: v for op in self.made for v in results(op)}
            every = [known.get(a) or self.body.values[a] for a in args]
            dims = max((v.dims for v in every), key=len)
        return self._new(Pointwise, hint, dims, dtype, fn=fn, args=args)

    def _parts(self, name: str) -> tuple[str, str]:
        """By how much a line rises with every column (f32), and what it is in the tile's first."""
        slope, start = self._rise(name)
        assert slope is not None
        return slope, start

    def _rise(self, name: str) -> tuple[str | None, str]:
        body, loop = self.body, self.body.loop.var
        op, value = body.ops[name], body.values[name]
        if loop not in value.vars:
            return None, name
        if isinstance(op, Indices):
            one = self._new(Const, "one", (), DType.I32, value=1)
            return one, self._new(Position, f"{loop}_first", (), DType.I32, var=loop)
        if isinstance(op, Spread):
            return self._rise(op.arg)
        assert isinstance(op, Pointwise)
        rises = [self._rise(a) for a in op.args]
        kind, start = (
            value.dtype,
            self._pointwise("start", op.fn, tuple(s for _, s in rises), value.dtype),
        )
        if op.fn in (Fn.ADD, Fn.SUB) and None in (rises[0][0], rises[1][0]):
            slope = rises[0][0] or rises[1][0]
            assert slope is not None
            if op.fn is Fn.SUB and rises[0][0] is None:
                slope = self._pointwise("slope", Fn.NEG, (slope,), kind)
            return slope, start
        parts = tuple(s or a for s, a in rises)
        return self._pointwise("slope", op.fn, parts, kind), start
