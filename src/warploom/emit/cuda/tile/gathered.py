"""Rows that a list picks, as CUDA text: threads have the copy engine fetch them one by one.

A thread remembers the numbers of its rows for the tile. A row of a block is a box of 128 bytes, and
lands swizzled by its place as it would in a box of many rows. Rows and columns that do not exist
are zeros.
"""

from __future__ import annotations

from warploom.emit.cuda.tile.context import Context, pointwise
from warploom.kernel.values import Indices, Load, Pointwise, Spread
from warploom.lower.body import refusal
from warploom.lower.gather import THREADS, rounds_of
from warploom.lower.loop_ops import load_name
from warploom.lower.slots import LINE_BYTES, SlotRing, list_of

MINE = "(int)threadIdx.x - 32"  # the first warp is the producer


def gathered_lines(context: Context, ring: SlotRing) -> list[str]:
    """Declared for every tile: the numbers of its rows, and what copies them."""
    op = _load(context, ring)
    tile, numbers = ring.tiles[0], f"at_{ring.tiles[0].value.replace('.', '_')}"
    rows, cols = op.result.vars
    many = rounds_of(ring)
    picked = next(n for n, a in enumerate(op.at) if a.value == list_of(context.layout.body, op))
    number = _number(context, op.at[picked].value or "", rows)
    own = {picked: f"{numbers}[i]", len(op.at) - 1: "column"}
    places = [own.get(n) or context.index(a, "k") for n, a in enumerate(op.at)]
    box = tuple(tile.block_cols if n == len(op.at) - 1 else 1 for n in range(len(op.at)))
    name = context.map_of(context.kernel.tensor(op.tensor), box, span=tile.span)
    copy = f"tma_load_{len(places)}d(at, &{name}, full, {', '.join(reversed(places))});"
    return [
        f"int {numbers}[{many}];",
        "#pragma unroll",
        f"for (int i = 0; i < {many}; ++i) {{",
        f"  const int mine = {MINE} + {THREADS} * i, row = {context.position(rows)} + mine;",
        f"  const bool exists = mine < {tile.rows} && row < {context.end_of(rows)};",
        f"  {numbers}[i] = exists ? {number} : -1;",
        "}",
        f"auto {load_name(ring)} = [&](int k, uint32_t slot, uint32_t full) {{",
        "#pragma unroll",
        f"  for (int n = 0; n < {tile.blocks}; ++n) {{",
        f"    const int column = {context.position(cols, 'k')} + {tile.block_cols} * n;",
        "#pragma unroll",
        f"    for (int i = 0; i < {many}; ++i) {{",
        f"      const int row = {MINE} + {THREADS} * i;",
        f"      const uint32_t at = slot + {tile.rows * LINE_BYTES} * n + {LINE_BYTES} * row;",
        f"      if (row < {tile.rows}) {copy}",
        "    }",
        "  }",
        "};",
    ]


def _load(context: Context, ring: SlotRing) -> Load:
    op = context.layout.body.ops[ring.tiles[0].value]
    assert isinstance(op, Load)
    return op


def _number(context: Context, name: str, rows: str) -> str:
    """A value of rows at the row at hand."""
    body = context.layout.body
    op = body.ops[name]
    if not body.values[name].dims:
        return context.uniform(name)
    if isinstance(op, Indices):
        return "row"
    if isinstance(op, Spread):
        return _number(context, op.arg, rows)
    if isinstance(op, Load):
        return context.element_at(
            op, ["row" if a.var == rows else context.index(a, None) for a in op.at]
        )
    if isinstance(op, Pointwise):
        args = [_number(context, a, rows) for a in op.args]
        return pointwise(op.fn, args, op.result.dtype, [body.values[a].dtype for a in op.args])
    raise refusal("this value picks no rows", body.values[name].line)
