"""Grids as CUDA text: how many tiles there are, and where tile number i lies.

Nothing else in the emitted kernel knows about the walk. Tiles of two variables are visited in
groups of rows, so that neighbours share operands in the L2. Tiles of one variable are visited unit
by unit: neighbours share the loop's operands. Where a condition makes tiles differ in length, the
long ones come first through a few units at a time, as many as the L2 holds the operands of, or in
pairs: a CTA takes a long tile and the short one that makes up for it.

Groups (experts, packed sequences) lie one after the other along an axis, from offsets in memory. No
tile crosses a group's end, so their number is known on the device only: a CTA walks on through the
groups until its next tile lies in one, and is done after the last. ``end_VAR`` is the group's end.
"""

from __future__ import annotations

from warploom.emit.cuda.tile.context import Context
from warploom.kernel.values import Load, Walk
from warploom.lower.choose import grouped_vars
from warploom.lower.ranges import Cut

L2_SHARE = 24 * 1024 * 1024  # bytes of operands that units visited together may have


def count_lines(context: Context, cut: Cut | None = None) -> list[str]:
    """``tiles``: how many there are, from sizes."""
    if context.kernel.grid.kind == "groups":
        return _group_counts(context)
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
    if _walk(context, cut) == "pairs":
        tiled, units = _split(context)
        factors = [f"count_{u}" for u in units] + [f"((count_{tiled[0]} + 1) / 2 * 2)"]
    total = f"const int tiles = {' * '.join(factors)};"
    return [*lines, total, *(_together(context) if _walk(context, cut) == "bands" else [])]


def _walk(context: Context, cut: Cut | None) -> str:
    """``groups``, ``plane``, ``units``, ``bands`` or ``pairs``."""
    if context.kernel.grid.kind == "groups":
        return "groups"
    tiled, units = _split(context)
    if len(tiled) == 2:
        return "plane"
    if len(tiled) != 1 or not units or not _slope(cut):
        return "units"
    return "pairs" if context.layout.tiling.pairs else "bands"


def walk_lines(context: Context, cut: Cut | None) -> list[str]:
    """The head of a role's loop over its CTA's tiles."""
    walk = _walk(context, cut)
    if walk == "groups":
        return [
            "int group = 0, before = 0;  // row tiles of the groups before this one",
            "for (int tile = blockIdx.x;; tile += gridDim.x) {",
        ]
    if walk == "pairs":
        return [
            "for (int tile = 2 * blockIdx.x; tile < tiles;"
            " tile = tile % 2 ? tile - 1 + 2 * gridDim.x : tile + 1) {"
        ]
    return ["for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {"]


def _group_counts(context: Context) -> list[str]:
    """Counts of all variables but the grouped one; ``across``: tiles side by side."""
    groups, grouped = grouped_vars(context.kernel)
    lines, factors = [], []
    for name in context.kernel.grid.vars:
        var = context.kernel.var(name)
        size = context.size(var.axis)
        if name == grouped:
            continue
        if var.walk is Walk.TILE:
            extent = context.layout.extent(name)
            size = f"({size} + {extent - 1}) / {extent}"
        lines.append(f"const int count_{name} = {size};")
        factors += [f"count_{name}"] if name != groups else []
    return [*lines, f"const int across = {' * '.join(factors) or '1'};"]


def _groups(context: Context) -> list[str]:
    groups, grouped = grouped_vars(context.kernel)
    starts = context.pointer(context.kernel.grid.starts[0])
    extent = context.layout.extent(grouped)
    lines = [
        "const int row_tile = tile / across;",
        "int rest = tile % across;",
        f"while (group < count_{groups}) {{",
        f"  const int here = ({starts}[group + 1] - {starts}[group] + {extent - 1}) / {extent};",
        "  if (row_tile < before + here) break;",
        "  before += here;",
        "  ++group;",
        "}",
        f"if (group == count_{groups}) break;",
        f"const int pos_{groups} = group, end_{grouped} = {starts}[group + 1];",
        f"const int pos_{grouped} = {starts}[group] + (row_tile - before) * {extent};",
    ]
    for name in reversed(context.kernel.grid.vars):
        if name in (groups, grouped):
            continue
        tiled = context.kernel.var(name).walk is Walk.TILE
        extent = context.layout.extent(name) if tiled else 1
        place = f"rest % count_{name}" + (f" * {extent}" if tiled else "")
        lines += [f"const int pos_{name} = {place};", f"rest /= count_{name};"]
    return lines


