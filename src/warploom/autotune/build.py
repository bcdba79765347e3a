"""Whether a candidate becomes a kernel: emitted for gfx950, through the gate, without spills.

The code generator has the last word on registers. A search that asks it while it looks does not end
at orders nobody can run; what it refuses counts as useless.
"""

from __future__ import annotations

import importlib.util
from dataclasses import field

from warploom.codegen.amdgcn import ElementType, emit_kernel, gemm_tile
from warploom.codegen.amdgcn.plan import plan_kernel
from warploom.codegen.amdgcn.tile import GemmTile
from warploom.dataclass import dataclass
from warploom.errors import ConfigError, MissingExtraError, WarploomError
from warploom.ir.counter_dialect import KernelShape
from warploom.pipeline.compile import CompiledSchedule
from warploom.pipeline.schedule import PipelineSchedule
from warploom.sim.chip import is_chip


def can_build(schedule: PipelineSchedule) -> bool:
    """Whether kernels of a schedule can be built here: a known shape on the chip, and LLVM."""
    known = schedule.shape is not None and is_chip(schedule.target_name)
    return known and importlib.util.find_spec("llvmlite") is not None


@dataclass
class Builder:
    """Builds candidates of one schedule and counts what was refused."""

    shape: KernelShape
    refused: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, schedule: PipelineSchedule) -> Builder:
        """The builder of a schedule; refuses one whose kernels cannot be built here."""
        if schedule.shape is None or not is_chip(schedule.target_name):
            raise ConfigError(
                f"nobody knows what kernel {schedule.name!r} is",
                where="SearchOptions.build",
                why="only schedules with a geometry on MI355X can be built",
                fix="give the schedule a KernelGeometry, or search with build=False",
            )
        if importlib.util.find_spec("llvmlite") is None:
            raise MissingExtraError("llvmlite", "amdgpu", "searching schedules that can be built")
        return cls(schedule.shape)

    def builds(self, compiled: CompiledSchedule) -> bool:
        """Whether the compiled schedule passes the gate for its shape, without spills."""
        try:
            emit_kernel(compiled.document(), self._tile(compiled))
        except WarploomError as error:
            self.refused += 1
            self.reasons[error.what] = self.reasons.get(error.what, 0) + 1
            return False
        return True

    def _tile(self, compiled: CompiledSchedule) -> GemmTile:
        """The tile with the first arrangement of waves that the schedule's counters fit."""
        protocol = compiled.protocol
        waves = protocol.groups * protocol.waves_per_group
        grids = [(m, waves // m) for m in range(1, waves + 1) if waves % m == 0]
        refusal: WarploomError | None = None
        for grid in sorted(grids, key=lambda g: (abs(g[0] - g[1]), g)):
            try:
                tile = gemm_tile(*self.shape.tile, self._element(), mma=self.shape.mma, waves=grid)
                plan_kernel(compiled.document(), tile)
            except WarploomError as error:
                refusal = refusal or error
            else:
                return tile
        assert refusal is not None
        raise refusal

    def _element(self) -> ElementType:
        return ElementType.FP8 if self.shape.dtype == "fp8" else ElementType.BF16
