"""Reductions along an axis that the grid cuts into tiles: what they may be used for.

A tile holds a part of such an axis, and how large a part is the configuration's choice. A maximum,
a sum or a running sum of that part is no result by itself: it may only be combined with those of
the other tiles, in memory (``out[m] += x.sum(axis=1)``, ``wl.atomic_max``). Anything else would
depend on the tile, so it is refused here, at the author's line. Tiles of a stated extent
(``wl.tile(out, cols=128)``) have parts of that size: those are results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from warploom.errors import KernelError
from warploom.ir.elementwise import REDUCTIONS
from warploom.ir.tile import (
    Dot,
    Fn,
    Kernel,
    Loop,
    Op,
    Reduce,
    Scan,
    Store,
    Value,
    Walk,
    operands,
    results,
    walk,
)


class _Partial(NamedTuple):
    """A reduction of a tile's part of an axis. ``fn``: what combines parts; None: nothing does."""

    var: str
    fn: Fn | None
    made: Value


def check_tile_reductions(kernel: Kernel) -> None:
    """``KernelError`` where a result would depend on the extent of a tile."""
    cut = {v.name for v in kernel.vars if v.walk is Walk.TILE and v.extent is None}
    partial: dict[str, frozenset[_Partial]] = {}
    ops = tuple(walk(kernel.ops))
    shapes = {v.name: v.vars for op in ops for v in results(op)}
    shapes |= {
        c.inside.name: c.inside.vars for op in ops if isinstance(op, Loop) for c in op.carried
    }
    while _spread(ops, cut, shapes, partial):
        pass  # until carried values have what they are made of
    for op in ops:
        if isinstance(op, Store):
            for found in sorted(partial.get(op.value, ()), key=lambda p: p.made.name):
                _check_store(kernel, op, found)


def _spread(
    ops: tuple[Op, ...],
    cut: set[str],
    shapes: dict[str, tuple[str, ...]],
    partial: dict[str, frozenset[_Partial]],
) -> bool:
    """Hand what is partial on to what is made of it; whether anything was new."""
    changed = False
    for op in ops:
        for name, found in _made(op, cut, shapes, partial):
            known = partial.get(name, frozenset())
            if not found <= known:
                partial[name], changed = known | found, True
    return changed


def _made(
    op: Op,
    cut: set[str],
    shapes: dict[str, tuple[str, ...]],
    partial: dict[str, frozenset[_Partial]],
) -> Iterator[tuple[str, frozenset[_Partial]]]:
    none: frozenset[_Partial] = frozenset()
    if isinstance(op, Loop):
        for c in op.carried:
            found = partial.get(c.first, none) | partial.get(c.last, none)
            yield c.inside.name, found
            yield c.result.name, found
        return
    for value in results(op):
        found = frozenset().union(*(partial.get(n, none) for n in operands(op)))
        if isinstance(op, Reduce | Scan) and op.over in cut:
            found |= {_Partial(op.over, op.fn if isinstance(op, Reduce) else None, value)}
        elif isinstance(op, Dot):
            over = set(shapes.get(op.a, ())) & set(shapes.get(op.b, ())) - set(value.vars)
            found |= {_Partial(v, Fn.ADD, value) for v in over & cut}
        yield value.name, found


def _check_store(kernel: Kernel, store: Store, found: _Partial) -> None:
    indexed = any(at.var == found.var for at in store.at)
    if store.add and store.fn is found.fn and not indexed:
        return  # parts of all tiles are combined in memory
    what = "running sum" if found.fn is None else REDUCTIONS[found.fn].noun
    axis = kernel.var(found.var).axis
    line = found.made.line
    where = f"{line}: {line.text.strip()}" if line is not None and line.text else str(line or "")
    raise KernelError(
        f"a {what} along {found.var!r}, of which a tile has a part only",
        where=where,
        why=f"the grid cuts axis {axis!r} into tiles, so '{store.tensor}' would depend on how large"
        " a tile is",
        fix=f'keep the axis whole, wl.tile(..., whole="{axis}"), walk it by wl.steps, or combine '
        "the tiles' parts in memory: += for sums, wl.atomic_max for maxima",
    )
