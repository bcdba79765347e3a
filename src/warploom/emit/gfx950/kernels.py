"""Ready-made kernels: schedule name, tile and element type to a document and a tile.

The 4-wave kernel takes the 32x32 matrix instruction by default: its accumulators fill half of the
register file, and only the 32x32 form updates them in place, without copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from warploom.document import ScheduleDocument
from warploom.document.ops import Phase
from warploom.emit.gfx950.tile import ElementType, GemmTile, gemm_tile, tile_of_geometry
from warploom.errors import ConfigError
from warploom.seed.compile import OnRace, compile_schedule
from warploom.seed.schedule import PipelineSchedule
from warploom.seed.schedules.shipped import shipped
from warploom.seed.schedules.single_buffer import SingleBufferSchedule
from warploom.seed.sync.marks import SyncPolicy
from warploom.seed.target.cost import AMDScheduleHints

Block = tuple[int, int, int]
SCHEDULES = ("pingpong", "fourwave", "single_buffer")


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
    source, tile = _source(schedule, block, element, mma)
    compiled = compile_schedule(source, sync=sync, on_race=on_race)
    reasons = tuple((r.phase, r.index, r.text) for r in compiled.reasons)
    return ReadyKernel(document=compiled.document(), tile=tile, reasons=reasons)


def _source(
    schedule: str, block: Block, element: ElementType, mma: Block | None
) -> tuple[PipelineSchedule, GemmTile]:
    fp8 = element is ElementType.FP8
    if schedule == "single_buffer":
        tile = gemm_tile(*block, element, mma=mma, waves=(2, 2))
        tiles, mma_m, mma_n = [o.tiles(1) for o in tile.operands], tile.mfma.m, tile.mfma.n
        loads = tile.loads(0, 1), tile.loads(1, 1)
        hints = AMDScheduleHints(tiles[0], tiles[1], tile.k_steps, mma_m, mma_n, *loads)
        return SingleBufferSchedule(tile.k_steps, hints), tile
    waves, usual = (2, 4), (16, 16, 128 if fp8 else 32)
    if schedule == "fourwave":
        waves, usual = (2, 2), (32, 32, 64 if fp8 else 16)
    source, geometry = shipped(schedule, block, element.value, mma=mma or usual)
    return source, tile_of_geometry(geometry, element, waves)
