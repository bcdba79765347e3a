"""What an order costs: its makespan, bounds on it, registers, and how much of that is proven.

Every op starts as early as its predecessors and its unit allow, in the order given. Loads run in
parallel without limit unless a penalty is set: then LDS and global accesses leave the memory port
at least ``lds_contention_penalty`` cycles apart (an issue interval, whatever their latency).

``asap_lower_bound`` decides whether the greedy order is good enough to skip the search. With a
penalty it is not a true bound (the last access may be shorter than the interval it reserves);
proofs of optimality use ``warploom.pipeline.scheduling.search`` instead.

A value lives from the op that defines it to the last op that reads it (FLOW edges). One that is
read in a later iteration lives from the start of the loop body, and so does the one it replaces: an
accumulator is updated in place. A result nobody reads in the body is kept to its end if a COMPUTE
made it, and dies at once otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.dataclass import dataclass
from warploom.errors import CycleError, SchedulingError
from warploom.ir.schedule_ops import DepKind, OpRole, ResourceKind
from warploom.pipeline.graph_builder.loop_body import LoopBody, ScheduleMetrics

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


def asap_lower_bound(body: LoopBody, lds_contention_penalty: int = 0) -> int:
    """Largest of critical path, load of each serial unit, and port interval times accesses."""
    asap = body.compute_asap()
    bounds = [a + node.latency for a, node in zip(asap, body.ops, strict=True)]
    for unit in SERIAL_RESOURCES:
        members = [i for i, node in enumerate(body.ops) if node.resource is unit]
        total = sum(body.ops[i].latency for i in members)
        if total > 0:
            bounds.append(min(asap[i] for i in members) + total)
    if lds_contention_penalty > 0:
        accesses = sum(node.resource in PORT_RESOURCES for node in body.ops)
        bounds.append(lds_contention_penalty * accesses)
    return max(bounds, default=0)


def partial_lower_bound(
    body: LoopBody, order: Sequence[int], placed: Sequence[bool], pos: int
) -> int:
    """Bound on every completion of the first ``pos`` ops of ``order``, without the port."""
    finish, unit_free = simulate(body, tuple(order)[:pos])
    bounds = [max(finish, default=0)]
    for unit in SERIAL_RESOURCES:
        left = (
            node.latency
            for node, done in zip(body.ops, placed, strict=True)
            if node.resource is unit and not done
        )
        bounds.append(unit_free[unit] + sum(left))
    return max(bounds)


@dataclass(frozen=True, slots=True)
class _Value:
    """Registers that are live until every op of ``readers`` (a bit mask) has run."""

    size: int
    readers: int
    in_place: bool  # the reader that ends it writes its own result there


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The values of a body. What is live depends only on which ops have run."""

    defined: tuple[int, ...]  # per op: registers its result takes
    stays: tuple[bool, ...]  # per op: its result outlives it
    read: tuple[tuple[_Value, ...], ...]  # per op: the values it reads
    at_start: int  # registers live before the first op

    @classmethod
    def of(cls, body: LoopBody) -> Lifetimes:
        """Lifetimes by the FLOW edges of a body."""
        n = len(body.ops)
        now, later = [0] * n, [0] * n
        for edge in body.edges:
            if edge.dep_kind is DepKind.FLOW:
                masks = now if edge.loop_distance <= 0 else later
                masks[edge.producer_idx] |= 1 << edge.consumer_idx
        sizes = [node.op.vgpr_def for node in body.ops]
        computes = [node.op.role is OpRole.COMPUTE for node in body.ops]
        kept = tuple(bool(later[i]) or (computes[i] and not now[i]) for i in range(n))
        values = [_Value(sizes[i], now[i], computes[i]) for i in range(n) if not kept[i]]
        values += [_Value(sizes[i], later[i], computes[i]) for i in range(n) if later[i]]
        return cls(
            defined=tuple(sizes),
            stays=tuple(kept[i] or bool(now[i]) for i in range(n)),
            read=tuple(tuple(v for v in values if v.size and v.readers >> i & 1) for i in range(n)),
            at_start=sum(sizes[i] for i in range(n) if later[i]),
        )

    def need(self, op: int, placed: int) -> int:
        """Registers that must be free to run ``op`` after the ops of ``placed``."""
        return self.defined[op] - sum(
            v.size for v in self.read[op] if v.in_place and _ends(v, op, placed)
        )

    def change(self, op: int, placed: int) -> int:
        """By how much the live registers grow once ``op`` has run."""
        own = self.defined[op] if self.stays[op] else 0
        return own - sum(v.size for v in self.read[op] if _ends(v, op, placed))

    def peak(self, order: Sequence[int]) -> int:
        """The most registers live at once when the body runs in ``order``."""
        live = peak = self.at_start
        placed = 0
        for i in order:
            peak = max(peak, live + self.need(i, placed))
            live += self.change(i, placed)
            placed |= 1 << i
        return peak


def _ends(value: _Value, op: int, placed: int) -> bool:
    return value.readers & ~placed == 1 << op


def live_peak(body: LoopBody, order: Sequence[int]) -> int:
    """The most registers live at once when ``body`` runs in ``order``."""
    return Lifetimes.of(body).peak(order)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderResult:
    """An order with its makespan, registers and proof.

    ``vgpr_peak`` is the documented count (``vgpr_def`` added, ``vgpr_kill`` taken away);
    ``registers`` frees every value with its last reader.
    """

    order: tuple[int, ...]
    makespan: int
    vgpr_peak: int
    lower_bound: int  # no admissible order is faster than this
    exact: bool  # the search ended: this is the very order the definition names
    work: int  # ops placed by the search; 0 when the seed was good enough
    registers: int = 0  # most registers live at once, each freed by its last reader

    @classmethod
    def given(cls, body: LoopBody, order: Sequence[int]) -> OrderResult:
        """An order that no search made, evaluated; edges it breaks leave the bound at 0."""
        metrics = evaluate_schedule(body, order)
        try:
            bound = asap_lower_bound(body)
        except CycleError:
            bound = 0
        return cls(
            order=tuple(order),
            makespan=metrics.makespan,
            vgpr_peak=metrics.vgpr_peak,
            lower_bound=min(bound, metrics.makespan),
            exact=True,
            work=0,
            registers=live_peak(body, order),
        )

    @property
    def proven(self) -> bool:
        """Whether the makespan is proven to be the least possible."""
        return self.makespan <= self.lower_bound
