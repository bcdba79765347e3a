"""Grids as CUDA text: how many tiles there are, and where tile number i lies.

Nothing else in the emitted kernel knows about the walk. Tiles of two variables are visited in
groups of rows, so that neighbours share operands in the L2. Tiles of one variable are visited unit
by unit: neighbours share the loop's operands. Where a condition makes tiles differ in length, each
CTA visits the tiles a list names (``lower.visits``); if the last rows are the longest, a ragged
tile is the first one and begins before the tensor does (unless tiles leave by copies).

Where CTAs share the loop of a tile, a CTA walks over parts of tiles. A tensor of the kernel may say
in which order tiles are begun.

Groups (experts, packed sequences) lie one after the other along an axis, from offsets in memory. No
tile crosses a group's end, so their number is known on the device only: a CTA walks on through the
groups until its next tile lies in one, and is done after the last. ``end_VAR`` is the group's end.
"""

from __future__ import annotations

from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.ir.tile import Load, Position, Store, Walk
from warploom.passes.body import only_products
from warploom.passes.heuristics import SIDE
from warploom.passes.layout import Layout
from warploom.passes.loop_bounds import Cut
from warploom.passes.smem_layout import grouped_vars
from warploom.passes.tile_order import differ

STEP = 8  # elements at whose multiples tiles start: 16 bytes are stored at once


def count_lines(context: Context, cut: Cut | None = None) -> list[str]:
    """``tiles``: how many there are, from sizes."""
    if context.kernel.grid.kind == "groups":
        return _group_counts(context)
    lines = []
    factors = []
    for name in context.kernel.grid.vars:
        var = context.kernel.var(name)
        size = context.size(var.axis)
        if var.walk is Walk.TILE:  # the tiles of a cluster count as one
            extent = context.layout.extent(name)
            extent *= context.layout.config.cluster if name == _split(context)[0][0] else 1
            lines.append(f"const int count_{name} = ({size} + {extent - 1}) / {extent};")
        else:
            lines.append(f"const int count_{name} = {size};")
        factors.append(f"count_{name}")
    if _walk(context, cut) == "listed":
        return lines
    return [*lines, f"const int tiles = {' * '.join(factors)};"]


def _walk(context: Context, cut: Cut | None) -> str:
    """``groups``, ``plane``, ``listed`` or ``units``."""
    if context.kernel.grid.kind == "groups":
        return "groups"
    if len(_split(context)[0]) == 2:
        return "plane"
    return "listed" if differ(context.kernel, cut) else "units"


def walk_lines(context: Context, cut: Cut | None) -> list[str]:
    """The head of a role's loop over its CTA's tiles."""
    walk = _walk(context, cut)
    if walk == "groups":
        return [
            "int group = 0, before = 0;  // row tiles of the groups before this one",
            "for (int tile = blockIdx.x;; tile += gridDim.x) {",
        ]
    split = context.layout.config.split_k
    if walk == "listed":
        order = context.order()
        return [
            f"for (int visit = listed({order} + blockIdx.x);; ++visit) {{",
            f"  const int tile = listed({order} + visit);",
            "  if (tile < 0) break;",
        ]
    size = context.layout.config.cluster
    each = f" / {size}" if size > 1 else ""
    if split > 1:
        return [
            f"for (int unit = blockIdx.x{each}; unit < tiles * {split};"
            f" unit += gridDim.x{each}) {{",
            f"  const int tile = unit / {split}, part = unit % {split};",
        ]
    if context.kernel.grid.order:
        order = context.pointer(context.kernel.grid.order)
        after = f"{order}[min(visit + (int)gridDim.x{each}, tiles - 1)]"  # asked for a tile early
        return [
            f"for (int visit = blockIdx.x{each}, next = {order}[min(visit, tiles - 1)];"
            f" visit < tiles; visit += gridDim.x{each}) {{",
            "  const int tile = next;",
            f"  next = {after};",
        ]
    lines, first = _neighbours(context) if walk == "plane" and size == 1 else ([], "blockIdx.x")
    return [
        *lines,
        f"for (int tile = {first}{each}; tile < tiles; tile += gridDim.x{each}) {{",
    ]


