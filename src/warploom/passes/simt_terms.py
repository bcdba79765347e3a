"""What thread programs of kernels without products are made of: names, constants, loops."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.ir import threads as ir
from warploom.ir.elementwise import REDUCTIONS
from warploom.ir.expr import conjunction, const, lift
from warploom.ir.threads import (
    Convert,
    Declare,
    Decode,
    Encode,
    For,
    Number,
    Reg,
    Statement,
    Term,
)
from warploom.ir.tile import (
    Const,
    DType,
    Fn,
    Line,
    Loop,
    Op,
    Store,
    Tensor,
    Value,
)

Body = list[Statement]
INTEGERS = (DType.I32, DType.I8, DType.I4)
MOST_SHIFTED = 32  # elements of a thread whose covers are all loaded before the first is shifted
LEAST_SHIFTED = 64  # elements of a row; of shorter ones most vectors touch an end
PAD = 1  # words between the lines of a transposed tile: other banks
WORD = 4

THREAD = ir.TID
LANE, GROUP = Reg("lane"), Reg("group")
U, E, J, K = Reg("u"), Reg("e"), Reg("j"), Reg("k")
MEET = "meet"
# Prefixes of registers: a value's own, its elements as they lie in memory, with what lies around
# them, what comes before those of a running sum, what a loop carries into its next iteration.
VALUE, RAW, COVER, BEFORE, NEXT = "v", "w", "p", "before", "next"


def pos(var: str) -> Reg:
    """Where a variable stands."""
    return Reg(f"pos_{var}")


def number(name: str, term: Term | int) -> Declare:
    """A whole number by a name."""
    return Declare(name=name, dtype=DType.I32, value=lift(term))


def unsigned(term: Term) -> Term:
    """A whole number without a sign."""
    return Convert(term, DType.U32)


def unrolled(index: str, count: int, lines: Body) -> Statement:
    """Statements for every number below a count, written out one after the other."""
    return For(
        counter=index,
        first=const(0),
        end=const(count),
        step=const(1),
        body=tuple(lines),
        unroll=True,
    )


def all_of(terms: Sequence[Term]) -> Term:
    """All of some conditions."""
    result = conjunction(terms)
    assert result is not None
    return result


def renamed(value: Value, name: str | None) -> Value:
    """A value under another name."""
    return Value(name=name or value.name, dims=value.dims, dtype=value.dtype)


def identity(fn: Fn, dtype: DType) -> Term:
    """What joins without effect."""
    row = REDUCTIONS[fn]
    if dtype in INTEGERS:
        return const(row.identity_int)
    return Number(row.identity, DType.F32)


def kind_of(dtype: DType) -> DType:
    """How a number is held in a word."""
    return DType.I32 if dtype in INTEGERS else DType.BOOL if dtype is DType.BOOL else DType.F32


def constant(op: Const) -> Term:
    """A number of the source; whole ones wrap at 32 bits."""
    dtype = op.result.dtype
    value = (int(op.value) + 2**31) % 2**32 - 2**31 if dtype is DType.I32 else op.value
    return ir.constant(value, dtype)


def zero(dtype: DType) -> Term:
    """What an element outside of its tensor reads as."""
    kind = kind_of(dtype)
    return Number(False, kind) if kind is DType.BOOL else ir.constant(0, kind)


def raw_zero(tensor: Tensor) -> Term:
    """The same as it lies in memory."""
    return Encode(ir.constant(0, tensor.dtype), tensor.dtype)


def decoded(tensor: Tensor, raw: Term) -> Term:
    """An element of memory as a number."""
    return Decode(raw, tensor.dtype)


def line_of(op: Op) -> Line | None:
    """The author's line of an op."""
    return op.line if isinstance(op, Loop | Store) else op.result.line
