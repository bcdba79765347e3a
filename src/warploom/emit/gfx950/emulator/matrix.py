"""Matrix instructions in NumPy, with the register layouts of the hardware.

An A or B operand is decoded to a ``[k, row]`` matrix: lane ``l`` holds row ``l % m``, its registers
hold consecutive elements, lane groups follow each other along K. Products are summed in fp32; the
chip's order of summation is not modelled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from warploom.emit.gfx950.emulator.operands import vector_rows
from warploom.emit.gfx950.emulator.scalar import Effect
from warploom.emit.gfx950.emulator.wave import LANES, Wave

Floats = NDArray[np.float32]
Words = NDArray[np.uint32]

_NAME = re.compile(r"v_mfma_f32_(\d+)x(\d+)x(\d+)_(bf16|f16|f8f6f4)$")


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


def decode_fp8(words: Words) -> Floats:
    """The same for fp8, four to a register."""
    codes = np.ascontiguousarray(words).view(np.uint8).reshape(*words.shape, 4)
    return FP8[codes].transpose(0, 2, 1)


_DECODE: dict[str, Callable[[Words], Floats]] = {
    "bf16": decode_bf16,
    "f16": decode_fp16,
    "f8f6f4": decode_fp8,
}


def make_mfma(mnemonic: str, operands: Sequence[str]) -> Effect | None:
    """The effect of a matrix instruction, or None for other mnemonics."""
    match = _NAME.match(mnemonic)
    if match is None:
        return None
    m, n = int(match[1]), int(match[2])
    decode = _DECODE[match[4]]
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


def _tile(w: Wave, where: tuple[str, int, int], m: int, n: int) -> Floats:
    """Accumulator registers as an ``[m, n]`` matrix."""
    file, first, count = where
    words = (w.v if file == "v" else w.a)[first : first + count]
    values = words.view(np.float32).reshape(count // 4, 4, LANES // n, n)
    return values.transpose(0, 2, 1, 3).reshape(m, n)
