"""Rare conversions: stochastic rounding, scaled singles, 32 values of 6 bits."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.apply import Effect
from warploom.check.amdgcn.formats import (
    FORMATS,
    TABLES,
    encode_small,
    fp8_name,
    from_bf16,
    from_half,
    to_bf16,
    to_half,
)
from warploom.check.amdgcn.operands import Source, rows
from warploom.check.amdgcn.reader import Instruction
from warploom.check.amdgcn.state import LANES, Wave

Special = Callable[[Instruction, str], Effect]
Floats = NDArray[np.float32]
Words = NDArray[np.uint32]
_OCP = {"fp8": "e4m3", "bf8": "e5m2", "fp6": "e2m3", "bf6": "e3m2"}


def _all(values: NDArray[Any]) -> NDArray[Any]:
    return np.broadcast_to(values, (LANES,))


def _stochastic(values: Floats, seed: Words, bits: int, least: int) -> Floats:
    """Round to ``bits`` of mantissa, up with the chance that the seed's upper bits stand for."""
    _, power = np.frexp(values)
    step = np.ldexp(np.float64(1), np.maximum(power - 1, least) - bits)
    draw = (seed >> np.uint32(12)).astype(np.float64) / (1 << 20)
    size = np.floor(np.abs(values).astype(np.float64) / step + draw) * step
    rounded = np.where(np.isfinite(values), np.copysign(size, values), values)
    return rounded.astype(np.float32)


def _to_small(short: str) -> Special:
    """``v_cvt_sr_fp8_f32``: one byte of the destination, chosen by ``op_sel``."""

    def make(instruction: Instruction, target: str) -> Effect:
        form = FORMATS[fp8_name(short, target)]
        row = rows(instruction.operands[0])[0]
        value = Source(instruction.operands[1], "f32").read()
        seed = Source(instruction.operands[2], "b32").read()
        bits = instruction.bits("op_sel", 4)
        shift = np.uint32(8 * (bits[2] + 2 * bits[3]))
        keep = np.uint32(0xFF << int(shift))

        def effect(w: Wave) -> None:
            rounded = _stochastic(_all(value(w)), _all(seed(w)), form.mantissa, 1 - form.bias)
            w.put(row, w.v[row] & ~keep | encode_small(rounded, form.name) << shift)

        return effect

    return make


def _to_sixteen(kind: str) -> Special:
    """``v_cvt_sr_f16_f32`` and ``v_cvt_sr_bf16_f32``: one half of the destination."""
    bits, least = (10, -14) if kind == "f16" else (7, -126)
    encode = to_half if kind == "f16" else to_bf16

    def make(instruction: Instruction, target: str) -> Effect:
        row = rows(instruction.operands[0])[0]
        value = Source(instruction.operands[1], "f32").read()
        seed = Source(instruction.operands[2], "b32").read()
        shift = np.uint32(16 * instruction.bits("op_sel", 3)[2])
        keep = np.uint32(0xFFFF << int(shift))

        def effect(w: Wave) -> None:
            rounded = _stochastic(_all(value(w)), _all(seed(w)), bits, least)
            w.put(row, w.v[row] & ~keep | encode(rounded) << shift)

        return effect

    return make


def _power(words: NDArray[Any]) -> NDArray[np.int32]:
    """The power of two that an fp32 scale stands for."""
    return (_all(words).astype(np.uint32) >> np.uint32(23) & np.uint32(255)).astype(np.int32) - 127


def _one_scaled(short: str, out: str) -> Special:
    """``v_cvt_scalef32_{f32,f16}_{fp8,bf8}``: one byte times a power of two."""

    def make(instruction: Instruction, target: str) -> Effect:
        table = TABLES[_OCP[short]]
        row = rows(instruction.operands[0])[0]
        words = Source(instruction.operands[1], "b32").read()
        scale = Source(instruction.operands[2], "b32").read()
        bits = instruction.bits("op_sel", 4)
        shift = np.uint32(8 * (bits[0] + 2 * bits[1]))
        high = np.uint32(16 * bits[3])

        def effect(w: Wave) -> None:
            codes = _all(words(w)).astype(np.uint32) >> shift & np.uint32(0xFF)
            value = np.ldexp(table[codes], _power(scale(w))).astype(np.float32)
            if out == "f32":
                w.put_float(row, value)
                return
            keep = np.uint32(0xFFFF << int(high))
            w.put(row, w.v[row] & ~keep | to_half(value) << high)

        return effect

    return make


