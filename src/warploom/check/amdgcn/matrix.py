"""Matrix instructions in NumPy, with the register layouts of the hardware.

Lane ``l`` holds row ``l % m`` of A (column of B); its registers hold consecutive elements along K,
and lane groups follow each other along K, or are blocks of their own. Products are summed in fp32;
the chip's order of summation is not modelled.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.formats import TABLES, fp8_name
from warploom.check.amdgcn.operands import is_vector, literal, rows
from warploom.check.amdgcn.reader import Instruction
from warploom.check.amdgcn.state import LANES, Wave, Words
from warploom.errors import UnsupportedCodeError as UnsupportedError

Floats = NDArray[np.float32]
Effect = Callable[[Wave], None]
Decode = Callable[[Words], NDArray[Any]]
Arrange = Callable[[NDArray[Any]], NDArray[Any]]

_NAME = re.compile(
    r"v_mfma_(scale_)?(f32|i32|f64)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?"
    r"(f32|f16|bf16_1k|bf16|i8|xf32|f64|f8f6f4|(?:fp8|bf8)_(?:fp8|bf8))$"
)
_SIX = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")


def _bf16(words: Words) -> Floats:
    low, high = words << np.uint32(16), words & np.uint32(0xFFFF0000)
    return np.stack([low, high], axis=1).view(np.float32).reshape(-1, LANES)


def _half(words: Words) -> Floats:
    cut = np.ascontiguousarray(words).view(np.float16).reshape(*words.shape, 2)
    return cut.transpose(0, 2, 1).astype(np.float32).reshape(-1, LANES)


def _single(words: Words) -> Floats:
    return words.view(np.float32)


def _double(words: Words) -> NDArray[np.float64]:
    pairs = words.astype(np.uint64)
    return (pairs[0::2] | pairs[1::2] << np.uint64(32)).view(np.float64)


def _bytes(words: Words) -> NDArray[np.uint8]:
    cut = np.ascontiguousarray(words).view(np.uint8).reshape(*words.shape, 4)
    return cut.transpose(0, 2, 1).reshape(-1, LANES)


def _int8(words: Words) -> NDArray[np.float64]:
    return np.ascontiguousarray(_bytes(words)).view(np.int8).astype(np.float64)


def _small(name: str) -> Decode:
    """Codes of 8, 6 or 4 bits, packed from the lowest bit on."""
    table = TABLES[name]
    if len(table) == 256:
        return lambda words: table[_bytes(words)]
    bits = len(table).bit_length() - 1

    def decode(words: Words) -> Floats:
        lanes = np.ascontiguousarray(words.T).view(np.uint8)  # [lane, byte]
        unpacked = np.unpackbits(lanes, axis=1, bitorder="little")
        whole = unpacked.shape[1] // bits * bits
        codes = unpacked[:, :whole].reshape(LANES, -1, bits)
        values: Floats = table[(codes << np.arange(bits, dtype=np.uint8)).sum(axis=2)].T
        return values

    return decode


_PLAIN: Mapping[str, Decode] = {
    "f32": _single, "xf32": _single, "f16": _half, "bf16": _bf16, "bf16_1k": _bf16, "i8": _int8,
    "f64": _double,
}  # fmt: skip


def _decoders(instruction: Instruction, kind: str, target: str) -> tuple[Decode, Decode]:
    if kind == "f8f6f4":
        forms = []
        for name in ("cbsz", "blgp"):
            number = instruction.number(name)
            if not 0 <= number < len(_SIX):
                raise UnsupportedError(f"{name}:{number} names no format")
            forms.append(_small(_SIX[number]))
        return forms[0], forms[1]
    if kind in _PLAIN:
        return _PLAIN[kind], _PLAIN[kind]
    left, _, right = kind.partition("_")
    return _small(fp8_name(left, target)), _small(fp8_name(right, target))


def is_mfma(mnemonic: str) -> bool:
    """Whether this is a matrix instruction."""
    return mnemonic.startswith(("v_mfma_", "v_smfmac_"))


def passes(mnemonic: str, instruction: Instruction | None = None) -> int:
    """Passes (of four cycles) that a matrix instruction takes; 0 for other instructions."""
    match = _NAME.match(mnemonic)
    if match is None:
        if not mnemonic.startswith("v_smfmac_"):
            return 0
        return 8 if "_32x32x" in mnemonic else 4
    m, depth, kind = int(match[3]), int(match[5]), match[7]
    if kind == "f64" or m == 4:
        return {(4, True): 4, (4, False): 2}.get((m, kind == "f64"), 8)
    if kind == "f8f6f4":
        small = instruction is not None and all(
            instruction.number(n) >= 2 for n in ("cbsz", "blgp")
        )
        return (4 if small else 8) * (2 if m == 32 else 1)
    if kind == "f32":
        return 16 if m == 32 else 8
    blocks = int(match[6]) if match[6] else 1
    multi = blocks > 1 or (kind == "f16" and depth == 4)
    return (4 if m == 16 else 8) * (2 if multi else 1)


def is_xdl(mnemonic: str) -> bool:
    """Whether the instruction runs on the narrow-type unit (not fp32, not fp64)."""
    match = _NAME.match(mnemonic)
    return match is None or match[7] not in ("f32", "f64")


def is_double(mnemonic: str) -> bool:
    """Whether the products are of double precision."""
    return mnemonic.startswith("v_mfma_f64_")


def make_mfma(instruction: Instruction, target: str) -> Effect | None:
    """The effect of a matrix instruction, or None for other mnemonics."""
    if not is_mfma(instruction.mnemonic):
        return None
    if instruction.mnemonic.startswith("v_smfmac_"):
        return _make_sparse(instruction, target)
    match = _NAME.match(instruction.mnemonic)
    if match is None:
        raise UnsupportedError(f"the matrix instruction {instruction.mnemonic}")
    m, n, depth, kind = int(match[3]), int(match[4]), int(match[5]), match[7]
    if len(instruction.operands) != (6 if match[1] else 4) or m not in (4, 16, 32) or n != m:
        raise UnsupportedError(f"the operands of {instruction.mnemonic}")
    decode_a, decode_b = _decoders(instruction, kind, target)
    a, b = (_fragment(t) for t in instruction.operands[1:3])
    scales = _scales(instruction) if match[1] else None
    along = _along(instruction, m) if kind == "f8f6f4" else None
    broadcast = _broadcast(instruction, kind)
    to, count = rows(instruction.operands[0])
    addend = _addend(instruction.operands[3], kind)
    wide = kind == "f64"
    groups = LANES // m

    def effect(w: Wave) -> None:
        left, right = decode_a(a(w)), decode_b(b(w))
        if along is not None:
            left, right = along[0](left), along[1](right)
        if scales is not None:
            x, y = scales
            left, right = left * x(w), right * y(w)
        held = left.shape[0]
        blocks = groups * held // depth
        if blocks < 1 or groups % blocks or right.shape[0] != held:
            raise UnsupportedError(f"the register counts of {instruction.mnemonic}")
        layout = _multiplied(*broadcast(left, right, blocks), m, blocks, wide)
        if layout.shape[0] * (2 if wide else 1) != count:
            raise UnsupportedError(f"the destination of {instruction.mnemonic}")
        _store(w, to, layout, addend, match[2])

    return effect


_SPARSE = re.compile(r"v_smfmac_(f32|i32)_(\d+)x(\d+)x(\d+)_(f16|bf16|i8|(?:fp8|bf8)_(?:fp8|bf8))$")


def _make_sparse(instruction: Instruction, target: str) -> Effect:
    """``v_smfmac``: of four elements of A along K two are kept, and an index says which."""
    match = _SPARSE.match(instruction.mnemonic)
    if match is None or len(instruction.operands) != 4 or match[2] != match[3]:
        raise UnsupportedError(f"the matrix instruction {instruction.mnemonic}")
    m, depth, kind = int(match[2]), int(match[4]), match[5]
    if kind in _PLAIN:
        decode_a = decode_b = _PLAIN[kind]
    else:
        short, _, other = kind.partition("_")
        decode_a, decode_b = _small(fp8_name(short, target)), _small(fp8_name(other, target))
    a, b = (_fragment(t) for t in instruction.operands[1:3])
    index = rows(instruction.operands[3])[0]
    to, count = rows(instruction.operands[0])
    groups = LANES // m
    wholes = instruction.number("abid") if not instruction.number("cbsz") else 0

    def effect(w: Wave) -> None:
        kept, right = decode_a(a(w)), decode_b(b(w))
        held = kept.shape[0]
        if right.shape[0] != 2 * held or groups * 2 * held != depth:
            raise UnsupportedError(f"the register counts of {instruction.mnemonic}")
        sets = max(1, 16 // held)  # an element's place takes two bits: 32 bits hold so many sets
        start = 2 * held * (wholes % sets)
        left = np.zeros((2 * held, LANES), kept.dtype)
        lanes = np.arange(LANES)
        for element in range(held):
            place = (w.v[index] >> np.uint32(start + 2 * element) & np.uint32(3)).astype(np.int64)
            left[4 * (element // 2) + place, lanes] = kept[element]
        layout = _spread(_product(left, right, m, 1), m, False)
        if layout.shape[0] != count:
            raise UnsupportedError(f"the destination of {instruction.mnemonic}")
        _store(w, to, layout, lambda w, count: w.v[to : to + count].copy(), match[1])

    return effect


Pair = tuple[NDArray[Any], NDArray[Any]]


def _broadcast(
    instruction: Instruction, kind: str
) -> Callable[[NDArray[Any], NDArray[Any], int], Pair]:
    """``cbsz`` and ``abid`` give a block of A to its neighbours; ``blgp`` moves lanes of B.

    In double precision ``blgp`` (or ``neg``) are signs of the two factors and the addend.
    """
    size, chosen = instruction.number("cbsz"), instruction.number("abid")
    pattern = instruction.number("blgp")
    if kind == "f64":
        signs = instruction.bits("neg", 3) if instruction.flag("neg") else (
            pattern & 1, pattern >> 1 & 1, pattern >> 2 & 1
        )  # fmt: skip
        if signs[2]:
            raise UnsupportedError(f"{instruction.mnemonic} with a negated addend")
        a, b = (-1.0 if s else 1.0 for s in signs[:2])
        return lambda left, right, blocks: (left * a, right * b)
    if kind == "f8f6f4" or not (size or chosen or pattern):
        return lambda left, right, blocks: (left, right)
    lanes = np.arange(LANES)
    order = (
        lanes, lanes % 32, 32 + lanes % 32, (lanes + 16) % LANES,
        *(16 * quarter + lanes % 16 for quarter in range(4)),
    )[pattern & 7]  # fmt: skip

    def arrange(left: NDArray[Any], right: NDArray[Any], blocks: int) -> Pair:
        if 1 << size > blocks or chosen >= 1 << size:
            raise UnsupportedError(f"{instruction.mnemonic} with cbsz:{size} abid:{chosen}")
        block = np.arange(blocks)
        taken = (block & ~((1 << size) - 1)) + (chosen if size else 0)
        held = left.shape[0]
        if size:
            left = left.reshape(held, blocks, -1)[:, taken].reshape(held, LANES)
        else:
            left = left.reshape(held, LANES)
        return left, right[:, order]

    return arrange


def _along(instruction: Instruction, m: int) -> tuple[Arrange, Arrange]:
    """Elements of 8 bits lie in two halves along K; bring them into the order of the others.

    A lane holds 16 elements of the first half of K and 16 of the second. Elements of 6 and 4 bits
    are 32 in a row, and a scale is that of 32 in a row, whichever lanes hold them.
    """
    wide = [_SIX[instruction.number(n)] in ("e4m3", "e5m2") for n in ("cbsz", "blgp")]
    groups = LANES // m

    def arrange(held: NDArray[Any]) -> NDArray[Any]:
        if held.shape[0] != 32:
            raise UnsupportedError(f"the register counts of {instruction.mnemonic}")
        # [half, 16, group, row] to [group, 32, row]: K is half, group, 16 from outside to inside
        by_k = held.reshape(2, 16, groups, m).transpose(0, 2, 1, 3).reshape(groups, 32, m)
        return by_k.transpose(1, 0, 2).reshape(32, LANES)

    def keep(held: NDArray[Any]) -> NDArray[Any]:
        return held

    return (arrange if wide[0] else keep), (arrange if wide[1] else keep)


def _fragment(text: str) -> Callable[[Wave], Words]:
    first, count = rows(text)
    return lambda w: w.v[first : first + count]


def _product(left: NDArray[Any], right: NDArray[Any], m: int, blocks: int) -> NDArray[Any]:
    """``[blocks, m, m]`` products of fragments ``[element, lane]``."""
    held, groups = left.shape[0], LANES // m
    inner = groups // blocks
    a = left.reshape(held, blocks, inner, m).transpose(1, 3, 2, 0).reshape(blocks, m, inner * held)
    b = right.reshape(held, blocks, inner, m).transpose(1, 2, 0, 3).reshape(blocks, inner * held, m)
    result: NDArray[Any] = np.matmul(a, b)
    return result


def _multiplied(
    left: NDArray[Any], right: NDArray[Any], m: int, blocks: int, wide: bool
) -> NDArray[Any]:
    """Products as accumulator registers ``[register, lane]``."""
    if wide and m == 4:
        return _double_blocks(left, right)
    return _spread(_product(left, right, m, blocks), m, wide)


def _double_blocks(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Four products of 4x4 in double precision; lanes are K (or rows), blocks, rows (columns)."""
    a, b = left.reshape(4, 4, 4), right.reshape(4, 4, 4)  # [k, block, row], [k, block, column]
    result: NDArray[Any] = np.einsum("kbi,kbj->ibj", a, b).reshape(1, LANES)
    return result


