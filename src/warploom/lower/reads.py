"""The kept values that a value computed where it is used is made of."""

from __future__ import annotations

from warploom.kernel.values import operands
from warploom.lower.layout import Layout


def values_behind(layout: Layout, name: str) -> tuple[str, ...]:
    """The values in registers that ``name`` is computed from, through free and inline ops."""
    homes = dict(layout.homes)
    found: dict[str, None] = {}

    def visit(n: str) -> None:
        inner, _ = layout.body.through(n)
        if inner in homes:
            found[inner] = None
            return
        op = layout.body.ops.get(inner)
        for operand in operands(op) if op is not None else ():
            visit(operand)

    visit(name)
    return tuple(found)
