"""Which kernel for which shape: cycles by wave count, and joules by bytes moved.

A persistent kernel runs ``ceil(tiles / SMs)`` tiles one after the other, so a tile that divides the
problem badly idles SMs. Long dense products run at the power cap, where bytes moved per FLOP decide
as much as cycles. The estimate takes both: no less than the cycles at full clock, and the power
model's time where that is longer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from warploom.errors import BackendError
from warploom.hopper.energy import GROUP_ROWS, Shape, joules_of
from warploom.hopper.kernel import Dtype, Epilogue, GemmKernel
from warploom.launch.launch import Choice
from warploom.launch.shipped import is_shipped
from warploom.target.h200 import HopperTarget, h200

STORE_CYCLES = 550  # one 64-column chunk of a consumer that has to wait for its staging copy
CONVERT_CYCLES = 220  # one that finds a free copy
FILL_CYCLES = 1500  # first loads of a launch

_TILES = (
    (128, 256, 2),
    *((256, n, 2) for n in (128, 160, 168, 176, 184, 192, 200, 208)),
    (128, 192, 2),
    (128, 128, 2),
    (128, 64, 2),
    (64, 256, 1),
    (64, 128, 1),
)
_STAGES = {(128, 64): 6, (64, 128): 6}
_STAGING = {(128, 256): 4, (128, 128): 3, **{(256, n): 3 for n in (176, 184, 192, 200)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Waves, cycles, joules and expected seconds of one kernel on one shape."""

    waves: int
    cycles: int
    joules: float
    seconds: float


def candidates(dtype: Dtype, out: Dtype, epilogue: Epilogue) -> tuple[GemmKernel, ...]:
    """The kernels the heuristic chooses from: those of which a solved schedule ships."""
    every = (
        GemmKernel(
            tile_m=m,
            tile_n=n,
            consumers=c,
            dtype=dtype,
            out=out,
            epilogue=epilogue,
            stages=_STAGES.get((m, n)),
            staging=_STAGING.get((m, n), 2) if out is not Dtype.FP32 else 2,
        )
        for m, n, c in _TILES
    )
    return tuple(k for k in every if is_shipped(k))


def estimate(kernel: GemmKernel, shape: Shape, target: HopperTarget | None = None) -> Estimate:
    """What the kernel is expected to take on the shape."""
    target = target or h200()
    cm, cn = kernel.cluster
    tiles_m, tiles_n = -(-shape.m // (kernel.tile_m * cm)), -(-shape.n // (kernel.tile_n * cn))
    workers = target.limits.resident_clusters(cm * cn)
    waves = -(-tiles_m * tiles_n // workers)
    k_tiles = max(1, -(-shape.k // kernel.block_k))
    steps = kernel.consumers * kernel.blocks_m * kernel.k_steps
    stage = max(
        steps * target.wgmma_interval(kernel.tile_n),
        int(kernel.stage_bytes / target.l2_bytes_per_cycle),
    )
    tile = k_tiles * stage + _epilogue_cycles(kernel)
    cycles = waves * tile + FILL_CYCLES
    joules = joules_of(kernel, shape, target)
    capped = target.energy.seconds(cycles=cycles, joules=joules)
    return Estimate(
        waves=waves,
        cycles=cycles,
        joules=joules,
        seconds=max(cycles / target.clock_hz, capped),
    )


def _epilogue_cycles(kernel: GemmKernel) -> int:
    """Stores wait for a staging copy once all copies of a consumer are on their way out."""
    chunks = len(kernel.chunks())
    free = min(chunks, kernel.staging - 2) if kernel.staging > 2 else 0
    free = chunks if kernel.staging >= chunks else free
    return free * CONVERT_CYCLES + (chunks - free) * STORE_CYCLES


def group_for(kernel: GemmKernel) -> int:
    """How many tile rows are visited together."""
    return max(1, GROUP_ROWS // kernel.tile_m)


def choose(shape: Shape, out: Dtype = Dtype.BF16, epilogue: Epilogue | None = None) -> Choice:
    """The kernel with the least estimated time."""
    if min(shape.m, shape.n, shape.k) < 1:
        raise BackendError(f"a product of shape {shape.m}x{shape.n}x{shape.k} is empty")
    options = candidates(shape.dtype, out, epilogue or Epilogue())
    best = min(options, key=lambda k: estimate(k, shape).seconds)
    return Choice(kernel=best, group=group_for(best))


def with_types(choice: Choice, dtype: Dtype, out: Dtype, epilogue: Epilogue) -> Choice:
    """The same structure for other element types."""
    return replace(choice, kernel=replace(choice.kernel, dtype=dtype, out=out, epilogue=epilogue))
