"""The documented configuration records and the small policies made from them."""

from warploom.pipeline.config.pipeline import PipelineConfig, SchedulingStrategy
from warploom.pipeline.config.schedule import ScheduleConfig

__all__ = ["PipelineConfig", "ScheduleConfig", "SchedulingStrategy"]
