"""Edges for bodies with any number of K-partitions.

The documented rules cut a body into two halves. With another number of partitions they relate
fragments and MMAs of different partitions, which no order can satisfy. Searches then use these
edges instead; for two partitions the documented ones stand.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.graph_builder.edges import (
    EdgeRule,
    apply_edge_rules,
    derive_edges_from_ops,
    double_buffer_edge_rules,
)


def edge_choices(
    body: Sequence[OpDesc], edges: Sequence[DepEdge], config: PipelineConfig
) -> list[tuple[DepEdge, ...]]:
    """The edges a search must keep, and what to fall back on where they leave no order.

    Edges a schedule states itself have no alternative. Derived ones are over-cautious about LDS;
    slot by slot they say the same of the data.
    """
    if not edges or list(edges) not in (
        derive_edges_from_ops(body, config),
        partition_edges(body, config),
    ):
        return [tuple(edges)]
    by_stage = edges if config.num_partitions == 2 else partition_edges(body, config)
    return [tuple(by_stage), tuple(slot_edges(body, config))]


def partition_edges(body: Sequence[OpDesc], config: PipelineConfig) -> list[DepEdge]:
    """Register flow inside partitions, accumulators along them, LDS flow and anti dependences."""
    return [
        *_register_flow(body, config),
        *_accumulator_chain(body, config),
        *apply_edge_rules(body, config, _through_lds(by_slot=False)),
    ]


def slot_edges(body: Sequence[OpDesc], config: PipelineConfig) -> list[DepEdge]:
    """The same with dependences through LDS slot by slot: channel, stage and sub-tile.

    The documented rules let a load wait for every read of its stage. Only reads of its own slot
    matter; where the rules leave no order, these edges may.
    """
    return [
        *_register_flow(body, config),
        *_accumulator_chain(body, config),
        *apply_edge_rules(body, config, _through_lds(by_slot=True)),
    ]


def rotation_edges(body: Sequence[OpDesc], config: PipelineConfig) -> list[DepEdge]:
    """Edges of a rotating body: leading fragments are read one partition ahead, from its stage.

    A rotated read follows the MMAs of its own partition that use the same registers and feeds
    those of the next one. Through LDS, order in the body tells a slot's old tile from its new one.
    """
    parts = _partitions(body, config)
    home = {i: p for p, part in enumerate(parts) for i in part}
    edges = []
    for i, j in product(range(len(body)), repeat=2):
        if body[i].role is not OpRole.FRAGMENT_LOAD or body[j].role is not OpRole.COMPUTE:
            continue
        if config.compute_match_key(body[j], body[i].channel) != body[i].subtile:
            continue
        feeds = body[i].stage  # partition p computes the tile of stage p
        if home[j] == feeds:
            edges.append(DepEdge.flow(i, j, int(feeds < home[i])))
        elif home[j] == home[i]:
            edges.append(DepEdge.anti(j, i))
    for i, j in product(range(len(body)), repeat=2):
        load, read = body[i], body[j]
        if load.role is not OpRole.GLOBAL_LOAD or read.role is not OpRole.FRAGMENT_LOAD:
            continue
        if _slot(load) == _slot(read):
            edges.append(DepEdge.flow(i, j, int(j < i)))
            edges.append(DepEdge.anti(j, i, int(i < j)))
    return [*edges, *_accumulator_chain(body, config)]


def _slot(op: OpDesc) -> tuple[int, int, int]:
    return op.channel, op.stage, op.subtile


def _through_lds(*, by_slot: bool) -> list[EdgeRule]:
    return [
        replace(rule, match_subtile=by_slot)
        for rule in double_buffer_edge_rules()
        if OpRole.GLOBAL_LOAD in (rule.producer_role, rule.consumer_role)
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
