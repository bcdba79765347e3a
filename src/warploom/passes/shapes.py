"""Shapes: the extents and consumers a config may have, from the kernel's products and the sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from warploom.ir.tile import Dot, Load, Store
from warploom.passes.body import Body, only_products
from warploom.passes.smem_layout import LINE_BYTES, MOST_COLUMNS
from warploom.targets.h200 import WGMMA_ROWS

ROWS = ((1, 1), (2, 1), (2, 2), (3, 1), (4, 1), (1, 2))  # consumers, blocks of 64 rows each
COLUMNS = (256, 240, 224, *range(208, 152, -8), 144, 128, 112, 96, 80, 64, 32, 16)
MOST_SCORES = 128  # columns of a product that vector work reads in the loop
LEAST_COLUMNS = 32
LEAST_DEPTH = 64  # elements that products sum over at a time


def shapes(
    body: Body, sizes: Mapping[str, int], pins: Mapping[str, object]
) -> Iterator[tuple[dict[str, int], int]]:
    """Extents of the variables nobody fixed, with the consumers that share the rows."""
    kernel = body.kernel
    free = [v for v in kernel.vars if v.extent is None]
    rows = _row_variable(body)
    for consumers, blocks in ROWS:
        options: list[tuple[int, ...]] = []
        for var in free:
            pinned = pins.get(var.name)
            if isinstance(pinned, int):
                options.append((pinned,))
            elif var.name == rows:
                options.append((WGMMA_ROWS * consumers * blocks,))
            else:
                found = extents_of(body, var.name, sizes[var.axis])
                if (consumers, blocks) == (1, 1) and _is_depth_of_products(body, var.name):
                    found += tuple(2 * n for n in found)  # a wait for twice as many products
                options.append(found)
        if pins.get("consumer_warpgroups", consumers) != consumers:
            continue
        for extents in product(*options):
            yield dict(zip((v.name for v in free), extents, strict=True)), consumers


def _is_depth_of_products(body: Body, var: str) -> bool:
    """Whether a loop walks along the variable and does nothing but load and multiply."""
    plain = only_products(body)
    shared = any(d.var == var and d.per > 1 for v in body.values.values() for d in v.dims)
    return plain and var == body.loop.var and not shared


def _row_variable(body: Body) -> str | None:
    """The variable whose elements are rows of the products."""
    rows = [op.result.dims[0].var for _, op in body.placed if isinstance(op, Dot)]
    stores = [op for op in body.tail if isinstance(op, Store) and body.values[op.value].dims]
    return rows[0] if rows else body.values[stores[0].value].dims[0].var if stores else None


def extents_of(body: Body, var: str, size: int) -> tuple[int, ...]:
    """Extents of a variable that is no row: columns of products, or what they sum over."""
    columns = [op for _, op in body.placed if isinstance(op, Dot) and op.result.dims[1].var == var]
    step = 8 if var in body.kernel.grid.vars else 16
    for _, op in body.placed:
        if not isinstance(op, Load) or len(op.result.dims) != 2 or body.is_picked(op):
            continue
        if op.result.dims[1].var == var:
            step = max(step, LINE_BYTES * 8 // op.result.dtype.bits)
    if not columns:
        return (max(step, LEAST_DEPTH),)
    most = MOST_SCORES if var == body.loop.var else MOST_COLUMNS
    fit = [n for n in COLUMNS if n % step == 0 and n <= most and _whole_blocks(body, var, n)]
    least = min(LEAST_COLUMNS, -(-size // step) * step)
    useful = [n for n in fit if least <= n < size + step]  # one tile covers a small axis
    return tuple(useful or fit[-1:])


def _whole_blocks(body: Body, var: str, extent: int) -> bool:
    """Whether tiles of that extent lie in blocks that share a number, or hold whole ones."""
    blocks = {d.per for v in body.values.values() for d in v.dims if d.var == var and d.per > 1}
    return all(per % extent == 0 or extent % per == 0 for per in blocks)
