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
) -> Make:
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


def _compare(test: Callable[[int, int], bool]) -> Make:
    def make(operands: Sequence[str]) -> Effect:
        a, b = read_scalar(operands[0]), read_scalar(operands[1])

        def effect(w: Wave) -> None:
            w.scc = int(test(a(w), b(w)))

        return effect

    return make


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
