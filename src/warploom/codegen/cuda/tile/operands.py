"""Products and copies as CUDA source: addresses of operands in slots, boxes and coordinates."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.codegen.cuda import ptx
from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.lowering import Site
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.columns import early_text
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import ModulePrinter, inlined_column, printer
from warploom.codegen.cuda.tile.loads import LINE_BYTES
from warploom.codegen.cuda.tile.loop_view import moves, share_of
from warploom.codegen.cuda.tile.vector import Vector
from warploom.codegen.cuda.tile.work import COL, COLUMN_REGISTER, ROW, axes_of, row_register
from warploom.ir import operations as ops
from warploom.ir.expr import Binary, Const, IntExpr, Op, linear
from warploom.ir.mbarrier_dialect import Load as LoadEntry, Mma, RoleEntry
from warploom.ir.module import PartShape, TensorMap
from warploom.ir.operations import Copy, Mma as MmaOperation, RegisterOperand, SlotOperand
from warploom.ir.types import DType
from warploom.targets.h200 import WGMMA_ROWS

WGMMA_DTYPES = {DType.BF16: "bf16", DType.F16: "fp16", DType.E4M3: "e4m3", DType.E5M2: "e5m2"}
INSTRUCTION_BITS = 256  # of K that a matrix instruction takes
Coordinates = tuple[IntExpr, ...]
STEPS_OF_LINE = 4  # k-steps of 32 bytes in a 128-byte row


def load_lines(context: Context, entry: LoadEntry, site: Site) -> list[str]:
    """The copies of one tile; of several steps of an unrolled loop all with the first of them.

    They land side by side, so one copy brings them if their blocks of columns are whole: a row that
    ends inside of one would go on with the next row.
    """
    run = run_of(context, entry, site)
    made, copies = printer(context), [_copy(context, e, site) for e in run]
    copy = _copy(context, entry, site)
    found = made.module.map(copy.tensor_map)
    alone = sum(len(x.boxes) for x in copies) < 2 or found.bounded is not None
    if alone or (len(run) == 1 and context.loop.unroll == 1):
        return [line for e in run for line in _copies(context, e, site)]
    tile, tensor = made.module.part(copy.ring, copy.part), made.module.tensor(found.tensor)
    at = made.coordinates(copy.boxes[0].at, found, copy.boxes[0].end)
    box, stacked, whole, lines = found.box, 0, "", list[str]()
    if not tile.swizzle:
        steps = [moves(x) for x in copy.boxes[0].at]
        box = tuple(len(run) if s else n for s, n in zip(steps, box, strict=True))
    else:
        stacked, axis = blocks_of(tile) * len(run), tensor.axes[-1]
        whole = f"{context.size_of(tensor.name, axis.name)} % {box[-1] * axis.per} == 0"
        at = ["0", *at[1:], f"({at[0]}) / {box[-1]}"]
        lines = [line for e in run for line in _copies(context, e, site)]
    name = context.map_of(tensor, box, span=found.swizzle, stacked=stacked)
    policy = _policy(found)
    call = device[f"tma_load_{len(at)}d{'_hint' if policy else ''}"]
    dst, bar = site.part(entry.ring, entry.part, entry.k), site.barrier(entry.ring, "full", entry.k)
    one = f"{call}({dst}, &{name}, {bar}, {', '.join(at)}{policy});"
    return [f"if ({whole}) {{", f"  {one}", "} else {", *indent(lines, 2), "}"] if whole else [one]


def run_of(context: Context, entry: LoadEntry, site: Site) -> list[LoadEntry]:
    """Copies of the steps of a loop that go with this one: none, if it goes with one before it."""
    listed = getattr(site.program, site.phase)
    at = listed.index(entry)
    if at and _follows(context, listed[at - 1], entry, site):
        return []
    end = at + 1
    while end < len(listed) and _follows(context, listed[end - 1], listed[end], site):
        end += 1
    return list(listed[at:end])


def _follows(context: Context, one: RoleEntry, other: RoleEntry, site: Site) -> bool:
    """Whether a copy brings what comes next along the loop, to the place beside it."""
    if not isinstance(one, LoadEntry) or not isinstance(other, LoadEntry):
        return False
    if (one.ring, one.k) != (other.ring, other.k) or one.by_threads or other.by_threads:
        return False
    module = context.module
    a, b = _copy(context, one, site), _copy(context, other, site)
    found = module.map(a.tensor_map)
    if a.tensor_map != b.tensor_map or found.bounded is not None:
        return False
    tile, next_tile = module.part(a.ring, a.part), module.part(b.ring, b.part)
    parts = {p.name: p for p in site.document.ring(a.ring).parts}
    beside = parts[a.part].offset + parts[a.part].bytes == parts[b.part].offset
    shapes = [(t.rows, t.cols, t.swizzle) for t in (tile, next_tile)]
    return (
        beside
        and shapes[0] == shapes[1]
        and a.multicast == b.multicast == 1
        and _comes_next(a.boxes[0].at, b.boxes[0].at, tile)
    )


def _comes_next(at: Coordinates, then: Coordinates, tile: PartShape) -> bool:
    """Whether boxes lie side by side along the loop: tiles by their columns, vectors one further on
    an axis before. Vectors that may begin anywhere go by whole 16 bytes, each by itself.
    """
    apart = [_apart(x, y) for x, y in zip(at, then, strict=True)]
    moving = [n for n, x in enumerate(apart) if x != 0]
    if len(moving) != 1 or not moves(at[moving[0]]):
        return False
    if tile.swizzle:
        return moving == [len(at) - 1] and apart[-1] == tile.cols
    return moving != [len(at) - 1] and apart[moving[0]] == 1


def _apart(one: IntExpr, other: IntExpr) -> int | None:
    """By how much a number exceeds another one, where that is known."""
    if one == other:
        return 0
    if isinstance(one, Binary) and isinstance(other, Binary) and one.op is other.op is Op.DIV:
        by, far = one.b, _apart(one.a, other.a)
        whole = by == other.b and isinstance(by, Const) and far is not None and far % by.value == 0
        return far // by.value if whole and isinstance(by, Const) and far is not None else None
    first, second = linear(inlined_column(one)), linear(inlined_column(other))
    if first is None or second is None or dict(first.factors) != dict(second.factors):
        return None
    return second.constant - first.constant


def _copies(context: Context, entry: LoadEntry, site: Site) -> list[str]:
    """The copies of one tile: a box for each block of 128-byte rows; of its share in a cluster."""
    made, copy = printer(context), _copy(context, entry, site)
    found = made.module.map(copy.tensor_map)
    tensor = made.module.tensor(found.tensor)
    name = context.map_of(tensor, found.box, span=found.swizzle, bounded=found.bounded)
    dst = site.part(copy.ring, copy.part, entry.k)
    bar, policy = site.barrier(copy.ring, "full", entry.k), _policy(found)
    kind = "tma_cast" if copy.multicast > 1 else "tma_load"
    mask = f", {(1 << copy.multicast) - 1}" if copy.multicast > 1 else ""
    hint, rows = "_hint" if policy else "", made.module.part(copy.ring, copy.part).rows
    lines = []
    for offset, at in made.copy_boxes(copy, rows, LINE_BYTES):
        call, where = device[f"{kind}_{len(at)}d{hint}"], ", ".join(at)
        lines.append(f"{call}({dst}{offset}, &{name}, {bar}, {where}{mask}{policy});")
    return lines


def _copy(context: Context, entry: LoadEntry, site: Site) -> Copy:
    copy = printer(context).operation(entry, site)
    assert isinstance(copy, Copy)
    return copy


def _policy(found: TensorMap) -> str:
    """The L2 hint of a copy."""
    words = {"evict_last": "policy_keep", "evict_first": "policy_pass"}
    return f", {words[found.l2]}" if found.l2 else ""


def product_lines(context: Context, entry: Mma, site: Site) -> list[str]:
    """The instructions of one product: along K, and for each 64 rows of the consumer."""
    made = printer(context)
    mma = made.operation(entry, site)
    assert isinstance(mma, MmaOperation)
    right_tile = made.module.part(mma.b.ring, mma.b.part)
    kind = right_tile.dtype
    rows, _, inner = mma.shape
    begin, end = mma.inner or (0, inner)
    each, blocks = INSTRUCTION_BITS // kind.bits, rows // WGMMA_ROWS
    n, dtype = _instruction(context, mma)
    call = ptx.wgmma_name(n, dtype, **_wanted(mma))
    right = _descriptor(made, mma.b, site, entry.k)
    early = [y for x in made.before(entry, site) for y in early_read(made, x, site, entry.k)]
    lines = [*early, "{", f"  const uint64_t right = {right};"]
    if isinstance(mma.a, RegisterOperand):
        left = f"{mma.a.array}[i][step]"
    else:
        start, tile = _descriptor(made, mma.a, site, entry.k), made.module.part(*_part(mma.a))
        a_mn = mma.a.transposed
        lines.append(f"  const uint64_t left = {start};")
        per = (tile.rows * LINE_BYTES if a_mn else WGMMA_ROWS * LINE_BYTES) >> 4
        shift = f" + {per} * i" if blocks > 1 else ""
        left = f"left{shift} + {_step(tile, mn=a_mn)}"
    right = f"right + {_step(right_tile, mn=mma.b.transposed)}"
    target = f"{mma.accumulator}[i], {left}, {right}"
    issue = f"{call}({target}, {'1' if mma.accumulate else 'step != 0'});"
    if not mma.accumulate and context.loop.starts_anew(mma.accumulator):
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
        return [f"{array.name} = {device.load_shared1}({slot});"]
    if along == {ROW} and kept.register == row_register(None):
        return [
            "#pragma unroll",
            f"for (int b = 0; b < {work.extent('b')}; ++b)",
            "#pragma unroll",
            "  for (int i = 0; i < 2; ++i)"
            f" {array.name}[b][i] = {device.load_shared1}({slot} + 4 * row_of(b, i));",
        ]
    if source.col == COL and kept.register is None and op.layout.register == COLUMN_REGISTER:
        return early_text(array.name, slot, 16 * work.extent("g"))
    raise work.refused(f"[{source.row}, {source.col}] of the vector {source.part}")


def product_functions(context: Context) -> Iterator[tuple[str, str]]:
    """Names and texts of the instruction wrappers that products call."""
    for mma in context.loop.products:
        n, dtype = _instruction(context, mma)
        wants = _wanted(mma)
        yield ptx.wgmma_name(n, dtype, **wants), ptx.wgmma_function(n, dtype, **wants)
        if context.loop.starts_anew(mma.accumulator):
            first = wants | {"first": True}
            yield ptx.wgmma_name(n, dtype, **first), ptx.wgmma_function(n, dtype, **first)


def _instruction(context: Context, mma: MmaOperation) -> tuple[int, str]:
    """Columns and type of a product's instruction."""
    return mma.shape[1], WGMMA_DTYPES[context.module.part(*_part(mma.b)).dtype]


