"""Matrix instructions in NumPy, with the register layouts of the hardware.

An A or B operand is decoded to a ``[k, row]`` matrix: lane ``l`` holds row ``l % m``, its registers
hold consecutive elements, lane groups follow each other along K. Products are summed in fp32; the
chip's order of summation is not modelled.

The transcendental instructions are computed in double and rounded; the hardware's are good to one
unit in the last place, so a test must not ask for more.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.formats import TABLES
from warploom.codegen.amdgcn.emulator.operands import LANES, Wave, Words, read_vector, vector_rows
from warploom.codegen.amdgcn.emulator.vector import Effect, Make, Reader, compared, computed, put

Floats = NDArray[np.float32]

_NAME = re.compile(r"v_mfma_(scale_)?f32_(\d+)x(\d+)x(\d+)_(bf16|f16|f8f6f4)$")
_FORMATS = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")  # by cbsz (of A) and blgp (of B)


def _fp8_table() -> Floats:
    """All values of OCP e4m3: no infinities, NaN where exponent and mantissa are all ones."""
    code = np.arange(256)
    sign = np.where(code & 0x80, -1.0, 1.0)
    exponent, mantissa = code >> 3 & 15, code & 7
    normal = np.exp2(exponent - 7.0) * (1 + mantissa / 8)
    value = sign * np.where(exponent == 0, mantissa * 2.0**-9, normal)
    value[code & 0x7F == 0x7F] = np.nan
    return value.astype(np.float32)


FP8 = _fp8_table()


def decode_bf16(words: Words) -> Floats:
    """``[register, lane]`` dwords to ``[register, element, lane]`` values."""
    low, high = words << np.uint32(16), words & np.uint32(0xFFFF0000)
    return np.stack([low, high], axis=1).view(np.float32)


def decode_fp16(words: Words) -> Floats:
    """The same for fp16."""
    halves = np.ascontiguousarray(words).view(np.float16).reshape(*words.shape, 2)
    return halves.transpose(0, 2, 1).astype(np.float32)


_DECODE: dict[str, Callable[[Words], Floats]] = {"bf16": decode_bf16, "f16": decode_fp16}


def make_mfma(
    mnemonic: str, operands: Sequence[str], modifiers: Sequence[str] = ()
) -> Effect | None:
    """The effect of a matrix instruction, or None for other mnemonics."""
    match = _NAME.match(mnemonic)
    if match is None:
        return None
    m, n = int(match[2]), int(match[3])
    if match[5] == "f8f6f4":
        left, right = (
            _small_operand(operands[1 + i], m, _FORMATS[_number(modifiers, name)])
            for i, name in enumerate(("cbsz", "blgp"))
        )
        if match[1]:
            left = _scaled(left, operands[4], m, _scale_byte(modifiers, 0))
            right = _scaled(right, operands[5], n, _scale_byte(modifiers, 1))
    else:
        decode = _DECODE[match[5]]
        left, right = _operand(operands[1], m, decode), _operand(operands[2], n, decode)
    file, first, count = vector_rows(operands[0])
    addend = None if operands[3] == "0" else vector_rows(operands[3])

    def effect(w: Wave) -> None:
        product = left(w).T @ right(w)
        if addend is not None:
            product += _tile(w, addend, m, n)
        rows = product.reshape(m // (4 * LANES // n), LANES // n, 4, n).transpose(0, 2, 1, 3)
        target = w.v if file == "v" else w.a
        target[first : first + count] = rows.reshape(count, LANES).view(np.uint32)

    return effect


def _operand(text: str, rows: int, decode: Callable[[Words], Floats]) -> Callable[[Wave], Floats]:
    file, first, count = vector_rows(text)
    groups = LANES // rows

    def read(w: Wave) -> Floats:
        words = (w.v if file == "v" else w.a)[first : first + count]
        values = decode(words)  # [register, element, lane]
        registers, elements, _ = values.shape
        split = values.reshape(registers * elements, groups, rows)
        return split.transpose(1, 0, 2).reshape(groups * registers * elements, rows)

    return read


def _number(modifiers: Sequence[str], name: str) -> int:
    return next((int(m.partition(":")[2]) for m in modifiers if m.startswith(f"{name}:")), 0)


def _scale_byte(modifiers: Sequence[str], operand: int) -> int:
    """Which byte of a register holds the scale: ``op_sel`` the low bit, ``op_sel_hi`` the high."""
    bits = []
    for name, usual in (("op_sel", "0"), ("op_sel_hi", "1")):
        said = next(
            (m for m in modifiers if m.startswith(f"{name}:[")), f"{name}:[{usual},{usual}]"
        )
        bits.append(int(said.partition("[")[2].strip("]").split(",")[operand]))
    return bits[0] + 2 * bits[1]


def _small_operand(text: str, rows: int, form: str) -> Callable[[Wave], Floats]:
    """An operand of 8, 6 or 4 bits as ``[k, row]``.

    A lane has 32 elements in a row along K; those of 8 bits 16 of the first half of K and 16 of the
    second.
    """
    file, first, _ = vector_rows(text)
    table = TABLES[form]
    bits = (len(table) - 1).bit_length()
    groups = LANES // rows

    def read(w: Wave) -> Floats:
        words = (w.v if file == "v" else w.a)[first : first + bits]  # 32 elements
        packed = np.ascontiguousarray(words.T).view(np.uint8)
        flat = np.unpackbits(packed, axis=1, bitorder="little").reshape(LANES, 32, bits)
        codes = (flat.astype(np.uint32) << np.arange(bits, dtype=np.uint32)).sum(axis=2)
        values = table[codes].reshape(groups, rows, 32)
        if bits == 8:
            halves = values.reshape(groups, rows, 2, 16).transpose(2, 0, 3, 1)
            return np.ascontiguousarray(halves).reshape(32 * groups, rows)
        return np.ascontiguousarray(values.transpose(0, 2, 1)).reshape(32 * groups, rows)

    return read


def _scaled(
    operand: Callable[[Wave], Floats], text: str, rows: int, byte: int
) -> Callable[[Wave], Floats]:
    """An operand times its scales: lane ``l`` has that of row ``l % rows``, block ``l // rows``."""
    file, first, _ = vector_rows(text)

    def read(w: Wave) -> Floats:
        codes = (w.v if file == "v" else w.a)[first] >> np.uint32(8 * byte) & np.uint32(0xFF)
        power = np.exp2(codes.astype(np.float64) - 127)
        scale = np.where(codes == 255, np.nan, power).reshape(LANES // rows, 1, rows)
        values = operand(w).reshape(LANES // rows, 32, rows) * scale
        return values.reshape(-1, rows).astype(np.float32)

    return read


def _tile(w: Wave, where: tuple[str, int, int], m: int, n: int) -> Floats:
    """Accumulator registers as an ``[m, n]`` matrix."""
    file, first, count = where
    words = (w.v if file == "v" else w.a)[first : first + count]
    values = words.view(np.float32).reshape(count // 4, 4, LANES // n, n)
    return values.transpose(0, 2, 1, 3).reshape(m, n)


_LOW16 = np.uint32(0xFFFF)
_LEVELS = FP8[:127].astype(np.float64)  # the finite magnitudes of e4m3 in order of their codes


def read_float(text: str) -> Callable[[Wave], Floats]:
    """A float source: ``v3``, ``-v3``, ``|v3|``, ``-|v3|``, a scalar or a constant."""
    negative = text.startswith("-") and not text[1:2].isdigit()
    body = text[1:] if negative else text
    size = body.startswith("|")
    read = read_vector(body.strip("|"))

    def value(w: Wave) -> Floats:
        x: Floats = np.broadcast_to(read(w), (LANES,)).astype(np.uint32).view(np.float32)
        x = np.abs(x) if size else x
        return -x if negative else x

    return value


def _bits(x: NDArray[np.floating]) -> Words:
    return np.ascontiguousarray(np.broadcast_to(x, (LANES,)), np.float32).view(np.uint32)


def _map(
    compute: Callable[..., NDArray[np.floating]], read: Reader = read_float, *, into: bool = False
) -> Make:
    """``dst = compute(*sources)`` as floats, clamped where the instruction says so."""

    def make(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
        def bits(*sources: Floats) -> Words:
            result = compute(*sources)
            return _bits(np.clip(result, 0, 1) if "clamp" in modifiers else result)

        return computed(bits, read, into=into)(operands, modifiers)

    return make


def _wide(compute: Callable[..., NDArray[np.float64]]) -> Make:
    return _map(lambda *xs: compute(*(x.astype(np.float64) for x in xs)).astype(np.float32))


def _halves(convert: Callable[[Floats], Words]) -> Make:
    """``dst = convert(b) << 16 | convert(a)``."""
    return computed(lambda a, b: convert(a) | convert(b) << np.uint32(16), read_float)


def _to_bf16(x: Floats) -> Words:
    bits = _bits(x)
    odd = bits >> np.uint32(16) & np.uint32(1)
    rounded = (bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)
    return np.where(np.isnan(x), np.uint32(0x7FC0), rounded)


def _to_half(x: Floats) -> Words:
    return x.astype(np.float16).view(np.uint16).astype(np.uint32)


def to_fp8(x: Floats) -> Words:
    """The nearest e4m3 code, ties to even; beyond the largest it is NaN, as the hardware gives."""
    size = np.abs(x).astype(np.float64)
    above = np.clip(np.searchsorted(_LEVELS, size), 1, 126)
    low, high = size - _LEVELS[above - 1], _LEVELS[above] - size
    code = np.where((low < high) | ((low == high) & (above % 2 == 1)), above - 1, above)
    code = np.where(np.isnan(x) | (size > 464.0), 127, np.where(size > 448.0, 126, code))
    return (code | np.where(np.signbit(x), 0x80, 0)).astype(np.uint32)


def _to_fp8_pair(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
    file, row, _ = vector_rows(operands[0])
    a, b = read_float(operands[1]), read_float(operands[2])
    high = any(m.startswith("op_sel") for m in modifiers)

    def effect(w: Wave) -> None:
        pair = to_fp8(a(w)) | to_fp8(b(w)) << np.uint32(8)
        old = (w.v if file == "v" else w.a)[row]
        put(w, file, row, old & _LOW16 | pair << np.uint32(16) if high else old & ~_LOW16 | pair)

    return effect


def _of_words(compute: Callable[[Words], NDArray[np.floating]]) -> Make:
    return _map(lambda words: compute(np.broadcast_to(words, (LANES,))), read_vector)


def _pairs(compute: Callable[..., Floats]) -> Make:
    """Two floats at once, in neighbouring registers; modifiers choose and negate the sources."""

    def make(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
        file, row, _ = vector_rows(operands[0])
        count = len(operands) - 1
        words = (
            _chosen(modifiers, "op_sel", count=count),
            _chosen(modifiers, "op_sel_hi", usual=True, count=count),
        )
        signs = tuple(_chosen(modifiers, name, count=count) for name in ("neg_lo", "neg_hi"))
        sources = [
            [
                (read_vector(text, int(word)), -1 if sign else 1)
                for text, word, sign in zip(operands[1:], *chosen, strict=True)
            ]
            for chosen in zip(words, signs, strict=True)
        ]

        def effect(w: Wave) -> None:
            results = [compute(*(_float_of(r(w)) * s for r, s in half)) for half in sources]
            for word, result in enumerate(results):
                put(w, file, row + word, _bits(result))

        return effect

    return make


def _float_of(words: Words) -> Floats:
    return np.broadcast_to(words, (LANES,)).astype(np.uint32).view(np.float32)


def _fma(a: Floats, b: Floats, c: Floats) -> Floats:
    exact = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    return exact.astype(np.float32)


def _chosen(
    modifiers: Sequence[str], name: str, *, usual: bool = False, count: int = 3
) -> tuple[bool, ...]:
    found = next((m for m in modifiers if m.startswith(f"{name}:[")), None)
    if found is None:
        return (usual,) * count
    return tuple(bit == "1" for bit in found[len(name) + 2 : -1].split(","))


def _mixed(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
    """``v_fma_mix_f32``: each source an fp32 register or one half of it as fp16."""
    file, row, _ = vector_rows(operands[0])
    sources = _mix_sources(operands, modifiers)
    return lambda w: put(w, file, row, _bits(_clamped(_fma(*(r(w) for r in sources)), modifiers)))


def _mixed_half(high: bool) -> Make:
    """``v_fma_mixlo_f16`` and ``v_fma_mixhi_f16``: the result in one half; the other stays."""

    def make(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
        file, row, _ = vector_rows(operands[0])
        sources = _mix_sources(operands, modifiers)

        def effect(w: Wave) -> None:
            half = _to_half(_clamped(_fma(*(read(w) for read in sources)), modifiers))
            old = (w.v if file == "v" else w.a)[row]
            put(
                w, file, row, old & _LOW16 | half << np.uint32(16) if high else old & ~_LOW16 | half
            )

        return effect

    return make


def _clamped(x: Floats, modifiers: Sequence[str]) -> Floats:
    return np.nan_to_num(np.clip(x, 0, 1), nan=0.0) if "clamp" in modifiers else x


def _mix_sources(
    operands: Sequence[str], modifiers: Sequence[str]
) -> list[Callable[[Wave], Floats]]:
    halves = _chosen(modifiers, "op_sel_hi")
    upper = _chosen(modifiers, "op_sel")
    sources = []
    for text, half, up in zip(operands[1:4], halves, upper, strict=True):
        if not half:
            sources.append(read_float(text))
            continue
        sign = -1 if text.startswith("-") else 1
        sources.append(_half_source(read_vector(text.lstrip("-").strip("|")), 16 * up, sign))
    return sources


def _half_source(read: Callable[[Wave], Words], shift: int, sign: int) -> Callable[[Wave], Floats]:
    def value(w: Wave) -> Floats:
        bits = np.broadcast_to(read(w), (LANES,)) >> np.uint32(shift) & _LOW16
        return (sign * bits.astype(np.uint16).view(np.float16)).astype(np.float32)

    return value


def _to_unsigned(x: Floats) -> Floats:
    """Cut to a whole number, and to the range of 32 bits."""
    whole = np.clip(np.trunc(x.astype(np.float64)), 0, 2.0**32 - 1)
    return np.where(np.isnan(x), 0, whole).astype(np.uint32).view(np.float32)


def _signed(word: Words) -> NDArray[np.int32]:
    return np.ascontiguousarray(word, np.uint32).view(np.int32)


def _not(test: Callable[..., NDArray[np.bool_]]) -> Callable[..., NDArray[np.bool_]]:
    """Also true where a source is NaN."""
    return lambda a, b: ~test(a, b)


_TESTS: Mapping[str, Callable[..., NDArray[np.bool_]]] = {
    name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq")
}
FLOAT: Mapping[str, Make] = {
    "v_add_f32": _map(lambda a, b: a + b),
    "v_sub_f32": _map(lambda a, b: a - b),
    "v_subrev_f32": _map(lambda a, b: b - a),
    "v_mul_f32": _map(lambda a, b: a * b),
    "v_fma_f32": _map(_fma),
    "v_fmac_f32": _map(_fma, into=True),
    "v_fma_mix_f32": _mixed,
    "v_fma_mixlo_f16": _mixed_half(high=False),
    "v_fma_mixhi_f16": _mixed_half(high=True),
    "v_fmaak_f32": _map(_fma),
    "v_fmamk_f32": _map(_fma),
    "v_max_f32": _map(np.fmax),
    "v_min_f32": _map(np.fmin),
    "v_max3_f32": _map(lambda a, b, c: np.fmax(np.fmax(a, b), c)),
    "v_min3_f32": _map(lambda a, b, c: np.fmin(np.fmin(a, b), c)),
    "v_med3_f32": _map(lambda a, b, c: np.fmax(np.fmin(a, b), np.fmin(np.fmax(a, b), c))),
    "v_floor_f32": _map(np.floor),
    "v_exp_f32": _wide(np.exp2),
    "v_log_f32": _wide(np.log2),
    "v_rcp_f32": _wide(lambda a: 1 / a),
    "v_rcp_iflag_f32": _wide(lambda a: 1 / a),
    "v_rsq_f32": _wide(lambda a: 1 / np.sqrt(a)),
    "v_sqrt_f32": _wide(np.sqrt),
    "v_pk_add_f32": _pairs(lambda a, b: a + b),
    "v_pk_mul_f32": _pairs(lambda a, b: a * b),
    "v_pk_fma_f32": _pairs(_fma),
    **{f"v_cmp_{name}_f32": compared(test, read_float) for name, test in _TESTS.items()},
    **{f"v_cmp_n{name}_f32": compared(_not(test), read_float) for name, test in _TESTS.items()},
    "v_cmp_lg_f32": compared(lambda a, b: (a < b) | (a > b), read_float),
    "v_cvt_pk_bf16_f32": _halves(_to_bf16),
    "v_cvt_pk_f16_f32": _halves(_to_half),
    "v_cvt_pk_fp8_f32": _to_fp8_pair,
    "v_cvt_f16_f32": _map(lambda a: _to_half(a).view(np.float32)),
    "v_cvt_f32_f16": _of_words(
        lambda w: (w & _LOW16).astype(np.uint16).view(np.float16).astype(np.float32)
    ),
    "v_cvt_f32_fp8": _of_words(lambda w: FP8[w & np.uint32(0xFF)]),
    "v_cvt_f32_i32": _of_words(lambda w: _signed(w).astype(np.float32)),
    "v_cvt_f32_u32": _of_words(lambda w: w.astype(np.float32)),
    "v_cvt_u32_f32": _map(_to_unsigned),
}
