"""Iterations that a tile does not have leave everything as it was.

A schedule runs at least as many iterations as it has begun before its loop. One too many has a step
past the end of the axis, where loads read zeros. Where that does not leave a carried value as it
was, it is kept by a condition: in loops of single steps, and elsewhere where the value is made of
nothing that lies along the loop (what does is hidden past the end by other conditions).
"""

from __future__ import annotations

from dataclasses import replace

from warploom.ir.elementwise import ELEMENTWISE
from warploom.ir.tile import (
    Broadcast,
    Const,
    Dot,
    DType,
    Fn,
    Indices,
    Kernel,
    Load,
    Loop,
    Op,
    Pointwise,
    Position,
    Size,
    Transpose,
    Value,
    Whole,
    operands,
    results,
    walk,
)

ZERO, ONE = "0", "1"  # what a value is known to be in a step past the end; else a value's name


def keep_carried(kernel: Kernel, _: frozenset[str] = frozenset()) -> Kernel:
    """Conditions where a step that does not exist would change a carried value."""
    ops = tuple(_kept(kernel, op) if isinstance(op, Loop) else op for op in kernel.ops)
    return replace(kernel, ops=ops)


def _kept(kernel: Kernel, loop: Loop) -> Loop:
    if loop.lists or (loop.until is not None and _is_loaded(kernel, loop.until)):
        return loop  # lengths that were loaded hide what lies past them in the text
    known = _past_the_end(loop)
    changed = [c for c in loop.carried if known.get(c.last, c.last) != c.inside.name]
    if kernel.var(loop.var).extent != 1:
        changed = [c for c in changed if not _lies_along(loop, c.last)]
    if not changed:
        return loop
    at = Value(name=f"step_{loop.var}", dims=(), dtype=DType.I32, line=loop.line)
    axis = kernel.var(loop.var).axis
    tensor = next(t for t in kernel.tensors if any(a.name == axis and a.per == 1 for a in t.axes))
    every = replace(at, name=f"every_{loop.var}")
    end = replace(at, name=f"last_{loop.var}")
    exists = replace(at, name=f"exists_{loop.var}", dtype=DType.BOOL)
    more: list[Op] = [
        Position(result=at, var=loop.var),
        Size(result=every, tensor=tensor.name, axis=axis),
    ]
    if loop.until is not None:  # parts may end past it
        more.append(Pointwise(result=end, fn=Fn.MIN, args=(loop.until, every.name)))
    last = every if loop.until is None else end
    more.append(Pointwise(result=exists, fn=Fn.LT, args=(at.name, last.name)))
    names = {c.last: f"{c.last}_kept" for c in changed}
    for c in changed:
        kept = replace(c.inside, name=names[c.last], line=loop.line)
        more.append(Pointwise(result=kept, fn=Fn.WHERE, args=(exists.name, c.last, c.inside.name)))
    carried = tuple(replace(c, last=names.get(c.last, c.last)) for c in loop.carried)
    return replace(loop, body=(*loop.body, *more), carried=carried)


def _lies_along(loop: Loop, name: str) -> bool:
    """Whether a value is made of something that lies along the loop."""
    made = {v.name: op for op in loop.body for v in results(op)}
    left, seen = [name], set[str]()
    while left:
        op = made.get(here := left.pop())
        if op is None or here in seen:
            continue
        if isinstance(op, Load | Indices | Position | Whole):
            return True
        seen.add(here)
        left += operands(op)
    return False


def is_computed(kernel: Kernel, name: str) -> bool:
    """Whether a scalar is made of others than those in memory, and is no size by itself."""
    made = {v.name: op for op in walk(kernel.ops) for v in results(op)}
    return not isinstance(made.get(name), Size) and not _is_loaded(kernel, name)


def _is_loaded(kernel: Kernel, name: str) -> bool:
    made = {v.name: op for op in walk(kernel.ops) for v in results(op)}
    op = made.get(name)
    return isinstance(op, Load) or any(
        _is_loaded(kernel, n) for n in (operands(op) if op is not None else ())
    )


def _past_the_end(loop: Loop) -> dict[str, str]:
    """What values of the loop are in a step past the end."""
    known = {c.inside.name: c.inside.name for c in loop.carried}
    for op in loop.body:
        found = _of(op, known, loop.var)
        if found is not None:
            known[results(op)[0].name] = found
    return known


def _of(op: Op, known: dict[str, str], var: str) -> str | None:
    if isinstance(op, Load):
        return ZERO if any(a.var == var for a in op.at) else None
    if isinstance(op, Const):
        return {0.0: ZERO, 1.0: ONE}.get(float(op.value))
    if isinstance(op, Transpose | Broadcast):
        return known.get(op.arg)
    if isinstance(op, Dot):
        parts = {known.get(op.a), known.get(op.b)}
        return (known.get(op.into) if op.into else ZERO) if ZERO in parts else None
    return _pointwise(op.fn, [known.get(a) for a in op.args]) if isinstance(op, Pointwise) else None


def _pointwise(fn: Fn, args: list[str | None]) -> str | None:
    if fn is Fn.CAST:
        return args[0] if args[0] in (ZERO, ONE) else None
    if fn is Fn.MUL:
        other = next((b for a, b in (args, args[::-1]) if a == ONE), None)
        return ZERO if ZERO in args else other
    if fn is Fn.ADD:
        return next((b for a, b in (args, args[::-1]) if a == ZERO), None)
    if fn is Fn.SUB:
        return args[0] if args[1] == ZERO else None
    known = {0.0: ZERO, 1.0: ONE, None: None}
    return known[ELEMENTWISE[fn].of_zero] if args[0] == ZERO else None
