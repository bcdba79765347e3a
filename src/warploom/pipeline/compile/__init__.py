"""The driver of the documented schedules: ``compile_schedule`` and what it returns."""

from warploom.pipeline.compile.driver import OnRace, ScheduleCompiler, compile_schedule
from warploom.pipeline.compile.phases import build_kernel_program
from warploom.pipeline.compile.result import CompiledSchedule
