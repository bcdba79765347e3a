"""Sweeps: every point once, cached, resumable, the same ranking through any executor."""

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from warploom.autotune import Cache, Sweep, evaluate, explore, ranked, scatter_html, to_csv

SMALL = Sweep(strategies=("CSP", "IDENTITY"), syncs=("REFERENCE", "PROVEN_WEAKEST"))


def test_choices_without_effect_are_run_once():
    points = list(SMALL.points())
    assert len(points) == len(set(points)) == 6
    assert len({p.key() for p in points}) == 6


def test_outcomes_carry_verdict_and_cycles():
    outcomes = {(o.point.schedule, o.point.strategy, o.point.sync): o for o in explore(SMALL)}
    assert outcomes["pingpong", "IDENTITY", "REFERENCE"].verdict == "race"
    assert outcomes["pingpong", "CSP", "REFERENCE"].verdict == "clean"
    assert outcomes["fourwave", "IDENTITY", "PROVEN_WEAKEST"].interval > 4000


def test_an_impossible_point_is_an_outcome():
    point = next(iter(Sweep(tiles=((64, 256, 32),)).points()))
    outcome = evaluate(point)
    assert outcome.verdict == "refused"
    assert "vm_per_load_a" in outcome.error


class StoppedError(Exception):
    pass


def test_a_killed_sweep_goes_on_without_recomputation(tmp_path, monkeypatch):
    from warploom.autotune import sweep

    path = tmp_path / "results.jsonl"
    calls = []

    def counted(point):
        calls.append(point)
        return evaluate(point)

    monkeypatch.setattr(sweep, "evaluate", counted)

    def stop_at_three(done, total):
        if done == 3:
            raise StoppedError

    with pytest.raises(StoppedError):
        explore(SMALL, cache=Cache(path), progress=stop_at_three)
    with path.open("a") as file:
        file.write('{"key": "cut off')  # a process killed while writing
    first = len(calls)
    outcomes = explore(SMALL, cache=Cache(path))
    assert len(outcomes) == 6
    assert len(calls) == 6
    assert first == 3
    assert outcomes == explore(SMALL, cache=Cache(path))
    assert len(calls) == 6  # what came after the line that was cut off is known, too


def test_ranking_is_the_same_through_an_executor():
    with ThreadPoolExecutor(2) as pool:
        through_pool = ranked(explore(SMALL, executor=pool))
    assert through_pool == ranked(explore(SMALL))
    assert [o.verdict for o in through_pool][-1] == "race"


def test_tables_and_pictures():
    outcomes = ranked(explore(SMALL))
    rows = list(csv.DictReader(io.StringIO(to_csv(outcomes))))
    assert len(rows) == 6
    page = scatter_html(outcomes, "<sweep>")
    assert "&lt;sweep&gt;" in page
    data = page.split("const rows=")[1].split(", colours=")[0]
    assert len(json.loads(data)) == 6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_the_same_ranking():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        through_dask = ranked(explore(SMALL, executor=client.get_executor()))
    assert through_dask == ranked(explore(SMALL))
