"""The engine of every search: what is asked, kept, counted, and what ends it."""

import json
from concurrent.futures import ThreadPoolExecutor
from math import inf, nan

import pytest

import warploom
from tests.autotune.test_joint import OPTIONS, compiled  # noqa: F401 (a fixture)
from tests.modulo.test_hunt import MODEL
from warploom import SearchOptions
from warploom.autotune.joint import search_tiles
from warploom.autotune.store import Journal, SharedStore, space_key
from warploom.errors import ConfigError
from warploom.search_engine import HOPELESS, Budget, Engine, Objective


def counted(asked, worth=float):
    """An objective that says which candidates it was asked for."""

    def each(n):
        asked.append(n)
        return worth(n)

    return Objective(each=each, key=str)


def test_nothing_is_evaluated_twice():
    asked = []
    engine = Engine(counted(asked))
    assert engine.evaluate([3, 1, 3]) == [3.0, 1.0, 3.0]
    assert engine.evaluate([1, 2]) == [1.0, 2.0]
    assert engine.evaluate([]) == []
    assert asked == [3, 1, 2]
    assert (engine.best, engine.best_score) == (1, 1.0)


@pytest.mark.parametrize("workers", [None, 2])
def test_a_journal_is_gone_on_from(tmp_path, workers):
    asked, path = [], tmp_path / "deep" / "kept"
    pool = None if workers is None else ThreadPoolExecutor(workers)
    Engine(counted(asked), store=Journal(path), executor=pool).evaluate([1, 2])
    path.write_text(path.read_text() + '{"key": "3", "val')
    engine = Engine(counted(asked), store=Journal(path), executor=pool)
    assert engine.evaluate([3, 2, 1]) == [3.0, 2.0, 1.0]
    assert sorted(asked) == [1, 2, 3]
    assert len(Journal(path)) == 3


def test_what_ends_a_search():
    def forever(engine):
        n = 0
        while True:
            engine.evaluate([n, n + 1])
            n += 2

    def ended(budget, worth=float):
        engine = Engine(counted([], worth), budget)
        return engine.run(forever), len(engine.values)

    assert ended(Budget(evaluations=3)) == ("evaluations spent", 4)
    assert ended(Budget(goal=0.0)) == ("goal reached", 2)
    assert ended(Budget(seconds=1e-9)) == ("time limit", 0)
    useless = Budget(evaluations=2)
    assert ended(useless, lambda n: inf) == ("evaluations spent", 2 + HOPELESS)
    assert Engine(counted([])).run(lambda engine: None) == "nothing left to try"
    for wrong in ({"evaluations": 0}, {"seconds": 0.0}, {"seconds": nan}):
        with pytest.raises(ConfigError):
            Budget(**wrong)


def test_ctrl_c_leaves_what_is_known():
    def worth(n):
        if n == 2:
            raise KeyboardInterrupt
        return float(n)

    engine = Engine(counted([], worth))
    assert engine.run(lambda engine: engine.evaluate([1, 0, 2, 3])) == "interrupt"
    assert engine.values == {1: 1.0, 0: 0.0}
    assert engine.best == 0


def test_looks_are_no_results():
    engine = Engine(Objective(each=float, answers=lambda n: n > 2))
    engine.evaluate([1, 3])
    assert engine.best == 3


def test_a_batch_is_valued_together_without_what_is_known(tmp_path):
    batches = []

    def together(batch):
        batches.append(list(batch))
        return [float(n) for n in batch]

    journal = Journal(tmp_path / "kept")
    journal.put("2", 2.0)
    engine = Engine(Objective(together=together, key=str), store=journal)
    assert engine.evaluate([1, 2, 3]) == [1.0, 2.0, 3.0]
    assert batches == [[1, 3]]


def test_a_value_that_no_longer_stands_is_found_anew(tmp_path):
    asked, journal = [], Journal(tmp_path / "kept")
    journal.put("1", {"old": 7})

    def each(n):
        asked.append(n)
        return 5.0

    objective = Objective(
        each=each, key=str, encode=lambda v: {"new": v}, decode=lambda kept: kept.get("new")
    )
    assert Engine(objective, store=journal).evaluate([1]) == [5.0]
    assert Engine(objective, store=Journal(tmp_path / "kept")).evaluate([1]) == [5.0]
    assert asked == [1]


def test_a_mistake_of_the_objective_is_the_callers(tmp_path):
    def worth(n):
        if n == 2:
            raise ZeroDivisionError
        return float(n)

    shared = SharedStore(tmp_path / "shared")
    with ThreadPoolExecutor(1) as pool:
        engine = Engine(counted([], worth), executor=pool, shared=shared)
        with pytest.raises(ZeroDivisionError):
            engine.evaluate([1, 2, 3])
    again = []
    Engine(counted(again), shared=shared).evaluate([1])
    assert again == []  # kept by the worker, whoever heard of it


def test_keys_tell_subjects_and_measures_apart():
    def one(config):
        return 0.0

    def other(config):
        return 0.0

    keys = {space_key("a"), space_key("b"), space_key("a", one), space_key("a", other)}
    keys |= {space_key("a", scheduling=True)}
    assert len(keys) == 5
    assert space_key("a", one) == space_key("a", one)


def test_searches_of_two_kinds_share_a_file(tmp_path, compiled):  # noqa: F811 (the fixture)
    store = tmp_path / "kept"
    found = search_tiles(compiled, options=OPTIONS, store=store)
    few = SearchOptions(evaluations=4)
    best = warploom.search(MODEL, options=few, store=store)
    lines = len(store.read_text().splitlines())
    assert search_tiles(compiled, options=OPTIONS, store=store).best == found.best
    assert warploom.search(MODEL, options=few, store=store).score <= best.score
    assert all(json.loads(line) for line in store.read_text().splitlines())
    assert lines == len({json.loads(x)["key"] for x in store.read_text().splitlines()[:lines]})


def test_times_that_are_no_numbers_are_no_times(compiled):  # noqa: F811 (the fixture)
    def measure(config):
        return nan if config.extent("n") > 64 else inf

    found = search_tiles(compiled, measure=measure, options=OPTIONS)
    assert not found.measured
    assert all("measured" in row.error for row in found.rows)
    with pytest.raises(warploom.SchedulingError, match="no usable order"):
        warploom.search(MODEL, measure=lambda r: nan, options=SearchOptions(evaluations=3))
