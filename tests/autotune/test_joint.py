"""The joint search: results kept, every choice measured, ranked by the simulator till then."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from warploom.autotune import joint, tiles
from warploom.autotune.joint import JointOptions, rank_correlation, search_tiles
from warploom.autotune.joint_report import to_svg, to_table
from warploom.autotune.store import Journal
from warploom.autotune.tiles import KernelSpace
from warploom.compiler.compiled import compile_kernel
from warploom.compiler.remembered import recall, remember
from warploom.errors import BackendError, ConfigError
from warploom.kernels.gemm import gemm
from warploom.passes.kernel_config import KernelConfig

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
