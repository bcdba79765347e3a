"""The joint search: results kept, every choice measured, ranked by the simulator till then."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from tests.mbarrier.samples import BRIEF, compiled as sample
from warploom.autotune import joint, tiles
from warploom.autotune.joint import JointOptions, rank_correlation, search_tiles
from warploom.autotune.joint_report import to_svg, to_table
from warploom.autotune.store import Journal
from warploom.autotune.tiles import KernelSpace, Trial
from warploom.compiler.compiled import compile_kernel
from warploom.compiler.remembered import recall, remember
from warploom.errors import BackendError, ConfigError
from warploom.kernels.gemm import gemm
from warploom.passes.kernel_config import KernelConfig, knobs
from warploom.passes.rewrites import rewrite

OPTIONS = JointOptions(shapes=3, trials=12, batch=4, programs=0, rounds=1, steps=0)
SIZES = {"m": 1024, "n": 1024, "k": 512}


@pytest.fixture(scope="module")
def compiled():
    text = gemm.with_config(
        m=128, k=64, consumer_warpgroups=2, store_from_registers=True, epilogue_stages=1
    )
    kinds = dict.fromkeys(("a", "b", "out"), "bf16")
    without = {t.name for t in gemm.signature.tensors if t.optional}
    return compile_kernel(
        text, kinds, sizes=SIZES, constants={}, without=without, positive=frozenset()
    )


def measured(config):
    """Wide tiles are quick, three stages cannot be built."""
    if config.stages == 3:
        raise BackendError("three stages")
    return 2.0 - config.extent("n") / 256


def test_the_quickest_comes_first(compiled):
    found = search_tiles(compiled, measure=measured, options=OPTIONS)
    times = [r.milliseconds for r in found.known()]
    assert times == sorted(times)
    assert found.measured
    assert found.best.config.extent("n") == max(r.trial.config.extent("n") for r in found.known())
    assert all(r.trial.bound <= r.trial.predicted for r in found.rows)
    table = to_table(found)
    assert found.best.name in table
    assert to_svg(found).count("<circle") == len(times)


def test_without_a_measure_the_model_ranks_and_says_so(compiled):
    found = search_tiles(compiled, options=OPTIONS)
    assert not found.measured
    assert "Nothing was measured" in to_table(found)
    assert [r.trial.predicted for r in found.rows] == sorted(r.trial.predicted for r in found.rows)


def test_the_time_limit_covers_the_start(compiled, tmp_path):
    """One shape is scheduled however short the time is; the next search begins anew."""
    store = tmp_path / "found.json"
    hasty = replace(OPTIONS, seconds=1e-6)
    found = search_tiles(compiled, options=hasty, store=store)
    assert (found.scheduled, found.stopped) == (1, "time limit")
    assert [row["value"]["stopped"] is None for row in Journal(store).rows()] == [False]
    assert search_tiles(compiled, options=OPTIONS, store=store).scheduled == 3
    assert [row["value"]["stopped"] is None for row in Journal(store).rows()] == [True] * 3


def test_no_shape_takes_all_of_the_time(compiled, monkeypatch):
    asked = []
    found = lambda self, shape, programs, seconds: asked.append(seconds) or []  # noqa: E731
    monkeypatch.setattr(KernelSpace, "schedule", found)
    with pytest.raises(ConfigError, match="could be scheduled"):
        search_tiles(compiled, options=JointOptions(shapes=3, steps=0, seconds=100.0))
    assert len(asked) == 3
    assert max(asked) <= 100.0 * joint.SHARE


def test_some_of_the_time_is_for_measuring(compiled, monkeypatch):
    """However slowly shapes are scheduled; shapes that are known by then come later."""
    clock, known = [0.0], KernelSpace.schedule

    def schedule(*given):
        clock[0] += 30.0
        return known(*given)

    monkeypatch.setattr(KernelSpace, "schedule", schedule)
    monkeypatch.setattr(joint.time, "monotonic", lambda: clock[0])
    options = replace(OPTIONS, shapes=50, trials=4, seconds=100.0)
    found = search_tiles(compiled, measure=measured, options=options)
    assert found.scheduled == 2
    assert len(found.known()) == 4


def test_a_search_that_is_always_short_of_time_goes_on(compiled, tmp_path, monkeypatch):
    """What was found for a shape is kept; with as little time again it is the next one's turn."""
    store, asked, known = tmp_path / "found.json", [], KernelSpace.schedule
    late = [False]

    def schedule(self, shape, *given):
        asked.append(shape.config)
        late[0] = True
        return known(self, shape, *given)

    monkeypatch.setattr(KernelSpace, "schedule", schedule)
    monkeypatch.setattr(joint._Search, "out_of_time", lambda self: late[0])
    monkeypatch.setattr(joint, "LEAST", 60.0)
    hasty = replace(OPTIONS, seconds=60.0)
    for runs in (1, 2, 3):
        late[0] = False
        assert search_tiles(compiled, options=hasty, store=store).scheduled == runs
    assert len(set(asked)) == 3
    assert len(asked) == 3


