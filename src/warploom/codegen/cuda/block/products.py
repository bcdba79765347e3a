"""Matrix products of the block lowering: ``wgmma`` on operands in shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warploom.codegen.cuda import ptx
from warploom.codegen.cuda.block.plan import K_BYTES, SLAB, OperandTile
from warploom.ir.tile import Dot, DType

if TYPE_CHECKING:
    from warploom.codegen.cuda.block.writer import Writer

MOST_COLUMNS = 256  # of one wgmma
_NAMES = {DType.BF16: "bf16", DType.F16: "fp16", DType.E4M3: "e4m3", DType.E5M2: "e5m2",
          DType.I8: "i8"}  # fmt: skip


def dot(out: Writer, op: Dot) -> None:
    """``a @ b`` (+ what it adds to) in accumulators."""
    plan, value = out.plan, op.result
    pair, k = plan.pair(value.vars), plan.contracted(op)
    sides = {next(v for v in plan.values[n].vars if v != k): n for n in (op.a, op.b)}
    left, right = (plan.operand(sides[v], k) for v in (pair.row_var, pair.col_var))
    out.declare(value, pair.axes)
    start = "0" if op.into is None else out.at(op.into, pair.axes)
    out.each(pair.axes, [f"{out.place(value, pair.axes)} = {start};"])
    out.before_read()
    kinds = [plan.values[sides[v]].dtype for v in (pair.row_var, pair.col_var)]
    name = _NAMES[kinds[0]] if kinds[0] is kinds[1] else "_".join(_NAMES[x] for x in kinds)
    turned = [tile.col_var != k for tile in (left, right)]
    piece = pair.col.padded // pair.col.split
    along = plan.warpgroups // pair.col.split
    kind = "int" if value.dtype is DType.I32 else "float"
    depth = K_BYTES // left.size
    steps = -(-plan.extents[k] // depth)
    settle = "settle_integers" if value.dtype is DType.I32 else "settle_floats"
    lines = [f"{settle}({out.array(value, pair.axes)});", "wgmma_fence();"]
    lines += ["#pragma unroll", f"for (int k = 0; k < {steps}; ++k) {{"]
    for block in range(pair.row.padded // (64 * pair.row.split)):
        row = f"(warpgroup % {pair.row.split} + {block * pair.row.split}) * 64"
        for first in range(0, piece, MOST_COLUMNS):
            n = min(MOST_COLUMNS, piece - first)
            column = f"(warpgroup / {along} * {piece} + {first})"
            function = ptx.wgmma_name(n, name, a_mn_major=turned[0], b_mn_major=turned[1])
            out.functions.setdefault(
                function,
                ptx.wgmma_function(n, name, a_mn_major=turned[0], b_mn_major=turned[1]),
            )
            at = block * piece // 2 + first // 2
            lines.append(
                f"  {function}(*({kind}(*)[{n // 2}])&{out.array(value, pair.axes)}[{at}],"
                f" {_descriptor(out, left, row, turned=turned[0])},"
                f" {_descriptor(out, right, column, turned=turned[1])}, 1);"
            )
    out.lines += [*lines, "}", "wgmma_commit();", "wgmma_wait<0>();"]
    out.reads_open = True


def _descriptor(out: Writer, tile: OperandTile, first: str, *, turned: bool) -> str:
    """Where an operand begins for rows of M or N from ``first`` on and the step ``k``."""
    base = out.plan.offsets[tile.value, tile.col_var]
    if turned:  # rows are K, columns M or N in slabs of 64
        at = f"smem + {base} + {first} / 64 * {tile.slab_bytes} + k * {K_BYTES // tile.size * SLAB}"
        return f"operand_mn_major({at}, {tile.slab_bytes})"
    in_slab = SLAB // K_BYTES
    step = f"k / {in_slab} * {tile.slab_bytes} + k % {in_slab} * {K_BYTES}"
    return f"operand_k_major(smem + {base} + {first} * {SLAB} + {step})"
