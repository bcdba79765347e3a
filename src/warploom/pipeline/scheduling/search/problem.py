"""``OrderProblem``: a loop body flattened to plain integers, with bounds for every op.

Both hold for every order, because they only use what no order can change: dependences, the serial
units, and that partitions follow each other. They are what makes the search finish.

A *unit* is anything that serves one op at a time: the matrix unit, the vector unit and, when a
penalty is set, the memory port. An op holds its unit for ``hold`` cycles (its latency, or the
penalty on the port).
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from warploom.dataclass import dataclass
from warploom.ir.schedule_ops import OpRole, ResourceKind
from warploom.pipeline.graph_builder.loop_body import LoopBody, OpNode
from warploom.pipeline.scheduling.greedy import partition_bounds
from warploom.pipeline.scheduling.result import PORT_RESOURCES, Lifetimes, evaluate_schedule

UNITS = 3
NO_UNIT = UNITS
_NOTHING = -(10**12)  # tail of a unit that has no ops left to serve


@dataclass(frozen=True, slots=True)
class Shape:
    """The timing side of a body; every sequence is indexed by op."""

    latency: Sequence[int]
    unit: Sequence[int]
    hold: Sequence[int]
    preds: Sequence[Sequence[int]]
    succs: Sequence[Sequence[int]]
    partition: Sequence[int]
    topological: Sequence[int]

    def gap(self, i: int, j: int) -> int:
        """Least time from the start of ``i`` to the start of its direct successor ``j``."""
        same_unit = self.unit[i] == self.unit[j] != NO_UNIT
        return max(self.latency[i], self.hold[i]) if same_unit else self.latency[i]

    def below(self, i: int) -> dict[int, int]:
        """Every descendant of ``i``, with the longest path between the two starts."""
        far = {i: 0}
        for j in self.topological:
            if j in far:
                for k in self.succs[j]:
                    far[k] = max(far.get(k, 0), far[j] + self.gap(j, k))
        del far[i]
        return far

    def above(self, i: int) -> dict[int, int]:
        """Every ancestor of ``i``, with the longest path between the two starts."""
        far = {i: 0}
        for j in reversed(self.topological):
            if j in far:
                for k in self.preds[j]:
                    far[k] = max(far.get(k, 0), far[j] + self.gap(k, j))
        del far[i]
        return far

    def on_unit(self, ops: Iterable[int], unit: int) -> list[int]:
        """Those of ``ops`` that the unit serves."""
        return [i for i in ops if self.unit[i] == unit]


def tails(shape: Shape, partitions: int) -> tuple[int, ...]:
    """Least time from each op's start to the end; last partition first.

    A unit serves all its ops of one partition before any of the next.
    """
    tail = [0] * len(shape.latency)
    after = [_NOTHING] * UNITS
    for p in reversed(range(partitions)):
        members = [i for i in reversed(shape.topological) if shape.partition[i] == p]
        for i in members:
            tail[i] = _tail(shape, i, tail, after)
        for u in range(UNITS):
            if mine := shape.on_unit(members, u):
                after[u] = sequence_tail(mine, shape.hold, tail)
    return tuple(tail)


def _tail(shape: Shape, i: int, tail: Sequence[int], after: Sequence[int]) -> int:
    unit = shape.unit[i]
    found = [shape.latency[i]]
    if unit != NO_UNIT:
        found.append(shape.hold[i] + after[unit])
    below = shape.below(i)
    found += [distance + tail[j] for j, distance in below.items()]
    for u in range(UNITS):
        if ops := shape.on_unit(below, u):
            found.append(min(below[j] for j in ops) + sequence_tail(ops, shape.hold, tail))
    return max(found)


def heads(shape: Shape, partitions: int) -> tuple[int, ...]:
    """Earliest start of each op; first partition first."""
    head = [0] * len(shape.latency)
    busy = [0] * UNITS
    for p in range(partitions):
        members = [i for i in shape.topological if shape.partition[i] == p]
        for i in members:
            head[i] = _head(shape, i, head, busy)
        for u in range(UNITS):
            if mine := shape.on_unit(members, u):
                busy[u] = sequence_end(mine, shape.hold, head)
    return tuple(head)


def _head(shape: Shape, i: int, head: Sequence[int], busy: Sequence[int]) -> int:
    found = [busy[shape.unit[i]] if shape.unit[i] != NO_UNIT else 0]
    above = shape.above(i)
    found += [head[j] + distance for j, distance in above.items()]
    for u in range(UNITS):
        if ops := shape.on_unit(above, u):
            # Whichever of them is served last starts its hold before the unit's end.
            last = min(above[j] - shape.hold[j] for j in ops)
            found.append(sequence_end(ops, shape.hold, head) + last)
    return max(found)


def sequence_tail(ops: Sequence[int], hold: Sequence[int], tail: Sequence[int]) -> int:
    """Time from the unit's release to the end when it serves ``ops``, most urgent first.

    Urgent is what has the longest tail after it leaves the unit: the best order on one machine
    when all ops are available (Jackson's rule), hence a bound.
    """
    clock = worst = 0
    for i in sorted(ops, key=lambda j: hold[j] - tail[j]):
        worst = max(worst, clock + tail[i])
        clock += hold[i]
    return worst


def sequence_end(ops: Sequence[int], hold: Sequence[int], head: Sequence[int]) -> int:
    """When the unit is free at the earliest after serving ``ops``: first come, first served."""
    clock = 0
    for i in sorted(ops, key=lambda j: head[j]):
        clock = max(clock, head[i]) + hold[i]
    return clock


def least_makespan(shape: Shape, head: Sequence[int], tail: Sequence[int]) -> int:
    """A bound on every order: each unit on its own, with heads and tails (Carlier 1982)."""
    ops = range(len(head))
    found = [0, *(head[i] + tail[i] for i in ops)]
    for u in range(UNITS):
        mine = shape.on_unit(ops, u)
        for start in sorted({head[i] for i in mine}):
            later = [i for i in mine if head[i] >= start]
            found.append(start + sequence_tail(later, shape.hold, tail))
    return max(found)


_MMA, _VALU, _PORT = range(UNITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderProblem:
    """What the search needs of a body; every tuple is indexed by op unless said otherwise."""

    body: LoopBody
    penalty: int  # cycles the memory port is held by an access; 0: not at all
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
        body=body,
        penalty=penalty,
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
    cost = evaluate_schedule(problem.body, order, problem.penalty)
    lives = problem.lifetimes
    return cost.makespan, cost.vgpr_peak if lives is None else lives.peak(order)


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
