"""The public names: sorted, complete, and documented names only."""

import builtins
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import warploom
from warploom import (
    ConfigError,
    DeclarativeSchedule,
    DocumentError,
    compile_schedule,
    read_schedule,
    simulate,
    timeline,
    verify,
    write_schedule,
)
from warploom.compiler.pricing import role_costs
from warploom.kernels.swiglu import swiglu


def test_all_is_sorted_and_exists():
    assert sorted(warploom.__all__) == warploom.__all__
    for name in warploom.__all__:
        assert getattr(warploom, name) is not None


def test_the_names_stand_in_one_list_and_nothing_else_shows():
    stub = Path(warploom.__file__).with_suffix(".pyi").read_text()
    listed = set(re.findall(r"(\w+) as \1\b", stub)) | {"__version__"}
    assert set(dir(warploom)) == listed
    words = {"abs", "all", "any", "max", "min", "pow", "print", "round", "sum"}
    assert listed - set(warploom.__all__) == words


def test_a_star_import_leaves_the_names_of_python():
    space = {}
    exec("from warploom import *", space)
    assert not set(dir(builtins)) & set(space) - {"__builtins__"}
    assert warploom.print is not print


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


def test_a_compiled_schedule_is_taken_everywhere_and_shows_in_a_line():
    compiled = warploom.compile_schedule(warploom.DeclarativeSchedule(lgkm_a=8, lgkm_b=4))
    assert len(repr(compiled)) < 200
    assert "pingpong" in repr(compiled)
    assert warploom.verify(compiled).verdict == "clean"
    assert warploom.simulate(compiled, trips=4).trips == 4
    assert warploom.read_schedule(warploom.write_schedule(compiled)) == compiled.document()
    assert warploom.timeline(compiled, trips=2).startswith("pingpong")
    assert warploom.timeline(compiled, trips=2, form="html").startswith("<!DOCTYPE")


@pytest.mark.parametrize("name", ["verify", "simulate", "write_schedule", "timeline"])
@pytest.mark.parametrize("wrong", [3, None, "pingpong", object, warploom.DeclarativeSchedule])
def test_anything_else_is_a_typed_error(name, wrong):
    with pytest.raises(warploom.DocumentError, match="is no schedule"):
        getattr(warploom, name)(wrong)


def test_a_target_is_taken_by_all_and_named():
    machine = warploom.MachineCosts(name="mine")
    base = warploom.mi355x_target()
    target = warploom.TargetProfile(base.cost_model, base.pipeline, "small", machine)
    bare = warploom.TargetProfile(base.cost_model, base.pipeline, "bare")
    compiled = warploom.compile_schedule(warploom.DeclarativeSchedule(target=target))
    assert compiled.target == "small"
    assert warploom.simulate(compiled, target, trips=2).costs == "mine"
    assert warploom.simulate(compiled, bare, trips=2).costs == "bare model"
    assert "costs: mine" in warploom.timeline(compiled, target, trips=2)
    with pytest.raises(warploom.ConfigError, match="has no costs"):
        warploom.simulate(compiled, 3)


@pytest.fixture(scope="module")
def swiglu_lowered():
    made = swiglu.compile("bf16")
    return made.lower(made.choices[0].config)


def test_functions_take_what_a_tile_kernel_becomes(swiglu_lowered):
    """Programs of roles go where counter schedules go; what they need is said."""
    lowered = swiglu_lowered
    assert verify(lowered).verdict == verify(lowered.document).verdict == "clean"
    assert read_schedule(write_schedule(lowered)) == lowered.document
    prices = role_costs(lowered)
    assert simulate(lowered, prices, trips=16).ii == lowered.result.ii
    assert f"II {lowered.result.ii} cycles" in timeline(lowered, prices)
    assert simulate(lowered, trips=16).ii == lowered.result.ii  # it carries its prices
    bare = replace(lowered.document, costs=None)
    with pytest.raises(DocumentError, match="carries its prices"):
        simulate(bare)
    with pytest.raises(ConfigError, match="counter schedule"):
        simulate(compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4)), prices)


def test_what_is_shown_in_a_session_is_short(swiglu_lowered):
    compiled = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4))
    made = swiglu.compile("bf16")
    for value in (compiled, compiled.document(), swiglu_lowered, swiglu_lowered.document, made):
        assert len(repr(value)) < 200


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda c: simulate(c, trips=1.5), "1.5 is no number of loop iterations"),
        (lambda c: simulate(c, trips="4"), "'4' is no number"),
        (lambda c: read_schedule(None), "a NoneType is no text"),
        (lambda c: read_schedule(Path("x.json")), "is no text of a document"),
        (lambda c: warploom.repair(None), "a NoneType is no schedule"),
        (lambda c: warploom.witness(c, None), "a NoneType is no finding"),
        (lambda c: compile_schedule(DeclarativeSchedule(), sync="nothing"), "is no SyncPolicy"),
        (lambda c: warploom.ScheduleConfig(scheduling="CSP"), "is no SchedulingStrategy"),
    ],
)
def test_a_wrong_kind_of_value_is_reported(wrong, said):
    with pytest.raises((ConfigError, DocumentError), match=said):
        wrong(compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4)))


def test_repair_takes_what_compilation_returned():
    compiled = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4))
    assert warploom.repair(compiled).changes == ()
