"""Numbers, functions and casts of a kernel as CUDA expressions."""

from __future__ import annotations

from warploom.codegen.cuda.device import device
from warploom.ir.elementwise import ELEMENTWISE, REDUCTIONS
from warploom.ir.tile import DType, Fn

BINARY = {fn: row.symbol for fn, row in ELEMENTWISE.items() if row.symbol and not row.cuda}


def read_element(dtype: DType, place: str) -> str:
    """An element of memory as a number of the source."""
    convert = {DType.BF16: "from_bf16", DType.F16: "from_f16"}
    return f"{device[convert[dtype]]}({place})" if dtype in convert else place


def written_element(dtype: DType, text: str) -> str:
    """A number of the source as an element of memory: rounded, whole numbers of 8 bits held."""
    if dtype is DType.I8:
        return f"(signed char)min(max((int)({text}), -128), 127)"
    convert = {t: f"to_{t}" for t in (DType.BF16, DType.F16, DType.E4M3, DType.E5M2)}
    return f"{device[convert[dtype]] if dtype in convert else ''}({text})"


def number(value: float | int | bool, dtype: DType) -> str:
    """A constant."""
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if dtype is DType.I32:
        whole = (int(value) + 2**31) % 2**32 - 2**31
        return str(whole) if whole > -(2**31) else f"({whole + 1} - 1)"
    if value in (float("inf"), float("-inf")):
        return f"__int_as_float(0x{'7' if value > 0 else 'f'}f800000)"
    if value != value:  # noqa: PLR0124 (only NaN differs from itself)
        return "__int_as_float(0x7fffffff)"
    return f"{float(value)!r}f"


IDENTITY = {  # of a reduction, of floats or of whole numbers
    (fn, whole): number(row.identity_int, DType.I32) if whole else number(row.identity, DType.F32)
    for fn, row in REDUCTIONS.items()
    for whole in (False, True)
}
COMBINE = {
    (fn, whole): row.cuda_int if whole else row.cuda
    for fn, row in REDUCTIONS.items()
    for whole in (False, True)
}


def pointwise(
    fn: Fn,
    args: list[str],
    dtype: DType,
    types: list[DType],
    *,
    once: bool = False,
    by: float | None = None,
) -> str:
    """A function of expressions; ``once``: of a number, which may be computed outside a loop.

    ``by``: the second argument, where it is a constant.
    """
    by = by if by is not None and by >= 0 else None
    whole = all(t in (DType.I32, DType.BOOL) for t in types)
    if fn is Fn.SHR and by is None:
        return f"{device.shifted_right}({args[0]}, {args[1]})"
    if fn in (Fn.FLOORDIV, Fn.MOD):
        return _rounded_down(fn, args[0], args[1], int(by or 0))
    if fn in BINARY:
        return f"({args[0]} {BINARY[fn]} {args[1]})"
    if fn is Fn.CAST:
        return _cast(args[0], dtype, types[0])
    if once and fn in ONCE:
        device.note("exp2_once")
        return ONCE[fn].format(args[0])
    row = ELEMENTWISE[fn]
    device.note(*row.cuda_calls)
    return (row.cuda_int if whole and row.cuda_int else row.cuda).format(*args)


def wrapped(fn: Fn, args: list[str]) -> str:
    """Sums, differences and products of whole numbers that wrap at 32 bits: C++ leaves open what
    signed ones do.
    """
    if fn is Fn.NEG:
        return f"(int)(0u - (unsigned)({args[0]}))"
    return f"(int)((unsigned)({args[0]}) {BINARY[fn]} (unsigned)({args[1]}))"


def _rounded_down(fn: Fn, a: str, b: str, by: int) -> str:
    """Quotients of whole numbers are rounded down, remainders have the sign of the divisor."""
    if by and not by & (by - 1):
        return f"({a} >> {by.bit_length() - 1})" if fn is Fn.FLOORDIV else f"({a} & {by - 1})"
    call = device.divided_down if fn is Fn.FLOORDIV else device.remainder_of
    return f"{call}({a}, {b})"


ONCE = {Fn.EXP: "exp2_once({} * 1.4426950408889634f)", Fn.EXP2: "exp2_once({})"}


def _cast(text: str, to: DType, source: DType) -> str:
    if to is DType.I32:
        return f"(int)({text})"
    whole = f"(float)({text})" if source in (DType.I32, DType.BOOL) else text
    rounds = {DType.BF16: "round_bf16", DType.F16: "round_f16"}
    return f"{device[rounds[to]]}({whole})" if to in rounds and source is not to else whole
