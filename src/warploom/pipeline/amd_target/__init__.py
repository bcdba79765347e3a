"""Toy costs, geometry and tags of the targets the seed documents."""

from warploom.pipeline.amd_target.cost import AMDScheduleHints, TargetProfile
from warploom.pipeline.amd_target.geometry import KernelGeometry

__all__ = ["AMDScheduleHints", "KernelGeometry", "TargetProfile"]
