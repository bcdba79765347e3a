"""Number formats of GPU memory: decode bits to float32 and round float32 to bits.

Arrays in, arrays out. bf16, fp16, fp8 (``e4m3``: no infinities, ``e5m2``), tf32. Rounding is to
nearest even unless said otherwise; fp8 can saturate to the largest finite number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.errors import CheckError

Array = NDArray[Any]

SIZES = {
    "f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1, "u8": 1, "i8": 1, "u16": 2, "i16": 2,
    "u32": 4, "i32": 4, "u64": 8, "i64": 8, "f64": 8,
}  # fmt: skip
"""Bytes of an element of each type a launch file may name."""

_PLAIN: dict[str, Any] = {
    "f32": np.float32, "f16": np.float16, "f64": np.float64, "u8": np.uint8, "i8": np.int8,
    "u16": np.uint16, "i16": np.int16, "u32": np.uint32, "i32": np.int32, "u64": np.uint64,
    "i64": np.int64,
}  # fmt: skip


def bf16_to_f32(bits: Array) -> Array:
    """Values of bf16 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def f32_to_bf16(values: Array) -> Array:
    """Bits of the nearest bf16 (ties to even); NaN stays NaN."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + (np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1)))) >> 16).astype(np.uint16)
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(nan, np.uint16(0x7FFF), rounded)


def f32_to_bf16_zero(values: Array) -> Array:
    """Bits of the bf16 nearest to zero."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(nan, np.uint16(0x7FFF), (bits >> 16).astype(np.uint16))


def f16_to_f32(bits: Array) -> Array:
    """Values of fp16 bits."""
    return np.ascontiguousarray(bits, np.uint16).view(np.float16).astype(np.float32)


def f32_to_f16(values: Array) -> Array:
    """Bits of the nearest fp16 (ties to even)."""
    return np.asarray(values).astype(np.float16).view(np.uint16)


def _fp8_table(exponent: int, mantissa: int, bias: int, *, finite: bool) -> Array:
    """Values of the 256 codes."""
    codes = np.arange(256)
    sign = np.where(codes & 0x80, -1.0, 1.0)
    e, m = (codes >> mantissa) & ((1 << exponent) - 1), codes & ((1 << mantissa) - 1)
    scale = float(1 << mantissa)
    value = np.where(e == 0, m / scale * 2.0 ** (1 - bias), (1 + m / scale) * 2.0 ** (e - bias))
    top = (1 << exponent) - 1
    if finite:
        value = np.where((e == top) & (m == (1 << mantissa) - 1), np.nan, value)
    else:
        value = np.where(e == top, np.where(m == 0, np.inf, np.nan), value)
    return (sign * value).astype(np.float32)


_E4M3 = _fp8_table(4, 3, 7, finite=True)
_E5M2 = _fp8_table(5, 2, 15, finite=False)


def e4m3_to_f32(bits: Array) -> Array:
    """Values of e4m3 codes."""
    return _E4M3[bits]


def e5m2_to_f32(bits: Array) -> Array:
    """Values of e5m2 codes."""
    return _E5M2[bits]


def _round_fp8(values: Array, table: Array, top: int, *, saturate: bool) -> Array:
    """Nearest codes (ties to the even code); ``top`` is the code of the largest finite value."""
    x = np.asarray(values, np.float64)
    sign = np.signbit(x).astype(np.uint8) << 7
    magnitude = np.abs(x)
    finite = table[: top + 1].astype(np.float64)
    high = np.clip(np.searchsorted(finite, magnitude), 1, top)
    low = high - 1
    below, above = magnitude - finite[low], finite[high] - magnitude
    pick = np.where(below < above, low, np.where(above < below, high, low + (low & 1)))
    code = np.where(magnitude >= finite[top], top, pick).astype(np.uint8)
    if not saturate:
        step = finite[top] - finite[top - 1]
        over = magnitude >= finite[top] + step / 2
        code = np.where(over, np.uint8(top + 1), code)  # infinity, or the only NaN of e4m3
    elif top == 0x7B:
        pass  # e5m2: infinities saturate as well
    code = np.where(np.isnan(x), np.uint8(0x7F), code)
    return (code | sign).astype(np.uint8)


def f32_to_e4m3(values: Array, *, saturate: bool = True) -> Array:
    """Codes of the nearest e4m3; beyond 448 the largest, or NaN where not saturating."""
    return _round_fp8(values, _E4M3, 0x7E, saturate=saturate)


def f32_to_e5m2(values: Array, *, saturate: bool = True) -> Array:
    """Codes of the nearest e5m2; beyond 57344 the largest, or infinity where not saturating."""
    return _round_fp8(values, _E5M2, 0x7B, saturate=saturate)


def f32_to_tf32(values: Array) -> Array:
    """float32 values with 10 bits of mantissa, rounded to nearest away from zero."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    kept = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    nan = (bits & np.uint32(0x7FFFFFFF)) >= np.uint32(0x7F800000)
    return np.where(nan, bits, kept).view(np.float32)


def decode(raw: Array, dtype: str) -> Array:
    """Bytes as values: integers as they are, floats as float32 (``f64`` as float64)."""
    raw = np.ascontiguousarray(raw, np.uint8)
    if dtype == "bf16":
        return bf16_to_f32(raw.view(np.uint16))
    if dtype == "e4m3":
        return e4m3_to_f32(raw)
    if dtype == "e5m2":
        return e5m2_to_f32(raw)
    if dtype == "f16":
        return f16_to_f32(raw.view(np.uint16))
    return raw.view(_plain(dtype))


def encode(values: Array, dtype: str) -> Array:
    """Values as the bytes of a tensor of that type."""
    flat = np.ascontiguousarray(values).reshape(-1)
    if dtype == "bf16":
        bits = f32_to_bf16(flat.astype(np.float32))
    elif dtype == "f16":
        bits = f32_to_f16(flat.astype(np.float32))
    elif dtype == "e4m3":
        bits = f32_to_e4m3(flat.astype(np.float32))
    elif dtype == "e5m2":
        bits = f32_to_e5m2(flat.astype(np.float32))
    else:
        bits = flat.astype(_plain(dtype))
    return np.ascontiguousarray(bits).view(np.uint8).copy()


def _plain(dtype: str) -> Any:  # noqa: ANN401 (a NumPy scalar type)
    try:
        return _PLAIN[dtype]
    except KeyError:
        raise CheckError(
            f"no element type {dtype!r}", where="dtype", fix=f"one of {', '.join(SIZES)}"
        ) from None
