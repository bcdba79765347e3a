"""``schedule_loop``: the schedule of a tile kernel's loop on MI355X: solved, expanded, guarded.

Edges, storage and prices follow from the body's values; the order comes from the modulo solver,
waits and barriers from ``sync``. A home of registers has one copy, so that its next value is
written only after the last use of the one before; tiles in LDS have as many as fit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from warploom.errors import BackendError, WarploomError
from warploom.ir import Counters, KernelShape, ScheduleDocument, tile as ir
from warploom.ir.counter_dialect import Protocol
from warploom.ir.machine_costs import MachineCosts, OpTiming
from warploom.ir.schedule_ops import (
    DepEdge,
    OpDesc,
    OpRole,
    Phase,
    ResourceKind,
    ScheduleEntry,
    ScheduleOps,
)
from warploom.ir.tile import Kernel
from warploom.modulo import ModuloOptions, ModuloResult, model, solve_modulo
from warploom.modulo.options import ExactUse
from warploom.passes.amdgcn import ping_pong
from warploom.passes.amdgcn.layout import LANES, MFMA, AxisMap, count_of
from warploom.passes.amdgcn.loop_body import (
    MOVES,
    STORED,
    BodyOp,
    LoopBody,
    UnscheduledError,
    loop_body,
)
from warploom.passes.amdgcn.plan import TilePlan, tile_extents
from warploom.pipeline.modulo.bridge import BodyProblem
from warploom.pipeline.modulo.entries import ModuloPhases, modulo_phases
from warploom.sim import interval_cost, mi355x_costs, simulate
from warploom.sim.pace import Pace, find_pace
from warploom.sync.counters import Synthesis, synthesise
from warploom.sync.counters.cost import StallModel
from warploom.sync.counters.synthesis import guarded
from warploom.targets.amdgcn import AmdMachine
from warploom.targets.mi355x import mi355x
from warploom.verify import verify

TICK = 16  # cycles: what the solver counts in; a finer clock finds the same orders, later
MAX_COPIES = 4
MAX_UNROLL = 4
ADDRESSED = 3  # instructions of a store to memory: the address, and itself
TILES = (  # rows, columns, steps of a tile, waves: the largest first
    (256, 256, 64, 8), (256, 224, 64, 8), (256, 192, 64, 8), (256, 128, 64, 8), (256, 128, 32, 8),
    (128, 256, 64, 8), (128, 128, 64, 8), (128, 64, 64, 8), (64, 64, 64, 4), (64, 64, 32, 4),
)  # fmt: skip
VERY_NEAR = 0.018  # above what the busiest unit needs: not worth a further search
NEAR = 0.03  # how much busier a unit may be in another division among waves
TURNS = (2, 1)  # sections of matrix work in an iteration whose waves take turns
TURN_ORDERS = 64  # orders of such an iteration that are tried
TURN_STEPS = 10  # steps that are simulated of each
LEAST_TRIPS = 3
PROMISING = 2  # ways to cut an iteration that are improved
BARRIER_SETS = 24  # sets of barriers that are compared
# The heuristic is quick and knows of no registers while it places; the exact solver does.
FAST = ModuloOptions(exact=ExactUse.NEVER)
EXACT = ModuloOptions(goals=(), find_work=8.0, work=12.0, prove_work=2.0, gap=0.03)
ROUGH = ModuloOptions(goals=(), find_work=12.5, work=25.0, prove_work=2.0, gap=0.1)
MANY_OPS = 16
SYNCHRONISING = (OpRole.SYNC, OpRole.FENCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSchedule:
    """The guarded document of a loop, the order it came from, and why each wait is there."""

    body: LoopBody
    document: ScheduleDocument
    order: ModuloResult | None = None  # None: the schedule was given
    guard: Synthesis | None = None
    axis: str = ""  # that the loop walks along

    @property
    def copies(self) -> dict[int, int]:
        """LDS copies of each tile, by channel."""
        result: dict[int, int] = {}
        document = self.document
        for entry in (*document.prologue, *document.kernel, *document.epilogue):
            if entry.op.role in (OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE):
                result[entry.op.channel] = max(result.get(entry.op.channel, 0), entry.op.stage + 1)
        return result

    def pace(self) -> Pace | None:
        """Simulated cycles of the loop; nothing of it was timed on a chip."""
        machine = self.document.machine
        assert machine is not None
        return find_pace(
            lambda trips: simulate(self.document, machine, trips=trips),
            self.document.tiles_per_iteration,
            "step",
        )

    def pace_text(self) -> str:
        """The same in one line."""
        found = self.pace()
        return "no steady pace" if found is None else found.text()

    def order_text(self) -> str:
        """When each op issues: as solved, or what follows what in an iteration of turns."""
        if self.order is not None and self.document.protocol.groups == 1:
            return str(self.order)
        lines = [self.status()]
        for entry in self.document.kernel:
            if entry.op.role is not OpRole.SYNC:
                lines.append(f"  {entry.op.label()}")
            elif entry.op.tag == ScheduleOps.BARRIER:
                lines.append("  -- the other group's turn --")
        return "\n".join(lines)

    def status(self) -> str:
        """How good the order is: the least of the model, or how far from what no order can beat."""
        if self.document.protocol.groups > 1:
            return "order: the waves of a SIMD take turns with its units"
        if self.order is None:
            return "order: as given"
        ii, bound = self.order.ii * TICK, self.order.lower_bound * TICK
        if self.order.proven:
            return f"order: at {ii} in the ordering model, the least"
        return f"order: at {ii} in the ordering model, not proven; none is below {bound}"


def schedule_loop(
    plan: TilePlan, body: LoopBody, *, name: str, lds: int, registers: int | None = None,
    options: ModuloOptions | None = None,
) -> LoopSchedule:  # fmt: skip
    """Solve, expand and guard a loop; ``lds``: bytes its tiles may have; ``registers``: how many of
    a lane may hold values at once, where that must be bounded. Addresses and temporaries come on
    top, and only the compiler knows how many.

    Raises ``UnscheduledError`` where no order fits the budgets.
    """
    ops = body.described()
    machine = machine_of(plan, body, ops)
    storage = _Storage(plan, body, ops, machine)
    if options is None:
        exact = EXACT if len(ops) <= MANY_OPS else ROUGH
        options = FAST if registers is None else exact
    # Deeper rings repeat later: more addresses, which matters where registers are scarce.
    most = MAX_COPIES if registers is None else 2
    deepest = min(most, lds // sum(t.slot_bytes for t in body.transfers))
    for copies in sorted({deepest, min(2, deepest)}, reverse=True):
        problem = storage.problem(name, lds, registers, copies)
        try:
            order = solve_modulo(problem.problem, options)
        except WarploomError as error:
            raise UnscheduledError(f"no order was found: {error.what}") from None
        phases = modulo_phases(problem, order)
        if phases.k_tiles_per_iteration <= MAX_UNROLL:
            break
    else:
        raise UnscheduledError("tiles do not fit LDS, or its order repeats after many steps only")
    bare = _bare(plan, body, storage, problem, phases, phases.protocol(plan.waves), phases.kernel)
    return _guard(plan, bare, body, order, BARRIER_SETS)


def schedule_in_turns(plan: TilePlan, body: LoopBody, *, name: str, lds: int) -> LoopSchedule:
    """A schedule in which the two waves of a SIMD take turns (``ping_pong``).

    Raises ``UnscheduledError`` where waves are no pairs or no order of that form fits.
    """
    if any(op.role is OpRole.SHARED_STORE for op in body.ops):
        raise UnscheduledError("waves that exchange operands have no turns")
    if plan.waves != ping_pong.GROUPS * mi355x().simds:
        raise UnscheduledError("its waves are no pairs on a SIMD")
    return _InTurns(plan, body, name, lds).best()


class _InTurns:
    """Looks for the order in which waves take turns best."""

    def __init__(self, plan: TilePlan, body: LoopBody, name: str, lds: int) -> None:
        self.plan, self.body, self.lds = plan, body, lds
        ops = body.described()
        machine = machine_of(plan, body, ops)
        self.storage = _Storage(plan, body, ops, machine)
        self.problem = self.storage.problem(name, lds, None, MAX_COPIES)
        self.timed = self.storage.timed(plan.waves // ping_pong.GROUPS)
        copies = min(MAX_COPIES, lds // sum(t.slot_bytes for t in body.transfers))
        trips = max(LEAST_TRIPS, -(-TURN_STEPS // max(1, copies)))  # each covers so many steps
        self.price = interval_cost(machine, trips=trips, waves=None)

    def best(self) -> LoopSchedule:
        """The fastest of some orders: the most promising beginnings are improved."""
        enough = max(unit_cycles(self.plan, self.body).values()) * (1 + VERY_NEAR)
        begun: list[tuple[float, int, ping_pong.Turns, int]] = []
        for parts, reads in itertools.product(TURNS, (ping_pong.VECTOR, ping_pong.MATRIX)):
            first = ping_pong.first_turns(self.problem, self.timed, parts, reads)
            for ahead in ping_pong.ahead_of(self.problem, first, self.timed):
                cycles = self.cost(first, ahead)
                if cycles < inf:
                    begun.append((cycles, len(begun), first, ahead))
                    break
        best: tuple[float, ping_pong.Turns, int] | None = None
        for _, _, first, ahead in sorted(begun)[:PROMISING]:
            own, cycles = ping_pong.improved(
                first, partial(self.cost, ahead=ahead), TURN_ORDERS, enough
            )
            if best is None or cycles < best[0]:
                best = cycles, own, ahead
            if cycles <= enough:
                break
        made = None if best is None else self.document(best[1], best[2])
        if made is None:
            raise UnscheduledError("its work has no sections in which waves take turns")
        return _guard(self.plan, made[1], self.body, made[0], 1)

    def document(
        self, turns: ping_pong.Turns, ahead: int
    ) -> tuple[ModuloResult, ScheduleDocument] | None:
        """An order as a schedule without waits, where it is one."""
        order = ping_pong.arranged(self.problem, turns, ahead, self.lds, MAX_COPIES)
        if order is None:
            return None
        phases = modulo_phases(self.problem, order)
        protocol, kernel = ping_pong.in_turns(self.problem, turns, phases, self.plan.waves)
        bare = _bare(self.plan, self.body, self.storage, self.problem, phases, protocol, kernel)
        return order, bare

    def cost(self, turns: ping_pong.Turns, ahead: int) -> float:
        """Simulated cycles of a step."""
        made = self.document(turns, ahead)
        if made is None:
            return inf
        try:
            _, cycles = guarded(made[1], self.price, StallModel.of(made[1]), 1)
        except WarploomError:
            return inf
        return cycles / made[1].tiles_per_iteration


def _bare(
    plan: TilePlan, body: LoopBody, storage: _Storage, problem: BodyProblem, phases: ModuloPhases,
    protocol: Protocol, kernel: tuple[ScheduleEntry, ...],
) -> ScheduleDocument:  # fmt: skip
    """The document of an order, without waits."""
    return ScheduleDocument(
        name=problem.problem.name,
        target=mi355x().name,
        strategy="modulo",
        protocol=protocol,
        counters=Counters(vm_per_load=(0, 0), lgkm_per_load=(0, 0)),
        prologue=phases.prologue,
        kernel=kernel,
        epilogue=phases.epilogue,
        body=storage.ops,
        edges=tuple(DepEdge.flow(e.src, e.dst, e.distance) for e in problem.problem.edges),
        shape=_shape(plan, body),
        machine=storage.machine,
        flow=body.flow,
    )


def _guard(
    plan: TilePlan, bare: ScheduleDocument, body: LoopBody, order: ModuloResult, sets: int
) -> LoopSchedule:
    """With waits and barriers, and proven."""
    assert bare.machine is not None
    beside = max(1, plan.waves // mi355x().simds) // bare.protocol.groups
    try:
        cost = interval_cost(bare.machine, trips=6, waves=beside)
        guard = synthesise(bare, cost=cost, limit=sets)
    except WarploomError as error:
        raise UnscheduledError(f"it cannot be synchronised: {error.what}") from None
    report = verify(guard.document)
    if not report.clean:
        raise UnscheduledError(f"its schedule is not proven: {report.trouble}")
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


def _stored_bytes(plan: TilePlan, op: BodyOp) -> int:
    """Bytes a lane stores at a time."""
    assert op.store is not None
    elements = sum(count_of(key[1]) for key in op.taken)
    return elements * plan.kernel.tensor(op.store.tensor).dtype.bits // 8 // op.count


def machine_of(plan: TilePlan, body: LoopBody, ops: tuple[OpDesc, ...]) -> MachineCosts:
    """The chip with the prices of this body's ops, an instruction or the op of a wave each."""
    chip = mi355x()
    named: dict[str, OpTiming] = {}
    for own, op in zip(body.ops, ops, strict=True):
        if own.store is not None:
            size = own.count * chip.issue * ADDRESSED
            rate = own.count * -(-LANES * _stored_bytes(plan, own) // chip.memory_rate)
            named[op.name] = OpTiming(issue=size, occupancy=rate, latency=size)
        elif own.role is OpRole.VALU_COMPUTE:
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
    if op.role is OpRole.SHARED_STORE:
        rate = -(-LANES * 2 * STORED // chip.lds_rate)
        return OpTiming(issue=chip.issue, occupancy=rate, latency=chip.lds_latency)
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
        self.plan, self.body, self.ops, self.machine = plan, body, ops, machine
        self.maker = {value: i for i, op in enumerate(body.ops) for value in op.makes}
        self.counts = [op.count if op.role in MOVES else 1 for op in body.ops]
        self.prices = [machine.timing(op) for op in ops]
        # All waves ask a unit they share at about the same time: the last one is served last.
        shared = {ResourceKind.GLOBAL_MEM, ResourceKind.LDS}
        self.late = [
            _ticks(p.latency + (p.occupancy * n * plan.waves if op.resource in shared else 0))
            for op, p, n in zip(ops, self.prices, self.counts, strict=True)
        ]
        self.places: dict[str, list[str]] = {}
        for value in sorted(self.maker, key=lambda v: self.maker[v]):
            self.places.setdefault(body.homes[value], []).append(value)

    def timed(self, beside: int) -> list[ping_pong.Timed]:
        """Cycles of each op of a wave, where so many waves ask for shared units at once."""
        shared = {ResourceKind.GLOBAL_MEM, ResourceKind.LDS}
        return [
            ping_pong.Timed(
                occupancy=p.occupancy * n,
                issue=p.issue * n,
                late=p.latency + (p.occupancy * n * beside if op.resource in shared else 0),
            )
            for op, p, n in zip(self.ops, self.prices, self.counts, strict=True)
        ]

    def problem(self, name: str, lds: int, registers: int | None, copies: int) -> BodyProblem:
        """The modulo problem: units, edges, one home a value, rings of LDS tiles."""
        waves = self.plan.waves
        beside = max(1, waves // mi355x().simds)
        shared = {ResourceKind.GLOBAL_MEM, ResourceKind.LDS}
        busy = [waves if op.resource in shared else beside for op in self.ops]
        priced = zip(self.ops, self.prices, self.counts, busy, strict=True)
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
            rings=self._rings(copies),
            values=self._values() if registers is not None else (),
            roles=(
                model.Role(
                    name=model.MAIN_ROLE,
                    register_budget=registers,
                    static_registers=self.static_registers(),
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

    def static_registers(self) -> int:
        """Registers that are taken all the time: what is known before, and sums."""
        sums = sum(self.body.sizes[p] for p, values in self.places.items() if self._kept(p, values))
        return self.body.static + sums

    def _kept(self, place: str, values: list[str]) -> bool:
        carried = {home for own in self.body.carried for home in own.homes}
        return place in self.body.sizes and (len(values) > 1 or place in carried)

    def _values(self) -> tuple[model.Value, ...]:
        """Registers that hold a value from its maker to its last use."""
        return tuple(
            model.Value(
                name=place,
                size=self.body.sizes[place],
                src=self.maker[values[0]],
                uses=self._reads(values[0]),
            )
            for place, values in self.places.items()
            if place in self.body.sizes and not self._kept(place, values)
        )

    def _edges(self) -> list[model.ModuloEdge]:
        """From every value's maker to its takers."""
        result = []
        for i, op in enumerate(self.body.ops):
            for taken in op.takes:
                at = self.maker[taken.value]
                result.append(
                    model.ModuloEdge(src=at, dst=i, latency=self.late[at], distance=taken.back)
                )
        return result

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

    def _rings(self, copies: int) -> tuple[model.Ring, ...]:
        """Homes as rings: of LDS several copies, of registers one."""
        slots = {f"{t.channel}.0": t.slot_bytes for t in self.body.transfers}
        return tuple(
            model.Ring(
                name=place,
                kind=model.RingKind.SMEM if place in slots else model.RingKind.REG,
                size=slots.get(place, 0),
                writers=tuple(self.maker[v] for v in values),
                readers=tuple(self._reads(v) for v in values),
                max_depth=copies if place in slots else 1,
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
class ScheduledKernel:
    """A plan with the schedules of its loops by the loop's identity; why others have none."""

    plan: TilePlan
    by_loop: Mapping[int, LoopSchedule]
    plain: tuple[str, ...]

    @property
    def bound(self) -> int:
        """Cycles of one step of all loops that their busiest units need."""
        found = (unit_cycles(self.plan, s.body) for s in self.by_loop.values())
        return sum(max(each.values()) for each in found)

    @property
    def cycles(self) -> float:
        """Simulated cycles of one step of all loops."""
        paces = [s.pace() for s in self.by_loop.values()]
        return sum(p.per_tile if p is not None else inf for p in paces)


def schedule_kernel(
    plan: TilePlan, registers: int | None = None, *, in_turns: bool = False
) -> ScheduledKernel:
    """Schedules of all loops that can have one. Raises ``UnscheduledError`` where none can.

    ``in_turns``: the waves of a SIMD take turns, in all loops.
    """
    bodies: dict[int, tuple[ir.Loop, LoopBody]] = {}
    why: list[str] = []
    vectors: dict[str, AxisMap] = {}
    for loop in _loops(plan.kernel.ops):
        try:
            body = loop_body(plan, loop)
        except UnscheduledError as error:
            why.append(f"the loop over '{loop.var}': {error}")
            continue
        bodies[id(loop)] = loop, body
        vectors |= body.vectors
    if not bodies:
        raise UnscheduledError("; ".join(why) or "it has no loop")
    found: dict[int, LoopSchedule] = {}
    for key, (loop, body) in bodies.items():
        tiles = "x".join(str(plan.padded[v]) for v in dict.fromkeys(_named(body)))
        number = f"_{len(found)}" if found else ""
        try:
            named = f"{plan.kernel.name}_{tiles}{number}"
            lds = plan.machine.lds_bytes
            made = (
                schedule_in_turns(plan, body, name=named, lds=lds)
                if in_turns
                else schedule_loop(plan, body, name=named, registers=registers, lds=lds)
            )
            found[key] = replace(made, axis=plan.kernel.var(loop.var).axis)
        except UnscheduledError as error:
            why.append(f"the loop over '{loop.var}': {error}")
    if not found or (in_turns and len(found) < len(bodies)):
        raise UnscheduledError("; ".join(why))
    return ScheduledKernel(plan=replace(plan, vectors=vectors), by_loop=found, plain=tuple(why))


def with_documents(plan: TilePlan, documents: Sequence[ScheduleDocument]) -> ScheduledKernel:
    """The loops of a plan that can be pipelined, in order, with schedules that are given.

    Raises ``BackendError`` where a document is not one of its loop's ops and values.
    """
    found: dict[int, LoopSchedule] = {}
    vectors: dict[str, AxisMap] = {}
    left = list(documents)
    for loop in _loops(plan.kernel.ops):
        try:
            body = loop_body(plan, loop)
        except UnscheduledError:
            continue
        if not left:
            break
        document = left.pop(0)
        ops = {op.key for op in body.described()}
        own = {e.op.key for p in Phase for e in document.phase(p) if e.op.role not in SYNCHRONISING}
        if document.flow != body.flow or not own <= ops:
            raise BackendError(
                f"schedule {document.name!r} is not one of the loop over {loop.var!r}",
                where=str(loop.line or ""),
                why="its ops or the values between them are others",
                fix="change the order, waits and barriers of the schedule only",
            )
        vectors |= body.vectors
        found[id(loop)] = LoopSchedule(
            body=body, document=document, axis=plan.kernel.var(loop.var).axis
        )
    if left:
        raise BackendError(
            f"{len(left)} schedule(s) more than loops", fix="the schedules as they were dumped"
        )
    return ScheduledKernel(plan=replace(plan, vectors=vectors), by_loop=found, plain=())


def _named(body: LoopBody) -> Iterator[str]:
    for op in body.ops:
        if op.product is not None:
            yield from (op.product.lane, op.product.register, op.product.k)


def _loops(ops: tuple[ir.Op, ...]) -> Iterator[ir.Loop]:
    for op in ops:
        if isinstance(op, ir.Loop):
            yield op
            yield from _loops(op.body)


def pipelined_plans(
    kernel: Kernel, pinned: Mapping[str, int], machine: AmdMachine
) -> Iterator[TilePlan]:
    """Plans to try for pipelined loops, the largest tile first; those whose vector work has few
    registers left come after them, and last those whose waves exchange operands through LDS.
    """
    crowded = []
    for plan in _largest_first(kernel, pinned, machine):
        if any(body.crowded for body in _bodies(plan)):
            crowded.append(plan)
        else:
            yield plan
    yield from crowded
    yield from _largest_first(kernel, pinned, machine, exchange=True)


def _bodies(plan: TilePlan) -> Iterator[LoopBody]:
    """Of the loops that can be pipelined."""
    for loop in _loops(plan.kernel.ops):
        with suppress(UnscheduledError):
            yield loop_body(plan, loop)


def _largest_first(
    kernel: Kernel, pinned: Mapping[str, int], machine: AmdMachine, *, exchange: bool = False
) -> Iterator[TilePlan]:
    """Waves divide both axes of accumulators so that the busiest unit has least to do."""
    loops = _loops(kernel.ops)
    if not any(isinstance(op, ir.Dot) for loop in loops for op in loop.body):
        return
    seen = []
    for rows, columns, step, waves in TILES:
        extents = tile_extents(kernel, pinned, rows, columns, step)
        if (extents, waves) in seen:
            continue
        seen.append((extents, waves))
        found = []
        for across in (1, 2, 4, 8):
            if across > waves:
                continue
            plan = TilePlan(
                kernel=kernel, extents=extents, waves=waves, machine=machine, across=across,
                exchange=exchange,
            )  # fmt: skip
            load = busiest(plan)
            if load is None or (exchange and not any(b.exchanges for b in _bodies(plan))):
                continue
            found.append((load, across, plan))
        least = min((load for load, _, _ in found), default=0)
        for load, _, plan in sorted(found, key=lambda each: (each[0], -each[1])):
            if load <= least * (1 + NEAR):
                yield plan


def why_plain(kernel: Kernel, pinned: Mapping[str, int], machine: AmdMachine) -> tuple[str, ...]:
    """Why no loop of products of a kernel can be pipelined, by its smallest tile."""
    *_, (rows, columns, step, waves) = TILES
    extents = tile_extents(kernel, pinned, rows, columns, step)
    found = []
    for loop in _loops(kernel.ops):
        if not any(isinstance(op, ir.Dot) for op in loop.body):
            continue
        try:
            plan = TilePlan(
                kernel=kernel, extents=extents, waves=waves, machine=machine, exchange=True
            )
            loop_body(plan, loop)
        except UnscheduledError as error:
            found.append(f"the loop over '{loop.var}': {error}")
    return tuple(found)


def busiest(plan: TilePlan) -> int | None:
    """Cycles an iteration that its busiest unit needs, over all loops; None where none can be
    pipelined.
    """
    return sum(max(unit_cycles(plan, body).values()) for body in _bodies(plan)) or None


def unit_table(plan: TilePlan) -> str:
    """Cycles an iteration of every loop that can be pipelined, by unit."""
    found = []
    for loop in _loops(plan.kernel.ops):
        with suppress(UnscheduledError):
            busy = unit_cycles(plan, loop_body(plan, loop))
            units = ", ".join(f"{kind.name} {cycles}" for kind, cycles in busy.items())
            found.append(f"loop over {loop.var}: {units}")
    return "; ".join(found)


def unit_cycles(plan: TilePlan, body: LoopBody) -> dict[ResourceKind, int]:
    """Cycles an iteration that each unit of a compute unit is busy with a body's ops."""
    ops = body.described()
    machine = machine_of(plan, body, ops)
    beside = max(1, plan.waves // mi355x().simds)
    result: dict[ResourceKind, int] = {}
    for own, op in zip(body.ops, ops, strict=True):
        times = own.count * plan.waves if own.role in MOVES else beside
        times = plan.waves if own.store is not None else times
        kind = op.resource
        result[kind] = result.get(kind, 0) + machine.timing(op).occupancy * times
    return result
