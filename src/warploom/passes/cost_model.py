"""What a laid-out kernel should take on given sizes: rounds, cycles, joules, seconds."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from warploom.dataclass import dataclass
from warploom.ir.tile import Dot, Kernel, Load, Store, Walk
from warploom.passes.layout import Layout
from warploom.passes.loop_ops import loop_ops, takes_turns
from warploom.passes.op_cost import in_registers
from warploom.passes.smem_budget import ring_depth, staged_stores
from warploom.passes.smem_layout import LINE_BYTES, SlotRing
from warploom.passes.smem_ops import chunks_of
from warploom.passes.split_k import inbox_bytes, part_bytes
from warploom.targets.h200 import WGMMA_ROWS, HopperTarget

GROUP_ROWS = 2048  # rows of tiles visited together: their operand stays in the L2


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Rounds of tiles, cycles, joules and expected seconds of one launch."""

    rounds: int
    cycles: int
    joules: float
    seconds: float


def estimate(layout: Layout, sizes: Mapping[str, int], target: HopperTarget) -> Estimate:
    """The expectation for axes of these sizes."""
    rounds, tiles = _rounds(layout, sizes, target)
    trips = trips_of(layout, sizes)
    mine = -(-trips // layout.config.split_k)
    alternate = layout.config.pingpong if rounds > 1 else 1
    meeting = _meeting(layout, sizes, target)
    ends = _ends(layout, target, alternate, beside=alternate > 1) + meeting
    slow = target.memory.across_lines if crosses_lines(layout, sizes) else 1.0
    interval = _interval(layout, target, outside_rows(layout, sizes), slow, several=rounds > 1)
    fill = target.tiles.fill + (target.tiles.cluster if layout.config.ctas > 1 else 0)
    loop, turns = mine * interval, layout.config.ctas_per_sm * alternate
    # Ends of other tiles are hidden by the loops of those beside them.
    last = _ends(layout, target, alternate, beside=False) + meeting if turns > 1 else 0.0
    cycles = rounds * max(loop, (loop + ends) / turns) + last + fill
    dram = _dram_bytes(layout, sizes, target)
    landed = target.tiles.in_turn if alternate > 1 else 1.0
    joules = _joules(layout, target, tiles, trips, landed=landed)
    joules += dram * target.energy.joules_per_dram_byte
    capped = target.energy.seconds(cycles=cycles, joules=joules)
    busy = min(tiles * layout.config.split_k, target.limits.sms)
    alone = busy * target.memory.sm_rate * target.clock_hz
    share = target.memory.dram_parts if layout.config.split_k > 1 else 1.0
    rate = min(share * target.memory.dram_share * target.dram_bytes_per_s, alone)
    return Estimate(
        rounds=rounds,
        cycles=int(cycles),
        joules=joules,
        seconds=max(
            cycles / target.clock_hz,
            capped,
            dram / rate + (ends + fill) / target.clock_hz,
        ),
    )


def crosses_lines(layout: Layout, sizes: Mapping[str, int]) -> bool:
    """Whether rows of loaded tiles start anywhere in a line of memory, and so lie in two."""
    kernel = layout.body.kernel
    for op in layout.body.loop.body:
        if isinstance(op, Load) and len(op.result.dims) == 2:
            tensor = kernel.tensor(op.tensor)
            if sizes.get(tensor.axes[-1].name, 0) * tensor.dtype.bits // 8 % LINE_BYTES:
                return True
    return False


def outside_rows(layout: Layout, sizes: Mapping[str, int]) -> int:
    """Rows of an iteration's loads that lie outside their tensors in every tile."""
    kernel, total = layout.body.kernel, 0
    for op in layout.body.loop.body:
        found = layout.slot_of(op.result.name) if isinstance(op, Load) else None
        if found is None or not isinstance(op, Load) or len(op.result.dims) != 2:
            continue
        var = kernel.var(op.result.vars[0])
        if var.walk is Walk.TILE and sizes[var.axis] < layout.extent(var.name):
            _, tile = found
            total += (layout.extent(var.name) - sizes[var.axis]) * -(-tile.cols // tile.block_cols)
    return total


def _rounds(layout: Layout, sizes: Mapping[str, int], target: HopperTarget) -> tuple[int, int]:
    kernel = layout.body.kernel
    grouped = kernel.grid.kind == "groups"
    counts = [
        -(-sizes[kernel.var(n).axis] // layout.extent(n))
        if kernel.var(n).walk is Walk.TILE
        else sizes[kernel.var(n).axis]
        for n in kernel.grid.vars[grouped:]
    ]
    if grouped:  # the last tile of a group is half empty on average
        rows = next(i for i, n in enumerate(kernel.grid.vars[1:]) if _is_tiled(kernel, n))
        counts[rows] += sizes[kernel.var(kernel.grid.vars[0]).axis] // 2
    size = layout.config.cluster
    if size > 1:  # one below the other: the last ones may have no rows
        counts[0] = -(-counts[0] // size) * size
    tiles = prod(counts)
    size = layout.config.ctas
    most = target.limits.resident_clusters(size) * size
    return -(-tiles * layout.config.split_k // most), tiles


def _is_tiled(kernel: Kernel, name: str) -> bool:
    return kernel.var(name).walk is Walk.TILE


def trips_of(layout: Layout, sizes: Mapping[str, int]) -> int:
    """Iterations of a tile's loop."""
    loop = layout.body.loop.var
    every = layout.extent(loop) * layout.body.loop.times
    return max(1, -(-sizes[layout.body.kernel.var(loop).axis] // every))


def _interval(
    layout: Layout, target: HopperTarget, outside: int, slow: float, *, several: bool
) -> float:
    """Cycles of an iteration: the busiest unit, or everything in turn where nothing overlaps.

    ``several``: tiles for every SM; what only shows in the long run was measured there.
    """
    consumers = layout.config.consumer_warpgroups
    busy, pieces = _busy(layout, target)
    copies = busy.get("copy engine", 0) * slow + outside * target.memory.outside_row
    if layout.config.cluster > 1:
        copies = max(copies, sum(r.bytes for r in _copied(layout)) / target.memory.together)
    busy |= {"copy engine": int(copies)} if copies else {}
    vector = max(busy.get("alu", 0), busy.get("mufu", 0))
    most: float = max(busy.values(), default=1)
    if takes_turns(layout):
        handed = most + consumers * 2 * target.sync.named_barrier_handoff
        return max(handed, _chain(layout, target))
    products, flying = busy.get("tensor", 0), stays_in_flight(busy, target)
    others = (n for unit, n in busy.items() if unit != "copy engine")
    own: float = max(others, default=1)
    if consumers == 1:
        own = max(own, (products + vector) / layout.config.ctas_per_sm)
    found = max(own * target.tiles.tensor, copies)
    if several:
        alone = products + target.tensor_drain + target.sync.mbarrier_handoff if not flying else 0
        found = max(found, copies * _short_rows(layout, target), alone / layout.config.ctas_per_sm)
    # One whose products alone fill the queue releases slots only after those of the others.
    late = products - products / consumers if pieces > consumers * target.wgmma_queue else 0
    return max(found, _refilled(layout, target, products + flying * late, flying=flying))


def _busy(layout: Layout, target: HopperTarget) -> tuple[dict[str, int], int]:
    """Cycles of an iteration by unit, and the instructions of its products."""
    busy: dict[str, int] = {}
    pieces = 0
    for op in loop_ops(layout, target, layout.config.consumer_warpgroups):
        pieces += op.cost.pieces
        for unit, cycles in ((op.cost.unit, op.cost.occupancy), *op.cost.also):
            busy[unit] = busy.get(unit, 0) + cycles
    return busy, pieces


def stays_in_flight(busy: Mapping[str, int], target: HopperTarget) -> bool:
    """Whether the order leaves a product in flight into the next iteration: where another unit is
    busy for longer than that takes, each is awaited before the next one is issued.
    """
    return busy.get("tensor", 0) + target.tensor_drain > max(busy.values(), default=1)


def _short_rows(layout: Layout, target: HopperTarget) -> float:
    """How much longer copies take whose rows are one line each, not several that lie together."""
    long = [t.cols * t.dtype.bits // 8 for r in _copied(layout) for t in r.tiles]
    return 1.0 if long and min(long) > LINE_BYTES else target.memory.short_rows


def _refilled(layout: Layout, target: HopperTarget, read: float, *, flying: bool) -> float:
    """Cycles of an iteration that its slots allow: each is ``read``, released, fetched and seen."""
    rings = _copied(layout)
    if not rings:
        return 0.0
    model, slots = target.tiles, ring_depth(layout, rings[0], target)
    held = model.slots_held + (model.slots_flying if flying else 0.0)
    return (read + model.refill) / max(slots - held, 0.5) / layout.config.ctas_per_sm


def _copied(layout: Layout) -> list[SlotRing]:
    """Rings that copies fill once an iteration."""
    return [r for r in layout.rings if not r.per_tile and not r.filled]


def _chain(layout: Layout, target: HopperTarget) -> int:
    """Cycles one consumer needs for an iteration, its first product under the one before."""
    ops = [op for op in loop_ops(layout, target, 1) if not isinstance(op.work, SlotRing)]
    products = [op for op in ops if isinstance(op.work, Dot)]
    return sum(op.cost.latency for op in ops) - products[0].cost.latency


def _ends(layout: Layout, target: HopperTarget, alternate: int, *, beside: bool) -> float:
    """Head and tail of a tile: what no other tile's work covers, or only one in turn does; all of
    it takes longer ``beside`` another tile's products.
    """
    cycles = 0
    staged = staged_stores(layout)
    copies = layout.config.epilogue_stages
    for op in layout.body.tail:
        if not isinstance(op, Store) or len(layout.body.values[op.value].dims) != 2:
            continue
        chunks = len(chunks_of(layout, op))
        if beside:
            cycles += chunks * target.tiles.beside
            continue
        ready = max(0, copies - 2)
        if op not in staged or copies >= chunks or (copies > 1 and layout.blocks == 1):
            ready = chunks
        cycles += ready * target.tiles.convert + (chunks - ready) * target.tiles.store
    head = target.tiles.head if any(r.per_tile for r in layout.rings) else 0
    between = 0 if takes_turns(layout) or alternate > 1 else target.tiles.between
    return cycles + head + between


def _meeting(layout: Layout, sizes: Mapping[str, int], target: HopperTarget) -> float:
    """Parts of a split loop leave what they have, and the last one reads all of it."""
    split = layout.config.split_k
    if split == 1 or not layout.body.loop.carried:
        return 0.0  # nothing to meet for; such a split is refused
    if layout.config.split_k_in_cluster:
        return inbox_bytes(layout) / target.memory.near_rate
    rows = layout.body.loop.carried[0].result.vars[0]
    extent = layout.extent(rows)
    used = min(1.0, sizes[layout.body.kernel.var(rows).axis] / extent)
    left = split * part_bytes(layout) * used
    return target.memory.meet + left / target.memory.meet_rate


def _joules(
    layout: Layout, target: HopperTarget, tiles: int, trips: int, *, landed: float
) -> float:
    """Products, operand reads from shared memory, and bytes ``landed`` in it (a share of them)."""
    energy, flops, read = target.energy, 0.0, 0.0
    consumers = layout.config.consumer_warpgroups
    for op in layout.body.loop.body:
        if not isinstance(op, Dot):
            continue
        a = layout.body.values[layout.body.through(op.a)[0]]
        depth = layout.extent(layout.body.values[op.a].dims[1].var)
        rows = layout.array_of(op.result.name).blocks * WGMMA_ROWS * consumers
        columns = layout.extent(op.result.dims[1].var)
        fp8 = a.dtype.bits == 8
        each = energy.joules_per_flop_fp8 if fp8 else energy.joules_per_flop_bf16
        flops += 2.0 * rows * columns * depth * each
        held = 0 if in_registers(layout, op) else WGMMA_ROWS
        read += rows // WGMMA_ROWS * (held + columns) * depth * a.dtype.bits // 8
    each_trip = landed * sum(r.bytes for r in layout.rings if not r.per_tile)
    once = sum(r.bytes for r in layout.rings if r.per_tile)
    per_trip = (
        flops + read * energy.joules_per_operand_byte + each_trip * energy.joules_per_landed_byte
    )
    per_tile = once * energy.joules_per_landed_byte
    return float(tiles * (trips * per_trip + per_tile))


def _dram_bytes(layout: Layout, sizes: Mapping[str, int], target: HopperTarget) -> float:
    """Bytes from and to memory: tensors once, what is visited again and has left the L2 again."""
    kernel, total = layout.body.kernel, 0.0
    for _, op in layout.body.placed:
        if not isinstance(op, Load | Store):
            continue
        tensor = kernel.tensor(op.tensor)
        elements = prod(-(-sizes.get(a.name, 1) // a.per) for a in tensor.axes)
        size = elements * tensor.dtype.bits / 8
        again = _passes(layout, op, size, sizes, target) if isinstance(op, Load) else 1
        total += size * again
    return total


def _passes(
    layout: Layout, op: Load, size: float, sizes: Mapping[str, int], target: HopperTarget
) -> int:
    """How often a tensor is fetched. Tiles are visited in groups of rows, columns by columns.

    What has no rows comes again with every group; what has rows stays while its group is visited,
    if the L2 can hold that much, else it comes again with every batch of tiles that run together.
    """
    kernel = layout.body.kernel
    tiled = [n for n in kernel.grid.vars if kernel.var(n).walk is Walk.TILE]
    if len(tiled) != 2:
        return 1
    counts = [sizes[kernel.var(n).axis] for n in tiled]
    first = kernel.grid.vars[0]
    if kernel.grid.kind == "groups" and any(a.var == first for a in op.at):
        counts[0] = -(-counts[0] // sizes[kernel.var(first).axis])  # rows of its own group alone
    rows, columns = (-(-c // layout.extent(n)) for c, n in zip(counts, tiled, strict=True))
    group = min(max(1, layout.config.raster_group), rows)
    if tiled[0] not in op.result.vars:
        return -(-rows // group)
    kept = size * group / rows <= target.memory.l2_share * target.limits.l2_bytes
    if kept or tiled[1] in op.result.vars:
        return 1
    return max(1, -(-columns // -(-target.limits.sms // group)))
