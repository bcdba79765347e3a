"""Correct schedules give A @ B under every timing; racy ones fail where the model says they can."""

import numpy as np
import pytest

from warploom.errors import ConfigError, DocumentError
from warploom.interp.executor import (
    Drift,
    Early,
    Late,
    Random,
    adversaries,
    execute,
    sample_matrices,
)
from warploom.interp.executor.program import lower

from .golden_documents import cases, find_ping_pong, four_wave, ping_pong, single_buffer
from .notation import written

CLEAN = "LA[0,0]K0 LB[0,0]K0 W0 B"
LOOP = "FA[0,0] FB[0,0] L0 B LA[0,0]K0 LB[0,0]K0 M[0,0] W0 B"
LAST = "FA[0,0] FB[0,0] L0 M[0,0]"


def runs(document, trips=range(4), seeds=2):
    for n in trips:
        program = lower(document, n)
        for timing in (*adversaries(program), *(Random(s) for s in range(seeds))):
            yield n, timing, execute(document, timing=timing, trips=n)


def failures(document, **options):
    return [(n, timing) for n, timing, run in runs(document, **options) if not run.correct]


@pytest.mark.parametrize(
    ("scheduling", "max_globals"),
    [("CSP", 0), ("CSP", 1), ("GREEDY", 0), ("GREEDY", 1), ("IDENTITY", 0)],
)
def test_clean_ping_pong_is_exact_under_every_timing(scheduling, max_globals):
    document = ping_pong(find_ping_pong(scheduling, max_globals))
    assert failures(document) == []


@pytest.mark.parametrize("name", list(cases("single_buffer"))[:8])
def test_single_buffer_is_exact_under_every_timing(name):
    assert failures(single_buffer(name), trips=range(3), seeds=1) == []


def test_identity_ping_pong_overwrites_a_slot_group_1_still_reads():
    document = ping_pong(find_ping_pong("IDENTITY", 1))
    run = execute(document, timing=Drift(leader=0, laggard=3), trips=1)
    assert not run.correct
    first = run.faults[0]
    assert first.wave == 3
    assert "mixed tiles" in run.describe() or "tile 2" in run.describe()
    assert execute(document, timing=Early(), trips=2).correct


def test_max_globals_2_loses_loads_even_when_all_data_lands_at_once():
    run = execute(ping_pong(find_ping_pong("CSP", 2)), timing=Early(), trips=1)
    assert not run.correct
    assert run.missing


def test_reference_four_wave_fails_in_loop_and_epilogue():
    document = four_wave("fourwave/geom0_default")
    assert {n for n, _ in failures(document)} == {0, 1, 2, 3}
    assert execute(document, timing=Early(), trips=3).correct


def test_all_waves_run_like_two_of_each_group():
    document = ping_pong(find_ping_pong("CSP", 1))
    for timing in (Early(), Late(), Drift(leader=0, laggard=7), Random(5)):
        run = execute(document, timing=timing, trips=2, all_waves=True)
        assert run.correct
        assert len(run.results) == 8


def test_given_matrices_are_multiplied():
    document = written(CLEAN, LOOP, LAST)
    rng = np.random.default_rng(1)
    a, b = rng.integers(-50, 50, (6, 12)), rng.integers(-50, 50, (12, 4))
    run = execute(document, a, b, trips=2, timing=Late())
    assert (run.result == a @ b).all()
    assert run.describe().endswith("C = A @ B in every wave")


def test_sample_matrices_are_reproducible():
    document = written(CLEAN, LOOP, LAST)
    a, b = sample_matrices(document, 2, seed=3)
    assert a.shape[1] == b.shape[0]
    assert (sample_matrices(document, 2, seed=3)[0] == a).all()


def test_clean_by_hand():
    assert failures(written(CLEAN, LOOP, LAST)) == []


@pytest.mark.parametrize(
    ("kernel", "timing"),
    [
        ("FA[0,0] FB[0,0] B L0 LA[0,0]K0 LB[0,0]K0 M[0,0] W0 B", Drift(leader=0, laggard=1)),
        ("FA[0,0] FB[0,0] L0 B LA[0,0]K0 LB[0,0]K0 M[0,0] B W0", Drift(leader=0, laggard=1)),
        ("FA[0,0] FB[0,0] B LA[0,0]K0 LB[0,0]K0 M[0,0] L0 W0 B", Late(loads=False)),
        ("FA[0,0] FB[0,0] L15 B LA[0,0]K0 LB[0,0]K0 M[0,0] W0 B", Late(loads=False)),
        ("FA[0,0] FB[0,0] L0 B LA[0,0]K0 LB[0,0]K0 M[0,0] W63 B", Late(reads=False)),
        ("FA[0,0] FB[0,0] L0 B LA[0,0]K0 LB[0,0]K0 M[0,0] W1 B", Late(reads=False)),
    ],
    ids=["war-lds", "raw-lds", "raw-reg", "lgkm-15-is-no-wait", "vm-63-is-no-wait", "weak-vm"],
)
def test_each_kind_of_race_shows_wrong_numbers(kernel, timing):
    document = written(CLEAN, kernel, LAST)
    assert not execute(document, timing=timing, trips=2).correct
    assert execute(document, timing=Early(), trips=2).correct


