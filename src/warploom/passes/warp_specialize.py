"""Plan: what the ops of a scheduled loop do, in the words of the guard."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.ir.dataflow import When
from warploom.ir.rings import NamedBarrier, Part, Per, SlotRead, StagingBuffer
from warploom.ir.tile import Dot, Given, Load, Store, operands
from warploom.passes.body import refusal
from warploom.passes.fuse import START, SUMS, Step
from warploom.passes.gather import GATHERER, THREADS
from warploom.passes.layout import Form, Layout, is_held
from warploom.passes.loop_ops import CONSUMER, PRODUCER, LoopOp, load_name, loop_ops, takes_turns
from warploom.passes.multicast import sharers
from warploom.passes.smem_budget import STAGING_BYTES, is_straight, ring_depth, staged_stores
from warploom.passes.smem_layout import SlotRing
from warploom.passes.smem_ops import (
    Chunk,
    Put,
    See,
    Send,
    chunks_of,
    early_array,
    early_vectors,
    sees,
)
from warploom.passes.smem_reads import values_behind
from warploom.passes.split_k import MEET, met_arrays
from warploom.sync.mbarrier import (
    Action,
    Copy,
    Plan,
    Product,
    RingPlan,
    RolePlan,
    Store as StagedStore,
    Stores,
    Turns,
    Work,
)
from warploom.targets.h200 import HopperTarget

TURN_BARRIER = 1  # hardware barrier of the first instance
SEE = "see_tile"
TAKE, LEAVE = "take_given", "leave_given"  # what loops of a tile hand on in registers


def plan_of(layout: Layout, target: HopperTarget, name: str, part: int = 0) -> Plan:
    """The meaning of the loop's ops, of the tile's head and of its tail; ``part``: which loop."""
    turns, alternates = takes_turns(layout), layout.config.pingpong > 1
    ops = loop_ops(layout, target, 1)
    consumers = layout.config.warpgroups
    members = tuple(f"{CONSUMER}{i}" for i in range(consumers)) if turns else ()
    aliases = {f"{op.name}@{i}": op.name for op in ops for i in range(consumers)} if turns else {}
    return Plan(
        name=name,
        target=target.name,
        actions={op.name: _action(layout, op) for op in ops},
        cluster=layout.config.ctas,
        aliases=aliases,
        rings=tuple(_ring(layout, r, target) for r in layout.rings),
        roles=(
            RolePlan(name=PRODUCER, instances=1, threads=1, head=tuple(_first_loads(layout))),
            *_gatherer(layout),
            RolePlan(
                name=CONSUMER,
                instances=consumers,
                threads=128,
                of=members,
                alternates=alternates,
                registers=(
                    *((a.name, a.registers) for a in layout.arrays),
                    *((early_array(v), n // 4) for x in sees(layout) for v, n in x.early),
                ),
                head=tuple(_head(layout)),
                tail=tuple(_tail(layout)),
            ),
        ),
        buffers=_buffers(layout),
        barriers=(
            NamedBarrier(
                name="turn", id=TURN_BARRIER + consumers * part, threads=256, count=consumers
            ),
        )
        if turns or alternates
        else (),
        turns=Turns(role=CONSUMER, unit="tensor", barrier="turn") if turns or alternates else None,
    )


def _gatherer(layout: Layout) -> tuple[RolePlan, ...]:
    plan = RolePlan(name=GATHERER, instances=1, threads=THREADS)
    return (plan,) if layout.gathers else ()


def _buffers(layout: Layout) -> tuple[StagingBuffer, ...]:
    if not staged_stores(layout):
        return ()
    copies = layout.config.epilogue_stages
    return (StagingBuffer(name="out", role=CONSUMER, copies=copies, bytes=STAGING_BYTES),)


def _ring(layout: Layout, ring: SlotRing, target: HopperTarget) -> RingPlan:
    parts = [
        Part(name=part_name(tile.value), offset=at, bytes=tile.bytes)
        for tile, at in zip(ring.tiles, ring.offsets, strict=True)
    ]
    depth = layout.config.tile_prefetch if ring.per_tile else ring_depth(layout, ring, target)
    per = Per.TILE if ring.per_tile else Per.ITERATION
    return RingPlan(name=ring.name, parts=tuple(parts), per=per, depth=depth)


def part_name(value: str) -> str:
    """The ring part a loaded value lies in."""
    return value.replace(".", "_")


def _action(layout: Layout, op: LoopOp) -> Action:
    if isinstance(op.work, SlotRing):
        return _copies(layout, op.work)
    if isinstance(op.work, Dot):
        return _product(layout, op.work)
    if isinstance(op.work, See):
        slots = (_slot(layout, t.value) for t in op.work.ring.tiles)
        return Work(
            slots=tuple(s for s in slots if s is not None),
            writes=tuple(early_array(v) for v, _ in op.work.early),
        )
    if isinstance(op.work, Put):
        slot = _slot(layout, op.work.value)
        assert slot is not None
        return Work(reads=(dict(layout.homes)[op.work.value],), fills=(slot,))
    if isinstance(op.work, Send):
        return _send(layout, op.work.op)
    return step_work(layout, op.work)


def _copies(layout: Layout, ring: SlotRing) -> tuple[Copy, ...]:
    return tuple(
        Copy(
            ring=ring.name,
            part=part_name(t.value),
            bytes=t.bytes // n,
            multicast=n,
            by_threads=ring.gathered,
        )
        for t in ring.tiles
        for n in (sharers(layout, t),)
    )


def _product(layout: Layout, op: Dot) -> Product:
    homes = dict(layout.homes)
    a, b = layout.body.through(op.a)[0], layout.body.through(op.b)[0]
    held = layout.left_in_registers(op)
    slots = [_slot(layout, n) for n in ((b,) if held else (a, b))]
    return Product(
        slots=tuple(s for s in slots if s is not None),
        accumulator=homes[op.result.name],
        registers=(homes[a],) if held else (),
        fresh=op.into is None,
        keeps=op.into is not None and not discards_first(layout, op),
    )


def _send(layout: Layout, op: Store) -> Stores | Work:
    homes = dict(layout.homes)
    reads = tuple(dict.fromkeys(homes[v] for v in values_behind(layout, op.value)))
    if is_straight(layout, op):
        return Work(reads=reads)
    chunks = chunks_of(layout, op)
    copies = layout.config.epilogue_stages
    if len(chunks) > copies:
        raise refusal(
            f"a store of the loop in {len(chunks)} chunks with {copies} staging copies",
            op.line,
            why="every chunk of an iteration has a copy of its own",
            fix=f"a configuration with epilogue_stages={len(chunks)} or more",
        )
    return Stores(
        fill=f"fill_{stored(layout, op)}",
        reads=reads,
        buffer="out",
        chunks=tuple((n, (c.block, c.column)) for n, c in enumerate(chunks)),
        reduce=op.add,
    )


def discards_first(layout: Layout, op: Dot) -> bool:
    """Whether the first product of a tile starts a carried sum that begins at 0."""
    carried = layout.body.inside.get(op.into or "")
    if (
        carried is None
        or layout.config.zero_init_accumulators
        or not layout.body.is_zero(carried.first)
    ):
        return False
    readers = [x for x in layout.body.loop.body if carried.inside.name in operands(x)]
    return readers == [op]  # what others read must be there


def _slot(layout: Layout, value: str) -> SlotRead | None:
    found = layout.slot_of(value)
    return SlotRead(ring=found[0].name, part=part_name(value)) if found else None


def step_work(layout: Layout, step: Step) -> Work:
    """What a step touches."""
    homes = dict(layout.homes)
    writes = tuple(dict.fromkeys(homes[r] for r in step.results))
    early = (
        early_vectors(layout)
        if layout.config.separate_full_waits and step.when is When.LOOP
        else {}
    )
    reads = tuple(dict.fromkeys(homes[r] for r in step.reads))
    reads += tuple(early_array(v) for v in step.loads if v in early)
    slots = (_slot(layout, v) for v in step.loads if v not in early)
    return Work(reads=reads, writes=writes, slots=tuple(s for s in slots if s is not None))


def _first_loads(layout: Layout) -> Iterator[tuple[str, Action]]:
    for ring in layout.rings:
        if ring.per_tile:
            yield load_name(ring), _copies(layout, ring)


def held_loads(layout: Layout) -> tuple[Load, ...]:
    """Tiles fetched into registers once a tile."""
    homes = dict(layout.homes)
    return tuple(
        op
        for op in layout.body.head
        if isinstance(op, Load) and is_held(layout.body, op) and op.result.name in homes
    )


def given_values(layout: Layout) -> tuple[Given, ...]:
    """What earlier loops of the tile left for this one."""
    return tuple(op for op in layout.body.head if isinstance(op, Given))


def left_values(layout: Layout) -> tuple[str, ...]:
    """Results of a loop that stores nothing: they are for the loops after it."""
    ops = (*layout.body.loop.body, *layout.body.tail)
    if any(isinstance(op, Store) for op in ops):
        return ()
    return tuple(c.result.name for c in layout.body.loop.carried)


def started(layout: Layout) -> tuple[str, ...]:
    """Carried values (inside the loop) that a tile's head must set from constants."""
    out = []
    for c in layout.body.loop.carried:
        products = (op for op in layout.body.loop.body if isinstance(op, Dot))
        if any(op.into == c.inside.name and discards_first(layout, op) for op in products):
            continue  # what was there is discarded
        if layout.body.is_free(c.first) or layout.body.is_zero(c.first):
            out.append(c.inside.name)
    return tuple(out)


