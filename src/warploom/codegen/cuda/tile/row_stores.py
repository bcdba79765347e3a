"""Stores of vectors as CUDA source: values of rows, and sums over a tile's rows."""

from __future__ import annotations

from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.expressions import written_element
from warploom.codegen.cuda.tile.from_module import COL, printer
from warploom.codegen.cuda.tile.steps import tile_loop
from warploom.codegen.cuda.tile.vector import Vector, row_scope
from warploom.ir.expr import Sym, SymKind
from warploom.ir.operations import Operation
from warploom.ir.tile import Reduce, Store

HALF = Sym(SymKind.FRAGMENT, "i")


def column_sums(context: Context, op: Store, made: Reduce, work: Operation) -> list[str]:
    """Sums over the rows of a tile: those of every warp are added to memory."""
    rows, cols = context.layout.body.values[made.arg].vars
    vector, printed = Vector(context, rows, cols), printer(context)
    text = vector.value(made.arg)
    vector.scopes.chunk.append("float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};")
    named = {COL: "column_of(h, c / 2 * 4 + c % 2)", HALF: "0"}  # of both rows the first
    indices, exists = printed.places(printed.store_of(work), named)
    after = [
        "#pragma unroll",
        "for (int c = 0; c < 4; ++c) {",
        "  for (int far = 4; far < 32; far *= 2) sum[c] += __shfl_xor_sync(~0u, sum[c], far);",
        f"  if ({exists}) atomicAdd(&{context.address(op, indices)}, sum[c]);",
        "}",
    ]
    blocks = context.layout.extent(rows) // context.layout.config.consumer_warpgroups // 64
    element = [f"sum[e / 4 * 2 + e % 2] += {text};"]
    return [
        *vector.scopes.step,
        *tile_loop(context, vector, element, [], blocks, cols, after),
    ]


def row_store(context: Context, op: Store, work: Operation) -> list[str]:
    """A vector of a tile's rows, one of four threads each."""
    value = context.layout.body.values[op.value]
    rows = value.vars[0]
    vector = Vector(context, rows, None)
    text = vector.value(op.value)
    blocks = context.layout.extent(rows) // context.layout.config.consumer_warpgroups // 64
    printed = printer(context).knowing(vector.value)
    indices, exists = printed.places(printed.store_of(work), {})
    dtype = context.kernel.tensor(op.tensor).dtype
    return [
        *vector.scopes.step,
        "#pragma unroll",
        f"for (int b = 0; b < {blocks}; ++b) {{",
        *indent(row_scope(vector), 2),
        "#pragma unroll",
        "  for (int i = 0; i < 2; ++i)",
        f"    if ({exists})",
        f"      atomicAdd(&{context.address(op, indices)}, {text});"
        if op.add
        else f"      {context.address(op, indices)} = {written_element(dtype, text)};",
        "}",
    ]
