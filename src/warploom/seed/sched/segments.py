"""Optimising a body between its fixed sync ops."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.document.kinds import OpRole
from warploom.document.ops import DepEdge, OpDesc
from warploom.seed.config.pipeline import PipelineConfig
from warploom.seed.graph.edges import derive_edges_from_ops
from warploom.seed.graph.loop_body import LoopBody
from warploom.seed.sched.csp import optimal_schedule


def optimize_within_barriers(body: Sequence[OpDesc], config: PipelineConfig) -> list[OpDesc]:
    """Order each run of ops between sync ops for the least makespan; sync ops stay."""
    edges = derive_edges_from_ops(body, config)
    out: list[OpDesc] = []
    start = 0
    for end in [*(i for i, op in enumerate(body) if op.role is OpRole.SYNC), len(body)]:
        out += _ordered(body[start:end], edges, start)
        out += body[end : end + 1]
        start = end + 1
    return out


def _ordered(ops: Sequence[OpDesc], edges: Sequence[DepEdge], start: int) -> list[OpDesc]:
    if len(ops) <= 1:
        return list(ops)
    inside = range(start, start + len(ops))
    local = [
        DepEdge(e.producer_idx - start, e.consumer_idx - start, e.dep_kind, 0)
        for e in edges
        if e.loop_distance == 0 and e.producer_idx in inside and e.consumer_idx in inside
    ]
    return [ops[i] for i in optimal_schedule(LoopBody.of(ops, local)).order]
