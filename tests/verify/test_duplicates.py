"""Loads written twice, into slots and into staging registers: verifier and every interleaving."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.executor.exploration import Truth, explore
from warploom.errors import OrderError
from warploom.ir.schedule_ops import OpRole
from warploom.sync.counters import repair
from warploom.verify import verify

from .random_documents import doubled, random_document
from .test_golden import verify_exactly


def judge(document):
    """(clean, wrong by exploration or None, later trip counts that race)"""
    report = verify(document)
    truths = [explore(document, trips=n, limit=1500).truth for n in range(5)]
    wrong = bool({Truth.WRONG, Truth.DEADLOCK} & set(truths))
    undecided = Truth.UNDECIDED in truths and not wrong
    last = report.trips_checked[-1]
    later = []
    if report.verdict == "clean":
        later = [n for n in range(last + 1, last + 4) if _races(document, n)]
    return report, None if undecided else wrong, later


def _races(document, n):
    return [f for f in verify_exactly(document, n) if f.severity.value == "race"]


def drawn(seed):
    """A random document; half of them repaired where that can be, a quarter weakened again."""
    document = random_document(seed, double=bool(seed % 2))
    if seed % 4 < 2:
        return document
    try:
        document = repair(document).document
    except OrderError:
        return document
    rng = random.Random(seed)
    phase = rng.choice(("prologue", "kernel", "epilogue"))
    entries = list(getattr(document, phase))
    synced = [i for i, e in enumerate(entries) if e.op.role is OpRole.SYNC]
    if seed % 8 < 4 or not synced:
        return document
    i = rng.choice(synced)
    op = entries[i].op
    if op.wait_value >= 0 and rng.random() < 0.5:
        entries[i] = replace(entries[i], op=replace(op, wait_value=op.wait_value + 1))
    else:
        entries.pop(i)
    return replace(document, **{phase: tuple(entries)})


def compare(seed):
    """What disagrees for one seed, and what was found."""
    report, wrong, later = judge(drawn(seed))
    certain = wrong is not None and report.verdict != "timing"
    if later or (certain and (report.verdict == "clean") == wrong):
        return ("missed" if report.verdict == "clean" else "false"), report.verdict
    return ("undecided" if wrong is None else "wrong" if wrong else "right"), report.verdict


@pytest.mark.parametrize("most", [53, pytest.param(1003, marks=pytest.mark.slow)])
def test_verdicts_agree_on_doubled_loads(most):
    found = [compare(seed) for seed in range(3, most, 2)]
    assert not [f for f in found if f[0] in ("missed", "false")]
    assert sum(f[1] == "clean" for f in found) > most // 15


def test_words_are_doubled():
    rng = random.Random(1)
    assert any(len(doubled(rng, ["LA[0,0]0", "B"])) > 2 for _ in range(10))


def test_what_repair_gives_back_is_clean():
    """Or the order itself is wrong, which it says: an MMA too few is no matter of waits."""
    refused = 0
    for seed in range(1, 201, 2):
        try:
            done = repair(random_document(seed, double=True))
        except OrderError:
            refused += 1
            continue
        assert verify(done.document).verdict == "clean", seed
    assert 20 < refused < 90