def test_a_stopped_search_goes_on(compiled, tmp_path):
    store, asked = tmp_path / "found.json", []

    def counting(config):
        asked.append(config)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return measured(config)

    stopped = search_tiles(compiled, measure=counting, options=OPTIONS, store=store)
    assert stopped.stopped == "interrupt"
    first = list(asked)
    found = search_tiles(compiled, measure=counting, options=OPTIONS, store=store)
    assert len(found.known()) > len(stopped.known())
    assert set(first[:2]) & {r.trial.config for r in found.known()}
    rest = len(found.known()) - 2
    assert not set(asked[3 : 3 + rest]) & set(first[:2])  # nothing again before the final rounds
    again = search_tiles(compiled, measure=measured, options=OPTIONS, store=store)
    assert {r.trial.name for r in again.known()} == {r.trial.name for r in found.known()}
    assert first[0] in [r.trial.config for r in found.known()]


def test_results_of_another_search_are_not_mixed_in(compiled, tmp_path):
    """Searches share a file: of another kernel, measure or code nothing is taken."""
    store, asked = tmp_path / "found.json", []

    def other(config):
        asked.append(config)
        return 1.0

    search_tiles(compiled, measure=measured, options=OPTIONS, store=store)
    found = search_tiles(compiled, measure=other, options=OPTIONS, store=store)
    assert set(asked) == {r.trial.config for r in found.rows}
    assert {r.milliseconds for r in found.rows if r.milliseconds} == {1.0}
    asked.clear()
    search_tiles(compiled, measure=other, options=OPTIONS, store=store)
    assert not asked


@pytest.mark.parametrize("text", ["{", "a = 1\n", '{"rows": []}\n', "[]"])
def test_a_file_of_another_kind_is_not_written_to(compiled, tmp_path, text):
    store = tmp_path / "found.json"
    store.write_text(text)
    with pytest.raises(ConfigError, match="no results file"):
        search_tiles(compiled, options=OPTIONS, store=store)
    assert store.read_text() == text


def test_what_is_kept_can_be_a_key(compiled, tmp_path):
    config = KernelConfig(tile=(("m", 128), ("n", 128), ("k", 64)), schedule=(5, 1, 2))
    remember(compiled.kernel, SIZES, config, tmp_path)
    assert dict(recall(compiled.kernel, SIZES, tmp_path)) == dict(config.pins)
    hash(recall(compiled.kernel, SIZES, tmp_path))


# A kernel for every knob in which another value of it is another program.
REACHED = {
    "gemm": (
        *("pingpong", "stages", "epilogue_stages", "zero_init_accumulators", "l2_evict_last"),
        *("serpentine", "raster_group", "store_from_registers", "separate_full_waits"),
        *("full_wait_after", "cluster", "drain_mma", "ctas_per_sm", "cta_sync_interval"),
    ),
    "small gemm": ("consumer_warpgroups", "mma_turns", "split_k", "split_k_in_cluster"),
    "attention": (
        *("a_in_registers", "deferred_mmas", "schedule", "tile_prefetch"),
        "one_barrier_per_stage",
    ),
    "attention_grad": (
        *("computed_tile_stages", "operands_from_smem", "fuse_vector_chains"),
        *("reserved_registers", "reduce_from_registers", "preload_vectors"),
    ),
    "int4_gemm": ("unroll",),
    "scan_64_64_parts": ("earlier_loop_stages",),
}


