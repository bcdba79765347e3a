"""Products and copies as CUDA text: addresses of operands in slots, boxes and coordinates."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.document.roles import Load as LoadEntry, Mma
from warploom.emit.cuda import ptx
from warploom.emit.cuda.lowering import Site
from warploom.emit.cuda.tile.columns import early_text
from warploom.emit.cuda.tile.context import Context
from warploom.kernel.values import Dot, DType, Load
from warploom.lower.edges import bounded_axis
from warploom.lower.hand_over import early_array, early_vectors
from warploom.lower.layout import WGMMA_ROWS
from warploom.lower.plan import part_name
from warploom.lower.slots import LINE_BYTES, SlotTile

WGMMA_DTYPES = {DType.BF16: "bf16", DType.F16: "fp16", DType.E4M3: "e4m3", DType.E5M2: "e5m2"}
STEPS_OF_LINE = 4  # k-steps of 32 bytes in a 128-byte row


def load_lines(context: Context, op: Load, entry: LoadEntry, site: Site) -> list[str]:
    """The copies of one tile: a box for each block of 128-byte rows; of its share in a cluster."""
    found = context.layout.slot_of(op.result.name)
    assert found is not None
    _, tile = found
    tensor = context.kernel.tensor(op.tensor)
    bound = bounded_axis(context.layout.body, op)
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


def _policy(context: Context, tensor: str) -> str:
    keep = context.layout.tiling.keep
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
    columns = array.cols if array.by_columns else 0
    right = _descriptor(context, b, site, entry.k, mn=b_mn, share=columns)
    lines = [*_early(context, op, entry, site), "{", f"  const uint64_t right = {right};"]
    if held:
        left = f"{layout.array_of(a).name}[i][step]"
    else:
        rows = 0 if array.by_columns else array.blocks * WGMMA_ROWS
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
        f"  for (int step = 0; step < {steps}; ++step)",
        "#pragma unroll",
        f"    for (int i = 0; i < {array.blocks}; ++i)",
        f"      {issue}",
        "}",
    ]


def _early(context: Context, op: Dot, entry: Mma, site: Site) -> list[str]:
    """Vectors that lie with the product's tile, where they are read before it."""
    lines: list[str] = []
    if context.layout.tiling.seen:
        return lines
    for name, (result, columns) in early_vectors(context.layout).items():
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
