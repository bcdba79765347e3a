"""The critical recurrence: the cycle of dependences that bounds the initiation interval.

A cycle whose edges carry ``latency`` cycles in all over ``distance`` iterations needs
``II >= latency / distance``. Every edge is taken to cost its producer's latency, as the dependence
graph does. This is for showing; the exact scheduler has its own bound on its own model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from warploom.document.kinds import OpRole
from warploom.document.ops import DepEdge
from warploom.errors import CycleError, GraphError


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

    Each round looks for a cycle that is too long for the best interval so far, and takes its
    interval; there are finitely many cycles and the interval only grows, so this ends.
    """
    check_graph(body, edges)
    best: Recurrence | None = None
    bound = Fraction(-1)  # below every interval, so that a cycle of latency 0 is found too
    while True:
        cycle = _positive_cycle(body, edges, bound)
        if cycle is None:
            return best
        found = Recurrence(
            edges=tuple(cycle),
            latency=sum(body[edges[i].producer_idx].latency for i in cycle),
            distance=sum(edges[i].loop_distance for i in cycle),
        )
        if found.distance == 0:
            names = " > ".join(body[edges[i].producer_idx].label() for i in cycle)
            raise CycleError("edges of distance 0 form a cycle", where=names)
        best, bound = found, found.interval


def _positive_cycle(
    body: Sequence[Node], edges: Sequence[DepEdge], interval: Fraction
) -> list[int] | None:
    """A cycle with more latency than ``interval`` allows (Bellman-Ford), as edge indices."""
    start = [Fraction(0)] * len(body)
    reached: list[int | None] = [None] * len(body)
    last: int | None = None
    for _ in range(len(body) + 1):
        last = None
        for i, edge in enumerate(edges):
            weight = body[edge.producer_idx].latency - interval * edge.loop_distance
            time = start[edge.producer_idx] + weight
            if time > start[edge.consumer_idx]:
                start[edge.consumer_idx], reached[edge.consumer_idx] = time, i
                last = edge.consumer_idx
        if last is None:
            return None
    return _walk_back(edges, reached, last)


def _walk_back(
    edges: Sequence[DepEdge], reached: Sequence[int | None], node: int | None
) -> list[int] | None:
    """Follow the edges that last moved each op until an op repeats: that loop is the cycle."""
    path: list[int] = []
    seen: dict[int, int] = {}
    while node is not None and node not in seen:
        seen[node] = len(path)
        edge = reached[node]
        if edge is None:
            return None
        path.append(edge)
        node = edges[edge].producer_idx
    return None if node is None else path[seen[node] :][::-1]
