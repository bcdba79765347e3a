"""The documented configuration records and the small policies made from them."""

from warploom.pipeline.config.pipeline import (
    BlockSizing,
    FragOrder,
    LoopCarriedSpec,
    PipelineConfig,
    SchedulingStrategy,
    WarpStaggerRule,
)
from warploom.pipeline.config.schedule import (
    ScheduleConfig,
)
from warploom.pipeline.config.target import (
    TargetProfile,
)

__all__ = [
    "BlockSizing",
    "FragOrder",
    "LoopCarriedSpec",
    "PipelineConfig",
    "ScheduleConfig",
    "SchedulingStrategy",
    "TargetProfile",
    "WarpStaggerRule",
]
