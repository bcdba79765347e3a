"""Rows that a list picks, as CUDA source: copies of 16 bytes a thread from memory to slots.

Eight threads take a line of 128 bytes of a row, all of them 12 rows at a time; a thread remembers
where its rows begin for the tile. Copies land by themselves and arrive for their thread; who
waits for them fences, as they are ordinary writes to the tensor cores. Rows and columns that do not
exist are zeros. Rows that do not begin at 16 bytes are read and written element by element.
"""

from __future__ import annotations

from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import printer
from warploom.codegen.cuda.tile.work import ROW
from warploom.ir.expr import substitute
from warploom.ir.tile import Load
from warploom.ir.tile_schedule import let
from warploom.passes.gather import AT_ONCE, CHUNK_BYTES, rounds_of
from warploom.passes.loop_ops import load_name
from warploom.passes.smem_layout import LINE_BYTES, SlotRing, SlotTile, list_of
from warploom.passes.warp_specialize import part_name

MINE = "(threadIdx.x - 32) / 8"  # the first warp is the producer


def gathered_lines(context: Context, ring: SlotRing) -> list[str]:
    """Declared for every tile: where its rows begin, and what copies them."""
    op = _load(context, ring)
    tile, array = ring.tiles[0], f"rows_{ring.tiles[0].value.replace('.', '_')}"
    cols, many = op.result.vars[1], rounds_of(ring)
    steps = [f"{context.stride(op.tensor, n)}" for n in range(len(op.at) - 1)]
    wide = " | ".join(f"{s} % {_elements(tile)}" for s in steps)
    rows = _rows_of(context, op, tile, array, many)
    moves = any(a.var == context.layout.body.loop.var for a in op.at[:-1])
    slot = f"slot + {LINE_BYTES} * ({MINE})"
    return [
        *([] if moves else rows),
        f"const long long first_{array} = (long long){context.pointer(op.tensor)};",
        f"const bool wide_{array} = (({wide}) | (first_{array} % {CHUNK_BYTES})) == 0;",
        f"auto {load_name(ring)} = [&](int k, uint32_t slot, uint32_t full) {{",
        *indent(rows if moves else [], 2),
        f"  const int from = {context.position(cols, 'k')}, end = {context.end_of(cols)};",
        f"  const int left = end - from - {_elements(tile)} * (threadIdx.x % 8);",
        f"  const uint32_t even = {slot} + (((threadIdx.x ^ ({MINE})) % 8) << 4), odd = even ^ 64;",
        f"  if (wide_{array} && all_{array} && from + {tile.cols} <= end) {{",
        *indent(_each(tile, array, many, "copy_line({to}, {at});"), 4),
        "    copies_arrive(full);",
        f"  }} else if (wide_{array}) {{",
        *indent(_each(tile, array, many, f"copy_row({{to}}, {{at}}, {_left(array)});"), 4),
        "    copies_arrive(full);",
        "  } else {",
        *indent(_each(tile, array, many, f"move_elements({{to}}, {{at}}, {_left(array)});"), 4),
        "    proxy_fence();",
        "    mbar_arrive(full);",
        "  }",
        "};",
    ]


def _elements(tile: SlotTile) -> int:
    """Elements that a thread copies at once."""
    return CHUNK_BYTES * 8 // tile.dtype.bits


def _left(array: str) -> str:
    return f"missing_{array} >> i & 1 ? 0 : left - across"


def _rows_of(context: Context, op: Load, tile: SlotTile, array: str, many: int) -> list[str]:
    """Where a thread's chunks begin: what is computed once a tile is not computed for every copy,
    which would take longer than the copies.
    """
    rows = op.result.vars[0]
    picked = next(n for n, a in enumerate(op.at) if a.value == list_of(context.layout.body, op))
    size = context.size_of(op.tensor, context.kernel.tensor(op.tensor).axes[picked].name)
    made, copy = printer(context), printer(context).thread_copy(part_name(tile.value))
    own = {picked: "max(number, 0)", len(op.at) - 1: f"{_elements(tile)} * (threadIdx.x % 8)"}
    places = [own.get(n) or made.text(x) for n, x in enumerate(copy.at)]
    number = made.text(substitute(copy.at[picked], {ROW: let("mine")}))
    start = context.address(op, [f"(long long)({p})" for p in places])
    there = [f"mine < {tile.rows}", f"row < {context.end_of(rows)}", *context.within(op, places)]
    row = f"{context.position(rows)} + mine"
    if context.kernel.grid.kind == "groups":  # rows past its end are not stored: any one will do
        row = f"min({row}, {context.end_of(rows)} - 1)"
    return [
        f"const uint16_t* {array}[{many}];",
        f"unsigned missing_{array} = 0;",
        "#pragma unroll",
        f"for (int i = 0; i < {many}; ++i) {{",
        f"  const int mine = {MINE} + {AT_ONCE} * i, row = {row};",
        f"  const bool exists = {' && '.join(there)};",
        f"  int number = exists ? {number} : -1;",
        f"  if ((unsigned)number >= (unsigned){size}) {{",
        "    number = -1;",
        f"    missing_{array} |= mine < {tile.rows} ? 1u << i : 0u;",
        "  }",
        f"  {array}[i] = &{start};",
        "}",
        f"const bool all_{array} = __all_sync(~0u, missing_{array} == 0);",
    ]


def _each(tile: SlotTile, array: str, many: int, call: str) -> list[str]:
    """A call for every line of a thread. Rows are 12 apart: every other one is swizzled alike."""
    to = f"(i % 2 ? odd : even) + {tile.rows * LINE_BYTES} * n + {LINE_BYTES * AT_ONCE} * i"
    whole = tile.rows % AT_ONCE == 0
    last = "" if whole else f"if (i < {many - 1} || {MINE} + {AT_ONCE} * i < {tile.rows}) "
    return [
        "#pragma unroll",
        f"for (int n = 0; n < {tile.blocks}; ++n) {{",
        f"  const int across = {tile.block_cols} * n;",
        "  (void)across;",
        "#pragma unroll",
        f"  for (int i = 0; i < {many}; ++i)",
        f"    {last}{call.format(to=to, at=f'{array}[i] + (from + across)')}",
        "}",
    ]


def _load(context: Context, ring: SlotRing) -> Load:
    op = context.layout.body.ops[ring.tiles[0].value]
    assert isinstance(op, Load)
    return op
