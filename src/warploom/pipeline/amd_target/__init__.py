"""MI355X as a target of schedules: tags, costs, structures, geometry, hints."""

from warploom.pipeline.amd_target.cost import (
    AMDScheduleHints,
    DefaultMatmulOps,
    FourWaveOps,
    PingPongOps,
    mi355x_cost_model,
    mi355x_double_buffer,
    mi355x_single_buffer,
    mi355x_single_buffer_cost_model,
    mi355x_single_buffer_target,
    mi355x_target,
)
from warploom.pipeline.amd_target.geometry import (
    KernelGeometry,
)
from warploom.pipeline.amd_target.hints import append_amd_hints
from warploom.pipeline.config.target import (
    TargetProfile,
)

__all__ = [
    "AMDScheduleHints",
    "DefaultMatmulOps",
    "FourWaveOps",
    "KernelGeometry",
    "PingPongOps",
    "TargetProfile",
    "append_amd_hints",
    "mi355x_cost_model",
    "mi355x_double_buffer",
    "mi355x_single_buffer",
    "mi355x_single_buffer_cost_model",
    "mi355x_single_buffer_target",
    "mi355x_target",
]
