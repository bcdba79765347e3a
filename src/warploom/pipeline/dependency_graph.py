"""The graph of a loop body, as documented."""

from warploom.pipeline.graph_builder.loop_body import (
    LoopBody,
    OpNode,
    ScheduleMetrics,
)

__all__ = [
    "LoopBody",
    "OpNode",
    "ScheduleMetrics",
]
