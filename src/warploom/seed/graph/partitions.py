"""Edges for bodies with any number of K-partitions.

The documented rules cut a body into two halves. With another number of partitions they relate
fragments and MMAs of different partitions, which no order can satisfy. Searches then use these
edges instead; for two partitions the documented ones stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from warploom.document.kinds import OpRole
from warploom.document.ops import DepEdge, OpDesc
from warploom.seed.config.pipeline import PipelineConfig
from warploom.seed.graph.edges import apply_edge_rules, derive_edges_from_ops
from warploom.seed.graph.rules import double_buffer_edge_rules


def search_edges(
    body: Sequence[OpDesc], edges: Sequence[DepEdge], config: PipelineConfig
) -> tuple[DepEdge, ...]:
    """The edges a search must keep: the given ones, unless they are defaults cut at two halves."""
    if config.num_partitions == 2 or list(edges) != derive_edges_from_ops(body, config):
        return tuple(edges)
    return tuple(partition_edges(body, config))


def partition_edges(body: Sequence[OpDesc], config: PipelineConfig) -> list[DepEdge]:
    """Register flow inside partitions, accumulators along them, LDS flow and anti dependences."""
    through_lds = [
        rule
        for rule in double_buffer_edge_rules()
        if OpRole.GLOBAL_LOAD in (rule.producer_role, rule.consumer_role)
    ]
    return [
        *_register_flow(body, config),
        *_accumulator_chain(body, config),
        *apply_edge_rules(body, config, through_lds),
    ]


def _partitions(body: Sequence[OpDesc], config: PipelineConfig) -> list[range]:
    count = max(config.num_partitions, 1)
    size = len(body) // count
    return [range(p * size, (p + 1) * size) for p in range(count)]


def _register_flow(body: Sequence[OpDesc], config: PipelineConfig) -> list[DepEdge]:
    return [
        DepEdge.flow(i, j)
        for part in _partitions(body, config)
        for i in part
        for j in part
        if body[i].role is OpRole.FRAGMENT_LOAD
        and body[j].role is OpRole.COMPUTE
        and config.compute_match_key(body[j], body[i].channel) == body[i].subtile
    ]


def _accumulator_chain(body: Sequence[OpDesc], config: PipelineConfig) -> list[DepEdge]:
    parts = _partitions(body, config)
    steps = [(now, following, 0) for now, following in pairwise(parts)]
    return [
        DepEdge.flow(i, j, distance)
        for now, following, distance in (*steps, (parts[-1], parts[0], 1))
        for i in now
        for j in following
        if body[i].role is body[j].role is OpRole.COMPUTE
        and (body[i].stage, body[i].subtile) == (body[j].stage, body[j].subtile)
    ]
