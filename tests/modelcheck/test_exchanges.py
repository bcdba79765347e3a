"""How CTAs meet: the verifier, the executor and every interleaving agree."""

from __future__ import annotations

import pytest

from tests.mutation.exchange_mutants import exchange_mutants
from tests.roles.samples import lowered
from warploom.run.roles import first_fault
from warploom.verify.roles import Code, verify_roles

from .exchanges import SHIPPED, check_exchange, compare, judge_exchange

FEW = 6_000


@pytest.mark.parametrize("exchange", SHIPPED, ids=lambda x: f"{x.op} {x.kept}")
def test_shipped_exchanges_are_right(exchange):
    assert check_exchange(exchange, FEW) in (None, "undecided")
    assert not judge_exchange(exchange)


def test_they_are_those_of_the_shipped_texts():
    texts = ("split_gemm", "decode", "turns")
    found = [(x.steps, x.kept) for n in texts for x in lowered(n).document.exchanges]
    assert found == [(x.steps, x.kept) for x in SHIPPED]


def test_verdicts_agree_on_random_edits():
    found = [compare(seed, FEW)[0] for seed in range(40)]
    assert not {"missed", "false"} & {*found}
    assert found.count("wrong") > 20
    assert "right" in found


@pytest.mark.parametrize("name", ["split_gemm", "near_gemm", "decode", "turns"])
def test_every_single_edit_that_runs_wrong_is_found(name):
    document = lowered(name).document
    tiles = (max(document.minimum_trips, 1),)
    counts = {"found": 0, "passed": 0}
    for mutant in exchange_mutants(document):
        report = verify_roles(mutant.document, sequences=[tiles])
        runs = range(60 if report.clean else 200)
        fault = first_fault(mutant.document, tiles, runs, intended=document)
        assert (fault is None) is report.clean, (mutant.operator, mutant.where, fault)
        assert report.clean or report.codes() == {Code.EXCHANGE}
        counts["passed" if report.clean else "found"] += 1
    assert counts["found"] > 30
    assert counts["passed"] > 5


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_verdicts_agree_at_length():
    assert not {"missed", "false"} & {compare(seed)[0] for seed in range(1000, 1400)}
