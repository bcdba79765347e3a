"""The ops of a loop, each with the values it reads and defines and what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.dataclass import dataclass
from warploom.ir.dataflow import When
from warploom.ir.tile import Dot, operands, results
from warploom.passes.fuse import Step
from warploom.passes.gather import GATHERER, gather_cost
from warploom.passes.layout import Layout
from warploom.passes.multicast import sharers
from warploom.passes.op_cost import Cost, load_cost, product_cost, step_cost
from warploom.passes.smem_layout import SlotRing
from warploom.passes.smem_ops import (
    Put,
    See,
    Send,
    early_vectors,
    product_operand,
    put_cost,
    puts,
    read_early,
    see_cost,
    sees,
    send_cost,
    sends,
)
from warploom.passes.smem_reads import values_behind
from warploom.targets.h200 import HopperTarget

PRODUCER, CONSUMER = "producer", "consumer"
Work = SlotRing | See | Dot | Step | Put | Send


@dataclass(frozen=True, slots=True)
class LoopOp:
    """One op of the loop: a slot's copies, a product or a step; what it reads and defines."""

    name: str
    work: Work
    reads: tuple[tuple[str, int], ...]
    """Values with the iterations back."""
    defines: tuple[str, ...]
    cost: Cost

    @property
    def role(self) -> str:
        """Who runs it."""
        return filler(self.work) if isinstance(self.work, SlotRing) else CONSUMER


def filler(ring: SlotRing) -> str:
    """Who copies into a ring."""
    return GATHERER if ring.gathered else PRODUCER


def loop_ops(layout: Layout, target: HopperTarget, consumers: int) -> tuple[LoopOp, ...]:
    """The ops of the loop in an order that respects values; costs of ``consumers`` together."""
    body = layout.body
    out = [
        LoopOp(
            load_name(ring),
            ring,
            (),
            tuple(t.value for t in ring.tiles),
            gather_cost(ring, target)
            if ring.gathered
            else load_cost(ring, target, _fetched(layout, ring)),
        )
        for ring in layout.rings
        if not ring.per_tile and not ring.filled
    ]
    looks = tuple(sees(layout))
    for see in looks:
        reads = tuple((t.value, 0) for t in see.ring.tiles)
        defines = (see.result, *(read_early(v) for v, _ in see.early))
        out.append(LoopOp(see.name, see, reads, defines, see_cost(see, target)))
    for op in body.loop.body:
        if isinstance(op, Dot):
            into = (op.into,) if op.into else ()
            sides = [product_operand(layout, op, n) for n in (op.a, op.b)]
            reads = tuple(_read(layout, n) for n in (*sides, *into))
            tiles = {body.through(n)[0] for n in (op.a, op.b)}
            reads += tuple((x.result, 0) for x in looks if tiles & {t.value for t in x.ring.tiles})
            cost = product_cost(layout, op, target, consumers)
            out.append(LoopOp(product_name(op), op, reads, (op.result.name,), cost))
    early = early_vectors(layout) if looks else {}
    for step in layout.steps:
        if step.when is When.LOOP:
            loads = [read_early(n) if n in early else n for n in step.loads]
            reads = tuple(_read(layout, n) for n in (*step.reads, *loads))
            cost = step_cost(layout, step, target, consumers)
            out.append(LoopOp(step.name, step, reads, step.results, cost))
    out += _handed(layout, target, consumers)
    return _ordered(out)


def _fetched(layout: Layout, ring: SlotRing) -> int:
    return ring.bytes - sum(t.bytes - t.bytes // sharers(layout, t) for t in ring.tiles)


def _handed(layout: Layout, target: HopperTarget, consumers: int) -> Iterator[LoopOp]:
    """Tiles written to shared memory for products, and stores of the loop."""
    for put in puts(layout):
        cost = put_cost(layout, put, target, consumers)
        yield LoopOp(put.name, put, (_read(layout, put.value),), (put.result,), cost)
    for send in sends(layout.body):
        reads = tuple(_read(layout, v) for v in values_behind(layout, send.op.value))
        yield LoopOp(send.name, send, reads, (), send_cost(layout, send, target, consumers))


def _ordered(ops: list[LoopOp]) -> tuple[LoopOp, ...]:
    """Ops after the makers of what they read in the same iteration."""
    maker = {v: op.name for op in ops for v in op.defines}
    left, out = list(ops), list[LoopOp]()
    done: set[str] = set()
    while left:
        ready = next(
            op
            for op in left
            if all(back or maker.get(v, op.name) in {*done, op.name} for v, back in op.reads)
        )
        left.remove(ready)
        out.append(ready)
        done.add(ready.name)
    return tuple(out)


def load_name(ring: SlotRing) -> str:
    """The op that fills a ring."""
    return f"load_{ring.name}"


def product_name(op: Dot) -> str:
    """The op of a product."""
    return f"dot_{op.result.name.replace('.', '_')}"


def _read(layout: Layout, name: str) -> tuple[str, int]:
    if name not in layout.body.values:
        return name, 0  # a copy in shared memory
    inner, _ = layout.body.through(name)
    carried = layout.body.inside.get(inner)
    return (carried.last, 1) if carried else (inner, 0)


def takes_turns(layout: Layout) -> bool:
    """Whether consumers should alternate on the tensor cores: vector work between products."""
    config = layout.config
    if config.consumer_warpgroups == 1:
        return False
    if config.mma_turns is not None:
        return config.mma_turns
    if any(ring.filled for ring in layout.rings):
        return False  # they wait for one another anyway
    made: dict[str, set[str]] = {}
    for op in layout.body.loop.body:
        found = set[str]().union(*(made.get(n, set()) for n in operands(op)))
        if isinstance(op, Dot):
            if made.get(op.a) or made.get(op.b):
                return True
            found |= {op.result.name}
        for value in results(op):
            made[value.name] = found
    return False