def _split(context: Context) -> tuple[list[str], list[str]]:
    names = list(context.kernel.grid.vars)
    tiled = [n for n in names if context.kernel.var(n).walk is Walk.TILE]
    return tiled, [n for n in names if n not in tiled]


def _together(context: Context) -> list[str]:
    """How many units are visited side by side: their operands fit in the L2 together."""
    tiled, units = _split(context)
    if len(tiled) != 1 or not units:
        return []
    size = context.size(context.kernel.var(context.layout.body.loop.var).axis)
    row = sum(
        context.layout.extent(op.result.vars[1]) * op.result.dtype.bits // 8
        for op in context.layout.body.loop.body
        if isinstance(op, Load) and len(op.result.dims) == 2
    )
    every = " * ".join(f"count_{u}" for u in units)
    return [
        f"const int units = {every};",
        f"const int together = max(1, min(units, (int)({L2_SHARE}LL / ((long long){size} * {row}"
        " + 1))));",
    ]


def place_lines(context: Context, cut: Cut | None = None) -> list[str]:
    """Positions of the grid's variables in tile number ``tile``."""
    tiled, units = _split(context)
    walk = _walk(context, cut)
    whole = [
        f"constexpr int pos_{v.name} = 0;" for v in context.kernel.vars if v.walk is Walk.WHOLE
    ]
    if walk == "groups":
        return [*_groups(context), *whole]
    lines = ["int rest = tile;"]
    if walk == "plane":
        lines += _plane(context, *tiled)
    elif walk == "bands":
        lines += _bands(context, tiled[0], _slope(cut))
    elif walk == "pairs":
        lines += _pairs(context, tiled[0])
    else:
        for n in reversed(tiled):
            lines += [
                f"const int pos_{n} = rest % count_{n} * {context.layout.extent(n)};",
                f"rest /= count_{n};",
            ]
    for n in reversed(units):
        lines += [f"const int pos_{n} = rest % count_{n};", f"rest /= count_{n};"]
    return [*lines, *whole]


def _plane(context: Context, rows: str, cols: str) -> list[str]:
    group = context.layout.tiling.group
    return [
        f"const int plane = rest % (count_{rows} * count_{cols});",
        f"rest /= count_{rows} * count_{cols};",
        f"const int band = plane / ({group} * count_{cols}) * {group};",
        f"const int tall = min(count_{rows} - band, {group});",
        f"const int inside = plane % ({group} * count_{cols});",
        f"const int pos_{rows} = (band + inside % tall) * {context.layout.extent(rows)};",
        f"const int pos_{cols} = inside / tall * {context.layout.extent(cols)};",
    ]


def _pairs(context: Context, var: str) -> list[str]:
    """A long tile and the short one that makes up for it; the middle one of an odd number once."""
    return [
        f"const int visit = rest % ((count_{var} + 1) / 2 * 2);",
        f"rest /= (count_{var} + 1) / 2 * 2;",
        f"const int row_tile = visit % 2 ? visit / 2 : count_{var} - 1 - visit / 2;",
        f"if (visit % 2 && 2 * row_tile == count_{var} - 1) continue;",
        f"const int pos_{var} = row_tile * {context.layout.extent(var)};",
    ]


def _bands(context: Context, var: str, slope: int) -> list[str]:
    """Units in bands of ``together``; in a band the rows walk outside, long tiles first."""
    place = f"(count_{var} - 1 - inside / wide)" if slope > 0 else "inside / wide"
    return [
        f"const int band = rest / (together * count_{var}) * together;",
        "const int wide = min(units - band, together);",
        f"const int inside = rest - band * count_{var};",
        f"const int pos_{var} = {place} * {context.layout.extent(var)};",
        "rest = band + inside % wide;",
    ]


def _slope(cut: Cut | None) -> int:
    """Whether tiles further down visit more iterations (1), fewer (-1), or all as many (0)."""
    rows = [a.rows for a in (*cut.above, *cut.below)] if cut is not None else []
    return 1 if any(r > 0 for r in rows) else -1 if any(r < 0 for r in rows) else 0
