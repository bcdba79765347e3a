"""The same document on the same target has one interval, whoever reports it."""

import json
from pathlib import Path

import pytest

from warploom import (
    DeclarativeSchedule,
    SearchOptions,
    compile_schedule,
    read_schedule,
    search,
    simulate,
    timeline,
    write_schedule,
)
from warploom.autotune import Point, evaluate
from warploom.cli.kernels import built_in, kernel_named
from warploom.cli.knobs import Request
from warploom.cli.source import load
from warploom.compiler.pricing import role_costs
from warploom.pipeline.config.pipeline import SchedulingStrategy
from warploom.pipeline.modulo.bridge import ModuloRequest
from warploom.sim import Pace, simulate_roles
from warploom.sim.chip import chip_costs
from warploom.targets.occupancy import OccupancyModel

from .runner import warploom

CASES = (
    ("fourwave", "128x128x64", "bf16"),
    ("fourwave", "256x256x64", "bf16"),
    ("fourwave", "64x64x32", "bf16"),
    ("pingpong", "256x256x64", "bf16"),
    ("fourwave", "256x256x128", "fp8"),
)
HOPPER = ("gemm", "swiglu", "attention", "gemm_128x128x64_w2")


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
    schedule = built_in(name, {}, tile, dtype)
    compiled = compile_schedule(schedule)
    document = compiled.document()
    run = simulate(document, chip_costs(document, (m, n, k), dtype), trips=16)
    assert run.ii == expected[0]
    assert simulate(compiled, trips=16).ii == expected[0]
    again = read_schedule(write_schedule(document))
    assert f"II {expected[0]:g} cycles" in timeline(again, trips=2)


@pytest.mark.parametrize(("name", "tile", "dtype"), CASES[2:4])
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
    facts = pace_of("diff", name, name)["facts"][0]
    assert (facts["interval"], facts["cycles a K-tile"], facts["bound a K-tile"]) == expected
    emitted = pace_of("emit", "h200", name, "--no-build", "-o", tmp_path)
    assert numbers(emitted["pace"]) == expected
    rows = pace_of("explore", name)
    assert rows[0]["cycles a tile"] == expected[1]
    for text in (warploom(command, name).stdout for command in ("show", "compile", "graph")):
        assert f"{expected[1]:g} cycles a tile" in " ".join(text.split())
    line = warploom("timeline", name, "--trips", "4", "--width", "200").stdout
    assert f"II {expected[0]:g} cycles" in line
    page = warploom("timeline", name, "--trips", "4", "--format", "html").stdout
    assert f"initiation interval <b>{expected[0]:g} " in page
    path = tmp_path / "kernel.schedule.json"
    assert numbers(pace_of("simulate", path)["pace"]) == expected
    kernel = kernel_named(name)
    lowered = kernel.lowered
    run = simulate_roles(lowered.document, role_costs(lowered, kernel.target), trips=64)
    assert run.ii == expected[0]


def test_an_unrolled_loop_does_not_look_slower(tmp_path):
    pace = pace_of("simulate", "block_scaled")["pace"]
    assert pace["k_tiles_per_iteration"] == 2
    assert pace["interval"] == 2 * pace["cycles_per_k_tile"]
    path = tmp_path / "scaled.json"
    warploom("compile", "block_scaled", "-o", path)
    assert numbers(pace_of("simulate", path)["pace"]) == numbers(pace)
    document = read_schedule(path.read_text())
    said = " ".join(timeline(document).split())  # lines are broken anywhere
    assert f"{pace['cycles_per_k_tile']:g} a K-tile" in said


TWO_LOOPS = """
import warploom as wl


@wl.kernel
def normed(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    total = wl.zeros(m)
    for k in wl.steps(x.k):
        a = x[m, k].to(wl.f32)
        total += (a * a).sum(axis=1)
    acc = wl.zeros(m, n)
    for j in wl.steps(x.k):
        acc += x[m, j] @ w[n, j].T
    out[m, n] = acc * wl.rsqrt(total / x.k + 1e-6)
"""


def test_every_loop_of_a_tile_has_one_interval(tmp_path, monkeypatch):
    (tmp_path / "two.py").write_text(TWO_LOOPS)
    monkeypatch.chdir(tmp_path)
    name = "two.py:normed"
    expected = [numbers(loop["pace"]) for loop in pace_of("simulate", name)]
    assert len(expected) == 2
    assert expected[0][0] < expected[1][0] == 1024
    assert [numbers(loop["pace"]) for loop in pace_of("graph", name)] == expected
    text = warploom("show", name).stdout
    for n, var in enumerate("kj"):
        assert f"{expected[n][1]:g} cycles a tile of {var}" in " ".join(text.split())
    text = warploom("timeline", name, "--width", "200").stdout
    for interval, *_ in expected:
        assert f"II {interval:g} cycles" in text
    assert warploom("compile", name, "-o", "two.json").returncode == 0
    for file, wanted in (("two.loop1.json", expected[0]), ("two.json", expected[1])):
        assert numbers(pace_of("simulate", file)["pace"]) == wanted


