"""The schedule of two products around vector work: ops and flow of a text, solved and guarded.

The flow is read off the text and its steps; edges, storage and prices follow from it, the order
from the solver, waits and barriers from the guard. Every value has one home, so that a home's next
value is written only after the last use of the one before; LDS tiles may have several copies.
"""

from dataclasses import dataclass, replace

from warploom.codegen.amdgcn.attention.ops import AttentionOps
from warploom.codegen.amdgcn.attention.plan import MMA, V
from warploom.codegen.amdgcn.attention.tile_kernel import AttentionTileKernel
from warploom.codegen.amdgcn.tile import GemmTile, waves_per_simd
from warploom.ir import KernelShape, ScheduleDocument
from warploom.ir.dataflow import FlowOperand
from warploom.ir.machine_costs import MachineCosts, OpTiming
from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole, Phase, ResourceKind, ScheduleEntry
from warploom.modulo import ModuloOptions, ModuloResult, model, solve_modulo
from warploom.modulo.options import ExactUse
from warploom.pipeline.modulo.bridge import BodyProblem
from warploom.pipeline.modulo.entries import modulo_phases
from warploom.sim import interval_cost, mi355x_costs
from warploom.sync.counters import Synthesis, synthesise
from warploom.targets.mi355x import LANES, mi355x

MAX_COPIES = 3
BESIDE = 2  # waves of a SIMD, of one workgroup or of two: one computes while the other multiplies
TICK = 16  # cycles: what the solver counts in; a finer clock finds the same orders, later


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionSchedule:
    """The guarded document, the order it came from, and why each wait is there."""

    document: ScheduleDocument
    order: ModuloResult
    guard: Synthesis

    def status(self) -> str:
        """How good the order is: the least of the model, or how far from what no order can beat."""
        ii, bound = self.order.ii * TICK, self.order.lower_bound * TICK
        if self.order.proven:
            return f"order: at {ii} in the ordering model, the least"
        return f"order: at {ii} in the ordering model, not proven; none is below {bound}"