def tile_slots(layout: Layout) -> tuple[str, ...]:
    """What the loop reads in slots that are filled once a tile, where they are seen before it."""
    fetched = {op.result.name for op in held_loads(layout)}
    rings = [r for r in layout.rings if r.per_tile and layout.config.separate_full_waits]
    return tuple(t.value for r in rings for t in r.tiles if t.value not in fetched)


def _head(layout: Layout) -> Iterator[tuple[str, Action]]:
    homes = dict(layout.homes)
    slots = tuple(s for v in tile_slots(layout) if (s := _slot(layout, v)) is not None)
    if slots:
        yield SEE, Work(slots=slots)
    for op in held_loads(layout):
        slot = _slot(layout, op.result.name)
        assert slot is not None
        yield fetch_name(op), Work(slots=(slot,), writes=(homes[op.result.name],))
    taken = tuple(dict.fromkeys(homes[op.result.name] for op in given_values(layout)))
    if taken:
        yield TAKE, Work(writes=taken)
    arrays = tuple(dict.fromkeys(homes[n] for n in started(layout)))
    if arrays:
        yield START, Work(writes=arrays)
    for step in layout.steps:
        if step.when is When.HEAD:
            yield step.name, step_work(layout, step)


def fetch_name(op: Load) -> str:
    """The op that takes a loaded tile into registers."""
    return f"fetch_{part_name(op.result.name)}"


