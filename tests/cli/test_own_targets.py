"""A target of one's own is used, named and checked everywhere."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.test_one_truth import numbers, pace_of
from warploom import (
    ConfigError,
    DeclarativeSchedule,
    GeometryError,
    KernelGeometry,
    compile_schedule,
    read_schedule,
    simulate,
    timeline,
)
from warploom.kernels.gemm import gemm
from warploom.targets.described import described, differences
from warploom.targets.h200 import h100, h200

from .runner import warploom

CHIP = """
from dataclasses import replace
from warploom import DeclarativeSchedule, TargetProfile, mi355x_cost_model, mi355x_costs
from warploom import mi355x_double_buffer
from warploom.targets.h200 import h200

machine = replace(mi355x_costs(mma_cycles=256, memory_bytes=16), name="half", clock_hz=1e9)
half = TargetProfile(mi355x_cost_model(), mi355x_double_buffer(2, 2), name="half", machine=machine)
schedule = DeclarativeSchedule(lgkm_a=8, lgkm_b=4, target=half)
slow = replace(h200(), name="slow", l2_bytes_per_cycle=20.0)
"""


@pytest.fixture
def chip(tmp_path, monkeypatch):
    (tmp_path / "chip.py").write_text(CHIP)
    monkeypatch.chdir(tmp_path)
    space = {}
    exec(CHIP, space)
    return space


def test_a_target_of_ones_own_is_used_and_named_everywhere(chip):
    spec = "chip.py:schedule"
    found = pace_of("simulate", spec)["pace"]
    expected = numbers(found)
    assert found["costs"] == "half"
    assert expected[0] == 8192  # of the memory's: four times what the chip takes
    assert warploom("compile", spec, "-o", "chip.json").returncode == 0
    source = "chip.json"
    assert numbers(pace_of("simulate", source)["pace"]) == expected
    assert numbers(pace_of("graph", source)["pace"]) == expected
    assert pace_of("diff", source, spec)["facts"][0]["interval"] == expected[0]
    for command, given in (("show", spec), ("show", source), ("compile", spec)):
        text = " ".join(warploom(command, given).stdout.split())
        assert f"{expected[1]:g} cycles a K-tile" in text
        assert "on half costs" in text
    line = warploom("timeline", source, "--trips", "2", "--width", "200").stdout
    assert f"II {expected[0]:g} cycles" in line
    assert "costs: half" in line
    compiled = compile_schedule(chip["schedule"])
    document = read_schedule(Path("chip.json").read_text())
    assert document.machine == chip["machine"]
    for given, costs in ((compiled, None), (document, chip["half"]), (document, None)):
        run = simulate(given, costs, trips=16)
        assert (run.ii, run.costs) == (expected[0], "half")
    assert f"II {expected[0]:g} cycles" in timeline(document, trips=2)
    text = warploom("simulate", spec).stdout
    assert "us at 1 GHz" in text


@pytest.mark.slow
def test_a_target_of_ones_own_is_named_by_the_back_end(chip):
    pytest.importorskip("llvmlite")
    expected = numbers(pace_of("simulate", "chip.py:schedule")["pace"])
    emitted = pace_of("emit", "gfx950", "chip.py:schedule", "-o", "out")
    assert numbers(emitted["pace"]) == expected
    assert "scheduled for half" in warploom("emit", "gfx950", "chip.py:schedule", "-o", "o").stdout


def test_a_hopper_target_of_ones_own(chip):
    expected = numbers(pace_of("simulate", "gemm", "--target", "chip.py:slow")["pace"])
    assert expected[0] > numbers(pace_of("simulate", "gemm")["pace"])[0]
    text = warploom("compile", "gemm", "--target", "chip.py:slow", "-o", "slow.json").stdout
    assert "on slow costs" in " ".join(text.split())
    for more in ((), ("--target", "chip.py:slow")):
        again = pace_of("simulate", "slow.json", *more)["pace"]
        assert numbers(again) == expected
        assert again["costs"] == "slow"
    assert numbers(pace_of("simulate", "slow.json", "--target", "h200")["pace"]) != expected
    assert "costs: slow" in warploom("timeline", "slow.json", "--width", "200").stdout
    assert "on slow costs" in " ".join(warploom("show", "slow.json").stdout.split())
    emitted = pace_of("emit", "h200", "slow.json", "--no-build", "-o", "out")
    assert numbers(emitted["pace"]) == expected
    assert emitted["target"] == "slow"
    run = simulate(read_schedule(Path("slow.json").read_text()), trips=64)
    assert (run.ii, run.costs) == (expected[0], "slow")
    made = gemm.compile("bf16", without=("bias", "residual"), target=chip["slow"])
    assert simulate(made, trips=64).costs == "slow"


def test_a_target_is_the_same_in_words(chip):
    limits = replace(h200().limits, smem_per_block=100_000)
    for target in (chip["slow"], replace(h100(), name="mine", limits=limits), h200(), h100()):
        assert described(target.name, differences(target)) == target
    with pytest.raises(ConfigError, match="no figure 'speed'"):
        described("x", [("is", "h200"), ("speed", "1")])
    for text in ('"x"', "true", "{", "null"):
        with pytest.raises(ConfigError, match="is no value of"):
            described("x", [("is", "h200"), ("clock_hz", text)])


def test_a_hopper_target_names_itself_in_a_kernel(chip):
    assert gemm.compile("bf16", without=("bias", "residual"), target=chip["slow"]).target.name == (
        "slow"
    )
    with pytest.raises(ConfigError, match="is not known"):
        gemm.compile("bf16", target="h2000")
    named = gemm.compile("bf16", without=("bias", "residual"), target="h100")
    assert named.target.name == "h100"


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("pingpong", "h100", "is a counter schedule"),
        ("pingpong", "chip.py:schedule", "is a DeclarativeSchedule"),
        ("pingpong", "nothing", "there is no target"),
    ],
)
def test_a_target_that_does_not_fit_is_reported(chip, source, target, said):
    done = warploom("simulate", source, "--target", target)
    assert done.returncode == 2
    assert said in done.stderr


def test_buffers_must_fit_the_storage_of_the_target(chip):
    machine = replace(chip["machine"], storage=64 * 1024)
    small = replace(chip["half"], machine=machine)
    geometry = KernelGeometry.ping_pong((256, 256, 64))
    with pytest.raises(GeometryError, match="shared memory"):
        compile_schedule(DeclarativeSchedule(target=small, geometry=geometry))


def test_model_cycles_and_chip_cycles_are_never_shown_as_the_same_thing():
    chip = " ".join(warploom("show", "pingpong").stdout.split())
    assert "mi355x cycles (least for one pass of the body)" in chip
    assert "on mi355x costs" in chip
    model = warploom("simulate", "pingpong", "--costs", "model").stdout
    assert "on seed costs" in model
