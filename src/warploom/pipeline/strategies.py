"""Named bundles of schedule flags, as documented: spread them into ``ScheduleConfig``."""

from warploom.pipeline.config.schedule import BarrierStrategy, LoadStrategy, WaitStrategy

__all__ = ["BarrierStrategy", "LoadStrategy", "WaitStrategy"]
