"""Matrix products: operands through LDS, then matrix instructions on accumulators.

An operand lies in LDS as rows of K, each row 16 bytes longer than its elements, so that the rows a
wave reads at once start in different banks. Elements of K past the end of its span are zeros on
both sides: what lies there may be NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warploom.ir import tile as ir
from warploom.ir.tile import DType
from warploom.ir.waves import Kind, Operand, Word, WriteLds
from warploom.passes.amdgcn.errors import refuse
from warploom.passes.amdgcn.layout import LANES, MFMA, Layout, places, run_of
from warploom.passes.amdgcn.numbers import memory_word
from warploom.passes.amdgcn.plan import contracted
from warploom.passes.amdgcn.state import Fragment, Region, packed
from warploom.targets.amdgcn import MatrixInstruction

if TYPE_CHECKING:
    from warploom.passes.amdgcn.lowering import Lowering

PAD = 16
CROWDED = 96  # accumulators of a lane from which on registers are scarce


def dot(low: Lowering, op: ir.Dot) -> Fragment:
    """``a @ b`` (+ what it adds to) as accumulators."""
    plan = low.plan
    k = contracted(plan, op)
    layout = plan.layout(op.result.vars)
    (lane, lanes), (register, registers) = layout
    sides = {next(v for v in plan.values[n].vars if v != k): n for n in (op.a, op.b)}
    matrix = _instruction(low, op, sides[register], sides[lane], k)
    start = None if op.into is None else low.get(op.into, layout)
    operands = {v: operand(low, sides[v], v, k) for v in (lane, register)}
    low.state.touch(*operands.values(), write=False)
    size = plan.values[op.a].dtype.bits // 8
    chunk = matrix.k * size // (LANES // MFMA) // matrix.reads
    rows = {lane: lanes, register: registers}
    reads: dict[tuple[str, int, int], Operand] = {}

    def piece(var: str, offset: int) -> str:
        region = operands[var]
        lanes_at = low.operand_base(region.pitch, chunk, rows[var])
        kind = matrix.operand if matrix.reads == 1 else Kind(Word.I32, 4)
        return low.text.read(kind, lanes_at, region.start + offset, chunk)

    def read(var: str, tile: int, step: int) -> Operand:
        key = (var, tile, step)
        if key not in reads:
            first = tile * MFMA * operands[var].pitch + step * matrix.k * size
            apart = matrix.k * size // matrix.reads
            names = [piece(var, first + i * apart) for i in range(matrix.reads)]
            reads[key] = _joined(low, matrix, names)
        return reads[key]

    tiles = [(i, j) for i in range(lanes.count) for j in range(registers.count // 4)]
    sums: dict[tuple[int, int], Operand] = {}
    for i, j in tiles:
        at = i * registers.count + 4 * j
        sums[i, j] = 0 if start is None else low.vector(start, at, 4)
    crowded = len(tiles) * 4 >= CROWDED
    for step in range(plan.padded[k] // matrix.k):
        for i, j in tiles:
            left, right = read(register, j, step), read(lane, i, step)
            sums[i, j] = low.text.multiply(matrix.op, left, right, sums[i, j])
        if crowded:  # operands of later steps are read then, and not all at once
            low.text.pin()
    if low.state.reuse:
        for v in (lane, register):
            low.drop_operand(sides[v], k)
    vectors = {i * registers.count + 4 * j: (name, 4, DType.F32) for (i, j), name in sums.items()}
    return packed(layout, DType.F32, vectors)


def _joined(low: Lowering, matrix: MatrixInstruction, names: list[str]) -> str:
    """An operand of its pieces, in the type that the instruction takes."""
    result = names[0]
    if matrix.reads == 2:
        four = Kind(Word.I32, 4)
        result = low.text.joined(names[0], names[1], four, four)
    if matrix.cast is not None:
        result = low.text.cast(result, matrix.operand, matrix.cast)
    return result


def _instruction(low: Lowering, op: ir.Dot, left: str, right: str, k: str) -> MatrixInstruction:
    """The matrix instruction of a product."""
    kinds = low.plan.values[left].dtype, low.plan.values[right].dtype
    machine = low.plan.machine
    result = machine.instruction(*kinds, low.plan.padded[k])
    if result is None:
        names = " and ".join(kind.value for kind in kinds)
        fp8 = ", or two fp8 types" if machine.byte_k else "; its fp8 is not OCP's"
        refuse(
            op.result.line,
            f"a product of {names} on {machine.name}",
            why=f"matrix instructions take bf16, f16{fp8}",
            fix="convert both sides to bf16: x.to(wl.bf16)",
        )
    return result


def operand(low: Lowering, name: str, row: str, k: str) -> Region:
    """A value in LDS, rows of K."""
    result = low.state.find(("operand", name, k))
    if isinstance(result, Region):
        return result
    low.demand("operand", name, row, k)
    low.requests[low.state.loop_depth, name, row, k] = None
    plan, text = low.plan, low.text
    dtype = plan.values[name].dtype
    size = dtype.bits // 8
    layout = plan.layout(plan.values[name].vars)
    frag = low.get(name, layout)
    maps = dict(layout)
    rows = max(plan.padded[row], maps[row].extent)
    columns = max(plan.padded[k], maps[k].extent)
    pitch = columns * size + PAD
    region = low.state.allocate(rows * pitch, pitch)
    masked = not _masked_by_load(low, name, k)
    low.state.touch(region, write=True)
    run = run_of(layout) if layout[-1][0] == k else 1
    run = min(run, 16 // size)
    every = places(layout)
    at_lane = low.lds_base(layout, {row: pitch, k: size})
    kind = Kind(memory_word(dtype), run)
    for start in range(0, len(every), run):
        made = None if masked else low.stored_vector(frag, start, run, dtype)
        if made is None:
            values = [_zeroed(low, frag, start + i, k, layout, masked=masked) for i in range(run)]
            made = text.encode(values[0], dtype) if run == 1 else text.encode_all(values, dtype)
        offset = sum(
            m.offsets[i] * (pitch if v == row else size)
            for (v, m), i in zip(layout, every[start], strict=True)
        )
        text.add(WriteLds(made, kind, at_lane, region.start + offset, size * run))
    low.state.keep(("operand", name, k), region)
    return region


def _zeroed(
    low: Lowering, frag: Fragment, i: int, k: str, layout: Layout, *, masked: bool
) -> Operand:
    value = low.element(frag, i)
    if not masked:
        return value
    where = next(n for n, (v, _) in enumerate(layout) if v == k)
    test = low.in_span(k, layout[where][1], places(layout)[i][where])
    if test is None:
        return value
    return low.text.select(test, Word.F32, value, 0.0)


def _masked_by_load(low: Lowering, name: str, k: str) -> bool:
    """Whether a value is 0 past the end of K since it was loaded so."""
    op = low.plan.made[name]
    while isinstance(op, ir.Transpose):
        op = low.plan.made[op.arg]
    return isinstance(op, ir.Load) and any(at.var == k for at in op.at)
