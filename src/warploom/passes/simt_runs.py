"""Computed indices whose neighbours lie together: which elements one wide access can bring.

``x[s, (i + d / 2) % d]``, ``x[s, i ^ 1]`` and ``cos[i // 2]`` of neighbouring ``i`` are neighbours
in memory, in another order or several times. A *run* says so for aligned blocks of a thread's
elements: element j of a block is ``base + offsets[j]``, where the base depends on the block alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.ir.tile import Broadcast, Const, DType, Fn, Indices, Op, Pointwise, Transpose, Value

ORDERS = (Fn.LT, Fn.GE)


@dataclass(frozen=True, slots=True)
class Run:
    """``window``: a power of two above all offsets; ``aligned``: bases are multiples of it."""

    offsets: tuple[int, ...]
    window: int
    aligned: bool


def run_of(
    name: str, var: str, vector: int, made: Mapping[str, Op], values: Mapping[str, Value]
) -> Run | None:
    """The run of an index along a variable, in blocks of ``vector``; None: it has none.

    Blocks of the variable itself must begin at multiples of the vector.
    """
    return _Reader(var, vector, made, values).run(name)


@dataclass(frozen=True, slots=True)
class _Reader:
    var: str
    vector: int
    made: Mapping[str, Op]
    values: Mapping[str, Value]

    def varies(self, name: str) -> bool:
        return self.var in self.values[name].vars

    def constant(self, name: str) -> int | None:
        op = self.made.get(name)
        if isinstance(op, Broadcast | Transpose):
            return self.constant(op.arg)
        return int(op.value) if isinstance(op, Const) and op.result.dtype is DType.I32 else None

    def run(self, name: str) -> Run | None:
        op = self.made.get(name)
        result: Run | None = None
        if not self.varies(name):
            return None
        match op:
            case Indices():
                result = Run(tuple(range(self.vector)), self.vector, aligned=True)
            case Broadcast() | Transpose():
                result = self.run(op.arg)
            case Pointwise(fn=Fn.WHERE):
                result = self.chosen(op)
            case Pointwise(fn=Fn.CAST) if op.result.dtype is DType.I32:
                result = self.run(op.args[0])
            case Pointwise() if len(op.args) == 2:
                result = self.joined(op)
        return result

    def chosen(self, op: Pointwise) -> Run | None:
        """Of two alike, by a condition that a whole block shares."""
        one, two = (self.run(a) for a in op.args[1:])
        if one is None or two is None or (one.offsets, one.window) != (two.offsets, two.window):
            return None
        if self.varies(op.args[0]) and not self.is_shared(self.made.get(op.args[0])):
            return None
        return replace(one, aligned=one.aligned and two.aligned)

    def is_shared(self, test: Op | None) -> bool:
        """Whether a condition holds for all elements of a block, or for none."""
        if not isinstance(test, Pointwise) or test.fn not in ORDERS:
            return False
        asked, at = self.run(test.args[0]), self.constant(test.args[1])
        return asked is not None and at is not None and asked.aligned and at % asked.window == 0

    def joined(self, op: Pointwise) -> Run | None:
        a, b = op.args
        if op.fn is Fn.ADD and not self.varies(a):
            a, b = b, a
        run, by = self.run(a), self.constant(b)
        if run is None or self.varies(b):
            return None
        if op.fn in (Fn.ADD, Fn.SUB):
            kept = run.aligned and by is not None and by % run.window == 0
            return replace(run, aligned=kept)
        if by is None or by < 0 or not run.aligned:
            return None
        return self.by_known(run, op.fn, by)

    def by_known(self, run: Run, fn: Fn, by: int) -> Run | None:
        """Quotients, rests and bits of an aligned run by a known number."""
        window = run.window
        match fn:
            case Fn.MOD if by and by % window == 0:
                return run
            case Fn.XOR:
                return replace(run, offsets=tuple(o ^ (by & (window - 1)) for o in run.offsets))
            case Fn.SHR if by < 31:
                return self.by_known(run, Fn.FLOORDIV, 1 << by)
            case Fn.FLOORDIV if by and window % by == 0:
                return Run(tuple(o // by for o in run.offsets), window // by, aligned=True)
        return None
