"""The verifier's verdict and the executor's: two programs that share no code must agree."""

import pytest
from hypothesis import given, settings

from warploom.execute import Scripted, Truth, adversaries, execute, explore
from warploom.execute.program import lower
from warploom.verify import Severity, verify, witness

from .test_explore import small_documents

TRIPS = range(4)


def truth(document, limit):
    """What complete exploration says for few trips, adversaries where it gets too large."""
    for trips in TRIPS:
        found = explore(document, trips=trips, limit=limit).truth
        if found is Truth.UNDECIDED:
            runs = (
                execute(document, timing=t, trips=trips)
                for t in adversaries(lower(document, trips))
            )
            found = Truth.CORRECT if all(run.correct for run in runs) else Truth.WRONG
        if found is not Truth.CORRECT:
            return trips, found
    return None


def agree(document, limit):
    wrong = truth(document, limit)
    report = verify(document)
    assert report.is_clean == (wrong is None), (wrong, report.text())
    for finding in report.findings[:3]:
        if finding.severity is not Severity.INFO:
            run = execute(document, timing=Scripted(witness(document, finding)))
            assert not run.correct, (finding.text(), witness(document, finding).text())


@settings(max_examples=60, deadline=None)
@given(document=small_documents())
def test_verdicts_agree_and_every_witness_shows_it(document):
    agree(document, limit=1500)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(document=small_documents())
def test_verdicts_agree_at_length(document):
    agree(document, limit=6000)
