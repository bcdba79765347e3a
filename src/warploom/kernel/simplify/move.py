"""What does not change in a loop moves before it; sums of products become accumulating products."""

from __future__ import annotations

from dataclasses import replace

from warploom.kernel import values as ir
from warploom.kernel.rewrite import definitions, uses, values_of
from warploom.kernel.values import DType, Fn, Kernel, Op, operands, walk


def hoist(kernel: Kernel) -> Kernel:
    """Ops of a loop that depend neither on its variable nor on carried values stand before it."""
    made: list[Op] = []
    for op in kernel.ops:
        if not isinstance(op, ir.Loop):
            made.append(op)
            continue
        moving = {c.inside.name for c in op.carried}
        stay: list[Op] = []
        for inner in op.body:
            if isinstance(inner, ir.Store | ir.Loop) or _moves(inner, op.var, moving):
                stay.append(inner)
                if not isinstance(inner, ir.Store | ir.Loop):
                    moving.add(inner.result.name)
            else:
                made.append(inner)
        made.append(replace(op, body=tuple(stay)))
    return replace(kernel, ops=tuple(made))


def _moves(op: Op, var: str, moving: set[str]) -> bool:
    assert not isinstance(op, ir.Store | ir.Loop)
    named = {getattr(op, "var", None), *(a.var for a in getattr(op, "at", ())), *op.result.vars}
    return var in named or any(o in moving for o in operands(op))


def accumulate(kernel: Kernel) -> Kernel:
    """``into + a @ b`` is one product that adds to ``into``, where nothing else reads a @ b.

    ``into`` is computed: what was loaded is not where products add.
    """
    counts = uses(kernel.ops)
    made = definitions(kernel.ops)
    values = values_of(kernel)
    scopes = [kernel.ops, *(loop.body for loop in kernel.loops)]
    place = {id(op): n for n, ops in enumerate(scopes) for op in ops}
    gone: set[str] = set()
    joined: dict[str, ir.Dot] = {}
    for op in walk(kernel.ops):
        if not (isinstance(op, ir.Pointwise) and op.fn is Fn.ADD and op.result.dtype is DType.F32):
            continue
        for dot_name, into in (op.args[::-1], op.args):
            dot = made.get(dot_name)
            if (
                isinstance(dot, ir.Dot)
                and dot.into is None
                and dot_name != into
                and counts[dot_name] == 1
                and dot_name not in gone
                and place[id(dot)] == place[id(op)]
                and isinstance(made.get(into), ir.Dot | ir.Pointwise | ir.Loop)
                and values[into].dims == values[dot_name].dims == op.result.dims
            ):
                gone.add(dot_name)
                joined[op.result.name] = replace(dot, result=op.result, into=into)
                break

    def scope(ops: tuple[Op, ...]) -> tuple[Op, ...]:
        kept: list[Op] = []
        for op in ops:
            if isinstance(op, ir.Loop):
                kept.append(replace(op, body=scope(op.body)))
            elif isinstance(op, ir.Store):
                kept.append(op)
            elif op.result.name not in gone:
                kept.append(joined.get(op.result.name, op))
        return tuple(kept)

    return replace(kernel, ops=scope(kernel.ops))
