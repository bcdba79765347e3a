"""Attention forward as a loop body: one key tile an iteration, one or more consumers.

Per consumer: S = Q K^T, running row maximum, exponentials, conversion to P, rescaling of O, and
O += P V. Loads of K and V belong to a producer. Every vector op also holds its consumer's own
instruction stream for its duration; a matrix product holds it for the issue only.

The storage choices decide what is possible: ``s_copies`` accumulators for S, and rings for K and V
whose depth is part of the answer. Nothing here prescribes an order except where asked
(``in_order``, ``side_by_side``): overlap and ping-pong are for the solver to find.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from tests.modulo.bodies.attention_costs import HOPPER_ATTENTION, AttentionCosts, UnitCost
from warploom.errors import ConfigError
from warploom.modulo.model import (
    Hold,
    ModuloEdge,
    ModuloOp,
    ModuloProblem,
    Read,
    Ring,
    RingKind,
    Role,
    Unit,
)

PRODUCER = "producer"


def consumer_role(index: int) -> str:
    """The role name of a consumer."""
    return f"consumer{index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionShape:
    """What varies between attention bodies.

    ``consumers`` Q tiles are processed by as many roles. ``chunks`` splits exponentials, conversion
    and PV. ``in_order``: QK of the next tile only after PV of this one. ``side_by_side``: consumers
    issue their QK products one after the other, so that they cannot alternate. ``open_roles``: the
    solver assigns tiles to the consumer roles. ``register_budget`` is per consumer.

    ``in_place`` is the storage an emitted kernel has: exponentials overwrite S, which is free when
    they are converted, and the factor that rescales O lies in one pair of registers. ``margin``
    cycles of the softmax of a tile may come late without delaying anything: they stand for what the
    costs leave out (waits, issue conflicts).
    """

    consumers: int = 1
    s_copies: int = 1
    chunks: int = 1
    in_order: bool = False
    side_by_side: bool = False
    open_roles: bool = False
    roles: int | None = None
    register_budget: int | None = None
    smem_budget: int | None = None
    handoff: int = 0
    release: int = 0
    max_depth: int = 4
    in_place: bool = False
    margin: int = 0


def attention_body(
    shape: AttentionShape | None = None, costs: AttentionCosts = HOPPER_ATTENTION
) -> ModuloProblem:
    """The loop body of attention forward."""
    shape = shape or AttentionShape()
    if min(shape.consumers, shape.s_copies, shape.chunks, shape.max_depth) < 1:
        raise ConfigError("consumers, s_copies, chunks and max_depth must be at least 1")
    if shape.margin < 0:
        raise ConfigError(f"margin {shape.margin} is negative", where="AttentionShape")
    build = _Builder(shape, costs)
    return build.problem()


class _Builder:
    def __init__(self, shape: AttentionShape, costs: AttentionCosts) -> None:
        self.shape, self.costs = shape, costs
        self.ops: list[ModuloOp] = []
        self.edges: list[ModuloEdge] = []
        self.rings: list[Ring] = []
        count = shape.roles or shape.consumers
        self.consumer_roles = tuple(consumer_role(i) for i in range(count))

    def problem(self) -> ModuloProblem:
        load_k = self._load("LOAD_K")
        load_v = self._load("LOAD_V")
        tiles = [self._consumer(c, load_k, load_v) for c in range(self.shape.consumers)]
        k_reads = tuple(Read(op=t.qk, hold=self.costs.qk.latency) for t in tiles)
        last = self._part_of_pv().latency
        v_reads = tuple(Read(op=pv, hold=last) for t in tiles for pv in t.pv)
        self._smem("K", load_k, k_reads)
        self._smem("V", load_v, v_reads)
        if self.shape.side_by_side:
            self._forbid_alternation(tiles)
        return ModuloProblem(
            name=self._name(),
            ops=tuple(self.ops),
            edges=tuple(self.edges),
            rings=tuple(self.rings),
            capacities=self._queues(),
            roles=(Role(name=PRODUCER), *(self._role(r) for r in self.consumer_roles)),
            smem_budget=self.shape.smem_budget,
            handoff=self.shape.handoff,
            release=self.shape.release,
        )

    def _queues(self) -> tuple[Unit, ...]:
        queue = self.costs.queue
        return () if queue is None else (Unit(name=self.costs.matrix_unit, queue=queue),)

    def _role(self, name: str) -> Role:
        return Role(name=name, register_budget=self.shape.register_budget)

    def _name(self) -> str:
        s = self.shape
        parts = [f"attention {self.costs.name}", f"{s.consumers} consumer(s)", f"{s.s_copies} S"]
        parts += [f"{s.chunks} chunks"] if s.chunks > 1 else []
        parts += ["in order"] if s.in_order else []
        parts += ["side by side"] if s.side_by_side else []
        parts += ["in place"] if s.in_place else []
        parts += [f"margin {s.margin}"] if s.margin else []
        return ", ".join(parts)

    def _add(self, op: ModuloOp) -> int:
        self.ops.append(op)
        return len(self.ops) - 1

    def _edge(
        self, src: int, dst: int, latency: int, distance: int = 0, *, why: str = "flow"
    ) -> None:
        self.edges.append(ModuloEdge(src=src, dst=dst, latency=latency, distance=distance, why=why))

    def _load(self, name: str) -> int:
        cost = self.costs.load
        return self._add(
            ModuloOp(name=name, unit="memory", occupancy=cost.occupancy, role=PRODUCER)
        )

    def _matrix(self, name: str, consumer: int, cost: UnitCost, chunks: int = 1) -> int:
        """A product, or the part of one: its issue time shrinks with it."""
        issue = -(-self.costs.issue // chunks)
        made = self._on_stream(name, consumer, self.costs.matrix_unit, cost, issue)
        self.ops[made] = replace(self.ops[made], pieces=-(-self.costs.pieces // chunks))
        return made

    def _part_of_pv(self) -> UnitCost:
        return self._chunk(self.costs.pv, self.costs.product_tail)

    def _vector(self, name: str, consumer: int, cost: UnitCost) -> int:
        return self._on_stream(name, consumer, self.costs.alu_unit, cost, cost.occupancy)

    def _on_stream(
        self,
        name: str,
        consumer: int,
        unit: str,
        cost: UnitCost,
        issue: int,
        also: tuple[Hold, ...] = (),
    ) -> int:
        choice = self.consumer_roles if self.shape.open_roles else ()
        return self._add(
            ModuloOp(
                name=f"{name}{consumer}",
                unit=unit,
                occupancy=cost.occupancy,
                also=also,
                role=None if self.shape.open_roles else self.consumer_roles[consumer],
                may_run_on=choice,
                issue=issue,
            )
        )

    def _chunk(self, cost: UnitCost, tail: int | None = None) -> UnitCost:
        """One of ``chunks`` equal parts; the latency tail is the same for a part."""
        n = self.shape.chunks
        rest = cost.latency - cost.occupancy if tail is None else tail
        part = -(-cost.occupancy // n)
        return UnitCost(part, part + rest)

    def _consumer(self, c: int, load_k: int, load_v: int) -> _Tile:
        costs = self.costs
        qk = self._matrix("QK", c, costs.qk)
        row_max = self._vector("MAX", c, costs.row_max)
        rescale = self._vector("RESCALE", c, costs.rescale)
        exps, converts, pvs = [], [], []
        for i in range(self.shape.chunks):
            part = f"{i}." if self.shape.chunks > 1 else ""
            exps.append(self._exp(f"EXP{part}", c))
            converts.append(self._vector(f"CVT{part}", c, self._chunk(costs.convert)))
            pvs.append(self._matrix(f"PV{part}", c, self._part_of_pv(), self.shape.chunks))
        tile = _Tile(qk, row_max, rescale, tuple(exps), tuple(converts), tuple(pvs))
        self._flow(tile, load_k, load_v)
        self._accumulators(tile, c)
        return tile

    def _exp(self, name: str, c: int) -> int:
        cost = self._chunk(self.costs.exp)
        ride = -(-self.costs.exp_alu // self.shape.chunks)
        also = (Hold(unit=self.costs.alu_unit, cycles=ride),) if ride else ()
        return self._on_stream(name, c, self.costs.exp_unit, cost, cost.occupancy, also)

    def _flow(self, t: _Tile, load_k: int, load_v: int) -> None:
        costs = self.costs
        self._edge(load_k, t.qk, costs.load.latency, why="K tile")
        self._edge(t.qk, t.row_max, costs.qk.latency, why="S")
        self._edge(t.row_max, t.row_max, costs.row_max.latency, 1, why="running maximum")
        self._edge(t.row_max, t.rescale, costs.row_max.latency, why="scale")
        exp, convert = self._chunk(costs.exp), self._chunk(costs.convert)
        product = self._part_of_pv()
        for i in range(self.shape.chunks):
            self._edge(t.row_max, t.exp[i], costs.row_max.latency, why="maximum")
            self._edge(t.exp[i], t.convert[i], exp.latency, why="exponentials")
            self._edge(t.convert[i], t.pv[i], convert.latency + self.shape.margin, why="P")
            self._edge(load_v, t.pv[i], costs.load.latency, why="V tile")
            self._edge(t.rescale, t.pv[i], costs.rescale.latency, why="rescaled O")
            self._edge(t.pv[i], t.rescale, product.latency, 1, why="O")
        for chain in (t.exp, t.convert, t.pv):
            for a, b in pairwise(chain):
                self._edge(a, b, 1, why="chunk order")
        if self.shape.in_order:
            self._edge(t.pv[-1], t.qk, product.latency, 1, why="in order")

    def _accumulators(self, t: _Tile, c: int) -> None:
        costs, s = self.costs, self.shape
        exp = self._chunk(costs.exp)
        product = self._part_of_pv()
        reads = [Read(op=t.row_max, hold=costs.row_max.occupancy)]
        reads += [Read(op=e, hold=exp.occupancy) for e in t.exp]
        if s.in_place:
            convert = self._chunk(costs.convert)
            reads += [Read(op=v, hold=convert.occupancy) for v in t.convert]
            factor = [Read(op=t.rescale, hold=costs.rescale.occupancy)]
            factor += [Read(op=e, hold=exp.occupancy) for e in t.exp]
            self._register(f"A{c}", 2, t.row_max, tuple(factor), 1)
        self._register(f"S{c}", costs.s_registers, t.qk, tuple(reads), s.s_copies)
        for i in range(s.chunks):
            name = f"P{c}" if s.chunks == 1 else f"P{c}.{i}"
            size = costs.p_registers // s.chunks
            self._register(name, size, t.convert[i], (Read(op=t.pv[i], hold=product.latency),), 1)
        uses = tuple(Read(op=pv, hold=product.latency) for pv in t.pv)
        self._register(f"O{c}", costs.o_registers, t.rescale, uses, 1)

    def _register(
        self, name: str, size: int, writer: int, reads: tuple[Read, ...], copies: int
    ) -> None:
        self.rings.append(
            Ring(
                name=name,
                kind=RingKind.REG,
                size=size,
                writers=(writer,),
                readers=(reads,),
                max_depth=copies,
            )
        )

    def _smem(self, name: str, writer: int, reads: tuple[Read, ...]) -> None:
        self.rings.append(
            Ring(
                name=name,
                kind=RingKind.SMEM,
                size=self.costs.tile_bytes,
                writers=(writer,),
                readers=(reads,),
                max_depth=self.shape.max_depth,
            )
        )

    def _forbid_alternation(self, tiles: list[_Tile]) -> None:
        """All QK products before any PV product."""
        held = self.costs.qk.occupancy
        for a, b in pairwise(tiles):
            self._edge(a.qk, b.qk, held, why="side by side")
            self._edge(b.qk, a.pv[0], held, why="side by side")


@dataclass(frozen=True, slots=True)
class _Tile:
    """Op indices of one consumer's tile."""

    qk: int
    row_max: int
    rescale: int
    exp: tuple[int, ...]
    convert: tuple[int, ...]
    pv: tuple[int, ...]
