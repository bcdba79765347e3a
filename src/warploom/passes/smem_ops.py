"""Ops of the loop that hand computed tiles on: to products through shared memory, and to memory.

``See`` asks whether a slot's copies have landed. ``Put`` writes a tile from registers into a ring
slot that all consumers fill together. ``Send`` takes a tile through staging copies to global
memory, adding to what is there where the text says ``+=``.
"""

from __future__ import annotations

from collections.abc import Iterator

from warploom.dataclass import dataclass
from warploom.ir.dataflow import When
from warploom.ir.tile import Dot, Load, Store
from warploom.passes.body import Body, refusal
from warploom.passes.layout import Layout
from warploom.passes.op_cost import Cost
from warploom.passes.smem_layout import LINE_BYTES, SlotRing
from warploom.targets.h200 import WGMMA_ROWS, HopperTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A computed tile into the slot of its ring."""

    value: str
    ring: SlotRing

    @property
    def name(self) -> str:
        """The op's name."""
        return f"put_{self.value.replace('.', '_')}"

    @property
    def result(self) -> str:
        """The value as it lies in shared memory."""
        return in_slot(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class See:
    """The first look at a slot; ``early``: vectors of it that are read then, and their elements."""

    ring: SlotRing
    early: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """The op's name."""
        return f"see_{self.ring.name}"

    @property
    def result(self) -> str:
        """That the slot was seen, as a value."""
        return f"{self.ring.name}.seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """A store inside the loop."""

    op: Store

    @property
    def name(self) -> str:
        """The op's name."""
        return f"store_{self.op.tensor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A store of 64 rows by 128 bytes: block of rows, first column (of the consumer's)."""

    block: int
    column: int


def in_slot(value: str) -> str:
    """The name of a computed value's copy in shared memory."""
    return f"{value}.shared"


def read_early(vector: str) -> str:
    """The name of a vector as it was read early."""
    return f"{vector}.early"


def early_array(vector: str) -> str:
    """The registers of a vector that is read early."""
    return f"early_{vector.replace('.', '_')}"


def early_vectors(layout: Layout) -> dict[str, tuple[str, int]]:
    """Vectors read before the product that lies with them, by name: its result, their elements."""
    result: dict[str, tuple[str, int]] = {}
    dots = [op for op in layout.body.loop.body if isinstance(op, Dot)]
    for step in layout.steps:
        for name in step.loads if step.when is When.LOOP else ():
            place = layout.slot_of(name)
            if place is None or not place[1].vector or len(result) == layout.config.preload_vectors:
                continue
            ring, tile = place
            if tile.loose:
                continue
            for dot in dots:
                tiles = {layout.body.through(n)[0] for n in (dot.a, dot.b)}
                near = any(t.value in tiles for t in ring.tiles)
                columns = layout.extent(dot.result.dims[1].var)
                if near and dot.result.name in step.reads and tile.cols == columns:
                    result[name] = (dot.result.name, tile.cols)
    return result


def sees(layout: Layout) -> Iterator[See]:
    """The first looks at slots that are filled every iteration, where they are ops."""
    early = early_vectors(layout)
    for ring in layout.rings if layout.config.separate_full_waits else ():
        if not ring.per_tile and not ring.filled:
            mine = [(t.value, early[t.value][1]) for t in ring.tiles if t.value in early]
            yield See(ring=ring, early=tuple(mine))


def puts(layout: Layout) -> Iterator[Put]:
    """Computed tiles that go through shared memory."""
    for ring in layout.rings:
        if ring.filled:
            yield Put(value=ring.tiles[0].value, ring=ring)


def sends(body: Body) -> Iterator[Send]:
    """Stores of the loop."""
    for op in body.loop.body:
        if not isinstance(op, Store):
            continue
        if len(body.values[op.value].dims) != 2:
            raise refusal(
                "a vector is stored inside the loop",
                op.line,
                why="stores of the loop are copies of tiles from shared memory",
                fix="store it after the loop, or as a tile",
            )
        if isinstance(body.ops.get(body.through(op.value)[0]), Load):
            raise refusal(
                "a loaded tile is stored inside the loop as it is",
                op.line,
                why="stores of the loop take what vector work or a product left in registers",
                fix="copy the tensor by itself, or store what is computed of it",
            )
        yield Send(op=op)


def product_operand(layout: Layout, op: Dot, name: str) -> str:
    """The value a product reads for an operand: the copy in shared memory, where it takes that."""
    inner, _ = layout.body.through(name)
    found = layout.slot_of(inner)
    if found is None or not found[0].filled:
        return name
    return name if name == op.a and layout.left_in_registers(op) else in_slot(inner)


def chunks_of(layout: Layout, op: Store) -> tuple[Chunk, ...]:
    """The chunks of a staged store, in order; the last may overlap its neighbour."""
    tensor = layout.body.kernel.tensor(op.tensor)
    blocks, columns = share_of(layout, op)
    width = min(LINE_BYTES * 8 // tensor.dtype.bits, columns)
    starts = [min(c, columns - width) for c in range(0, columns, width)]
    return tuple(Chunk(block=b, column=c) for b in range(blocks) for c in starts)


def by_columns(layout: Layout, op: Store) -> bool:
    """Whether the consumers share a stored tile by columns."""
    rows = layout.extent(layout.body.values[op.value].dims[0].var)
    return bool(rows % (WGMMA_ROWS * layout.config.consumer_warpgroups))


def share_of(layout: Layout, op: Store) -> tuple[int, int]:
    """64-row blocks and columns of a stored tile that one consumer has."""
    rows, columns = (layout.extent(d.var) for d in layout.body.values[op.value].dims)
    consumers = layout.config.consumer_warpgroups
    if by_columns(layout, op):
        return rows // WGMMA_ROWS, columns // consumers
    return rows // consumers // WGMMA_ROWS, columns


def see_cost(see: See, target: HopperTarget) -> Cost:
    """A wait that is over, and a few reads."""
    reads = 8 * sum(n // 8 for _, n in see.early)
    busy = reads + 8
    return Cost(unit="alu", occupancy=busy, latency=busy + target.tiles.step_tail, issue=busy)


def put_cost(layout: Layout, put: Put, target: HopperTarget, consumers: int) -> Cost:
    """Writing the slots of ``consumers``."""
    share = put.ring.tiles[0].bytes * consumers // layout.config.consumer_warpgroups
    return _write_cost(share, target, consumers, target.tiles.fence)


def send_cost(layout: Layout, send: Send, target: HopperTarget, consumers: int) -> Cost:
    """Writing the staging copies, and waiting until older ones were read."""
    tensor = layout.body.kernel.tensor(send.op.tensor)
    rows, columns = (layout.extent(d.var) for d in layout.body.values[send.op.value].dims)
    share = rows * columns * tensor.dtype.bits // 8 * consumers // layout.config.consumer_warpgroups
    fence = 0 if layout.config.reduce_from_registers else target.sync.proxy_fence
    return _write_cost(share, target, consumers, fence)


def _write_cost(share: int, target: HopperTarget, consumers: int, fence: int) -> Cost:
    busy = max(1, share // target.smem_rate)
    return Cost(
        unit="alu",
        occupancy=busy,
        latency=busy + target.tiles.step_tail + fence,
        issue=-(-busy // consumers),
    )
