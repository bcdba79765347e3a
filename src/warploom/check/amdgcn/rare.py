"""Vector instructions that compilers write seldom: bytes, classes, mantissas, minima of 16 bits."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from warploom.check.amdgcn.lanes import Array, Compute, Op
from warploom.check.amdgcn.state import LANES

_BYTE = np.uint32(0xFF)


def _bytes(a: Array) -> list[Array]:
    return [(a >> np.uint32(8 * i) & _BYTE).astype(np.int64) for i in range(4)]


def _lerp(a: Array, b: Array, c: Array) -> Array:
    total = np.uint32(0)
    for i, (x, y, z) in enumerate(zip(_bytes(a), _bytes(b), _bytes(c), strict=True)):
        total = total | ((x + y + (z & 1)) >> 1).astype(np.uint32) << np.uint32(8 * i)
    return np.asarray(total)


def _sad(a: Array, b: Array, c: Array) -> Array:
    total: Array = np.asarray(c, np.int64)
    for x, y in zip(_bytes(a), _bytes(b), strict=True):
        total = total + abs(x - y)
    return (total & 0xFFFFFFFF).astype(np.uint32)


def _masked_sad(a: Array, b: Array, c: Array) -> Array:
    total = sum(np.where(y != 0, abs(x - y), 0) for x, y in zip(_bytes(a), _bytes(b), strict=True))
    return np.asarray((total + c) & 0xFFFFFFFF).astype(np.uint32)


def _high_sad(a: Array, b: Array, c: Array) -> Array:
    zero = np.zeros_like(c)
    return np.asarray((_sad(a, b, zero) << np.uint32(16)) + c)


def _sad16(a: Array, b: Array, c: Array) -> Array:
    low, by = np.uint32(0xFFFF), np.uint32(16)
    halves = [(a & low, b & low), (a >> by, b >> by)]
    total = sum(abs(x.astype(np.int64) - y.astype(np.int64)) for x, y in halves)
    return np.asarray((total + c) & 0xFFFFFFFF).astype(np.uint32)


def _mantissa(a: Array) -> Array:
    part, _ = np.frexp(a)
    return np.where(np.isfinite(a), part, a).astype(a.dtype)


def _exponent(dtype: type) -> Compute:
    def compute(a: Array) -> Array:
        _, power = np.frexp(a)
        return np.where(np.isfinite(a), power, 0).astype(dtype)

    return compute


def _fract(a: Array) -> Array:
    part = a - np.floor(a)
    least: Array = np.minimum(part, np.nextafter(a.dtype.type(1), a.dtype.type(0)))
    return least.astype(a.dtype)


def _median(a: Array, b: Array, c: Array) -> Array:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def _shift_and_clamp(low: int, high: int) -> Compute:
    """``v_ashr_pk``: two numbers shifted, cut to bytes and packed into the lower half."""

    def compute(a: Array, b: Array, by: Array) -> Array:
        count = (by & np.uint32(31)).astype(np.int64)
        parts = [np.clip(x.astype(np.int64) >> count, low, high) & 255 for x in (a, b)]
        both: Array = parts[0] | parts[1] << 8
        return both.astype(np.uint16)

    return compute


def classes(a: Array, wanted: Array) -> Array:
    """Ten classes of floats of any width as bits (``v_cmp_class``)."""
    a, wanted = np.broadcast_arrays(a, wanted)
    with np.errstate(all="ignore"):
        negative, size = np.signbit(a), np.abs(a)
        least = np.finfo(a.dtype).tiny
        bits = np.ascontiguousarray(a).view(np.dtype(f"u{a.dtype.itemsize}"))
        quiet = (bits >> np.finfo(a.dtype).nmant - 1 & 1).astype(np.bool_)
        nan, infinite = np.isnan(a), np.isinf(a)
        normal = (size >= least) & ~infinite & ~nan
        tiny = (size > 0) & (size < least)
    zero = size == 0
    kinds = [
        nan & ~quiet, nan & quiet, negative & infinite, negative & normal, negative & tiny,
        negative & zero, ~negative & zero, ~negative & tiny, ~negative & normal,
        ~negative & infinite,
    ]  # fmt: skip
    result = np.zeros(a.shape, np.bool_)
    for bit, kind in enumerate(kinds):
        result |= kind & (wanted >> np.uint32(bit) & np.uint32(1)).astype(np.bool_)
    return result


def _short(compute: Compute, kind: str) -> Op:
    return Op(kind, [kind] * 3, compute, keeps=True)


def _least(a: Array, b: Array, c: Array) -> Array:
    return np.minimum(np.minimum(a, b), c)


def _most(a: Array, b: Array, c: Array) -> Array:
    return np.maximum(np.maximum(a, b), c)


def _sin(a: Array) -> Array:
    return np.sin(a.astype(np.float64) * 2 * np.pi).astype(a.dtype)


def _cos(a: Array) -> Array:
    return np.cos(a.astype(np.float64) * 2 * np.pi).astype(a.dtype)


def _high24(a: Array, b: Array) -> Array:
    x, y = ((v.astype(np.int64) << 40) >> 40 for v in (a, b))
    return (x * y >> 32).astype(np.int32)


def _to_byte(value: Array, place: Array, old: Array) -> Array:
    """An fp32 value as one byte of the third source."""
    byte = np.clip(np.rint(np.nan_to_num(value)), 0, 255).astype(np.uint32)
    shift = (place & np.uint32(3)) * np.uint32(8)
    changed: Array = old & ~(np.uint32(255) << shift) | byte << shift
    return changed


def _clamped_bytes(words: Array) -> Array:
    """Two signed halves as two unsigned bytes."""
    halves = (words & np.uint32(0xFFFF), words >> np.uint32(16))
    low, high = (np.clip(h.astype(np.uint16).view(np.int16), 0, 255) for h in halves)
    both: Array = low.astype(np.uint16) | high.astype(np.uint16) << np.uint16(8)
    return both


def _multiply_add(a: Array, b: Array, c: Array) -> Array:
    return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(a.dtype)


def _norm(low: float, scale: float) -> Compute:
    """Two fp16 values as integers of 16 bits."""

    def pack(a: Array, b: Array) -> Array:
        parts = [
            np.rint(np.clip(np.nan_to_num(v.astype(np.float64)), low, 1) * scale).astype(np.int64)
            for v in (a, b)
        ]
        both: Array = (parts[0] & 0xFFFF | (parts[1] & 0xFFFF) << 16).astype(np.uint32)
        return both

    return pack


@lru_cache(maxsize=1)
def _two_over_pi() -> int:
    """The first 1201 bits behind the point of 2 / pi."""
    one = 1 << 1300

    def arctan(divisor: int) -> int:
        total = term = one // divisor
        k = 1
        while term:
            term //= -divisor * divisor
            k += 2
            total += term // k
        return total

    pi = 4 * (4 * arctan(5) - arctan(239))
    return (2 * one * (1 << 1201) // pi) & ((1 << 1201) - 1)


def _trig_part(a: Array, b: Array) -> Array:
    """53 bits of 2 / pi for the reduction of a large angle, as the ISA document writes it."""
    power = np.broadcast_to(a.view(np.uint64) >> np.uint64(52) & np.uint64(0x7FF), (LANES,))
    result = np.zeros(LANES)
    for lane, (exponent, part) in enumerate(
        zip(power.tolist(), np.broadcast_to(b, (LANES,)).tolist(), strict=True)
    ):
        shift = (part & 31) * 53 + max(0, exponent - 1077)
        bits = (_two_over_pi() << shift & ((1 << 1201) - 1)) >> (1201 - 53)
        result[lane] = np.ldexp(float(bits), -53 - shift + (128 if exponent >= 1968 else 0))
    return result


RARE: Mapping[str, Op] = {
    "v_trig_preop_f64": Op("f64", ["f64", "b32"], _trig_part),
    "v_cvt_pk_u8_f32": Op("b32", ["f32", "b32", "b32"], _to_byte),
    "v_sat_pk_u8_i16": Op("u16", ["b32"], _clamped_bytes),
    "v_exp_legacy_f32": Op("f32", ["f32"], np.exp2),
    "v_log_legacy_f32": Op("f32", ["f32"], np.log2),
    "v_cvt_pknorm_i16_f16": Op("b32", ["f16"] * 2, _norm(-1, 32767)),
    "v_cvt_pknorm_u16_f16": Op("b32", ["f16"] * 2, _norm(0, 65535)),
    "v_fma_legacy_f16": Op("f16", ["f16"] * 3, _multiply_add),
    "v_mad_legacy_f16": Op("f16", ["f16"] * 3, _multiply_add),
    "v_madak_f16": Op("f16", ["f16"] * 3, _multiply_add),
    "v_madmk_f16": Op("f16", ["f16"] * 3, _multiply_add),
    "v_mad_legacy_i16": Op("i16", ["i16"] * 3, lambda a, b, c: a * b + c),
    "v_mad_legacy_u16": Op("u16", ["u16"] * 3, lambda a, b, c: a * b + c),
    "v_lerp_u8": Op("b32", ["b32"] * 3, _lerp),
    "v_sad_u8": Op("b32", ["b32"] * 3, _sad),
    "v_sad_hi_u8": Op("b32", ["b32"] * 3, _high_sad),
    "v_sad_u16": Op("b32", ["b32"] * 3, _sad16),
    "v_msad_u8": Op("b32", ["b32"] * 3, _masked_sad),
    "v_mul_hi_i32_i24": Op("i32", ["i32"] * 2, _high24),
    "v_ceil_f64": Op("f64", ["f64"], np.ceil),
    "v_fract_f64": Op("f64", ["f64"], _fract),
    "v_fract_f16": Op("f16", ["f16"], _fract),
    "v_frexp_mant_f64": Op("f64", ["f64"], _mantissa),
    "v_frexp_mant_f16": Op("f16", ["f16"], _mantissa),
    "v_frexp_exp_i32_f64": Op("i32", ["f64"], _exponent(np.int32)),
    "v_frexp_exp_i16_f16": Op("i16", ["f16"], _exponent(np.int16)),
    "v_sin_f16": Op("f16", ["f16"], _sin),
    "v_cos_f16": Op("f16", ["f16"], _cos),
    "v_add_i16": Op("i16", ["i16"] * 2, lambda a, b: a + b, keeps=True),
    "v_sub_i16": Op("i16", ["i16"] * 2, lambda a, b: a - b, keeps=True),
    "v_mad_i16": _short(lambda a, b, c: a * b + c, "i16"),
    "v_cvt_off_f32_i4": Op(
        "f32", ["b32"],
        lambda a: (((a & np.uint32(15)).astype(np.int32) ^ 8) - 8).astype(np.float32) / 16,
    ),
    "v_cvt_norm_i16_f16": Op(
        "i16", ["f16"],
        lambda a: np.rint(np.clip(a.astype(np.float64), -1, 1) * 32767).astype(np.int16),
    ),
    "v_cvt_norm_u16_f16": Op(
        "u16", ["f16"],
        lambda a: np.rint(np.clip(a.astype(np.float64), 0, 1) * 65535).astype(np.uint16),
    ),
    "v_ashr_pk_i8_i32": Op("u16", ["i32", "i32", "b32"], _shift_and_clamp(-128, 127)),
    "v_ashr_pk_u8_i32": Op("u16", ["i32", "i32", "b32"], _shift_and_clamp(0, 255)),
    **{f"v_min3_{k}": _short(_least, k) for k in ("u16", "i16")},
    **{f"v_max3_{k}": _short(_most, k) for k in ("u16", "i16")},
    **{f"v_med3_{k}": _short(_median, k) for k in ("u16", "i16")},
}  # fmt: skip
