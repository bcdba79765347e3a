"""Stores of vectors as CUDA text: values of rows, and sums over a tile's rows."""

from __future__ import annotations

from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.expressions import written_element
from warploom.codegen.cuda.tile.steps import tile_loop
from warploom.codegen.cuda.tile.vector import Vector, row_scope
from warploom.ir.tile import Reduce, Store


def column_sums(context: Context, op: Store, made: Reduce) -> list[str]:
    """Sums over the rows of a tile: those of every warp are added to memory."""
    rows, cols = context.layout.body.values[made.arg].vars
    vector = Vector(context, rows, cols)
    text = vector.value(made.arg)
    vector.scopes.chunk.append("float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};")
    axes = context.kernel.tensor(op.tensor).axes
    (axis,) = (x.name for a, x in zip(op.at, axes, strict=True) if a.var == cols)
    indices = ["first" if a.var == cols else context.index(a, None) for a in op.at]
    exists = context.inside("first", context.limit(op.tensor, axis, cols), cols)
    exists = " && ".join([exists, *context.within(op, indices)])
    after = [
        "#pragma unroll",
        "for (int c = 0; c < 4; ++c) {",
        "  for (int far = 4; far < 32; far *= 2) sum[c] += __shfl_xor_sync(~0u, sum[c], far);",
        f"  const int first = {context.position(cols, None)} + column_of(h, c / 2 * 4 + c % 2);",
        f"  if (lane < 4 && {exists}) atomicAdd(&{context.address(op, indices)}, sum[c]);",
        "}",
    ]
    blocks = context.layout.extent(rows) // context.layout.config.consumer_warpgroups // 64
    element = [f"sum[e / 4 * 2 + e % 2] += {text};"]
    return [
        *vector.scopes.step,
        *tile_loop(context, vector, element, [], blocks, cols, after),
    ]


def row_store(context: Context, op: Store) -> list[str]:
    """A vector of a tile's rows, one of four threads each."""
    value = context.layout.body.values[op.value]
    rows = value.vars[0]
    vector = Vector(context, rows, None)
    text = vector.value(op.value)
    blocks = context.layout.extent(rows) // context.layout.config.consumer_warpgroups // 64
    row = f"(pos_{rows} + row_of(b, i))"
    picked = {a.value for a in op.at if a.value and context.layout.body.values[a.value].dims}
    indices = [
        row
        if a.var == rows
        else vector.value(a.value)
        if a.value is not None and a.value in picked
        else context.index(a, None)
        for a in op.at
    ]
    exists, more = context.inside(row, context.end_of(rows), rows), list[str]()
    for a, x, index in zip(op.at, context.kernel.tensor(op.tensor).axes, indices, strict=True):
        if a.var == rows:
            exists = context.inside(row, context.limit(op.tensor, x.name, rows), rows)
        elif a.value in picked:
            more.append(f"(unsigned){index} < (unsigned){context.size_of(op.tensor, x.name)}")
    dtype = context.kernel.tensor(op.tensor).dtype
    exists = " && ".join([exists, *more, *context.within(op, indices)])
    return [
        *vector.scopes.step,
        "#pragma unroll",
        f"for (int b = 0; b < {blocks}; ++b) {{",
        *indent(row_scope(vector), 2),
        "#pragma unroll",
        "  for (int i = 0; i < 2; ++i)",
        f"    if (lane % 4 == 0 && {exists})",
        f"      atomicAdd(&{context.address(op, indices)}, {text});"
        if op.add
        else f"      {context.address(op, indices)} = {written_element(dtype, text)};",
        "}",
    ]
