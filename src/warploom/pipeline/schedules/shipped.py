"""The shipped schedules of MI355X by name, tile and element type."""

from copy import copy
from dataclasses import replace
from typing import Any

from warploom.errors import GeometryError
from warploom.ir.counter_dialect import KernelShape
from warploom.pipeline.amd_target.cost import AMDScheduleHints, mi355x_target
from warploom.pipeline.amd_target.geometry import PLAIN, WAVE_LANES, KernelGeometry
from warploom.pipeline.config.pipeline import SchedulingStrategy
from warploom.pipeline.config.schedule import ScheduleConfig
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.schedules.fourwave import Pipeline4Wave
from warploom.pipeline.schedules.pingpong import DeclarativeSchedule
from warploom.pipeline.schedules.single_buffer import SingleBufferSchedule
from warploom.targets.mi355x import MICROSCALED

SCHEDULES = ("pingpong", "fourwave", "single_buffer")
Triple = tuple[int, int, int]
WAVES = 4  # of the single-buffer kernel, two by two


def shipped(
    name: str,
    tile: Triple,
    dtype: str,
    *,
    mma: Triple | None = None,
    max_globals: int | None = None,
    **knobs: Any,  # noqa: ANN401 (fields of ``ScheduleConfig``)
) -> tuple[PipelineSchedule, KernelGeometry]:
    """The shipped double-buffer schedule of that name for a tile, and the tile's geometry."""
    four = name == "fourwave"
    g = _geometry(tile, dtype, mma, four=four)
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


def _geometry(tile: Triple, dtype: str, mma: Triple | None, *, four: bool) -> KernelGeometry:
    """The geometry of a double-buffer kernel.

    Without an ``mma`` the 4-wave kernel takes the 32x32 instruction where the tile allows it: its
    accumulators fill half of the register file, and only that form updates them in place.
    """
    small, wide = _instructions(dtype, mma)
    if mma is None and four:
        try:
            return _geometry(tile, dtype, wide, four=four)
        except GeometryError:
            mma = small
    if dtype in MICROSCALED:
        waves = (2, 2) if four else (2, 4)
        return KernelGeometry.microscaled(dtype, tile, mma or small, waves=waves)
    make = KernelGeometry.four_wave if four else KernelGeometry.ping_pong
    size, fp8 = PLAIN[dtype] // 8, dtype == "fp8"
    return make(tile, mma or small, elem_bytes=size, is_fp8=fp8, element=dtype)


def _instructions(dtype: str, asked: Triple | None) -> tuple[Triple, Triple]:
    """The 16x16 and the 32x32 matrix instruction of an element type; what is asked for is one."""
    if dtype not in PLAIN and dtype not in MICROSCALED:
        raise GeometryError(
            f"no element type {dtype!r}", fix=f"one of {', '.join((*PLAIN, *MICROSCALED))}"
        )
    deep = 1 if PLAIN.get(dtype) == 16 else 4
    result = (16, 16, 32 * deep), (32, 32, 16 * deep)
    if asked is not None and asked not in result:
        small, wide = ("x".join(map(str, shape)) for shape in result)
        raise GeometryError(
            f"gfx950 has no {dtype} matrix instruction of shape {'x'.join(map(str, asked))}",
            fix=f"use one of {small}, {wide}",
        )
    return result


def single_buffer(tile: Triple, dtype: str, mma: Triple | None = None) -> SingleBufferSchedule:
    """The single-buffer schedule for a tile of four waves, with the hints of its kernel.

    Without an ``mma`` accumulators that fill a register file are those of the 32x32 instruction.
    """
    small, wide = _instructions(dtype, mma)
    m, n, k = mma or (wide if tile[0] * tile[1] >= 256 * 256 else small)
    for size, unit, name in zip(tile, (2 * m, 2 * n, k), ("BM", "BN", "BK"), strict=True):
        if size < unit or size % unit:
            raise GeometryError(
                f"{name} = {size} is no multiple of {unit}",
                where=f"single_buffer of {'x'.join(map(str, tile))} {dtype}",
                why=f"two waves by two work on matrix instructions of {m}x{n}x{k}",
                fix=f"a multiple of {unit}, or another matrix instruction",
            )
    row = tile[2] * (PLAIN.get(dtype) or MICROSCALED[dtype]) // 8
    lanes = max(1, -(-row // 16))  # that move a row, 16 bytes each
    rows = max(1, WAVES * WAVE_LANES // lanes)
    steps = tile[2] // k
    a, b = (-(-size // rows) for size in tile[:2])
    hints = AMDScheduleHints(tile[0] // 2 // m, tile[1] // 2 // n, steps, m, n, a, b)
    shape = KernelShape(tile=tile, mma=(m, n, k), dtype=dtype)
    return SingleBufferSchedule(steps, hints, shape=shape)


def tuned(schedule: PipelineSchedule, **knobs: Any) -> PipelineSchedule:  # noqa: ANN401
    """A schedule with knobs on top of its own."""
    own, made = schedule.schedule_config, copy(schedule)
    made.schedule_config = lambda: replace(own(), **knobs)  # type: ignore[method-assign]
    return made if knobs else schedule
