"""Pointwise functions as LLVM IR: floats are ``float``, truths ``i1``, indices ``i32``.

Exponentials, reciprocals and roots are the hardware's (one unit in the last place). What a function
is made of stands in its row of ``warploom.ir.elementwise``.
"""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warploom.errors import BackendError
from warploom.ir.elementwise import ELEMENTWISE, Routine
from warploom.ir.tile import DType, Fn


class IrText:
    """Lines of LLVM IR. The only mutable thing of the lowering; lives for one emission."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = "entry"
        self.written_out = False  # whether instructions stand in it as assembly
        self._fresh = 0

    def add(self, line: str) -> None:
        """Append one instruction."""
        self.lines.append(f"  {line}")

    def label(self, name: str) -> None:
        """Start a basic block."""
        self.block = name
        self.lines.append(f"{name}:")

    def comment(self, text: str) -> None:
        """Append a comment, so that the IR can be read beside the schedule."""
        self.lines.append(f"  ; {text}")

    def value(self, instruction: str, name: str = "") -> str:
        """Append ``%x = instruction`` and return ``%x``."""
        if not name:
            self._fresh += 1
            name = f"v{self._fresh}"
        self.add(f"%{name} = {instruction}")
        return f"%{name}"

    # Integer arithmetic that folds what is known, so that the IR stays clean without an optimiser.

    def sum(self, a: str, b: int | str) -> str:
        """``a + b``."""
        return a if b in (0, "0") else self.value(f"add i32 {a}, {b}")

    def times(self, a: str, b: int | str) -> str:
        """``a * b``."""
        if isinstance(b, int) and b & (b - 1) == 0 and b > 0:
            return a if b == 1 else self.value(f"shl i32 {a}, {b.bit_length() - 1}")
        return self.value(f"mul i32 {a}, {b}")

    def over(self, a: str, b: int) -> str:
        """``a / b`` for unsigned ``a``."""
        if b & (b - 1) == 0:
            return a if b == 1 else self.value(f"lshr i32 {a}, {b.bit_length() - 1}")
        return self.value(f"udiv i32 {a}, {b}")

    def modulo(self, a: str, b: int) -> str:
        """``a % b`` for unsigned ``a``."""
        if b & (b - 1) == 0:
            return self.value(f"and i32 {a}, {b - 1}")
        return self.value(f"urem i32 {a}, {b}")


E4M3_MOST = 448.0
_BINARY = {Fn.ADD: "add", Fn.SUB: "sub", Fn.MUL: "mul"}
_COMPARE = {
    Fn.EQ: ("oeq", "eq"),
    Fn.NE: ("une", "ne"),
    Fn.LT: ("olt", "slt"),
    Fn.LE: ("ole", "sle"),
    Fn.GT: ("ogt", "sgt"),
    Fn.GE: ("oge", "sge"),
}
# pi / 2 in three parts of which the first two have few bits, so that products with small whole
# numbers are exact; polynomials of sine and cosine on [-pi/4, pi/4].
_HALF_PI = (1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8)
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def constant(value: float | int | bool, dtype: DType) -> str:
    """A number as an IR literal."""
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if dtype is DType.I32:
        return str((int(value) + 2**31) % 2**32 - 2**31)
    rounded = struct.unpack("<f", struct.pack("<f", float(value)))[0]
    return "0x" + struct.pack(">d", rounded).hex().upper()


def pointwise(  # noqa: PLR0911 (one line a kind of function)
    text: IrText, fn: Fn, args: list[str], kinds: list[DType], result: DType
) -> str:
    """Emit ``fn`` of ``args`` (of ``kinds``) and return its value."""
    if fn is Fn.CAST:
        return convert(text, args[0], kinds[0], result)
    if fn is Fn.WHERE:
        kind = _ir(result)
        return text.value(f"select i1 {args[0]}, {kind} {args[1]}, {kind} {args[2]}")
    if fn in (Fn.AND, Fn.OR):
        return text.value(f"{fn.value} i1 {args[0]}, {args[1]}")
    if fn is Fn.NOT:
        return text.value(f"xor i1 {args[0]}, true")
    if kinds[0] in (DType.I32, DType.BOOL):
        return _integer(text, fn, args)
    if fn in _COMPARE:
        return text.value(f"fcmp {_COMPARE[fn][0]} float {args[0]}, {args[1]}")
    return _float(text, fn, args)


def _float(text: IrText, fn: Fn, args: list[str]) -> str:
    if fn in _BINARY:
        return text.value(f"f{_BINARY[fn]} contract float {args[0]}, {args[1]}")
    if fn is Fn.DIV:
        over = _call(text, "amdgcn.rcp.f32", args[1])
        return text.value(f"fmul contract float {args[0]}, {over}")
    if fn is Fn.NEG:
        return text.value(f"fneg float {args[0]}")
    form = ELEMENTWISE[fn].gfx950
    if form is None:
        raise BackendError(f"gfx950 has no lowering for {fn.value}")
    if isinstance(form, Routine):
        return ROUTINES[form.name](text, *args)
    if isinstance(form, str):
        return _call(text, form, *args)
    result: str = form(_Build(text), args[0])
    return result


@dataclass(frozen=True, slots=True)
class _Build:
    """Makes ops of floats for the formula of a function: values, and numbers as literals."""

    text: IrText

    def __call__(self, fn: Fn, *args: Any) -> str:  # noqa: ANN401 (values and numbers)
        names = [_literal(a) for a in args]
        if fn is Fn.WHERE:
            return pointwise(self.text, fn, names, [DType.BOOL, DType.F32, DType.F32], DType.F32)
        return pointwise(self.text, fn, names, [DType.F32] * len(names), DType.F32)

    def intrinsic(self, name: str, *args: Any) -> str:  # noqa: ANN401
        return _call(self.text, name, *(_literal(a) for a in args))


def _literal(value: str | float) -> str:
    return value if isinstance(value, str) else constant(value, DType.F32)


def _wave(text: IrText, x: str, *, cosine: bool) -> str:
    """Sine or cosine: the nearest multiple of pi / 2 is taken off, then a polynomial."""

    def f32(value: float) -> str:
        return constant(value, DType.F32)

    def fma(a: str, b: str, c: str) -> str:
        return text.value(f"call float @llvm.fma.f32(float {a}, float {b}, float {c})")

    scaled = text.value(f"fmul float {x}, {f32(2 / math.pi)}")
    turns = text.value(f"call float @llvm.rint.f32(float {scaled})")
    rest = x
    for part in _HALF_PI:
        rest = fma(turns, f32(-part), rest)
    quarter = text.value(f"call i32 @llvm.fptosi.sat.i32.f32(float {turns})")
    if cosine:
        quarter = text.value(f"add i32 {quarter}, 1")
    square = text.value(f"fmul float {rest}, {rest}")
    sine = fma(fma(f32(_SIN[0]), square, f32(_SIN[1])), square, f32(_SIN[2]))
    sine = fma(text.value(f"fmul float {sine}, {square}"), rest, rest)
    other = fma(fma(f32(_COS[0]), square, f32(_COS[1])), square, f32(_COS[2]))
    other = fma(fma(other, square, f32(-0.5)), square, f32(1.0))
    odd = text.value(f"and i32 {quarter}, 1")
    is_odd = text.value(f"icmp ne i32 {odd}, 0")
    made = text.value(f"select i1 {is_odd}, float {other}, float {sine}")
    two = text.value(f"and i32 {quarter}, 2")
    below = text.value(f"icmp ne i32 {two}, 0")
    minus = text.value(f"fneg float {made}")
    return text.value(f"select i1 {below}, float {minus}, float {made}")


def _sine(text: IrText, x: str) -> str:
    return _wave(text, x, cosine=False)


def _cosine(text: IrText, x: str) -> str:
    return _wave(text, x, cosine=True)


ROUTINES: dict[str, Callable[..., str]] = {"sine": _sine, "cosine": _cosine}


def _call(text: IrText, intrinsic: str, *args: str) -> str:
    operands = ", ".join(f"float {a}" for a in args)
    return text.value(f"call float @llvm.{intrinsic}({operands})")


def _integer(text: IrText, fn: Fn, args: list[str]) -> str:  # noqa: PLR0911 (one a function)
    if fn in _BINARY:
        return text.value(f"{_BINARY[fn]} i32 {args[0]}, {args[1]}")
    if fn in _COMPARE:
        return text.value(f"icmp {_COMPARE[fn][1]} i32 {args[0]}, {args[1]}")
    match fn:
        case Fn.FLOORDIV:  # of sizes and positions, which are never negative
            return text.value(f"udiv i32 {args[0]}, {args[1]}")
        case Fn.SHR | Fn.SHL:
            return _shifted(text, fn, *args)
        case Fn.BITS | Fn.BITOR | Fn.XOR:
            word = {Fn.BITS: "and", Fn.BITOR: "or", Fn.XOR: "xor"}[fn]
            return text.value(f"{word} i32 {args[0]}, {args[1]}")
        case Fn.MULHI:
            wide = [text.value(f"zext i32 {a} to i64") for a in args]
            product = text.value(f"mul i64 {wide[0]}, {wide[1]}")
            high = text.value(f"lshr i64 {product}, 32")
            return text.value(f"trunc i64 {high} to i32")
        case Fn.MIN | Fn.MAX:
            return text.value(f"call i32 @llvm.s{fn.value}.i32(i32 {args[0]}, i32 {args[1]})")
        case Fn.NEG:
            return text.value(f"sub i32 0, {args[0]}")
        case Fn.ABS:
            return text.value(f"call i32 @llvm.abs.i32(i32 {args[0]}, i1 false)")
    raise BackendError(f"gfx950 has no lowering for {fn.value} of whole numbers")


def _shifted(text: IrText, fn: Fn, x: str, by: str) -> str:
    """From 32 on, and by negative numbers, all bits are shifted out."""
    word = "ashr" if fn is Fn.SHR else "shl"
    if by.isdigit() and int(by) < 32:
        return text.value(f"{word} i32 {x}, {by}")
    few = text.value(f"icmp ult i32 {by}, 32")
    if fn is Fn.SHR:
        held = text.value(f"select i1 {few}, i32 {by}, i32 31")
        return text.value(f"ashr i32 {x}, {held}")
    held = text.value(f"select i1 {few}, i32 {by}, i32 0")
    made = text.value(f"shl i32 {x}, {held}")
    return text.value(f"select i1 {few}, i32 {made}, i32 0")


def convert(text: IrText, value: str, source: DType, to: DType) -> str:
    """A value as another type. Narrow floats are kept as ``float``, rounded."""
    if source is DType.BOOL:
        one = constant(1, to) if to is DType.I32 else constant(1.0, DType.F32)
        none = constant(0, to) if to is DType.I32 else constant(0.0, DType.F32)
        kind = _ir(to)
        return text.value(f"select i1 {value}, {kind} {one}, {kind} {none}")
    if source is DType.I32:
        return value if to is DType.I32 else text.value(f"sitofp i32 {value} to float")
    if to is DType.I32:
        return text.value(f"fptosi float {value} to i32")
    if to is DType.BOOL:
        return text.value(f"fcmp une float {value}, {constant(0.0, DType.F32)}")
    if to is DType.F32 or to is source:
        return value
    return widen(text, narrow(text, value, to), to)


def narrow(text: IrText, value: str, to: DType) -> str:
    """The bits of a float in memory: ``float``, ``i16`` or ``i8``; e4m3 saturates."""
    if to is DType.F32:
        return value
    if to is DType.E4M3:
        least, most = (constant(s * E4M3_MOST, DType.F32) for s in (-1, 1))
        held = _call(text, "amdgcn.fmed3.f32", value, least, most)
        pair = text.value(
            f"call i32 @llvm.amdgcn.cvt.pk.fp8.f32(float {held}, float {held}, i32 0, i1 false)"
        )
        return text.value(f"trunc i32 {pair} to i8")
    kind = "bfloat" if to is DType.BF16 else "half"
    cut = text.value(f"fptrunc float {value} to {kind}")
    return text.value(f"bitcast {kind} {cut} to i16")


def widen(text: IrText, bits: str, source: DType) -> str:
    """The float that bits in memory stand for."""
    if source is DType.F32:
        return bits
    if source is DType.E4M3:
        wide = text.value(f"zext i8 {bits} to i32")
        return text.value(f"call float @llvm.amdgcn.cvt.f32.fp8(i32 {wide}, i32 0)")
    if source is DType.BF16:
        wide = text.value(f"zext i16 {bits} to i32")
        high = text.value(f"shl i32 {wide}, 16")
        return text.value(f"bitcast i32 {high} to float")
    half = text.value(f"bitcast i16 {bits} to half")
    return text.value(f"fpext half {half} to float")


def memory_type(dtype: DType) -> str:
    """The IR type a load or store of one element moves."""
    return {32: "f32", 16: "i16", 8: "i8"}[dtype.bits]


def _ir(dtype: DType) -> str:
    return {DType.BOOL: "i1", DType.I32: "i32"}.get(dtype, "float")
