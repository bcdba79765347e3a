"""Consistent edits that are wrong are found, and every operator makes some."""

from __future__ import annotations

from collections import Counter

import pytest

from .structure_mutants import OPERATORS, judge_structure, mutants_of

NEVER_HERE = {"another_ring_s_barrier"}  # one ring


@pytest.fixture(scope="module")
def judged():
    document, mutants = mutants_of("gemm")
    return [(m, *judge_structure(m, document)) for m in mutants]


def test_no_wrong_mutant_is_missed(judged):
    assert not [(m.operator, m.where, why) for m, found, why in judged if found == "missed"]
    counts = Counter(found for _, found, _ in judged)
    assert counts["found"] > 20
    assert counts["reported only"] <= 4


def test_every_operator_makes_mutants(judged):
    made = {m.operator for m, _, _ in judged}
    wanted = {make.__name__ for make in OPERATORS} - NEVER_HERE
    assert wanted <= made


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention", "rms_gemm", "scan_parts", "values_grad"])
def test_no_wrong_mutant_of_other_schedules_is_missed(name):
    document, mutants = mutants_of(name)
    found = [(m.operator, m.where, *judge_structure(m, document)) for m in mutants]
    assert not [row for row in found if row[2] == "missed"]
