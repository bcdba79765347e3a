"""The same document on the same target has one interval, whoever reports it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from warploom import (
    ConfigError,
    DeclarativeSchedule,
    GeometryError,
    KernelGeometry,
    SearchOptions,
    compile_schedule,
    read_schedule,
    search,
    simulate,
    timeline,
    write_schedule,
)
from warploom.cli.kernels import built_in, kernel_named
from warploom.cli.knobs import Request
from warploom.cli.source import load
from warploom.kernels.gemm import gemm
from warploom.launch.pricing import role_costs
from warploom.search import Point, evaluate
from warploom.seed.config.pipeline import SchedulingStrategy
from warploom.seed.modulo.bridge import ModuloRequest
from warploom.sim import Pace, simulate_roles
from warploom.sim.chip import chip_costs
from warploom.target.described import described, differences
from warploom.target.h200 import h100, h200
from warploom.target.occupancy import OccupancyModel

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


CHIP = """
from dataclasses import replace
from warploom import DeclarativeSchedule, TargetProfile, mi355x_cost_model, mi355x_costs
from warploom import mi355x_double_buffer
from warploom.target.h200 import h200

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
    with pytest.raises(ConfigError, match="no Hopper target"):
        gemm.compile("bf16", target="h200")


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("gemm", "mi355x", "is a Hopper kernel"),
        ("pingpong", "h100", "is a counter schedule"),
        ("pingpong", "chip.py:schedule", "is a DeclarativeSchedule"),
        ("pingpong", "nothing", "there is no target"),
    ],
)
def test_a_target_that_does_not_fit_is_told(chip, source, target, said):
    done = warploom("simulate", source, "--target", target)
    assert done.returncode == 2
    assert said in done.stderr


def test_buffers_must_fit_the_storage_of_the_target(chip):
    machine = replace(chip["machine"], storage=64 * 1024)
    small = replace(chip["half"], machine=machine)
    geometry = KernelGeometry.ping_pong((256, 256, 64))
    with pytest.raises(GeometryError, match="shared memory"):
        compile_schedule(DeclarativeSchedule(target=small, geometry=geometry))


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


def test_model_cycles_and_chip_cycles_are_never_shown_as_the_same_thing():
    chip = " ".join(warploom("show", "pingpong").stdout.split())
    assert "mi355x cycles (least for one pass of the body)" in chip
    assert "on mi355x costs" in chip
    model = warploom("simulate", "pingpong", "--costs", "model").stdout
    assert "on seed costs" in model
