"""``schedule_loop``: the schedule of a tile kernel's loop on MI355X: solved, expanded, guarded.

Edges, storage and prices follow from the body's values; the order comes from the modulo solver,
waits and barriers from ``sync``. A home of registers has one copy, so that its next value is
written only after the last use of the one before; tiles in LDS have as many as fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from warploom.codegen.amdgcn.tile_ir.layout import LANES, MFMA
from warploom.codegen.amdgcn.tile_ir.loop_body import BodyOp, LoopBody, Unscheduled, reads_of
from warploom.codegen.amdgcn.tile_ir.plan import TilePlan
from warploom.errors import SchedulingError, SyncError
from warploom.ir import Counters, KernelShape, ScheduleDocument
from warploom.ir.machine_costs import MachineCosts, OpTiming
from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole, ResourceKind
from warploom.modulo import ModuloOptions, ModuloResult, model, solve_modulo
from warploom.modulo.options import ExactUse
from warploom.pipeline.modulo.bridge import BodyProblem
from warploom.pipeline.modulo.entries import modulo_phases
from warploom.sim import interval_cost, mi355x_costs
from warploom.sync.counters import Synthesis, synthesise
from warploom.targets.mi355x import mi355x

TICK = 16  # cycles: what the solver counts in; a finer clock finds the same orders, later
MAX_COPIES = 4
MAX_UNROLL = 4
BARRIER_SETS = 24  # sets of barriers that are compared
FAST = ModuloOptions(exact=ExactUse.NEVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSchedule:
    """The guarded document of a loop, the order it came from, and why each wait is there."""

    body: LoopBody
    document: ScheduleDocument
    order: ModuloResult
    guard: Synthesis

    @property
    def copies(self) -> dict[int, int]:
        """LDS copies of each tile, by channel."""
        found: dict[int, int] = {}
        document = self.document
        for entry in (*document.prologue, *document.kernel, *document.epilogue):
            if entry.op.role is OpRole.GLOBAL_LOAD:
                found[entry.op.channel] = max(found.get(entry.op.channel, 0), entry.op.stage + 1)
        return found

    def status(self) -> str:
        """How good the order is: the least of the model, or how far from what no order can beat."""
        ii, bound = self.order.ii * TICK, self.order.lower_bound * TICK
        if self.order.proven:
            return f"order: at {ii} in the ordering model, the least"
        return f"order: at {ii} in the ordering model, not proven; none is below {bound}"


def schedule_loop(
    plan: TilePlan, body: LoopBody, *, name: str, lds: int, options: ModuloOptions | None = None
) -> LoopSchedule:
    """Solve, expand and guard a loop; ``lds``: bytes its tiles may have.

    Raises ``Unscheduled`` where no order fits the budgets.
    """
    ops = body.described()
    machine = machine_of(body, ops)
    storage = _Storage(plan, body, ops, machine)
    problem = storage.problem(name, lds)
    try:
        order = solve_modulo(problem.problem, options or FAST)
    except SchedulingError as error:
        raise Unscheduled(f"no order was found: {error.what}") from None
    phases = modulo_phases(problem, order)
    if phases.k_tiles_per_iteration > MAX_UNROLL:
        raise Unscheduled(f"its order repeats after {phases.k_tiles_per_iteration} steps only")
    bare = ScheduleDocument(
        name=name,
        target=mi355x().name,
        strategy="modulo",
        protocol=phases.protocol(plan.waves),
        counters=Counters(vm_per_load=(0, 0), lgkm_per_load=(0, 0)),
        prologue=phases.prologue,
        kernel=phases.kernel,
        epilogue=phases.epilogue,
        body=ops,
        edges=tuple(DepEdge.flow(e.src, e.dst, e.distance) for e in problem.problem.edges),
        shape=_shape(plan, body),
        machine=machine,
        flow=body.flow,
    )
    try:
        guard = synthesise(bare, cost=interval_cost(machine, trips=6), limit=BARRIER_SETS)
    except SyncError as error:
        raise Unscheduled(f"it cannot be synchronised: {error.what}") from None
    return LoopSchedule(body=body, document=guard.document, order=order, guard=guard)


def _shape(plan: TilePlan, body: LoopBody) -> KernelShape:
    product = next(op.product for op in body.ops if op.product is not None)
    extents = [plan.padded[v] for v in (product.lane, product.register, product.k)]
    kind = plan.values[product.dot.a].dtype
    return KernelShape(
        tile=(extents[0], extents[1], extents[2]),
        mma=(MFMA, MFMA, product.matrix.k),
        dtype={"e4m3": "fp8", "e5m2": "fp8", "f16": "fp16"}.get(kind.value, kind.value),
    )


def machine_of(body: LoopBody, ops: tuple[OpDesc, ...]) -> MachineCosts:
    """The chip with the prices of this body's ops, an instruction or the op of a wave each."""
    chip = mi355x()
    named: dict[str, OpTiming] = {}
    for own, op in zip(body.ops, ops, strict=True):
        if own.role is OpRole.VALU_COMPUTE:
            cycles = max(chip.issue, own.cycles)
            before = named.get(op.name)
            cycles = max(cycles, before.issue) if before else cycles
            named[op.name] = OpTiming(issue=cycles, occupancy=cycles, latency=cycles)
        elif own.role is OpRole.COMPUTE:
            mfma = own.cycles // own.count
            issue = own.cycles - mfma + chip.issue
            named[op.name] = OpTiming(issue=issue, occupancy=own.cycles, latency=own.cycles)
        else:
            assert own.transfer is not None
            named[op.name] = _moved(own)
    return replace(mi355x_costs(mma_cycles=16, mfma_cycles=16), by_name=tuple(named.items()))


