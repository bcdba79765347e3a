"""Stores of vectors as CUDA source: values of rows, and sums over a tile's rows."""

from __future__ import annotations

from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.expressions import written_element
from warploom.codegen.cuda.tile.steps import tile_loop
from warploom.codegen.cuda.tile.vector import Vector, row_scope
from warploom.codegen.cuda.tile.work import COL, HALF, Work
from warploom.ir import operations as ops
from warploom.ir.types import Fn

ROWS_OF_WARP = (4, 8, 16)  # lanes of the threads that share a column


def column_sums(context: Context, work: Work, made: ops.VectorReduce) -> list[str]:
    """Sums over the rows of a tile: those of every warp are added to memory."""
    store = work.store
    assert isinstance(store, ops.VectorStore)
    said = (made.fn, made.over, made.lanes, store.value, store.add)
    if said != (Fn.ADD, ("i",), ROWS_OF_WARP, made.result, True):
        raise work.refused(f"a reduction {made.result} over rows")
    vector = Vector(context, work)
    text = vector.value(made.arg)
    vector.scopes.chunk.append("float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};")
    named = {COL: "column_of(h, c / 2 * 4 + c % 2)", HALF: "0"}  # of both rows the first
    indices, exists = vector.printed.places(store, named)
    after = [
        "#pragma unroll",
        "for (int c = 0; c < 4; ++c) {",
        "  for (int far = 4; far < 32; far *= 2) sum[c] += __shfl_xor_sync(~0u, sum[c], far);",
        f"  if ({exists}) atomicAdd(&{context.place(store.tensor, indices)}, sum[c]);",
        "}",
    ]
    element = [f"sum[e / 4 * 2 + e % 2] += {text};"]
    return [*vector.scopes.step, *tile_loop(vector, element, [], after)]


def row_store(context: Context, work: Work) -> list[str]:
    """A vector of a tile's rows, one of four threads each."""
    store = work.store
    assert isinstance(store, ops.VectorStore)
    vector = Vector(context, work)
    text = vector.value(store.value)
    indices, exists = vector.printed.places(store, {})
    place = context.place(store.tensor, indices)
    return [
        *vector.scopes.step,
        "#pragma unroll",
        f"for (int b = 0; b < {work.extent('b')}; ++b) {{",
        *indent(row_scope(vector), 2),
        "#pragma unroll",
        "  for (int i = 0; i < 2; ++i)",
        f"    if ({exists})",
        f"      atomicAdd(&{place}, {text});"
        if store.add
        else f"      {place} = {written_element(store.dtype, text)};",
        "}",
    ]
