"""The schedule of two products around vector work: ops and flow of a text, solved and guarded.

The flow is read off the text and its steps; edges, storage and prices follow from it, the order
from the solver, waits and barriers from the guard. Every value has one home, so that a home's next
value is written only after the last use of the one before; LDS tiles may have several copies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from warploom.document import KernelShape, Protocol, ScheduleDocument
from warploom.document.flow import FlowOperand
from warploom.document.kinds import OpRole, Phase, ResourceKind
from warploom.document.machine import MachineCosts, OpTiming
from warploom.document.ops import DepEdge, OpDesc, ScheduleEntry
from warploom.emit.gfx950.attention.ops import AttentionOps
from warploom.emit.gfx950.attention.plan import MMA, V
from warploom.emit.gfx950.attention.text import AttentionText
from warploom.emit.gfx950.tile import GemmTile, waves_per_simd
from warploom.guard.counters import Synthesis, synthesise
from warploom.order import ModuloOptions, ModuloResult, solve_modulo
from warploom.order.model import (
    MAIN_ROLE,
    ModuloEdge,
    ModuloOp,
    ModuloProblem,
    Read,
    Ring,
    RingKind,
    Role,
    Value,
)
from warploom.order.options import ExactUse
from warploom.seed.modulo.bridge import BodyProblem
from warploom.seed.modulo.entries import modulo_phases
from warploom.sim import interval_cost, mi355x_costs
from warploom.target.mi355x import LANES, mi355x

MAX_COPIES = 3
REGISTERS = 240  # of 256 that may hold values; more of them live for addresses and copies
BESIDE = 2  # waves of a SIMD, of one workgroup or of two: one computes while the other multiplies
TICK = 16  # cycles: what the solver counts in; a finer clock finds the same orders, later


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionSchedule:
    """The guarded document, the order it came from, and why each wait is there."""

    document: ScheduleDocument
    order: ModuloResult
    guard: Synthesis


def attention_schedule(
    text: AttentionText,
    tile: GemmTile,
    *,
    registers: int = REGISTERS,
    options: ModuloOptions | None = None,
) -> AttentionSchedule:
    """Solve, expand and guard the loop of a text for a tile.

    ``registers``: how many of a wave's may hold values at once; addresses and temporaries come on
    top, and only the compiler knows how many.
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


def _problem(ops: AttentionOps, machine: MachineCosts, registers: int) -> BodyProblem:
    """The modulo problem of a body: edges, one home a value, rings of LDS tiles."""
    body, tile = ops.body, ops.tile
    flows = [ops.flow_of(op) for op in body]
    maker = {value: i for i, flow in enumerate(flows) for value in flow.results}
    shared = {ResourceKind.GLOBAL_MEM, ResourceKind.LDS}
    counts = [_count(ops, op) for op in body]
    prices = [machine.timing(op) for op in body]
    groups = max(1, BESIDE // waves_per_simd(tile))
    busy = [tile.waves * groups if op.resource in shared else BESIDE for op in body]
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
    rings: list[Ring] = []
    held: list[Value] = []
    static = 4 * tile.k_steps  # the queries
    touched: list[tuple[int, int] | None] = [None] * len(body)
    for place, values in by_home.items():
        lds = "." in place
        values.sort(key=lambda v: maker[v])
        writers = [maker[v] for v in values]
        rings.append(
            Ring(
                name=place,
                kind=RingKind.SMEM if lds else RingKind.REG,
                size=tile.slot_bytes(0, 1) if lds else 0,  # registers count while values live
                writers=tuple(writers),
                readers=tuple(tuple(readers.get(v, ())) for v in values),
                max_depth=MAX_COPIES if lds else 1,
            )
        )
        size = body[writers[0]].vgpr_def // len(flows[writers[0]].results)
        if len(writers) > 1:
            static += size
        elif not lds:
            uses = tuple(readers.get(values[0], ()))
            held.append(Value(name=place, size=size, src=writers[0], uses=uses))
        if lds:
            for i in (*writers, *(r.op for v in values for r in readers[v])):
                touched[i] = (len(rings) - 1, 0)
    room = mi355x().lds_bytes // groups - tile.slot_bytes(1, 1)
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
        values=tuple(held),
        roles=(Role(name=MAIN_ROLE, register_budget=registers, static_registers=static),),
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
