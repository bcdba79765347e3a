"""Scalar instructions: a table from mnemonic to a maker of the effect on a wave."""

import operator
from collections.abc import Callable, Mapping

from warploom.check.amdgcn.operands import (
    literal,
    read_pair,
    read_scalar,
    write_pair,
    write_scalar,
)
from warploom.check.amdgcn.reader import Instruction
from warploom.check.amdgcn.state import MASK32, MASK64, Wave
from warploom.errors import UnsupportedCodeError as UnsupportedError

Effect = Callable[[Wave], None]
Make = Callable[[Instruction, Mapping[str, int]], Effect]


def signed(value: int) -> int:
    """A 32-bit pattern as a signed number."""
    return value - (1 << 32) if value >> 31 & 1 else value


def signed64(value: int) -> int:
    """A 64-bit pattern as a signed number."""
    return value - (1 << 64) if value >> 63 & 1 else value


def _short(text: str) -> int:
    value = (literal(text) or 0) & 0xFFFF
    return value - (1 << 16) if value >> 15 else value


def _read(kind: str, text: str, symbols: Mapping[str, int]) -> Callable[[Wave], int]:
    if kind == "s":
        return read_scalar(text, symbols)
    if kind == "p":
        return read_pair(text)
    value = _short(text) if kind == "k" else _short(text) & 0xFFFF
    return lambda w: value


_SCC: Mapping[str, Callable[[int], int]] = {
    "carry": lambda value: int(value >> 32 != 0),
    "borrow": lambda value: int(value < 0),
    "nonzero": lambda value: int(value & MASK32 != 0),
    "any": lambda value: int(value & MASK64 != 0),
}


def _op(
    compute: Callable[..., int],
    takes: str = "ss",
    *,
    to: str = "s",
    scc: str = "",
    first: int = 1,
    asks: bool = False,
) -> Make:
    """``dst = compute(*sources)``; ``asks``: SCC is the last source."""

    def make(instruction: Instruction, symbols: Mapping[str, int]) -> Effect:
        operands = instruction.operands
        if len(operands) < first + len(takes):
            raise UnsupportedError(f"{instruction.mnemonic} with {len(operands)} operands")
        write = (write_pair if to == "p" else write_scalar)(operands[0])
        sources = [_read(k, t, symbols) for k, t in zip(takes, operands[first:], strict=False)]
        flag = _SCC.get(scc)

        def effect(w: Wave) -> None:
            values = [read(w) for read in sources]
            value = compute(*values, w.scc) if asks else compute(*values)
            write(w, value)
            if flag is not None:
                w.scc = flag(value)

        return effect

    return make


def _overflow(compute: Callable[[int, int], int], *, short: bool = False) -> Make:
    """Signed addition or subtraction; SCC says that it overflowed."""

    def make(instruction: Instruction, symbols: Mapping[str, int]) -> Effect:
        write = write_scalar(instruction.operands[0])
        if short:
            a = read_scalar(instruction.operands[0])
            b = _read("k", instruction.operands[1], symbols)
        else:
            a = read_scalar(instruction.operands[1], symbols)
            b = read_scalar(instruction.operands[2], symbols)

        def effect(w: Wave) -> None:
            value = compute(signed(a(w) & MASK32), signed(b(w) & MASK32))
            write(w, value)
            w.scc = int(not -(1 << 31) <= value < 1 << 31)

        return effect

    return make


def _test(test: Callable[[int, int], bool], takes: str = "ss", *, sign: bool = False) -> Make:
    def make(instruction: Instruction, symbols: Mapping[str, int]) -> Effect:
        a = _read(takes[0], instruction.operands[0], symbols)
        b = _read(takes[1], instruction.operands[1], symbols)
        if sign:

            def compare(w: Wave) -> None:
                w.scc = int(test(signed(a(w)), signed(b(w) & MASK32)))

            return compare

        def effect(w: Wave) -> None:
            w.scc = int(test(a(w), b(w)))

        return effect

    return make


