"""Mutants of the ping-pong schedule: verdicts are backed by runs.

What the judge calls racy fails with its own witness; what it calls clean survives the executor's
adversarial timings.
"""

from dataclasses import replace

import pytest

from warploom.interp.executor import Scripted, adversaries, execute
from warploom.interp.executor.program import lower
from warploom.ir.schedule_ops import OpDesc, OpRole, Phase, ScheduleOps
from warploom.verify import Code, verify, witness

from .documents import pingpong_named

DATA = (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD)


def changes(op):
    """Ways to damage one op; ``None`` drops it."""
    if op.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM):
        return [None, replace(op, wait_value=op.wait_value + 4)]
    if op.tag == ScheduleOps.BARRIER:
        return [None]
    if op.role in DATA:
        flips = [replace(op, stage=1 - op.stage), replace(op, subtile=1 - op.subtile)]
        return [None, *flips] if op.role is OpRole.GLOBAL_LOAD else flips
    return []


def mutants(doc):
    for which in Phase:
        entries = doc.phase(which)
        for i, entry in enumerate(entries):
            for op in changes(entry.op):
                changed = () if op is None else (replace(entry, op=op),)
                phase = (*entries[:i], *changed, *entries[i + 1 :])
                yield replace(doc, **{which.name.lower(): phase})


def back_up(doc):
    """Check one verdict by running; returns whether it was racy."""
    report = verify(doc)
    certain = [f for f in report.races() if f.code in (Code.TOKEN, Code.COVERAGE, Code.WAR_REG)]
    for finding in (certain or report.races())[:2]:
        assert not execute(doc, timing=Scripted(witness(doc, finding))).correct, finding.text()
    if not report.races():
        for trips in (0, 2):
            for timing in adversaries(lower(doc, trips)):
                assert execute(doc, timing=timing, trips=trips).correct, (trips, timing)
    return bool(report.races())


def test_every_ninth_mutant():
    verdicts = [back_up(m) for m in list(mutants(pingpong_named("CSP", 1)))[::9]]
    assert True in verdicts
    assert False in verdicts


@pytest.mark.slow
@pytest.mark.parametrize("case", [("CSP", 1), ("CSP", 0), ("GREEDY", 1, (4, 4))])
def test_all_mutants(case):
    verdicts = [back_up(m) for m in mutants(pingpong_named(*case))]
    assert verdicts.count(True) > 60


def test_kernel_waits_that_matter_and_those_that_do_not():
    """Each kernel vm wait dropped or weakened races; so does each lgkm wait in front of an MMA."""
    doc = pingpong_named("CSP", 1)
    for i, entry in enumerate(doc.kernel):
        if entry.op.tag == ScheduleOps.WAIT_VM:
            without = (*doc.kernel[:i], *doc.kernel[i + 1 :])
            assert verify(replace(doc, kernel=without)).verdict == "race"
            stronger = (*doc.kernel[:i], replace(entry, op=OpDesc.wait_vm(0)), *doc.kernel[i + 1 :])
            assert verify(replace(doc, kernel=stronger)).verdict == "clean"
