"""The graph of a role document, and the recurrence that bounds an initiation interval.

A cycle whose edges carry ``latency`` cycles in all over ``distance`` iterations needs
``II >= latency / distance``. Every edge is taken to cost its producer's latency, as the dependence
graph does.

Nodes are the ops of the roles' loops. A copy feeds whoever reads its part of the slot, a reader
frees the slot for the copy ``depth`` iterations later, registers flow in program order and around
the loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from warploom.errors import CycleError, GraphError
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
                body[e.producer_idx].latency * bound.denominator,
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
            latency=sum(body[a.src].latency for a in cycle),
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

    def label(self) -> str:
        """The op's name and role."""
        return f"{self.program} {self.name}"


def role_graph(
    document: RolesDocument, latency: Callable[[str], int] | None = None
) -> tuple[tuple[RoleNode, ...], tuple[DepEdge, ...]]:
    """Nodes and edges of the loops; ``latency`` prices an op by its name (default 1)."""
    found = [
        (program.name, entry)
        for program in document.programs
        for entry in program.kernel
        if isinstance(entry, Op)
    ]
    price = latency or (lambda op: 1)
    nodes = tuple(RoleNode(program, e.op, _ROLES[type(e)], price(e.op)) for program, e in found)
    edges = [*_ring_edges(document, found)]
    for program in document.programs:
        indices = [i for i, (name, _) in enumerate(found) if name == program.name]
        edges += _register_edges([(i, found[i][1]) for i in indices])
    return nodes, tuple(dict.fromkeys(edges))


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
