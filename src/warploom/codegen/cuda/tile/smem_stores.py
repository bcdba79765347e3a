"""Computed tiles into ring slots as CUDA source: packed registers to swizzled rows."""

from __future__ import annotations

from warploom.codegen.cuda.tile.context import Context
from warploom.passes.smem_layout import LINE_BYTES
from warploom.passes.smem_ops import Put


def put_text(context: Context, put: Put) -> list[str]:
    """A consumer's rows of a tile, 16 x 16 elements of a warp at a time.

    Elements of rows that do not exist are written as 0: products sum over them.
    """
    array = context.layout.array_of(put.value)
    tile = put.ring.tiles[0]
    value = context.layout.body.values[put.value]
    rows = value.vars[0]
    block = tile.rows * LINE_BYTES
    end = context.end_of(rows)
    first = context.position(rows, "k")
    whole = f"{first} + {tile.rows} <= {end}"
    whole = f"{first} >= 0 && {whole}" if rows == context.early else whole
    exists = context.inside(f"{first} + row_of(b, u % 2)", end, rows)
    return [
        "const int here = opaque(lane);  // addresses are computed anew: registers are short",
        f"const bool inside = {whole};",
        "#pragma unroll",
        f"for (int b = 0; b < {array.blocks}; ++b) {{",
        f"  const int row = 64 * ({array.blocks} * instance + b) + 16 * warp_in_group + here % 16;",
        f"  const uint32_t at = slot + row * {LINE_BYTES};",
        "#pragma unroll",
        f"  for (int g = 0; g < {array.cols // 16}; ++g) {{",
        "    uint32_t x[4];",
        "#pragma unroll",
        "    for (int u = 0; u < 4; ++u)",
        f"      x[u] = inside || {exists} ? {array.name}[b][g][u] : 0u;",
        f"    stmatrix4(at + g / 4 * {block} + (((g % 4 * 2 + here / 16) ^ (row % 8)) << 4),"
        " x[0], x[1], x[2], x[3]);",
        "  }",
        "}",
    ]
