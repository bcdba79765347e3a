"""The kept values that a value computed where it is used is made of."""

from __future__ import annotations

from warploom.ir.tile import operands
from warploom.passes.layout import Layout


def values_behind(layout: Layout, name: str) -> tuple[str, ...]:
    """The values in registers that ``name`` is computed from, through free and inline ops."""
    homes = dict(layout.homes)
    found: dict[str, None] = {}
    seen: set[str] = set()
    left = [name]
    while left:  # depth first, operands in order; each value once
        inner, _ = layout.body.through(left.pop())
        if inner in seen:
            continue
        seen.add(inner)
        if inner in homes:
            found[inner] = None
            continue
        op = layout.body.ops.get(inner)
        left += reversed(operands(op)) if op is not None else ()
    return tuple(found)
