"""Pointwise functions in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from warploom.kernel.values import Fn

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _divide_down(a: Any, b: Any) -> Any:  # noqa: ANN401 (NumPy arrays of any kind)
    return np.floor_divide(a, np.where(b == 0, 1, b))


def _remainder(a: Any, b: Any) -> Any:  # noqa: ANN401
    return np.mod(a, np.where(b == 0, 1, b))


FUNCTIONS: dict[Fn, Callable[..., Any]] = {
    Fn.ADD: np.add,
    Fn.SUB: np.subtract,
    Fn.MUL: np.multiply,
    Fn.DIV: np.true_divide,
    Fn.NEG: np.negative,
    Fn.FLOORDIV: _divide_down,
    Fn.MOD: _remainder,
    Fn.SHR: lambda a, b: np.right_shift(a.astype(np.int64), b.astype(np.int64)),
    Fn.BITS: lambda a, b: np.bitwise_and(a.astype(np.int64), b.astype(np.int64)),
    Fn.ABS: np.abs,
    Fn.MIN: np.fmin,
    Fn.MAX: np.fmax,
    Fn.EXP: np.exp,
    Fn.EXP2: np.exp2,
    Fn.LOG: np.log,
    Fn.LOG2: np.log2,
    Fn.SQRT: np.sqrt,
    Fn.RSQRT: lambda x: 1.0 / np.sqrt(x),
    Fn.TANH: np.tanh,
    Fn.ERF: lambda x: _erf(x) if np.size(x) else np.asarray(x, np.float64),
    Fn.SIN: np.sin,
    Fn.COS: np.cos,
    Fn.FLOOR: np.floor,
    Fn.WHERE: np.where,
    Fn.EQ: np.equal,
    Fn.NE: np.not_equal,
    Fn.LT: np.less,
    Fn.LE: np.less_equal,
    Fn.GT: np.greater,
    Fn.GE: np.greater_equal,
    Fn.AND: np.logical_and,
    Fn.OR: np.logical_or,
    Fn.NOT: np.logical_not,
}