@pytest.mark.slow
def test_every_loop_of_a_tile_has_one_interval_everywhere(tmp_path, monkeypatch):
    (tmp_path / "two.py").write_text(TWO_LOOPS)
    monkeypatch.chdir(tmp_path)
    name = "two.py:normed"
    expected = [numbers(loop["pace"]) for loop in pace_of("simulate", name)]
    facts = pace_of("diff", name, name)["facts"][0]
    assert (facts["interval, loop 1"], facts["interval"]) == (expected[0][0], expected[1][0])
    emitted = pace_of("emit", "h200", name, "--no-build", "-o", "out")
    assert [numbers(pace) for pace in emitted["pace"]] == expected
    rows = {r["source"]: r["cycles a tile"] for r in pace_of("explore", name)}
    assert rows == {f"{name}, loop {n}": expected[n - 1][1] for n in (1, 2)}
    for text in (warploom(command, name).stdout for command in ("compile", "graph")):
        for n, var in enumerate("kj"):
            assert f"{expected[n][1]:g} cycles a tile of {var}" in " ".join(text.split())
    picture = warploom("timeline", name, "--format", "svg").stdout
    page = warploom("timeline", name, "--format", "html").stdout
    for interval, *_ in expected:
        assert f"II {interval:g} cycles" in picture
        assert f"initiation interval &lt;b&gt;{interval:g} " in page
    trace = pace_of("timeline", name)
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert {"loop 1: producer", "loop 2: consumer 0"} <= set(names)
    done = warploom("verify", name)
    assert done.stdout.count("clean") == 2


def test_a_document_of_ones_own_kernel_carries_its_prices(tmp_path, monkeypatch):
    (tmp_path / "two.py").write_text(TWO_LOOPS)
    monkeypatch.chdir(tmp_path)
    warploom("compile", "two.py:normed", "-o", "mine.json")
    assert "1024 cycles a tile" in warploom("simulate", "mine.json").stdout
    text = Path("mine.json").read_text()
    assert "1024 cycles a tile" in warploom("graph", "-", stdin=text).stdout
    bare = json.loads(text)
    del bare["costs"]
    done = warploom("simulate", "-", stdin=json.dumps(bare))
    assert done.returncode == 2
    assert "no prices" in done.stderr
    bare |= {"target": "mine", "machine": [["is", "h300"]]}
    done = warploom("simulate", "-", stdin=json.dumps(bare))
    assert done.returncode == 2
    assert "$.machine" in done.stderr


def test_the_price_of_products_follows_tile_waves_and_type():
    small = numbers(pace_of("simulate", "fourwave", "--tile", "64x64x32")["pace"])
    large = numbers(pace_of("simulate", "fourwave", "--tile", "256x256x64")["pace"])
    # 32 times the products in a tile: 64 and 2048 cycles of the matrix units.
    assert large[2] == 2048
    assert small[2] <= large[2] / 8


@pytest.mark.parametrize(
    ("name", "tile", "mma", "strategy", "makespan"),
    [
        ("pingpong", "256x256x64", "32x32x16", "CSP", 4728),
        ("pingpong", "256x256x64", None, "GREEDY", 4728),
    ],
)
def test_orders_are_made_in_the_chips_cycles(name, tile, mma, strategy, makespan):
    knobs = {"scheduling": SchedulingStrategy[strategy]}
    compiled = compile_schedule(built_in(name, knobs, tile, "bf16", mma))
    assert (compiled.order.makespan, compiled.ordered_in) == (makespan, "mi355x")
    bare = compile_schedule(DeclarativeSchedule(False, 8, 4))
    assert bare.ordered_in == "seed"


def test_an_interval_is_solved_shown_and_simulated_in_one_vocabulary(tmp_path):
    pytest.importorskip("ortools")
    request = Request(knobs={"scheduling": SchedulingStrategy.MODULO})
    compiled = load("pingpong", request).compiled  # what the command below shows
    assert compiled.modulo.proven
    path = tmp_path / "document.json"
    path.write_text(write_schedule(compiled.document()))
    pace = pace_of("simulate", path)["pace"]
    assert compiled.modulo.ii == pace["bound_per_k_tile"] * pace["k_tiles_per_iteration"] == 4096
    assert pace["interval"] <= 1.06 * compiled.modulo.ii
    text = " ".join(warploom("show", "pingpong", "--scheduling", "modulo").stdout.split())
    assert "interval 4096 mi355x cycles (proven least" in text
    assert f"{pace['cycles_per_k_tile']:g} cycles a K-tile" in text


def test_a_search_scores_what_simulate_reports(tmp_path):
    schedule = built_in("pingpong", {}, "256x256x64", "bf16", "32x32x16")
    options = SearchOptions(evaluations=2)
    found = search(schedule, options=options)
    path = tmp_path / "document.json"
    path.write_text(write_schedule(found.best.document()))
    pace = pace_of("simulate", path)["pace"]
    assert found.score == 2 * pace["cycles_per_k_tile"]
    assert found.bound == 2 * pace["bound_per_k_tile"]


def test_an_iteration_that_covers_more_does_not_look_slower(tmp_path):
    pytest.importorskip("ortools")
    path = tmp_path / "document.json"
    seed = ModuloRequest(occupancies=OccupancyModel())  # the seed's prices: two copies of slots
    compiled = compile_schedule(built_in("pingpong", {}, None, "bf16", None), modulo=seed)
    assert compiled.ordered_in == "seed"
    path.write_text(write_schedule(compiled.document()))
    by_interval = pace_of("simulate", path)["pace"]
    by_hand = pace_of("simulate", "pingpong")["pace"]
    for pace in (by_interval, by_hand):
        assert pace["cycles_per_k_tile"] == pace["interval"] / pace["k_tiles_per_iteration"]
    assert by_interval["cycles_per_k_tile"] < by_hand["cycles_per_k_tile"]
    facts = {"costs": "x", "exact": True, "bound": 1.0, "unit": "u", "matrix": None}
    two, one = Pace(interval=8616.0, tiles=2, **facts), Pace(interval=5360.0, tiles=1, **facts)
    assert two.interval > one.interval
    assert two.per_tile < one.per_tile
    assert "4308 cycles a K-tile (8616 for 2 an iteration)" in two.text()
