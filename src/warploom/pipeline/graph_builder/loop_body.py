"""``LoopBody``: the ops of one iteration and the edges between them, with ASAP and ALAP times.

Pure data plus analysis; ordering is the next step. Only edges of distance 0 bind ops of the
same iteration, so only they take part in the analysis. (A negative distance, which no rule yields,
is even stricter and treated like 0.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from warploom.dataclass import dataclass
from warploom.errors import CycleError, GraphError
from warploom.ir.schedule_ops import DepEdge, OpDesc, ResourceKind
from warploom.ir.validation import all_of, instance, integer
from warploom.repr_html import Pictured


@dataclass(frozen=True, slots=True)
class OpNode:
    """An op in the graph. A negative latency means the op's own."""

    op: OpDesc
    latency: int = -1

    def __post_init__(self) -> None:
        instance(self.op, OpDesc, "op", "OpNode")
        integer(self.latency, "latency", "OpNode")
        if self.latency < 0:
            object.__setattr__(self, "latency", self.op.latency)

    @property
    def resource(self) -> ResourceKind:
        """The unit the op occupies."""
        return self.op.resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleMetrics:
    """What one order costs: time to the last finish, and the most registers live at once."""

    makespan: int
    vgpr_peak: int


def binds(edge: DepEdge) -> bool:
    """Whether the edge orders two ops of the same iteration."""
    return edge.loop_distance <= 0


@dataclass(frozen=True, slots=True)
class LoopBody(Pictured):
    """Ops and edges of one iteration. Build it with ``LoopBody.of``, which takes bare ops too."""

    ops: tuple[OpNode, ...] = ()
    edges: tuple[DepEdge, ...] = ()

    @classmethod
    def of(cls, ops: Iterable[OpNode | OpDesc], edges: Iterable[DepEdge] = ()) -> LoopBody:
        """A body of nodes or bare ops, checked: every edge must join two of its ops."""
        instance(ops, Iterable, "ops", "LoopBody")
        instance(edges, Iterable, "edges", "LoopBody")
        ops, edges = list(ops), list(edges)
        all_of(ops, (OpNode, OpDesc), "ops", "LoopBody")
        all_of(edges, DepEdge, "edges", "LoopBody", error=GraphError)
        nodes = tuple(op if isinstance(op, OpNode) else OpNode(op) for op in ops)
        body = cls(nodes, tuple(edges))
        body.check_edges()
        return body

    def __len__(self) -> int:
        return len(self.ops)

    def label(self, index: int) -> str:
        """An op as errors name it, e.g. ``op 3 MMA[0,1]``."""
        return f"op {index} {self.ops[index].op.label()}"

    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """Per op, the ops of the same iteration it waits for; ascending, no duplicates."""
        return self._neighbours((e.consumer_idx, e.producer_idx) for e in self._same_iteration())

    def successors(self) -> tuple[tuple[int, ...], ...]:
        """Per op, the ops of the same iteration that wait for it; ascending, no duplicates."""
        return self._neighbours((e.producer_idx, e.consumer_idx) for e in self._same_iteration())

    def topological_order(self) -> tuple[int, ...]:
        """Some order that respects every distance-0 edge; CycleError when there is none."""
        succs = self.successors()
        waiting = [len(p) for p in self.predecessors()]
        order = [i for i, count in enumerate(waiting) if count == 0]
        for i in order:
            for c in succs[i]:
                waiting[c] -= 1
                if waiting[c] == 0:
                    order.append(c)
        if len(order) < len(self.ops):
            raise self._cycle_error(frozenset(i for i, count in enumerate(waiting) if count > 0))
        return tuple(order)

    def compute_asap(self) -> tuple[int, ...]:
        """Earliest start of every op when units are unlimited."""
        preds = self.predecessors()
        start = [0] * len(self.ops)
        for i in self.topological_order():
            start[i] = max((start[p] + self.ops[p].latency for p in preds[i]), default=0)
        return tuple(start)

    def compute_alap(self, makespan: int) -> tuple[int, ...]:
        """Latest start of every op that still lets everything finish by ``makespan``."""
        succs = self.successors()
        start = [makespan - node.latency for node in self.ops]
        for i in reversed(self.topological_order()):
            latency = self.ops[i].latency
            start[i] = min([start[i], *(start[c] - latency for c in succs[i])])
        return tuple(start)

    def validate(self) -> None:
        """Raise GraphError for a malformed edge, CycleError when distance-0 edges form a cycle."""
        self.check_edges()
        self.topological_order()

    def check_edges(self) -> None:
        """Raise GraphError for an edge out of range or, at distance 0, from an op to itself."""
        for position, edge in enumerate(self.edges):
            self._check_edge(position, edge)

    def _check_edge(self, position: int, edge: DepEdge) -> None:
        n = len(self.ops)
        where = (
            f"edge {position}: {edge.producer_idx} -> {edge.consumer_idx}, "
            f"{edge.dep_kind.name}, distance {edge.loop_distance}"
        )
        if not (0 <= edge.producer_idx < n and 0 <= edge.consumer_idx < n):
            raise GraphError(
                "an edge names an op that does not exist",
                where=where,
                why=f"the body has {n} ops, numbered 0..{n - 1}",
                fix="derive the edges from this body, or correct the index",
            )
        if binds(edge) and edge.producer_idx == edge.consumer_idx:
            raise GraphError(
                "an op depends on itself in the same iteration",
                where=f"{where} ({self.label(edge.producer_idx)})",
                why="it could never start",
                fix="drop the edge, or give it a distance of 1 or more",
            )

    def _same_iteration(self) -> Iterable[DepEdge]:
        return (e for e in self.edges if binds(e))

    def _neighbours(self, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
        found: list[set[int]] = [set() for _ in self.ops]
        for i, j in pairs:
            found[i].add(j)
        return tuple(tuple(sorted(s)) for s in found)

    def _cycle_error(self, stuck: frozenset[int]) -> CycleError:
        cycle = _find_cycle(self.predecessors(), stuck)
        path = " -> ".join(self.label(i) for i in (*cycle, cycle[0]))
        return CycleError(
            f"{len(cycle)} ops wait for each other in the same iteration",
            where=path,
            why="edges of distance 0 form a cycle, so no order exists",
            fix="give one edge of the cycle a distance of 1 or more, or drop it",
        )


def _find_cycle(preds: Sequence[Sequence[int]], stuck: frozenset[int]) -> list[int]:
    """A cycle among ops that never became ready: walk back until an op repeats."""
    path = [min(stuck)]
    while True:
        earlier = next(p for p in preds[path[-1]] if p in stuck)
        if earlier in path:
            return path[path.index(earlier) :][::-1]
        path.append(earlier)
