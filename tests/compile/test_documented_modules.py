"""Modules and functions that the documents name are found under those names."""

from importlib import import_module

import pytest

import warploom

NAMED = {
    "config": ("PipelineConfig", "ScheduleConfig", "SchedulingStrategy"),
    "strategies": ("BarrierStrategy", "WaitStrategy", "LoadStrategy"),
    "types": ("OpDesc", "OpRole", "DepEdge", "KOffsetKind", "Phase", "ScheduleEntry"),
    "phase_derivation": ("partition_edges", "rotation_edges", "derive_drain_mask"),
    "program_builder": ("build_kernel_program", "verify_schedule"),
    "amd_target": ("AMDScheduleHints", "KernelGeometry", "TargetProfile"),
}


@pytest.mark.parametrize("module", NAMED)
def test_documented_modules_hold_what_the_package_exports(module):
    found = import_module(f"warploom.pipeline.{module}")
    assert set(NAMED[module]) <= set(found.__all__)
    for name in NAMED[module]:
        made = getattr(found, name)
        assert made.__doc__
        assert getattr(warploom, name, made) is made
