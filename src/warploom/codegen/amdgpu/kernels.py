"""Ready-made kernels: schedule name, tile and element type to a document and a tile.

The 4-wave kernel takes the 32x32 matrix instruction by default: its accumulators fill half of the
register file, and only the 32x32 form updates them in place, without copies.
"""

from __future__ import annotations

from collections.abc import Callable

from warploom.codegen.amdgpu.mfma import ElementType
from warploom.codegen.amdgpu.tile import GemmTile, gemm_tile, tile_of_geometry
from warploom.errors import ConfigError
from warploom.interchange import ScheduleDocument
from warploom.schedules.fourwave import build_fourwave_schedule
from warploom.schedules.pingpong import build_schedule
from warploom.schedules.single_buffer import build_default_matmul_schedule
from warploom.target.geometry import KernelGeometry
from warploom.target.mi355x import mi355x_target

Block = tuple[int, int, int]
Ready = tuple[ScheduleDocument, GemmTile]

_MMA16 = {ElementType.BF16: (16, 16, 32), ElementType.FP16: (16, 16, 32)}
_MMA32 = {ElementType.BF16: (32, 32, 16), ElementType.FP16: (32, 32, 16)}


def ready_kernel(
    schedule: str,
    block: Block,
    element: ElementType,
    *,
    mma: tuple[int, int, int] | None = None,
) -> Ready:
    """The document (with the reference's waits) and tile of a shipped schedule."""
    if schedule not in SCHEDULES:
        raise ConfigError(
            f"no schedule {schedule!r}", fix=f"known schedules: {', '.join(SCHEDULES)}"
        )
    return SCHEDULES[schedule](block, element, mma)


def _pingpong(block: Block, element: ElementType, mma: Block | None) -> Ready:
    shape = mma or _MMA16.get(element, (16, 16, 128))
    geometry = KernelGeometry.ping_pong(
        block, shape, elem_bytes=element.size, is_fp8=element is ElementType.FP8
    )
    target = mi355x_target(
        vm_per_load_a=geometry.vm_per_load_a,
        vm_per_load_b=geometry.vm_per_load_b,
        max_globals=geometry.max_globals(wave=(block[0] // 2, block[1] // 4)),
    )
    compiled = build_schedule(
        geometry.is_fp8, geometry.lgkm_per_load_a, geometry.lgkm_per_load_b, target=target
    )
    return compiled.document(), tile_of_geometry(geometry, element, (2, 4))


def _fourwave(block: Block, element: ElementType, mma: Block | None) -> Ready:
    shape = mma or _MMA32.get(element, (32, 32, 64))
    geometry = KernelGeometry.four_wave(
        block, shape, elem_bytes=element.size, is_fp8=element is ElementType.FP8
    )
    target = mi355x_target(
        vm_per_load_a=geometry.vm_per_load_a,
        vm_per_load_b=geometry.vm_per_load_b,
        max_globals=geometry.max_globals(),
    )
    compiled = build_fourwave_schedule(geometry, target=target)
    return compiled.document(), tile_of_geometry(geometry, element, (2, 2))


def _single_buffer(block: Block, element: ElementType, mma: Block | None) -> Ready:
    tile = gemm_tile(*block, element, mma=mma, waves=(2, 2))
    a, b = tile.operands
    compiled = build_default_matmul_schedule(
        num_k_tiles=tile.k_steps,
        num_m_mmas=a.tiles(1),
        num_n_mmas=b.tiles(1),
        num_k_mmas=tile.k_steps,
        MMA_M=tile.mfma.m,
        MMA_N=tile.mfma.n,
        a_loads_per_thread=tile.loads(0, 1),
        b_loads_per_thread=tile.loads(1, 1),
    )
    return compiled.document(), tile


SCHEDULES: dict[str, Callable[[Block, ElementType, Block | None], Ready]] = {
    "pingpong": _pingpong,
    "fourwave": _fourwave,
    "single-buffer": _single_buffer,
}
