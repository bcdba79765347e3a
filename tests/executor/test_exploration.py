"""Exhaustive exploration decides, and the deterministic adversaries agree with it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from tests.executor.exploration import Truth, explore
from warploom.interp.executor import adversaries, execute
from warploom.interp.executor.program import lower
from warploom.ir.schedule_ops import Phase

from .notation import entries, written

CLEAN = "LA[0,0]K0 LB[0,0]K0 W0 B"
LOOP = "FA[0,0] FB[0,0] L0 B LA[0,0]K0 LB[0,0]K0 M[0,0] W0 B"
LAST = "FA[0,0] FB[0,0] L0 M[0,0]"


@pytest.mark.parametrize("trips", [0, 1, 2])
def test_a_clean_schedule_is_proved_correct(trips):
    found = explore(written(CLEAN, LOOP, LAST), trips=trips)
    assert found.truth is Truth.CORRECT
    assert found.states > 10


def test_a_race_is_found_with_a_run_that_shows_it():
    found = explore(written(CLEAN, LOOP.replace("L0 B", "B L0", 1), LAST), trips=1)
    assert found.truth is Truth.WRONG
    assert any("lands" in line for line in found.path)


def test_lost_data_is_wrong_without_any_search():
    found = explore(written(CLEAN, LOOP.replace("M[0,0] ", ""), LAST), trips=1)
    assert (found.truth, found.states) == (Truth.WRONG, 1)


def test_deadlock():
    document = written(CLEAN, LOOP, LAST, groups=2, stagger_index=0, tail_barriers=(0, 0))
    assert explore(document, trips=0).truth is Truth.DEADLOCK


def test_the_work_limit_is_reported_not_exceeded():
    found = explore(written(CLEAN, LOOP, LAST), trips=2, limit=10)
    assert (found.truth, found.states) == (Truth.UNDECIDED, 10)


DATA = {
    "one slot": (
        ["LA[0,0]K0", "LB[0,0]K0"],
        ["FA[0,0]", "FB[0,0]", "M[0,0]", "LA[0,0]K0", "LB[0,0]K0"],
        ["FA[0,0]", "FB[0,0]", "M[0,0]"],
    ),
    "rotating B": (
        ["LA[0,0]K0", "LB[0,0]K0", "FB[0,0]"],
        ["FA[0,0]", "M[0,0]", "LA[0,0]K0", "LB[0,0]K0", "FB[0,0]"],
        ["FA[0,0]", "M[0,0]"],
    ),
    "two stages, no loop": (
        ["LA[0,0]K0", "LB[0,0]K0", "LA[1,0]K1", "LB[1,0]K1"],
        [],
        ["FA[0,0]", "FB[0,0]", "M[0,0]", "FA[1,0]", "FB[1,0]", "M[0,0]"],
    ),
}


@st.composite
def small_documents(draw):
    """A short program whose waits, barriers and unit costs are drawn at random.

    Half of them are fully synchronised except in a few places, so that both verdicts are common.
    """
    kind = draw(st.sampled_from(sorted(DATA)))
    sync = st.sampled_from(["", "", "", "B", "W0", "W1", "L0", "L1", "W0 B", "L0 B", "L0 W0 B"])
    places = sum(len(words) + 1 for words in DATA[kind])
    gaps = [draw(sync) for _ in range(places)]
    if draw(st.booleans()):
        loose = draw(st.sets(st.integers(0, places - 1), max_size=3))
        gaps = [gap if i in loose else "W0 L0 B B" for i, gap in enumerate(gaps)]
    phases, rest = [], iter(gaps)
    for words in DATA[kind]:
        phases.append(" ".join(f"{next(rest)} {word}" for word in (*words, "")))
    units = st.tuples(st.integers(0, 2), st.integers(0, 2))
    waves = draw(st.sampled_from([2, 2, 1]))
    document = written(*phases, vm=draw(units), lgkm=draw(units), waves_per_group=waves)
    if kind == "two stages, no loop":
        document = replace(document, protocol=replace(document.protocol, kernel_k_base=2))
    if draw(st.booleans()):
        protocol = replace(
            document.protocol,
            groups=2,
            waves_per_group=1,
            stagger_index=draw(st.integers(0, len(document.prologue))),
            tail_barriers=(1, 0),
            barrier_after_prologue=draw(st.booleans()),
        )
        document = replace(document, protocol=protocol)
    return document


@settings(max_examples=120, deadline=None)
@given(document=small_documents(), trips=st.integers(0, 2))
def test_adversaries_decide_what_exploration_decides(document, trips):
    found = explore(document, trips=trips, limit=4000)
    failing = [
        timing
        for timing in adversaries(lower(document, trips))
        if not execute(document, timing=timing, trips=trips).correct
    ]
    if found.truth is Truth.CORRECT:
        assert failing == []
    elif found.truth is not Truth.UNDECIDED:
        assert failing, found.path


def test_entries_are_numbered():
    assert [e.time_slot for e in entries("B B", Phase.KERNEL)] == [0, 1]
