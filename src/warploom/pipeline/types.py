"""The documented value types of schedules: ops, costs, roles, resources, edges, phases, entries."""

from warploom.ir.schedule_ops import (
    DepEdge,
    DepKind,
    KOffsetKind,
    OpDesc,
    OpRole,
    Phase,
    ResourceKind,
    ScheduleEntry,
    ScheduleOps,
    previous,
)
from warploom.pipeline.cost_model import (
    OpCost,
    TargetCostModel,
    annotate_ops,
)
from warploom.pipeline.graph_builder.edges import (
    EdgeRule,
)

__all__ = [
    "DepEdge",
    "DepKind",
    "EdgeRule",
    "KOffsetKind",
    "OpCost",
    "OpDesc",
    "OpRole",
    "Phase",
    "ResourceKind",
    "ScheduleEntry",
    "ScheduleOps",
    "TargetCostModel",
    "annotate_ops",
    "previous",
]
