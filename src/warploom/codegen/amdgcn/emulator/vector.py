"""Scalar and vector instructions: tables from mnemonic to a maker of the effect on a wave."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.codegen.amdgcn.emulator.operands import (
    LANES,
    MASK32,
    EmulationError,
    Wave,
    Words,
    literal,
    read_pair,
    read_scalar,
    read_vector,
    register,
    vector_rows,
    write_pair,
    write_scalar,
)

Effect = Callable[[Wave], None]
MakeScalar = Callable[[Sequence[str]], Effect]
MASK64 = 0xFFFFFFFFFFFFFFFF


def signed(value: int) -> int:
    """A 32-bit pattern as a signed number."""
    return value - (1 << 32) if value >> 31 else value


def _short(text: str) -> int:
    value = (literal(text) or 0) & 0xFFFF
    return value - (1 << 16) if value >> 15 else value


def _constant(text: str) -> Callable[[Wave], int]:
    value = _short(text)
    return lambda w: value


_READ: Mapping[str, Callable[[str], Callable[[Wave], int]]] = {
    "s": read_scalar, "p": read_pair, "k": _constant
}  # fmt: skip
_SCC: Mapping[str, Callable[[int], bool]] = {
    "carry": lambda value: bool(value >> 32 & 1),
    "borrow": lambda value: value < 0,
    "nonzero": lambda value: value & MASK32 != 0,
    "any": lambda value: value & MASK64 != 0,
}


def _op(
    compute: Callable[..., int], takes: str = "ss", *, scc: str = "", first: int = 1, asks: int = 0
) -> MakeScalar:
    """``dst = compute(*sources)``.

    ``takes``: registers (``s``), pairs (``p``, which make a pair) or 16-bit constants (``k``) from
    operand ``first`` on. ``scc`` says what the bit becomes, if anything; ``asks``: it is the last
    source.
    """

    def make(operands: Sequence[str]) -> Effect:
        write = (write_pair if "p" in takes else write_scalar)(operands[0])
        sources = [_READ[k](text) for k, text in zip(takes, operands[first:], strict=False)]

        def effect(w: Wave) -> None:
            value = compute(*(read(w) for read in sources), *[w.scc] * asks)
            write(w, value)
            if scc:
                w.scc = int(_SCC[scc](value))

        return effect

    return make


def _compare(test: Callable[[int, int], bool]) -> MakeScalar:
    def make(operands: Sequence[str]) -> Effect:
        a, b = read_scalar(operands[0]), read_scalar(operands[1])

        def effect(w: Wave) -> None:
            w.scc = int(test(a(w), b(w)))

        return effect

    return make


def _nothing(operands: Sequence[str]) -> Effect:
    return lambda w: None


_SCALAR_TESTS: Mapping[str, Callable[[int, int], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "lg": operator.ne,
}


def _comparisons() -> dict[str, MakeScalar]:
    """``s_cmp`` and ``s_cmpk`` of every test, signed and unsigned."""
    table: dict[str, MakeScalar] = {}
    for name, test in _SCALAR_TESTS.items():
        for short in ("", "k"):
            table[f"s_cmp{short}_{name}_u32"] = _compare(test)
            table[f"s_cmp{short}_{name}_i32"] = _compare(_signed_word(test, short=bool(short)))
    return table


def _signed_word(test: Callable[[int, int], bool], *, short: bool) -> Callable[[int, int], bool]:
    """The test on signed numbers; the second one has 16 bits in the short form."""
    return lambda a, b: test(signed(a), _short(str(b)) if short else signed(b))


SCALAR: Mapping[str, MakeScalar] = {
    **_comparisons(),
    "s_mov_b32": _op(lambda a: a, "s"),
    "s_movk_i32": _op(lambda a: a, "k"),
    "s_mov_b64": _op(lambda a: a, "p"),
    "s_add_i32": _op(lambda a, b: a + b, scc="carry"),
    "s_add_u32": _op(lambda a, b: a + b, scc="carry"),
    "s_addc_u32": _op(lambda a, b, scc: a + b + scc, scc="carry", asks=1),
    "s_addk_i32": _op(lambda a, b: a + b, "sk", first=0),
    "s_mulk_i32": _op(lambda a, b: a * b, "sk", first=0),
    "s_sub_i32": _op(lambda a, b: a - b, scc="borrow"),
    "s_sub_u32": _op(lambda a, b: a - b, scc="borrow"),
    "s_mul_i32": _op(lambda a, b: a * b),
    "s_mul_hi_u32": _op(lambda a, b: (a * b) >> 32),
    "s_mul_hi_i32": _op(lambda a, b: (signed(a) * signed(b)) >> 32),
    "s_lshl_b32": _op(lambda a, b: a << (b & 31), scc="nonzero"),
    "s_lshr_b32": _op(lambda a, b: a >> (b & 31), scc="nonzero"),
    "s_ashr_i32": _op(lambda a, b: signed(a) >> (b & 31), scc="nonzero"),
    "s_and_b32": _op(lambda a, b: a & b, scc="nonzero"),
    "s_or_b32": _op(lambda a, b: a | b, scc="nonzero"),
    "s_xor_b32": _op(lambda a, b: a ^ b, scc="nonzero"),
    "s_andn2_b32": _op(lambda a, b: a & ~b, scc="nonzero"),
    "s_bfe_u32": _op(lambda a, b: (a >> (b & 31)) & ((1 << (b >> 16 & 127)) - 1), scc="nonzero"),
    "s_min_u32": _op(min),
    "s_max_u32": _op(max),
    "s_min_i32": _op(lambda a, b: min(a, b, key=signed)),
    "s_max_i32": _op(lambda a, b: max(a, b, key=signed)),
    "s_and_b64": _op(lambda a, b: a & b, "pp", scc="any"),
    "s_or_b64": _op(lambda a, b: a | b, "pp", scc="any"),
    "s_andn2_b64": _op(lambda a, b: a & ~b, "pp", scc="any"),
    "s_xor_b64": _op(lambda a, b: a ^ b, "pp", scc="any"),
    "s_lshl_b64": _op(lambda a, b: (a << (b & 63)) & MASK64, "ps", scc="any"),
    "s_cselect_b32": _op(lambda a, b, scc: a if scc else b, asks=1),
    "s_cselect_b64": _op(lambda a, b, scc: a if scc else b, "pp", asks=1),
    "s_bitcmp0_b32": _compare(lambda a, b: not a >> (b & 31) & 1),
    "s_bitcmp1_b32": _compare(lambda a, b: bool(a >> (b & 31) & 1)),
    "s_brev_b32": _op(lambda a: int(f"{a & MASK32:032b}"[::-1], 2), "s"),
    "s_bitset0_b32": _op(lambda old, at: old & ~(1 << (at & 31)), first=0),
    "s_bitset1_b32": _op(lambda old, at: old | 1 << (at & 31), first=0),
    "s_nop": _nothing,
    "s_setprio": _nothing,
    "s_sleep": _nothing,
}


Make = Callable[[Sequence[str], Sequence[str]], Effect]
Reader = Callable[[str], Callable[[Wave], NDArray[Any]]]

_ALL = (1 << LANES) - 1
_U31 = np.uint32(31)
_24 = np.uint32(0xFFFFFF)
_32 = np.uint64(32)
_BITS = np.arange(LANES, dtype=np.uint64)


def put(w: Wave, file: str, row: int, value: Words) -> None:
    """Write one register; lanes that are switched off keep theirs."""
    rows = w.v if file == "v" else w.a
    if w.exec == _ALL:
        rows[row] = value
    else:
        mask = lanes_of(w.exec)
        rows[row][mask] = np.broadcast_to(value, (LANES,))[mask]


def lanes_of(mask: int) -> NDArray[np.bool_]:
    """A 64-bit mask as one truth value a lane."""
    return (np.uint64(mask) >> _BITS & np.uint64(1)).astype(bool)


def mask_of(lanes: NDArray[np.bool_]) -> int:
    """The reverse."""
    return int(np.bitwise_or.reduce(np.where(lanes, np.uint64(1) << _BITS, np.uint64(0))))


def computed(
    compute: Callable[..., Words], read: Reader = read_vector, *, into: bool = False
) -> Make:
    """``dst = compute(*sources)``; ``into``: the destination is the last source, too."""

    def make(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
        file, row, _ = vector_rows(operands[0])
        sources = [read(text) for text in (*operands[1:], *(operands[:1] if into else ()))]
        return lambda w: put(w, file, row, compute(*(value(w) for value in sources)))

    return make


def _bitop3(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
    table = next(int(m[7:], 0) for m in modifiers if m.startswith("bitop3:"))

    def compute(a: Words, b: Words, c: Words) -> Words:
        result = np.zeros(LANES, np.uint32)
        for index in range(8):
            if table >> index & 1:
                x, y, z = a if index & 4 else ~a, b if index & 2 else ~b, c if index & 1 else ~c
                result |= x & y & z
        return result

    return computed(compute)(operands[:4], modifiers)


def _map_wide(compute: Callable[..., NDArray[np.uint64]], takes: str, first: int = 1) -> Make:
    """``dst = compute(*sources)`` on 64 bits, of registers (``v``) and pairs (``w``)."""

    def make(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
        file, row, _ = vector_rows(operands[0])
        texts = list(zip(takes, operands[first:], strict=False))
        low = [read_vector(text) for _, text in texts]
        high = [read_vector(text, 1) if kind == "w" else None for kind, text in texts]

        def effect(w: Wave) -> None:
            sources = [
                a(w).astype(np.uint64) | (b(w).astype(np.uint64) << _32 if b else np.uint64(0))
                for a, b in zip(low, high, strict=True)
            ]
            value = compute(*sources)
            put(w, file, row, (value & np.uint64(0xFFFFFFFF)).astype(np.uint32))
            put(w, file, row + 1, (value >> _32).astype(np.uint32))

        return effect

    return make


def compared(test: Callable[..., NDArray[np.bool_]], read: Reader = read_vector) -> Make:
    """A mask of the lanes in which ``test`` holds for both sources."""

    def make(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
        write, a, b = write_pair(operands[0]), read(operands[1]), read(operands[2])
        return lambda w: write(w, mask_of(np.broadcast_to(test(a(w), b(w)), (LANES,))) & w.exec)

    return make


def _select(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
    file, row, _ = vector_rows(operands[0])
    a, b, chosen = read_vector(operands[1]), read_vector(operands[2]), read_pair(operands[3])
    return lambda w: put(w, file, row, np.where(lanes_of(chosen(w)), b(w), a(w)))


def _first_lane(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
    file, to, _ = register(operands[0])
    if file != "s":
        raise EmulationError("v_readfirstlane writes a scalar register")
    read = read_vector(operands[1])

    def effect(w: Wave) -> None:
        lane = (w.exec & -w.exec).bit_length() - 1 if w.exec else 0
        w.s[to] = int(read(w)[lane])

    return effect


def _swap_halves(operands: Sequence[str], modifiers: Sequence[str]) -> Effect:
    """``v_permlane32_swap_b32 a, b``: the upper half of a and the lower half of b change places."""
    rows = [vector_rows(text)[:2] for text in operands[:2]]
    if modifiers:
        raise EmulationError(f"v_permlane32_swap with {' '.join(modifiers)} is not known")

    def effect(w: Wave) -> None:
        if w.exec != _ALL:
            raise EmulationError("v_permlane32_swap with lanes switched off")
        a, b = ((w.v if file == "v" else w.a)[row].copy() for file, row in rows)
        half = LANES // 2
        put(w, *rows[0], np.concatenate([a[:half], b[:half]]))
        put(w, *rows[1], np.concatenate([a[half:], b[half:]]))

    return effect


def _reverse_bits(a: Words) -> Words:
    result = np.zeros_like(a)
    for bit in range(32):
        result |= (a >> np.uint32(bit) & np.uint32(1)) << np.uint32(31 - bit)
    return result


def _field(a: Words, at: Words, width: Words) -> Words:
    wide = (np.uint64(1) << (width & _U31).astype(np.uint64)) - np.uint64(1)
    mask: Words = wide.astype(np.uint32)
    return (a >> (at & _U31)) & mask


def _signed(a: Words) -> NDArray[np.int32]:
    return a.astype(np.uint32).view(np.int32)


def _of_signed(test: Callable[..., NDArray[np.bool_]]) -> Callable[..., NDArray[np.bool_]]:
    return lambda a, b: test(_signed(a), _signed(b))


_TESTS = ("gt", "lt", "ge", "le", "eq", "ne")
VECTOR: Mapping[str, Make] = {
    "v_mov_b32": computed(np.copy),
    "v_mov_b64": _map_wide(lambda a: a, "w"),
    "v_accvgpr_mov_b32": computed(np.copy),
    "v_accvgpr_read_b32": computed(np.copy),
    "v_accvgpr_write_b32": computed(np.copy),
    "v_add_u32": computed(lambda a, b: a + b),
    "v_sub_u32": computed(lambda a, b: a - b),
    "v_subrev_u32": computed(lambda a, b: b - a),
    "v_add3_u32": computed(lambda a, b, c: a + b + c),
    "v_and_b32": computed(lambda a, b: a & b),
    "v_or_b32": computed(lambda a, b: a | b),
    "v_xor_b32": computed(lambda a, b: a ^ b),
    "v_or3_b32": computed(lambda a, b, c: a | b | c),
    "v_and_or_b32": computed(lambda a, b, c: a & b | c),
    "v_not_b32": computed(lambda a: ~a),
    "v_xad_u32": computed(lambda a, b, c: (a ^ b) + c),
    "v_lshlrev_b32": computed(lambda a, b: b << (a & _U31)),
    "v_lshrrev_b32": computed(lambda a, b: b >> (a & _U31)),
    "v_lshl_add_u32": computed(lambda a, b, c: (a << (b & _U31)) + c),
    "v_lshl_or_b32": computed(lambda a, b, c: a << (b & _U31) | c),
    "v_add_lshl_u32": computed(lambda a, b, c: (a + b) << (c & _U31)),
    "v_mul_lo_u32": computed(lambda a, b: a * b),
    "v_mul_u32_u24": computed(lambda a, b: (a & _24) * (b & _24)),
    "v_mad_u32_u24": computed(lambda a, b, c: (a & _24) * (b & _24) + c),
    "v_bfi_b32": computed(lambda a, b, c: a & b | ~a & c),
    "v_bfe_u32": computed(_field),
    "v_bfrev_b32": computed(_reverse_bits),
    "v_min_u32": computed(np.minimum),
    "v_max_u32": computed(np.maximum),
    "v_min_i32": computed(lambda a, b: np.minimum(_signed(a), _signed(b)).view(np.uint32)),
    "v_max_i32": computed(lambda a, b: np.maximum(_signed(a), _signed(b)).view(np.uint32)),
    "v_bitop3_b32": _bitop3,
    "v_mad_u64_u32": _map_wide(lambda a, b, c: a * b + c, "vvw", 2),  # the carry is not needed
    "v_lshl_add_u64": _map_wide(lambda a, by, c: (a << by) + c, "wvw"),
    "v_lshlrev_b64": _map_wide(lambda by, a: a << (by & np.uint64(63)), "vw"),
    "v_cndmask_b32": _select,
    **{f"v_cmp_{name}_u32": compared(getattr(operator, name)) for name in _TESTS},
    **{f"v_cmp_{name}_i32": compared(_of_signed(getattr(operator, name))) for name in _TESTS},
    "v_readfirstlane_b32": _first_lane,
    "v_permlane32_swap_b32": _swap_halves,
}
