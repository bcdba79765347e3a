"""The document form of a compiled schedule: ``warploom.schedule/1`` as values and as JSON."""

from warploom.document.counters import (
    SCHEMA,
    BarrierKind,
    Counters,
    KernelShape,
    Protocol,
    RegisterWaits,
    ScheduleDocument,
)
from warploom.document.forms import (
    Dialect,
    Schedule,
    dialect_of,
    document_from_json,
    read_schedule,
    write_schedule,
)
from warploom.document.given import HasDocument, document_of
from warploom.document.reader import read_counters, schedule_from_json
from warploom.document.witness import (
    WITNESS_SCHEMA,
    Point,
    Step,
    StepKind,
    WaveId,
    Witness,
    witness_from_json,
    witness_to_json,
)
from warploom.document.writer import schedule_to_json
