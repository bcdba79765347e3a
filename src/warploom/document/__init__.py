"""The document form of a compiled schedule: ``warploom.schedule/1`` as values and as JSON."""

from warploom.document.counters import (
    BarrierKind,
    Counters,
    KernelShape,
    Protocol,
    RegisterWaits,
    ScheduleDocument,
)
from warploom.document.forms import (
    read_schedule,
    schedule_from_json,
    schedule_to_json,
    write_schedule,
)
from warploom.document.witness import (
    Point,
    Step,
    StepKind,
    WaveId,
    Witness,
    witness_from_json,
    witness_to_json,
)
