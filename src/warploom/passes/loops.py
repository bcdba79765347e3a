"""Several loops of a tile, each as a kernel of its own: what runs before it, it, and what follows.

The loops run one after the other in every tile, each with its own rings, slots and barriers. So
each is scheduled and proven alone, and proofs hold for all of them together: roles run the loops in
the same order, nothing is shared but registers of one consumer, and a role that waits in one loop
waits for roles that have not left it yet.

What is computed before a loop is computed again for every loop that needs it; a loop's results are
``Given`` to those after it. Stores between loops follow the last one.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.frontend.rewrite import titled
from warploom.ir.tile import Carried, Given, Kernel, Loop, Op, Store, Walk, operands, results, walk
from warploom.passes.body import refusal


def each_loop(kernel: Kernel) -> tuple[Kernel, ...]:
    """The kernels of a tile's loops, in order; a kernel with one loop is its own."""
    loops = [i for i, op in enumerate(kernel.ops) if isinstance(op, Loop)]
    if len(loops) < 2:
        return (kernel,)
    for loop in kernel.loops[:-1]:
        stored = next((op for op in walk(loop.body) if isinstance(op, Store)), None)
        if stored is not None:
            raise refusal(
                "a store inside a loop that another loop follows",
                stored.line,
                why="copies out of one loop would still run in the next",
                fix="store in the last loop, or after it",
            )
    parts = [_part(kernel, n, at, last=n == len(loops) - 1) for n, at in enumerate(loops)]
    return tuple(parts)


def _part(kernel: Kernel, number: int, at: int, *, last: bool) -> Kernel:
    loop = kernel.ops[at]
    assert isinstance(loop, Loop)
    before: list[Op] = []
    for n, op in enumerate(_earlier_loops(kernel.ops[:at])):
        before += [Given(result=c.result, of=f"{c.result.name}{_tag(n)}") for c in op.carried]
    before += [op for op in kernel.ops[:at] if not isinstance(op, Loop | Store)]
    after: list[Op] = []
    if last:
        after = [op for op in kernel.ops[:at] if isinstance(op, Store)]
        after += kernel.ops[at + 1 :]
    else:
        loop = replace(loop, carried=tuple(_used(kernel, at, loop)))
    ops = _needed([*before, loop, *after], loop)
    names = {}
    if not last:
        every = (*walk(tuple(ops)),)
        found = [v.name for op in every for v in results(op)]
        found += [c.inside.name for c in loop.carried]
        names = {n: f"{n}{_tag(number)}" for n in found}
    walked = {*kernel.grid.vars, loop.var}
    vars_of = tuple(v for v in kernel.vars if v.name in walked or v.walk is Walk.WHOLE)
    return replace(kernel, ops=tuple(titled(op, names) for op in ops), vars=vars_of)


def _earlier_loops(ops: tuple[Op, ...]) -> list[Loop]:
    return [op for op in ops if isinstance(op, Loop)]


def _tag(number: int) -> str:
    return f"_loop{number + 1}"


def names_in_loop(kernel: Kernel, number: int) -> dict[str, str]:
    """Names of a kernel's values by those they have in the kernel of an earlier loop."""
    found = [v.name for op in walk(kernel.ops) for v in results(op)]
    found += [c.inside.name for loop in kernel.loops for c in loop.carried]
    return {f"{n}{_tag(number)}": n for n in found}


def _used(kernel: Kernel, at: int, loop: Loop) -> list[Carried]:
    """Carried values that the loop itself or anything after it reads."""
    read = {n for op in walk((*loop.body, *kernel.ops[at + 1 :])) for n in operands(op)}
    return [c for c in loop.carried if c.inside.name in read or c.result.name in read]


def _needed(ops: list[Op], loop: Loop) -> list[Op]:
    """Ops before the loop that it or what follows needs, and all others."""
    at = ops.index(loop)
    read = {n for op in (*walk((loop,)), *ops[at + 1 :]) for n in operands(op)}
    read |= {c.last for c in loop.carried}
    kept: list[Op] = []
    for op in reversed(ops[:at]):
        if any(v.name in read for v in results(op)):
            read |= set(operands(op))
            kept.insert(0, op)
    return [*kept, *ops[at:]]
