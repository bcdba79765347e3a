"""``OrderProblem``: a loop body flattened to plain integers, with bounds for every op.

A *unit* is anything that serves one op at a time: the matrix unit, the vector unit and, when a
penalty is set, the memory port. An op holds its unit for ``hold`` cycles (its latency, or the
penalty on the port).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from warploom.document.kinds import OpRole, ResourceKind
from warploom.seed.graph.loop_body import LoopBody, OpNode
from warploom.seed.sched.evaluate import PORT_RESOURCES
from warploom.seed.sched.greedy import partition_bounds
from warploom.seed.sched.lifetimes import Lifetimes
from warploom.seed.sched.search.windows import NO_UNIT, UNITS, Shape, heads, least_makespan, tails

_MMA, _VALU, _PORT = range(UNITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderProblem:
    """What the search needs of a body; every tuple is indexed by op unless said otherwise."""

    n: int
    latency: tuple[int, ...]
    unit: tuple[int, ...]
    hold: tuple[int, ...]
    preds: tuple[int, ...]  # bit masks
    succs: tuple[tuple[int, ...], ...]
    topological: tuple[int, ...]
    vgpr_def: tuple[int, ...]
    vgpr_kill: tuple[int, ...]
    is_load: tuple[bool, ...]
    is_compute: tuple[bool, ...]
    max_loads: int  # global loads between two computes of a partition; 0 = no limit
    closed: bool  # every partition that has a compute must end in one
    partition: tuple[int, ...]
    bounds: tuple[int, ...]  # where each partition begins, closed by n
    head: tuple[int, ...]  # no order starts the op sooner
    tail: tuple[int, ...]  # no order ends sooner than this after the op's start
    least_makespan: int  # no order ends sooner than this
    twin: tuple[int, ...]  # the next lower op that is interchangeable with this one, or -1
    betters: tuple[tuple[int, ...], ...]  # ops worth placing first if they start no later
    least_registers: int  # no order has a lower peak
    lifetimes: Lifetimes | None = None  # who frees registers, instead of vgpr_kill

    def horizon(self) -> int:
        """A makespan that no order exceeds: everything one after the other."""
        return sum(map(max, self.latency, self.hold))


def order_problem(
    body: LoopBody,
    *,
    partitions: int = 1,
    max_loads: int = 0,
    penalty: int = 0,
    closed: bool = False,
    lifetimes: bool = False,
) -> OrderProblem:
    """Flatten ``body``; its distance-0 edges must be acyclic and never lead to an earlier part."""
    n = len(body.ops)
    bounds = partition_bounds(n, partitions)
    partition = tuple(sum(start <= i for start in bounds[1:]) for i in range(n))
    latency = tuple(node.latency for node in body.ops)
    unit = tuple(_unit_of(node, penalty) for node in body.ops)
    hold = tuple(penalty if u == _PORT else lat for u, lat in zip(unit, latency, strict=True))
    preds, succs = body.predecessors(), body.successors()
    vgpr_def = tuple(node.op.vgpr_def for node in body.ops)
    vgpr_kill = tuple(node.op.vgpr_kill for node in body.ops)
    shape = Shape(latency, unit, hold, preds, succs, partition, body.topological_order())
    tail = tails(shape, partitions)
    head = heads(shape, partitions)
    return OrderProblem(
        n=n,
        latency=latency,
        unit=unit,
        hold=hold,
        preds=tuple(sum(1 << p for p in ps) for ps in preds),
        succs=succs,
        topological=tuple(shape.topological),
        vgpr_def=vgpr_def,
        vgpr_kill=vgpr_kill,
        is_load=tuple(node.op.role is OpRole.GLOBAL_LOAD for node in body.ops),
        is_compute=tuple(node.op.role is OpRole.COMPUTE for node in body.ops),
        max_loads=max(max_loads, 0),
        closed=closed,
        partition=partition,
        bounds=bounds,
        head=head,
        tail=tail,
        least_makespan=least_makespan(shape, head, tail),
        twin=_twins(body, partition, preds, succs, lifetimes),
        betters=tuple(() for _ in body.ops) if lifetimes else _betters(body, shape),
        least_registers=0 if lifetimes else _least_registers(bounds, vgpr_def, vgpr_kill),
        lifetimes=Lifetimes.of(body) if lifetimes else None,
    )


def _unit_of(node: OpNode, penalty: int) -> int:
    if node.resource is ResourceKind.MMA_UNIT:
        return _MMA
    if node.resource is ResourceKind.VALU:
        return _VALU
    if penalty > 0 and node.resource in PORT_RESOURCES:
        return _PORT
    return NO_UNIT


def _least_registers(bounds: Sequence[int], defs: Sequence[int], kills: Sequence[int]) -> int:
    """What is live at the end of a partition does not depend on the order inside it."""
    live = least = 0
    for lo, hi in pairwise(bounds):
        live += sum(defs[lo:hi]) - sum(kills[lo:hi])
        if lo < hi:
            least = max(least, live + min(kills[lo:hi]))
    return least


def price(problem: OrderProblem, order: Sequence[int]) -> tuple[int, int]:
    """Makespan and register peak of a complete order."""
    free = [0] * (UNITS + 1)
    ready = [0] * problem.n
    makespan = live = peak = 0
    for i in order:
        unit = problem.unit[i]
        start = max(ready[i], free[unit])
        finish = start + problem.latency[i]
        if unit != NO_UNIT:
            free[unit] = start + problem.hold[i]
        for k in problem.succs[i]:
            ready[k] = max(ready[k], finish)
        makespan = max(makespan, finish)
        live += problem.vgpr_def[i]
        peak = max(peak, live)
        live -= problem.vgpr_kill[i]
    if problem.lifetimes is not None:
        peak = problem.lifetimes.peak(order)
    return makespan, peak


def _cost_class(node: OpNode) -> tuple[object, ...]:
    """What the search can see of an op besides its neighbours."""
    op = node.op
    return (node.latency, node.resource, op.role, op.vgpr_def, op.vgpr_kill)


def _twins(
    body: LoopBody,
    partition: Sequence[int],
    preds: Sequence[Sequence[int]],
    succs: Sequence[Sequence[int]],
    lifetimes: bool,
) -> tuple[int, ...]:
    """Interchangeable ops: same cost, same role, same neighbours, same partition.

    With lifetimes only global loads: others may differ in who reads them in later iterations.
    """
    latest: dict[tuple[object, ...], int] = {}
    twin = []
    for i, node in enumerate(body.ops):
        key: tuple[object, ...] = (_cost_class(node), partition[i], preds[i], succs[i])
        if lifetimes and (node.op.role is not OpRole.GLOBAL_LOAD or node.op.vgpr_def):
            key = (*key, i)
        twin.append(latest.get(key, -1))
        latest[key] = i
    return tuple(twin)


def _betters(body: LoopBody, shape: Shape) -> tuple[tuple[int, ...], ...]:
    """Per op j, the ops i that may as well trade places with it whenever both can be next.

    They cost the same and every op that waits for j waits for i too. If i starts no later than j
    would, any completion in which j comes first stays as good after the two are swapped.
    """
    waits = [_timed_successors(shape, i) for i in range(len(body.ops))]
    classes = [(_cost_class(node), shape.partition[i]) for i, node in enumerate(body.ops)]

    def better(i: int, j: int) -> bool:
        return classes[i] == classes[j] and waits[j] <= waits[i] and (waits[j] != waits[i] or i < j)

    return tuple(
        tuple(i for i in range(len(waits)) if i != j and better(i, j)) for j in range(len(waits))
    )


def _timed_successors(shape: Shape, i: int) -> frozenset[int]:
    """Successors that can feel when ``i`` finishes.

    One of a later partition on the same unit cannot: the unit itself is busy at least as long.
    """
    implied = shape.unit[i] != NO_UNIT and shape.hold[i] >= shape.latency[i]
    return frozenset(
        k
        for k in shape.succs[i]
        if not (
            implied and shape.unit[k] == shape.unit[i] and shape.partition[k] > shape.partition[i]
        )
    )
