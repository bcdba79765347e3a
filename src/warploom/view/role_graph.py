"""The dependence graph of a role document, read off its entries.

Nodes are the ops of the roles' loops. A copy feeds whoever reads its part of the slot, a reader
frees the slot for the copy ``depth`` iterations later, registers flow in program order and around
the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warploom.document.kinds import DepKind, OpRole
from warploom.document.ops import DepEdge
from warploom.document.rings import Per
from warploom.document.roles import BulkStore, Compute, Load, Mma, RoleEntry, RolesDocument

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
