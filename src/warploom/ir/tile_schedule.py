"""The tile schedule: which tiles of the output a CTA takes, and in which order.

A ``TileSchedule`` is a primitive of the module. Its meaning is ``expand``: integer expressions that
code generators print and the interpreter evaluates. That every kind visits every tile exactly once,
for any number of tiles and CTAs, is verified once per kind (``warploom.verify.coverage.schedules``)
and not once per kernel.

Kinds, by their fields:

- *raster*: tiles of one variable, the units (batches, heads) outermost.
- *grouped*: tiles of two variables in bands of ``group`` rows, column by column inside a band, so
  that tiles which run at the same time share operands in the L2.
- *serpentine*: every other band is walked from its last column.
- *neighbours*: CTAs with ``side * side`` successive numbers take a square of tiles.
- *clustered*: the CTAs of a cluster take tiles one below the other; a cluster counts as one CTA.
- *split-K*: ``split`` CTAs share the reduction of one tile.
- *grid*: one CTA a tile, as the launch numbers them: rows first.
- *listed*: tiles as raster, in an order that a list of the launch gives every CTA: where tiles
  differ in length, the longest first. Every tile is in the list once.
- *ordered*: as raster or grouped; element ``visit`` of a tensor says which tile is next.
- *groups*: row tiles of groups that lie one after the other along an axis, from offsets in memory;
  no tile crosses the end of a group.
- *rows*: no tiles but rows, ``rows`` of them to a CTA at a time; ``paired``: rows r and r + 8 of
  every 16 of the last variable count as one.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

from warploom.dataclass import dataclass
from warploom.ir.expr import (
    Expr,
    IntExpr,
    Select,
    Sym,
    SymKind,
    ceil_div,
    const,
    least,
    lift,
    product,
    size,
)

CTA = Sym(SymKind.LAUNCH, "cta")
CTAS = Sym(SymKind.LAUNCH, "ctas")
SMS = Sym(SymKind.LAUNCH, "sms")
TILE = Sym(SymKind.LET, "tile")
TILES = Sym(SymKind.LET, "tiles")
VISIT = Sym(SymKind.VISIT, "visit")
RANK = Sym(SymKind.LET, "rank")
PART = Sym(SymKind.LET, "part")


@dataclass(frozen=True, slots=True, kw_only=True)
class TileAxis:
    """A variable of the grid: its axis and how many elements one tile covers (units: 1)."""

    var: str
    axis: str
    extent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Groups along the axis of ``rows``: group g has rows ``starts[g]`` to ``starts[g + 1]``."""

    starts: str
    group: TileAxis
    rows: TileAxis


@dataclass(frozen=True, slots=True, kw_only=True)
class TileSchedule:
    """The order in which the CTAs of a launch take tiles; see the module's text for the kinds."""

    tiled: tuple[TileAxis, ...]
    units: tuple[TileAxis, ...] = ()
    group: int = 0
    serpentine: bool = False
    neighbours: int = 0
    cluster: int = 1
    split: int = 1
    launched: bool = False  # one CTA a tile, numbered by the launch; no loop over tiles
    listed: bool = False
    order: str = ""
    groups: Groups | None = None
    rows: int = 0
    paired: bool = False

    @property
    def name(self) -> str:
        """The kind in words, as listings print it."""
        words = ["grid" if self.launched else f"grouped {self.group}" if self.group else "raster"]
        words = [f"rows, {self.rows} at a time"] if self.rows else words
        words += ["listed"] if self.listed else []
        words += [f"ordered by {self.order}"] if self.order else []
        words += [f"groups by {self.groups.starts}"] if self.groups else []
        words += ["serpentine"] if self.serpentine else []
        words += [f"neighbours {self.neighbours}x{self.neighbours}"] if self.neighbours else []
        words += [f"clustered {self.cluster}"] if self.cluster > 1 else []
        words += [f"split-K {self.split}"] if self.split > 1 else []
        return ", ".join(words)

    @property
    def axes(self) -> tuple[TileAxis, ...]:
        """All variables of the grid: units, then tiled ones; of groups the group and its rows
        first.
        """
        grouped = () if self.groups is None else (self.groups.group, self.groups.rows)
        return (*grouped, *self.units, *self.tiled)


class Bound(StrEnum):
    """What a name says of a loop or a group: its first element, the one after the last (of what is
    walked, or of the axis as a condition of the loop cuts it), how many elements are a part's own.
    """

    FIRST = "first"
    END = "end"
    UNTIL = "until"
    OWN = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Let:
    """A name for an expression, in the scope that follows it; ``bound``: what it bounds."""

    name: Sym
    value: IntExpr
    bound: Bound | None = None


def let(name: str) -> Sym:
    """A symbol that a ``Let`` binds."""
    return Sym(SymKind.LET, name)


def tile_index(var: str) -> Sym:
    """The number of the tile along a variable."""
    return Sym(SymKind.TILE, var)


