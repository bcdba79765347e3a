"""The straight line through the rooms: ``compile_schedule`` and what it returns."""

from warploom.seed.compile.line import OnRace, ScheduleCompiler, compile_schedule
from warploom.seed.compile.phases import build_kernel_program
from warploom.seed.compile.result import CompiledSchedule
