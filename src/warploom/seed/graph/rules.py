"""Edge rules as data: which pairs of ops depend on each other, and over how many iterations."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.document.fields import judge
from warploom.document.kinds import DepKind, OpRole
from warploom.seed.config.pipeline import PipelineConfig

_BOUNDS = {
    "k_offset_filter": (0, 2),
    **dict.fromkeys(("producer_half", "lc_producer", "lc_consumer"), (-1, 1)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
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
        judge(self, least=-1, bounds=_BOUNDS)


_LOAD, _STORE, _FRAG = OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE, OpRole.FRAGMENT_LOAD
_MMA, _SYNC = OpRole.COMPUTE, OpRole.SYNC


def double_buffer_edge_rules() -> list[EdgeRule]:
    """Register flow, accumulator chain, LDS flow, LDS anti dependences."""
    return [
        EdgeRule(producer_role=_FRAG, consumer_role=_MMA, use_config_match=True, same_half=True),
        EdgeRule(
            producer_role=_MMA,
            consumer_role=_MMA,
            match_stage=True,
            match_subtile=True,
            cross_half=True,
            producer_half=0,
        ),
        EdgeRule(
            producer_role=_MMA,
            consumer_role=_MMA,
            loop_distance=1,
            match_stage=True,
            match_subtile=True,
            cross_half=True,
            producer_half=1,
        ),
        EdgeRule(
            producer_role=_LOAD,
            consumer_role=_FRAG,
            loop_distance=-1,
            match_channel=True,
            match_stage=True,
        ),
        EdgeRule(
            producer_role=_FRAG,
            consumer_role=_LOAD,
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
            producer_role=_FRAG,
            consumer_role=_MMA,
            match_subtile=True,
            lc_producer=0,
            lc_consumer=0,
            first_match_only=True,
        ),
        EdgeRule(producer_role=_SYNC, consumer_role=_STORE, producer_ordinal=0),
        EdgeRule(producer_role=_STORE, consumer_role=_SYNC, consumer_ordinal=1),
        EdgeRule(producer_role=_SYNC, consumer_role=_FRAG, producer_ordinal=1, lc_consumer=1),
        EdgeRule(
            producer_role=_FRAG,
            consumer_role=_SYNC,
            dep_kind=DepKind.ANTI,
            lc_producer=0,
            consumer_ordinal=0,
        ),
        EdgeRule(
            producer_role=_FRAG, consumer_role=_MMA, loop_distance=1, lc_producer=1, lc_consumer=1
        ),
        EdgeRule(producer_role=_LOAD, consumer_role=_STORE, loop_distance=1),
        EdgeRule(
            producer_role=_FRAG,
            consumer_role=_STORE,
            dep_kind=DepKind.ANTI,
            loop_distance=1,
            lc_producer=1,
        ),
    ]
