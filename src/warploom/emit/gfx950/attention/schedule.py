"""The schedule of two products around vector work: ops and flow of a text, solved and guarded.

The flow is read off the text and its steps; edges, storage and prices follow from it, the order
from the solver, waits and barriers from the guard. Every value has one home, so that a home's next
value is written only after the last use of the one before; LDS tiles may have several copies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from warploom.document import Counters, KernelShape, Protocol, ScheduleDocument
from warploom.document.flow import SETUP, STORE, WAVE, Flow, FlowOp, FlowOperand, Home, When
from warploom.document.kinds import KOffsetKind, OpRole, OpTag, Phase, ResourceKind
from warploom.document.machine import MachineCosts, OpTiming
from warploom.document.ops import DepEdge, OpDesc, ScheduleEntry
from warploom.emit.gfx950.attention.plan import MMA, READS_V, K, Q, V
from warploom.emit.gfx950.attention.text import AttentionText
from warploom.emit.gfx950.tile import GemmTile, waves_per_simd
from warploom.guard.counters import Synthesis, synthesise
from warploom.kernel.values import Carried, Fn, Op, Pointwise, Reduce, operands, results
from warploom.lower.fuse import Step
from warploom.order import ModuloOptions, ModuloResult, solve_modulo
from warploom.order.model import ModuloEdge, ModuloOp, ModuloProblem, Read, Ring, RingKind
from warploom.seed.modulo.bridge import BodyProblem
from warploom.seed.modulo.entries import modulo_phases
from warploom.sim import interval_cost, mi355x_costs
from warploom.target.mi355x import LANES, mi355x

MAX_COPIES = 3
TICK = 16  # cycles: what the solver counts in; a finer clock finds the same orders, later
_SLOW = frozenset({Fn.EXP, Fn.EXP2, Fn.LOG, Fn.LOG2, Fn.SQRT, Fn.RSQRT, Fn.DIV, Fn.TANH, Fn.ERF})
_UNIT = {
    OpRole.GLOBAL_LOAD: ResourceKind.GLOBAL_MEM,
    OpRole.FRAGMENT_LOAD: ResourceKind.LDS,
    OpRole.COMPUTE: ResourceKind.MMA_UNIT,
    OpRole.VALU_COMPUTE: ResourceKind.VALU,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionSchedule:
    """The guarded document, the order it came from, and why each wait is there."""

    document: ScheduleDocument
    order: ModuloResult
    guard: Synthesis


def attention_schedule(
    text: AttentionText, tile: GemmTile, options: ModuloOptions | None = None
) -> AttentionSchedule:
    """Solve, expand and guard the loop of a text for a tile."""
    ops = _Ops(text, tile)
    machine = _machine(ops)
    problem = _problem(ops, machine)
    order = solve_modulo(problem.problem, options or ModuloOptions(find_work=2, prove_work=2))
    phases = modulo_phases(problem, order, vm_costs=ops.counters.vm_per_load)
    loop = {Phase.PROLOGUE: phases.prologue, Phase.KERNEL: phases.kernel}
    bare = ScheduleDocument(
        name=f"{text.kernel.name}_{tile.block_n}x{tile.block_m}x{tile.block_k}",
        target=mi355x().name,
        strategy="modulo",
        protocol=Protocol(
            waves_per_group=tile.waves,
            k_tiles_per_iteration=phases.k_tiles_per_iteration,
            kernel_k_base=phases.kernel_k_base,
        ),
        counters=ops.counters,
        prologue=_with_queries(loop[Phase.PROLOGUE], ops),
        kernel=loop[Phase.KERNEL],
        epilogue=phases.epilogue,
        body=ops.body,
        edges=tuple(DepEdge.flow(e.src, e.dst, e.distance) for e in problem.problem.edges),
        shape=KernelShape(
            tile=(tile.block_n, tile.block_m, tile.block_k), mma=MMA, dtype=tile.element.value
        ),
        machine=machine,
        flow=ops.flow,
    )
    guard = synthesise(bare, cost=interval_cost(machine, trips=6))
    return AttentionSchedule(document=guard.document, order=order, guard=guard)


class _Ops:
    """The ops of one iteration and the values between them."""

    def __init__(self, text: AttentionText, tile: GemmTile) -> None:
        self.text, self.tile = text, tile
        self.scores = tile.block_m // MMA[0]
        self.heads = tile.block_k // MMA[0]
        self.key_steps = tile.block_m // MMA[2]
        loads = tile.loads(0, 1)
        self.counters = Counters(
            vm_per_load=(loads, loads), lgkm_per_load=(tile.k_steps, self.key_steps * READS_V)
        )
        self._body: list[OpDesc] = []
        self._flow: list[FlowOp] = []
        self._homes: dict[str, str] = {}
        self._tags: dict[str, OpTag] = {}
        self._instructions: dict[str, int] = {}
        self._declare()

    @property
    def body(self) -> tuple[OpDesc, ...]:
        """The ops of the loop, in the order of the text."""
        return tuple(op for op in self._body if op.channel != Q)

    @property
    def queries(self) -> tuple[OpDesc, ...]:
        """The ops that bring the queries, once a tile."""
        return tuple(op for op in self._body if op.channel == Q)

    @property
    def flow(self) -> Flow:
        """What the ops compute."""
        homes = tuple(Home(value=v, place=p) for v, p in self._homes.items())
        return Flow(ops=tuple(self._flow), homes=homes)

    def flow_of(self, op: OpDesc) -> FlowOp:
        """The declaration of an op."""
        return next(f for f in self._flow if (f.name, f.args) == (op.name, (op.subtile,)))

    def cycles(self, op: OpDesc) -> int:
        """Cycles of a vector op of one wave."""
        return self._instructions[op.name]

    def _declare(self) -> None:
        text = self.text
        q, k, v = (load.tensor for load in (text.q, text.k, text.v))
        starts = [value for c in text.body.loop.carried for value in self._start(c)]
        self._flow.append(FlowOp(name="start", role=SETUP, when=When.HEAD, results=tuple(starts)))
        self._move(q, Q, 1, when=When.HEAD)
        self._move(k, K, self.scores)
        self._move(v, V, self.heads)
        for i in range(self.scores):
            name = f"{text.scores.result.name}_{i}"
            taken = (_of(f"{k}_{i}"), _of(f"{q}_0"))
            self._add((q + k).upper(), OpRole.COMPUTE, taken, ((name, name),), i, 16, text.scores)
        for step in text.steps:
            self._step(step)
        for j in range(self.heads):
            into = [text.output.into] if text.output.into else []
            taken = tuple(o for n in (text.output.a, *into) for o in self._operand(n, j))
            name, inside = f"{text.output.result.name}_{j}", self._sum()
            result = ((name, f"{inside.inside.name}_{j}"),)
            operands_ = (_of(f"{v}_{j}"), *taken)
            self._add(f"P{v}".upper(), OpRole.COMPUTE, operands_, result, j, 16, text.output)
        lasts = [
            self._operand(c.inside.name, j) for c in text.body.loop.carried for j in self._at(c)
        ]
        taken = tuple(replace(o, back=0, before=None) for found in lasts for o in found)
        self._flow.append(
            FlowOp(name="store", role=STORE, when=When.TAIL, operands=taken, stores=True)
        )

    def _sum(self) -> Carried:
        """The carried sum of the second product."""
        last = self.text.output.result.name
        return next(c for c in self.text.body.loop.carried if c.last == last)

    def _at(self, carried: Carried) -> range:
        """The pieces of a carried value: tiles along the head, or one."""
        wide = any(d.var == self.text.head for d in carried.inside.dims)
        return range(self.heads if wide else 1)

    def _start(self, carried: Carried) -> list[str]:
        """The values a carried one starts from."""
        values = []
        for j in self._at(carried):
            home = self._name(carried.inside.name, j)
            values.append(f"{home}_first")
            self._homes[f"{home}_first"] = home
        return values

    def _name(self, value: str, piece: int) -> str:
        dims = [d.var for d in self.text.body.values[value].dims]
        return f"{value}_{piece}" if self.text.head in dims else value

    def _operand(self, value: str, piece: int) -> tuple[FlowOperand, ...]:
        """A value of the text as operands: scores come in pieces, carried ones from before."""
        body = self.text.body
        if value == self.text.scores.result.name:
            return tuple(_of(f"{value}_{i}") for i in range(self.scores))
        if value in body.inside:
            last = self._name(body.inside[value].last, piece)
            first = f"{self._name(value, piece)}_first"
            return (FlowOperand(value=last, back=1, before=first),)
        return (_of(self._name(value, piece)),)

    def _move(self, tensor: str, channel: int, pieces: int, when: When = When.LOOP) -> None:
        tile = f"{tensor}_tile"
        self._add(
            f"LOAD_{tensor.upper()}",
            OpRole.GLOBAL_LOAD,
            (),
            ((tile, f"{channel}.0"),),
            0,
            0,
            None,
            channel,
            when,
        )
        width = 4 * (self.tile.k_steps if channel != V else self.key_steps)
        for i in range(pieces):
            value = ((f"{tensor}_{i}", f"{channel}:{i}"),)
            name = f"READ_{tensor.upper()}"
            self._add(
                name, OpRole.FRAGMENT_LOAD, (_of(tile),), value, i, width, None, channel, when
            )

    def _step(self, step: Step) -> None:
        text, body = self.text, self.text.body
        wide = step.cols == text.head
        carried = {c.last: c for c in body.loop.carried}
        for j in range(self.heads if wide else 1):
            taken = [o for r in step.reads for o in self._operand(r, j)]
            made = []
            for value in step.results:
                name, home = self._name(value, j), self._name(value, j)
                if value in carried:
                    home = self._name(carried[value].inside.name, j)
                elif value == text.output.into:
                    home = f"{self._sum().inside.name}_{j}"
                made.append((name, home))
            size = sum(self._registers(v) for v in step.results) // (self.heads if wide else 1)
            self._instructions[step.name] = self._cycles(step) // (self.heads if wide else 1)
            self._add(
                step.name,
                OpRole.VALU_COMPUTE,
                tuple(dict.fromkeys(taken)),
                tuple(made),
                j,
                size,
                step.ops[0],
            )

    def _registers(self, value: str) -> int:
        dims = [d.var for d in self.text.body.values[value].dims]
        if self.text.key in dims:
            return self.tile.block_m * MMA[1] // LANES
        return self.tile.block_k * MMA[1] // LANES if self.text.head in dims else 1

    def _cycles(self, step: Step) -> int:
        """Cycles of a step: instructions of a wave, the slow functions at a quarter of the rate."""
        chip, body, total = mi355x(), self.text.body, 0
        for op in step.ops:
            over = op.arg if isinstance(op, Reduce) else op.result.name
            count = self._registers(over)
            slow = isinstance(op, Pointwise) and op.fn in _SLOW
            total += count * (chip.transcendental if slow else chip.issue)
            cheap = [a for a in operands(op) if body.is_cheap(a)]
            total += sum(self._registers(a) for a in cheap) * chip.issue
        return total

    def _add(
        self,
        name: str,
        role: OpRole,
        taken: tuple[FlowOperand, ...],
        made: tuple[tuple[str, str], ...],
        piece: int,
        size: int,
        op: Op | None,
        channel: int = -1,
        when: When = When.LOOP,
    ) -> None:
        tag = self._tags.setdefault(name, OpTag(len(self._tags), name))
        line = next((v.line for v in results(op)), None) if op is not None else None
        self._homes.update(made)
        self._flow.append(
            FlowOp(
                name=name,
                role=WAVE,
                args=(piece,),
                when=when,
                operands=taken,
                results=tuple(v for v, _ in made),
                line=str(line) if line else "",
            )
        )
        queries = channel == Q
        self._body.append(
            OpDesc(
                tag=tag,
                subtile=piece,
                role=role,
                resource=_UNIT[role],
                channel=channel,
                vgpr_def=size,
                vm_cost=self.tile.loads(1, 1) if queries and role is OpRole.GLOBAL_LOAD else 0,
                lgkm_cost=self.tile.k_steps if queries and role is OpRole.FRAGMENT_LOAD else 0,
                k_offset=KOffsetKind.K0
                if queries and role is OpRole.GLOBAL_LOAD
                else KOffsetKind.NONE,
            )
        )


def _of(value: str) -> FlowOperand:
    return FlowOperand(value=value)


def _machine(ops: _Ops) -> MachineCosts:
    """The chip with the prices of this body's ops, for one wave each."""
    chip, body = mi355x(), ops.body
    mfma = ops.tile.mfma.cycles
    named: dict[str, OpTiming] = {}
    for op in body:
        if op.role is OpRole.VALU_COMPUTE:
            cycles = ops.cycles(op)
            named[op.name] = OpTiming(issue=cycles, occupancy=cycles, latency=cycles)
        elif op.role is OpRole.COMPUTE:
            second = any(o.value.startswith(f"{ops.text.v.tensor}_") for o in _taken(ops, op))
            cycles = mfma * (ops.key_steps if second else ops.tile.k_steps)
            issue = cycles - mfma + chip.issue
            named[op.name] = OpTiming(issue=issue, occupancy=cycles, latency=cycles)
        elif op.role is OpRole.FRAGMENT_LOAD and op.channel == V:  # half as wide as other reads
            rate = LANES * 8 // chip.lds_rate
            named[op.name] = OpTiming(issue=chip.issue, occupancy=rate, latency=chip.lds_latency)
    return replace(mi355x_costs(mma_cycles=mfma, mfma_cycles=mfma), by_name=tuple(named.items()))