def _saveexec(compute: Callable[[int, int], int]) -> Make:
    """The mask is kept and replaced by a combination with the source."""

    def make(instruction: Instruction, symbols: Mapping[str, int]) -> Effect:
        write, source = write_pair(instruction.operands[0]), read_pair(instruction.operands[1])

        def effect(w: Wave) -> None:
            value, old = source(w), w.exec
            new = compute(value, old) & MASK64
            write(w, old)
            w.set_exec(new)
            w.scc = int(new != 0)

        return effect

    return make


def _field(value: int, at: int, width: int) -> int:
    return (value >> at) & ((1 << width) - 1)


def _signed_field(value: int, at: int, width: int) -> int:
    found = _field(value, at, width)
    return found - (1 << width) if width and found >> (width - 1) & 1 else found


def _reverse(value: int, width: int) -> int:
    return int(f"{value:0{width}b}"[::-1], 2)


def _first_one(value: int) -> int:
    return (value & -value).bit_length() - 1 if value else -1


def _leading(value: int, width: int) -> int:
    return width - value.bit_length() if value else -1


def _leading_sign(value: int, width: int = 32) -> int:
    """Leading bits equal to the sign bit; -1 where all are."""
    folded = value ^ ((1 << width) - 1 if value >> (width - 1) else 0)
    return width - folded.bit_length() if folded else -1


def _twice(value: int) -> int:
    """Every bit twice."""
    return sum(3 << 2 * at for at in range(32) if value >> at & 1)


def _any_of_four(value: int, width: int) -> int:
    """One bit for every four: whether one of them is set."""
    return sum(1 << at // 4 for at in range(0, width, 4) if value >> at & 0xF)


def _conditional_constant(instruction: Instruction, symbols: Mapping[str, int]) -> Effect:
    write, value = write_scalar(instruction.operands[0]), _short(instruction.operands[1])

    def effect(w: Wave) -> None:
        if w.scc:
            write(w, value)

    return effect


def _quads(value: int, width: int) -> int:
    return sum(0xF << at for at in range(0, width, 4) if value >> at & 0xF)


def _nothing(instruction: Instruction, symbols: Mapping[str, int]) -> Effect:
    return lambda w: None


_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "lg": operator.ne, "ne": operator.ne,
}  # fmt: skip
_LOGIC: Mapping[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: (a | ~b) & MASK64,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}


def _comparisons() -> dict[str, Make]:
    table: dict[str, Make] = {}
    for name, test in _COMPARE.items():
        table[f"s_cmp_{name}_u32"] = _test(test)
        table[f"s_cmp_{name}_i32"] = _test(test, sign=True)
        table[f"s_cmpk_{name}_u32"] = _test(test, "su")
        table[f"s_cmpk_{name}_i32"] = _test(test, "sk", sign=True)
        table[f"s_cmp_{name}_u64"] = _test(test, "pp")
    return table


def _logic() -> dict[str, Make]:
    table: dict[str, Make] = {}
    for name, compute in _LOGIC.items():
        table[f"s_{name}_b32"] = _op(compute, scc="nonzero")
        table[f"s_{name}_b64"] = _op(compute, "pp", to="p", scc="any")
        table[f"s_{name}_saveexec_b64"] = _saveexec(compute)
    table["s_andn1_saveexec_b64"] = _saveexec(lambda a, b: ~a & b)
    table["s_orn1_saveexec_b64"] = _saveexec(lambda a, b: ~a | b)
    return table


def _wrexec(compute: Callable[[int, int], int]) -> Make:
    def make(instruction: Instruction, symbols: Mapping[str, int]) -> Effect:
        write, source = write_pair(instruction.operands[0]), read_pair(instruction.operands[1])

        def effect(w: Wave) -> None:
            new = compute(source(w), w.exec) & MASK64
            write(w, new)
            w.set_exec(new)
            w.scc = int(new != 0)

        return effect

    return make


def _conditional_move(wide: bool) -> Make:
    def make(instruction: Instruction, symbols: Mapping[str, int]) -> Effect:
        write = (write_pair if wide else write_scalar)(instruction.operands[0])
        source = (read_pair if wide else read_scalar)(instruction.operands[1])

        def effect(w: Wave) -> None:
            if w.scc:
                write(w, source(w))

        return effect

    return make


def _pack(low: int, high: int) -> Make:
    return _op(lambda a, b: (a >> low & 0xFFFF) | (b >> high & 0xFFFF) << 16)