def space_of(name):
    """A kernel's space, and a trial in it."""
    if "gemm" in name and name != "int4_gemm":
        size = 256 if name == "small gemm" else 4096
        pinned, sizes = gemm.with_config(m=128, n=128, k=64), {"m": size, "n": size, "k": 4096}
        choices = {"activation": None, "alpha": 1.0}
        made = pinned.compile("bf16", without=("bias", "residual"), sizes=sizes, constants=choices)
    else:
        made = sample(name)
    kernel = rewrite(made.simplified, positive=made.positive)
    sizes = {v.axis: 4096 for v in kernel.vars} | made.sizes
    space = KernelSpace(kernel, sizes, {}, made.target)
    return space, Trial(config=made.choices[0].config, bound=0.0, predicted=0.0)


def test_every_declared_knob_is_reached():
    """By a test of its own, once."""
    assert sorted(sum(REACHED.values(), ())) == sorted(k.name for k in knobs())


@pytest.mark.parametrize("name", REACHED)
def test_moves_reach_a_knob(name, monkeypatch):
    """By trials with another program: a knob that changes no code is not reached."""
    if name == "attention_grad":  # whose orders take long to find, and are not looked at
        monkeypatch.setattr(tiles, "SOLVE", BRIEF)
    space, trial = space_of(name)
    moves = space.moves(trial)
    for knob in (k for k in knobs() if k.name in REACHED[name]):
        tried = (space.moved(trial, m) for m in moves if m.knob == knob.name)
        found = next(t for t in tried if t is not None)
        ((moved, value),) = found.moves
        assert moved == knob.name
        assert value in knob.values(space.kernel)
        assert value == getattr(found.config, moved) or moved == "schedule"
        others = [k.name for k in knobs() if k.name not in (moved, "schedule")]
        assert all(getattr(found.config, n) == getattr(trial.config, n) for n in others)


def test_what_is_pinned_does_not_move():
    space, trial = space_of("gemm")
    pinned = replace(space, pins={"raster_group": 16, "stages": 4})
    knobs_of = [{m.knob for m in s.moves(trial)} for s in (space, pinned)]
    assert knobs_of[0] - knobs_of[1] == {"raster_group", "stages"}


def test_a_search_moves_knobs_that_pay(compiled, tmp_path):
    """One after the other, from the best; within the trials that were asked for."""
    asked = []

    def measure(config):
        asked.append(config)
        return 4.0 - config.extent("n") / 256 - (config.raster_group == 4) - config.drain_mma

    options = replace(OPTIONS, trials=40, steps=40)
    found = search_tiles(compiled, measure=measure, options=options, store=tmp_path / "kept")
    best = found.best.config
    assert (best.raster_group, best.drain_mma) == (4, True)
    assert "+raster_group=4" in found.best.name
    assert len(set(asked)) == len(found.rows) <= 40
    count = len(asked)
    again = search_tiles(compiled, measure=measure, options=options, store=tmp_path / "kept")
    assert (again.best.config, len(asked)) == (best, count)  # all of it was known


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30, unique=True))
def test_rank_correlation_knows_order_alone(values):
    twice = [v**3 for v in values]
    expected = 1.0 if len(set(twice)) == len(values) else rank_correlation(values, twice)
    assert rank_correlation(values, twice) == pytest.approx(expected)
    assert rank_correlation(values, [-v for v in values]) == pytest.approx(-1.0)
    assert rank_correlation(values, [1.0] * len(values)) == 0.0


def test_no_other_order_is_looked_at_after_the_time(compiled, monkeypatch):
    now, looked_at, known = iter(range(1000)), [], tiles.trial_of

    def others(first, late):
        for i in range(1, 200):
            if late():
                return
            moved = tuple(t + i for t in first.result.times)
            yield replace(first, result=replace(first.result, times=moved))

    def trial_of(*given):
        looked_at.append(given)
        return known(*given)

    monkeypatch.setattr(tiles, "time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(tiles, "takes_turns", lambda layout: True)
    monkeypatch.setattr(tiles, "_others", others)
    monkeypatch.setattr(tiles, "trial_of", trial_of)
    kernel, target = compiled.rewritten, compiled.target
    shape = tiles.shapes(kernel, compiled.sizes, compiled.pins, target)[0]
    found = list(tiles.schedule(kernel, shape, compiled.sizes, target, seconds=20.0))
    assert len(looked_at) == 1
    assert len({t.config.schedule for t in found}) == 1
    assert sum(1 for _ in now) > 900
