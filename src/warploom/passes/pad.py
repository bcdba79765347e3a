"""Whole axes of any size beside matrix products: padded to what copies and MMAs take, and masked.

A head of 80 elements is a tile of 128 columns, of which 80 exist: bulk copies fill the others with
zeros, conditions keep them out of reductions and contractions, and stores end with the tensor. The
variable's extent is the padded one; the size of the axis stays what the call says.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.ir.tile import Dot, Kernel, Load, Transpose, Var, Walk, walk

LINE_BITS = 1024  # of a row of a tile in shared memory
MMA_COLUMNS = 16
MOST_COLUMNS = 256


def pad_whole_axes(kernel: Kernel, positive: frozenset[str] = frozenset()) -> Kernel:
    """The kernel with whole axes as wide as tiles are; those that fit stay as they are."""
    del positive
    if not any(isinstance(op, Dot) for op in walk(kernel.ops)):
        return kernel
    wide = {v.name: padded_extent(kernel, v) for v in kernel.vars if v.walk is Walk.WHOLE}
    if all(kernel.var(name).extent == extent for name, extent in wide.items()):
        return kernel
    variables = tuple(replace(v, extent=wide.get(v.name, v.extent)) for v in kernel.vars)
    return replace(kernel, vars=variables)


def padded_extent(kernel: Kernel, var: Var) -> int:
    """Elements of a tile that holds all of an axis."""
    assert var.extent is not None
    if not _in_products(kernel, var):
        return var.extent
    step = MMA_COLUMNS
    for op in walk(kernel.ops):
        if isinstance(op, Load) and len(op.result.dims) > 1 and op.at[-1].var == var.name:
            bits = kernel.tensor(op.tensor).dtype.bits
            step = max(step, LINE_BITS // bits)
    padded = -(-var.extent // step) * step
    return padded if padded <= MOST_COLUMNS else var.extent


def _in_products(kernel: Kernel, var: Var) -> bool:
    """Whether an operand or a result of a matrix product extends over a variable."""
    shapes = {}
    for op in walk(kernel.ops):
        if isinstance(op, Load | Transpose | Dot):
            shapes[op.result.name] = op.result.vars
    for op in walk(kernel.ops):
        if isinstance(op, Dot):
            every = (op.result.vars, shapes.get(op.a, ()), shapes.get(op.b, ()))
            if any(var.name in names for names in every):
                return True
    return False


def is_padded(kernel: Kernel, var: Var) -> bool:
    """Whether a tile of all of an axis is wider than the axis."""
    if var.walk is not Walk.WHOLE:
        return False
    sizes = {a.size for t in kernel.tensors for a in t.axes if a.name == var.axis and a.per == 1}
    return any(size is not None and size != var.extent for size in sizes)