def _neighbours(context: Context) -> tuple[list[str], str]:
    """CTAs with 16 numbers in a row share a part of the chip, which asks the L2 once for what they
    want at the same time: they take 4 x 4 tiles, not a column of a band. Any number of CTAs does.
    """
    tall = context.layout.config.raster_group
    if not context.layout.config.serpentine or tall % SIDE or tall == SIDE:
        return [], "blockIdx.x"
    every, side = SIDE * tall, SIDE
    moved = f"place / {side} % {side} * {tall} + place / {side * side} * {side} + place % {side}"
    return [
        f"const int place = blockIdx.x % {every}, moved = blockIdx.x - place + {moved};",
        f"const int first_tile = moved < gridDim.x / {every} * {every} ? moved : blockIdx.x;",
    ], "first_tile"


def again_lines(context: Context, cut: Cut | None) -> list[str]:
    """The tile's place once more, for its tail: it does not wait in registers along the loop."""
    if _walk(context, cut) != "listed":
        return []
    return [f"const int tile = listed({context.order()} + visit);", *place_lines(context, cut)]


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


def _groups(context: Context, none: str = "break;") -> list[str]:
    groups, grouped = grouped_vars(context.kernel)
    starts = context.pointer(context.kernel.grid.starts[0])
    extent, tall = context.layout.extent(grouped), context.layout.config.raster_group
    lines = [
        "int here = 0;  // row tiles of the group",
        f"while (group < count_{groups}) {{",
        f"  here = ({starts}[group + 1] - {starts}[group] + {extent - 1}) / {extent};",
        "  if (tile < (before + here) * across) break;",
        "  before += here;",
        "  ++group;",
        "}",
        f"if (group == count_{groups}) {none}",
        f"const int pos_{groups} = group, end_{grouped} = {starts}[group + 1];",
        "const unsigned inside = tile - before * across;",  # divided faster, by fewer registers
        f"const int band = here > {tall} ? inside / ({tall} * across) * {tall} : 0;",
        f"const int tall = min(here - band, {tall});",
        "const unsigned place = inside - band * across;",
        f"const int pos_{grouped} = {starts}[group] + (band + place % tall) * {extent};",
        "int rest = place / tall;",
    ]
    names = [n for n in reversed(context.kernel.grid.vars) if n not in (groups, grouped)]
    for name in names:
        tiled = context.kernel.var(name).walk is Walk.TILE
        extent = context.layout.extent(name) if tiled else 1
        last = name == names[-1]  # nothing is left but it
        place = "rest" if last else f"rest % count_{name}"
        lines.append(f"const int pos_{name} = {place}" + (f" * {extent};" if tiled else ";"))
        lines += [] if last else [f"rest /= count_{name};"]
    return lines


def finds_early(layout: Layout) -> bool:
    """Whether consumers look for their next tile while the first product of one runs."""
    kernel, shared = layout.body.kernel, layout.config.pingpong == 1
    return kernel.grid.kind == "groups" and only_products(layout.body) and shared


def early_lines(context: Context, cut: Cut | None) -> list[str]:
    """``find``: whether tile ``next`` exists, and where it lies."""
    grouped = grouped_vars(context.kernel)[1]
    names = [f"end_{grouped}", *(f"pos_{n}" for n in context.kernel.grid.vars)]
    found = [*_groups(context, "return false;"), *(f"next_{n} = {n};" for n in names)]
    return [
        walk_lines(context, cut)[0],
        f"int {', '.join(f'next_{n} = 0' for n in names)};",
        "auto find = [&](int tile) {",
        *indent([*found, "return true;"], 2),
        "};",
        "int next = blockIdx.x;",
        "bool more = find(next);",
        "while (more) {",
        f"  const int {', '.join(f'{n} = next_{n}' for n in names)};",
        *indent(whole_lines(context), 2),
    ]


NEXT = "more = find(next += gridDim.x);"


def _split(context: Context) -> tuple[list[str], list[str]]:
    names = list(context.kernel.grid.vars)
    tiled = [n for n in names if context.kernel.var(n).walk is Walk.TILE]
    return tiled, [n for n in names if n not in tiled]


def place_lines(context: Context, cut: Cut | None = None) -> list[str]:
    """Positions of the grid's variables in tile number ``tile``."""
    tiled, units = _split(context)
    walk = _walk(context, cut)
    if walk == "groups":
        return [*_groups(context), *whole_lines(context)]
    lines = ["int rest = tile;"] if units or walk != "plane" else []
    if walk == "plane":
        lines += _plane(context, *tiled, alone=not units)
    else:
        for n in reversed(tiled):
            extent = context.layout.extent(n)
            before = _before(context, cut, n)
            lines += [
                f"const int pos_{n} = rest % count_{n} * {extent}{before};",
                f"rest /= count_{n};",
            ]
    for n in reversed(units):
        lines += [f"const int pos_{n} = rest % count_{n};", f"rest /= count_{n};"]
    return [*lines, *whole_lines(context)]


