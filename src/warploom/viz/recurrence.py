"""The graph of a role document, and the recurrence that bounds an initiation interval.

A cycle whose edges carry ``latency`` cycles in all over ``distance`` iterations needs
``II >= latency / distance``. An edge costs its producer's latency, as in the dependence
graph. One does not: a product that adds to the accumulator of the product before it may be issued
while that one runs, since the tensor core adds them in order. Such an edge costs the cycles for
which the first product holds its unit.

Nodes are the ops of the roles' loops. A copy feeds whoever reads its part of the slot, a reader
frees the slot for the copy ``depth`` iterations later, registers flow in program order and around
the loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from warploom.dataclass import dataclass
from warploom.errors import CycleError, GraphError
from warploom.ir.machine_costs import OpTiming
from warploom.ir.mbarrier_dialect import BulkStore, Compute, Load, Mma, RoleEntry, RolesDocument
from warploom.ir.rings import Per
from warploom.ir.schedule_ops import DepEdge, DepKind, OpRole
from warploom.modulo.bounds.paths import Cycle, Paths
from warploom.modulo.bounds.system import Arc


class Node(Protocol):
    """An op of a graph, of whichever dialect."""

    @property
    def role(self) -> OpRole:
        """What kind of op it is."""

    @property
    def latency(self) -> int:
        """Cycles until its result may be used."""

    def label(self) -> str:
        """A short readable form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A cycle of edges (indices into the edge list, in order) and what it costs."""

    edges: tuple[int, ...]
    latency: int
    distance: int

    @property
    def interval(self) -> Fraction:
        """The initiation interval this cycle forces."""
        return Fraction(self.latency, self.distance)


def check_graph(body: Sequence[Node], edges: Sequence[DepEdge]) -> None:
    """Raise GraphError for an edge that leaves the body or has a negative distance."""
    for i, edge in enumerate(edges):
        ends = (edge.producer_idx, edge.consumer_idx)
        if not all(0 <= end < len(body) for end in ends) or edge.loop_distance < 0:
            raise GraphError(
                f"edge {i} joins {ends[0]} and {ends[1]} over distance {edge.loop_distance}",
                why=f"the body has ops 0..{len(body) - 1} and distances are not negative",
            )


def edge_cycles(body: Sequence[Node], edge: DepEdge) -> int:
    """Cycles from the issue of the edge's producer until its consumer may be issued."""
    first, second = body[edge.producer_idx], body[edge.consumer_idx]
    if isinstance(first, RoleNode) and isinstance(second, RoleNode) and first.chains(second):
        return first.occupancy
    return first.latency


def critical_recurrence(body: Sequence[Node], edges: Sequence[DepEdge]) -> Recurrence | None:
    """The cycle with the largest latency per iteration, or None when there is no cycle.

    Each cycle found is too long for the best interval so far, and gives the next one; there are
    finitely many cycles and the interval only grows, so this ends.
    """
    check_graph(body, edges)
    best: Recurrence | None = None
    bound = Fraction(-1)  # below every interval, so that a cycle of latency 0 is found too
    while True:
        # Times in parts of a cycle: then the interval is a whole number of them.
        arcs = {
            Arc(
                e.producer_idx,
                e.consumer_idx,
                edge_cycles(body, e) * bound.denominator,
                e.loop_distance,
                str(i),
            ): i
            for i, e in enumerate(edges)
        }
        cycle = Paths(len(body), tuple(arcs)).at(bound.numerator)
        if not isinstance(cycle, Cycle):
            return best
        found = Recurrence(
            edges=tuple(arcs[a] for a in cycle),
            latency=sum(edge_cycles(body, edges[arcs[a]]) for a in cycle),
            distance=sum(a.distance for a in cycle),
        )
        if found.distance == 0:
            names = " > ".join(body[a.src].label() for a in cycle)
            raise CycleError("edges of distance 0 form a cycle", where=names)
        best, bound = found, found.interval