def attention_schedule(
    text: AttentionTileKernel,
    tile: GemmTile,
    *,
    registers: int | None = None,
    options: ModuloOptions | None = None,
) -> AttentionSchedule:
    """Solve, expand and guard the loop of a text for a tile.

    ``registers``: how many of a wave's may hold values at once, if that must be bounded; addresses
    and temporaries come on top, and only the compiler knows how many. Values of V are then read
    after the first step on scores, and no earlier.
    """
    ops = AttentionOps(text, tile)
    machine = _machine(ops)
    problem = _problem(ops, machine, registers)
    order = solve_modulo(problem.problem, options or ModuloOptions(exact=ExactUse.NEVER))
    phases = modulo_phases(problem, order, vm_costs=ops.counters.vm_per_load)
    loop = {Phase.PROLOGUE: phases.prologue, Phase.KERNEL: phases.kernel}
    bare = ScheduleDocument(
        name=f"{text.kernel.name}_{tile.block_n}x{tile.block_m}x{tile.block_k}",
        target=mi355x().name,
        strategy="modulo",
        protocol=phases.protocol(tile.waves),
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


def _machine(ops: AttentionOps) -> MachineCosts:
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


def _taken(ops: AttentionOps, op: OpDesc) -> tuple[FlowOperand, ...]:
    return ops.flow_of(op).operands


def _problem(ops: AttentionOps, machine: MachineCosts, registers: int | None) -> BodyProblem:
    """The modulo problem of a body: edges, one home a value, rings of LDS tiles."""
    body, tile = ops.body, ops.tile
    storage = _Storage(ops, machine)
    shared = {ResourceKind.GLOBAL_MEM, ResourceKind.LDS}
    busy = [tile.waves if op.resource in shared else waves_per_simd(tile) for op in body]
    groups = max(1, BESIDE // waves_per_simd(tile))
    edges = storage.edges()
    if registers is not None:
        first = next(i for i, op in enumerate(body) if op.role is OpRole.VALU_COMPUTE)
        reads = [i for i, op in enumerate(body) if _is_read(op) and op.channel == V]
        edges += [model.ModuloEdge(src=first, dst=i, latency=0, why="register") for i in reads]
    priced = zip(body, storage.prices, storage.counts, busy, strict=True)
    problem = model.ModuloProblem(
        name=ops.text.kernel.name,
        ops=tuple(
            model.ModuloOp(
                name=f"{i}:{op.label()}",
                unit=op.resource.name,
                occupancy=_ticks(p.occupancy * n * w),
                issue=_ticks(p.issue * n),
            )
            for i, (op, p, n, w) in enumerate(priced)
        ),
        edges=tuple(edges),
        rings=storage.rings(),
        values=storage.values(),
        roles=(
            model.Role(
                name=model.MAIN_ROLE, register_budget=registers, static_registers=storage.static
            ),
        ),
        smem_budget=mi355x().lds_bytes // groups - tile.slot_bytes(1, 1),
    )
    return BodyProblem(
        problem=problem,
        ops=body,
        partitions=1,
        partition=(0,) * len(body),
        slot_rings=storage.slot_rings(),
    )


class _Storage:
    """Who writes and reads which home of a body, and until when."""

    def __init__(self, ops: AttentionOps, machine: MachineCosts) -> None:
        self.ops, self.body = ops, ops.body
        self.flows = [ops.flow_of(op) for op in self.body]
        self.maker = {value: i for i, flow in enumerate(self.flows) for value in flow.results}
        self.counts = [_count(ops, op) for op in self.body]
        self.prices = [machine.timing(op) for op in self.body]
        priced = zip(self.prices, self.counts, strict=True)
        self.late = [_ticks(p.latency + (n - 1) * p.issue) for p, n in priced]
        self.home = {h.value: h.place for h in ops.flow.homes}
        self.homes: dict[str, list[str]] = {}
        for value in sorted(self.maker, key=lambda v: self.maker[v]):
            self.homes.setdefault(self.home[value], []).append(value)
        shared = (p for p, values in self.homes.items() if len(values) > 1)
        # The queries, and sums that are live all the time.
        self.static = 4 * ops.tile.k_steps + sum(ops.sizes[p] for p in shared)

    def edges(self) -> list[model.ModuloEdge]:
        """From every value's maker to its takers."""
        return [
            model.ModuloEdge(src=at, dst=i, latency=self.late[at], distance=o.back)
            for i, flow in enumerate(self.flows)
            for o in flow.operands
            for at in [self.maker.get(o.value, -1)]
            if at >= 0
        ]

    def reads(self, value: str) -> tuple[model.Read, ...]:
        """The uses of a value; an op that writes its home itself has read it by then."""
        found = []
        for i, flow in enumerate(self.flows):
            held = self.late[i] if _is_read(self.body[i]) else _ticks(self.prices[i].issue)
            own = self.home[value] in {self.home[r] for r in flow.results}
            found += [
                model.Read(op=i, distance=o.back, hold=0 if own else held)
                for o in flow.operands
                if o.value == value
            ]
        return tuple(found)

    def rings(self) -> tuple[model.Ring, ...]:
        """Homes as rings: of LDS several copies, of registers one, counted while values live."""
        return tuple(
            model.Ring(
                name=place,
                kind=model.RingKind.SMEM if "." in place else model.RingKind.REG,
                size=self.ops.tile.slot_bytes(0, 1) if "." in place else 0,
                writers=tuple(self.maker[v] for v in values),
                readers=tuple(self.reads(v) for v in values),
                max_depth=MAX_COPIES if "." in place else 1,
            )
            for place, values in self.homes.items()
        )

    def values(self) -> tuple[model.Value, ...]:
        """Registers that hold a value from its maker to its last use."""
        return tuple(
            model.Value(
                name=place,
                size=self.ops.sizes[place],
                src=self.maker[values[0]],
                uses=self.reads(values[0]),
            )
            for place, values in self.homes.items()
            if "." not in place and len(values) == 1
        )

    def slot_rings(self) -> tuple[tuple[int, int] | None, ...]:
        """The LDS ring each op writes or reads."""
        touched: list[tuple[int, int] | None] = [None] * len(self.body)
        for number, (place, values) in enumerate(self.homes.items()):
            if "." in place:
                for i in (self.maker[values[0]], *(r.op for r in self.reads(values[0]))):
                    touched[i] = (number, 0)
        return tuple(touched)


def _is_read(op: OpDesc) -> bool:
    return op.role is OpRole.FRAGMENT_LOAD


def _ticks(cycles: int) -> int:
    return -(-cycles // TICK)


def _count(ops: AttentionOps, op: OpDesc) -> int:
    """Instructions of an op, as its price is one's."""
    if op.role is OpRole.GLOBAL_LOAD:
        return ops.counters.vm_per_load[op.channel]
    return ops.counters.lgkm_per_load[op.channel] if op.role is OpRole.FRAGMENT_LOAD else 1


def _with_queries(
    entries: tuple[ScheduleEntry, ...], ops: AttentionOps
) -> tuple[ScheduleEntry, ...]:
    """The prologue with the queries' load first and their reads before the first fragments."""
    load, *reads = (ScheduleEntry(op=op, time_slot=0, phase=Phase.PROLOGUE) for op in ops.queries)
    at = next(
        (i for i, e in enumerate(entries) if e.op.role is not OpRole.GLOBAL_LOAD), len(entries)
    )
    joined = (load, *entries[:at], *reads, *entries[at:])
    return tuple(replace(e, time_slot=i) for i, e in enumerate(joined))
