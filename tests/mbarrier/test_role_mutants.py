"""Single-entry mutants of warp-specialised schedules: none that runs wrong passes the verifier."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

from tests.mutation.role_mutants import RoleMutant, label, role_mutants
from tests.mutation.role_score import (
    RoleOutcome,
    RoleVerdict,
    count_outcomes,
    judge_mutant,
    score_roles,
)
from warploom.interp.executor.roles import first_fault

from .samples import attention_document, gemm_document, lowered

RESCALE = re.compile(r"^consumer\.kernel\[\d+\] Compute make_v\d+$")


@cache
def mutants():
    return tuple(role_mutants(attention_document()))


def test_every_entry_is_mutated_and_no_two_mutants_are_equal():
    dropped = [m for m in mutants() if m.operator.startswith("drop")]
    entries = [
        f"{p.name}.{phase}[{i}] {label(e)}"
        for p in attention_document().programs
        for phase, es in p.phases()
        for i, e in enumerate(es)
    ]
    dropped_at = {m.where for m in dropped}
    # Of two equal neighbours only one is left out: the rest is the same program.
    assert dropped_at <= set(entries)
    assert len(entries) - len(dropped_at) <= 2
    assert len({m.document for m in mutants()}) == len(mutants())
    assert attention_document() not in {m.document for m in mutants()}


def test_the_operators_are_those_of_the_protocol():
    operators = Counter(m.operator for m in mutants())
    operators.update(m.operator for m in role_mutants(gemm_document()))
    for name in ("drop WaitFull", "drop Arrive", "drop MmaFence", "drop ProxyFence", "swap"):
        assert operators[name]
    for name in ("k +1", "k -1", "pending +1", "pending -1", "parity flipped", "bytes", "turn"):
        assert operators[name]
    shorter = [m for m in mutants() if m.operator == "one slot less"]
    assert len(shorter) == len([r for r in attention_document().rings if r.depth > 1])


@pytest.mark.parametrize("start", range(2))
def test_a_sample_of_mutants_gets_the_same_verdict(start):
    """Every 33rd mutant here; all of them in ``bench/attention_mutants.py``."""
    outcomes = score_roles(attention_document(), only=slice(start * 11, None, 33))
    protocol = [o for o in outcomes if not o.mutant.work]
    assert not [o.mutant.where for o in protocol if o.verdict is RoleVerdict.MISSED]
    assert count_outcomes(outcomes)[RoleVerdict.FOUND] >= len(protocol) // 2


def test_mutants_of_a_matrix_product_get_the_same_verdict():
    document = gemm_document()
    outcomes = score_roles(document, only=slice(3, None, 31))
    assert not [o.mutant.where for o in outcomes if o.verdict is RoleVerdict.MISSED]
    assert count_outcomes(outcomes)[RoleVerdict.FOUND] > 3


def test_mutants_of_consumers_that_alternate_get_the_same_verdict():
    document = lowered("alternating").document
    turned = [m for m in role_mutants(document) if m.operator in ("whose tiles", "instance")]
    turned += [m for m in role_mutants(document) if "Named" in m.operator or m.operator == "turn"]
    outcomes = [judge_mutant(m, document) for m in turned]
    assert not [o.mutant.where for o in outcomes if o.verdict is RoleVerdict.MISSED]
    assert count_outcomes(outcomes)[RoleVerdict.FOUND] > 10


def test_work_left_out_shows_in_values_only():
    mutant = next(m for m in mutants() if m.operator == "drop Compute" and RESCALE.search(m.where))
    assert mutant.work
    outcome = judge_mutant(mutant, attention_document())
    assert (outcome.fault, outcome.codes) == ("wrong values are stored", ("FLOW",))
    assert first_fault(mutant.document, (2, 3), range(4)) is None


def test_verdicts():
    mutant = RoleMutant(operator="none", where="nowhere", document=attention_document())
    outcomes = [
        RoleOutcome(mutant=mutant, fault=fault, codes=codes)
        for fault in (None, "deadlock")
        for codes in ((), ("PHASE",))
    ]
    assert [o.verdict.value for o in outcomes] == ["passed", "reported only", "missed", "found"]
    assert count_outcomes(outcomes)["found"] == 1
    assert judge_mutant(mutant, attention_document(), seeds=1).verdict is RoleVerdict.PASSED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention", "gemm", "alternating"])
def test_no_mutant_of_a_shipped_text_runs_wrong_unseen(name):
    outcomes = score_roles(lowered(name).document)
    assert not [
        (o.mutant.operator, o.mutant.where)
        for o in outcomes
        if o.verdict is RoleVerdict.MISSED and not o.mutant.work
    ]
