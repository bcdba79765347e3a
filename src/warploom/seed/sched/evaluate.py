"""What an order costs: list scheduling on one matrix unit, one vector unit and one memory port.

Every op starts as early as its predecessors and its unit allow, in the order given. Loads run in
parallel without limit unless a penalty is set: then LDS and global accesses leave the memory port
at least ``lds_contention_penalty`` cycles apart (an issue interval, whatever their latency).
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.document.kinds import ResourceKind
from warploom.errors import SchedulingError
from warploom.seed.graph.loop_body import LoopBody, ScheduleMetrics

PORT_RESOURCES = frozenset({ResourceKind.LDS, ResourceKind.GLOBAL_MEM})
SERIAL_RESOURCES = (ResourceKind.MMA_UNIT, ResourceKind.VALU)


def evaluate_schedule(
    body: LoopBody, order: Sequence[int], lds_contention_penalty: int = 0
) -> ScheduleMetrics:
    """Makespan and register peak of ``order``.

    The order need not be topological: a predecessor that comes later counts as finished at 0, so
    that any order can be priced.
    """
    finish, _ = simulate(body, order, lds_contention_penalty)
    live = peak = 0
    for i in order:
        op = body.ops[i].op
        live += op.vgpr_def
        peak = max(peak, live)
        live -= op.vgpr_kill
    return ScheduleMetrics(makespan=max(finish, default=0), vgpr_peak=peak)


def evaluate_makespan(body: LoopBody, order: Sequence[int], lds_contention_penalty: int = 0) -> int:
    """Only the makespan of ``order``."""
    return max(simulate(body, order, lds_contention_penalty)[0], default=0)


def simulate(
    body: LoopBody, order: Sequence[int], lds_contention_penalty: int = 0
) -> tuple[tuple[int, ...], dict[ResourceKind, int]]:
    """Finish time of every op (0 when not in ``order``) and when each serial unit is free."""
    _check_order(body, order)
    preds = body.predecessors()
    finish = [0] * len(body.ops)
    unit_free = dict.fromkeys(SERIAL_RESOURCES, 0)
    port_free = 0
    for i in order:
        node = body.ops[i]
        start = max((finish[p] for p in preds[i]), default=0)
        uses_port = lds_contention_penalty > 0 and node.resource in PORT_RESOURCES
        if uses_port:
            start = max(start, port_free)
            port_free = start + lds_contention_penalty
        start = max(start, unit_free.get(node.resource, 0))
        finish[i] = start + node.latency
        if node.resource in unit_free:
            unit_free[node.resource] = finish[i]
    return tuple(finish), unit_free


def _check_order(body: LoopBody, order: Sequence[int]) -> None:
    n = len(body.ops)
    seen: set[int] = set()
    for position, i in enumerate(order):
        if not 0 <= i < n or i in seen:
            raise SchedulingError(
                "an order names an op that does not exist"
                if i not in seen
                else "an order places an op twice",
                where=f"position {position}: op {i}",
                why=f"the body has {n} ops, numbered 0..{n - 1}, each placed at most once",
                fix="pass a permutation of the op numbers",
            )
        seen.add(i)
