"""The declared flow of a kernel: which values its ops read and leave, apart from any order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from warploom.ir.dataflow import Across, Flow, FlowOp, FlowOperand, Home, When
from warploom.ir.tile import Carried, Dot, Store
from warploom.ir.types import Line
from warploom.passes.body import line_of
from warploom.passes.fuse import START, SUMS, Step
from warploom.passes.layout import Form, Layout
from warploom.passes.loop_bounds import fewest_trips
from warploom.passes.loop_ops import CONSUMER, PRODUCER, filler, load_name, loop_ops, product_name
from warploom.passes.smem_budget import is_straight
from warploom.passes.smem_layout import SlotRing
from warploom.passes.smem_ops import (
    Chunk,
    Put,
    See,
    Send,
    chunks_of,
    early_array,
    early_vectors,
    in_slot,
    product_operand,
    read_early,
    sees,
)
from warploom.passes.smem_reads import values_behind
from warploom.passes.split_k import MEET
from warploom.passes.tile_order import takes_turns
from warploom.passes.warp_specialize import (
    LEAVE,
    SEE,
    TAKE,
    fetch_name,
    given_values,
    held_loads,
    left_values,
    part_name,
    staged_chunks,
    started,
    store_name,
    stored,
    tile_slots,
)
from warploom.targets.h200 import HopperTarget


def flow_of(layout: Layout, target: HopperTarget) -> Flow:
    """The declared dataflow of all ops, for the verifiers."""
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
    yield from ((read_early(v), early_array(v)) for x in sees(layout) for v, _ in x.early)
    yield from ((_chunk_value(layout, op, c), f"out#{n}") for op, c, n in staged_chunks(layout))
    for c in layout.body.loop.carried:
        if layout.config.split_k > 1:
            yield f"{c.result.name}.met", dict(layout.homes)[c.result.name]
        if layout.form_of(c.inside.name) is Form.PART:
            yield f"{c.result.name}.whole", dict(layout.homes)[c.result.name]


def _head_flow(layout: Layout) -> Iterator[FlowOp]:
    fetched = {op.result.name for op in held_loads(layout)}
    for ring in layout.rings:
        if ring.per_tile:
            for t in ring.tiles:
                value = f"{t.value}.slot" if t.value in fetched else t.value
                name, line = f"{load_name(ring)}.{part_name(t.value)}", _line(layout, t.value)
                yield FlowOp(name=name, role=PRODUCER, when=When.HEAD, results=(value,), line=line)
    for op in held_loads(layout):
        value = op.result.name
        slot = FlowOperand(value=f"{value}.slot")
        yield _op(fetch_name(op), When.HEAD, [slot], [value], line=_line(layout, value))
    slots = tile_slots(layout)
    if slots:
        yield _op(SEE, When.HEAD, (FlowOperand(value=v) for v in slots))
    taken = [op.result.name for op in given_values(layout)]
    if taken:
        yield _op(TAKE, When.HEAD, results=taken)
    starts = [f"{n}.start" for n in started(layout)]
    if starts:
        yield _op(START, When.HEAD, results=starts)
    for step in layout.steps:
        if step.when is When.HEAD:
            yield _step_flow(layout, step)


def _loop_flow(layout: Layout, target: HopperTarget) -> Iterator[FlowOp]:
    for op in loop_ops(layout, target, 1):
        if isinstance(op.work, SlotRing):
            for t in op.work.tiles:
                yield FlowOp(
                    name=f"{op.name}.{part_name(t.value)}",
                    role=filler(op.work),
                    results=(t.value,),
                    line=_line(layout, t.value),
                )
        elif isinstance(op.work, Dot):
            into = (op.work.into,) if op.work.into else ()
            names = (*(product_operand(layout, op.work, n) for n in (op.work.a, op.work.b)), *into)
            reads, made = [_operand(layout, n) for n in names], op.work.result
            line = _place(made.line)
            yield _op(product_name(op.work), When.LOOP, reads, [made.name], line=line)
        elif isinstance(op.work, See):
            reads = [FlowOperand(value=t.value) for t in op.work.ring.tiles]
            yield _op(op.name, When.LOOP, reads, (read_early(v) for v, _ in op.work.early))
        elif isinstance(op.work, Put):
            reads, line = [_operand(layout, op.work.value)], _line(layout, op.work.value)
            yield _op(op.name, When.LOOP, reads, [op.work.result], line=line)
        elif isinstance(op.work, Send):
            store = op.work.op
            chunks = () if is_straight(layout, store) else chunks_of(layout, store)
            yield from _store_flow(layout, store, list(chunks), When.LOOP)
        else:
            yield _step_flow(layout, op.work)


def _op(
    name: str,
    when: When,
    operands: Iterable[FlowOperand] = (),
    results: Iterable[str] = (),
    **more: Any,  # noqa: ANN401 (fields of the op)
) -> FlowOp:
    """An op of the consumers."""
    made = {"operands": tuple(operands), "results": tuple(results), **more}
    return FlowOp(name=name, role=CONSUMER, when=when, **made)


def _operand(layout: Layout, name: str) -> FlowOperand:
    if name not in layout.body.values:
        return FlowOperand(value=name)  # a copy in shared memory
    inner, _ = layout.body.through(name)
    carried = layout.body.inside.get(inner)
    if carried is None:
        return FlowOperand(value=inner)
    return FlowOperand(value=carried.last, back=1, before=_first(layout, carried))


def _first(layout: Layout, carried: Carried) -> str | None:
    """What stands for a carried value before the first iteration."""
    if carried.inside.name in started(layout):
        return f"{carried.inside.name}.start"
    if layout.body.is_zero(carried.first):
        return None  # the first product discards what was there
    return carried.first


def _step_flow(layout: Layout, step: Step) -> FlowOp:
    early = (
        early_vectors(layout)
        if layout.config.separate_full_waits and step.when is When.LOOP
        else {}
    )
    slots = [v for v in step.loads if layout.slot_of(v) is not None and v not in early]
    slots += [read_early(v) for v in step.loads if v in early]
    make = _tail_operand if step.when is When.TAIL else _operand
    reads, line = [make(layout, n) for n in (*step.reads, *slots)], line_of(step.ops[-1])
    return _op(step.name, step.when, reads, step.results, line=_place(line))


def _tail_operand(layout: Layout, name: str) -> FlowOperand:
    carried = layout.body.after.get(name)
    if carried is None:
        return FlowOperand(value=name)
    if layout.form_of(carried.inside.name) is Form.PART:
        return FlowOperand(value=f"{name}.whole")
    return _left_operand(layout, carried)


def _left_operand(layout: Layout, carried: Carried) -> FlowOperand:
    """A carried value after the loop; a loop of no iterations leaves what was there before it."""
    none = layout.config.split_k == 1 and fewest_trips(layout) == 0
    before = _first(layout, carried) if none else None
    return FlowOperand(value=_left(layout, carried), before=before)


def _left(layout: Layout, carried: Carried) -> str:
    """What the loop left of a carried value; of a split loop, what its parts left together."""
    return f"{carried.result.name}.met" if layout.config.split_k > 1 else carried.last


def _tail_flow(layout: Layout) -> Iterator[FlowOp]:
    if layout.config.split_k > 1:
        across = Across.NEAR if layout.config.split_k_in_cluster else Across.PARTS
        reads = [FlowOperand(value=c.last) for c in layout.body.loop.carried]
        met = [f"{c.result.name}.met" for c in layout.body.loop.carried]
        yield _op(MEET, When.TAIL, reads, met, across=across)
    parts = [c for c in layout.body.loop.carried if layout.form_of(c.inside.name) is Form.PART]
    if parts:
        reads = [_left_operand(layout, c) for c in parts]
        yield _op(SUMS, When.TAIL, reads, (f"{c.result.name}.whole" for c in parts))
    for step in layout.steps:
        if step.when is When.TAIL:
            yield _step_flow(layout, step)
    left = left_values(layout)
    if left:
        yield _op(LEAVE, When.TAIL, (_tail_operand(layout, n) for n in left), stores=True)
    staged = {(op, chunk): copy for op, chunk, copy in staged_chunks(layout)}
    for op in layout.body.tail:
        if isinstance(op, Store):
            yield from _store_flow(layout, op, [c for o, c in staged if o is op])


def _store_flow(
    layout: Layout, op: Store, chunks: list[Chunk], when: When = When.TAIL
) -> Iterator[FlowOp]:
    """A store from registers, or a fill and a copy out for each of its chunks."""
    make = _tail_operand if when is When.TAIL else _operand
    operands = [make(layout, v) for v in values_behind(layout, op.value)]
    line = _place(op.line)
    if not chunks:
        in_turn = when is When.LOOP and takes_turns(layout.body.kernel)
        across = Across.TURNS if in_turn else Across.NOTHING
        yield _op(store_name(layout, op), when, operands, stores=True, across=across, line=line)
    for chunk in chunks:
        args, value = (chunk.block, chunk.column), _chunk_value(layout, op, chunk)
        yield _op(f"fill_{stored(layout, op)}", when, operands, [value], args=args, line=line)
        source = [FlowOperand(value=value)]
        own: dict[str, Any] = {"args": args, "adds": op.add, "line": line}
        yield _op(store_name(layout, op), when, source, stores=True, **own)


def _chunk_value(layout: Layout, op: Store, chunk: Chunk) -> str:
    return f"{stored(layout, op)}.{chunk.block}.{chunk.column}"


def _line(layout: Layout, value: str) -> str:
    return _place(layout.body.values[value].line)


def _place(line: Line | None) -> str:
    """A line as documents name it: relative to the author's file, not to a machine."""
    return "" if line is None else line.place
