"""What the timing simulator needs to know of a lowered kernel: costs of its role programs.

Ops of the loop cost what they were scheduled with. What happens once a tile is a model: registers
touched at one a cycle and lane, bytes at the rate of the copy engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from warploom.ir.machine_costs import OpTiming, RoleCosts, RoleOpCost
from warploom.ir.mbarrier_dialect import BulkStore, Compute, Load, RoleProgram
from warploom.passes.driver import Lowered
from warploom.passes.fuse import Step
from warploom.passes.loop_ops import LoopOp, loop_ops
from warploom.passes.op_cost import Cost, beside_products, usual_cost
from warploom.passes.smem_budget import STAGING_BYTES
from warploom.passes.smem_layout import SlotRing
from warploom.passes.split_mma import FIRST, REST, part_of
from warploom.passes.warp_specialize import part_name
from warploom.targets.described import differences
from warploom.targets.h200 import HopperTarget, h200

VECTOR, COPY_ENGINE, TENSOR = "alu", "copy engine", "tensor"


def role_costs(lowered: Lowered, target: HopperTarget | None = None) -> RoleCosts:
    """Prices of all ops of a lowered kernel's document, of one instance of each role.

    Warps of several consumers take the vector pipes in turns, an instruction each: what they lose
    to each other and to products is found by the simulator.
    """
    target = target or h200()
    prices: dict[str, RoleOpCost] = {}
    ops = loop_ops(lowered.layout, target, 1)
    for program in lowered.document.programs:
        listed = [e for _, entries in program.phases() for e in entries]
        names = {e.op for e in listed if hasattr(e, "op")}
        prices |= dict(_once(program, target))
        for op in ops:
            here = [(name, part) for name, part in _entries(op) if name in names]
            cost = _usual(lowered, op, target)
            for name, part in here:
                share = _part_of(cost, part, lowered) or len(here)
                prices[name] = _priced(cost, share, target)
    units = {p.unit for p in prices.values()}
    return RoleCosts(
        name=target.name,
        ops=tuple(sorted(prices.items())),
        handoff=target.sync.mbarrier_handoff,
        arrive=target.sync.mbarrier_arrive,
        barrier_handoff=target.sync.named_barrier_handoff,
        shared=tuple(sorted(units - {COPY_ENGINE, TENSOR})),
        clock_hz=target.clock_hz,
        step=target.sync.step,
        own=1.0 + target.vector.own_beside,
        tied=lowered.layout.config.full_wait_after < 0,
        ask=target.sync.mbarrier_ask,
    )


def _usual(lowered: Lowered, op: LoopOp, target: HopperTarget) -> Cost:
    step = op.work if isinstance(op.work, Step) else None
    return op.cost if step is None else usual_cost(lowered.layout, step, target)


def priced(lowered: Lowered, target: HopperTarget) -> Lowered:
    """The same whose documents, of all loops, carry their prices and how the target differs."""
    costs, machine = role_costs(lowered, target), differences(target)
    return replace(
        lowered,
        document=replace(lowered.document, costs=costs, machine=machine),
        earlier=tuple(priced(x, target) for x in lowered.earlier),
    )


def _entries(op: LoopOp) -> Iterator[tuple[str, str]]:
    """What entries of an op are called that run all or a part of it; of a product which part."""
    yield op.name, ""
    if isinstance(op.work, SlotRing):
        yield from ((f"{op.name}.{part_name(t.value)}", "") for t in op.work.tiles)
    elif op.cost.pieces:
        yield from ((part_of(op.name, part), part) for part in (FIRST, REST))


def _part_of(cost: Cost, part: str, lowered: Lowered) -> float:
    """How many times a part of a product goes into it; 0 for other ops."""
    rest = lowered.layout.config.deferred_mmas * lowered.layout.blocks
    pieces = {FIRST: cost.pieces - rest, REST: rest}.get(part, 0)
    return cost.pieces / pieces if pieces > 0 else 0.0


def _priced(cost: Cost, share: float, target: HopperTarget) -> RoleOpCost:
    """One of ``share`` ops that together are an op of the loop.

    The tensor cores take a bounded number of unfinished products, whoever they belong to: who
    issues more stands still until the rest fits.
    """
    busy, whole = ceil(cost.occupancy / share), max(cost.occupancy, cost.issue)
    latency = max(busy, cost.latency - whole + ceil(whole / share))
    if not cost.pieces:
        issue = ceil(cost.issue / share)
        return RoleOpCost(
            unit=cost.unit,
            timing=OpTiming(issue=issue, occupancy=busy, latency=latency),
            beside=round(issue * (beside_products(cost, target) - 1.0)),
        )
    issue = round(cost.pieces / share * target.product_issue(cost.piece))
    return RoleOpCost(
        unit=cost.unit,
        timing=OpTiming(issue=min(issue, busy), occupancy=busy, latency=latency),
        ahead=max(0, round(target.products_ahead * cost.piece) - target.tensor_drain),
    )


def _once(program: RoleProgram, target: HopperTarget) -> Iterator[tuple[str, RoleOpCost]]:
    sizes = dict(program.registers)
    for _, entries in program.phases():
        for e in entries:
            match e:
                case Compute():
                    touched = sum(sizes.get(r, 1) for r in {*e.reads, *e.writes})
                    cycles = max(1, touched * program.threads // target.vector.lanes)
                    work = OpTiming(issue=cycles, occupancy=cycles, latency=cycles)
                    yield e.op, RoleOpCost(unit=VECTOR, timing=work)
                case Load() | BulkStore():
                    size = e.bytes if isinstance(e, Load) else STAGING_BYTES
                    timing = OpTiming(
                        issue=0,
                        occupancy=int(size / target.l2_bytes_per_cycle),
                        latency=target.load_latency(size),
                    )
                    yield e.op, RoleOpCost(unit=COPY_ENGINE, timing=timing)
                case _:
                    pass
