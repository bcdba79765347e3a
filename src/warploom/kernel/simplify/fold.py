"""Constants folded; operations that change nothing removed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from warploom.kernel.pointwise import FUNCTIONS
from warploom.kernel.rewrite import rebuild, values_of
from warploom.kernel.values import (
    Const,
    DType,
    Fn,
    Kernel,
    Loop,
    Op,
    Pointwise,
    Spread,
    Store,
    Transpose,
    Value,
)

_NARROW = {DType.BF16, DType.F16, DType.E4M3, DType.E5M2}


def fold(kernel: Kernel) -> Kernel:
    """``2 * 3`` is 6; ``x * 1``, ``x + 0``, ``where(True, x, y)``, ``x.T.T`` are x."""
    made: dict[str, Op] = {}
    values = values_of(kernel)

    def visit(op: Op) -> Op | str:
        new = _folded(op, made, values) if isinstance(op, Pointwise | Transpose | Spread) else op
        if not isinstance(new, str | Loop | Store):
            made[new.result.name] = new
        return new

    return replace(kernel, ops=rebuild(kernel.ops, visit))


def _folded(
    op: Pointwise | Transpose | Spread, made: Mapping[str, Op], values: Mapping[str, Value]
) -> Op | str:
    if isinstance(op, Transpose):
        inner = made.get(op.arg)
        return inner.arg if isinstance(inner, Transpose) else op
    if isinstance(op, Spread):
        inner = made.get(op.arg)
        return replace(op, arg=inner.arg) if isinstance(inner, Spread) else op
    args = [made.get(a) for a in op.args]
    if op.fn is Fn.CAST:
        return _cast(op, args[0], values)
    if all(isinstance(a, Const) for a in args):
        number = _number(op, [a.value for a in args if isinstance(a, Const)])
        return Const(result=op.result, value=number) if number is not None else op
    keep = _kept([a.value if isinstance(a, Const) else None for a in args], op.fn)
    if keep is None:
        return op
    arg = op.args[keep]
    same = values[arg].dims == op.result.dims
    return arg if same else Spread(result=op.result, arg=arg)


def _cast(op: Pointwise, arg: Op | None, values: Mapping[str, Value]) -> Op | str:
    """There and back is nowhere: f32 holds every value of the narrow floats."""
    if isinstance(arg, Const) and op.result.dtype is DType.F32:
        return Const(result=op.result, value=float(arg.value))
    if isinstance(arg, Pointwise) and arg.fn is Fn.CAST and arg.result.dtype is DType.F32:
        before = values[arg.args[0]]
        if before.dtype is op.result.dtype and before.dtype in _NARROW:
            return before.name
    return op


def _number(op: Pointwise, values: list[float | int | bool]) -> float | int | bool | None:
    with np.errstate(all="ignore"):
        number = FUNCTIONS[op.fn](*(np.asarray(v) for v in values)).item()
    if op.result.dtype is DType.BOOL:
        return bool(number)
    if op.result.dtype is DType.I32:
        return int(number) if -(2**31) <= number < 2**31 else None
    return None if math.isnan(number) else float(number)


def _kept(values: list[float | int | bool | None], fn: Fn) -> int | None:  # noqa: PLR0911
    """Which operand the result is, where the numbers among them say so."""
    match fn, values:
        case ((Fn.MUL | Fn.DIV | Fn.FLOORDIV), [_, 1]):
            return 0
        case ((Fn.ADD | Fn.SUB), [_, 0]):
            return 0
        case (Fn.MUL, [1, _]) | (Fn.ADD, [0, _]):
            return 1
        case Fn.WHERE, [bool() as chosen, _, _]:
            return 1 if chosen else 2
        case ((Fn.AND | Fn.OR), [bool() as one, _]):
            return 1 if one is (fn is Fn.AND) else 0
        case ((Fn.AND | Fn.OR), [_, bool() as one]):
            return 0 if one is (fn is Fn.AND) else 1
        case _:
            return None
