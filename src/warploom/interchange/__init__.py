"""The document form of a compiled schedule: ``warploom.schedule/1`` as values and as JSON."""

from warploom.interchange.document import (
    SCHEMA,
    BarrierKind,
    Counters,
    Protocol,
    RegisterWaits,
    ScheduleDocument,
)
from warploom.interchange.reader import read_schedule, schedule_from_json
from warploom.interchange.writer import schedule_to_json, write_schedule

__all__ = [
    "SCHEMA",
    "BarrierKind",
    "Counters",
    "Protocol",
    "RegisterWaits",
    "ScheduleDocument",
    "read_schedule",
    "schedule_from_json",
    "schedule_to_json",
    "write_schedule",
]
