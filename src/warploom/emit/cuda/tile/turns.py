"""Turns as CUDA text: tiles add to the same rows in order, let in and counted by spare warps."""

from __future__ import annotations

from warploom.emit.cuda.tile.context import Context
from warploom.emit.cuda.tile.iterations import last_row
from warploom.kernel.values import Access, Store, Walk
from warploom.lower.ranges import cut_of
from warploom.lower.visits import turn_rows


class _Turn:
    """The turn of the rows an iteration adds to: where the tiles that added to them are counted,
    whether they exist, and whether the iteration is their first or last.
    """

    def __init__(self, context: Context, op: Store, iteration: str) -> None:
        body, kernel = context.layout.body, context.kernel
        rows, columns = body.values[op.value].vars
        extent = context.layout.extent(rows)
        cut = cut_of(body, context.layout.steps)
        tile = next(n for n in kernel.grid.vars if kernel.var(n).walk is Walk.TILE)
        most = context.layout.extent(tile) if cut is not None and cut.bounds else None
        together = turn_rows(extent, context.layout.extent(columns), most)
        at = context.position(rows, iteration)
        first = f"{at} / {together} * {together}" if together > extent else at
        self.exists = f"{first} < {context.limit(op.tensor, kernel.var(rows).axis, rows)}"
        begins = f"{iteration} == 0 || {at} % {together} == 0"
        ends = f"{iteration} == k_tiles - 1 || ({at} + {extent}) % {together} == 0"
        self.begins, self.ends = begins, ends
        self.end = f"{first} + {together}"
        turns = next(t for t in kernel.tensors if t.access is Access.TURNS)
        named = {a.name: p for a, p in zip(kernel.tensor(op.tensor).axes, op.at, strict=True)}
        units = {a: context.index(p, iteration) for a, p in named.items()}
        parts = [
            f"({first if named[a.name].var == rows else units[a.name]})"
            f" * {context.stride(turns.name, n)}"
            for n, a in enumerate(turns.axes)
        ]
        self.place = f"(unsigned*){context.pointer(turns.name)} + ({' + '.join(parts)})"


def _turn_store(context: Context) -> Store:
    return next(op for op in context.layout.body.loop.body if isinstance(op, Store))


def _counts(context: Context) -> tuple[str, str]:
    """Where a warp counts turns it has left, and the usher those that may be taken."""
    own = "smem + TURNS + 4 * (4 * instance + warp_in_group)"
    return own, f"smem + TURNS + {16 * context.layout.tiling.consumers}"


def take_turn(context: Context, op: Store, iteration: str) -> list[str]:
    """Wait until the usher has opened the turn."""
    turn = _Turn(context, op, iteration)
    own, opened = _counts(context)
    return [
        f"if ({turn.begins})",
        f"  while ((int)(counted_shared({opened}) - counted_shared({own})) <= 0) {{}}",
        "__syncwarp();",
    ]


def leave_turn(context: Context, op: Store, iteration: str) -> list[str]:
    """Tell the clerk that this warp has added to all rows of a turn."""
    turn = _Turn(context, op, iteration)
    own, _ = _counts(context)
    return ["__syncwarp();", f"if (lane == 0 && ({turn.ends})) count_shared({own});"]


def usher_tile(context: Context) -> list[str]:
    """The usher opens turns: it waits until the tiles after this one have added to the rows, as far
    as they do. A spare warp, so that nobody who computes waits for an answer of the L2.
    """
    op = _turn_store(context)
    turn = _Turn(context, op, "k")
    tile = next(n for n in context.kernel.grid.vars if context.kernel.var(n).walk is Walk.TILE)
    cut = cut_of(context.layout.body, context.layout.steps)
    after = f"{last_row(context, cut, turn.end)} - pos_{tile} / {context.layout.extent(tile)}"
    return [
        "for (int k = 0; k < k_tiles; ++k) {",
        f"  if (!({turn.begins})) continue;",
        f"  if ({turn.exists}) while (load_acquire({turn.place}) < {after}) __nanosleep(32);",
        f"  count_shared({_counts(context)[1]});",
        "}",
    ]


def clerk_tile(context: Context) -> list[str]:
    """The clerk gives turns on: a spare warp, so that nobody who computes waits for the fence."""
    turn = _Turn(context, _turn_store(context), "k")
    warps = 4 * context.layout.tiling.consumers
    return [
        "for (int k = 0; k < k_tiles; ++k) {",
        f"  if (!({turn.ends})) continue;",
        "  ++given;",
        f"  if (lane < {warps})",
        "    while ((int)(counted_shared(smem + TURNS + 4 * lane) - given) < 0) __nanosleep(32);",
        "  __syncwarp();",
        "  fence_gpu();",
        f"  if (lane == 0 && {turn.exists}) add_relaxed({turn.place});",
        "}",
    ]
