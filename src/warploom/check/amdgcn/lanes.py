"""What vector instructions compute, lane by lane: kinds of operands and a function for each."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.formats import from_bf16, to_bf16, to_half
from warploom.check.amdgcn.state import LANES, Words

Array = NDArray[Any]
Compute = Callable[..., Array]

_U31 = np.uint32(31)
_U63 = np.uint64(63)
SIXTEEN = np.uint32(16)
LOW = np.uint32(0xFFFF)
_24 = np.uint32(0xFFFFFF)
_32 = np.uint64(32)
_LANE = np.arange(LANES)


class Op:
    """What one instruction computes: kinds of result and sources, and the function."""

    __slots__ = ("compute", "into", "keeps", "sources", "to")

    def __init__(
        self, to: str, sources: Sequence[str], compute: Compute, *, into: bool = False,
        keeps: bool = False,
    ) -> None:  # fmt: skip
        self.to, self.sources, self.compute = to, tuple(sources), compute
        self.into, self.keeps = into, keeps


def _f(compute: Compute, count: int = 2, **more: bool) -> Op:
    return Op("f32", ["f32"] * count, compute, **more)


def _h(compute: Compute, count: int = 2, **more: bool) -> Op:
    return Op("f16", ["f16"] * count, compute, **more)


def _d(compute: Compute, count: int = 2) -> Op:
    return Op("f64", ["f64"] * count, compute)


def _b(compute: Compute, count: int = 2, **more: bool) -> Op:
    return Op("b32", ["b32"] * count, compute, **more)


def _i(compute: Compute, count: int = 2) -> Op:
    return Op("i32", ["i32"] * count, compute)


def _u16(compute: Compute, count: int = 2, kind: str = "u16") -> Op:
    return Op(kind, [kind] * count, compute)


def fma32(a: Array, b: Array, c: Array) -> Array:
    """Fused multiply-add of fp32, through double."""
    return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float32)


def fma16(a: Array, b: Array, c: Array) -> Array:
    """Fused multiply-add of fp16."""
    wide = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    return wide.astype(np.float16)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """Fused multiply-add of fp64."""
    return (a.astype(np.longdouble) * b + c).astype(np.float64)


def _wide(compute: Compute) -> Compute:
    return lambda *xs: compute(*(x.astype(np.float64) for x in xs)).astype(np.float32)


def _wide16(compute: Compute) -> Compute:
    return lambda *xs: compute(*(x.astype(np.float64) for x in xs)).astype(np.float16)


def _med3(a: Array, b: Array, c: Array) -> Array:
    result: Array = np.fmax(np.fmin(a, b), np.fmin(np.fmax(a, b), c))
    return np.where(np.isnan(a) | np.isnan(b) | np.isnan(c), np.fmin(np.fmin(a, b), c), result)


def _med3_int(a: Array, b: Array, c: Array) -> Array:
    result: Array = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
    return result


def _to_int(low: float, high: float, dtype: type) -> Compute:
    """Cut to a whole number, and to the range of the type; NaN is 0."""

    def convert(x: Array) -> Array:
        whole = np.clip(np.trunc(x.astype(np.float64)), low, high)
        return np.where(np.isnan(x), 0, whole).astype(dtype)

    return convert


_TO_I32 = _to_int(-(2.0**31), 2.0**31 - 1, np.int32)
_TO_U32 = _to_int(0, 2.0**32 - 1, np.uint32)


def _reverse_bits(a: Array) -> Array:
    a = a.astype(np.uint32)
    for shift, keep in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        by, mask = np.uint32(shift), np.uint32(keep)
        a = (a >> by & mask) | (a & mask) << by
    turned: Array = a >> SIXTEEN | a << SIXTEEN
    return turned


def _field(a: Array, at: Array, width: Array) -> Array:
    mask = ((np.uint64(1) << (width & _U31).astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
    result: Array = (a >> (at & _U31)) & mask
    return result


def _signed_field(a: Array, at: Array, width: Array) -> Array:
    found = _field(a, at, width)
    size = width & _U31
    sign = np.where(size == 0, 0, np.uint32(1) << (np.maximum(size, 1) - np.uint32(1)))
    sign = sign.astype(np.uint32)
    return (found ^ sign) - sign


def _perm(a: Array, b: Array, selector: Array) -> Array:
    """``v_perm_b32``: four bytes chosen from eight; the second source holds bytes 0 to 3."""
    a, b, selector = np.broadcast_arrays(a, b, selector)
    both = b.astype(np.uint64) | a.astype(np.uint64) << _32
    result = np.zeros(both.shape, np.uint32)
    for byte in range(4):
        pick = (selector >> np.uint32(8 * byte) & np.uint32(0xFF)).astype(np.uint64)
        plain = both >> (pick & np.uint64(7)) * np.uint64(8) & np.uint64(0xFF)
        signs = both >> ((pick & np.uint64(3)) * np.uint64(16) + np.uint64(15)) & np.uint64(1)
        value = np.where(pick < 8, plain, np.where(pick < 12, signs * np.uint64(0xFF), 0))
        value = np.where(pick > 12, 0xFF, value)
        result |= value.astype(np.uint32) << np.uint32(8 * byte)
    return result


def _alignbit(a: Array, b: Array, by: Array) -> Array:
    both = a.astype(np.uint64) << _32 | b.astype(np.uint64)
    return (both >> (by & _U31).astype(np.uint64)).astype(np.uint32)


def _alignbyte(a: Array, b: Array, by: Array) -> Array:
    both = a.astype(np.uint64) << _32 | b.astype(np.uint64)
    return (both >> (by & np.uint32(3)).astype(np.uint64) * np.uint64(8)).astype(np.uint32)


def _mul_hi(a: Array, b: Array) -> Array:
    return (a.astype(np.uint64) * b.astype(np.uint64) >> _32).astype(np.uint32)


def _mul_hi_signed(a: Array, b: Array) -> Array:
    return (a.astype(np.int64) * b.astype(np.int64) >> np.int64(32)).astype(np.int32)


def _signed24(a: Array) -> Array:
    return ((a & _24) ^ np.uint32(0x800000)) - np.uint32(0x800000)


def _ldexp(a: Array, power: Array) -> Array:
    clipped = np.clip(power, -400, 400).astype(np.int32)
    return np.ldexp(a.astype(np.float64), clipped).astype(np.float32)


def _count_leading(a: Array) -> Array:
    wide = a.astype(np.float64)
    bits = np.frexp(wide)[1]
    return np.where(a == 0, -1, 32 - bits).astype(np.int32).view(np.uint32)


def _count_leading_signed(a: Array) -> Array:
    folded = np.where(a.view(np.int32) < 0, ~a, a).astype(np.uint32)
    return _count_leading(folded)


def _count_trailing(a: Array) -> Array:
    lowest = (a & (~a + np.uint32(1))).astype(np.float64)
    bits = np.frexp(lowest)[1] - 1
    return np.where(a == 0, -1, bits).astype(np.int32).view(np.uint32)


def _popcount(a: Array, c: Array) -> Array:
    return np.bitwise_count(a).astype(np.uint32) + c


def _sad(a: Array, b: Array, c: Array) -> Array:
    return np.where(a > b, a - b, b - a) + c


def _pack_halves(convert: Callable[[Array], Words]) -> Compute:
    return lambda a, b: (
        convert(np.broadcast_to(a, (LANES,))) | convert(np.broadcast_to(b, (LANES,))) << SIXTEEN
    )


def _round_toward_zero(x: Array) -> Words:
    """fp16 bits, rounded toward zero."""
    near = x.astype(np.float16)
    far = np.abs(near.astype(np.float32)) > np.abs(x)
    bits = near.view(np.uint16)
    return np.where(far & ~np.isnan(x), bits - np.uint16(1), bits).astype(np.uint32)


def _norm16(low: float, high: float, scale: float, dtype: type) -> Callable[[Array], Words]:
    def convert(x: Array) -> Words:
        value = np.rint(np.clip(np.nan_to_num(x.astype(np.float64)), low, high) * scale)
        return value.astype(dtype).astype(np.uint16).astype(np.uint32)

    return convert


def _frac(x: Array) -> Array:
    part: Array = np.minimum(x - np.floor(x), np.nextafter(np.float32(1), np.float32(0)))
    return part


def _clamp16(low: int, high: int) -> Compute:
    def pack(a: Array, b: Array) -> Array:
        x, y = (np.clip(np.broadcast_to(v, (LANES,)), low, high) for v in (a, b))
        halves = [v.astype(np.int64).astype(np.uint32) & LOW for v in (x, y)]
        both: Array = halves[0] | halves[1] << SIXTEEN
        return both

    return pack


def _shift64(compute: Callable[[Array, Array], Array], kind: str = "b64") -> Op:
    return Op(
        kind, ["b32", kind], lambda by, a: compute(a, (by.astype(np.uint64) & _U63).astype(a.dtype))
    )


def _div_fixup(quotient: Array, bottom: Array, top: Array) -> Array:
    """The quotient with the special cases of a division put right."""
    q, b, t = np.broadcast_arrays(quotient, bottom, top)
    sign = np.where(np.signbit(b) ^ np.signbit(t), -1.0, 1.0).astype(q.dtype)
    result = sign * np.abs(q)
    result = np.where(b == 0, sign * np.inf, result)
    result = np.where(np.isinf(t), sign * np.inf, result)
    result = np.where((t == 0) | np.isinf(b), sign * 0.0, result)
    bad = ((b == 0) & (t == 0)) | (np.isinf(b) & np.isinf(t)) | np.isnan(b) | np.isnan(t)
    return np.where(bad, np.nan, result).astype(q.dtype)


def _below(mask: Array, base: int) -> Array:
    """How many bits of the mask belong to lower lanes."""
    count = np.clip(_LANE - base, 0, 32).astype(np.uint64)
    keep = ((np.uint64(1) << count) - np.uint64(1)).astype(np.uint32)
    counted: Array = np.bitwise_count(np.broadcast_to(mask, (LANES,)) & keep)
    return counted.astype(np.uint32)


def _thrice(pick: Compute) -> Compute:
    return lambda a, b, c: pick(pick(a, b), c)


def _byte(number: int) -> Compute:
    shift = np.uint32(8 * number)
    return lambda a: (a >> shift & np.uint32(255)).astype(np.float32)


def _frexp_part(a: Array) -> Array:
    part, _ = np.frexp(a)
    return np.where(np.isfinite(a), part, a)


def _frexp_power(a: Array) -> Array:
    _, power = np.frexp(a)
    return np.where(np.isfinite(a), power, 0)


_MIN3 = {"min": np.fmin, "max": np.fmax}
_IMIN3 = {"min": np.minimum, "max": np.maximum}
_U = np.uint32

VECTOR: dict[str, Op] = {
    "v_mov_b32": _b(np.copy, 1),
    "v_accvgpr_mov_b32": _b(np.copy, 1),
    "v_accvgpr_read_b32": _b(np.copy, 1),
    "v_accvgpr_write_b32": _b(np.copy, 1),
    "v_accvgpr_read": _b(np.copy, 1),
    "v_accvgpr_write": _b(np.copy, 1),
    "v_mov_b64": Op("b64", ["b64"], np.copy),
    "v_not_b32": _b(operator.invert, 1),
    "v_bfrev_b32": _b(_reverse_bits, 1),
    "v_ffbh_u32": _b(_count_leading, 1),
    "v_ffbh_i32": _b(_count_leading_signed, 1),
    "v_ffbl_b32": _b(_count_trailing, 1),
    "v_and_b32": _b(operator.and_),
    "v_or_b32": _b(operator.or_),
    "v_xor_b32": _b(operator.xor),
    "v_xnor_b32": _b(lambda a, b: ~(a ^ b)),
    "v_add_u32": _b(operator.add),
    "v_sub_u32": _b(operator.sub),
    "v_subrev_u32": _b(lambda a, b: b - a),
    "v_add_i32": _b(operator.add),
    "v_sub_i32": _b(operator.sub),
    "v_add3_u32": _b(lambda a, b, c: a + b + c, 3),
    "v_xad_u32": _b(lambda a, b, c: (a ^ b) + c, 3),
    "v_or3_b32": _b(lambda a, b, c: a | b | c, 3),
    "v_and_or_b32": _b(lambda a, b, c: a & b | c, 3),
    "v_bfi_b32": _b(lambda a, b, c: a & b | ~a & c, 3),
    "v_bfm_b32": _b(lambda a, b: ((_U(1) << (a & _U31)) - _U(1)) << (b & _U31)),
    "v_bfe_u32": _b(_field, 3),
    "v_bfe_i32": _b(_signed_field, 3),
    "v_perm_b32": _b(_perm, 3),
    "v_alignbit_b32": _b(_alignbit, 3),
    "v_alignbyte_b32": _b(_alignbyte, 3),
    "v_sad_u32": _b(_sad, 3),
    "v_bcnt_u32_b32": _b(_popcount),
    "v_lshlrev_b32": _b(lambda by, a: a << (by & _U31)),
    "v_lshrrev_b32": _b(lambda by, a: a >> (by & _U31)),
    "v_ashrrev_i32": Op("i32", ["b32", "i32"], lambda by, a: a >> (by & _U31).view(np.int32)),
    "v_lshl_add_u32": _b(lambda a, b, c: (a << (b & _U31)) + c, 3),
    "v_lshl_or_b32": _b(lambda a, b, c: a << (b & _U31) | c, 3),
    "v_add_lshl_u32": _b(lambda a, b, c: (a + b) << (c & _U31), 3),
    "v_mul_lo_u32": _b(operator.mul),
    "v_mul_hi_u32": _b(_mul_hi),
    "v_mul_hi_i32": _i(_mul_hi_signed),
    "v_mul_u32_u24": _b(lambda a, b: (a & _24) * (b & _24)),
    "v_mul_i32_i24": _b(lambda a, b: _signed24(a) * _signed24(b)),
    "v_mul_hi_u32_u24": _b(lambda a, b: _mul_hi(a & _24, b & _24)),
    "v_mad_u32_u24": _b(lambda a, b, c: (a & _24) * (b & _24) + c, 3),
    "v_mad_i32_i24": _b(lambda a, b, c: _signed24(a) * _signed24(b) + c, 3),
    "v_mad_u32_u16": Op(
        "b32", ["u16", "u16", "b32"], lambda a, b, c: a.astype(_U) * b.astype(_U) + c
    ),
    "v_mad_i32_i16": Op("i32", ["i16", "i16", "i32"], lambda a, b, c: a.astype(np.int32) * b + c),
    "v_min_u32": _b(np.minimum),
    "v_max_u32": _b(np.maximum),
    "v_min_i32": _i(np.minimum),
    "v_max_i32": _i(np.maximum),
    "v_med3_u32": _b(_med3_int, 3),
    "v_med3_i32": Op("i32", ["i32"] * 3, _med3_int),
    "v_lshl_add_u64": Op(
        "b64", ["b64", "b32", "b64"],
        lambda a, by, c: (a << (by.astype(np.uint64) & np.uint64(7))) + c,
    ),
    "v_lshlrev_b64": _shift64(operator.lshift),
    "v_lshrrev_b64": _shift64(operator.rshift),
    "v_ashrrev_i64": _shift64(operator.rshift, "i64"),
    "v_add_f32": _f(operator.add),
    "v_sub_f32": _f(operator.sub),
    "v_subrev_f32": _f(lambda a, b: b - a),
    "v_mul_f32": _f(operator.mul),
    "v_mul_legacy_f32": _f(lambda a, b: np.where((a == 0) | (b == 0), np.float32(0), a * b)),
    "v_fma_f32": _f(fma32, 3),
    "v_mad_f32": _f(lambda a, b, c: a * b + c, 3),
    "v_fmac_f32": _f(fma32, 2, into=True),
    "v_mac_f32": _f(lambda a, b, c: a * b + c, 2, into=True),
    "v_fmaak_f32": _f(fma32, 3),
    "v_fmamk_f32": _f(fma32, 3),
    "v_max_f32": _f(np.fmax),
    "v_min_f32": _f(np.fmin),
    "v_med3_f32": _f(_med3, 3),
    "v_maximum3_f32": _f(lambda a, b, c: np.maximum(np.maximum(a, b), c), 3),
    "v_minimum3_f32": _f(lambda a, b, c: np.minimum(np.minimum(a, b), c), 3),
    "v_floor_f32": _f(np.floor, 1),
    "v_ceil_f32": _f(np.ceil, 1),
    "v_trunc_f32": _f(np.trunc, 1),
    "v_rndne_f32": _f(np.rint, 1),
    "v_fract_f32": _f(_frac, 1),
    "v_exp_f32": _f(_wide(np.exp2), 1),
    "v_log_f32": _f(_wide(np.log2), 1),
    "v_rcp_f32": _f(_wide(lambda a: 1 / a), 1),
    "v_rcp_iflag_f32": _f(_wide(lambda a: 1 / a), 1),
    "v_rsq_f32": _f(_wide(lambda a: 1 / np.sqrt(a)), 1),
    "v_sqrt_f32": _f(_wide(np.sqrt), 1),
    "v_sin_f32": _f(_wide(lambda a: np.sin(2 * np.pi * a)), 1),
    "v_cos_f32": _f(_wide(lambda a: np.cos(2 * np.pi * a)), 1),
    "v_ldexp_f32": Op("f32", ["f32", "i32"], _ldexp),
    "v_frexp_mant_f32": _f(_frexp_part, 1),
    "v_frexp_exp_i32_f32": Op("i32", ["f32"], _frexp_power),
    "v_div_fixup_f32": _f(_div_fixup, 3),
    "v_div_fixup_f64": Op("f64", ["f64"] * 3, _div_fixup),
    "v_add_f64": _d(operator.add),
    "v_mul_f64": _d(operator.mul),
    "v_fma_f64": Op("f64", ["f64"] * 3, fma64),
    "v_fmac_f64": Op("f64", ["f64"] * 2, fma64, into=True),
    "v_max_f64": _d(np.fmax),
    "v_min_f64": _d(np.fmin),
    "v_rcp_f64": _d(lambda a: 1 / a, 1),
    "v_rsq_f64": _d(lambda a: 1 / np.sqrt(a), 1),
    "v_sqrt_f64": _d(np.sqrt, 1),
    "v_floor_f64": _d(np.floor, 1),
    "v_rndne_f64": _d(np.rint, 1),
    "v_trunc_f64": _d(np.trunc, 1),
    "v_ldexp_f64": Op("f64", ["f64", "i32"], lambda a, n: np.ldexp(a, np.clip(n, -4000, 4000))),
    "v_cvt_f64_f32": Op("f64", ["f32"], lambda a: a.astype(np.float64)),
    "v_cvt_f32_f64": Op("f32", ["f64"], lambda a: a.astype(np.float32)),
    "v_cvt_f64_i32": Op("f64", ["i32"], lambda a: a.astype(np.float64)),
    "v_cvt_f64_u32": Op("f64", ["b32"], lambda a: a.astype(np.float64)),
    "v_cvt_i32_f64": Op("i32", ["f64"], _TO_I32),
    "v_cvt_u32_f64": Op("b32", ["f64"], _TO_U32),
    "v_cvt_f32_i32": Op("f32", ["i32"], lambda a: a.astype(np.float32)),
    "v_cvt_f32_u32": Op("f32", ["b32"], lambda a: a.astype(np.float32)),
    "v_cvt_i32_f32": Op("i32", ["f32"], _TO_I32),
    "v_cvt_u32_f32": Op("b32", ["f32"], _TO_U32),
    "v_cvt_rpi_i32_f32": Op("i32", ["f32"], lambda a: _TO_I32(np.floor(a + np.float32(0.5)))),
    "v_cvt_flr_i32_f32": Op("i32", ["f32"], lambda a: _TO_I32(np.floor(a))),
    "v_cvt_f16_f32": Op("f16", ["f32"], lambda a: a.astype(np.float16)),
    "v_cvt_f32_f16": Op("f32", ["f16"], lambda a: a.astype(np.float32)),
    "v_cvt_f32_bf16": Op("f32", ["bf16"], lambda a: from_bf16(a.astype(np.uint32))),
    "v_cvt_f16_u16": Op("f16", ["u16"], lambda a: a.astype(np.float16)),
    "v_cvt_f16_i16": Op("f16", ["i16"], lambda a: a.astype(np.float16)),
    "v_cvt_u16_f16": Op("u16", ["f16"], _to_int(0, 65535, np.uint16)),
    "v_cvt_i16_f16": Op("i16", ["f16"], _to_int(-32768, 32767, np.int16)),
    "v_cvt_pk_bf16_f32": Op("b32", ["f32", "f32"], _pack_halves(to_bf16)),
    "v_cvt_pk_f16_f32": Op("b32", ["f32", "f32"], _pack_halves(to_half)),
    "v_cvt_pkrtz_f16_f32": Op("b32", ["f32", "f32"], _pack_halves(_round_toward_zero)),
    "v_cvt_pknorm_i16_f32": Op(
        "b32", ["f32", "f32"], _pack_halves(_norm16(-1, 1, 32767, np.int16))
    ),
    "v_cvt_pknorm_u16_f32": Op(
        "b32", ["f32", "f32"], _pack_halves(_norm16(0, 1, 65535, np.uint16))
    ),
    "v_cvt_pk_u16_u32": Op("b32", ["b32", "b32"], _clamp16(0, 65535)),
    "v_cvt_pk_i16_i32": Op("b32", ["i32", "i32"], _clamp16(-32768, 32767)),
    "v_pack_b32_f16": Op(
        "b32", ["u16", "u16"], lambda a, b: a.astype(_U) | b.astype(_U) << SIXTEEN
    ),
    "v_add_f16": _h(operator.add),
    "v_sub_f16": _h(operator.sub),
    "v_subrev_f16": _h(lambda a, b: b - a),
    "v_mul_f16": _h(operator.mul),
    "v_max_f16": _h(np.fmax),
    "v_min_f16": _h(np.fmin),
    "v_fma_f16": _h(fma16, 3, keeps=True),
    "v_mad_f16": _h(fma16, 3, keeps=True),
    "v_fmac_f16": _h(fma16, 2, into=True),
    "v_mac_f16": _h(fma16, 2, into=True),
    "v_max3_f16": _h(lambda a, b, c: np.fmax(np.fmax(a, b), c), 3, keeps=True),
    "v_min3_f16": _h(lambda a, b, c: np.fmin(np.fmin(a, b), c), 3, keeps=True),
    "v_med3_f16": _h(_med3, 3, keeps=True),
    "v_rcp_f16": _h(_wide16(lambda a: 1 / a), 1),
    "v_rsq_f16": _h(_wide16(lambda a: 1 / np.sqrt(a)), 1),
    "v_sqrt_f16": _h(_wide16(np.sqrt), 1),
    "v_exp_f16": _h(_wide16(np.exp2), 1),
    "v_log_f16": _h(_wide16(np.log2), 1),
    "v_floor_f16": _h(np.floor, 1),
    "v_ceil_f16": _h(np.ceil, 1),
    "v_trunc_f16": _h(np.trunc, 1),
    "v_rndne_f16": _h(np.rint, 1),
    "v_ldexp_f16": Op("f16", ["f16", "i16"], lambda a, n: _ldexp(a, n).astype(np.float16)),
    "v_div_fixup_f16": Op("f16", ["f16"] * 3, _div_fixup, keeps=True),
    "v_add_u16": _u16(operator.add),
    "v_sub_u16": _u16(operator.sub),
    "v_subrev_u16": _u16(lambda a, b: b - a),
    "v_mul_lo_u16": _u16(operator.mul),
    "v_mad_u16": Op("u16", ["u16"] * 3, lambda a, b, c: a * b + c, keeps=True),
    "v_mad_legacy_u16": Op("u16", ["u16"] * 3, lambda a, b, c: a * b + c),
    "v_min_u16": _u16(np.minimum),
    "v_max_u16": _u16(np.maximum),
    "v_min_i16": _u16(np.minimum, kind="i16"),
    "v_max_i16": _u16(np.maximum, kind="i16"),
    "v_lshlrev_b16": _u16(lambda by, a: a << (by & np.uint16(15))),
    "v_lshrrev_b16": _u16(lambda by, a: a >> (by & np.uint16(15))),
    "v_ashrrev_i16": Op(
        "i16", ["u16", "i16"], lambda by, a: a >> (by & np.uint16(15)).view(np.int16)
    ),
    "v_mbcnt_lo_u32_b32": _b(lambda m, c: _below(m, 0) + c),
    "v_mbcnt_hi_u32_b32": _b(lambda m, c: _below(m, 32) + c),
    **{f"v_cvt_f32_ubyte{n}": Op("f32", ["b32"], _byte(n)) for n in range(4)},
    **{f"v_{n}3_f32": _f(_thrice(g), 3) for n, g in _MIN3.items()},
    **{f"v_{n}3_u32": _b(_thrice(g), 3) for n, g in _IMIN3.items()},
    **{f"v_{n}3_i32": Op("i32", ["i32"] * 3, _thrice(g)) for n, g in _IMIN3.items()},
}  # fmt: skip


# Comparisons.

_TESTS: Mapping[str, Compute] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
_FLOAT_TESTS: Mapping[str, Compute] = {
    "f": lambda a, b: np.zeros(LANES, np.bool_),
    "lt": operator.lt, "eq": operator.eq, "le": operator.le, "gt": operator.gt,
    "lg": lambda a, b: (a < b) | (a > b), "ge": operator.ge,
    "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "u": lambda a, b: np.isnan(a) | np.isnan(b),
    "nge": lambda a, b: ~(a >= b), "nlg": lambda a, b: ~((a < b) | (a > b)),
    "ngt": lambda a, b: ~(a > b), "nle": lambda a, b: ~(a <= b),
    "neq": lambda a, b: ~(a == b), "nlt": lambda a, b: ~(a < b),
    "tru": lambda a, b: np.ones(LANES, np.bool_),
}  # fmt: skip
_KINDS = {"u32": "b32", "i32": "i32", "u16": "u16", "i16": "i16", "u64": "b64", "i64": "i64"}


def _comparisons() -> dict[str, tuple[tuple[str, str], Compute]]:
    table: dict[str, tuple[tuple[str, str], Compute]] = {}
    for suffix, kind in _KINDS.items():
        for name, test in _TESTS.items():
            table[f"{name}_{suffix}"] = ((kind, kind), test)
        table[f"f_{suffix}"] = ((kind, kind), _FLOAT_TESTS["f"])
        table[f"t_{suffix}"] = ((kind, kind), _FLOAT_TESTS["tru"])
    for kind in ("f16", "f32", "f64"):
        for name, test in _FLOAT_TESTS.items():
            table[f"{name}_{kind}"] = ((kind, kind), test)
    return table


COMPARED = _comparisons()
