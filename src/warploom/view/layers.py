"""A simple layered layout: columns by same-iteration dependence, few crossings within them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.document.ops import DepEdge
from warploom.errors import CycleError

SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Point:
    """A node's column and its place in it, in steps; rows may be fractional."""

    layer: int
    row: float


def layered_layout(nodes: int, edges: Sequence[DepEdge]) -> tuple[Point, ...]:
    """Where each node goes. Raises CycleError when distance-0 edges form a cycle."""
    pairs = sorted({(e.producer_idx, e.consumer_idx) for e in edges if e.loop_distance == 0})
    layers = _layers(nodes, pairs)
    columns: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for node, layer in enumerate(layers):
        columns[layer].append(node)
    tallest = max((len(column) for column in columns), default=0)
    rows = _order_columns(nodes, columns, pairs, tallest)
    return tuple(Point(layers[node], rows[node]) for node in range(nodes))


def _layers(nodes: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Longest path from the left; then sources move right, next to what they feed."""
    preds: list[list[int]] = [[] for _ in range(nodes)]
    succs: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in pairs:
        preds[b].append(a)
        succs[a].append(b)
    waiting = [len(p) for p in preds]
    order = [n for n in range(nodes) if not waiting[n]]
    for node in order:
        for after in succs[node]:
            waiting[after] -= 1
            if not waiting[after]:
                order.append(after)
    if len(order) < nodes:
        raise CycleError(
            "edges of distance 0 form a cycle",
            where=f"ops {sorted(set(range(nodes)) - set(order))}",
        )
    layer = [0] * nodes
    for node in order:
        layer[node] = max((layer[p] + 1 for p in preds[node]), default=0)
    for node in reversed(order):
        if not preds[node] and succs[node]:
            layer[node] = min(layer[s] for s in succs[node]) - 1
    return layer


def _order_columns(
    nodes: int, columns: list[list[int]], pairs: Sequence[tuple[int, int]], tallest: int
) -> list[float]:
    """Sweep left and right; each node goes to the mean row of its neighbours."""
    near: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in pairs:
        near[a].append(b)
        near[b].append(a)
    rows = [0.0] * nodes
    for column in columns:
        _spread(column, rows, tallest)
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            mean = {n: sum(rows[m] for m in near[n]) / len(near[n]) for n in column if near[n]}
            column.sort(key=lambda n: (mean.get(n, rows[n]), n))
            _spread(column, rows, tallest)
    return rows


def _spread(column: Sequence[int], rows: list[float], tallest: int) -> None:
    """Place a column's nodes one step apart, centred against the tallest column."""
    first = (tallest - len(column)) / 2
    for i, node in enumerate(column):
        rows[node] = first + i
