"""Builders of bodies and entries, as documented."""

from warploom.ir.schedule_ops import (
    ScheduleEntry,
)
from warploom.pipeline.body import (
    EntryBuilder,
    Pipe,
    PipelineBody,
    pipe,
)

__all__ = [
    "EntryBuilder",
    "Pipe",
    "PipelineBody",
    "ScheduleEntry",
    "pipe",
]
