"""Deriving dependence edges: a rule table applied to a priced body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.document.fields import all_of, instance, integer
from warploom.document.kinds import DepKind, KOffsetKind, OpRole
from warploom.document.ops import DepEdge, OpDesc
from warploom.errors import GraphError
from warploom.seed.config.pipeline import PipelineConfig
from warploom.seed.graph.rules import EdgeRule, double_buffer_edge_rules, single_buffer_edge_rules


@dataclass(frozen=True, slots=True)
class _Placed:
    """An op with the facts that rules ask about."""

    index: int
    op: OpDesc
    ordinal: int
    half: int
    loop_carried: bool


def derive_edges_from_ops(body: Sequence[OpDesc], config: PipelineConfig) -> list[DepEdge]:
    """The edges of a body by its depth: single-buffer rules for 1, double-buffer otherwise."""
    all_of(body, OpDesc, "body", "derive_edges_from_ops")
    instance(config, PipelineConfig, "config", "derive_edges_from_ops")
    rules = single_buffer_edge_rules(config) if config.depth == 1 else double_buffer_edge_rules()
    return apply_edge_rules(body, config, rules)


def apply_edge_rules(
    body: Sequence[OpDesc], config: PipelineConfig, rules: Sequence[EdgeRule]
) -> list[DepEdge]:
    """Edges rule by rule, inside a rule by producer, then by consumer."""
    placed = _place(body, config)
    by_role: dict[OpRole, list[_Placed]] = {}
    for item in placed:
        by_role.setdefault(item.op.role, []).append(item)
    middle = len(body) // 2
    edges = []
    for rule in rules:
        consumers = by_role.get(rule.consumer_role, [])
        for producer in by_role.get(rule.producer_role, []):
            for consumer in consumers:
                if not _accepts(rule, producer, consumer, config, middle):
                    continue
                edges.append(_edge(rule, producer, consumer))
                if rule.first_match_only:
                    break
    return edges


def _place(body: Sequence[OpDesc], config: PipelineConfig) -> list[_Placed]:
    seen: dict[OpRole, int] = {}
    placed = []
    for i, op in enumerate(body):
        ordinal = seen.get(op.role, 0)
        seen[op.role] = ordinal + 1
        placed.append(
            _Placed(
                index=i,
                op=op,
                ordinal=ordinal,
                half=0 if i < len(body) // 2 else 1,
                loop_carried=op.subtile == config.loop_carried.selector,
            )
        )
    return placed


def _accepts(rule: EdgeRule, p: _Placed, c: _Placed, config: PipelineConfig, middle: int) -> bool:
    return (
        p.index != c.index
        and rule.producer_ordinal in (-1, p.ordinal)
        and rule.consumer_ordinal in (-1, c.ordinal)
        and rule.lc_producer in (-1, int(p.loop_carried))
        and rule.lc_consumer in (-1, int(c.loop_carried))
        and rule.producer_half in (-1, p.half)
        and (not rule.match_channel or p.op.channel == c.op.channel)
        and (not rule.match_stage or p.op.stage == c.op.stage)
        and (not rule.match_subtile or p.op.subtile == c.op.subtile)
        and not (rule.same_half and p.half != c.half)
        and not (rule.cross_half and p.half == c.half)
        and (not rule.use_config_match or _feeds(p.op, c, config, middle))
        and _k_offset_fits(rule.k_offset_filter, c.op)
    )


def _feeds(fragment: OpDesc, mma: _Placed, config: PipelineConfig, middle: int) -> bool:
    """The fragment's stage selects the half, its subtile the MMA's row or column."""
    if (fragment.stage == 0) != (mma.index < middle):
        return False
    return config.compute_match_key(mma.op, fragment.channel) == fragment.subtile


def _k_offset_fits(wanted: int, consumer: OpDesc) -> bool:
    if wanted == 0:
        return True
    return (consumer.k_offset is KOffsetKind.K_PREV) == (wanted == 1)


def _edge(rule: EdgeRule, p: _Placed, c: _Placed) -> DepEdge:
    distance = rule.loop_distance
    if distance == -1:
        distance = 0 if p.op.k_offset is KOffsetKind.K_PREV else 1
    return DepEdge(p.index, c.index, rule.dep_kind, distance)


def derive_cross_stage_rotation_edges(body: Sequence[OpDesc]) -> list[DepEdge]:
    """Edges of fragments read from the other stage: to the next half's MMAs, after this half's."""
    all_of(body, OpDesc, "body", "derive_cross_stage_rotation_edges")
    middle = len(body) // 2
    edges = []
    for i, fragment in enumerate(body):
        half = 0 if i < middle else 1
        if not _is_rotated(fragment, half):
            continue
        for j, mma in enumerate(body):
            if not _uses_leading_quadrant(mma, fragment.channel):
                continue
            if (0 if j < middle else 1) == half:
                edges.append(DepEdge.anti(j, i))
            else:
                edges.append(DepEdge.flow(i, j, half))
    return edges


def filter_spurious_cross_stage_flow(
    edges: Sequence[DepEdge], body: Sequence[OpDesc]
) -> list[DepEdge]:
    """Drop flow edges from a rotated fragment to MMAs of its own half."""
    all_of(edges, DepEdge, "edges", "filter_spurious_cross_stage_flow")
    all_of(body, OpDesc, "body", "filter_spurious_cross_stage_flow")
    for i, edge in enumerate(edges):
        for name in ("producer_idx", "consumer_idx"):
            integer(
                getattr(edge, name),
                name,
                f"filter_spurious_cross_stage_flow.edges[{i}]",
                least=0,
                most=len(body) - 1,
                error=GraphError,
            )
    middle = len(body) // 2

    def spurious(edge: DepEdge) -> bool:
        half = 0 if edge.producer_idx < middle else 1
        return (
            edge.dep_kind is DepKind.FLOW
            and _is_rotated(body[edge.producer_idx], half)
            and body[edge.consumer_idx].role is OpRole.COMPUTE
            and (0 if edge.consumer_idx < middle else 1) == half
        )

    return [edge for edge in edges if not spurious(edge)]


def _is_rotated(op: OpDesc, half: int) -> bool:
    return op.role is OpRole.FRAGMENT_LOAD and op.subtile == 0 and op.stage != half


def _uses_leading_quadrant(op: OpDesc, channel: int) -> bool:
    if op.role is not OpRole.COMPUTE:
        return False
    return (channel == 0 and op.stage == 0) or (channel == 1 and op.subtile == 0)
