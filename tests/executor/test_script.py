"""Witnesses run exactly as written, and inadmissible ones are refused."""

from dataclasses import replace

import pytest

from warploom.errors import ConfigError, DocumentError
from warploom.interp.executor import Scripted, execute
from warploom.ir.schedule_ops import Phase
from warploom.ir.witness import Point, Step, StepKind, WaveId, Witness

from .notation import written

LATE_WAIT = written(
    "LA[0,0]K0 LB[0,0]K0 W0 B",
    "FA[0,0] FB[0,0] B L0 LA[0,0]K0 LB[0,0]K0 M[0,0] W0 B",
    "FA[0,0] FB[0,0] L0 M[0,0]",
    name="late wait",
)
ZERO, ONE = WaveId(0, 0), WaveId(0, 1)


def kernel(index, iteration=0):
    return Point(Phase.KERNEL, index, iteration)


def step(kind, wave, point, note=""):
    return Step(kind=kind, wave=wave, point=point, note=note)


OVERWRITTEN = Witness(
    document="late wait",
    code="WAR-LDS",
    trip_count=1,
    waves=(ZERO, ONE),
    steps=(
        step(StepKind.ADVANCE, ONE, kernel(3), "reads A and joins the barrier"),
        step(StepKind.ADVANCE, ZERO, kernel(5), "issues the next load of A, which lands"),
        step(StepKind.READ, ONE, kernel(0), "takes the new tile"),
    ),
    outcome="MMA[0,0] multiplies A tile 1 with B tile 0",
)


def test_a_witness_shows_the_wrong_numbers():
    run = execute(LATE_WAIT, timing=Scripted(OVERWRITTEN))
    assert not run.correct
    assert run.trips == 1
    fault = run.faults[0]
    assert (fault.wave, fault.operands) == (1, ((1, 0), (0, 0)))
    assert {w.wave for w in run.wrong} == {1}


def test_the_repaired_schedule_runs_right_under_the_old_witness():
    """The wave stands at its wait until the held read took its data."""
    repaired = written(
        "LA[0,0]K0 LB[0,0]K0 W0 B",
        "FA[0,0] FB[0,0] L0 B LA[0,0]K0 LB[0,0]K0 M[0,0] W0 B",
        "FA[0,0] FB[0,0] L0 M[0,0]",
    )
    assert execute(repaired, timing=Scripted(OVERWRITTEN)).correct


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"waves": (ZERO, WaveId(3, 0))}, "group"),
        ({"waves": ()}, "without waves"),
        ({"waves": (ZERO,)}, "not among the waves"),
        ({"steps": (step(StepKind.LAND, ONE, kernel(4)),)}, "nothing is in flight"),
        ({"steps": (step(StepKind.LAND, ONE, None),)}, "names no operation"),
    ],
)
def test_inadmissible_witnesses_are_refused(change, message):
    with pytest.raises(DocumentError, match=message):
        execute(LATE_WAIT, timing=Scripted(replace(OVERWRITTEN, **change)))


def test_a_read_is_not_landed_as_a_write():
    steps = (
        step(StepKind.ADVANCE, ONE, kernel(2)),
        step(StepKind.ADVANCE, ZERO, kernel(0)),
        step(StepKind.LAND, ONE, kernel(0)),
    )
    with pytest.raises(DocumentError, match="another op"):
        execute(LATE_WAIT, timing=Scripted(replace(OVERWRITTEN, steps=steps)))


def test_the_trip_count_is_that_of_the_witness():
    with pytest.raises(ConfigError, match="leave trips out"):
        execute(LATE_WAIT, timing=Scripted(OVERWRITTEN), trips=2)
