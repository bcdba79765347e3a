"""Products and copies as CUDA source: addresses of operands in slots, boxes and coordinates."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.codegen.cuda import ptx
from warploom.codegen.cuda.lowering import Site
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.columns import early_text
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import ModulePrinter, printer
from warploom.codegen.cuda.tile.vector import Vector
from warploom.codegen.cuda.tile.work import COL, COLUMN_REGISTER, ROW, axes_of, row_register
from warploom.ir import operations as ops
from warploom.ir.expr import Const
from warploom.ir.mbarrier_dialect import Load as LoadEntry, Mma, RoleEntry
from warploom.ir.module import TensorMap
from warploom.ir.operations import Copy, Mma as MmaOperation, RegisterOperand, SlotOperand
from warploom.ir.tile import Dot, DType, Load
from warploom.passes.smem_layout import LINE_BYTES, SlotTile
from warploom.passes.warp_specialize import part_name
from warploom.targets.h200 import WGMMA_ROWS

WGMMA_DTYPES = {DType.BF16: "bf16", DType.F16: "fp16", DType.E4M3: "e4m3", DType.E5M2: "e5m2"}
INSTRUCTION_BITS = 256  # of K that a matrix instruction takes
STEPS_OF_LINE = 4  # k-steps of 32 bytes in a 128-byte row


def load_lines(context: Context, op: Load, entry: LoadEntry, site: Site) -> list[str]:
    """The copies of one tile; of several steps of an unrolled loop all with the first of them.

    They land side by side, so one copy brings them if their blocks of columns are whole: a row that
    ends inside of one would go on with the next row.
    """
    run = run_of(context, op, entry, site)
    lines = [line for o, e in run for line in _copies(context, o, e, site)]
    if len(lines) < 2 or (len(run) == 1 and context.layout.body.loop.times == 1):
        return lines
    made, copy = printer(context), _copy(context, entry, site)
    found = made.module.map(copy.tensor_map)
    if found.bounded is not None:
        return lines
    tile, tensor = _tile(context, entry.part), context.kernel.tensor(op.tensor)
    at = made.coordinates(copy.boxes[0].at, found, copy.boxes[0].end)
    box, stacked, whole = found.box, 0, ""
    if tile.vector:
        steps = [a.var == context.layout.body.loop.var for a in op.at]
        box = tuple(len(run) if s else n for s, n in zip(steps, box, strict=True))
    else:
        stacked, axis = tile.blocks * len(run), tensor.axes[-1]
        whole = f"{context.size_of(op.tensor, axis.name)} % {box[-1] * axis.per} == 0"
        at = ["0", *at[1:], f"({at[0]}) / {box[-1]}"]
    name = context.map_of(tensor, box, span=found.swizzle, stacked=stacked)
    policy = _policy(found)
    call = f"tma_load_{len(at)}d{'_hint' if policy else ''}"
    dst, bar = site.part(entry.ring, entry.part, entry.k), site.barrier(entry.ring, "full", entry.k)
    one = f"{call}({dst}, &{name}, {bar}, {', '.join(at)}{policy});"
    return [f"if ({whole}) {{", f"  {one}", "} else {", *indent(lines, 2), "}"] if whole else [one]


def run_of(
    context: Context, op: Load, entry: LoadEntry, site: Site
) -> list[tuple[Load, LoadEntry]]:
    """Copies of the steps of a loop that go with this one: none, if it goes with one before it."""
    listed = getattr(site.program, site.phase)
    at = listed.index(entry)
    if at and _follows(context, listed[at - 1], entry, site):
        return []
    end = at + 1
    while end < len(listed) and _follows(context, listed[end - 1], listed[end], site):
        end += 1
    ops = {part_name(n): o for n, o in context.layout.body.ops.items() if isinstance(o, Load)}
    return [(op, entry), *((ops[e.part], e) for e in listed[at + 1 : end])]


def _follows(context: Context, one: RoleEntry, other: RoleEntry, site: Site) -> bool:
    """Whether a copy brings the next step of the same tensor, to the place beside it."""
    if not isinstance(one, LoadEntry) or not isinstance(other, LoadEntry):
        return False
    layout = context.layout
    ops = {part_name(n): o for n, o in layout.body.ops.items() if isinstance(o, Load)}
    a, b = ops[one.part], ops[other.part]
    if (a.tensor, a.step + 1, one.ring, one.k) != (b.tensor, b.step, other.ring, other.k):
        return False
    tile, next_tile = _tile(context, one.part), _tile(context, other.part)
    parts = {p.name: p for p in site.document.ring(one.ring).parts}
    beside = parts[one.part].offset + tile.bytes == parts[other.part].offset
    alike = (tile.rows, tile.cols, tile.vector) == (next_tile.rows, next_tile.cols, tile.vector)
    along = (a.at[-1].var == layout.body.loop.var) != tile.vector
    plain = one.multicast == other.multicast == 1 and not one.by_threads and not tile.loose
    made = printer(context).module
    bounded = made.map(_copy(context, one, site).tensor_map).bounded is not None if plain else True
    return beside and alike and along and plain and not bounded


def _copies(context: Context, op: Load, entry: LoadEntry, site: Site) -> list[str]:
    """The copies of one tile: a box for each block of 128-byte rows; of its share in a cluster."""
    made, copy = printer(context), _copy(context, entry, site)
    tensor, found = context.kernel.tensor(op.tensor), made.module.map(copy.tensor_map)
    name = context.map_of(tensor, found.box, span=found.swizzle, bounded=found.bounded)
    dst = site.part(copy.ring, copy.part, entry.k)
    bar, policy = site.barrier(copy.ring, "full", entry.k), _policy(found)
    call = "tma_cast" if copy.multicast > 1 else "tma_load"
    mask = f", {(1 << copy.multicast) - 1}" if copy.multicast > 1 else ""
    hint, rows = "_hint" if policy else "", made.module.part(copy.ring, copy.part).rows
    lines = []
    for offset, at in made.copy_boxes(copy, rows, LINE_BYTES):
        where = ", ".join(at)
        lines.append(
            f"{call}_{len(at)}d{hint}({dst}{offset}, &{name}, {bar}, {where}{mask}{policy});"
        )
    return lines


def _copy(context: Context, entry: LoadEntry, site: Site) -> Copy:
    copy = printer(context).operation(entry, site)
    assert isinstance(copy, Copy)
    return copy


def _policy(found: TensorMap) -> str:
    """The L2 hint of a copy."""
    words = {"evict_last": "policy_keep", "evict_first": "policy_pass"}
    return f", {words[found.l2]}" if found.l2 else ""


def product_lines(context: Context, op: Dot, entry: Mma, site: Site) -> list[str]:
    """The instructions of one product: along K, and for each 64 rows of the consumer."""
    made = printer(context)
    mma = made.operation(entry, site)
    assert isinstance(mma, MmaOperation)
    kind = made.module.part(mma.b.ring, mma.b.part).dtype
    rows, columns, inner = mma.shape
    begin, end = mma.inner or (0, inner)
    each, blocks = INSTRUCTION_BITS // kind.bits, rows // WGMMA_ROWS
    held, b_mn = isinstance(mma.a, RegisterOperand), mma.b.transposed
    a_mn = isinstance(mma.a, SlotOperand) and mma.a.transposed
    call = ptx.wgmma_name(
        columns, WGMMA_DTYPES[kind], a_in_registers=held, b_mn_major=b_mn, a_mn_major=a_mn
    )
    right = _descriptor(made, mma.b, site, entry.k)
    early = [y for x in made.before(entry, site) for y in early_read(made, x, site, entry.k)]
    lines = [*early, "{", f"  const uint64_t right = {right};"]
    if isinstance(mma.a, RegisterOperand):
        left = f"{mma.a.array}[i][step]"
    else:
        start, tile = _descriptor(made, mma.a, site, entry.k), _tile(context, mma.a.part)
        lines.append(f"  const uint64_t left = {start};")
        per = (tile.rows * LINE_BYTES if a_mn else WGMMA_ROWS * LINE_BYTES) >> 4
        shift = f" + {per} * i" if blocks > 1 else ""
        left = f"left{shift} + {_step(tile, mn=a_mn)}"
    right = f"right + {_step(_tile(context, mma.b.part), mn=b_mn)}"
    target = f"{mma.accumulator}[i], {left}, {right}"
    issue = f"{call}({target}, {'1' if mma.accumulate else 'step != 0'});"
    if not mma.accumulate and context.layout.starts_anew(mma.accumulator):
        issue = f"if (step == 0) {call}_first({target}); else {call}({target}, 1);"
    return [
        *lines,
        "#pragma unroll",
        f"  for (int step = {begin // each}; step < {end // each}; ++step)",
        "#pragma unroll",
        f"    for (int i = 0; i < {blocks}; ++i)",
        f"      {issue}",
        "}",
    ]


def early_read(made: ModulePrinter, op: ops.Vector, site: Site, k: int) -> list[str]:
    """A vector, or a number, into registers before what needs it."""
    work = made.one(op, here=True)
    source, kept = work.body[0], work.body[-1]
    if len(work.body) != 2 or not isinstance(kept, ops.VectorSet):
        raise work.refused("more than a move of elements")
    array = work.array(kept.array)
    if isinstance(source, ops.VectorLoad) and source.result == kept.value:
        if kept.register == Const(0) and not work.axes(source.result):
            return [f"{array.name} = {Vector(made.context, work).number(source)};"]
        raise work.refused(f"an element of {source.tensor} for each of {array.name}")
    if not isinstance(source, ops.VectorSlot) or kept.value != source.result:
        raise work.refused("another move of elements")
    slot = f"{site.part(source.ring, source.part, k)}{made.past_start(source)}"
    along = axes_of(source.col)
    if source.row != Const(0):
        raise work.refused(f"row {source.row} of the vector {source.part}")
    if not along and kept.register == Const(0):
        return [f"{array.name} = load_shared1({slot});"]
    if along == {ROW} and kept.register == row_register(None):
        return [
            "#pragma unroll",
            f"for (int b = 0; b < {work.extent('b')}; ++b)",
            "#pragma unroll",
            "  for (int i = 0; i < 2; ++i)"
            f" {array.name}[b][i] = load_shared1({slot} + 4 * row_of(b, i));",
        ]
    if source.col == COL and kept.register is None and op.layout.register == COLUMN_REGISTER:
        return early_text(array.name, slot, 16 * work.extent("g"))
    raise work.refused(f"[{source.row}, {source.col}] of the vector {source.part}")


def product_functions(context: Context, op: Dot) -> Iterator[tuple[str, str]]:
    """Names and texts of the instruction wrappers a product calls."""
    layout, body = context.layout, context.layout.body
    _, a_flipped = body.through(op.a)
    b, b_flipped = body.through(op.b)
    held = layout.left_in_registers(op)
    wants = {
        "a_in_registers": held,
        "b_mn_major": not b_flipped,
        "a_mn_major": a_flipped and not held,
    }
    n, dtype = layout.array_of(op.result.name).cols, WGMMA_DTYPES[body.values[b].dtype]
    yield ptx.wgmma_name(n, dtype, **wants), ptx.wgmma_function(n, dtype, **wants)
    if layout.starts_anew(layout.array_of(op.result.name).name):
        first = wants | {"first": True}
        yield ptx.wgmma_name(n, dtype, **first), ptx.wgmma_function(n, dtype, **first)


def _tile(context: Context, part: str) -> SlotTile:
    """How a part of a slot lies in shared memory."""
    tiles = (t for ring in context.layout.rings for t in ring.tiles)
    return next(t for t in tiles if part_name(t.value) == part)


def _descriptor(made: ModulePrinter, operand: SlotOperand, site: Site, k: int) -> str:
    """Where an operand lies, for the instruction: of this consumer its rows (of a right operand
    these are columns of the product).
    """
    tile, start = _tile(made.context, operand.part), site.part(operand.ring, operand.part, k)
    share = made.operand_share(operand)
    if share:
        per = share * LINE_BYTES
        if operand.transposed:
            per = share // tile.block_cols * tile.rows * LINE_BYTES
            per += share % tile.block_cols * tile.dtype.bits // 8
        start += f" + instance * {per}"
    if operand.transposed:
        return f"operand_mn_major({start}, {tile.rows * LINE_BYTES})"
    return f"operand_k_major({start})"


def _step(tile: SlotTile, *, mn: bool) -> str:
    """Where a k-step starts, in units of 16 bytes."""
    if mn:
        return f"{16 * LINE_BYTES >> 4} * step"
    block = tile.rows * LINE_BYTES >> 4
    if tile.blocks == 1:
        return "2 * step"
    return f"step / {STEPS_OF_LINE} * {block} + step % {STEPS_OF_LINE} * 2"
