"""The iterations of a tile as CUDA text: where the loop starts and ends, and which hide nothing."""

from __future__ import annotations

from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.ir.tile import Walk
from warploom.passes.loop_bounds import Affine, Cut, begins_at, fewest_trips

MIRRORED = [  # iterations that lie wholly inside, of a loop that is walked from its end
    "const int last_whole = k_tiles - whole_from;",
    "whole_from = k_tiles - whole_to, whole_to = last_whole;",
]


def trip_lines(context: Context, cut: Cut | None, least: int, *, masked: bool) -> list[str]:
    """How many iterations a tile has, and where each begins; at least ``least`` are run."""
    loop, config = context.layout.body.loop, context.layout.config
    if loop.lists:
        return list_lines(context, cut, least)
    size = context.size(context.kernel.var(loop.var).axis)
    extent = context.layout.extent(loop.var) * loop.times
    start = f"max(0, {context.uniform(loop.start)})" if loop.start else "0"
    lines, end = [f"int first_{loop.var} = {start};"], size
    if loop.until:
        end = f"until_{loop.var}"
        lines.append(f"const int {end} = min({size}, {context.uniform(loop.until)});")
    single, split = extent == 1 and bool(loop.until), config.split_k > 1
    several = single and (least > 1 or (least == 1 and split))
    if single and least and not several:  # no step at hand: one of zeros past the end
        lines.append(f"if (first_{loop.var} >= {end}) first_{loop.var} = {size};")
    fewest = max(least, fewest_trips(context.layout))
    lines += range_lines(context, cut, end, masked=masked, fewest=fewest)
    step = f"{extent} * k"
    if config.serpentine:
        step = f"{extent} * (backwards ? k_tiles - 1 - k : k)"
        lines += ["if (backwards) {", *indent(MIRRORED, 2), "}"] if masked else []
    position = f"first_{loop.var} + {step}"
    if several:  # steps beyond the tile's own lie past the end, whatever lies between
        own = f"end_{loop.var} - first_{loop.var}"
        own = f"min({own}, k_share)" if split else own
        lines.append(f"const int own_{loop.var} = {own};")
        position = f"{step} < own_{loop.var} ? {position} : {size}"
    return [*lines, f"auto step_{loop.var} = [&](int k) {{ return {position}; }};"]


def range_lines(
    context: Context, cut: Cut | None, end: str, *, masked: bool, fewest: int = 1
) -> list[str]:
    """``k_tiles`` iterations; those from ``whole_from`` to ``whole_to`` need no mask.

    At least ``fewest`` are run: those past the end take no part in anything.
    """
    loop = context.layout.body.loop.var
    extent = context.layout.extent(loop) * context.layout.body.loop.times
    lines = [f"int end_{loop} = {end};"]
    if cut is not None:
        for bound in cut.below:  # t >= start
            start = _solved(context, cut, bound, widest=True)
            skip = f"max(({start}) - first_{loop}, 0)"
            step = begins_at(context.layout.body, extent)
            whole = f" / {step} * {step}"
            lines.append(f"first_{loop} += {skip}{whole};")
        for bound in cut.above:  # t <= most
            most = _solved(context, cut, bound, widest=True)
            lines.append(f"end_{loop} = min(end_{loop}, ({most}) + 1);")
    count = f"(end_{loop} - first_{loop} + {extent - 1}) / {extent}"
    if context.layout.config.split_k > 1:
        lines += _part_lines(context, count, fewest)
    else:
        lines.append(f"const int k_tiles = max({count}, {fewest});")
    if not masked:
        return lines
    lines.append("int whole_from = 0, whole_to = k_tiles;")
    if cut is not None and not cut.known:
        lines.append("whole_to = 0;")
    seen = cut if cut is not None and cut.known else None
    for bound in seen.below if seen is not None else ():
        start = _solved(context, cut, bound, widest=False)
        up = f"max(({start}) - first_{loop} + {extent - 1}, 0) / {extent}"
        lines.append(f"whole_from = min(max(whole_from, {up}), k_tiles);")
    for bound in seen.above if seen is not None else ():
        most = _solved(context, cut, bound, widest=False)
        lines.append(f"whole_to = min(whole_to, floor_div(({most}) + 1 - first_{loop}, {extent}));")
    return [*lines, "whole_to = min(max(whole_to, 0), k_tiles);"]


