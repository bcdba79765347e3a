"""``PipelineSchedule`` and its compiler, as documented."""

from warploom.pipeline.compile import (
    CompiledSchedule,
    ScheduleCompiler,
    compile_schedule,
)
from warploom.pipeline.schedule import (
    PipelineSchedule,
)

__all__ = [
    "CompiledSchedule",
    "PipelineSchedule",
    "ScheduleCompiler",
    "compile_schedule",
]
