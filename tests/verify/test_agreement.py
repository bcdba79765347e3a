"""The judge against the truth: every landing, reading and interleaving of tiny schedules.

The truth comes from the executor's complete exploration, which shares no code with the judge.
"""

import pytest
from hypothesis import given, settings, strategies as st

from tests.executor.exploration import Truth, explore
from warploom.interp.executor import Scripted, execute
from warploom.verify import Code, witness

from .random_documents import random_document
from .test_golden import verify_exactly

IN_ORDER = {Code.TOKEN, Code.WAR_REG, Code.COVERAGE, Code.DEADLOCK}


def agree(seed, limit):
    """Same verdict for 0, 1 and 2 iterations, and every finding can be shown."""
    doc = random_document(seed)
    for trips in range(3):
        truth = explore(doc, trips=trips, limit=limit).truth
        found = verify_exactly(doc, trips)
        if truth is Truth.UNDECIDED:
            continue
        assert (truth is Truth.CORRECT) == (not found), (seed, trips, [f.text() for f in found])
        # Where in-order execution is wrong already, asynchrony may put it right by accident.
        certain = [f for f in found if f.code in IN_ORDER] or found
        for finding in certain:
            run = execute(doc, timing=Scripted(witness(doc, finding)))
            assert not run.correct, (seed, trips, finding.text())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_verdicts_agree_with_complete_exploration(seed):
    agree(seed, 1500)


@pytest.mark.parametrize("seed", [71, 246, 323, 524, 1470, 1618, 2220, 3261])
def test_cases_that_once_disagreed(seed):
    agree(seed, 6000)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_verdicts_agree_on_thousands_of_schedules(block):
    for seed in range(block * 600, (block + 1) * 600):
        agree(seed, 6000)
