"""Work over a cluster: each piece is done once, whoever dies on the way."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module

import pytest

from tests.autotune.test_joint import OPTIONS
from warploom.autotune.joint import search_tiles
from warploom.autotune.store import KIND, SharedStore
from warploom.autotune.sweep import Sweep, explore
from warploom.compiler.disk_cache import DiskCache, digest
from warploom.kernels.gemm import gemm
from warploom.search_engine import Engine, Objective

sweep = import_module("warploom.autotune.sweep")


def key(n):
    return digest("task", n)


def evaluated(log, numbers, folder, **more):
    """What an engine finds of numbers, with what workers keep in a folder."""
    objective = Objective(each=partial(logged, log), score=lambda n, v: v["square"], key=key)
    engine = Engine(objective, shared=SharedStore(folder), **more)
    engine.evaluate(list(numbers))
    return engine.values


def logged(path, n):
    """A measurement that says who took it, begun and ended."""
    with open(path, "a") as out:
        out.write(f"begun {n} {os.getpid()}\n")
    time.sleep(0.3)
    with open(path, "a") as out:
        out.write(f"done {n} {os.getpid()}\n")
    return {"square": n * n}


def lines(path, word):
    found = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [(int(n), int(pid)) for what, n, pid in found if what == word]


def test_what_is_kept_is_not_done_again(tmp_path):
    log, kept = tmp_path / "log", tmp_path / "kept"
    first = evaluated(log, range(3), kept)
    again = evaluated(log, range(8), kept)
    assert first == {n: {"square": n * n} for n in range(3)}
    assert again == {n: {"square": n * n} for n in range(8)}
    assert sorted(n for n, _ in lines(log, "begun")) == list(range(8))


def test_a_damaged_or_forged_entry_is_measured_again(tmp_path):
    log, kept = tmp_path / "log", tmp_path / "kept"
    kept.mkdir(mode=0o700)
    evaluated(log, range(2), kept)
    cut, forged = sorted((kept / KIND).glob("??/*"))
    cut.write_bytes(cut.read_bytes()[:-1])
    forged.write_bytes(json.dumps({"square": -1}).encode())
    assert evaluated(log, range(2), kept) == {n: {"square": n * n} for n in range(2)}
    assert len(lines(log, "done")) == 4


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_loses_nothing_and_nothing_is_measured_twice(tmp_path):
    """A LocalCluster of processes; one is killed in the middle of its second measurement."""
    distributed = pytest.importorskip("distributed")
    log, kept, killed = tmp_path / "log", tmp_path / "kept", []

    def kill_one(engine, n):
        if not killed:
            killed.append(lines(log, "done")[0][1])
            os.kill(killed[0], signal.SIGKILL)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = evaluated(log, range(8), kept, executor=client.get_executor(), progress=kill_one)
    assert found == {n: {"square": n * n} for n in range(8)}
    done = [n for n, _ in lines(log, "done")]
    assert sorted(done) == list(range(8))  # each of them once
    assert len({pid for _, pid in lines(log, "begun")}) > 1
    assert all(DiskCache(kept).get(KIND, key(n)) is not None for n in range(8))


def test_a_sweep_goes_on_from_what_workers_kept(tmp_path, monkeypatch):
    small = Sweep(schedules=("pingpong",), strategies=("GREEDY", "IDENTITY"), syncs=("REFERENCE",))
    with ThreadPoolExecutor(2) as pool:
        first = explore(small, executor=pool, store=tmp_path)
    monkeypatch.setattr(sweep, "evaluate", None)  # nothing is evaluated again
    with ThreadPoolExecutor(2) as pool:
        assert explore(small, executor=pool, store=tmp_path) == first


def test_a_search_measures_through_workers_and_resumes(tmp_path):
    sizes = {"m": 512, "n": 512, "k": 512}
    constants = {"activation": None, "alpha": 1.0}
    compiled = gemm.compile("bf16", without=("bias", "residual"), sizes=sizes, constants=constants)
    seen = []

    def measure(config):
        seen.append(config.name)
        return 1.0 + len(config.name)

    found, counts = [], []
    for _ in range(2):
        with ThreadPoolExecutor(2) as pool:
            found.append(
                search_tiles(
                    compiled, measure=measure, options=OPTIONS, executor=pool, folder=tmp_path
                )
            )
        counts.append(len(seen))
    assert counts[0] == counts[1] > 0
    first, again = ([r.milliseconds for r in x.rows] for x in found)
    assert first == again
