"""Loads written twice, into slots and into staging registers: verifier and every interleaving."""

from __future__ import annotations

import random

import pytest

from warploom.run import Truth, explore
from warploom.verify import verify

from . import random_documents
from .test_golden import verify_exactly


def doubled(rng, words):
    """Some loads once more, somewhere."""
    words = list(words)
    for _ in range(rng.choice((0, 1, 1, 2))):
        loads = [w for w in words if w[0] == "L" and "[" in w]
        if loads:
            words.insert(rng.randint(0, len(words)), rng.choice(loads))
    return words


def random_document(seed, monkeypatch):
    plain = random_documents._disturb
    with monkeypatch.context() as patch:
        patch.setattr(random_documents, "_disturb", lambda r, w: doubled(r, plain(r, w)))
        return random_documents.random_document(seed)


def judge(document):
    """(clean, wrong by exploration or None, later trip counts that race)"""
    report = verify(document)
    truths = [explore(document, trips=n, limit=1500).truth for n in range(5)]
    wrong = bool({Truth.WRONG, Truth.DEADLOCK} & set(truths))
    undecided = Truth.UNDECIDED in truths and not wrong
    last = report.trips_checked[-1]
    later = []
    if report.is_clean:
        later = [n for n in range(last + 1, last + 4) if _races(document, n)]
    return report, None if undecided else wrong, later


def _races(document, n):
    return [f for f in verify_exactly(document, n) if f.severity.value == "race"]


def check(seeds, monkeypatch):
    clean = 0
    for seed in seeds:
        report, wrong, later = judge(random_document(seed, monkeypatch))
        assert not later, seed
        if wrong is not None and report.verdict != "timing":
            assert report.is_clean != wrong, (seed, report.text())
        clean += report.is_clean
    return clean


def test_verdicts_agree_on_doubled_loads(monkeypatch):
    assert check(range(3, 303, 2), monkeypatch) >= 1


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("start", range(20_000, 40_000, 2_000))
def test_verdicts_agree_on_doubled_loads_at_length(start, monkeypatch):
    check(range(start, start + 2_000), monkeypatch)


def test_words_are_doubled():
    rng = random.Random(1)
    assert any(len(doubled(rng, ["LA[0,0]0", "B"])) > 2 for _ in range(10))
