"""The same document on the same target has one interval, whoever reports it."""

import json

import pytest

from warploom import compile_schedule, simulate
from warploom.cli.builtin import BUILT_IN
from warploom.search import Point, evaluate
from warploom.seed.target.chip import chip_costs

from .runner import warploom

CASES = (
    ("fourwave", "128x128x64", "bf16"),
    ("fourwave", "256x256x64", "bf16"),
    ("fourwave", "64x64x32", "bf16"),
    ("pingpong", "256x256x64", "bf16"),
    ("fourwave", "256x256x128", "fp8"),
)
HOPPER = ("gemm", "attention", "gemm_128x128x64_w2")


def pace_of(*arguments):
    done = warploom(*arguments, "--json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def numbers(pace):
    return pace["interval"], pace["cycles_per_k_tile"], pace["bound_per_k_tile"]


@pytest.mark.parametrize(("name", "tile", "dtype"), CASES)
def test_counter_schedules(name, tile, dtype, tmp_path):
    options = ("--tile", tile, "--dtype", dtype)
    expected = numbers(pace_of("simulate", name, *options)["pace"])
    assert numbers(pace_of("graph", name, *options)["pace"]) == expected
    facts = pace_of("diff", name, name, *options)["facts"][0]
    assert (facts["interval"], facts["cycles a K-tile"], facts["bound a K-tile"]) == expected
    for text in (
        warploom("show", name, *options).stdout,
        warploom("compile", name, *options).stdout,
        warploom("graph", name, *options).stdout,
    ):
        assert f"{expected[1]:g} cycles a K-tile" in " ".join(text.split())
    line = warploom("timeline", name, *options, "--trips", "2", "--width", "200").stdout
    assert f"II {expected[0]:g} cycles" in line
    path = tmp_path / "document.json"
    warploom("compile", name, *options, "-o", path)
    assert numbers(pace_of("simulate", path, *options)["pace"]) == expected
    m, n, k = (int(side) for side in tile.split("x"))
    schedule = BUILT_IN[name]({}, tile, dtype)
    document = compile_schedule(schedule).document()
    run = simulate(document, chip_costs(document, (m, n, k), dtype), trips=64)
    assert run.ii == expected[0]


@pytest.mark.parametrize(("name", "tile", "dtype"), CASES)
def test_a_sweep_reports_what_simulate_reports(name, tile, dtype):
    m, n, k = (int(side) for side in tile.split("x"))
    sync = "REFERENCE" if name == "pingpong" else "PROVEN_WEAKEST"
    point = Point(schedule=name, tile=(m, n, k), dtype=dtype, sync=sync)
    found = evaluate(point)
    expected = pace_of("simulate", name, "--tile", tile, "--dtype", dtype)["pace"]
    assert (found.interval, found.cycles_per_tile) == numbers(expected)[:2]
    assert found.mma_utilisation == expected["matrix_utilisation"]


@pytest.mark.parametrize("name", HOPPER)
def test_role_programs(name, tmp_path):
    expected = numbers(pace_of("simulate", name)["pace"])
    assert numbers(pace_of("graph", name)["pace"]) == expected
    assert pace_of("diff", name, name)["facts"][0]["interval"] == expected[0]
    emitted = pace_of("emit", "h200", name, "--no-build", "-o", tmp_path)
    assert numbers(emitted["pace"]) == expected
    rows = pace_of("explore", name)
    assert rows[0]["cycles a tile"] == expected[1]


def test_the_price_of_products_follows_tile_waves_and_type():
    small = numbers(pace_of("simulate", "fourwave", "--tile", "64x64x32")["pace"])
    large = numbers(pace_of("simulate", "fourwave", "--tile", "256x256x64")["pace"])
    # 32 times the products in a tile: 64 and 2048 cycles of the matrix units.
    assert large[2] == 2048
    assert small[2] <= large[2] / 8


def test_an_iteration_that_covers_more_does_not_look_slower():
    pytest.importorskip("ortools")
    by_interval = pace_of("simulate", "pingpong", "--scheduling", "modulo")["pace"]
    by_hand = pace_of("simulate", "pingpong")["pace"]
    assert by_interval["k_tiles_per_iteration"] > by_hand["k_tiles_per_iteration"]
    assert by_interval["cycles_per_k_tile"] < by_hand["cycles_per_k_tile"]


def test_model_cycles_and_chip_cycles_are_never_shown_as_the_same_thing():
    chip = " ".join(warploom("show", "pingpong").stdout.split())
    assert "model cycles (least in the ordering model, not chip cycles)" in chip
    assert "on mi355x costs" in chip
    model = warploom("simulate", "pingpong", "--costs", "model").stdout
    assert "on seed costs" in model