def _shift_add(by: int) -> Make:
    return _op(lambda a, b: (a << by) + b, scc="carry")


def _absolute(value: int) -> int:
    return abs(signed(value))


def _choose(pick: Callable[[int, int], bool]) -> Make:
    """Minimum or maximum; SCC says whether the first source was taken."""

    def make(instruction: Instruction, symbols: Mapping[str, int]) -> Effect:
        write = write_scalar(instruction.operands[0])
        a = read_scalar(instruction.operands[1], symbols)
        b = read_scalar(instruction.operands[2], symbols)

        def effect(w: Wave) -> None:
            x, y = a(w), b(w)
            first = pick(x, y)
            write(w, x if first else y)
            w.scc = int(first)

        return effect

    return make


SCALAR: Mapping[str, Make] = {
    **_comparisons(),
    **_logic(),
    "s_mov_b32": _op(lambda a: a, "s"),
    "s_mov_b64": _op(lambda a: a, "p", to="p"),
    "s_movk_i32": _op(lambda a: a, "k"),
    "s_cmov_b32": _conditional_move(False),
    "s_cmov_b64": _conditional_move(True),
    "s_add_u32": _op(lambda a, b: a + b, scc="carry"),
    "s_sub_u32": _op(lambda a, b: a - b, scc="borrow"),
    "s_add_i32": _overflow(lambda a, b: a + b),
    "s_sub_i32": _overflow(lambda a, b: a - b),
    "s_addk_i32": _overflow(lambda a, b: a + b, short=True),
    "s_mulk_i32": _op(lambda a, b: signed(a) * b, "sk", first=0),
    "s_addc_u32": _op(lambda a, b, scc: a + b + scc, scc="carry", asks=True),
    "s_subb_u32": _op(lambda a, b, scc: a - b - scc, scc="borrow", asks=True),
    "s_mul_i32": _op(lambda a, b: a * b),
    "s_mul_hi_u32": _op(lambda a, b: (a * b) >> 32),
    "s_mul_hi_i32": _op(lambda a, b: (signed(a) * signed(b)) >> 32),
    "s_lshl_b32": _op(lambda a, b: a << (b & 31), scc="nonzero"),
    "s_lshr_b32": _op(lambda a, b: a >> (b & 31), scc="nonzero"),
    "s_ashr_i32": _op(lambda a, b: signed(a) >> (b & 31), scc="nonzero"),
    "s_lshl_b64": _op(lambda a, b: a << (b & 63) & MASK64, "ps", to="p", scc="any"),
    "s_lshr_b64": _op(lambda a, b: a >> (b & 63), "ps", to="p", scc="any"),
    "s_ashr_i64": _op(lambda a, b: signed64(a) >> (b & 63), "ps", to="p", scc="any"),
    "s_lshl1_add_u32": _shift_add(1),
    "s_lshl2_add_u32": _shift_add(2),
    "s_lshl3_add_u32": _shift_add(3),
    "s_lshl4_add_u32": _shift_add(4),
    "s_bfe_u32": _op(lambda a, b: _field(a, b & 31, b >> 16 & 127), scc="nonzero"),
    "s_bfe_i32": _op(lambda a, b: _signed_field(a, b & 31, b >> 16 & 127), scc="nonzero"),
    "s_bfe_u64": _op(lambda a, b: _field(a, b & 63, b >> 16 & 127), "ps", to="p", scc="any"),
    "s_bfe_i64": _op(lambda a, b: _signed_field(a, b & 63, b >> 16 & 127), "ps", to="p", scc="any"),
    "s_bfm_b32": _op(lambda a, b: ((1 << (a & 31)) - 1) << (b & 31)),
    "s_bfm_b64": _op(lambda a, b: ((1 << (a & 63)) - 1) << (b & 63), to="p"),
    "s_min_u32": _choose(lambda a, b: a < b),
    "s_max_u32": _choose(lambda a, b: a > b),
    "s_min_i32": _choose(lambda a, b: signed(a) < signed(b)),
    "s_max_i32": _choose(lambda a, b: signed(a) > signed(b)),
    "s_abs_i32": _op(_absolute, "s", scc="nonzero"),
    "s_absdiff_i32": _op(lambda a, b: abs(signed(a) - signed(b)), scc="nonzero"),
    "s_not_b32": _op(lambda a: ~a, "s", scc="nonzero"),
    "s_not_b64": _op(lambda a: ~a, "p", to="p", scc="any"),
    "s_brev_b32": _op(lambda a: _reverse(a, 32), "s"),
    "s_brev_b64": _op(lambda a: _reverse(a, 64), "p", to="p"),
    "s_wqm_b64": _op(lambda a: _quads(a, 64), "p", to="p", scc="any"),
    "s_wqm_b32": _op(lambda a: _quads(a, 32), "s", scc="nonzero"),
    "s_sext_i32_i8": _op(lambda a: _signed_field(a, 0, 8), "s"),
    "s_sext_i32_i16": _op(lambda a: _signed_field(a, 0, 16), "s"),
    "s_bcnt0_i32_b32": _op(lambda a: (~a & MASK32).bit_count(), "s", scc="nonzero"),
    "s_bcnt1_i32_b32": _op(lambda a: a.bit_count(), "s", scc="nonzero"),
    "s_bcnt0_i32_b64": _op(lambda a: (~a & MASK64).bit_count(), "p", scc="nonzero"),
    "s_bcnt1_i32_b64": _op(lambda a: a.bit_count(), "p", scc="nonzero"),
    "s_ff1_i32_b32": _op(_first_one, "s"),
    "s_ff1_i32_b64": _op(_first_one, "p"),
    "s_ff0_i32_b32": _op(lambda a: _first_one(~a & MASK32), "s"),
    "s_ff0_i32_b64": _op(lambda a: _first_one(~a & MASK64), "p"),
    "s_flbit_i32_b32": _op(lambda a: _leading(a, 32), "s"),
    "s_flbit_i32_b64": _op(lambda a: _leading(a, 64), "p"),
    "s_flbit_i32": _op(_leading_sign, "s"),
    "s_cselect_b32": _op(lambda a, b, scc: a if scc else b, asks=True),
    "s_cselect_b64": _op(lambda a, b, scc: a if scc else b, "pp", to="p", asks=True),
    "s_bitcmp0_b32": _test(lambda a, b: not a >> (b & 31) & 1),
    "s_bitcmp1_b32": _test(lambda a, b: bool(a >> (b & 31) & 1)),
    "s_bitcmp0_b64": _test(lambda a, b: not a >> (b & 63) & 1, "ps"),
    "s_bitcmp1_b64": _test(lambda a, b: bool(a >> (b & 63) & 1), "ps"),
    "s_bitset0_b32": _op(lambda old, at: old & ~(1 << (at & 31)), first=0),
    "s_bitset1_b32": _op(lambda old, at: old | 1 << (at & 31), first=0),
    "s_bitset0_b64": _op(lambda old, at: old & ~(1 << (at & 63)), "ps", to="p", first=0),
    "s_bitset1_b64": _op(lambda old, at: old | 1 << (at & 63), "ps", to="p", first=0),
    "s_cmovk_i32": _conditional_constant,
    "s_flbit_i32_i64": _op(lambda a: _leading_sign(a, 64), "p"),
    "s_bitreplicate_b64_b32": _op(_twice, "s", to="p"),
    "s_quadmask_b32": _op(lambda a: _any_of_four(a, 32), "s", scc="nonzero"),
    "s_quadmask_b64": _op(lambda a: _any_of_four(a, 64), "p", to="p", scc="any"),
    "s_pack_ll_b32_b16": _pack(0, 0),
    "s_pack_lh_b32_b16": _pack(0, 16),
    "s_pack_hh_b32_b16": _pack(16, 16),
    "s_andn2_wrexec_b64": _wrexec(lambda a, b: a & ~b),
    "s_andn1_wrexec_b64": _wrexec(lambda a, b: ~a & b),
    **dict.fromkeys(
        [
            "s_nop",
            "s_setprio",
            "s_sleep",
            "s_sethalt",
            "s_inst_prefetch",
            "s_clause",
            "s_ttracedata",
            "s_icache_inv",
            "s_incperflevel",
            "s_decperflevel",
            "s_code_end",
        ],
        _nothing,
    ),
}  # fmt: skip
