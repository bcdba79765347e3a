"""Computed tiles into ring slots as CUDA source: packed registers to swizzled rows."""

from __future__ import annotations

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import printer
from warploom.codegen.cuda.tile.loads import LINE_BYTES
from warploom.codegen.cuda.tile.work import COL, ROW, first_of
from warploom.ir import operations as ops
from warploom.ir.expr import Binary, Const, Op, conjuncts, substitute
from warploom.ir.tile_schedule import let


def put_text(context: Context, name: str) -> list[str]:
    """A consumer's rows of a tile, 16 x 16 elements of a warp at a time.

    Elements of rows that do not exist are written as 0: products sum over them.
    """
    made = printer(context)
    work = made.work(name)
    read, put = work.body[0], work.body[-1]
    if len(work.body) != 2 or not isinstance(read, ops.VectorRegister):
        raise work.refused("more than a move of elements")
    if not isinstance(put, ops.VectorPut) or put.value != read.result:
        raise work.refused("another move of elements")
    array, part = work.array(read.array), made.module.part(put.ring, put.part)
    work.refuse_register(array, read.register)
    made.refuse_elsewhere(work, work.body)
    packed = array.form == "packed" and array.dtype is put.dtype is part.dtype
    if not packed or (put.row, put.col) != (ROW, COL):
        raise work.refused(f"{array.dtype} at [{put.row}, {put.col}] of the tile {put.part}")
    *zero, last = conjuncts(put.predicate)
    assert isinstance(last, Binary)
    begin, end = first_of(last.a, ROW), made.text(last.b)
    early = zero == [Binary(Op.GE, last.a, Const(0))]
    if last.op is not Op.LT or begin is None or (zero and not early):
        raise work.refused(f"rows where {put.predicate}")
    first = made.text(begin)
    whole = f"{first} + {part.rows} <= {end}"
    whole = f"{first} >= 0 && {whole}" if early else whole
    named = {ROW: let("row_of(b, u % 2)")}
    exists = " && ".join(made.conditions([substitute(x, named) for x in (*zero, last)]))
    return [
        f"const int here = {device.opaque}(lane);"
        "  // addresses are computed anew: registers are short",
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
        f"    {device.stmatrix4}(at + g / 4 * {part.rows * LINE_BYTES}"
        " + (((g % 4 * 2 + here / 16) ^ (row % 8)) << 4), x[0], x[1], x[2], x[3]);",
        "  }",
        "}",
    ]
