"""Relate: the loop as a problem for the scheduler; every edge follows from a value.

An op waits for the values it reads. What shares an array with another value adds the rest: whoever
reads a value comes before the op that overwrites it, in the same iteration or the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warploom.ir.tile import Dot
from warploom.modulo import ModuloEdge, ModuloOp, ModuloProblem, Read, Ring, RingKind, Role
from warploom.modulo.model import Hold, Unit, Value
from warploom.passes.fuse import Step
from warploom.passes.gather import GATHERER, gather_registers
from warploom.passes.layout import Layout
from warploom.passes.loop_ops import CONSUMER, PRODUCER, LoopOp, load_name, loop_ops, takes_turns
from warploom.passes.op_cost import slowed, unqueued
from warploom.passes.smem_budget import ring_depth
from warploom.passes.smem_layout import SlotRing
from warploom.passes.smem_ops import Put, See, early_array, in_slot, read_early
from warploom.targets.h200 import HopperTarget


def problem_of(layout: Layout, target: HopperTarget, name: str) -> ModuloProblem:
    """The loop's ops, edges and storage.

    Ops are placed under the tensor cores' bounded queue, vector work beside other warpgroups'
    products. Times that are given were measured: there units alone count, the rest is the chip's.
    """
    turns, given = takes_turns(layout), bool(layout.config.issue_times)
    together = 1 if turns else layout.config.consumer_warpgroups
    ops = loop_ops(layout, target, together)
    if given:
        ops = tuple(replace(op, cost=unqueued(op.cost)) for op in ops)
    elif turns:  # there is always another one whose products run
        ops = tuple(replace(op, cost=slowed(op.cost, target)) for op in ops)
    copies = range(layout.config.consumer_warpgroups) if turns else (None,)
    build = _Builder(layout, ops, tuple(copies), target.sync.mbarrier_handoff)
    depths = {r.name: ring_depth(layout, r, target) for r in layout.rings if not r.per_tile}
    return ModuloProblem(
        name=name,
        ops=tuple(build.modulo_ops()),
        edges=tuple(build.edges()),
        capacities=() if given else (Unit(name="tensor", queue=target.wgmma_queue),),
        rings=(*build.register_rings(), *build.slot_rings(depths)),
        values=(*build.register_values(), *build.early_values()),
        roles=(
            Role(name=PRODUCER),
            *([Role(name=GATHERER)] if any(r.gathered for r in layout.rings) else []),
            *(build.consumer(c, target) for c in copies),
        ),
        smem_budget=sum(r.bytes * depths[r.name] for r in layout.rings if not r.per_tile),
        handoff=target.sync.mbarrier_handoff,
        release=target.sync.mbarrier_handoff,
    )


class _Builder:
    """Ops of the producer once, of the consumers once for each copy."""

    def __init__(
        self, layout: Layout, ops: tuple[LoopOp, ...], copies: tuple[int | None, ...], handoff: int
    ) -> None:
        self.layout, self.ops, self.copies, self.handoff = layout, ops, copies, handoff
        self.maker = {v: op for op in ops for v in op.defines}
        self.index: dict[tuple[str, int | None], int] = {}
        for op in ops:
            for copy in self._copies(op):
                self.index[op.name, copy] = len(self.index)

    def _copies(self, op: LoopOp) -> tuple[int | None, ...]:
        return self.copies if op.role == CONSUMER else (None,)

    def role(self, copy: int | None) -> str:
        """The role of a consumer copy."""
        return CONSUMER if copy is None else f"{CONSUMER}{copy}"

    def consumer(self, copy: int | None, target: HopperTarget) -> Role:
        """The role of a consumer copy; where registers are short, with a budget."""
        if not self.layout.crowded:
            return Role(name=self.role(copy))
        split = target.register_split(
            self.layout.config.warpgroups,
            cluster=self.layout.config.ctas > 1,
            producer=gather_registers(self.layout.rings),
        )
        most = split[1] if split else target.limits.setmaxnreg_high
        kept = sum(a.registers for a in self.layout.arrays if not self._renewed(a.name))
        return Role(
            name=self.role(copy),
            register_budget=most - self.layout.config.reserved_registers,
            static_registers=kept,
        )

    def _renewed(self, array: str) -> bool:
        """Whether an array is written anew every iteration."""
        homes = dict(self.layout.homes)
        written = any(homes.get(v) == array for v in self.maker)
        return written and not self._carried(array)

    def register_values(self) -> Iterator[Value]:
        """Where registers are short: arrays as values that live from first write to last use."""
        homes = dict(self.layout.homes)
        for array in self.layout.arrays if self.layout.crowded else ():
            versions = [v for v in self.maker if homes.get(v) == array.name]
            if not self._renewed(array.name):
                continue
            for copy in self.copies:
                writer = self.maker[versions[0]]
                touching = [
                    op for op in self.ops if op is not writer and self._touches(op, versions)
                ]
                yield Value(
                    name=array.name if copy is None else f"{array.name}@{copy}",
                    size=array.registers,
                    src=self.index[writer.name, copy],
                    uses=tuple(Read(op=self.index[o.name, copy], hold=_hold(o)) for o in touching),
                    late=_held(writer) if isinstance(writer.work, Step) else 0,
                )

    def early_values(self) -> Iterator[Value]:
        """Where registers are short: vectors that are read early."""
        for see in self.ops if self.layout.crowded else ():
            for vector, elements in see.work.early if isinstance(see.work, See) else ():
                for copy in self.copies:
                    users = self._readers(read_early(vector))
                    yield Value(
                        name=early_array(vector) + ("" if copy is None else f"@{copy}"),
                        size=elements // 4,
                        src=self.index[see.name, copy],
                        uses=tuple(Read(op=self.index[u.name, copy], hold=_hold(u)) for u in users),
                    )

    def _unit(self, name: str, copy: int | None) -> str:
        """Warps of several consumers take the vector pipes in turns, an instruction each: none
        stands still for another one's op, so each has pipes of its own, slowed.
        """
        return name if copy is None or name == "tensor" else f"{name}@{copy}"

    def modulo_ops(self) -> Iterator[ModuloOp]:
        """All ops, in the order of their indices."""
        for op in self.ops:
            for copy in self._copies(op):
                yield ModuloOp(
                    name=op.name if copy is None else f"{op.name}@{copy}",
                    unit=self._unit(op.cost.unit, copy),
                    occupancy=op.cost.occupancy,
                    also=tuple(Hold(unit=self._unit(u, copy), cycles=c) for u, c in op.cost.also),
                    role=self.role(copy) if op.role == CONSUMER else op.role,
                    issue=op.cost.issue,
                    pieces=op.cost.pieces,
                )

    def edges(self) -> Iterator[ModuloEdge]:
        """Values to their readers, readers to whoever overwrites the value."""
        for copy in self.copies:
            for op in self.ops:
                if op.role != CONSUMER and copy != self.copies[0]:
                    continue
                for value, back in op.reads:
                    maker = self.maker.get(value)
                    if maker is None or (maker is op and isinstance(op.work, Dot)):
                        continue
                    more = self.handoff if isinstance(maker.work, Put) else 0
                    yield self._edge(maker, op, copy, maker.cost.latency + more, back, value)
            yield from self._overwrites(copy)
            yield from self._put_first(copy)
            # Who uses what was read early comes before it is read for the next iteration
            for see in self.ops:
                for vector, _ in see.work.early if isinstance(see.work, See) else ():
                    for user in self._readers(read_early(vector)):
                        why = f"{vector} is used before the next one is read"
                        yield self._edge(user, see, copy, _held(user), 1, why)

    def _put_first(self, copy: int | None) -> Iterator[ModuloEdge]:
        """A tile is written to shared memory before a product takes its registers: from then on
        they are the tensor core's, and nothing else may read them until it is awaited.
        """
        for put in self.ops:
            for value, _ in put.reads if isinstance(put.work, Put) else ():
                for product in self._readers(value):
                    if isinstance(product.work, Dot):
                        why = f"{value} is in shared memory before a product takes its registers"
                        yield self._edge(put, product, copy, 1, 0, why)  # in program order

    def _edge(
        self, a: LoopOp, b: LoopOp, copy: int | None, latency: int, back: int, why: str
    ) -> ModuloEdge:
        src = self.index[a.name, copy if a.role == CONSUMER else None]
        dst = self.index[b.name, copy if b.role == CONSUMER else None]
        return ModuloEdge(src=src, dst=dst, latency=latency, distance=back, why=why)

    def _overwrites(self, copy: int | None) -> Iterator[ModuloEdge]:
        homes = dict(self.layout.homes)
        for array in self.layout.arrays:
            versions = [v for v in self.maker if homes.get(v) == array.name]
            carried = self._carried(array.name)
            for value in versions:
                for reader in self._readers(value):
                    for other, back in self._next(versions, value, carried=carried):
                        if other is not reader:
                            why = f"{value} is read before it is overwritten"
                            yield self._edge(reader, other, copy, _hold(reader), back, why)
            if carried:
                yield from self._first_reads(array.name, versions, copy)

    def _first_reads(
        self, array: str, versions: list[str], copy: int | None
    ) -> Iterator[ModuloEdge]:
        """Who reads what the iteration before left comes before the first new version."""
        if not versions:
            return
        first = self.maker[versions[0]]
        lasts = {
            c.last
            for c in self.layout.body.loop.carried
            if dict(self.layout.homes).get(c.last) == array
        }
        for reader in self.ops:
            if reader is not first and any(v in lasts and back for v, back in reader.reads):
                why = f"{array} is read before it is overwritten"
                yield self._edge(reader, first, copy, _held(reader), 0, why)

    def _next(
        self, versions: list[str], value: str, *, carried: bool
    ) -> Iterator[tuple[LoopOp, int]]:
        """The op that writes the array next, and how many iterations later."""
        at = versions.index(value)
        if at + 1 < len(versions):
            yield self.maker[versions[at + 1]], 0
        elif carried:
            yield self.maker[versions[0]], 1

    def _readers(self, value: str) -> list[LoopOp]:
        return [op for op in self.ops if (value, 0) in op.reads]

    def _carried(self, array: str) -> bool:
        homes = dict(self.layout.homes)
        return any(homes.get(c.last) == array for c in self.layout.body.loop.carried)

    def register_rings(self) -> Iterator[Ring]:
        """Arrays written anew every iteration: no reader is left when that happens."""
        homes = dict(self.layout.homes)
        for array in self.layout.arrays:
            versions = [v for v in self.maker if homes.get(v) == array.name]
            if not versions or self._carried(array.name):
                continue
            for copy in self.copies:
                writer = self.maker[versions[0]]
                others = [op for op in self.ops if op is not writer]
                touching = [op for op in others if self._touches(op, versions)]
                reads = tuple(Read(op=self.index[op.name, copy], hold=_hold(op)) for op in touching)
                yield Ring(
                    name=array.name if copy is None else f"{array.name}@{copy}",
                    kind=RingKind.REG,
                    size=0 if self.layout.crowded else array.registers,
                    writers=(self.index[writer.name, copy],),
                    readers=(reads,),
                    max_depth=1,
                )

    def _touches(self, op: LoopOp, versions: list[str]) -> bool:
        return any(v in versions for v, _ in op.reads) or any(v in versions for v in op.defines)

    def _writers(self, ring: SlotRing) -> tuple[int, ...]:
        if not ring.filled:
            return (self.index[load_name(ring), None],)
        put = Put(value=ring.tiles[0].value, ring=ring).name
        return tuple(self.index[put, copy] for copy in self.copies[:1])

    def slot_rings(self, depths: dict[str, int]) -> Iterator[Ring]:
        """Rings of loaded tiles, read by products and steps."""
        for ring in self.layout.rings:
            if ring.per_tile:
                continue
            values = {in_slot(t.value) if ring.filled else t.value for t in ring.tiles}
            readers = [op for op in self.ops if any(v in values for v, _ in op.reads)]
            more = self.handoff if ring.filled else 0  # consumers wait for one another
            reads = tuple(
                Read(op=self.index[op.name, copy], hold=_hold(op) + more)
                for op in readers
                for copy in self.copies
            )
            yield Ring(
                name=ring.name,
                kind=RingKind.SMEM,
                size=ring.bytes,
                writers=self._writers(ring),
                readers=(reads,),
                max_depth=depths[ring.name],
            )


def _hold(op: LoopOp) -> int:
    """Cycles for which an op reads its operands."""
    return op.cost.latency if isinstance(op.work, Dot) else _held(op)


def _held(op: LoopOp) -> int:
    return max(op.cost.occupancy, op.cost.issue)
