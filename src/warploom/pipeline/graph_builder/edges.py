"""Dependence edges: rules as data (which ops depend, over how many iterations), and their use."""

from collections.abc import Sequence

from warploom.dataclass import dataclass
from warploom.errors import GraphError
from warploom.ir.schedule_ops import DepEdge, DepKind, KOffsetKind, OpDesc, OpRole
from warploom.ir.validation import all_of, check_fields, instance, integer
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.graph_builder.named import check_names, is_named, named_edges

_BOUNDS = {
    "k_offset_filter": (0, 2),
    **dict.fromkeys(("producer_half", "lc_producer", "lc_consumer"), (-1, 1)),
}


@dataclass(frozen=True, slots=True)
class EdgeRule:
    """A pattern over (producer, consumer) pairs. Fields left at their default match anything.

    Attributes:
        producer_role: Role of the producer.
        consumer_role: Role of the consumer.
        dep_kind: Kind of the edges.
        loop_distance: Distance of the edges; -1 derives it from the producer's k-offset.
        match_channel: Channels must be equal.
        match_stage: Stages must be equal.
        match_subtile: Subtiles must be equal.
        use_config_match: The MMA's row or column matches the fragment's subtile.
        same_half: Both ops lie in one half of the body.
        cross_half: The ops lie in different halves.
        producer_half: Half of the producer; -1 any.
        k_offset_filter: 1: the consumer is K_PREV; 2: it is not; 0 any.
        lc_producer: 1: loop-carried producer; 0: not; -1 any.
        lc_consumer: The same for the consumer.
        producer_ordinal: N-th op of its role; -1 any.
        consumer_ordinal: The same for the consumer.
        first_match_only: One consumer per producer.
    """

    producer_role: OpRole = OpRole.NONE
    consumer_role: OpRole = OpRole.NONE
    dep_kind: DepKind = DepKind.FLOW
    loop_distance: int = 0
    match_channel: bool = False
    match_stage: bool = False
    match_subtile: bool = False
    use_config_match: bool = False
    same_half: bool = False
    cross_half: bool = False
    producer_half: int = -1
    k_offset_filter: int = 0
    lc_producer: int = -1
    lc_consumer: int = -1
    producer_ordinal: int = -1
    consumer_ordinal: int = -1
    first_match_only: bool = False

    def __post_init__(self) -> None:
        check_fields(self, least=-1, bounds=_BOUNDS)


_LOAD, _STORE, _FRAG = OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE, OpRole.FRAGMENT_LOAD
_MMA, _SYNC = OpRole.COMPUTE, OpRole.SYNC


def double_buffer_edge_rules() -> list[EdgeRule]:
    """Register flow, accumulator chain, LDS flow, LDS anti dependences."""
    return [
        EdgeRule(_FRAG, _MMA, use_config_match=True, same_half=True),
        EdgeRule(
            _MMA, _MMA, match_stage=True, match_subtile=True, cross_half=True, producer_half=0
        ),
        EdgeRule(
            _MMA,
            _MMA,
            loop_distance=1,
            match_stage=True,
            match_subtile=True,
            cross_half=True,
            producer_half=1,
        ),
        EdgeRule(_LOAD, _FRAG, loop_distance=-1, match_channel=True, match_stage=True),
        EdgeRule(
            _FRAG,
            _LOAD,
            dep_kind=DepKind.ANTI,
            match_channel=True,
            match_stage=True,
            k_offset_filter=2,
        ),
    ]


def single_buffer_edge_rules(config: PipelineConfig | None = None) -> list[EdgeRule]:
    """Flow through the one buffer, ordered by its two barriers. ``config`` is not needed."""
    del config
    return [
        EdgeRule(
            _FRAG, _MMA, match_subtile=True, lc_producer=0, lc_consumer=0, first_match_only=True
        ),
        EdgeRule(_SYNC, _STORE, producer_ordinal=0),
        EdgeRule(_STORE, _SYNC, consumer_ordinal=1),
        EdgeRule(_SYNC, _FRAG, producer_ordinal=1, lc_consumer=1),
        EdgeRule(_FRAG, _SYNC, dep_kind=DepKind.ANTI, lc_producer=0, consumer_ordinal=0),
        EdgeRule(_FRAG, _MMA, loop_distance=1, lc_producer=1, lc_consumer=1),
        EdgeRule(_LOAD, _STORE, loop_distance=1),
        EdgeRule(_FRAG, _STORE, dep_kind=DepKind.ANTI, loop_distance=1, lc_producer=1),
    ]


@dataclass(frozen=True, slots=True)
class _Placed:
    """An op with the facts that rules ask about."""

    index: int
    op: OpDesc
    ordinal: int
    half: int
    loop_carried: bool


def derive_edges_from_ops(body: Sequence[OpDesc], config: PipelineConfig) -> list[DepEdge]:
    """The edges of a body by its depth: single-buffer rules for 1, double-buffer otherwise.

    Where ops name their values, these say what depends on what.
    """
    all_of(body, OpDesc, "body", "derive_edges_from_ops")
    instance(config, PipelineConfig, "config", "derive_edges_from_ops")
    if is_named(body):
        check_names(body)
        return named_edges(body)
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
    return True if wanted == 0 else (consumer.k_offset is KOffsetKind.K_PREV) == (wanted == 1)


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
