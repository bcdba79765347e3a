"""The document form of a compiled schedule: ``warploom.schedule/1`` as values and as JSON."""

from warploom.document.counters import (
    BarrierKind,
    Counters,
    KernelShape,
    Protocol,
    RegisterWaits,
    ScheduleDocument,
)
from warploom.document.forms import Dialect, dialect_of, read_schedule, write_schedule
from warploom.document.reader import read_counters, schedule_from_json
from warploom.document.witness import (
    Point,
    Step,
    StepKind,
    WaveId,
    Witness,
    witness_from_json,
    witness_to_json,
)
from warploom.document.writer import schedule_to_json
