"""Grids as CUDA text: how many tiles there are, and where tile number i lies.

Nothing else in the emitted kernel knows about the walk. Tiles of the last two variables are visited
in groups of rows, so that neighbours share operands in the L2; units walk outermost.
"""

from __future__ import annotations

from warploom.emit.cuda.tile.context import Context
from warploom.kernel.values import Walk


def count_lines(context: Context) -> list[str]:
    """``tiles``: how many there are, from sizes."""
    lines = []
    factors = []
    for name in context.kernel.grid.vars:
        var = context.kernel.var(name)
        size = context.size(var.axis)
        if var.walk is Walk.TILE:
            extent = context.layout.extent(name)
            lines.append(f"const int count_{name} = ({size} + {extent - 1}) / {extent};")
        else:
            lines.append(f"const int count_{name} = {size};")
        factors.append(f"count_{name}")
    return [*lines, f"const int tiles = {' * '.join(factors)};"]


def place_lines(context: Context) -> list[str]:
    """Positions of the grid's variables in tile number ``tile``."""
    names = list(context.kernel.grid.vars)
    tiled = [n for n in names if context.kernel.var(n).walk is Walk.TILE]
    units = [n for n in names if n not in tiled]
    lines = ["int rest = tile;"]
    if len(tiled) == 2:
        rows, cols = tiled
        group = context.layout.tiling.group
        lines += [
            f"const int plane = rest % (count_{rows} * count_{cols});",
            f"rest /= count_{rows} * count_{cols};",
            f"const int band = plane / ({group} * count_{cols}) * {group};",
            f"const int tall = min(count_{rows} - band, {group});",
            f"const int inside = plane % ({group} * count_{cols});",
            f"const int pos_{rows} = (band + inside % tall) * {context.layout.extent(rows)};",
            f"const int pos_{cols} = inside / tall * {context.layout.extent(cols)};",
        ]
    else:
        for n in reversed(tiled):
            lines += [
                f"const int pos_{n} = rest % count_{n} * {context.layout.extent(n)};",
                f"rest /= count_{n};",
            ]
    for n in reversed(units):
        lines += [f"const int pos_{n} = rest % count_{n};", f"rest /= count_{n};"]
    whole = [v.name for v in context.kernel.vars if v.walk is Walk.WHOLE]
    return [*lines, *(f"constexpr int pos_{n} = 0;" for n in whole)]