def part_arrays(layout: Layout) -> tuple[str, ...]:
    """Arrays of row sums that the tail finishes over the threads of a row."""
    homes = dict(layout.homes)
    names = (c.result.name for c in layout.body.loop.carried)
    return tuple(
        dict.fromkeys(homes[n] for n in names if layout.form_of(_inside(layout, n)) is Form.PART)
    )


def _inside(layout: Layout, result: str) -> str:
    return layout.body.after[result].inside.name


def _tail(layout: Layout) -> Iterator[tuple[str, Action]]:
    homes = dict(layout.homes)
    if layout.config.split_k > 1:
        arrays = tuple(a.name for a in met_arrays(layout))
        yield MEET, Work(reads=arrays, writes=arrays)
    parts = part_arrays(layout)
    if parts:
        yield SUMS, Work(reads=parts, writes=parts)
    for step in layout.steps:
        if step.when is When.TAIL:
            yield step.name, step_work(layout, step)
    left = left_values(layout)
    if left:
        yield LEAVE, Work(reads=tuple(dict.fromkeys(homes[n] for n in left)))
    staged = staged_stores(layout)
    chunks = tuple(staged_chunks(layout))
    for op in layout.body.tail:
        if not isinstance(op, Store):
            continue
        reads = tuple(dict.fromkeys(homes[v] for v in values_behind(layout, op.value)))
        if op not in staged:
            yield store_name(layout, op), Work(reads=reads)
            continue
        for chunk, copy in [(c, n) for o, c, n in chunks if o is op]:
            yield (
                store_name(layout, op),
                StagedStore(
                    fill=f"fill_{stored(layout, op)}",
                    reads=reads,
                    buffer="out",
                    copy=copy,
                    args=(chunk.block, chunk.column),
                    reduce=op.add,
                ),
            )


def stored(layout: Layout, op: Store) -> str:
    """What a store is called by: its tensor, and a number where it stores several tiles there."""
    body = layout.body
    every = [o for _, o in body.placed if isinstance(o, Store) and o.tensor == op.tensor]
    return op.tensor if len(every) == 1 else f"{op.tensor}_{every.index(op)}"


def store_name(layout: Layout, op: Store) -> str:
    """The op of a store."""
    return f"store_{stored(layout, op)}"


def staged_chunks(layout: Layout) -> Iterator[tuple[Store, Chunk, int]]:
    """All chunks that leave through shared memory, in order, with their staging copies."""
    count = 0
    for op in staged_stores(layout):
        for chunk in chunks_of(layout, op):
            yield op, chunk, count % layout.config.epilogue_stages
            count += 1
