"""The verifier's verdict and the executor's: two programs that share no code must agree."""

import pytest
from hypothesis import given, settings, strategies as st

from tests.executor.exploration import Truth, explore
from tests.mutation import decide
from warploom.interp.executor import Scripted, execute
from warploom.verify import Severity, verify, witness

from .golden_documents import cases, four_wave, ping_pong, single_buffer
from .notation import written
from .test_exploration import small_documents
from .thinned_schedules import thinned

TRIPS = range(4)


def explored(document, limit):
    """Whether some run goes wrong; None when there are too many to try them all."""
    found = {explore(document, trips=trips, limit=limit).truth for trips in TRIPS}
    if found & {Truth.WRONG, Truth.DEADLOCK}:
        return True
    return None if Truth.UNDECIDED in found else False


def agree(document, *, limit=0):
    wrong = explored(document, limit) if limit else None
    if wrong is None:
        wrong = decide(document).defective
    report = verify(document)
    assert (report.verdict == "clean") != wrong, report.text()
    for finding in report.findings[:3]:
        if finding.severity is not Severity.INFO:
            run = execute(document, timing=Scripted(witness(document, finding)))
            assert not run.correct, (finding.text(), witness(document, finding).text())


def recorded():
    """Every schedule the reference gave for its three kernels."""
    for family, make in (
        ("pingpong", ping_pong),
        ("fourwave", four_wave),
        ("single_buffer", single_buffer),
    ):
        for name in cases(family):
            if name != "pingpong/manual_waits_l-1_v4":  # a negative count: malformed
                yield make, name


@pytest.mark.parametrize(("make", "name"), list(recorded())[::11])
def test_verdicts_agree_on_recorded_schedules(make, name):
    agree(make(name))


@pytest.mark.slow
@pytest.mark.parametrize(("make", "name"), list(recorded()))
def test_verdicts_agree_on_all_recorded_schedules(make, name):
    agree(make(name))


@settings(max_examples=60, deadline=None)
@given(document=small_documents())
def test_verdicts_agree_with_all_interleavings(document):
    agree(document, limit=1500)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_verdicts_agree_on_random_orders(seed):
    agree(thinned(seed))


def test_a_witness_of_a_store_that_waits_for_its_load_but_not_for_an_older_one():
    agree(thinned(259400888))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=3000, deadline=None)
@given(document=small_documents())
def test_verdicts_agree_with_all_interleavings_at_length(document):
    agree(document, limit=6000)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=3000, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_verdicts_agree_on_random_orders_at_length(seed):
    agree(thinned(seed))


def test_a_race_that_needs_three_iterations():
    """A loaded tile is read one iteration later and used two later; the epilogue starts afresh."""
    document = written(
        "LA[0,0]K0 LB[0,0]K0 W0 B FA[0,0] FB[0,0] L0 B LA[0,0]K1 LB[0,0]K1 W0 B",
        "M[0,0] FA[0,0] FB[0,0] L0 B LA[0,0]K1 LB[0,0]K1",
        "L0 W0 B LA[0,0]K_PREV LB[0,0]K_PREV W0 B FA[0,0] FB[0,0] L0 M[0,0]",
    )
    verdicts = [decide(document, trips=(n,)).defective for n in range(5)]
    assert verdicts == [False, False, False, True, True]
    assert verify(document, trips=range(3)).verdict == "clean"
    assert min(f.trip_count for f in verify(document).races()) == 3
    agree(document)