def _spread(product: NDArray[Any], m: int, wide: bool) -> NDArray[Any]:
    """Products as accumulator registers ``[register, lane]``."""
    blocks = product.shape[0]
    groups = LANES // m
    if m == 4:
        return product.transpose(1, 0, 2).reshape(4, LANES)
    if wide:
        return product.reshape(m // groups, groups * m)
    cut = product.reshape(blocks, m // (4 * groups), groups, 4, m)
    return cut.transpose(0, 1, 3, 2, 4).reshape(-1, LANES)


def _addend(text: str, kind: str) -> Callable[[Wave, int], Words] | int:
    if is_vector(text):
        first, _ = rows(text)
        return lambda w, count: w.v[first : first + count]
    value = literal(text, "f64" if kind == "f64" else "b32")
    if value is None:
        raise UnsupportedError(f"{text!r} as the addend of a matrix instruction")
    return value


def _store(
    w: Wave, to: int, layout: NDArray[Any], addend: Callable[[Wave, int], Words] | int,
    result: str,
) -> None:  # fmt: skip
    registers = layout.shape[0]
    if result == "f64":
        total = layout
        if not isinstance(addend, int):
            total = layout + _double(addend(w, 2 * registers))
        elif addend:
            total = layout + np.array([addend], np.uint64).view(np.float64)
        bits = np.ascontiguousarray(total).view(np.uint64)
        w.v[to : to + 2 * registers : 2] = (bits & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        w.v[to + 1 : to + 2 * registers : 2] = (bits >> np.uint64(32)).astype(np.uint32)
        return
    if result == "i32":
        sums = layout.astype(np.int64)
        if not isinstance(addend, int):
            sums = sums + addend(w, registers).view(np.int32)
        else:
            sums = sums + addend
        w.v[to : to + registers] = (sums & 0xFFFFFFFF).astype(np.uint32)
        return
    if not isinstance(addend, int):
        w.f[to : to + registers] = layout + addend(w, registers).view(np.float32)
    elif addend:
        w.f[to : to + registers] = layout + np.array([addend], np.uint32).view(np.float32)
    else:
        w.f[to : to + registers] = layout


def _scales(
    instruction: Instruction,
) -> tuple[Callable[[Wave], Floats], Callable[[Wave], Floats]]:
    """Powers of two, one for the elements of every lane: a byte of a register each."""
    low, high = instruction.bits("op_sel", 2), instruction.bits("op_sel_hi", 2)
    return (
        _scale(instruction.operands[4], low[0] + 2 * high[0]),
        _scale(instruction.operands[5], low[1] + 2 * high[1]),
    )


def _scale(text: str, byte: int) -> Callable[[Wave], Floats]:
    shift, keep = np.uint32(8 * byte), np.uint32(0xFF)
    if is_vector(text):
        row, _ = rows(text)

        def read(w: Wave) -> Words:
            codes: Words = w.v[row] >> shift & keep
            return codes
    else:
        value = literal(text)
        if value is None:
            raise UnsupportedError(f"the scale {text!r}")
        # An inline float constant is an fp32 pattern; its exponent is what scales.
        code = value >> 23 & 0xFF if value > 255 else value >> int(shift) & 0xFF
        fixed = np.full(LANES, code, np.uint32)

        def read(w: Wave) -> Words:
            return fixed

    def scale(w: Wave) -> Floats:
        codes = read(w)
        powers = np.exp2(codes.astype(np.float64) - 127)
        return np.where(codes == 255, np.nan, powers).astype(np.float32)

    return scale
