"""The kernel module: one frozen value that verifier, interpreter and code generators read.

module = compiled.module            # of warploom.kernels.gemm.gemm.compile("bf16", ...)
print(module)                       # the listing
from_json(to_json(module)) == module
"""

from warploom.ir.counter_dialect import (
    BarrierKind,
    Counters,
    KernelShape,
    Protocol,
    RegisterWaits,
    ScheduleDocument,
)
from warploom.ir.format1 import (
    read_schedule,
    schedule_from_json,
    schedule_to_json,
    write_schedule,
)
from warploom.ir.listing import listing
from warploom.ir.module import KernelModule
from warploom.ir.serialize import from_json, to_json
from warploom.ir.witness import (
    Point,
    Step,
    StepKind,
    WaveId,
    Witness,
    witness_from_json,
    witness_to_json,
)
