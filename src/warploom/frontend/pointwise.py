"""Pointwise functions in NumPy, and rounding to element types, as the hardware converts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from warploom.ir.elementwise import ELEMENTWISE
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
_UNSIGNED = {DType.U32: (32, np.uint32), DType.U8: (8, np.uint8)}


def rounded(array: Array, dtype: DType) -> Array:
    """The nearest values of a type, held in float64 (int64, bool)."""
    if dtype is DType.BOOL:
        return array.astype(bool)
    if dtype in _INTEGERS:
        return _whole(array, _INTEGERS[dtype])
    if dtype in _UNSIGNED:
        return _natural(array, _UNSIGNED[dtype][0])
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


def _natural(array: Array, bits: int) -> Array:
    """The same without sign."""
    if array.dtype.kind in "iub":
        whole = array.astype(np.int64)
        return whole % 2**bits if bits == 32 else np.clip(whole, 0, 2**bits - 1)
    finite = np.nan_to_num(np.asarray(array, np.float64), nan=0.0, posinf=2.0**bits, neginf=0.0)
    return np.trunc(np.clip(finite, 0, 2**bits - 1)).astype(np.int64)


def as_stored(array: Array, dtype: DType) -> Array:
    """Whole numbers as the signed ones that a kernel's tensor of that type holds: the same bits.

    Arrays without sign that stand for i8 or i32 count by their bits, too.
    """
    kind = dtype.stored
    if kind not in (DType.I8, DType.I32) or dtype is DType.BOOL or array.dtype.kind not in "iu":
        return array if not dtype.is_unsigned else as_stored(_natural(array, dtype.bits), dtype)
    if not dtype.is_unsigned and array.dtype.kind == "i":
        return array
    half = 2 ** (kind.bits - 1)
    result: Array = (array.astype(np.int64) + half) % (2 * half) - half
    return result


def as_declared(array: Array, dtype: DType) -> Array:
    """What a tensor of a kernel holds as numbers of the type that its author declared."""
    if dtype not in _UNSIGNED:
        return array
    bits, kind = _UNSIGNED[dtype]
    result: Array = (array.astype(np.int64) % 2**bits).astype(kind)
    return result


FUNCTIONS: dict[Fn, Callable[..., Any]] = {
    fn: row.numpy(np) for fn, row in ELEMENTWISE.items() if row.numpy is not None
}
