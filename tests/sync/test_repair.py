"""Repair of known racy schedules: what is changed, and that it is no more than needed."""

from dataclasses import replace

import pytest

from tests.sync.minimal import check_minimal, replace_entry
from warploom.ir.schedule_ops import Phase, ScheduleOps
from warploom.sync.counters import ChangeKind, count_sync, repair

from .golden_documents import fourwave, pingpong, single_buffer
from .verifiers import clean, verified


def test_a_clean_schedule_is_left_alone():
    for document in (pingpong("strategy2_mg1"), pingpong("strategy0_mg0"), single_buffer("T2_h0")):
        done = repair(document)
        assert done.changes == ()
        assert done.document == document
        assert done.text == "nothing to repair"


def test_identity_pingpong_needs_its_top_wait_tightened():
    done = repair(pingpong("strategy0_mg1"))
    assert [(c.kind, c.phase, c.before, c.after) for c in done.changes] == [
        (ChangeKind.TIGHTENED, Phase.KERNEL, "WAIT_LGKM(8)", "WAIT_LGKM(0)")
    ] * 2
    assert "[WAR-LDS]" in done.text
    assert clean(done.document)


def test_fourwave_gets_two_tighter_waits_and_one_barrier():
    done = repair(fourwave("geom0_default"))
    assert clean(done.document)
    kinds = [(c.phase, c.before, c.after) for c in done.changes]
    assert kinds == [
        (Phase.KERNEL, "WAIT_LGKM(8)", "WAIT_LGKM(0)"),
        (Phase.KERNEL, "WAIT_LGKM(8)", "WAIT_LGKM(0)"),
        (Phase.EPILOGUE, "", "WAIT_VM(0)"),
        (Phase.EPILOGUE, "", "BARRIER"),
    ]
    for change in done.changes:
        assert change.reason is not None
        assert (change.reason.phase, change.reason.index) == (change.phase, change.index)
        assert change.reason.binding.text in change.text
    places = [(c.phase, c.index) for c in done.changes]
    assert not check_minimal(done.document, verified, waits=places[:3], barriers=places[3:])


def test_unencodable_counts_become_the_nearest_real_ones():
    done = repair(pingpong("lgkm16x8_fp80_default"))
    assert {(c.kind, c.before, c.after) for c in done.changes} == {
        (ChangeKind.CLAMPED, "WAIT_LGKM(16)", "WAIT_LGKM(14)")
    }
    assert "[ENCODING]" in done.text
    assert clean(done.document)


@pytest.mark.parametrize("phase", list(Phase))
def test_a_dropped_wait_or_barrier_comes_back(phase):
    document = pingpong("strategy2_mg1")
    sync = (ScheduleOps.BARRIER, ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM)
    for i, entry in enumerate(document.phase(phase)):
        if entry.op.tag not in sync:
            continue
        damaged = replace_entry(document, (phase, i), None)
        done = repair(damaged)
        assert verified(done.document)
        assert bool(done.changes) != verified(damaged)
        assert len(done.changes) <= 4


def test_the_fence_beside_a_dropped_wait_stays():
    document = fourwave("wrap_a")
    done = repair(document)
    fences = [e for e in done.document.kernel if e.op.tag == ScheduleOps.SCHEDULE_BARRIER]
    assert len(fences) == sum(e.op.tag == ScheduleOps.SCHEDULE_BARRIER for e in document.kernel)
    assert clean(done.document)


def test_repair_is_nearer_than_synthesis():
    document = fourwave("geom0_default")
    kept = repair(document).document
    assert count_sync(kept, Phase.KERNEL) == count_sync(document, Phase.KERNEL)
    assert len(kept.epilogue) == len(document.epilogue) + 2


def test_stagger_point_moves_with_its_entry():
    document = pingpong("strategy2_mg1")
    # The stagger point lies in front of entry 4, the first wait; drop the barrier after it.
    barrier = next(i for i, e in enumerate(document.prologue) if e.op.tag == ScheduleOps.BARRIER)
    damaged = replace(
        document,
        prologue=document.prologue[:barrier] + document.prologue[barrier + 1 :],
    )
    done = repair(damaged)
    assert verified(done.document)
    before = [e.op for e in document.prologue[: document.protocol.stagger_index]]
    after = done.document.prologue[: done.document.protocol.stagger_index]
    assert [e.op for e in after if e.op.tag < 128] == before
    assert done.document.warp_stagger_index == done.document.protocol.stagger_index