def test_two_writes_of_one_slot_in_flight_together():
    twice = written("LA[0,0]K1 LA[0,0]K0 LB[0,0]K0 W0 B", epilogue=LAST)
    assert execute(twice, timing=Late(), trips=0).correct
    assert not execute(twice, timing=Late(youngest_first=True), trips=0).correct


def test_an_older_fragment_never_replaces_a_younger_one():
    document = written(
        "LA[0,0]K0 LB[0,0]K0 LA[1,0]K1 W0 B FA[1,0] FA[0,0] FB[0,0] L0 M[0,0]", name="dead read"
    )
    assert failures(document, trips=[0]) == []


def test_different_barrier_totals_are_reported_as_deadlock():
    document = written(
        CLEAN, LOOP, LAST, groups=2, stagger_index=2, tail_barriers=(0, 0), waves_per_group=1
    )
    run = execute(document, timing=Early(), trips=1)
    assert not run.correct
    assert run.stuck
    assert "deadlock" in run.describe()


def test_protocol_drain_completes_the_prologue():
    early = "LA[0,0]K0 LB[0,0]K0"
    assert failures(written(early, "", LAST), trips=[0])
    assert failures(written(early, "", LAST, epilogue_drain=True), trips=[0]) == []


def test_capacity_stall_is_an_option_and_off_by_default():
    many = " ".join(f"LA[{i},0]K0" for i in range(64))
    document = written(f"LB[0,0]K0 {many} W62 B FA[0,0] FB[0,0] L0 M[0,0]", vm=(1, 1))
    assert execute(document, timing=Late(), trips=0).correct
    past = written(f"LB[0,0]K0 {many} B FA[63,0] FB[0,0] L0 M[0,0]")
    assert not execute(past, timing=Late(reads=False), trips=0).correct
    first = written(f"LB[0,0]K0 LA[99,0]K0 {many} B FA[99,0] FB[0,0] L0 M[0,0]")
    assert not execute(first, timing=Late(reads=False), trips=0).correct
    stalled = execute(first, timing=Late(reads=False), trips=0, capacity_stalls=True)
    assert stalled.correct


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.ones((4, 6)), np.ones((6, 4))),
        (np.ones((4, 6), int), np.ones((5, 4), int)),
        (np.ones((3, 6), int), np.ones((6, 4), int)),
        (np.ones(4, int), np.ones((6, 4), int)),
    ],
    ids=["floats", "shapes", "shares", "dimensions"],
)
def test_unsuitable_matrices_are_refused_with_the_remedy(a, b):
    with pytest.raises(ConfigError, match="multiple of") as error:
        execute(written(CLEAN, LOOP, LAST), a, b, trips=2)
    assert error.value.fix


def test_bad_requests_are_refused():
    document = written(CLEAN, LOOP, LAST)
    with pytest.raises(ConfigError, match="negative"):
        execute(document, trips=-1)
    with pytest.raises(ConfigError, match="too many"):
        execute(document, trips=10**7)
    with pytest.raises(ConfigError, match="wave 9"):
        execute(document, timing=Drift(leader=0, laggard=9))


def test_a_negative_count_is_refused():
    with pytest.raises(ConfigError, match="negative"):
        ping_pong("pingpong/manual_waits_l-1_v4")


def test_an_op_of_no_operand_is_refused():
    from dataclasses import replace

    document = written(CLEAN, LOOP, LAST)
    entry = document.prologue[0]
    bad = replace(entry, op=replace(entry.op, channel=7))
    with pytest.raises(DocumentError, match="operand"):
        execute(replace(document, prologue=(bad, *document.prologue[1:])))


def test_the_package_loads_numpy_only_when_it_runs():
    import ast
    from pathlib import Path

    import warploom.interp.executor

    for file in Path(warploom.interp.executor.__file__).parent.glob("*.py"):
        for node in ast.parse(file.read_text()).body:
            assert not (isinstance(node, ast.Import) and node.names[0].name == "numpy"), file
            assert not (isinstance(node, ast.ImportFrom) and node.module == "numpy"), file
