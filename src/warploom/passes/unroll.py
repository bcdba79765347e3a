"""Unroll: several steps of a loop in one iteration: a consumer has several products at once.

What a step computes afresh gets registers of its own, and the scheduler may issue the product of
one step while vector work of another still runs. Steps past the end add nothing: copies bring
zeros.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.frontend.rewrite import titled
from warploom.ir.tile import (
    Carried,
    Const,
    Dot,
    Fn,
    Indices,
    Kernel,
    Load,
    Loop,
    Op,
    Pointwise,
    Position,
    operands,
    results,
)
from warploom.passes.body import refusal


def unrolled(kernel: Kernel, times: int) -> Kernel:
    """The kernel with ``times`` steps an iteration."""
    if times == 1:
        return kernel
    ops = tuple(_loop(kernel, op, times) if isinstance(op, Loop) else op for op in kernel.ops)
    return replace(kernel, ops=ops)


def _loop(kernel: Kernel, loop: Loop, times: int) -> Loop:
    _check(kernel, loop)
    body: list[Op] = []
    now = {c.inside.name: c.inside.name for c in loop.carried}
    for step in range(times):
        names = {v.name: f"{v.name}_{step}" for op in loop.body for v in results(op)} | now
        for op in loop.body:
            made = titled(op, names)
            body.append(replace(made, step=step) if isinstance(made, Load) else made)
        now = {c.inside.name: names[c.last] for c in loop.carried}
    carried = tuple(replace(c, last=now[c.inside.name]) for c in loop.carried)
    return replace(loop, body=tuple(body), carried=carried, times=times)


def _check(kernel: Kernel, loop: Loop) -> None:
    """Refuse loops in which a step past the end might leave a trace."""
    made = {v.name: op for op in loop.body for v in results(op)}
    fits = loop.start is None and loop.until is None and loop.times == 1 and adds_products(loop)
    counted = [
        op for op in made.values() if isinstance(op, Indices | Position) and op.var == loop.var
    ]
    if not fits or not all(_comes_again(kernel, loop, op.result.name) for op in counted):
        raise refusal(
            "several steps of this loop in one iteration",
            loop.line,
            why="a step past the end must add nothing, so only sums of products can be unrolled",
            fix="unroll=1",
        )


def _comes_again(kernel: Kernel, loop: Loop, name: str) -> bool:
    """Whether an index is used only as what is left of dividing it, the same in every step."""
    extent = kernel.var(loop.var).extent or 1
    every = (*kernel.ops, *loop.body)
    fits = {
        c.result.name for c in every if isinstance(c, Const) and c.value and extent % c.value == 0
    }
    left = [
        isinstance(op, Pointwise) and op.fn is Fn.MOD and op.args[1] in fits
        for op in loop.body
        if name in operands(op)
    ]
    return all(left)


def adds_products(loop: Loop) -> bool:
    """Whether all carried values grow by products of what copies bring, times other values."""
    made = {v.name: op for op in loop.body for v in results(op)}
    return all(_adds_products(made, c) for c in loop.carried)


def _adds_products(made: dict[str, Op], c: Carried) -> bool:
    op = made.get(c.last)
    if not isinstance(op, Pointwise) or op.fn is not Fn.ADD or op.args[0] != c.inside.name:
        return False
    added = made.get(op.args[1])
    while isinstance(added, Pointwise) and added.fn is Fn.MUL:
        added = next(
            (made[a] for a in added.args if isinstance(made.get(a), Dot | Pointwise)), None
        )
    return isinstance(added, Dot) and added.into is None
