"""Plan: what the ops of a scheduled loop do, in the words of the guard, and the declared flow."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.document.flow import Flow, FlowOp, FlowOperand, Home, When
from warploom.document.roles import NamedBarrier, Part, Per, SlotRead, StagingBuffer
from warploom.guard.mbarrier import (
    Action,
    Copy,
    Plan,
    Product,
    RingPlan,
    RolePlan,
    Stores,
    Turns,
    Work,
)
from warploom.guard.mbarrier import Store as StagedStore
from warploom.kernel.values import Dot, Load, Store
from warploom.lower.body import line_of, refusal
from warploom.lower.fuse import Step
from warploom.lower.hand_over import Chunk, Put, Send, chunks_of, in_slot, product_operand
from warploom.lower.layout import Form, Layout, is_held
from warploom.lower.reads import values_behind
from warploom.lower.relate import (
    CONSUMER,
    PRODUCER,
    LoopOp,
    load_name,
    loop_ops,
    product_name,
    takes_turns,
)
from warploom.lower.slots import SlotRing
from warploom.lower.storage import STAGING_BYTES, ring_depth, staged_stores
from warploom.target.h200 import HopperTarget

TURN_BARRIER = 1  # hardware barrier of the first instance
START, SUMS = "start_tile", "finish_sums"


def plan_of(layout: Layout, target: HopperTarget, name: str) -> Plan:
    """The meaning of the loop's ops, of the tile's head and of its tail."""
    turns = takes_turns(layout)
    ops = loop_ops(layout, target, 1)
    consumers = layout.tiling.consumers
    members = tuple(f"{CONSUMER}{i}" for i in range(consumers)) if turns else ()
    aliases = {f"{op.name}@{i}": op.name for op in ops for i in range(consumers)} if turns else {}
    return Plan(
        name=name,
        target=target.name,
        actions={op.name: _action(layout, op) for op in ops},
        aliases=aliases,
        rings=tuple(_ring(layout, r, target) for r in layout.rings),
        roles=(
            RolePlan(name=PRODUCER, instances=1, threads=1, head=tuple(_first_loads(layout))),
            RolePlan(
                name=CONSUMER,
                instances=consumers,
                threads=128,
                of=members,
                registers=tuple((a.name, a.registers) for a in layout.arrays),
                head=tuple(_head(layout)),
                tail=tuple(_tail(layout)),
            ),
        ),
        buffers=_buffers(layout),
        barriers=(NamedBarrier(name="turn", id=TURN_BARRIER, threads=256, count=consumers),)
        if turns
        else (),
        turns=Turns(role=CONSUMER, unit="tensor", barrier="turn") if turns else None,
    )


def _buffers(layout: Layout) -> tuple[StagingBuffer, ...]:
    if not staged_stores(layout):
        return ()
    copies = layout.tiling.staging
    return (StagingBuffer(name="out", role=CONSUMER, copies=copies, bytes=STAGING_BYTES),)


def _ring(layout: Layout, ring: SlotRing, target: HopperTarget) -> RingPlan:
    parts = [
        Part(name=part_name(tile.value), offset=at, bytes=tile.bytes)
        for tile, at in zip(ring.tiles, ring.offsets, strict=True)
    ]
    depth = 1 if ring.per_tile else ring_depth(layout, ring, target)
    per = Per.TILE if ring.per_tile else Per.ITERATION
    return RingPlan(name=ring.name, parts=tuple(parts), per=per, depth=depth)


def part_name(value: str) -> str:
    """The ring part a loaded value lies in."""
    return value.replace(".", "_")


def _action(layout: Layout, op: LoopOp) -> Action:
    if isinstance(op.work, SlotRing):
        return _copies(op.work)
    if isinstance(op.work, Dot):
        return _product(layout, op.work)
    if isinstance(op.work, Put):
        slot = _slot(layout, op.work.value)
        assert slot is not None
        return Work(reads=(dict(layout.homes)[op.work.value],), fills=(slot,))
    if isinstance(op.work, Send):
        return _send(layout, op.work.op)
    return step_work(layout, op.work)


def _copies(ring: SlotRing) -> tuple[Copy, ...]:
    return tuple(Copy(ring=ring.name, part=part_name(t.value), bytes=t.bytes) for t in ring.tiles)


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


def _send(layout: Layout, op: Store) -> Stores:
    homes = dict(layout.homes)
    chunks = chunks_of(layout, op)
    copies = layout.tiling.staging
    if len(chunks) > copies:
        raise refusal(
            f"a store of the loop in {len(chunks)} chunks with {copies} staging copies",
            op.line,
            why="every chunk of an iteration has a copy of its own",
            fix=f"a tiling with staging={len(chunks)} or more",
        )
    return Stores(
        fill=f"fill_{op.tensor}",
        reads=tuple(dict.fromkeys(homes[v] for v in values_behind(layout, op.value))),
        buffer="out",
        chunks=tuple((n, (c.block, c.column)) for n, c in enumerate(chunks)),
        reduce=op.add,
    )


def discards_first(layout: Layout, op: Dot) -> bool:
    """Whether the first product of a tile starts a carried sum that begins at 0."""
    carried = layout.body.inside.get(op.into or "")
    if layout.tiling.cleared:
        return False
    return carried is not None and layout.body.is_zero(carried.first)


def _slot(layout: Layout, value: str) -> SlotRead | None:
    found = layout.slot_of(value)
    return SlotRead(ring=found[0].name, part=part_name(value)) if found else None


def step_work(layout: Layout, step: Step) -> Work:
    """What a step touches."""
    homes = dict(layout.homes)
    writes = tuple(dict.fromkeys(homes[r] for r in step.results))
    reads = tuple(dict.fromkeys(homes[r] for r in step.reads))
    slots = (_slot(layout, v) for v in step.loads)
    return Work(reads=reads, writes=writes, slots=tuple(s for s in slots if s is not None))


def _first_loads(layout: Layout) -> Iterator[tuple[str, Action]]:
    for ring in layout.rings:
        if ring.per_tile:
            yield load_name(ring), _copies(ring)


def held_loads(layout: Layout) -> tuple[Load, ...]:
    """Tiles fetched into registers once a tile."""
    homes = dict(layout.homes)
    return tuple(
        op
        for op in layout.body.head
        if isinstance(op, Load) and is_held(layout.body, op) and op.result.name in homes
    )


def started(layout: Layout) -> tuple[str, ...]:
    """Carried values (inside the loop) that a tile's head must set from constants."""
    out = []
    for c in layout.body.loop.carried:
        last = layout.body.ops.get(c.last)
        direct = isinstance(last, Dot) and last.into == c.inside.name
        if direct and layout.body.is_zero(c.first) and not layout.tiling.cleared:
            continue  # the first product discards what was there
        if layout.body.is_free(c.first) or layout.body.is_zero(c.first):
            out.append(c.inside.name)
    return tuple(out)


