"""Unsigned whole numbers, written with the signed ones of the same bits.

Passes, interpreters and code generators know i32 alone. Sums, differences, products and bits are
the same for both; order, quotients, shifts to the right and conversions are not, and stand here.
``op`` makes a signed operation of values and numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warploom.ir.tile import Fn, Value

Op = Callable[..., Value]
Number = Any  # a value of the kernel, or a known whole number
WORD, HALF = 2**32, 2**31
FLIP = -HALF  # exclusive or with it turns the unsigned order into the signed one


def bits(number: int) -> int:
    """The signed number of the same 32 bits."""
    return (number + HALF) % WORD - HALF


def apply(op: Op, fn: Fn, args: list[Number]) -> Value:  # noqa: PLR0911 (one a function)
    """A function of unsigned numbers; known ones are given as signed ones of the same bits."""
    match fn:
        case Fn.LT | Fn.LE | Fn.GT | Fn.GE:
            return op(fn, *(flipped(op, a) for a in args))
        case Fn.MIN | Fn.MAX:
            first = apply(op, Fn.LT if fn is Fn.MIN else Fn.GT, args)
            return op(Fn.WHERE, first, *args)
        case Fn.SHR:
            return shifted(op, *args)
        case Fn.FLOORDIV:
            return quotient(op, *args)
        case Fn.MOD:
            divisor = not_zero(op, args[1])
            return op(Fn.SUB, args[0], op(Fn.MUL, quotient(op, args[0], divisor), divisor))
        case Fn.ABS:
            return op(Fn.ADD, args[0], 0)
        case _:
            return op(fn, *args)


def flipped(op: Op, a: Number) -> Number:
    """A number whose signed order is the unsigned order of the given one."""
    return a ^ FLIP if isinstance(a, int) else op(Fn.XOR, a, FLIP)


def shifted(op: Op, a: Number, by: Number) -> Value:
    """``a >> by`` with zeros coming in; from 32 on, and by negative numbers, nothing is left."""
    if isinstance(by, int):
        if not 0 <= by < 32:
            return op(Fn.MUL, a, 0)
        return op(Fn.ADD, a, 0) if by == 0 else op(Fn.BITS, op(Fn.SHR, a, by), 2 ** (32 - by) - 1)
    left = op(Fn.XOR, op(Fn.SHL, -1, op(Fn.SUB, 32, by)), -1)
    out = op(Fn.NE, op(Fn.BITS, by, -32), 0)
    return op(Fn.WHERE, out, 0, op(Fn.BITS, op(Fn.SHR, a, by), left))


def not_zero(op: Op, divisor: Number) -> Number:
    """Division by 0 is division by 1."""
    if isinstance(divisor, int):
        return divisor or 1
    return op(Fn.WHERE, op(Fn.EQ, divisor, 0), 1, divisor)


def quotient(op: Op, a: Number, divisor: Number) -> Value:
    """Half of ``a`` is divided as a signed number; what is left then holds the divisor once more,
    or not. A divisor from 2**31 on is held once, or not.
    """
    divisor = not_zero(op, divisor)
    if isinstance(divisor, int) and divisor > 0 and divisor & (divisor - 1) == 0:
        return shifted(op, a, divisor.bit_length() - 1)

    def held(of: Number) -> Value:
        return op(Fn.WHERE, apply(op, Fn.GE, [of, divisor]), 1, 0)

    if isinstance(divisor, int) and divisor < 0:
        return held(a)
    twice = op(Fn.SHL, op(Fn.FLOORDIV, shifted(op, a, 1), divisor), 1)
    most = op(Fn.ADD, twice, held(op(Fn.SUB, a, op(Fn.MUL, twice, divisor))))
    if isinstance(divisor, int):
        return most
    return op(Fn.WHERE, op(Fn.LT, divisor, 0), held(a), most)


def to_float(op: Op, a: Value, number: Callable[[Value], Value]) -> Value:
    """As f32, rounded once: both halves are exact. ``number``: a signed one as f32."""
    high, low = shifted(op, a, 16), op(Fn.BITS, a, 0xFFFF)
    return op(Fn.ADD, op(Fn.MUL, number(high), 65536.0), number(low))


def from_float(op: Op, x: Value, whole: Callable[[Value], Value]) -> Value:
    """Towards 0, held to the range; NaN is 0. ``whole``: a float as a signed number."""
    x = op(Fn.MAX, x, 0.0)
    large = op(Fn.XOR, whole(op(Fn.SUB, x, float(HALF))), FLIP)
    return op(Fn.WHERE, op(Fn.GE, x, float(HALF)), large, whole(x))