def _moved(op: BodyOp) -> OpTiming:
    """What one load or read of a wave costs: by the bytes it moves."""
    chip, transfer = mi355x(), op.transfer
    assert transfer is not None
    if op.role is OpRole.GLOBAL_LOAD:
        rate = -(-LANES * transfer.moved // chip.memory_rate)
        return OpTiming(issue=chip.issue, occupancy=rate, latency=chip.memory_latency)
    ((_, layout),) = op.made
    count = 1
    for _, axis in layout:
        count *= axis.count
    bits = 32 if not transfer.wide else transfer.row_bytes * 8 // _columns(op)
    read = -(-LANES * count * bits // 8 // max(1, op.count) // chip.lds_rate)
    return OpTiming(issue=chip.issue, occupancy=max(1, read), latency=chip.lds_latency)


def _columns(op: BodyOp) -> int:
    """Elements of the column's variable in a row."""
    assert op.transfer is not None
    return op.transfer.columns


class _Storage:
    """Who writes and reads which home of a body, and until when."""

    def __init__(
        self, plan: TilePlan, body: LoopBody, ops: tuple[OpDesc, ...], machine: MachineCosts
    ) -> None:
        self.plan, self.body, self.ops = plan, body, ops
        self.maker = {value: i for i, op in enumerate(body.ops) for value in op.makes}
        self.counts = [
            op.count if op.role in (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD) else 1
            for op in body.ops
        ]
        self.prices = [machine.timing(op) for op in ops]
        priced = zip(self.prices, self.counts, strict=True)
        self.late = [_ticks(p.latency + (n - 1) * p.issue) for p, n in priced]
        self.places: dict[str, list[str]] = {}
        for value in sorted(self.maker, key=lambda v: self.maker[v]):
            self.places.setdefault(body.homes[value], []).append(value)

    def problem(self, name: str, lds: int) -> BodyProblem:
        """The modulo problem: units, edges, one home a value, rings of LDS tiles."""
        waves = self.plan.waves
        beside = max(1, waves // mi355x().simds)
        shared = {ResourceKind.GLOBAL_MEM, ResourceKind.LDS}
        busy = [waves if op.resource in shared else beside for op in self.ops]
        priced = zip(self.ops, self.prices, self.counts, busy, strict=True)
        budget = min(256, mi355x().registers // beside)
        problem = model.ModuloProblem(
            name=name,
            ops=tuple(
                model.ModuloOp(
                    name=f"{i}:{op.label()}",
                    unit=op.resource.name,
                    occupancy=_ticks(p.occupancy * n * w),
                    issue=_ticks(p.issue * n),
                )
                for i, (op, p, n, w) in enumerate(priced)
            ),
            edges=tuple(self._edges()),
            rings=self._rings(),
            values=(),
            roles=(
                model.Role(
                    name=model.MAIN_ROLE,
                    register_budget=None,
                    static_registers=min(budget, self.body.static),
                ),
            ),
            smem_budget=lds,
        )
        return BodyProblem(
            problem=problem,
            ops=self.ops,
            partitions=1,
            partition=(0,) * len(self.ops),
            slot_rings=self._slot_rings(),
        )

    def _edges(self) -> list[model.ModuloEdge]:
        """From every value's maker to its takers."""
        found = []
        for i, op in enumerate(self.body.ops):
            for taken in op.takes:
                at = self.maker[taken.value]
                found.append(
                    model.ModuloEdge(src=at, dst=i, latency=self.late[at], distance=taken.back)
                )
        return found

    def _reads(self, value: str) -> tuple[model.Read, ...]:
        """The uses of a value; an op that writes its home itself has read it by then."""
        found, home = [], self.body.homes
        for i, op in enumerate(self.body.ops):
            is_read = op.role is OpRole.FRAGMENT_LOAD
            held = self.late[i] if is_read else _ticks(self.prices[i].issue)
            own = home[value] in {home[r] for r in op.makes}
            found += [
                model.Read(op=i, distance=taken.back, hold=0 if own else held)
                for taken in op.takes
                if taken.value == value
            ]
        return tuple(found)

    def _rings(self) -> tuple[model.Ring, ...]:
        """Homes as rings: of LDS several copies, of registers one."""
        slots = {f"{t.channel}.0": t.slot_bytes for t in self.body.transfers}
        return tuple(
            model.Ring(
                name=place,
                kind=model.RingKind.SMEM if place in slots else model.RingKind.REG,
                size=slots.get(place, 0),
                writers=tuple(self.maker[v] for v in values),
                readers=tuple(self._reads(v) for v in values),
                max_depth=MAX_COPIES if place in slots else 1,
            )
            for place, values in self.places.items()
        )

    def _slot_rings(self) -> tuple[tuple[int, int] | None, ...]:
        """The LDS ring each op writes or reads."""
        touched: list[tuple[int, int] | None] = [None] * len(self.ops)
        slots = {f"{t.channel}.0" for t in self.body.transfers}
        for number, (place, values) in enumerate(self.places.items()):
            if place in slots:
                for i in (self.maker[values[0]], *(r.op for r in self._reads(values[0]))):
                    touched[i] = (number, 0)
        return tuple(touched)


def _ticks(cycles: int) -> int:
    return -(-cycles // TICK)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedLoop:
    """A scheduled loop as the gate asks it; ``kinds``: instructions of each data op."""

    document: ScheduleDocument
    kinds: Mapping[tuple[str, int], tuple[tuple[str, int], ...]]
    lds_bytes: int = 0
    unused_reads: tuple[tuple[int, int], ...] = ()
    tail_reads: bool = False

    def instructions(self, op: OpDesc) -> list[tuple[str, int]]:
        """Instruction classes and counts of a data op."""
        return list(self.kinds[op.name, op.subtile])


def gated_loop(schedule: LoopSchedule) -> GatedLoop:
    """What the gate compares code with."""
    kinds: dict[tuple[str, int], tuple[tuple[str, int], ...]] = {}
    for op in schedule.body.ops:
        match op.role:
            case OpRole.GLOBAL_LOAD:
                found = (("dma", op.count),)
            case OpRole.FRAGMENT_LOAD:
                found = ((_read_kind(op), op.count),)
            case OpRole.COMPUTE:
                found = (("mfma", op.count),)
            case _:
                found = ()
        kinds[op.name, op.index] = found
    return GatedLoop(document=schedule.document, kinds=kinds)


def _read_kind(op: BodyOp) -> str:
    """The class of an op's reads of LDS."""
    assert op.transfer is not None
    ((_, layout),) = op.made
    ((_, run), *_) = reads_of(op.transfer, layout)
    if op.transfer.wide and layout[1][0] != op.transfer.column:
        return "ds_read_tr"
    size = 4 * run
    if op.transfer.wide:
        size = run * op.transfer.row_bytes // op.transfer.columns
    return "ds_read" if size == 16 else f"ds_read_b{8 * size}"
