"""Pointwise functions in NumPy, and rounding to element types, as the hardware converts."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from warploom.ir.tile import DType, Fn

Array = npt.NDArray[Any]

# (bits of the fraction, least normal exponent, largest finite number)
_FORMATS = {
    DType.BF16: (7, -126, 3.3895313892515355e38),
    DType.F16: (10, -14, 65504.0),
    DType.E4M3: (3, -6, 448.0),
    DType.E5M2: (2, -14, 57344.0),
}
_SATURATING = {DType.E4M3, DType.E5M2}
_INTEGERS = {DType.I32: 32, DType.I8: 8, DType.I4: 4}


def rounded(array: Array, dtype: DType) -> Array:
    """The nearest values of a type, held in float64 (int64, bool)."""
    if dtype is DType.BOOL:
        return array.astype(bool)
    if dtype in _INTEGERS:
        return _whole(array, _INTEGERS[dtype])
    values = np.asarray(array, np.float64)
    if dtype is DType.F32:
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(np.float64)
    bits, least, largest = _FORMATS[dtype]
    with np.errstate(invalid="ignore", over="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(values), values, 1.0))
        unit = np.ldexp(1.0, np.maximum(exponent - 1, least) - bits)
        near = np.rint(values / unit) * unit
    limit = largest if dtype in _SATURATING else np.inf
    over = np.abs(near) > largest
    near = np.where(over, np.copysign(limit, near), near)
    return np.where(
        np.isfinite(values) | (dtype in _SATURATING and ~np.isnan(values)), near, values
    )


def _whole(array: Array, bits: int) -> Array:
    """Whole numbers of 32 bits wrap; floats go towards zero, held to the range of the type."""
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if array.dtype.kind in "iub":
        whole = array.astype(np.int64)
        return (whole - least) % 2**bits + least if bits == 32 else np.clip(whole, least, most)
    finite = np.nan_to_num(np.asarray(array, np.float64), nan=0.0, posinf=most, neginf=least)
    return np.trunc(np.clip(finite, least, most)).astype(np.int64)


_erf = np.vectorize(math.erf, otypes=[np.float64])


def _divide_down(a: Any, b: Any) -> Any:  # noqa: ANN401 (NumPy arrays of any kind)
    return np.floor_divide(a, np.where(b == 0, 1, b))


def _remainder(a: Any, b: Any) -> Any:  # noqa: ANN401
    return np.mod(a, np.where(b == 0, 1, b))


def _bits(a: Any) -> Any:  # noqa: ANN401
    return np.asarray(a).astype(np.int64)


def _unsigned(a: Any) -> Any:  # noqa: ANN401
    """The 32 bits of a whole number as one that is not negative."""
    return (_bits(a) & 0xFFFFFFFF).astype(np.uint64)


def _amount(b: Any, most: int) -> Any:  # noqa: ANN401
    """How far bits are moved: those of a word are gone from 32 on, and for negative numbers."""
    b = _bits(b)
    return np.where((b < 0) | (b > most), most, b)


FUNCTIONS: dict[Fn, Callable[..., Any]] = {
    Fn.ADD: np.add,
    Fn.SUB: np.subtract,
    Fn.MUL: np.multiply,
    Fn.DIV: np.true_divide,
    Fn.NEG: np.negative,
    Fn.FLOORDIV: _divide_down,
    Fn.MOD: _remainder,
    Fn.SHR: lambda a, b: np.right_shift(_bits(a), _amount(b, 31)),
    Fn.SHL: lambda a, b: np.left_shift(_bits(a), _amount(b, 32)),
    Fn.BITS: lambda a, b: np.bitwise_and(_bits(a), _bits(b)),
    Fn.BITOR: lambda a, b: np.bitwise_or(_bits(a), _bits(b)),
    Fn.XOR: lambda a, b: np.bitwise_xor(_bits(a), _bits(b)),
    Fn.MULHI: lambda a, b: _unsigned(a) * _unsigned(b) >> np.uint64(32),
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