Op = Load | Mma | Compute | BulkStore
_ROLES = {
    Load: OpRole.GLOBAL_LOAD,
    Mma: OpRole.COMPUTE,
    Compute: OpRole.VALU_COMPUTE,
    BulkStore: OpRole.SHARED_STORE,
}


@dataclass(frozen=True, slots=True)
class RoleNode:
    """One op of a role's loop, in the form the graph pictures take."""

    program: str
    name: str
    role: OpRole
    latency: int
    occupancy: int = 0
    accumulator: str = ""  # of a product that adds to what is there
    operands: tuple[str, ...] = ()  # registers that a product multiplies

    def chains(self, later: "RoleNode") -> bool:
        """Whether the later product adds to this one's sum and uses it in no other way."""
        same = bool(self.accumulator) and self.accumulator == later.accumulator
        return same and self.accumulator not in later.operands

    def label(self) -> str:
        """The op's name and role."""
        return f"{self.program} {self.name}"


def role_graph(
    document: RolesDocument, timing: Callable[[str], OpTiming] | None = None
) -> tuple[tuple[RoleNode, ...], tuple[DepEdge, ...]]:
    """Nodes and edges of the loops; ``timing`` prices an op by its name (default 1 cycle)."""
    found = [
        (program.name, entry)
        for program in document.programs
        for entry in program.kernel
        if isinstance(entry, Op)
    ]
    price = timing or (lambda op: OpTiming(issue=1, occupancy=1, latency=1))
    nodes = tuple(_node(program, entry, price(entry.op)) for program, entry in found)
    edges = [*_ring_edges(document, found)]
    for program in document.programs:
        indices = [i for i, (name, _) in enumerate(found) if name == program.name]
        edges += _register_edges([(i, found[i][1]) for i in indices])
    return nodes, tuple(dict.fromkeys(edges))


def _node(program: str, entry: Op, timing: OpTiming) -> RoleNode:
    node = RoleNode(program, entry.op, _ROLES[type(entry)], timing.latency, timing.occupancy)
    if isinstance(entry, Mma) and entry.accumulate:
        return replace(node, accumulator=entry.accumulator, operands=entry.registers)
    return node


def _ring_edges(document: RolesDocument, found: Sequence[tuple[str, RoleEntry]]) -> list[DepEdge]:
    edges = []
    for i, (_, copy) in enumerate(found):
        if not isinstance(copy, Load) or document.ring(copy.ring).per is Per.TILE:
            continue
        depth = document.ring(copy.ring).depth
        for j, (_, reader) in enumerate(found):
            if not isinstance(reader, Mma | Compute):
                continue
            if any((s.ring, s.part) == (copy.ring, copy.part) for s in reader.slots):
                ahead = copy.k - reader.k
                edges.append(_edge(i, j, DepKind.FLOW, max(0, ahead)))
                edges.append(_edge(j, i, DepKind.ANTI, max(1, depth - ahead)))
    return edges


def _register_edges(ops: Sequence[tuple[int, RoleEntry]]) -> list[DepEdge]:
    """From each write of a register to the reads it reaches, once around the loop."""
    edges = []
    for at, (i, entry) in enumerate(ops):
        for name in _writes(entry):
            for step in range(1, len(ops) + 1):
                j, reader = ops[(at + step) % len(ops)]
                if name in _reads(reader):
                    edges.append(_edge(i, j, DepKind.FLOW, 0 if at + step < len(ops) else 1))
                if name in _writes(reader):
                    break
    return edges


def _reads(entry: RoleEntry) -> tuple[str, ...]:
    match entry:
        case Mma():
            own = (entry.accumulator,) if entry.accumulate else ()
            return (*entry.registers, *own)
        case Compute():
            return entry.reads
        case _:
            return ()


def _writes(entry: RoleEntry) -> tuple[str, ...]:
    match entry:
        case Mma():
            return (entry.accumulator,)
        case Compute():
            return entry.writes
        case _:
            return ()


def _edge(a: int, b: int, kind: DepKind, distance: int) -> DepEdge:
    return DepEdge(producer_idx=a, consumer_idx=b, dep_kind=kind, loop_distance=distance)
