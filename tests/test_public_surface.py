"""The public door: sorted, complete, and documented names only."""

import subprocess
import sys

import warploom


def test_all_is_sorted_and_exists():
    assert sorted(warploom.__all__) == warploom.__all__
    for name in warploom.__all__:
        assert getattr(warploom, name) is not None


def test_documented_names_are_there():
    documented = {
        "DeclarativeSchedule",
        "Pipeline4Wave",
        "PipelineConfig",
        "PipelineSchedule",
        "ScheduleConfig",
        "ScheduleCompiler",
        "SingleBufferSchedule",
        "TargetProfile",
        "TargetCostModel",
        "KernelGeometry",
        "compile_schedule",
        "mi355x_target",
    }
    assert documented <= set(warploom.__all__)


def test_schedule_config_is_frozen_and_flat():
    config = warploom.ScheduleConfig()
    assert len(warploom.ScheduleConfig.__dataclass_fields__) == 19
    assert len(warploom.PipelineConfig.__dataclass_fields__) == 20
    assert warploom.ScheduleConfig.from_strategies() == config


def test_the_core_imports_no_heavy_package():
    code = (
        "import sys, warploom; print([m for m in ('numpy', 'ortools', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
