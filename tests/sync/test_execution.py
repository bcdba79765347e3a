"""Synthesised schedules executed on matrices: A @ B under every timing tried."""

import pytest

from warploom import Pipeline4Wave, SyncPolicy, compile_schedule
from warploom.interp.executor import Early, Late, Random, Scripted, execute
from warploom.sync.counters import repair, synthesise
from warploom.verify import Severity, witness

from .golden_documents import fourwave, pingpong, single_buffer
from .test_compile_policy import GEOMETRY

DOCUMENTS = {
    "pingpong": pingpong("strategy2_mg1"),
    "identity": pingpong("strategy0_mg1"),
    "fourwave": fourwave("geom0_default"),
    "single": single_buffer("T2_h0"),
}
TIMINGS = [Early(), Late(), *(Random(seed=s) for s in range(4))]


def fails(document, timing, trips):
    return not execute(document, timing=timing, trips=trips).correct


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
@pytest.mark.parametrize("keep", [True, False])
def test_synthesised(name, keep):
    document = synthesise(DOCUMENTS[name], keep_barriers=keep, mode="fewest", limit=4).document
    assert not [t for t in TIMINGS for n in (0, 1, 2, 3) if fails(document, t, n)]


def test_the_reference_fourwave_fails_and_its_repair_does_not():
    document = DOCUMENTS["fourwave"]
    assert [t for t in TIMINGS for n in (0, 1, 2) if fails(document, t, n)]
    repaired = repair(document).document
    assert not [t for t in TIMINGS for n in (0, 1, 2) if fails(repaired, t, n)]


def test_the_witnesses_behind_the_fourwave_deviation():
    """Each kind of race the reference's waits leave in the 4-wave kernel gives wrong numbers."""
    schedule = Pipeline4Wave(GEOMETRY)
    ruled = compile_schedule(schedule, sync=SyncPolicy.REFERENCE, on_race="report")
    races = {f.code.value: f for f in ruled.report.findings if f.severity is Severity.RACE}
    assert set(races) == {"RAW-LDS", "WAR-LDS", "RAW-REG"}
    for finding in races.values():
        timing = Scripted(witness(ruled.document(), finding))
        assert not execute(ruled.document(), timing=timing).correct
    assert compile_schedule(schedule).report.verdict == "clean"
