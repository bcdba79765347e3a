"""Scalar instructions: a table from mnemonic to a maker of the instruction's effect."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from warploom.emit.gfx950.emulator.operands import (
    MASK32,
    literal,
    read_pair,
    read_scalar,
    write_pair,
    write_scalar,
)
from warploom.emit.gfx950.emulator.wave import Wave

Effect = Callable[[Wave], None]
Make = Callable[[Sequence[str]], Effect]


def signed(value: int) -> int:
    """A 32-bit pattern as a signed number."""
    return value - (1 << 32) if value >> 31 else value


def _two(compute: Callable[[int, int], int], *, scc: str = "") -> Make:
    """``dst = compute(a, b)``; ``scc`` is set on ``carry`` (of a sum), ``nonzero`` or left."""

    def make(operands: Sequence[str]) -> Effect:
        write, a, b = write_scalar(operands[0]), read_scalar(operands[1]), read_scalar(operands[2])

        def effect(w: Wave) -> None:
            value = compute(a(w), b(w))
            write(w, value)
            if scc == "carry":
                w.scc = value >> 32 & 1
            elif scc == "nonzero":
                w.scc = int(value & MASK32 != 0)

        return effect

    return make


def _move(operands: Sequence[str]) -> Effect:
    write, a = write_scalar(operands[0]), read_scalar(operands[1])
    return lambda w: write(w, a(w))


def _move_short(operands: Sequence[str]) -> Effect:
    write, value = write_scalar(operands[0]), _short(operands[1])
    return lambda w: write(w, value)


def _add_short(operands: Sequence[str]) -> Effect:
    write, a, value = write_scalar(operands[0]), read_scalar(operands[0]), _short(operands[1])
    return lambda w: write(w, a(w) + value)


def _mul_short(operands: Sequence[str]) -> Effect:
    write, a, value = write_scalar(operands[0]), read_scalar(operands[0]), _short(operands[1])
    return lambda w: write(w, a(w) * value)


def _short(text: str) -> int:
    value = (literal(text) or 0) & 0xFFFF
    return value - (1 << 16) if value >> 15 else value


def _add_carry(operands: Sequence[str]) -> Effect:
    write, a, b = write_scalar(operands[0]), read_scalar(operands[1]), read_scalar(operands[2])

    def effect(w: Wave) -> None:
        value = a(w) + b(w) + w.scc
        w.scc = value >> 32 & 1
        write(w, value)

    return effect


def _subtract(operands: Sequence[str]) -> Effect:
    write, a, b = write_scalar(operands[0]), read_scalar(operands[1]), read_scalar(operands[2])

    def effect(w: Wave) -> None:
        x, y = a(w), b(w)
        w.scc = int(x < y)
        write(w, x - y)

    return effect


def _move_pair(operands: Sequence[str]) -> Effect:
    write, a = write_pair(operands[0]), read_pair(operands[1])
    return lambda w: write(w, a(w))


def _two_pairs(compute: Callable[[int, int], int]) -> Make:
    def make(operands: Sequence[str]) -> Effect:
        write, a, b = write_pair(operands[0]), read_pair(operands[1]), read_pair(operands[2])

        def effect(w: Wave) -> None:
            value = compute(a(w), b(w))
            write(w, value)
            w.scc = int(value & 0xFFFFFFFFFFFFFFFF != 0)

        return effect

    return make


def _shift_pair(operands: Sequence[str]) -> Effect:
    write, a, b = write_pair(operands[0]), read_pair(operands[1]), read_scalar(operands[2])

    def effect(w: Wave) -> None:
        value = (a(w) << (b(w) & 63)) & 0xFFFFFFFFFFFFFFFF
        w.scc = int(value != 0)
        write(w, value)

    return effect


def _reverse(operands: Sequence[str]) -> Effect:
    write, a = write_scalar(operands[0]), read_scalar(operands[1])
    return lambda w: write(w, int(f"{a(w) & 0xFFFFFFFF:032b}"[::-1], 2))


def _set_bit(*, to: int) -> Make:
    def make(operands: Sequence[str]) -> Effect:
        write, old, at = (
            write_scalar(operands[0]),
            read_scalar(operands[0]),
            read_scalar(operands[1]),
        )

        def effect(w: Wave) -> None:
            bit = 1 << (at(w) & 31)
            write(w, old(w) | bit if to else old(w) & ~bit)

        return effect

    return make


def _compare(test: Callable[[int, int], bool]) -> Make:
    def make(operands: Sequence[str]) -> Effect:
        a, b = read_scalar(operands[0]), read_scalar(operands[1])

        def effect(w: Wave) -> None:
            w.scc = int(test(a(w), b(w)))

        return effect

    return make


def _select(operands: Sequence[str]) -> Effect:
    write, a, b = write_scalar(operands[0]), read_scalar(operands[1]), read_scalar(operands[2])
    return lambda w: write(w, a(w) if w.scc else b(w))


def _select_pair(operands: Sequence[str]) -> Effect:
    write, a, b = write_pair(operands[0]), read_pair(operands[1]), read_pair(operands[2])
    return lambda w: write(w, a(w) if w.scc else b(w))


def _nothing(operands: Sequence[str]) -> Effect:
    return lambda w: None


_TESTS: Mapping[str, Callable[[int, int], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "lg": operator.ne,
}


def _comparisons() -> dict[str, Make]:
    """``s_cmp`` and ``s_cmpk`` of every test, signed and unsigned."""
    table: dict[str, Make] = {}
    for name, test in _TESTS.items():
        for short in ("", "k"):
            table[f"s_cmp{short}_{name}_u32"] = _compare(test)
            table[f"s_cmp{short}_{name}_i32"] = _compare(_signed(test, short=bool(short)))
    return table


def _signed(test: Callable[[int, int], bool], *, short: bool) -> Callable[[int, int], bool]:
    """The test on signed numbers; the second one has 16 bits in the short form."""
    return lambda a, b: test(signed(a), _short(str(b)) if short else signed(b))


SCALAR: Mapping[str, Make] = {
    **_comparisons(),
    "s_mov_b32": _move,
    "s_movk_i32": _move_short,
    "s_mov_b64": _move_pair,
    "s_add_i32": _two(lambda a, b: a + b, scc="carry"),
    "s_add_u32": _two(lambda a, b: a + b, scc="carry"),
    "s_addc_u32": _add_carry,
    "s_addk_i32": _add_short,
    "s_mulk_i32": _mul_short,
    "s_sub_i32": _subtract,
    "s_sub_u32": _subtract,
    "s_mul_i32": _two(lambda a, b: a * b),
    "s_mul_hi_u32": _two(lambda a, b: (a * b) >> 32),
    "s_mul_hi_i32": _two(lambda a, b: (signed(a) * signed(b)) >> 32),
    "s_lshl_b32": _two(lambda a, b: a << (b & 31), scc="nonzero"),
    "s_lshr_b32": _two(lambda a, b: a >> (b & 31), scc="nonzero"),
    "s_ashr_i32": _two(lambda a, b: signed(a) >> (b & 31), scc="nonzero"),
    "s_and_b32": _two(lambda a, b: a & b, scc="nonzero"),
    "s_or_b32": _two(lambda a, b: a | b, scc="nonzero"),
    "s_xor_b32": _two(lambda a, b: a ^ b, scc="nonzero"),
    "s_andn2_b32": _two(lambda a, b: a & ~b, scc="nonzero"),
    "s_bfe_u32": _two(lambda a, b: (a >> (b & 31)) & ((1 << (b >> 16 & 127)) - 1), scc="nonzero"),
    "s_min_u32": _two(min),
    "s_max_u32": _two(max),
    "s_min_i32": _two(lambda a, b: min(a, b, key=signed)),
    "s_max_i32": _two(lambda a, b: max(a, b, key=signed)),
    "s_and_b64": _two_pairs(lambda a, b: a & b),
    "s_or_b64": _two_pairs(lambda a, b: a | b),
    "s_andn2_b64": _two_pairs(lambda a, b: a & ~b),
    "s_xor_b64": _two_pairs(lambda a, b: a ^ b),
    "s_lshl_b64": _shift_pair,
    "s_cselect_b32": _select,
    "s_cselect_b64": _select_pair,
    "s_bitcmp0_b32": _compare(lambda a, b: not a >> (b & 31) & 1),
    "s_bitcmp1_b32": _compare(lambda a, b: bool(a >> (b & 31) & 1)),
    "s_brev_b32": _reverse,
    "s_bitset0_b32": _set_bit(to=0),
    "s_bitset1_b32": _set_bit(to=1),
    "s_nop": _nothing,
    "s_setprio": _nothing,
    "s_sleep": _nothing,
}