def _head(layout: Layout) -> Iterator[tuple[str, Action]]:
    homes = dict(layout.homes)
    for op in held_loads(layout):
        slot = _slot(layout, op.result.name)
        assert slot is not None
        yield fetch_name(op), Work(slots=(slot,), writes=(homes[op.result.name],))
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
    parts = part_arrays(layout)
    if parts:
        yield SUMS, Work(reads=parts, writes=parts)
    for step in layout.steps:
        if step.when is When.TAIL:
            yield step.name, step_work(layout, step)
    staged = staged_stores(layout)
    chunks = tuple(staged_chunks(layout))
    for op in layout.body.tail:
        if not isinstance(op, Store):
            continue
        reads = tuple(dict.fromkeys(homes[v] for v in values_behind(layout, op.value)))
        if op not in staged:
            yield store_name(op), Work(reads=reads)
            continue
        for chunk, copy in [(c, n) for o, c, n in chunks if o is op]:
            yield (
                store_name(op),
                StagedStore(
                    fill=f"fill_{op.tensor}",
                    reads=reads,
                    buffer="out",
                    copy=copy,
                    args=(chunk.block, chunk.column),
                    reduce=op.add,
                ),
            )


def store_name(op: Store) -> str:
    """The op of a store."""
    return f"store_{op.tensor}"


