"""Numbers of 4 bits, two in a byte, as 16-bit floats: three instructions for both.

The bits of a number become the last digits of a float whose last digit counts ones (128 in bf16,
1024 in fp16); what that is too much goes with what the text subtracts. All of it is exact.
"""

from __future__ import annotations

from warploom.ir.tile import Broadcast, Const, DType, Fn, Indices, Load, Op, Pointwise
from warploom.passes.body import Body

LEAST = {DType.BF16: 128, DType.F16: 1024}  # whose last digit counts ones
MOST = 64  # that may be subtracted


def nibbles(body: Body, op: Op, cols: str | None) -> tuple[Load, int] | None:
    """The bytes whose halves a result is made of along the columns, and what is subtracted."""
    if not isinstance(op, Pointwise) or op.fn is not Fn.CAST or op.result.dtype not in LEAST:
        return None
    less, inner = 0, _made(body, op.args[0])
    if isinstance(inner, Pointwise) and inner.fn is Fn.SUB:
        number = _number(body, inner.args[1])
        less, inner = MOST + 1 if number is None else number, _made(body, inner.args[0])
    shifted = _with(body, inner, Fn.BITS, 15)
    if not isinstance(shifted, Pointwise) or shifted.fn is not Fn.SHR or not 0 <= less <= MOST:
        return None
    source, by = (_made(body, a) for a in shifted.args)
    odd = _with(body, by, Fn.MUL, 4)
    index = _with(body, odd, Fn.MOD, 2)
    if not isinstance(index, Indices) or index.var != cols or body.loop.start is not None:
        return None
    if not isinstance(source, Load) or source.result.dtype is not DType.I8:
        return None
    return (source, less) if source.result.dims[-1].per == 2 else None


def _made(body: Body, name: str) -> Op | None:
    """What makes a value, through what leaves whole numbers as they are."""
    op = body.ops.get(name)
    whole = isinstance(op, Pointwise) and op.fn is Fn.CAST and op.result.dtype is DType.I32
    if isinstance(op, Broadcast):
        return _made(body, op.arg)
    return _made(body, op.args[0]) if isinstance(op, Pointwise) and whole else op


def _number(body: Body, name: str) -> int | None:
    op = _made(body, name)
    return int(op.value) if isinstance(op, Const) else None


def _with(body: Body, op: Op | None, fn: Fn, number: int) -> Op | None:
    """The other operand of a function of a value and that number."""
    if not isinstance(op, Pointwise) or op.fn is not fn:
        return None
    a, b = op.args
    if _number(body, b) == number:
        return _made(body, a)
    return _made(body, b) if fn is not Fn.MOD and _number(body, a) == number else None
