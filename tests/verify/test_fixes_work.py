"""The fix that a finding proposes, applied: the document is clean afterwards.

``words`` are those of the fix that were followed.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.verify.hand_made import (
    FIRST,
    FLOW,
    OUT,
    ZERO,
    add,
    changed,
    consumer,
    document,
    fill,
    multiply,
    producer,
    ring,
    through,
)
from tests.verify.test_document_classes import GROUP, JOIN, meeting, staged, strided
from warploom.errors import DocumentError
from warploom.ir.mbarrier_dialect import (
    Arrive,
    MmaFence,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import NamedBarrier, Scope
from warploom.verify.findings import Code
from warploom.verify.roles import verify_roles

GOOD = document()
SUMS = document(producer(), consumer(multiply()))
PRODUCTS = document(producer(), consumer(multiply(), multiply(0, first=True), peel=1), flow=FIRST)


def kernel(base, who, entries):
    return changed(base, who, kernel=tuple(entries))


def dropped(base, who, kind):
    """All entries of a kind left out of a program's loop."""
    return kernel(base, who, [e for e in base.program(who).kernel if not isinstance(e, kind)])


first_discards = changed(
    PRODUCTS,
    "consumer",
    prologue=tuple(
        replace(e, accumulate=True) if hasattr(e, "accumulate") else e
        for e in PRODUCTS.program("consumer").prologue
    ),
)
no_drain = changed(
    document(
        producer(),
        consumer([*multiply()[:4], WaitGroup(pending=1), Arrive(ring="r", k=-1)],
                 multiply(0, first=True)[:4], (Arrive(ring="r", k=-1), OUT), peel=1),
        flow=FIRST,
    ),
    "consumer",
)  # fmt: skip
drained = changed(
    no_drain, "consumer", epilogue=(WaitGroup(pending=0), Arrive(ring="r", k=-1), OUT)
)
# finding: (document, words of its fix, the repaired document)
REPAIRED = {
    Code.RAW_SLOT: (
        dropped(GOOD, "consumer", WaitFull),
        "a WaitFull of this use in front of the reader",
        GOOD,
    ),
    Code.WAR_SLOT: (dropped(GOOD, "producer", WaitEmpty), "WaitEmpty before the fill", GOOD),
    Code.FENCE: (dropped(SUMS, "consumer", MmaFence), "MmaFence in front", None),
    Code.RAW_REG: (no_drain, "WaitGroup", drained),
    Code.TOKEN: (first_discards, "accumulate = False on the first product", PRODUCTS),
    Code.ARRIVALS: (
        document(rings=[ring(empty=3)]),
        "one arrival per scope",
        document(rings=[ring(empty=4)]),
    ),
    Code.BYTES: (
        kernel(GOOD, "producer", [replace(e, bytes=512) if i == 1 else e
                                  for i, e in enumerate(fill())]),
        "Expect.bytes = all bytes that land",
        GOOD,
    ),
    Code.PHASE: (
        kernel(GOOD, "consumer", [replace(e, parity=1) if i == 0 else e
                                  for i, e in enumerate(add())]),
        "WaitFull takes parity 0",
        GOOD,
    ),
    Code.DEADLOCK: (
        changed(GOOD, "producer", prologue=(WaitEmpty(ring="r", k=2),)),
        "",
        GOOD,
    ),
    Code.SCOPE: (
        kernel(document(rings=[ring(empty=1)]), "consumer",
               [*add()[:2], Arrive(ring="r", scope=Scope.THREAD)]),
        "a sync of the warpgroup in front",
        kernel(document(rings=[ring(empty=1)]), "consumer",
               [*add()[:2], GROUP, Arrive(ring="r", scope=Scope.THREAD)]),
    ),
    Code.STAGING: (
        staged(Scope.WARPGROUP, Scope.WARP, (ScopeSync(),)),
        "",
        staged(Scope.WARPGROUP, Scope.WARP, (GROUP,)),
    ),
    Code.BARRIER: (
        meeting((JOIN,), (JOIN, JOIN)),
        "the same number of arrivals by every participant",
        meeting((JOIN,), (JOIN,)),
    ),
    Code.CAPACITY: (
        document(rings=[ring(depth=300)]),
        "fewer stages",
        document(rings=[ring(depth=100)]),
    ),
    Code.FLOW: (
        changed(GOOD, "consumer", prologue=(), epilogue=(ZERO, OUT)),
        "",
        GOOD,
    ),
    Code.COVERAGE: (
        changed(GOOD, "producer", prologue=tuple(fill(0)), peel=2),
        "run each iteration once",
        changed(GOOD, "producer", prologue=(*fill(0), *fill(1)), peel=2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("code", REPAIRED, ids=lambda c: c.value)
def test_the_fix_of_a_finding_works(code):
    broken, words, repaired = REPAIRED[code]
    report = verify_roles(broken)
    fixes = [f.fix for f in report.findings if f.code is code]
    assert fixes, report.text()
    assert any(words in fix for fix in fixes), fixes
    if code is Code.FENCE:  # "in front of the first Mma after them"
        row = broken.program("consumer").kernel
        at = next(i for i, e in enumerate(row) if hasattr(e, "accumulate"))
        repaired = kernel(broken, "consumer", [*row[:at], MmaFence(), *row[at:]])
    assert verify_roles(repaired).verdict == "clean", verify_roles(repaired).text()


@pytest.mark.parametrize("work", [add, multiply])
def test_the_stride_that_is_proposed_is_right(work):
    broken = strided(1100, work=work)
    (fix,) = {f.fix for f in verify_roles(broken).findings if f.code is Code.ALIGNMENT}
    stride = int(re.search(r"a stride of (\d+) bytes", fix)[1])
    assert verify_roles(strided(stride, work=work)).verdict == "clean"


def test_a_hand_over_with_the_sync_that_is_proposed():
    broken = through(made=())
    fixes = {f.fix for f in verify_roles(broken).findings}
    assert any("Sync" in fix or "WaitFull" in fix for fix in fixes), fixes
    assert verify_roles(through()).verdict == "clean"


MALFORMED = {
    "a ring without slots": (
        document(rings=[ring(depth=0)]), "at least one slot", document(rings=[ring(depth=1)])
    ),
    "overlapping parts": (
        document(rings=[ring(parts=(("p", 0, 1024), ("q", 512, 16)))]),
        "offset 1024 or more",
        None,
    ),
    "a barrier of part of a warp": (
        replace(meeting((JOIN,), (JOIN,)),
                barriers=(NamedBarrier(name="b", id=1, threads=150),)),
        "a multiple of 32",
        meeting((JOIN,), (JOIN,)),
    ),
    "the whole CTA's barrier": (
        replace(meeting((JOIN,), (JOIN,)),
                barriers=(NamedBarrier(name="b", id=0, threads=160),)),
        "ids within 1..15",
        meeting((JOIN,), (JOIN,)),
    ),
    "a copy of odd size": (
        document(producer(fill(size=1000)), consumer()), "whole 16 bytes", GOOD
    ),
    "too many iterations": (
        replace(GOOD, least_trips=5000), "4096 at most", replace(GOOD, least_trips=3)
    ),
    "a value without a home": (
        replace(GOOD, flow=replace(FLOW, homes=FLOW.homes[:2])), "register array", GOOD
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_the_fix_of_a_malformed_document_works(name):
    broken, words, repaired = MALFORMED[name]
    with pytest.raises(DocumentError) as raised:
        verify_roles(broken)
    assert words in str(raised.value)
    if repaired is not None:
        assert verify_roles(repaired).verdict == "clean"