def flow_of(layout: Layout, target: HopperTarget) -> Flow:
    """The declared dataflow of all ops, for the judges."""
    ops = [*_head_flow(layout), *_loop_flow(layout, target), *_tail_flow(layout)]
    homes = [Home(value=v, place=place) for v, place in _places(layout)]
    return Flow(ops=tuple(ops), homes=tuple(homes))


def _places(layout: Layout) -> Iterator[tuple[str, str]]:
    fetched = {op.result.name for op in held_loads(layout)}
    for value, array in layout.homes:
        if value not in layout.body.inside and value not in layout.body.after:
            yield value, array
    yield from ((f"{n}.start", dict(layout.homes)[n]) for n in started(layout))
    for ring in layout.rings:
        for tile in ring.tiles:
            name = f"{tile.value}.slot" if tile.value in fetched else tile.value
            name = in_slot(name) if ring.filled else name
            yield name, f"{ring.name}.{part_name(tile.value)}"
    yield from ((_chunk_value(op, c), f"out#{n}") for op, c, n in staged_chunks(layout))
    for c in layout.body.loop.carried:
        if layout.form_of(c.inside.name) is Form.PART:
            yield f"{c.result.name}.whole", dict(layout.homes)[c.result.name]


def _head_flow(layout: Layout) -> Iterator[FlowOp]:
    fetched = {op.result.name for op in held_loads(layout)}
    for ring in layout.rings:
        if ring.per_tile:
            for t in ring.tiles:
                value = f"{t.value}.slot" if t.value in fetched else t.value
                yield FlowOp(
                    name=f"{load_name(ring)}.{part_name(t.value)}",
                    role=PRODUCER,
                    when=When.HEAD,
                    results=(value,),
                    line=_line(layout, t.value),
                )
    for op in held_loads(layout):
        value = op.result.name
        yield FlowOp(
            name=fetch_name(op),
            role=CONSUMER,
            when=When.HEAD,
            operands=(FlowOperand(value=f"{value}.slot"),),
            results=(value,),
            line=_line(layout, value),
        )
    starts = tuple(f"{n}.start" for n in started(layout))
    if starts:
        yield FlowOp(name=START, role=CONSUMER, when=When.HEAD, results=starts)
    for step in layout.steps:
        if step.when is When.HEAD:
            yield _step_flow(layout, step)


def _loop_flow(layout: Layout, target: HopperTarget) -> Iterator[FlowOp]:
    for op in loop_ops(layout, target, 1):
        if isinstance(op.work, SlotRing):
            for t in op.work.tiles:
                yield FlowOp(
                    name=f"{op.name}.{part_name(t.value)}",
                    role=PRODUCER,
                    results=(t.value,),
                    line=_line(layout, t.value),
                )
        elif isinstance(op.work, Dot):
            into = (op.work.into,) if op.work.into else ()
            names = (*(product_operand(layout, op.work, n) for n in (op.work.a, op.work.b)), *into)
            yield FlowOp(
                name=product_name(op.work),
                role=CONSUMER,
                operands=tuple(_operand(layout, n) for n in names),
                results=(op.work.result.name,),
                line=str(op.work.result.line or ""),
            )
        elif isinstance(op.work, Put):
            yield FlowOp(
                name=op.name,
                role=CONSUMER,
                operands=(_operand(layout, op.work.value),),
                results=(op.work.result,),
                line=_line(layout, op.work.value),
            )
        elif isinstance(op.work, Send):
            store = op.work.op
            yield from _store_flow(layout, store, list(chunks_of(layout, store)), When.LOOP)
        else:
            yield _step_flow(layout, op.work)