def list_lines(context: Context, cut: Cut | None, fewest: int) -> list[str]:
    """The tiles that lists name, one list after the other; past them, what lies past the end.

    Tiles listed as whole need no mask, unless one of them may cross the end.
    """
    loop = context.layout.body.loop
    extent, size = context.layout.extent(loop.var), context.size(context.kernel.var(loop.var).axis)
    lines, counts, at = [], [], f"({size} + {extent - 1}) / {extent}"
    for n, tiles in enumerate(loop.lists):
        lines += [
            f"const int count_{n}_{loop.var} = {_of_grid(context, tiles.counts)};",
            f"const int* const tiles_{n}_{loop.var} = &{_of_grid(context, tiles.tensor)};",
        ]
        counts.append(f"count_{n}_{loop.var}")
    for n in reversed(range(len(counts))):
        before = "".join(f" - {c}" for c in counts[:n])
        at = f"k{before} < {counts[n]} ? tile_number(tiles_{n}_{loop.var} + k{before}) : {at}"
    whole = " + ".join(c for c, x in zip(counts, loop.lists, strict=True) if x.whole) or "0"
    known = cut is None or cut.known
    return [
        *lines,
        f"const int whole_{loop.var} = {whole}, k_tiles = max({' + '.join(counts)},"
        f" {max(fewest, fewest_trips(context.layout))});",
        f"const int whole_from = 0, whole_to = {size} % {extent} ? 0 : whole_{loop.var};"
        if known
        else "const int whole_from = 0, whole_to = 0;",
        f"auto step_{loop.var} = [&](int k) {{ return {extent} * ({at}); }};",
    ]


def _of_grid(context: Context, tensor: str) -> str:
    """The element of a tensor that the tile at hand has, or its first along an axis of its own."""
    walked = {context.kernel.var(n).axis: n for n in context.kernel.grid.vars}
    parts = []
    for n, axis in enumerate(context.kernel.tensor(tensor).axes):
        if axis.name in walked:
            stride = context.stride(tensor, n)
            per = f" / {axis.per}" if axis.per > 1 else ""
            parts.append(f"pos_{walked[axis.name]}{per} * {stride}")
    return f"{context.pointer(tensor)}[{' + '.join(parts)}]"


def _part_lines(context: Context, count: str, fewest: int) -> list[str]:
    """The iterations of a part; what a part runs beyond its own lies past the end of all."""
    loop, split = context.layout.body.loop.var, context.layout.config.split_k
    extent = context.layout.extent(loop) * context.layout.body.loop.times
    return [
        f"const int k_all = {count};",
        f"const int k_share = max((k_all + {split - 1}) / {split}, {fewest});",
        f"const int k_tiles = max(min(k_all - part * k_share, k_share), {fewest});",
        f"first_{loop} += part * k_share * {extent};",
    ]


def last_row(context: Context, cut: Cut | None, end: str) -> str:
    """The last tile of rows whose loop begins before ``end``."""
    assert cut is None or cut.row is not None
    tile = next(n for n in context.kernel.grid.vars if context.kernel.var(n).walk is Walk.TILE)
    extent, size = context.layout.extent(tile), context.size(context.kernel.var(tile).axis)
    last = f"({size} - 1) / {extent}"
    for bound in cut.below if cut is not None else ():
        if bound.rows:
            terms = [f"{f} * ({context.uniform(v)})" for f, v in bound.rest]
            room = " + ".join([f"{end} - 1", str(bound.constant), *terms])
            last = f"min({last}, ({room}) / {-bound.rows * extent})"
    return last


def _solved(context: Context, cut: Cut | None, bound: Affine, *, widest: bool) -> str:
    """The loop's index at which a bound holds for some row of the tile, or for all of them."""
    assert cut is not None
    terms = [str(bound.constant)] if bound.constant or not bound.rest else []
    terms += [f"{'' if f == 1 else f'{f} * '}({context.uniform(v)})" for f, v in bound.rest]
    if bound.rows and cut.row is not None:
        most = f"(pos_{cut.row} + {context.layout.extent(cut.row) - 1})"
        at = most if (bound.rows > 0) is widest else f"pos_{cut.row}"
        terms.append(f"{bound.rows} * {at}")
    rest = " + ".join(terms)
    return f"-({rest})" if bound.loop > 0 else rest
