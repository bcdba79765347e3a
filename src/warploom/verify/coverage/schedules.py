"""Every kind of tile schedule visits every tile exactly once, for any number of tiles and CTAs.

The argument, once per kind:

- *CTAs*: the loop ``tile = first; tile < total; tile += stride`` with ``stride`` = number of CTAs
  visits every number once if the ``first`` of the CTAs are a permutation of 0 .. ctas - 1.
  ``first = cta`` is one. With *neighbours* of side s and bands of g rows, p = cta mod s*g is
  written p = (q, r, c) with c = p mod s, r = p / s mod s, q = p / s^2, and moved to
  r * g + q * s + c: mixed-radix digits in another order, a permutation of 0 .. s*g - 1 as s divides
  g. Blocks of s*g CTAs that the grid does not fill keep their numbers.
- *grouped*: number p of a plane of R x C tiles lies in band p / (g*C); the band has
  tall = min(R - band, g) rows, and inside = p mod (g*C) < tall * C, also in the last band, because
  p < R * C. (inside mod tall, inside / tall) is a bijection onto the band's tiles; *serpentine*
  reverses the columns of every other band, a bijection again.
- *raster*, *units*: digits of a mixed-radix number.
- *clustered*: a cluster takes one number; its CTAs take rows c*row + rank, rank = 0 .. c - 1. The
  rows are counted in clusters, so rows past the end are tiles without elements.
- *split-K*: number = tile * split + part. *grid*: the launch numbers the tiles.

``visits_every_tile`` checks the expressions of a schedule against this argument by enumeration.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from warploom.ir.expr import Sym, SymKind
from warploom.ir.tile_schedule import CTA, CTAS, TILE, TileSchedule, expand
from warploom.verify.coverage.values import value_of

CTA_NUMBERS = (1, 2, 3, 7, 64, 132, 200)


def kind_of(schedule: TileSchedule) -> TileSchedule:
    """The schedule with extents of 1: what it does with tile numbers does not depend on them."""
    tiled = tuple(replace(a, extent=1) for a in schedule.tiled)
    return replace(schedule, tiled=tiled)


@lru_cache(maxsize=64)
def visits_every_tile(schedule: TileSchedule) -> tuple[str, int]:
    """What is wrong with a kind of schedule ('' for nothing), and how many cases were tried."""
    group = max(schedule.group, 1)
    rows = sorted({0, 1, 2, group - 1, group, group + 1, 2 * group + 3} - {-1})
    tried = 0
    axes = schedule.axes
    choices = [rows if a in schedule.tiled[:1] else (1, 2, 5) for a in axes]
    for counts in product(*choices):
        sizes = {
            a.axis: n * (schedule.cluster if a in schedule.tiled[:1] else 1)
            for a, n in zip(axes, counts, strict=True)
        }
        for ctas in CTA_NUMBERS:
            tried += 1
            wrong = _wrong(schedule, sizes, ctas * schedule.cluster)
            if wrong:
                told = ", ".join(f"{a.var}: {n}" for a, n in zip(axes, counts, strict=True))
                return f"{wrong} (tiles {told}, {ctas} CTAs)", tried
    return "", tried


def _wrong(schedule: TileSchedule, sizes: dict[str, int], ctas: int) -> str:
    total = int(np.prod([sizes[a.axis] for a in schedule.axes])) * schedule.split
    if schedule.launched:
        ctas = total
    counted = np.zeros([sizes[a.axis] for a in schedule.axes] + [schedule.split], int)
    symbols: dict[Sym, Any] = {Sym(SymKind.SIZE, n): v for n, v in sizes.items()}
    symbols |= {CTAS: ctas}
    expansion = expand(schedule)
    for bound in expansion.counts:
        symbols[bound.name] = value_of(bound.value, symbols, {})
    numbers = int(value_of(expansion.total, symbols, {}))
    symbols[CTA] = np.arange(ctas)
    for bound in expansion.start:
        symbols[bound.name] = value_of(bound.value, symbols, {})
    first = np.broadcast_to(value_of(expansion.first, symbols, {}), (ctas,))
    stride = int(value_of(expansion.stride, symbols, {}))
    most = -(-numbers // max(stride, 1))
    tiles = first[:, None] + stride * np.arange(most)[None, :]
    runs = tiles < numbers
    symbols[TILE] = tiles[runs]
    symbols[CTA] = np.broadcast_to(np.arange(ctas)[:, None], tiles.shape)[runs]
    for bound in expansion.place:
        symbols[bound.name] = value_of(bound.value, symbols, {})
    places = dict(expansion.indices)
    if not symbols[TILE].size:
        return "" if not counted.size else "no tile is visited"
    shape = symbols[TILE].shape
    index = [np.broadcast_to(value_of(places[a.var], symbols, {}), shape) for a in schedule.axes]
    part = symbols.get(Sym(SymKind.LET, "part"), 0)
    index.append(np.broadcast_to(part, shape))
    for place, length in zip(index, counted.shape, strict=True):
        if np.any((place < 0) | (place >= length)):
            return "a tile that does not exist is visited"
    np.add.at(counted, tuple(index), 1)
    if np.any(counted == 0):
        return "a tile is never visited"
    return "a tile is visited more than once" if np.any(counted > 1) else ""