def _operand(layout: Layout, name: str) -> FlowOperand:
    if name not in layout.body.values:
        return FlowOperand(value=name)  # a copy in shared memory
    inner, _ = layout.body.through(name)
    carried = layout.body.inside.get(inner)
    if carried is None:
        return FlowOperand(value=inner)
    first: str | None = carried.first
    if inner in started(layout):
        first = f"{inner}.start"
    elif layout.body.is_zero(carried.first):
        first = None  # the first product discards what was there
    return FlowOperand(value=carried.last, back=1, before=first)


def _step_flow(layout: Layout, step: Step) -> FlowOp:
    slots = [v for v in step.loads if layout.slot_of(v) is not None]
    make = _tail_operand if step.when is When.TAIL else _operand
    return FlowOp(
        name=step.name,
        role=CONSUMER,
        when=step.when,
        operands=tuple(make(layout, n) for n in (*step.reads, *slots)),
        results=step.results,
        line=str(line_of(step.ops[-1]) or ""),
    )


def _tail_operand(layout: Layout, name: str) -> FlowOperand:
    carried = layout.body.after.get(name)
    if carried is None:
        return FlowOperand(value=name)
    if layout.form_of(carried.inside.name) is Form.PART:
        return FlowOperand(value=f"{name}.whole")
    return FlowOperand(value=carried.last)


def _tail_flow(layout: Layout) -> Iterator[FlowOp]:
    parts = [c for c in layout.body.loop.carried if layout.form_of(c.inside.name) is Form.PART]
    if parts:
        yield FlowOp(
            name=SUMS,
            role=CONSUMER,
            when=When.TAIL,
            operands=tuple(FlowOperand(value=c.last) for c in parts),
            results=tuple(f"{c.result.name}.whole" for c in parts),
        )
    for step in layout.steps:
        if step.when is When.TAIL:
            yield _step_flow(layout, step)
    staged = {(op, chunk): copy for op, chunk, copy in staged_chunks(layout)}
    for op in layout.body.tail:
        if isinstance(op, Store):
            yield from _store_flow(layout, op, [c for o, c in staged if o is op])


def _store_flow(
    layout: Layout, op: Store, chunks: list[Chunk], when: When = When.TAIL
) -> Iterator[FlowOp]:
    """A store from registers, or a fill and a copy out for each of its chunks."""
    make = _tail_operand if when is When.TAIL else _operand
    operands = tuple(make(layout, v) for v in values_behind(layout, op.value))
    line = str(op.line or "")
    if not chunks:
        yield FlowOp(
            name=store_name(op),
            role=CONSUMER,
            when=when,
            operands=operands,
            stores=True,
            line=line,
        )
    for chunk in chunks:
        args, value = (chunk.block, chunk.column), _chunk_value(op, chunk)
        yield FlowOp(
            name=f"fill_{op.tensor}",
            role=CONSUMER,
            args=args,
            when=when,
            operands=operands,
            results=(value,),
            line=line,
        )
        yield FlowOp(
            name=store_name(op),
            role=CONSUMER,
            args=args,
            when=when,
            operands=(FlowOperand(value=value),),
            stores=True,
            line=line,
        )


def _chunk_value(op: Store, chunk: Chunk) -> str:
    return f"{op.tensor}.{chunk.block}.{chunk.column}"


def staged_chunks(layout: Layout) -> Iterator[tuple[Store, Chunk, int]]:
    """All chunks that leave through shared memory, in order, with their staging copies."""
    count = 0
    for op in staged_stores(layout):
        for chunk in chunks_of(layout, op):
            yield op, chunk, count % layout.tiling.staging
            count += 1


def _line(layout: Layout, value: str) -> str:
    return str(layout.body.values[value].line or "")
