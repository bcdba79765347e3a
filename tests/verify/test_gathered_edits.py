"""Rows that threads copy into slots, edited by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.mbarrier.samples import lowered
from warploom.ir.mbarrier_dialect import WaitEmpty
from warploom.verify.roles import verify_roles

EDITS = {
    "copy before the wait": (lambda w, e, x: (x, w, e), "WAR-SLOT"),
    "announced before the wait": (lambda w, e, x: (e, w, x), "LAPPED"),
    "waits afterwards": (lambda w, e, x: (e, x, w), "WAR-SLOT"),
    "never announced": (lambda w, e, x: (w, x), "ARRIVALS"),
    "never waits": (lambda w, e, x: (e, x), "WAR-SLOT"),
    "copies twice": (lambda w, e, x: (w, e, x, x), "BYTES"),
    "another slot": (lambda w, e, x: (w, e, replace(x, k=1)), "ARRIVALS"),
    "half of it": (lambda w, e, x: (w, e, replace(x, bytes=x.bytes // 2)), "BYTES"),
    "half of it twice": (lambda w, e, x: (w, e, *(replace(x, bytes=x.bytes // 2),) * 2), "TOKEN"),
    "one thread of three warps": (lambda w, e, x: (w, e, replace(x, by_threads=False)), "LAPPED"),
    "waits twice": (lambda w, e, x: (w, w, e, x), None),
    "waits one slot ahead": (lambda w, e, x: (replace(w, k=1), e, x), None),
}


def judged(**changes):
    document = lowered("grouped_gathered").document
    new = replace(document.program("gatherer"), **changes)
    programs = tuple(new if p.name == new.name else p for p in document.programs)
    return verify_roles(replace(document, programs=programs))


@pytest.mark.parametrize("name", EDITS)
def test_edits_of_the_gatherer(name):
    edit, code = EDITS[name]
    report = judged(kernel=edit(*lowered("grouped_gathered").document.program("gatherer").kernel))
    assert report.clean is (code is None)
    assert code is None or code in report.codes()


def test_roles_that_restart_double_or_wait_at_the_end():
    ring = lowered("grouped_gathered").document.program("gatherer").kernel[0].ring
    assert "PHASE" in judged(carries_phase=False).codes()
    assert "ARRIVALS" in judged(instances=2).codes()
    assert judged(finish=(WaitEmpty(ring=ring),)).clean
