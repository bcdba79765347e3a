"""The shipped schedules of MI355X by name, tile and element type."""

from copy import copy
from dataclasses import replace
from typing import Any

from warploom.pipeline.amd_target.cost import mi355x_target
from warploom.pipeline.amd_target.geometry import MICROSCALED, KernelGeometry
from warploom.pipeline.config.pipeline import SchedulingStrategy
from warploom.pipeline.config.schedule import ScheduleConfig
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.schedules.fourwave import Pipeline4Wave
from warploom.pipeline.schedules.pingpong import DeclarativeSchedule

SCHEDULES = ("pingpong", "fourwave", "single_buffer")


def shipped(
    name: str,
    tile: tuple[int, int, int],
    dtype: str,
    *,
    mma: tuple[int, int, int] | None = None,
    max_globals: int | None = None,
    **knobs: Any,  # noqa: ANN401 (fields of ``ScheduleConfig``)
) -> tuple[PipelineSchedule, KernelGeometry]:
    """The shipped schedule of that name for a tile, and the tile's geometry."""
    fp8, four = dtype == "fp8", name == "fourwave"
    make = KernelGeometry.four_wave if four else KernelGeometry.ping_pong
    if dtype in MICROSCALED:
        waves = (2, 2) if four else (2, 4)
        g = KernelGeometry.microscaled(dtype, tile, mma or (16, 16, 128), waves=waves)
    else:
        g = make(
            tile=tile,
            mma=mma or ((16, 16, 128) if fp8 else (16, 16, 32)),
            elem_bytes=1 if fp8 else 2,
            is_fp8=fp8,
        )
    most = g.max_globals() if four else g.max_globals(wave=(g.BM // 2, g.BN // 4))
    most = most if max_globals is None else max_globals
    target = mi355x_target(g.vm_per_load_a, g.vm_per_load_b, most)
    if four:
        own = Pipeline4Wave._default_schedule_config()
        schedule = Pipeline4Wave(g, replace(own, **knobs), target)
        schedule.forced_settings = tuple(n for n in Pipeline4Wave.forced_settings if n not in knobs)
        return schedule, g
    config = replace(ScheduleConfig(scheduling=SchedulingStrategy.CSP), **knobs)
    return DeclarativeSchedule(config, target, geometry=g), g


def tuned(schedule: PipelineSchedule, **knobs: Any) -> PipelineSchedule:  # noqa: ANN401
    """A schedule with knobs on top of its own."""
    own, made = schedule.schedule_config, copy(schedule)
    made.schedule_config = lambda: replace(own(), **knobs)  # type: ignore[method-assign]
    return made if knobs else schedule
