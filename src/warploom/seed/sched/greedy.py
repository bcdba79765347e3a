"""Greedy orders: always the lowest-numbered op that is ready.

``greedy_schedule`` keeps the partitions of the body apart (a partition is a contiguous slice of
the op list, a half of the iteration in the two-partition case); ``simple_greedy_schedule`` knows no
partitions. Both place every op exactly once.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise

from warploom.document.kinds import OpRole
from warploom.errors import InfeasibleError, SchedulingError
from warploom.seed.graph.loop_body import LoopBody, binds


def partition_bounds(n: int, partitions: int) -> tuple[int, ...]:
    """Where each of ``partitions`` slices of ``n`` ops begins, closed by ``n``.

    The slices differ by at most one op; two partitions split at ``n // 2``.
    """
    if partitions < 1:
        raise SchedulingError(
            "a body needs at least one partition",
            where=f"partitions={partitions}",
            fix="pass a number of partitions of 1 or more",
        )
    return tuple(p * n // partitions for p in range(partitions + 1))


def check_partition_order(body: LoopBody, bounds: Sequence[int]) -> None:
    """Raise when some op waits, in the same iteration, for an op of a later partition."""
    starts = bounds[1:]
    for edge in body.edges:
        if not binds(edge):
            continue
        producer, consumer = (
            sum(s <= i for s in starts) for i in (edge.producer_idx, edge.consumer_idx)
        )
        if producer > consumer:
            raise InfeasibleError(
                "a partition waits for a later one",
                where=f"{edge.dep_kind.name} edge {body.label(edge.producer_idx)} (partition "
                f"{producer}) -> {body.label(edge.consumer_idx)} (partition {consumer})",
                why="partitions run one after the other, so this distance-0 edge cannot hold",
                fix="use the IDENTITY strategy with explicit blocks, or one partition, or give "
                "the edge a distance of 1",
            )


def ends_in_compute(body: LoopBody, order: Sequence[int], partitions: int) -> bool:
    """Whether every partition that has a COMPUTE ends in one, so that blocks can be cut."""
    compute = [body.ops[i].op.role is OpRole.COMPUTE for i in order]
    bounds = partition_bounds(len(body.ops), partitions)
    return all(not any(compute[lo:hi]) or compute[hi - 1] for lo, hi in pairwise(bounds))


def loads_within(body: LoopBody, order: Sequence[int], partitions: int, most: int) -> bool:
    """Whether at most ``most`` global loads (0: any number) come before each COMPUTE."""
    if most <= 0:
        return True
    starts, loads = partition_bounds(len(body.ops), partitions), 0
    for position, i in enumerate(order):
        role = body.ops[i].op.role
        if position in starts or role is OpRole.COMPUTE:
            loads = 0
        if role is OpRole.GLOBAL_LOAD:
            loads += 1
            if loads > most:
                return False
    return True


def greedy_schedule(body: LoopBody, partitions: int = 2) -> tuple[int, ...]:
    """Per partition, in turn: repeatedly append its lowest-numbered ready op."""
    body.validate()
    bounds = partition_bounds(len(body.ops), partitions)
    check_partition_order(body, bounds)
    preds, succs = body.predecessors(), body.successors()
    order: list[int] = []
    for lo, hi in pairwise(bounds):
        order += _smallest_order(preds, succs, lo, hi)
    return tuple(order)


def simple_greedy_schedule(body: LoopBody) -> tuple[int, ...]:
    """The lexicographically smallest order that respects every distance-0 edge."""
    return greedy_schedule(body, partitions=1)


def _smallest_order(
    preds: Sequence[Sequence[int]], succs: Sequence[Sequence[int]], lo: int, hi: int
) -> list[int]:
    """Smallest topological order of ops ``lo..hi-1``, everything before ``lo`` being placed."""
    waiting = {i: sum(p >= lo for p in preds[i]) for i in range(lo, hi)}
    ready = [i for i, count in waiting.items() if count == 0]
    order = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for c in succs[i]:
            if c < hi:
                waiting[c] -= 1
                if waiting[c] == 0:
                    heapq.heappush(ready, c)
    return order
