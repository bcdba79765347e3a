"""How CTAs meet: the verifier, the executor and every interleaving agree."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.mbarrier.samples import lowered
from tests.mutation.exchange_mutants import exchange_mutants
from warploom.errors import DocumentError
from warploom.interp.executor.roles import Fault, first_fault, role_witness
from warploom.interp.executor.roles.exchange import run_exchanges
from warploom.ir.dataflow import Across, Who
from warploom.ir.document_checks import check_document
from warploom.ir.format1 import read_schedule, write_schedule
from warploom.ir.mbarrier_dialect import Arrive
from warploom.sync.mbarrier.repair import repair_roles
from warploom.verify.roles import Code, verify_roles
from warploom.verify.roles.exchange import check_exchanges

from .exchanges import SHIPPED, check_exchange, compare, judge_exchange

FEW = 6_000


@pytest.mark.parametrize("exchange", SHIPPED, ids=["sums", "states", "near", "turns"])
def test_shipped_exchanges_are_right(exchange):
    assert check_exchange(exchange, FEW) in (None, "undecided")
    assert not judge_exchange(exchange)


def test_they_are_those_of_the_shipped_kernels():
    texts = ("split_gemm", "decode", "near_gemm", "turns")
    found = [(x.steps, x.kept) for n in texts for x in lowered(n).document.exchanges]
    assert found == [(x.steps, x.kept) for x in SHIPPED]


def test_verdicts_agree_on_random_edits():
    found = [compare(seed, FEW)[0] for seed in range(20)]
    assert not {"missed", "false"} & {*found}
    assert found.count("wrong") > 8
    assert "right" in found


DRAW, WRITE, MET, PUBLISH, AWAIT, CLEAR, SYNC, READ = SHIPPED[0].steps


@pytest.mark.parametrize(
    "steps",
    [
        (CLEAR, *SHIPPED[0].steps),
        (
            *(DRAW, WRITE, MET, replace(PUBLISH, by=Who.LAST), PUBLISH),
            *(replace(AWAIT, less=-1), CLEAR, SYNC, READ),
        ),
        (DRAW, WRITE, MET, AWAIT, replace(PUBLISH, by=Who.ALL), CLEAR, SYNC, READ),
    ],
    ids=["never", "awaited", "later"],
)
def test_what_nobody_does_and_what_the_last_part_counts_do_no_harm(steps):
    """A step of the last part before the draw; its own count, if it is awaited or comes later."""
    exchange = replace(SHIPPED[0], steps=steps)
    assert check_exchange(exchange, FEW) in (None, "undecided")
    assert not judge_exchange(exchange)


def test_a_barrier_seen_too_late_is_found():
    """The owner looks a second time, when the next tile may have come already."""
    near = SHIPPED[2]
    exchange = replace(near, steps=(*near.steps, near.steps[3]))
    assert check_exchange(exchange, FEW) == "deadlock"
    assert judge_exchange(exchange)


def fault_of(document, runs=20):
    """What a random run shows."""
    for seed in range(runs):
        try:
            run_exchanges(document, seed)
        except Fault as fault:
            return str(fault)
    return None


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("near_gemm", "decode")]


@pytest.mark.parametrize("name", ["split_gemm", "turns", *SLOW])
def test_every_single_edit_that_runs_wrong_is_found(name):
    document = lowered(name).document
    counts = {"found": 0, "passed": 0}
    for mutant in exchange_mutants(document):
        clean = not [*check_exchanges(mutant.document, document.flow)]
        fault = fault_of(mutant.document, 20 if clean else 70)
        assert (fault is None) is clean, (mutant.operator, mutant.where, fault)
        counts["passed" if clean else "found"] += 1
    assert counts["found"] > 30
    assert counts["passed"] > 5


def test_a_whole_document_is_checked_run_and_shown():
    document = lowered("split_gemm").document
    mutant = next(m for m in exchange_mutants(document) if m.operator == "another reach")
    wrong = next(
        m.document
        for m in exchange_mutants(document)
        if m.operator == "another reach" and "await" in m.where
    )
    assert verify_roles(mutant.document).clean
    report = verify_roles(wrong)
    assert report.codes() == {Code.EXCHANGE}
    assert "may read what was there before" in report.text()
    assert first_fault(wrong, (2, 1), range(20), intended=document)
    shown = role_witness(wrong, [(2, 1)], intended=document)
    assert shown is not None
    assert "may not see yet" in shown.fault
    assert any("read" in step for step in shown.steps)


@pytest.mark.parametrize(
    "name", ["split_gemm", "near_gemm", pytest.param("turns", marks=pytest.mark.slow)]
)
def test_repair_puts_back_what_is_missing(name):
    document = lowered(name).document
    for mutant in exchange_mutants(document):
        lost = mutant.operator == "drop step" and "write" not in mutant.where
        if not lost or any(op in mutant.where for op in ("read", "add")):
            continue
        if [*check_exchanges(mutant.document, document.flow)]:
            done = repair_roles(mutant.document, _quick)
            assert done.done, (mutant.where, done.left)
            assert fault_of(done.document) is None


class _quick:  # noqa: N801 (a judge)
    """A judge of meetings alone: all else is as it was."""

    def __init__(self, document, *, sequences=None):
        check_document(document)
        self.found = tuple(check_exchanges(document, document.flow))

    def races(self):
        return self.found


def test_a_thousand_exchanges_are_no_document():
    data = json.loads(write_schedule(lowered("split_gemm").document))
    data["exchanges"] = [data["exchanges"][0] | {"op": f"meet{i}"} for i in range(1000)]
    with pytest.raises(DocumentError, match="more than 16 exchanges"):
        read_schedule(json.dumps(data))


def test_a_document_that_declares_nothing_of_it_is_not_checked():
    """As documents were written before."""
    document = lowered("split_gemm").document
    ops = tuple(replace(op, across=Across.NOTHING) for op in document.flow.ops)
    old = replace(document, exchanges=(), flow=replace(document.flow, ops=ops))
    report = verify_roles(read_schedule(write_schedule(old)))
    assert not report.clean
    assert not report.findings
    assert "how CTAs that share a tile meet" in report.not_judged[0]


def test_what_follows_a_meeting_is_the_last_parts_alone():
    document = lowered("split_gemm").document
    consumer = document.program("consumer")
    release = next(e for e in consumer.epilogue if isinstance(e, Arrive))
    rest = tuple(e for e in consumer.epilogue if e is not release)
    new = replace(consumer, epilogue=(*rest, release))
    programs = tuple(new if p is consumer else p for p in document.programs)
    report = verify_roles(replace(document, programs=programs))
    assert Code.EXCHANGE in report.codes()


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        ({"parts": 1}, "two or more"),
        ({"across": "turns"}, "two or more"),
        ({"role": "nobody"}, "no role"),
        ({"steps": [{"does": "add", "by": "all"}]}, "no add"),
        ({"steps": [{"does": "draw", "by": "usher"}]}, "no draw by usher"),
        ({"steps": [{"does": "publish", "by": "others", "flag": "open"}]}, "flag"),
        ({"steps": [{"does": "sync", "by": "all", "less": 1}]}, "speaks of no others"),
        ({"steps": [{"does": "read", "by": "last", "at": 5000}]}, "at most"),
        ({"steps": [{"does": "sync", "by": "all"}] * 65}, "more than 64"),
        ({"parts": 10**9}, "4096"),
    ],
)
def test_what_no_meeting_has_is_refused(edit, why):
    data = json.loads(write_schedule(lowered("split_gemm").document))
    data["exchanges"][0] |= edit
    with pytest.raises(DocumentError, match=why):
        read_schedule(json.dumps(data))


@pytest.mark.parametrize("cluster", [1, 3, 4])
def test_parts_that_meet_in_a_cluster_are_its_ctas(cluster):
    data = json.loads(write_schedule(lowered("near_gemm").document))
    with pytest.raises(DocumentError, match="cluster"):
        read_schedule(json.dumps(data | {"cluster": cluster}))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_verdicts_agree_at_length():
    assert not {"missed", "false"} & {compare(seed)[0] for seed in range(1000, 1400)}
