"""Products and copies as CUDA text: addresses of operands in slots, boxes and coordinates."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.codegen.cuda import ptx
from warploom.codegen.cuda.lowering import Site
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.columns import early_text
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import ModulePrinter, printed
from warploom.ir.mbarrier_dialect import Load as LoadEntry, Mma, RoleEntry
from warploom.ir.operations import Copy, Mma as MmaOperation, SlotOperand
from warploom.ir.tile import Dot, DType, Load, Tensor
from warploom.passes.body import refusal
from warploom.passes.smem_layout import LINE_BYTES, SlotTile
from warploom.passes.smem_ops import early_array, early_vectors
from warploom.passes.split_mma import FIRST, REST
from warploom.passes.warp_specialize import part_name
from warploom.targets.h200 import WGMMA_ROWS

WGMMA_DTYPES = {DType.BF16: "bf16", DType.F16: "fp16", DType.E4M3: "e4m3", DType.E5M2: "e5m2"}
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
    if context.bounded(op) is not None:
        return lines
    tile, tensor = _tile(context, op.result.name), context.kernel.tensor(op.tensor)
    at = context.coordinates(op, site.iteration(entry.k), {})
    box, stacked, whole = context.load_box(op, tile), 0, ""
    if tile.vector:
        steps = [a.var == context.layout.body.loop.var for a in op.at]
        box = tuple(len(run) if s else n for s, n in zip(steps, box, strict=True))
    else:
        stacked, axis = tile.blocks * len(run), tensor.axes[-1]
        whole = f"{context.size_of(op.tensor, axis.name)} % {box[-1] * axis.per} == 0"
        at = ["0", *at[1:], f"({at[0]}) / {box[-1]}"]
    name = context.map_of(tensor, box, span=tile.span, stacked=stacked)
    policy = _policy(context, op.tensor)
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
    tile, next_tile = _tile(context, a.result.name), _tile(context, b.result.name)
    parts = {p.name: p for p in site.document.ring(one.ring).parts}
    beside = parts[one.part].offset + tile.bytes == parts[other.part].offset
    alike = (tile.rows, tile.cols, tile.vector) == (next_tile.rows, next_tile.cols, tile.vector)
    along = (a.at[-1].var == layout.body.loop.var) != tile.vector
    plain = one.multicast == other.multicast == 1 and not one.by_threads and not tile.loose
    return beside and alike and along and plain and context.bounded(a) is None


def _copies(context: Context, op: Load, entry: LoadEntry, site: Site) -> list[str]:
    """The copies of one tile: a box for each block of 128-byte rows; of its share in a cluster."""
    tile = _tile(context, op.result.name)
    tensor = context.kernel.tensor(op.tensor)
    if (made := printed(context)) is not None:
        return _module_copies(made, tile, tensor, entry, site)
    bound = context.bounded(op)
    box = context.load_box(op, tile, entry.multicast)
    name = context.map_of(tensor, box, span=tile.span, bounded=bound)
    once = site.document.ring(entry.ring).per == "tile"
    iteration = None if once else site.iteration(entry.k)
    dst, bar = site.part(entry.ring, entry.part, entry.k), site.barrier(entry.ring, "full", entry.k)
    column = next(n for n, at in enumerate(op.at) if at.var == op.result.vars[-1])
    policy = _policy(context, op.tensor)
    call, mask, own = "tma_load", "", dict[int, str]()
    if entry.multicast > 1:
        rows = tile.rows // entry.multicast
        row = next(n for n, at in enumerate(op.at) if at.var == op.result.vars[0])
        call, mask = "tma_cast", f", {(1 << entry.multicast) - 1}"
        dst, own = f"{dst} + rank * {rows * LINE_BYTES}", {row: f"rank * {rows}"}
    hint = "_hint" if policy else ""
    lines = []
    for block in range(1 if tile.vector else tile.blocks):
        shift = own | ({column: str(block * tile.block_cols)} if block else {})
        at = context.coordinates(op, iteration, shift)
        at[0] = f"({at[0]}) & ~3" if tile.loose else at[0]
        to = f"{dst} + {block * tile.rows * LINE_BYTES}" if block else dst
        lines.append(
            f"{call}_{len(at)}d{hint}({to}, &{name}, {bar}, {', '.join(at)}{mask}{policy});"
        )
    return lines


def _module_copies(
    made: ModulePrinter, tile: SlotTile, tensor: Tensor, entry: LoadEntry, site: Site
) -> list[str]:
    """The copies of one tile, with boxes and coordinates of the module."""
    copy = made.operation(entry, site)
    assert isinstance(copy, Copy)
    context, found = made.context, made.module.map(copy.tensor_map)
    name = context.map_of(tensor, found.box, span=found.swizzle)
    dst = site.part(copy.ring, copy.part, entry.k)
    bar, policy = site.barrier(copy.ring, "full", entry.k), _policy(context, tensor.name)
    call = "tma_cast" if copy.multicast > 1 else "tma_load"
    mask = f", {(1 << copy.multicast) - 1}" if copy.multicast > 1 else ""
    hint = "_hint" if policy else ""
    return [
        f"{call}_{len(found.box)}d{hint}({dst}{offset}, &{name}, {bar}, {at}{mask}{policy});"
        for offset, at in made.copy_boxes(copy, tile.rows, LINE_BYTES)
    ]


def _policy(context: Context, tensor: str) -> str:
    keep = context.layout.config.l2_evict_last
    if keep is None:
        return ""
    return f", {'policy_keep' if tensor == keep else 'policy_pass'}"


def product_lines(context: Context, op: Dot, entry: Mma, site: Site) -> list[str]:
    """The instructions of one product: along K, and for each 64 rows of the consumer."""
    layout, body = context.layout, context.layout.body
    a, a_flipped = body.through(op.a)
    b, b_flipped = body.through(op.b)
    array = layout.array_of(op.result.name)
    held = layout.left_in_registers(op)
    dtype = body.values[b].dtype
    b_mn, a_mn = not b_flipped, a_flipped
    call = ptx.wgmma_name(
        array.cols,
        WGMMA_DTYPES[dtype],
        a_in_registers=held,
        b_mn_major=b_mn,
        a_mn_major=a_mn and not held,
    )
    steps = layout.extent(body.values[op.a].dims[1].var) * dtype.bits // 256
    begin, end = _part(layout.config.deferred_mmas, steps, entry.op)
    columns, rows = array.cols if array.by_columns else 0, 0
    if not held:
        rows = 0 if array.by_columns else array.blocks * WGMMA_ROWS
    if (made := printed(context)) is not None:
        mma = made.operation(entry, site)
        assert isinstance(mma, MmaOperation)
        assert isinstance(mma.a, SlotOperand)
        rows, columns = made.operand_share(mma.a), made.operand_share(mma.b)
    right = _descriptor(context, b, site, entry.k, mn=b_mn, share=columns)
    lines = [*_early(context, op, entry, site), "{", f"  const uint64_t right = {right};"]
    if held:
        left = f"{layout.array_of(a).name}[i][step]"
    else:
        start = _descriptor(context, a, site, entry.k, mn=a_mn, share=rows)
        lines.append(f"  const uint64_t left = {start};")
        tile = _tile(context, a)
        per = (tile.rows * LINE_BYTES if a_mn else WGMMA_ROWS * LINE_BYTES) >> 4
        shift = f" + {per} * i" if array.blocks > 1 else ""
        left = f"left{shift} + {_step(tile, mn=a_mn)}"
    right = f"right + {_step(_tile(context, b), mn=b_mn)}"
    target = f"{array.name}[i], {left}, {right}"
    issue = f"{call}({target}, {'1' if entry.accumulate else 'step != 0'});"
    if layout.crowded and not entry.accumulate:
        issue = f"if (step == 0) {call}_first({target}); else {call}({target}, 1);"
    return [
        *lines,
        "#pragma unroll",
        f"  for (int step = {begin}; step < {end}; ++step)",
        "#pragma unroll",
        f"    for (int i = 0; i < {array.blocks}; ++i)",
        f"      {issue}",
        "}",
    ]


def _part(late: int, steps: int, name: str) -> tuple[int, int]:
    """The instructions of a product, or of the part of it that an entry is."""
    part = name.rpartition(".")[2]
    if part in (FIRST, REST) and not 0 < late < steps:
        raise refusal(
            f"deferred_mmas={late} with a product of {steps} instructions",
            None,
            why="both its parts have some",
            fix=f"0 to {steps - 1}",
        )
    return steps - late if part == REST else 0, steps - late if part == FIRST else steps


def _early(context: Context, op: Dot, entry: Mma, site: Site) -> list[str]:
    """Vectors that lie with the product's tile, where they are read before it (and not by the op
    that asks whether it has landed), and numbers.
    """
    lines: list[str] = []
    vectors = {} if context.layout.config.separate_full_waits else early_vectors(context.layout)
    for name, (result, columns) in vectors.items():
        found = context.layout.slot_of(name)
        assert found is not None
        if result == op.result.name:
            slot = site.part(found[0].name, part_name(name), entry.k)
            lines += early_text(early_array(name), slot, columns)
    for name, load in context.before(op.result.name).items():
        found = context.layout.slot_of(load.result.name)
        if found is None:
            lines.append(f"{name} = {context.one_element(load, site.iteration(entry.k))};")
            continue
        slot = site.part(found[0].name, part_name(load.result.name), entry.k)
        slot += context.past_start(load, found[1], site.iteration(entry.k))
        if found[1].cols == 1:
            lines.append(f"{name} = load_shared1({slot});")
            continue
        lines += [
            "#pragma unroll",
            f"for (int b = 0; b < {context.layout.blocks}; ++b)",
            "#pragma unroll",
            "  for (int i = 0; i < 2; ++i)"
            f" {name}[b][i] = load_shared1({slot} + 4 * row_of(b, i));",
        ]
    return lines


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
    if layout.crowded:
        first = wants | {"first": True}
        yield ptx.wgmma_name(n, dtype, **first), ptx.wgmma_function(n, dtype, **first)


def _tile(context: Context, value: str) -> SlotTile:
    found = context.layout.slot_of(value)
    assert found is not None
    return found[1]


def _descriptor(
    context: Context, value: str, site: Site, k: int, *, mn: bool, share: int = 0
) -> str:
    found = context.layout.slot_of(value)
    assert found is not None
    ring, tile = found
    start = site.part(ring.name, part_name(value), k)
    if share:  # this consumer's rows (of a right operand: columns of the product)
        per = share * LINE_BYTES
        if mn:
            per = share // tile.block_cols * tile.rows * LINE_BYTES
            per += share % tile.block_cols * tile.dtype.bits // 8
        start += f" + instance * {per}"
    if mn:
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
