"""What the timing simulator needs to know of an attention kernel, and what it predicts.

Ops of the loop are priced by the body they were scheduled with, so a body with corrected costs
gives corrected predictions. What happens once a tile is a model: registers touched at one a cycle
and thread, bytes at the rate of the copy engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from warploom.document.roles import BulkStore, Compute, Load, RoleProgram, RolesDocument
from warploom.hopper.kernel import STAGING_BYTES
from warploom.hopper.timing import TileTime
from warploom.order import ModuloProblem
from warploom.sim import OpTiming, RoleCosts, RoleOpCost
from warploom.sim.roles import simulate_roles
from warploom.target.h200 import HopperTarget, h200

LANES = 128  # values an SM works on a cycle
SHORT, LONG = 12, 24
VECTOR = "alu"
COPY_ENGINE = "memory"


def role_costs(
    problem: ModuloProblem,
    names: Mapping[str, str],
    document: RolesDocument,
    target: HopperTarget | None = None,
) -> RoleCosts:
    """Prices of all ops of a document: of the loop from the body, of the rest from the document.

    ``names`` gives the body's ops the names the document has for them.
    """
    target = target or h200()
    of_loop = {names.get(op.name, op.name): v for v, op in enumerate(problem.ops)}
    prices: dict[str, RoleOpCost] = {}
    for program in document.programs:
        for name, cost in _once(program, target):
            prices.setdefault(name, cost)
        for name, v, share in _in_loop(program, of_loop):
            prices[name] = _priced(problem, v, share)
    return RoleCosts(
        name=f"{target.name}, {problem.name}",
        ops=tuple(sorted(prices.items())),
        handoff=target.sync.mbarrier_handoff,
        arrive=target.sync.mbarrier_arrive,
        barrier_handoff=target.sync.named_barrier_handoff,
        waiting=tuple(
            u for u in problem.units() if u != COPY_ENGINE and not _is_matrix(problem, u)
        ),
    )


def _is_matrix(problem: ModuloProblem, unit: str) -> bool:
    """A unit whose ops run on while their role goes on: it is held longer than the stream."""
    return any(op.unit == unit and 0 < op.issue < op.occupancy for op in problem.ops)


def _in_loop(program: RoleProgram, of_loop: dict[str, int]) -> Iterator[tuple[str, int, int]]:
    """Names of the loop's ops in the document, the body's op, and its number of copies."""
    listed = [e for _, entries in program.phases() for e in entries]
    names = {e.op for e in listed if hasattr(e, "op")}
    for name in sorted(names):
        whole = name.partition(".")[0]
        if whole in of_loop:
            parts = {n for n in names if n.partition(".")[0] == whole}
            yield name, of_loop[whole], len(parts)


def _priced(problem: ModuloProblem, v: int, share: int) -> RoleOpCost:
    """An op, or one of ``share`` copies of it, with the latency of its longest way to a user."""
    op = problem.ops[v]
    latency = max((e.latency for e in problem.edges if e.src == v), default=op.occupancy)
    part = -(-op.occupancy // share)
    timing = OpTiming(
        issue=op.issue, occupancy=part, latency=max(part, latency - op.occupancy + part)
    )
    return RoleOpCost(unit=op.unit or VECTOR, timing=timing)


def _once(program: RoleProgram, target: HopperTarget) -> Iterator[tuple[str, RoleOpCost]]:
    sizes = dict(program.registers)
    for _, entries in program.phases():
        for e in entries:
            match e:
                case Compute():
                    touched = sum(sizes.get(r, 1) for r in {*e.reads, *e.writes})
                    cycles = max(1, touched * program.threads // LANES)
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


def predict_attention(document: RolesDocument, costs: RoleCosts) -> TileTime:
    """Cycles of a query tile in the simulator: an interval for each key tile, and the rest.

    Tiles of two lengths are run, several of each: ends of tiles overlap where the program lets
    them.
    """

    def tile(trips: int) -> float:
        ends = [simulate_roles(document, costs, trips=trips, tiles=n).cycles for n in (2, 4)]
        return (ends[1] - ends[0]) / 2

    short, long = tile(SHORT), tile(LONG)
    interval = (long - short) / (LONG - SHORT)
    return TileTime(interval=interval, rest=short - SHORT * interval)