def _taken(ops: _Ops, op: OpDesc) -> tuple[FlowOperand, ...]:
    return ops.flow_of(op).operands


def _problem(ops: _Ops, machine: MachineCosts) -> BodyProblem:
    """The modulo problem of a body: edges, one home a value, rings of LDS tiles."""
    body, tile = ops.body, ops.tile
    flows = [ops.flow_of(op) for op in body]
    maker = {value: i for i, flow in enumerate(flows) for value in flow.results}
    shared = {ResourceKind.GLOBAL_MEM, ResourceKind.LDS}
    counts = [_count(ops, op) for op in body]
    prices = [machine.timing(op) for op in body]
    busy = [tile.waves if op.resource in shared else waves_per_simd(tile) for op in body]
    late = [_ticks(p.latency + (n - 1) * p.issue) for p, n in zip(prices, counts, strict=True)]
    edges = [
        ModuloEdge(src=maker[o.value], dst=i, latency=late[maker[o.value]], distance=o.back)
        for i, flow in enumerate(flows)
        for o in flow.operands
        if o.value in maker
    ]
    home = {h.value: h.place for h in ops.flow.homes}
    readers: dict[str, list[Read]] = {}
    for i, flow in enumerate(flows):
        for o in flow.operands:
            hold = late[i] if body[i].role is OpRole.FRAGMENT_LOAD else _ticks(prices[i].issue)
            own = home[o.value] in {home[r] for r in flow.results}  # it writes there itself
            readers.setdefault(o.value, []).append(
                Read(op=i, distance=o.back, hold=0 if own else hold)
            )
    by_home: dict[str, list[str]] = {}
    for value, place in home.items():
        if value in maker:
            by_home.setdefault(place, []).append(value)
    rings, touched = [], [None] * len(body)
    for place, values in by_home.items():
        lds = "." in place
        writers = sorted(maker[v] for v in values)
        rings.append(
            Ring(
                name=place,
                kind=RingKind.SMEM if lds else RingKind.REG,
                size=tile.slot_bytes(0, 1) if lds else body[writers[0]].vgpr_def,
                writers=tuple(writers),
                readers=tuple(tuple(readers.get(v, ())) for v in sorted(values, key=maker.get)),  # type: ignore[arg-type]
                max_depth=MAX_COPIES if lds else 1,
            )
        )
        if lds:
            for i in (*writers, *(r.op for v in values for r in readers[v])):
                touched[i] = (len(rings) - 1, 0)
    room = mi355x().lds_bytes - tile.slot_bytes(1, 1)
    problem = ModuloProblem(
        name=ops.text.kernel.name,
        ops=tuple(
            ModuloOp(
                name=f"{i}:{op.label()}",
                unit=op.resource.name,
                occupancy=_ticks(p.occupancy * n * w),
                issue=_ticks(p.issue * n),
            )
            for i, (op, p, n, w) in enumerate(zip(body, prices, counts, busy, strict=True))
        ),
        edges=tuple(edges),
        rings=tuple(rings),
        smem_budget=room,
    )
    return BodyProblem(
        problem=problem,
        ops=body,
        partitions=1,
        partition=(0,) * len(body),
        slot_rings=tuple(touched),
    )


def _ticks(cycles: int) -> int:
    return -(-cycles // TICK)


def _count(ops: _Ops, op: OpDesc) -> int:
    """Instructions of an op, as its price is one's."""
    if op.role is OpRole.GLOBAL_LOAD:
        return ops.counters.vm_per_load[op.channel]
    return ops.counters.lgkm_per_load[op.channel] if op.role is OpRole.FRAGMENT_LOAD else 1


def _with_queries(entries: tuple[ScheduleEntry, ...], ops: _Ops) -> tuple[ScheduleEntry, ...]:
    """The prologue with the queries' load first and their reads before the first fragments."""
    load, *reads = (ScheduleEntry(op=op, time_slot=0, phase=Phase.PROLOGUE) for op in ops.queries)
    at = next(
        (i for i, e in enumerate(entries) if e.op.role is not OpRole.GLOBAL_LOAD), len(entries)
    )
    joined = (load, *entries[:at], *reads, *entries[at:])
    return tuple(replace(e, time_slot=i) for i, e in enumerate(joined))
