"""How large whole numbers of a kernel may be: which of them may wrap at 32 bits."""

from __future__ import annotations

from collections.abc import Mapping

from warploom.ir.tile import (
    Broadcast,
    Const,
    DType,
    Fn,
    Indices,
    Load,
    Op,
    Pointwise,
    Position,
    Reduce,
    Size,
    Transpose,
    operands,
)

WORD = 2**31
PLACE = 2**29


def magnitudes(ops: Mapping[str, Op]) -> dict[str, int]:
    """The most that values may be, for ops in the order of the kernel.

    Places in tensors, and what is made of positions and sizes alone, are taken for less than
    2**29, so that sums of a few of them are plain.
    """
    found: dict[str, int] = {}
    places: set[str] = set()
    for name, op in ops.items():
        args = [found.get(n, WORD) for n in operands(op)]
        match op:
            case Const():
                most = abs(int(op.value)) if op.result.dtype is DType.I32 else WORD
            case Indices() | Position() | Size():
                most = PLACE
            case Load() if op.result.dtype is DType.I8:
                most = 128
            case Broadcast() | Transpose() | Reduce(fn=Fn.MAX | Fn.MIN):
                most = args[0]
            case Pointwise():
                most = _magnitude(op.fn, args)
            case _:
                most = WORD
        made = isinstance(op, Pointwise) and not op.result.dims and places.issuperset(op.args)
        if made or isinstance(op, Position | Size | Const):
            places.add(name)
            most = PLACE if made else most
        found[name] = min(most, WORD * WORD)
    return found


def _magnitude(fn: Fn, args: list[int]) -> int:  # noqa: PLR0911 (one line a function)
    match fn:
        case Fn.ADD | Fn.SUB:
            return args[0] + args[1]
        case Fn.MUL:
            return args[0] * args[1]
        case Fn.BITS | Fn.MOD:
            return min(args[1], WORD)
        case Fn.WHERE:
            return max(args[1:])
        case Fn.MIN | Fn.MAX:
            return max(args)
        case Fn.NEG:
            return args[0] + 1
        case Fn.SHR | Fn.FLOORDIV | Fn.ABS | Fn.CAST:
            return min(args[0], WORD)
        case _:
            return WORD
