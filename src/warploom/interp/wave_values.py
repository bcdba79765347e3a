"""Registers of waves on NumPy arrays: words, vectors, and elements as they lie in memory.

A register is an array with one number for every lane, or one number where all lanes have the same;
a vector has its elements along the first axis. Words of memory are bits.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from warploom.interp.arithmetic import Array, round_to
from warploom.ir.types import DType
from warploom.ir.waves import Kind, Word

STORED: dict[Word, Any] = {
    Word.I1: np.bool_, Word.I8: np.uint8, Word.I16: np.uint16, Word.BF16: np.uint16,
    Word.F16: np.uint16, Word.I32: np.int32, Word.I64: np.int64, Word.F32: np.float32,
}  # fmt: skip
UNSIGNED: dict[int, Any] = {32: np.uint32, 64: np.uint64}
FLOATS = (DType.F32, DType.BF16, DType.F16, DType.E4M3, DType.E5M2)
_QUIET = {DType.BF16: 0x7FC0, DType.F16: 0x7E00, DType.E4M3: 0x7F, DType.E5M2: 0x7F}


def constant(value: float | int | bool, word: Word) -> Any:  # noqa: ANN401 (a number of NumPy's)
    """A number as a register holds it."""
    if word is Word.I32:
        return np.int32((int(value) + 2**31) % 2**32 - 2**31)
    return STORED[word](value)


def blank(kind: Kind) -> Array:
    """Any bits: those that show themselves where they count."""
    word = STORED[kind.word]
    fill: Any = np.nan if kind.word is Word.F32 else np.iinfo(np.int32).min
    if kind.word in (Word.I1, Word.I8, Word.I16, Word.BF16, Word.F16):
        fill = np.array(-1).astype(word)
    return np.full((kind.count,) if kind.count > 1 else (), fill, word)


def recast(value: Array, source: Kind, kind: Kind) -> Array:
    """The same bits in other words."""
    held = np.asarray(value, STORED[source.word])
    held = held if source.count > 1 else held[None]
    bits = np.ascontiguousarray(np.moveaxis(held, 0, -1)).view(STORED[kind.word])
    made: Array = np.moveaxis(bits, -1, 0)
    return made if kind.count > 1 else np.asarray(made[0])


@cache
def _bytes_as_floats(dtype: DType) -> Array:
    """What every byte is, of an 8-bit float."""
    fraction, bias = (3, 7) if dtype is DType.E4M3 else (2, 15)
    codes = np.arange(256)
    sign = np.where(codes & 0x80, -1.0, 1.0)
    part = codes & ((1 << fraction) - 1)
    exponent = (codes & 0x7F) >> fraction
    scale = 2.0 ** (np.maximum(exponent, 1) - bias - fraction)
    values = sign * scale * (part + np.where(exponent > 0, 1 << fraction, 0))
    if dtype is DType.E4M3:
        values[(codes & 0x7F) == 0x7F] = np.nan
    else:
        top = exponent == 31
        values[top] = np.where(part[top] == 0, sign[top] * np.inf, np.nan)
    return np.asarray(values, np.float32)


@cache
def _floats_in_order(dtype: DType) -> tuple[Array, Array]:
    """The numbers of an 8-bit float that are not negative, and their bytes."""
    values = _bytes_as_floats(dtype)[:128]
    codes = np.nonzero(np.isfinite(values))[0]
    return values[codes], codes.astype(np.uint8)


def decoded(bits: Array, dtype: DType) -> Array:  # noqa: PLR0911 (one line a type)
    """Elements of memory as numbers: f32, i32 or truths."""
    bits = np.asarray(bits)
    match dtype:
        case DType.F32:
            return bits.view(np.float32) if bits.dtype != np.float32 else bits
        case DType.I32:
            return bits.view(np.int32) if bits.dtype != np.int32 else bits
        case DType.BF16:
            return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
        case DType.F16:
            return bits.astype(np.uint16).view(np.float16).astype(np.float32)
        case DType.BOOL:
            return np.asarray(bits != 0)
        case DType.I8:
            return bits.astype(np.uint8).view(np.int8).astype(np.int32)
        case DType.E4M3 | DType.E5M2:
            return _bytes_as_floats(dtype)[bits.astype(np.uint8)]
        case _:
            raise KeyError(dtype)


def encoded(value: Array, dtype: DType) -> Array:
    """Numbers as elements of memory: rounded to nearest."""
    value = np.asarray(value)
    match dtype:
        case DType.F32:
            return value.astype(np.float32)
        case DType.I32:
            return value.astype(np.int32)
        case DType.BOOL:
            return np.asarray(value != 0).astype(np.uint8)
        case DType.I8:
            return value.astype(np.int64).astype(np.uint8)
    near = np.ascontiguousarray(round_to(value.astype(np.float32), dtype))
    none = np.isnan(near)
    match dtype:
        case DType.BF16:
            made: Array = (near.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        case DType.F16:
            with np.errstate(over="ignore"):
                made = near.astype(np.float16).view(np.uint16)
        case DType.E4M3 | DType.E5M2:
            values, codes = _floats_in_order(dtype)
            at = np.searchsorted(values, np.abs(np.where(none, 0, near)))
            at = np.minimum(at, len(codes) - 1)
            made = codes[at] | np.where(np.signbit(near), 0x80, 0).astype(np.uint8)
        case _:
            raise KeyError(dtype)
    return np.where(none, made.dtype.type(_QUIET[dtype]), made)


def stored_word(dtype: DType) -> Any:  # noqa: ANN401 (a type of NumPy's)
    """What holds an element of a tensor."""
    if dtype in (DType.F32, DType.I32):
        return np.float32 if dtype is DType.F32 else np.int32
    return np.uint16 if dtype.bits == 16 else np.uint8
