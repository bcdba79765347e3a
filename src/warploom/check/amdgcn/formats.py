"""Small floating-point formats: codes to values and back.

gfx950 computes with the OCP formats, gfx942 with the FNUZ ones (no negative zero, no infinity,
an exponent bias one higher).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Codes = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Format:
    """A format of ``1 + exponent + mantissa`` bits."""

    name: str
    exponent: int
    mantissa: int
    bias: int
    special: str  # which codes are no finite numbers: ieee, last, negative zero, none

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return 1 + self.exponent + self.mantissa

    def table(self) -> Floats:
        """The value of every code."""
        code = np.arange(1 << self.bits)
        sign = np.where(code >> (self.bits - 1), -1.0, 1.0)
        size = code & ((1 << (self.bits - 1)) - 1)
        power = size >> self.mantissa
        part = (size & ((1 << self.mantissa) - 1)) / (1 << self.mantissa)
        value = sign * np.where(
            power == 0,
            part * 2.0 ** (1 - self.bias),
            np.exp2(power.astype(np.float64) - self.bias) * (1 + part),
        )
        top = (1 << self.exponent) - 1
        if self.special == "ieee":
            value[power == top] = np.nan
            value[(power == top) & (part == 0)] = np.inf
            value[(power == top) & (part == 0) & (sign < 0)] = -np.inf
        elif self.special == "last":
            value[size == (1 << (self.bits - 1)) - 1] = np.nan
        elif self.special == "negative zero":
            value[code == 1 << (self.bits - 1)] = np.nan
        return value.astype(np.float32)


FORMATS: Mapping[str, Format] = {
    "e4m3": Format("e4m3", 4, 3, 7, "last"),
    "e5m2": Format("e5m2", 5, 2, 15, "ieee"),
    "e4m3fnuz": Format("e4m3fnuz", 4, 3, 8, "negative zero"),
    "e5m2fnuz": Format("e5m2fnuz", 5, 2, 16, "negative zero"),
    "e2m3": Format("e2m3", 2, 3, 1, "none"),
    "e3m2": Format("e3m2", 3, 2, 3, "none"),
    "e2m1": Format("e2m1", 2, 1, 1, "none"),
}
TABLES: Mapping[str, Floats] = {name: form.table() for name, form in FORMATS.items()}


def _levels(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Finite magnitudes in rising order, and their codes."""
    table = TABLES[name][: 1 << (FORMATS[name].bits - 1)].astype(np.float64)
    codes = np.flatnonzero(np.isfinite(table))
    return table[codes], codes


_LEVELS = {name: _levels(name) for name in FORMATS}


def encode_small(values: Floats, name: str, *, saturate: bool = False) -> Codes:
    """The nearest code, ties to even; beyond the largest NaN or infinity, or the largest."""
    form = FORMATS[name]
    levels, codes = _LEVELS[name]
    size = np.abs(values).astype(np.float64)
    above = np.clip(np.searchsorted(levels, size), 1, len(levels) - 1)
    low, high = size - levels[above - 1], levels[above] - size
    down = (low < high) | ((low == high) & (codes[above - 1] % 2 == 0))
    code = codes[np.where(down, above - 1, above)]
    half_step = (levels[-1] - levels[-2]) / 2
    over = (
        (size >= levels[-1] + half_step) if form.mantissa < 3 else (size > levels[-1] + half_step)
    )
    sign_bit = 1 << (form.bits - 1)
    sign = np.where(np.signbit(values), sign_bit, 0)
    if saturate or form.special == "none":
        code = np.where(over, codes[-1], code)
    elif form.special == "ieee":
        code = np.where(over, ((1 << form.exponent) - 1) << form.mantissa, code)
    elif form.special == "last":
        code = np.where(over, sign_bit - 1, code)
    else:
        code = np.where(over, sign_bit, code)
        sign = np.where(over, 0, sign)
    result = code | sign
    if form.special == "negative zero":
        result = np.where(code == 0, 0, result)
        result = np.where(np.isnan(values), sign_bit, result)
    elif form.special != "none":
        result = np.where(np.isnan(values), sign_bit - 1, result)
    return result.astype(np.uint32)


def to_bf16(values: Floats) -> Codes:
    """bf16 bits, ties to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint32)


def from_bf16(bits: Codes) -> Floats:
    """Values of bf16 bits in the lower halves."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_half(values: Floats) -> Codes:
    """fp16 bits, ties to even."""
    return values.astype(np.float16).view(np.uint16).astype(np.uint32)


def from_half(bits: Codes) -> Floats:
    """Values of fp16 bits in the lower halves."""
    return (bits & np.uint32(0xFFFF)).astype(np.uint16).view(np.float16).astype(np.float32)


def fp8_name(short: str, target: str) -> str:
    """The format that ``fp8`` or ``bf8`` means on a target."""
    name = "e4m3" if short == "fp8" else "e5m2"
    return name if target == "gfx950" else f"{name}fnuz"
