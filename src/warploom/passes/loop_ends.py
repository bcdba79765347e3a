"""Copies that end where a condition says: what lies past it is never brought along.

``where(index(t) < end, x[t, d], 0)`` of a loaded tile needs no select: the copy itself fills rows
from ``end`` on with zeros, whatever memory holds there.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.frontend.rewrite import definitions, uses
from warploom.ir.tile import (
    Broadcast,
    Const,
    Fn,
    Indices,
    Kernel,
    Load,
    Loop,
    Op,
    Pointwise,
    results,
)

MOST_AXES = 4  # of a tensor whose copies end at a value: a tensor map has one axis more for that
MATRIX = 2


def ended_copies(kernel: Kernel, positive: frozenset[str]) -> Kernel:
    """The kernel with loads that end at a value in place of selects over them."""
    made, read = definitions(kernel.ops), uses(kernel.ops)
    ended: dict[str, Load] = {}
    gone: set[str] = set()
    for name, op in made.items():
        found = _ended(op, made, read)
        if found is not None:
            ended[name], within = found
            gone |= within
    return replace(kernel, ops=_with(kernel.ops, ended, gone)) if ended else kernel


def _with(ops: tuple[Op, ...], ended: dict[str, Load], gone: set[str]) -> tuple[Op, ...]:
    out: list[Op] = []
    for op in ops:
        if isinstance(op, Loop):
            out.append(replace(op, body=_with(op.body, ended, gone)))
            continue
        name = next((v.name for v in results(op)), "")
        if name not in gone:
            out.append(ended.get(name, op))
    return tuple(out)


def _ended(op: Op, made: dict[str, Op], read: dict[str, int]) -> tuple[Load, set[str]] | None:
    """The load that a value is, and the values between them that nobody else reads."""
    chosen = op
    within: set[str] = set()
    if isinstance(op, Pointwise) and op.fn is Fn.CAST:  # back to the type it was loaded in
        within.add(op.args[0])
        chosen = made[op.args[0]]
    if not isinstance(chosen, Pointwise) or chosen.fn is not Fn.WHERE:
        return None
    condition, value, other = chosen.args
    load = made.get(value)
    within.add(value)
    if isinstance(load, Pointwise) and load.fn is Fn.CAST:
        within.add(load.args[0])
        load = made.get(load.args[0])
    if not isinstance(load, Load) or not isinstance(op, Pointwise) or load.end is not None:
        return None
    same = load.result.dtype is op.result.dtype and load.result.dims == op.result.dims
    if not same or not _is_zero(other, made) or any(read[n] > 1 for n in within):
        return None
    end = _end(condition, load, made)
    if end is None or len(load.at) > MOST_AXES or len(load.result.dims) != MATRIX:
        return None
    return replace(load, result=op.result, end=end), within


def _is_zero(name: str, made: dict[str, Op]) -> bool:
    op = made.get(name)
    if isinstance(op, Broadcast):
        return _is_zero(op.arg, made)
    return isinstance(op, Const) and op.value == 0


def _end(condition: str, load: Load, made: dict[str, Op]) -> str | None:
    """What the indices of the load's rows are less than, where that is a number."""
    op = made.get(condition)
    if isinstance(op, Broadcast):
        return _end(op.arg, load, made)
    if not isinstance(op, Pointwise) or op.fn is not Fn.LT:
        return None
    rows, end = (made.get(a) for a in op.args)
    counted = isinstance(rows, Indices) and rows.var == load.result.vars[0]
    if not counted or end is None or isinstance(end, Loop) or results(end)[0].dims:
        return None
    whole = load.result.dims[0].per == 1 and load.at[-1].var == load.result.vars[1]
    return op.args[1] if whole else None
