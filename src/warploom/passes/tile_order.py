"""Which tiles a CTA visits, where tiles differ in length: a list schedule made before the launch.

A causal mask makes the last row of tiles as long as the loop and the first one iteration long. The
longest tiles are handed out first, each to the CTA that is done soonest by the iterations it has,
so that all end together. Units (heads of a batch) come in bands whose loop operands fit in the L2.
The list depends on sizes and the number of CTAs alone: the same for every launch.

Where tiles take turns to add to memory (``wl.Turns``), the rows of a unit are handed out from the
last to the first, and a tile waits for rows after it alone. Every CTA visits its tiles in the order
they were handed out, and all CTAs run at once, so the first tile that is not done never waits: no
order of events is a deadlock. With a causal mask a loop begins at its row: who begins no sooner
than the row after it finds that one ahead by a tile, and hardly ever waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heapreplace
from math import prod

from warploom.ir.affine import Affine
from warploom.ir.tile import (
    Access,
    Broadcast,
    Const,
    Fn,
    Kernel,
    Load,
    Pointwise,
    Size,
    Store,
    Walk,
)
from warploom.passes.body import Body, body_of
from warploom.passes.fuse import fuse
from warploom.passes.kernel_config import KernelConfig, TileTerms, count_tiles
from warploom.passes.loop_bounds import Cut, begins_at, cut_of
from warploom.passes.multicast import row_variable
from warploom.passes.smem_layout import grouped_vars
from warploom.targets.h200 import HopperTarget, h200

EVEN = 1.01  # of the least time a list can take: no need to look further
NARROW, TURN_ROWS = (
    64,
    256,
)  # a turn of sums of so few columns takes so many rows, others an iteration's
STOP = -1  # after the last tile of a CTA

Sizes = Mapping[str, int]


def differ(kernel: Kernel, cut: Cut | None) -> bool:
    """Whether tiles differ in length by their row, the one variable that is tiled, or in turn."""
    tiled = [n for n in kernel.grid.vars if kernel.var(n).walk is Walk.TILE]
    longer = cut is not None and any(a.rows for a in cut.bounds) and tiled == [cut.row]
    return kernel.grid.kind == "tiles" and (longer or takes_turns(kernel))


def takes_turns(kernel: Kernel) -> bool:
    """Whether what tiles add to memory is added in the order of their rows."""
    return any(t.access is Access.TURNS for t in kernel.tensors)


def turn_rows(extent: int, columns: int, most: int | None) -> int:
    """Rows of a loop with tiles of ``extent`` whose turn is taken, and given on, at once. Where
    tiles begin one after the other, ``most`` is the distance they begin at.
    """
    rows = TURN_ROWS if columns <= NARROW else extent
    return max(1, (rows if most is None else min(rows, most)) // extent) * extent


def starts_early(body: Body, cut: Cut | None, config: KernelConfig) -> bool:
    """Whether a ragged tile of rows is the first one, and begins before the tensor does.

    That is best where rows further down are the longer ones. Loads there give zeros. Copies out
    are kept from it: the two kernels that were run so ended in an illegal instruction.
    """
    grows = cut is not None and any(a.rows > 0 for a in cut.above)
    copied = not config.store_from_registers or any(isinstance(op, Store) for op in body.loop.body)
    return grows and not copied and differ(body.kernel, cut)


def visit_list(
    kernel: Kernel,
    config: KernelConfig,
    sizes: Sizes,
    ctas: int,
    target: HopperTarget | None = None,
) -> tuple[int, ...]:
    """For every CTA where its tiles begin in this list, then the tiles: unit * rows + row.

    ``target``: the chip (the H200 where not given).
    """
    chip = target or h200()
    body = body_of(kernel)
    row = next(n for n in kernel.grid.vars if kernel.var(n).walk is Walk.TILE)
    cut = cut_of(body, fuse(body)) or Cut(row=row, bounds=(), known=True)
    costs = [n + chip.tiles.ends for n in row_trips(body, cut, config, sizes)]
    units = prod(sizes[kernel.var(n).axis] for n in kernel.grid.vars if n != row)
    order = sorted(range(len(costs)), key=lambda r: -costs[r])
    if takes_turns(kernel):
        order = list(reversed(range(len(costs))))
    own = _evenly(
        costs, units, ctas, _band(body, config, sizes, units, chip.memory.band_bytes), order
    )
    flat: list[int] = []
    starts = []
    for tiles in own:
        starts.append(ctas + len(flat))
        flat += [*tiles, STOP]
    return (*starts, *flat)


def _evenly(
    costs: Sequence[float], units: int, ctas: int, widest: int, order: Sequence[int]
) -> list[list[int]]:
    """The tiles in the widest bands, or in narrower ones where those share the work better."""
    least = max(units * sum(costs) / ctas, *costs)
    best: tuple[float, list[list[int]]] | None = None
    for band in sorted({-(-widest * n // 4) for n in range(1, 5)}, reverse=True):
        own = hand_out(costs, units, ctas, band, order)
        longest = max(sum(costs[t % len(costs)] for t in tiles) for tiles in own)
        if best is None or longest < best[0]:
            best = longest, own
        if longest <= EVEN * least:
            break
    assert best is not None
    return best[1]


def hand_out(
    costs: Sequence[float], units: int, ctas: int, band: int, order: Sequence[int]
) -> list[list[int]]:
    """Tiles of each CTA: band by band the rows in their order, each to who is done soonest."""
    rows = len(costs)
    own: list[list[int]] = [[] for _ in range(ctas)]
    done = [(0.0, c) for c in range(ctas)]
    heapify(done)
    for first in range(0, units, band):
        for row in order:
            for unit in range(first, min(first + band, units)):
                at, cta = done[0]
                own[cta].append(unit * rows + row)
                heapreplace(done, (at + costs[row], cta))
    return own


def row_trips(body: Body, cut: Cut, config: KernelConfig, sizes: Sizes) -> list[int]:
    """Iterations of the tiles of a unit, by row; what only the device knows cuts nothing."""
    kernel, loop = body.kernel, body.loop.var
    row_var = next(n for n in kernel.grid.vars if kernel.var(n).walk is Walk.TILE)
    rows, step = config.extent(row_var), config.extent(loop)
    length, end = sizes[kernel.var(row_var).axis], sizes[kernel.var(loop).axis]
    count = -(-length // rows)
    ragged = count * rows - length if starts_early(body, cut, config) else 0
    result = []
    for row in range(count):
        low, high = 0, end
        for bound in cut.bounds:
            most = _solved(body, bound, row * rows - ragged, rows, sizes)
            if most is None:
                continue
            if bound.loop < 0:
                high = min(high, most + 1)
            elif bound.loop > 0:
                begin = begins_at(body, step)
                low = max(low, -most // begin * begin)
        result.append(max(1, -(-(high - low) // step)))
    return result


def _solved(body: Body, bound: Affine, row: int, rows: int, sizes: Sizes) -> int | None:
    """What is left of a bound for the row of the tile that lets most iterations through."""
    total = bound.constant + bound.rows * (row + rows - 1 if bound.rows > 0 else row)
    for factor, name in bound.rest:
        value = _number(body, name, sizes)
        if value is None:
            return None
        total += factor * value
    return total


def _number(body: Body, name: str, sizes: Sizes) -> int | None:
    """A scalar that sizes decide."""
    op = body.ops.get(name)
    if isinstance(op, Const):
        return int(op.value)
    if isinstance(op, Size):
        per = body.kernel.tensor(op.tensor).axis(op.axis).per
        return -(-sizes[op.axis] // per) if op.axis in sizes else None
    if isinstance(op, Broadcast):
        return _number(body, op.arg, sizes)
    if not isinstance(op, Pointwise) or op.fn not in _ARITHMETIC:
        return None
    args = [_number(body, a, sizes) for a in op.args]
    known = [a for a in args if a is not None]
    return _ARITHMETIC[op.fn](*known) if len(known) == len(args) else None


_ARITHMETIC: Mapping[Fn, Callable[..., int]] = {
    Fn.ADD: lambda a, b: a + b,
    Fn.SUB: lambda a, b: a - b,
    Fn.MUL: lambda a, b: a * b,
    Fn.NEG: lambda a: -a,
    Fn.MIN: min,
    Fn.MAX: max,
}


def _band(body: Body, config: KernelConfig, sizes: Sizes, units: int, most: int) -> int:
    """Units visited side by side: their loop operands fit in ``most`` bytes of the L2, in bands
    of equal width.
    """
    row = sum(
        config.extent(op.result.vars[1]) * op.result.dtype.bits // 8
        for op in body.loop.body
        if isinstance(op, Load) and len(op.result.dims) == 2
    )
    length = sizes[body.kernel.var(body.loop.var).axis]
    fit = max(1, min(units, most // max(1, length * row)))
    return -(-units // -(-units // fit))


def tiles_of(kernel: Kernel, config: KernelConfig, sizes: Sizes) -> int:
    """How many tiles there are, a cluster's as one; of groups, the most there can be."""
    return count_tiles(tile_terms(kernel, config), sizes)


def tile_terms(kernel: Kernel, config: KernelConfig) -> TileTerms:
    """The number of tiles as a product of sums of axes (``count_tiles``)."""
    counts, rows = {}, row_variable(kernel)
    for name in kernel.grid.vars:
        var = kernel.var(name)
        extent = config.extent(name) if var.walk is Walk.TILE else 1
        extent *= config.cluster if name == rows else 1
        counts[name] = (var.axis, extent)
    if kernel.grid.kind == "tiles":
        return tuple((count,) for count in counts.values())
    groups, grouped = grouped_vars(kernel)
    rest = [(c,) for n, c in counts.items() if n not in (groups, grouped)]
    return ((counts[grouped], counts[groups]), *rest)
