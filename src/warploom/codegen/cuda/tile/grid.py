"""Tile schedules as CUDA source: how many tiles there are, and where tile number i lies.

Nothing else in the emitted kernel knows about the walk. What a schedule means is stated by the
module (``ir.tile_schedule.expand``, ``TileLoop.lets``) and printed here. Where data decides it, the
loop has a form of its own: each CTA visits the tiles that a list names, a tensor says in which
order tiles are begun, or groups (experts, packed sequences) lie one after the other along an axis.
No tile crosses a group's end, so their number is known on the device only: a CTA walks on through
the groups until its next tile lies in one, and is done after the last.
"""

from __future__ import annotations

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.from_module import BACKWARDS, ModulePrinter
from warploom.errors import BackendError
from warploom.ir.expr import IntExpr, Sym, lift, substitute
from warploom.ir.tile_schedule import Groups, Let, count, let, tile_index


def count_lines(made: ModulePrinter, *, anew: bool = False) -> list[str]:
    """How many tiles there are, from sizes; ``anew``: the counts alone, of sizes read again."""
    groups = made.schedule.groups
    hidden = {count(groups.rows.var), let("tiles")} if groups is not None else set()
    bound = made.expansion.counts
    kernel = made.module.kernel
    for var in kernel.grid.vars:  # parameters in the order of the author's grid
        made.context.size(kernel.var(var).axis)
    if anew:
        counts = {count(a.var) for a in made.schedule.axes} - hidden
        return [made.let_line(x, made.reread(x.value)) for x in bound if x.name in counts]
    lines = [made.let_line(x) for x in bound if x.name not in hidden]
    if groups is None:
        return lines
    rest = [count(a.var) for a in (*made.schedule.units, *made.schedule.tiled)]
    factors = " * ".join(made.text(x) for x in rest) or "1"
    return [*lines, f"const int across = {factors};  // tiles side by side"]


def walk_lines(made: ModulePrinter) -> list[str]:
    """The head of a role's loop over its CTA's tiles."""
    schedule, parts = made.schedule, made.expansion
    if schedule.groups is not None:
        return [
            "int group = 0, before = 0;  // row tiles of the groups before this one",
            "for (int tile = blockIdx.x;; tile += gridDim.x) {",
        ]
    if schedule.listed:
        order = made.context.order()
        return [
            f"for (int visit = {device.listed}({order} + blockIdx.x);; ++visit) {{",
            f"  const int tile = {device.listed}({order} + visit);",
            "  if (tile < 0) break;",
        ]
    first, total, stride = (made.text(x) for x in (parts.first, parts.total, parts.stride))
    if schedule.order:
        order = made.context.pointer(schedule.order)
        after = f"{order}[min(visit + (int){stride}, {total} - 1)]"  # asked for a tile early
        return [
            f"for (int visit = {first}, next = {order}[min(visit, {total} - 1)];"
            f" visit < {total}; visit += {stride}) {{",
            "  const int tile = next;",
            f"  next = {after};",
        ]
    *before, last = [f"{x.name.name} = {made.text(x.value)}" for x in parts.start] or [""]
    lines = [f"const int {', '.join(before)};"] if before else []
    lines += [f"const int {last};"] if last else []
    name = "unit" if schedule.split > 1 else "tile"
    head = f"for (int {name} = {first}; {name} < {total}; {name} += {stride}) {{"
    more = [f"  const int tile = unit / {schedule.split};"] if schedule.split > 1 else []
    return [*lines, head, *more]


def place_lines(made: ModulePrinter) -> list[str]:
    """Where tile number ``tile`` lies."""
    groups = made.schedule.groups
    if groups is not None:
        return _group_lines(made, groups)
    parts = made.expansion
    lines = [made.let_line(x) for x in parts.place]
    indices: dict[Sym, IntExpr] = {tile_index(var): value for var, value in parts.indices}
    return [*lines, *_bound(made, made.tiles.lets, indices)]


def _bound(made: ModulePrinter, lets: tuple[Let, ...], indices: dict[Sym, IntExpr]) -> list[str]:
    return [made.let_line(x, substitute(x.value, indices)) for x in lets if x.name != BACKWARDS]


def again_lines(made: ModulePrinter) -> list[str]:
    """The tile's place once more, for its tail: it does not wait in registers along the loop."""
    if not made.schedule.listed:
        return []
    return [
        f"const int tile = {device.listed}({made.context.order()} + visit);",
        *place_lines(made),
    ]


def _group_lines(made: ModulePrinter, groups: Groups, none: str = "break;") -> list[str]:
    """Which tile of which group number ``tile`` is, and where that lies."""
    schedule, number = made.schedule, f"count_{groups.group.var}"
    starts = [made.context.element(groups.starts, [f"group{more}"]) for more in ("", " + 1")]
    extent, tall = groups.rows.extent, schedule.group
    own = {let(f"pos_{groups.group.var}"), let(f"end_{groups.rows.var}")}
    first = tuple(x for x in made.tiles.lets if x.name in own)
    rest = tuple(x for x in made.tiles.lets if x.name not in own)
    indices: dict[Sym, IntExpr] = {
        tile_index(groups.group.var): let("group"),
        tile_index(groups.rows.var): lift(let("band") + let("place") % let("tall")),
    }
    lines = [
        "int here = 0;  // row tiles of the group",
        f"while (group < {number}) {{",
        f"  here = ({starts[1]} - {starts[0]} + {extent - 1}) / {extent};",
        "  if (tile < (before + here) * across) break;",
        "  before += here;",
        "  ++group;",
        "}",
        f"if (group == {number}) {none}",
        *_bound(made, first, indices),
        "const unsigned inside = tile - before * across;",  # divided faster, by fewer registers
        f"const int band = here > {tall} ? inside / ({tall} * across) * {tall} : 0;",
        f"const int tall = min(here - band, {tall});",
        "const unsigned place = inside - band * across;",
    ]
    lines += _bound(
        made, tuple(x for x in rest if x.name == let(f"pos_{groups.rows.var}")), indices
    )
    lines.append("int rest = place / tall;")
    others = [x for x in rest if x.name != let(f"pos_{groups.rows.var}")]
    axes = [*reversed((*schedule.units, *schedule.tiled))]
    for axis in axes:
        last = axis is axes[-1]  # nothing is left but it
        index: IntExpr = let("rest") if last else lift(let("rest") % count(axis.var))
        mine = tuple(x for x in others if x.name == let(f"pos_{axis.var}"))
        lines += _bound(made, mine, {tile_index(axis.var): index})
        lines += [] if last else [f"rest /= count_{axis.var};"]
    return lines


def early_lines(made: ModulePrinter) -> list[str]:
    """``find``: whether tile ``next`` exists, and where it lies."""
    groups = made.schedule.groups
    if groups is None:
        raise BackendError(
            "tiles that are looked for early, and no groups",
            where=made.module.name,
            why="where the next tile lies is known at once, but for tiles of groups",
        )
    names = [x.name.name for x in made.tiles.lets if x.name != BACKWARDS]
    found = [*_group_lines(made, groups, "return false;"), *(f"next_{n} = {n};" for n in names)]
    return [
        walk_lines(made)[0],
        f"int {', '.join(f'next_{n} = 0' for n in names)};",
        "auto find = [&](int tile) {",
        *indent([*found, "return true;"], 2),
        "};",
        "int next = blockIdx.x;",
        "bool more = find(next);",
        "while (more) {",
        f"  const int {', '.join(f'{n} = next_{n}' for n in names)};",
    ]


NEXT = "more = find(next += gridDim.x);"
