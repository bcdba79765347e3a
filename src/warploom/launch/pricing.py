"""What the timing simulator needs to know of a lowered kernel: costs of its role programs.

Ops of the loop cost what they were scheduled with. What happens once a tile is a model: registers
touched at one a cycle and lane, bytes at the rate of the copy engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warploom.document.roles import BulkStore, Compute, Load, RoleProgram
from warploom.lower.column import Lowered
from warploom.lower.loop_ops import loop_ops, takes_turns
from warploom.lower.price import Cost
from warploom.lower.storage import STAGING_BYTES
from warploom.sim import OpTiming, RoleCosts, RoleOpCost
from warploom.sim.contention import Contention
from warploom.sim.roles import StreamCosts
from warploom.target.described import differences
from warploom.target.h200 import HopperTarget, h200

VECTOR, COPY_ENGINE, TENSOR = "alu", "copy engine", "tensor"


def role_costs(lowered: Lowered, target: HopperTarget | None = None) -> RoleCosts:
    """Prices of all ops of a lowered kernel's document, of one instance of each role."""
    target = target or h200()
    prices: dict[str, RoleOpCost] = {}
    turns = takes_turns(lowered.layout)
    of_loop = {op.name: op.cost for op in loop_ops(lowered.layout, target, 1)}
    for program in lowered.document.programs:
        listed = [e for _, entries in program.phases() for e in entries]
        names = {e.op for e in listed if hasattr(e, "op")}
        prices |= dict(_once(program, target))
        for name in names:
            whole = name.partition(".")[0]
            if whole in of_loop:
                cost = of_loop[whole]
                share = len({n for n in names if n.partition(".")[0] == whole})
                busy = -(-cost.occupancy // share)
                slower = target.vector.beside_products if turns and not cost.pieces else 1.0
                prices[name] = _priced(cost, busy, share, target, slower)
    units = {p.unit for p in prices.values()}
    return RoleCosts(
        name=target.name,
        ops=tuple(sorted(prices.items())),
        handoff=target.sync.mbarrier_handoff,
        arrive=target.sync.mbarrier_arrive,
        barrier_handoff=target.sync.named_barrier_handoff + target.sync.turn,
        waiting=tuple(sorted(units - {COPY_ENGINE, TENSOR})),
        clock_hz=target.clock_hz,
    )


def priced(lowered: Lowered, target: HopperTarget) -> Lowered:
    """The same whose documents, of all loops, carry their prices and how the target differs."""
    costs, machine = role_costs(lowered, target), differences(target)
    return replace(
        lowered,
        document=replace(lowered.document, costs=costs, machine=machine),
        earlier=tuple(priced(x, target) for x in lowered.earlier),
    )


def contended(lowered: Lowered, target: HopperTarget | None = None) -> tuple[RoleCosts, Contention]:
    """Prices of ops that have the registers to themselves, and what they meet in a stream."""
    target = target or h200()
    rates = target.vector
    alone = replace(target, vector=replace(rates, beside_products=1.0))
    slowed = []
    for op in loop_ops(lowered.layout, target, 1):
        busy = dict([(op.cost.unit, op.cost.occupancy), *op.cost.also])
        alu, mufu = busy.get(VECTOR, 0), busy.get("mufu", 0)
        if op.cost.unit in (VECTOR, "mufu") and max(alu, mufu):
            factor = (alu * rates.alu_beside + mufu * rates.mufu_beside) / max(alu, mufu)
            slowed.append((op.name, factor))
    stream = StreamCosts(full_wait=target.sync.full_wait, step=target.sync.step)
    found = Contention(stream=stream, slowed=tuple(slowed), own=rates.own_beside)
    return role_costs(lowered, alone), found


def _priced(cost: Cost, busy: int, share: int, target: HopperTarget, slower: float) -> RoleOpCost:
    """One of ``share`` ops that together are an op of the loop.

    The tensor cores take a bounded number of unfinished products, whoever they belong to: who
    issues more stands still until the rest fits.
    """
    latency = max(busy, cost.latency - cost.occupancy + busy)
    if not cost.pieces:
        slower = 1.0 if cost.unit == COPY_ENGINE else slower
        return RoleOpCost(
            unit=cost.unit,
            timing=OpTiming(
                issue=round(-(-cost.issue // share) * slower),
                occupancy=busy,
                latency=round(busy * slower) + latency - busy,
            ),
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
