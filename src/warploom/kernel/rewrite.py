"""Ops with other operands: what the reader and the rewrites share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from warploom.kernel.values import (
    At,
    Carried,
    Dot,
    Load,
    Loop,
    Op,
    Pointwise,
    Reduce,
    Spread,
    Store,
    Transpose,
)


def with_operands(op: Op, new: Callable[[str], str]) -> Op:
    """The op with each operand's name replaced (loops: throughout their bodies)."""

    def places(at: tuple[At, ...]) -> tuple[At, ...]:
        return tuple(replace(a, value=new(a.value)) if a.value else a for a in at)

    match op:
        case Pointwise():
            return replace(op, args=tuple(map(new, op.args)))
        case Spread() | Transpose() | Reduce():
            return replace(op, arg=new(op.arg))
        case Dot():
            return replace(op, a=new(op.a), b=new(op.b), into=new(op.into) if op.into else None)
        case Load():
            return replace(op, at=places(op.at))
        case Store():
            return replace(op, value=new(op.value), at=places(op.at))
        case Loop():
            return _loop_with_operands(op, new)
        case _:
            return op


def _loop_with_operands(loop: Loop, new: Callable[[str], str]) -> Loop:
    def carried(c: Carried) -> Carried:
        return replace(c, first=new(c.first), last=new(c.last))

    return replace(
        loop,
        carried=tuple(map(carried, loop.carried)),
        body=tuple(with_operands(op, new) for op in loop.body),
        start=new(loop.start) if loop.start else None,
        until=new(loop.until) if loop.until else None,
    )


def renamed(op: Op, names: Mapping[str, str]) -> Op:
    """The op with operands renamed; names not in the mapping stay."""
    return with_operands(op, lambda name: names.get(name, name))
