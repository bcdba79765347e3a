"""The built-in counter schedules, by name, tile and element type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from warploom.errors import ConfigError
from warploom.seed.config.parts import SchedulingStrategy
from warploom.seed.config.schedule import ScheduleConfig
from warploom.seed.schedule import PipelineSchedule
from warploom.seed.schedules.fourwave import Pipeline4Wave
from warploom.seed.schedules.pingpong import DeclarativeSchedule
from warploom.seed.schedules.single_buffer import SingleBufferSchedule
from warploom.seed.target.geometry import KernelGeometry
from warploom.seed.target.mi355x import AMDScheduleHints, mi355x_target

Knobs = dict[str, Any]
Tile = tuple[int, int, int]
FP8_MMA = (16, 16, 128)
DEFAULT = {"bf16": (256, 256, 64), "fp8": (256, 256, 128)}
TILES = {"single_buffer": (128, 128, 64)}  # default tiles other than the double-buffer kernels


def parse_tile(text: str | None, dtype: str, default: Tile | None = None) -> Tile:
    """``256x256x64`` as numbers; by default the shipped tile of the dtype."""
    if text is None:
        return default or DEFAULT["fp8" if dtype == "fp8" else "bf16"]
    parts = text.lower().split("x")
    if len(parts) != 3 or not all(p.isdigit() and int(p) for p in parts):
        raise ConfigError(f"{text!r} is no tile", where="--tile", fix="write it as 256x256x64")
    return int(parts[0]), int(parts[1]), int(parts[2])


def _geometry_args(tile: str | None, dtype: str, mma: str | None) -> dict[str, Any]:
    fp8 = dtype == "fp8"
    shape = None if mma is None else parse_tile(mma, dtype)
    return {
        "tile": parse_tile(tile, dtype),
        "mma": shape or (FP8_MMA if fp8 else (16, 16, 32)),
        "elem_bytes": 1 if fp8 else 2,
        "is_fp8": fp8,
    }


def pingpong(
    knobs: Knobs, tile: str | None, dtype: str, mma: str | None = None
) -> PipelineSchedule:
    """The ping-pong schedule of a tile."""
    g = KernelGeometry.ping_pong(**_geometry_args(tile, dtype, mma))
    wave = (g.BM // 2, g.BN // 4)
    target = mi355x_target(g.vm_per_load_a, g.vm_per_load_b, g.max_globals(wave=wave))
    config = replace(ScheduleConfig(scheduling=SchedulingStrategy.CSP), **knobs)
    return DeclarativeSchedule(config, target, geometry=g)


def fourwave(
    knobs: Knobs, tile: str | None, dtype: str, mma: str | None = None
) -> PipelineSchedule:
    """The 4-wave schedule of a tile."""
    g = KernelGeometry.four_wave(**_geometry_args(tile, dtype, mma))
    target = mi355x_target(g.vm_per_load_a, g.vm_per_load_b, g.max_globals())
    config = replace(Pipeline4Wave._default_schedule_config(), **knobs)
    return Pipeline4Wave(g, config, target)


def single_buffer(
    knobs: Knobs, tile: str | None, dtype: str, mma: str | None = None
) -> PipelineSchedule:
    """The single-buffer schedule; the tile does not enter its order."""
    if knobs:
        raise ConfigError(
            f"single_buffer has no knobs, {', '.join(knobs)} given",
            why="its order and waits come from its barriers and the code generator",
        )
    return SingleBufferSchedule(2, AMDScheduleHints(4, 4, 2, 16, 16, 2, 2))


BUILT_IN: dict[str, Callable[..., PipelineSchedule]] = {
    "pingpong": pingpong,
    "fourwave": fourwave,
    "single_buffer": single_buffer,
}
