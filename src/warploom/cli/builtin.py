"""The built-in counter schedules, by name, tile and element type."""

from __future__ import annotations

from typing import Any

from warploom.errors import ConfigError
from warploom.seed.schedule import PipelineSchedule
from warploom.seed.schedules.shipped import shipped
from warploom.seed.schedules.single_buffer import SingleBufferSchedule
from warploom.seed.target.mi355x import AMDScheduleHints

Knobs = dict[str, Any]
Tile = tuple[int, int, int]
BUILT_IN = ("pingpong", "fourwave", "single_buffer")
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


def built_in(
    name: str, knobs: Knobs, tile: str | None, dtype: str, mma: str | None = None
) -> PipelineSchedule:
    """The built-in schedule of that name; the tile does not enter the order of single_buffer."""
    if name != "single_buffer":
        shape = None if mma is None else parse_tile(mma, dtype)
        return shipped(name, parse_tile(tile, dtype), dtype, mma=shape, **knobs)[0]
    if knobs:
        raise ConfigError(
            f"single_buffer has no knobs, {', '.join(knobs)} given",
            why="its order and waits come from its barriers and the code generator",
        )
    return SingleBufferSchedule(2, AMDScheduleHints(4, 4, 2, 16, 16, 2, 2))