def _wanted(mma: MmaOperation) -> dict[str, bool]:
    """Where and how its operands lie."""
    return {
        "a_in_registers": isinstance(mma.a, RegisterOperand),
        "b_mn_major": mma.b.transposed,
        "a_mn_major": isinstance(mma.a, SlotOperand) and mma.a.transposed,
    }


def _part(operand: SlotOperand) -> tuple[str, str]:
    return operand.ring, operand.part


def columns_of_line(tile: PartShape) -> int:
    """Columns of a block: rows of 128 bytes."""
    return LINE_BYTES * 8 // tile.dtype.bits


def blocks_of(tile: PartShape) -> int:
    """Blocks of 128 bytes in a row of a tile."""
    return -(-tile.cols // columns_of_line(tile))


def _descriptor(made: ModulePrinter, operand: SlotOperand, site: Site, k: int) -> str:
    """Where an operand lies, for the instruction: of this consumer its rows (of a right operand
    these are columns of the product).
    """
    tile, start = made.module.part(*_part(operand)), site.part(operand.ring, operand.part, k)
    share = share_of(operand.row)
    if share:
        per = share * LINE_BYTES
        if operand.transposed:
            per = share // columns_of_line(tile) * tile.rows * LINE_BYTES
            per += share % columns_of_line(tile) * tile.dtype.bits // 8
        start += f" + instance * {per}"
    if operand.transposed:
        return f"{device.operand_mn_major}({start}, {tile.rows * LINE_BYTES})"
    return f"{device.operand_k_major}({start})"


def _step(tile: PartShape, *, mn: bool) -> str:
    """Where a k-step starts, in units of 16 bytes."""
    if mn:
        return f"{16 * LINE_BYTES >> 4} * step"
    block = tile.rows * LINE_BYTES >> 4
    if blocks_of(tile) == 1:
        return "2 * step"
    return f"step / {STEPS_OF_LINE} * {block} + step % {STEPS_OF_LINE} * 2"