def _six_bits(w: Wave, row: int) -> NDArray[np.int64]:
    """32 codes of 6 bits a lane, packed into six registers, as ``[code, lane]``."""
    lanes = np.ascontiguousarray(w.v[row : row + 6].T).view(np.uint8)
    bits = np.unpackbits(lanes, axis=1, bitorder="little").reshape(LANES, 32, 6)
    codes: NDArray[np.int64] = (bits.astype(np.int64) << np.arange(6)).sum(axis=2).T
    return codes


def _from_six(short: str, out: str) -> Special:
    """``v_cvt_scalef32_pk32_{f32,f16,bf16}_{fp6,bf6}``."""
    encode = {"f16": to_half, "bf16": to_bf16}

    def make(instruction: Instruction, target: str) -> Effect:
        table = TABLES[_OCP[short]]
        to, source = rows(instruction.operands[0])[0], rows(instruction.operands[1])[0]
        scale = Source(instruction.operands[2], "b32").read()

        def effect(w: Wave) -> None:
            values = np.ldexp(table[_six_bits(w, source)], _power(scale(w))).astype(np.float32)
            if out == "f32":
                for index in range(32):
                    w.put_float(to + index, values[index])
                return
            codes = [encode[out](v) for v in values]
            for index in range(16):
                w.put(to + index, codes[2 * index] | codes[2 * index + 1] << np.uint32(16))

        return effect

    return make


def _to_six(short: str, source: str) -> Special:
    """``v_cvt_scalef32_pk32_{fp6,bf6}_{f16,bf16}``."""
    decode = from_half if source == "f16" else from_bf16

    def make(instruction: Instruction, target: str) -> Effect:
        to, first = rows(instruction.operands[0])[0], rows(instruction.operands[1])[0]
        scale = Source(instruction.operands[2], "b32").read()

        def effect(w: Wave) -> None:
            power = -_power(scale(w))
            low = np.uint32(0xFFFF)
            codes = np.empty((32, LANES), np.uint32)
            for index in range(16):
                words = w.v[first + index]
                for half, value in enumerate((words & low, words >> np.uint32(16))):
                    scaled = np.ldexp(decode(value), power).astype(np.float32)
                    codes[2 * index + half] = encode_small(scaled, _OCP[short])
            bits = (codes.T[:, :, None] >> np.arange(6, dtype=np.uint32) & np.uint32(1)).astype(
                np.uint8
            )
            packed = np.packbits(bits.reshape(LANES, 192), axis=1, bitorder="little")
            for index, word in enumerate(np.ascontiguousarray(packed).view(np.uint32).T):
                w.put(to + index, word)

        return effect

    return make


def _next_random(instruction: Instruction, target: str) -> Effect:
    """``v_prng_b32``: one step of a shift register from the given seed."""
    row = rows(instruction.operands[0])[0]
    seed = Source(instruction.operands[1], "b32").read()

    def effect(w: Wave) -> None:
        old = _all(seed(w)).astype(np.uint32)
        feedback = np.where(old >> np.uint32(31) & np.uint32(1), np.uint32(0xC5), np.uint32(0))
        w.put(row, old << np.uint32(1) ^ feedback)

    return effect


CONVERSIONS: Mapping[str, Special] = {
    "v_cvt_sr_fp8_f32": _to_small("fp8"),
    "v_cvt_sr_bf8_f32": _to_small("bf8"),
    "v_cvt_sr_f16_f32": _to_sixteen("f16"),
    "v_cvt_sr_bf16_f32": _to_sixteen("bf16"),
    "v_prng_b32": _next_random,
    **{
        f"v_cvt_scalef32_{out}_{form}": _one_scaled(form, out)
        for out in ("f32", "f16")
        for form in ("fp8", "bf8")
    },
    **{
        f"v_cvt_scalef32_pk32_{out}_{form}": _from_six(form, out)
        for out in ("f32", "f16", "bf16")
        for form in ("fp6", "bf6")
    },
    **{
        f"v_cvt_scalef32_pk32_{form}_{source}": _to_six(form, source)
        for source in ("f16", "bf16")
        for form in ("fp6", "bf6")
    },
}