def whole_lines(context: Context) -> list[str]:
    """Variables that stand for a whole axis."""
    return [f"constexpr int pos_{v.name} = 0;" for v in context.kernel.vars if v.walk is Walk.WHOLE]


def _plane(context: Context, rows: str, cols: str, *, alone: bool) -> list[str]:
    """Bands of ``group`` rows; ``alone``: there are no other variables. Walks that turn around also
    go through every other band from its last columns: these are in the L2.
    """
    size, column = context.layout.config.cluster, "inside / tall"
    group = max(1, context.layout.config.raster_group // size)
    if context.layout.config.serpentine:
        column = f"(band / {group} % 2 ? count_{cols} - 1 - {column} : {column})"
    row = "(band + inside % tall)"
    row = f"({row} * {size} + rank)" if size > 1 else row
    plane = [
        f"const int plane = rest % (count_{rows} * count_{cols});",
        f"rest /= count_{rows} * count_{cols};",
    ]
    return [
        *([f"const int rank = blockIdx.x % {size};"] if size > 1 else []),
        *(["const int plane = tile;"] if alone else plane),
        f"const int band = plane / ({group} * count_{cols}) * {group};",
        f"const int tall = min(count_{rows} - band, {group});",
        f"const int inside = plane % ({group} * count_{cols});",
        f"const int pos_{rows} = {_pulled(context, rows, row)};",
        f"const int pos_{cols} = {_pulled(context, cols, column)};",
    ]


def _pulled(context: Context, var: str, number: str) -> str:
    """Where a tile starts. The last one is pulled back inside: copies of rows that do not exist
    take several times as long. What it shares with its neighbour is computed twice, to the same
    bits, unless the tail reads tiles: these may be what is stored. Blocks that share a number stay
    whole.
    """
    extent = context.layout.extent(var)
    place = f"{number} * {extent}"
    if not _is_pulled(context, var):
        return place
    size = context.size(context.kernel.var(var).axis)
    most = f"max(({size} - {extent} + {STEP - 1}) / {STEP} * {STEP}, 0)"
    return f"min({place}, {most})"


def _is_pulled(context: Context, var: str) -> bool:
    body, kernel = context.layout.body, context.kernel
    loads = [op for _, op in body.placed if isinstance(op, Load)]
    listed = {a.name for x in body.loop.lists for a in kernel.tensor(x.counts).axes}
    return not (
        kernel.var(var).axis in listed  # a tile walks the list of the rows it begins at
        or any(isinstance(op, Position) and op.var == var for _, op in body.placed)
        or any(d.var == var and d.per > 1 for op in loads for d in op.result.dims)
        or any(isinstance(op, Load) and len(op.result.dims) == 2 for op in body.tail)
        or any(op.add for _, op in body.placed if isinstance(op, Store))
    )


def turned_line(context: Context, cut: Cut | None) -> str:
    """Whether a tile walks its loop backwards: every other one of a CTA. Tiles that share elements
    all go forwards, so that they store the same bits; then all of a cluster do, which fetch one
    another's steps.
    """
    alone, ctas = [], context.layout.config.cluster
    tiled = _split(context)[0] if _walk(context, cut) == "plane" else []
    for var in tiled:
        if _is_pulled(context, var):
            size, extent = context.size(context.kernel.var(var).axis), context.layout.extent(var)
            end = f"pos_{var} + {2 * extent}"
            if ctas > 1 and var == tiled[0]:
                end = f"((band + inside % tall) * {ctas} + {ctas + 1}) * {extent}"
            alone.append(f"({size} % {extent} == 0 || {end} <= {size})")
    return f"const bool backwards = {' && '.join(['turned', *alone])};"


def _before(context: Context, cut: Cut | None, var: str) -> str:
    """What the first tile lies before the tensor, so that the last one is whole."""
    if _walk(context, cut) != "listed" or context.early != var:
        return ""
    size, extent = context.size(context.kernel.var(var).axis), context.layout.extent(var)
    return f" - (count_{var} * {extent} - {size})"