def count(var: str) -> Sym:
    """How many tiles there are along a variable (of the rows of a cluster: clusters)."""
    return let(f"count_{var}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """What a schedule means: ``counts`` once a kernel, ``start`` before a role's loop, ``place``
    for tile number ``tile``. The loop runs ``tile = first; tile < total; tile += stride``.
    """

    counts: tuple[Let, ...]
    start: tuple[Let, ...]
    first: IntExpr
    total: IntExpr
    stride: IntExpr
    place: tuple[Let, ...]
    indices: tuple[tuple[str, IntExpr], ...]


@lru_cache(maxsize=64)
def expand(schedule: TileSchedule) -> Expansion:
    """The expressions of a schedule. Which tile of which group a number is, memory decides:
    ``place`` and ``indices`` say nothing of groups.
    """
    if schedule.rows:
        sizes: list[IntExpr] = [size(a.axis) for a in schedule.units]
        if schedule.paired:
            sizes[-1] = lift((sizes[-1] + 15) // 16 * 8)
        total = ceil_div(product(sizes), schedule.rows)
        return Expansion(
            counts=(Let(name=TILES, value=total),),
            start=(),
            first=CTA,
            total=TILES,
            stride=CTAS,
            place=(),
            indices=(),
        )
    counts = [Let(name=count(a.var), value=_count(schedule, a)) for a in schedule.axes]
    total = product([count(a.var) for a in schedule.axes])
    counts.append(Let(name=TILES, value=total))
    start, first = _first(schedule)
    place, indices = _place(schedule)
    units = TILES * schedule.split
    return Expansion(
        counts=tuple(counts),
        start=tuple(start),
        first=lift(first // schedule.cluster),
        total=lift(units),
        stride=lift(CTAS // schedule.cluster),
        place=tuple(place),
        indices=tuple(indices),
    )


def grid_of(schedule: TileSchedule, resident: int = 1) -> IntExpr:
    """CTAs of a launch: no more than the device runs at once, whole clusters.

    ``sms`` counts what runs at once: SMs, of clusters the clusters that fit.
    """
    total = expand(schedule)
    values = {x.name: x.value for x in total.counts}
    if schedule.rows:
        return lift(least(values[TILES], SMS * resident))
    if schedule.groups is not None:
        rest = [values[count(a.var)] for a in (*schedule.units, *schedule.tiled)]
        rows = values[count(schedule.groups.rows.var)]
        most_tiles = lift(rows + values[count(schedule.groups.group.var)])
        return lift(least(product([most_tiles, *rest]), SMS * resident) * schedule.cluster)
    tiles = product([values[count(a.var)] for a in schedule.axes]) * schedule.split
    if schedule.launched:
        return lift(tiles)
    return lift(least(tiles, SMS * resident) * schedule.cluster)


def _count(schedule: TileSchedule, axis: TileAxis) -> IntExpr:
    rows = schedule.tiled[0] if len(schedule.tiled) == 2 else None
    extent = axis.extent * (schedule.cluster if axis == rows else 1)
    return ceil_div(size(axis.axis), extent)


def _first(schedule: TileSchedule) -> tuple[list[Let], Expr]:
    """Where a CTA begins. Sixteen CTAs with successive numbers share a part of the chip that asks
    the L2 once for what they want together, so they take a square of tiles, not a column.
    """
    if not schedule.neighbours:
        return [], CTA
    side, tall = schedule.neighbours, schedule.group
    every = side * tall
    place, moved, first = let("place"), let("moved"), let("first_tile")
    moved_to = CTA - place + place // side % side * tall
    moved_to = moved_to + place // (side * side) * side + place % side
    whole = CTAS // every * every
    return [
        Let(name=place, value=lift(CTA % every)),
        Let(name=moved, value=lift(moved_to)),
        Let(name=first, value=Select(lift(moved < whole), moved, CTA)),
    ], first


def _place(schedule: TileSchedule) -> tuple[list[Let], list[tuple[str, IntExpr]]]:
    lets: list[Let] = []
    indices: list[tuple[str, IntExpr]] = []
    number: Expr = TILE
    if schedule.split > 1:
        number = TILE // schedule.split
        lets.append(Let(name=PART, value=lift(TILE % schedule.split)))
    if schedule.launched:
        rows, cols = (a.var for a in schedule.tiled)
        return lets, [(rows, lift(number % count(rows))), (cols, lift(number // count(rows)))]
    if len(schedule.tiled) == 2:
        number = _plane(schedule, number, lets, indices)
    else:
        for axis in reversed(schedule.tiled):
            indices.append((axis.var, lift(number % count(axis.var))))
            number = number // count(axis.var)
    for axis in reversed(schedule.units):
        indices.append((axis.var, lift(number % count(axis.var))))
        number = number // count(axis.var)
    return lets, indices


def _plane(
    schedule: TileSchedule, number: Expr, lets: list[Let], indices: list[tuple[str, IntExpr]]
) -> Expr:
    """Two tiled variables; the rest of the number."""
    rows, cols = (a.var for a in schedule.tiled)
    area = count(rows) * count(cols)
    plane, band, tall, inside = let("plane"), let("band"), let("tall"), let("inside")
    rest: Expr = const(0)
    if schedule.cluster > 1:
        lets.append(Let(name=RANK, value=lift(CTA % schedule.cluster)))
    if schedule.units:
        lets.append(Let(name=plane, value=lift(number % area)))
        rest = number // area
    else:
        lets.append(Let(name=plane, value=lift(number)))
    group = schedule.group
    column: Expr = inside // tall
    if schedule.serpentine:
        back = count(cols) - 1 - inside // tall
        column = Select(lift(band // group % 2), lift(back), lift(column))
    row: Expr = band + inside % tall
    if schedule.cluster > 1:
        row = row * schedule.cluster + RANK
    lets += [
        Let(name=band, value=lift(plane // (group * count(cols)) * group)),
        Let(name=tall, value=least(count(rows) - band, group)),
        Let(name=inside, value=lift(plane % (group * count(cols)))),
    ]
    indices += [(rows, lift(row)), (cols, lift(column))]
    return rest
