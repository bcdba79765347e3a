"""Ready-made kernels: schedule name, tile and element type to a document and a tile.

The 4-wave kernel takes the 32x32 matrix instruction by default: its accumulators fill half of the
register file, and only the 32x32 form updates them in place, without copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from warploom.document import ScheduleDocument
from warploom.document.kinds import Phase
from warploom.emit.gfx950.mfma import ElementType
from warploom.emit.gfx950.tile import GemmTile, gemm_tile, tile_of_geometry
from warploom.errors import ConfigError
from warploom.seed.compile import OnRace, compile_schedule
from warploom.seed.schedule import PipelineSchedule
from warploom.seed.schedules.fourwave import Pipeline4Wave
from warploom.seed.schedules.pingpong import DeclarativeSchedule
from warploom.seed.schedules.single_buffer import SingleBufferSchedule
from warploom.seed.sync.policy import SyncPolicy
from warploom.seed.target.cost import TargetProfile
from warploom.seed.target.geometry import KernelGeometry
from warploom.seed.target.mi355x import AMDScheduleHints, mi355x_target

Block = tuple[int, int, int]
Recipe = Callable[[Block, ElementType, Block | None], tuple[PipelineSchedule, GemmTile]]

_MMA16 = {ElementType.FP8: (16, 16, 128)}
_MMA32 = {ElementType.FP8: (32, 32, 64)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyKernel:
    """A shipped schedule compiled for a tile; ``reasons`` says why a wait or barrier is there."""

    document: ScheduleDocument
    tile: GemmTile
    reasons: tuple[tuple[Phase, int, str], ...]


def ready_kernel(
    schedule: str,
    block: Block,
    element: ElementType,
    *,
    mma: Block | None = None,
    sync: SyncPolicy | None = None,
    on_race: OnRace = "raise",
) -> ReadyKernel:
    """Compile a shipped schedule for a tile. ``sync`` and ``on_race`` as in compiling."""
    if schedule not in SCHEDULES:
        near = get_close_matches(schedule, SCHEDULES, 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(
            f"no schedule {schedule!r}", fix=f"{guess}known schedules: {', '.join(SCHEDULES)}"
        )
    source, tile = SCHEDULES[schedule](block, element, mma)
    compiled = compile_schedule(source, sync=sync, on_race=on_race)
    reasons = tuple((r.phase, r.index, r.text) for r in compiled.reasons)
    return ReadyKernel(document=compiled.document(), tile=tile, reasons=reasons)


def _pingpong(
    block: Block, element: ElementType, mma: Block | None
) -> tuple[PipelineSchedule, GemmTile]:
    shape = mma or _MMA16.get(element, (16, 16, 32))
    geometry = KernelGeometry.ping_pong(block, shape, **_elements(element))
    target = _target(geometry, (block[0] // 2, block[1] // 4))
    source = DeclarativeSchedule(geometry=geometry, target=target)
    return source, tile_of_geometry(geometry, element, (2, 4))


def _fourwave(
    block: Block, element: ElementType, mma: Block | None
) -> tuple[PipelineSchedule, GemmTile]:
    shape = mma or _MMA32.get(element, (32, 32, 16))
    geometry = KernelGeometry.four_wave(block, shape, **_elements(element))
    target = _target(geometry, (block[0] // 2, block[1] // 2))
    return Pipeline4Wave(geometry, target=target), tile_of_geometry(geometry, element, (2, 2))


def _elements(element: ElementType) -> dict[str, Any]:
    return {"elem_bytes": element.size, "is_fp8": element is ElementType.FP8}


def _single_buffer(
    block: Block, element: ElementType, mma: Block | None
) -> tuple[PipelineSchedule, GemmTile]:
    tile = gemm_tile(*block, element, mma=mma, waves=(2, 2))
    a, b = tile.operands
    hints = AMDScheduleHints(
        a.tiles(1),
        b.tiles(1),
        tile.k_steps,
        tile.mfma.m,
        tile.mfma.n,
        tile.loads(0, 1),
        tile.loads(1, 1),
    )
    return SingleBufferSchedule(tile.k_steps, hints), tile


def _target(geometry: KernelGeometry, wave: tuple[int, int]) -> TargetProfile:
    return mi355x_target(
        vm_per_load_a=geometry.vm_per_load_a,
        vm_per_load_b=geometry.vm_per_load_b,
        max_globals=geometry.max_globals(wave=wave),
    )


SCHEDULES: dict[str, Recipe] = {
    "pingpong": _pingpong,
    "fourwave": _fourwave,
    "single_buffer": _single_buffer,
}
