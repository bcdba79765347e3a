"""Numbers of 4 bits, two in a byte, as 16-bit floats: three instructions for both.

The bits of a number become the last digits of a float whose last digit counts ones (128 in bf16,
1024 in fp16); what that is too much goes with what the text subtracts. All of it is exact.
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom.codegen.cuda.tile.loads import shared_columns
from warploom.codegen.cuda.tile.work import COL, Work, first_of
from warploom.ir import operations as ops
from warploom.ir.expr import Function, IntExpr, inlined, linear, substitute
from warploom.ir.tile_schedule import Let
from warploom.ir.types import DType, Fn

LEAST = {DType.BF16: 128, DType.F16: 1024}  # whose last digit counts ones
MOST = 64  # that may be subtracted


def nibbles(
    work: Work, name: str, functions: Mapping[str, Function], bounds: tuple[Let, ...]
) -> tuple[ops.VectorSlot, int] | None:
    """The bytes whose halves a result is made of along the columns, and what is subtracted.

    ``functions`` and ``bounds`` say where steps begin: at even elements, or the halves change.
    """
    op = work.makers.get(name)
    if not isinstance(op, ops.VectorPointwise) or op.fn is not Fn.CAST or op.dtype not in LEAST:
        return None
    less, inner = 0, _made(work, op.args[0])
    if isinstance(inner, ops.VectorPointwise) and inner.fn is Fn.SUB:
        number = _number(work, inner.args[1])
        less, inner = MOST + 1 if number is None else number, _made(work, inner.args[0])
    shifted = _with(work, inner, Fn.BITS, 15)
    plain = isinstance(shifted, ops.VectorPointwise) and 0 <= less <= MOST
    if not isinstance(shifted, ops.VectorPointwise) or shifted.fn is not Fn.SHR or not plain:
        return None
    source, by = (_made(work, a) for a in shifted.args)
    odd = _with(work, by, Fn.MUL, 4)
    index = _with(work, odd, Fn.MOD, 2)
    if not isinstance(index, ops.VectorIndex):
        return None
    first = first_of(index.value, COL)
    if first is None or not _is_even(first, functions, bounds):
        return None
    if not isinstance(source, ops.VectorSlot) or source.dtype is not DType.I8:
        return None
    return (source, less) if shared_columns(source) == 2 else None


def _is_even(expr: IntExpr, functions: Mapping[str, Function], bounds: tuple[Let, ...]) -> bool:
    """Whether a number is even: all terms of its sum are."""
    found = inlined(expr, functions)
    for bound in reversed(bounds):
        found = substitute(found, {bound.name: bound.value})
    form = linear(found)
    if form is None:
        return False
    return all(n % 2 == 0 for n in (form.constant, *dict(form.factors).values()))


def _made(work: Work, name: str) -> ops.VectorOp | None:
    """What makes a value, through what leaves whole numbers as they are."""
    op = work.makers.get(name)
    while isinstance(op, ops.VectorPointwise) and op.fn is Fn.CAST and op.dtype is DType.I32:
        op = work.makers.get(op.args[0])
    return op


def _number(work: Work, name: str) -> int | None:
    op = _made(work, name)
    return int(op.value) if isinstance(op, ops.VectorConst) else None


def _with(work: Work, op: ops.VectorOp | None, fn: Fn, number: int) -> ops.VectorOp | None:
    """The other operand of a function of a value and that number."""
    if not isinstance(op, ops.VectorPointwise) or op.fn is not fn:
        return None
    a, b = op.args
    if _number(work, b) == number:
        return _made(work, a)
    return _made(work, b) if fn is not Fn.MOD and _number(work, a) == number else None
