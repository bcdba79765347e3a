"""Rows that a list picks, as CUDA text: copies of 16 bytes a thread from memory to slots.

Eight threads take a line of 128 bytes of a row, all of them 12 rows at a time; a thread remembers
the numbers of its rows for the tile. Copies land by themselves and arrive for their thread; who
waits for them fences, as they are ordinary writes to the tensor cores. Rows and columns that do not
exist are zeros. Rows that do not begin at 16 bytes are read and written element by element.
"""

from __future__ import annotations

from warploom.emit.cuda.roles import indent
from warploom.emit.cuda.tile.context import Context, pointwise
from warploom.kernel.values import Indices, Load, Pointwise, Spread
from warploom.lower.body import refusal
from warploom.lower.gather import AT_ONCE, CHUNK_BYTES, rounds_of
from warploom.lower.loop_ops import load_name
from warploom.lower.slots import LINE_BYTES, SlotRing, SlotTile, list_of

MINE = "(threadIdx.x - 32) / 8"  # the first warp is the producer


def gathered_lines(context: Context, ring: SlotRing) -> list[str]:
    """Declared for every tile: the numbers of its rows, and what copies them."""
    op = _load(context, ring)
    tile, array = ring.tiles[0], f"rows_{ring.tiles[0].value.replace('.', '_')}"
    rows, cols = op.result.vars
    numbers, many, elements = f"at_{array}", rounds_of(ring), CHUNK_BYTES * 8 // tile.dtype.bits
    picked = next(n for n, a in enumerate(op.at) if a.value == list_of(context.layout.body, op))
    number = _number(context, op.at[picked].value or "", rows)
    size = context.size_of(op.tensor, context.kernel.tensor(op.tensor).axes[picked].name)
    own = {picked: f"{numbers}[i]", len(op.at) - 1: "column"}
    places = [own.get(n) or context.index(a, "k") for n, a in enumerate(op.at)]
    start = context.address(op, [f"(long long)({p})" for p in places])
    left = f"{numbers}[i] < 0 ? 0 : left"
    steps = [f"{context.stride(op.tensor, n)}" for n in range(len(op.at) - 1)]
    wide = " | ".join(f"{s} % {elements}" for s in steps)
    return [
        f"int {numbers}[{many}];",
        "#pragma unroll",
        f"for (int i = 0; i < {many}; ++i) {{",
        f"  const int mine = {MINE} + {AT_ONCE} * i, row = {context.position(rows)} + mine;",
        f"  const bool exists = mine < {tile.rows} && row < {context.end_of(rows)};",
        f"  const int number = exists ? {number} : -1;",
        f"  {numbers}[i] = (unsigned)number < (unsigned){size} ? number : -1;",
        "}",
        f"const long long first_{array} = (long long){context.pointer(op.tensor)};",
        f"const bool wide_{array} = (({wide}) | (first_{array} % {CHUNK_BYTES})) == 0;",
        f"auto {load_name(ring)} = [&](int k, uint32_t slot, uint32_t full) {{",
        f"  const int from = {context.position(cols, 'k')}, end = {context.end_of(cols)};",
        f"  if (wide_{array}) {{",
        *indent(_each(tile, many, f"copy_row(at, &{start}, {left});"), 4),
        "    copies_arrive(full);",
        "  } else {",
        *indent(_each(tile, many, f"move_elements(at, &{start}, {left});"), 4),
        "    proxy_fence();",
        "    mbar_arrive(full);",
        "  }",
        "};",
    ]


def _each(tile: SlotTile, many: int, call: str) -> list[str]:
    """A call for every line of a thread: where it goes, and how many elements are left there."""
    elements = CHUNK_BYTES * 8 // tile.dtype.bits
    column = f"from + {tile.block_cols} * n + {elements} * (threadIdx.x % 8)"
    return [
        "#pragma unroll",
        f"for (int n = 0; n < {tile.blocks}; ++n) {{",
        f"  const int column = {column}, left = end - column;",
        "#pragma unroll",
        f"  for (int i = 0; i < {many}; ++i) {{",
        f"    const unsigned row = {MINE} + {AT_ONCE} * i;",
        f"    const uint32_t at = slot + {tile.rows * LINE_BYTES} * n + {LINE_BYTES} * row"
        " + (((threadIdx.x ^ row) % 8) << 4);",
        f"    if (row < {tile.rows}) {call}",
        "  }",
        "}",
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
