"""The documented value types of schedules: ops, roles, resources, edges, phases, entries."""

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
)

__all__ = [
    "DepEdge",
    "DepKind",
    "KOffsetKind",
    "OpDesc",
    "OpRole",
    "Phase",
    "ResourceKind",
    "ScheduleEntry",
    "ScheduleOps",
]
