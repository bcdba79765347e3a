"""Failures that double-buffer kernels really shipped with, rebuilt on purpose.

Every test makes the faulty schedule, lets the verifier name the fault, runs the verifier's witness
on the executor and sees wrong numbers, and shows that the healthy schedule has no such finding.
"""

from dataclasses import replace

import pytest

from tests.mutation.subjects import subject
from warploom.interp.executor import Early, Scripted, adversaries, execute
from warploom.interp.executor.program import lower
from warploom.ir.schedule_ops import OpRole, Phase, ScheduleOps
from warploom.verify import Code, verify, witness

from .golden_documents import find_ping_pong, four_wave, ping_pong
from .notation import replace_entries

K, E = Phase.KERNEL, Phase.EPILOGUE


def named(document, code, *, phases=None, trips=None):
    """Race findings of one code, between two phases if given."""
    return [
        f
        for f in verify(document, trips=trips).races()
        if f.code is code and (phases is None or tuple(e.phase for e in f.where) == phases)
    ]


def shows_wrong_numbers(document, finding):
    run = execute(document, timing=Scripted(witness(document, finding)))
    return not run.correct and (run.wrong or run.stuck)


def breaks_by_itself(document, trips):
    """The executor's own adversaries find it too, without the verifier's help."""
    return any(
        not execute(document, timing=timing, trips=trips).correct
        for timing in adversaries(lower(document, trips))
    )


def positions(document, phase, *, tag=None, role=None, value=None, slot=None):
    return [
        i
        for i, entry in enumerate(document.phase(phase))
        if (tag is None or entry.op.tag == tag)
        and (role is None or entry.op.role is role)
        and (value is None or entry.op.wait_value == value)
        and (slot is None or (entry.op.channel, entry.op.stage, entry.op.subtile) == slot)
    ]


def drop(document, phase, indices):
    return replace_entries(document, phase, *((i, "") for i in indices))


def move(document, phase, source, to):
    row = list(document.phase(phase))
    row.insert(to, row.pop(source))
    return replace(document, **{phase.name.lower(): tuple(row)})


@pytest.fixture(scope="module")
def clean_four_wave():
    return subject("4-wave, weakest")


@pytest.fixture(scope="module")
def clean_ping_pong():
    return subject("ping-pong CSP, 1 global")


@pytest.fixture(scope="module")
def reference_four_wave():
    return four_wave("fourwave/geom0_default")


def test_no_barrier_after_a_vm_drain(clean_four_wave):
    """1. A vm wait drains the wave's own loads; other waves' shares need a barrier after it."""
    assert verify(clean_four_wave).verdict == "clean"
    barriers = positions(clean_four_wave, K, tag=ScheduleOps.BARRIER)
    faulty = drop(clean_four_wave, K, barriers[:1])
    found = named(faulty, Code.RAW_LDS)
    assert found
    assert found[0].waves[0] != found[0].waves[1]
    assert shows_wrong_numbers(faulty, found[0])
    assert breaks_by_itself(faulty, 2)


def test_no_lgkm_drain_in_the_epilogue(clean_ping_pong):
    """2. Epilogue MMAs consumed stale fragment registers."""
    assert verify(clean_ping_pong).verdict == "clean"
    faulty = drop(clean_ping_pong, E, positions(clean_ping_pong, E, tag=ScheduleOps.WAIT_LGKM))
    found = named(faulty, Code.RAW_REG, phases=(E, E))
    assert found
    assert "MMA" in found[0].where[1].op
    assert shows_wrong_numbers(faulty, found[0])
    assert breaks_by_itself(faulty, 0)


def test_an_empty_main_loop(reference_four_wave):
    """3. With one K iteration the partly drained prologue runs straight into the epilogue."""
    only = range(1)
    found = named(reference_four_wave, Code.RAW_LDS, phases=(Phase.PROLOGUE, E), trips=only)
    assert found
    assert found[0].trip_count == 0
    assert shows_wrong_numbers(reference_four_wave, found[0])
    assert breaks_by_itself(reference_four_wave, 0)
    drained = four_wave("fourwave/geom0_default", epilogue_drain=True)
    assert not named(drained, Code.RAW_LDS, trips=only)
    assert not breaks_by_itself(drained, 0)


def test_no_cushion_between_loop_and_epilogue(reference_four_wave):
    """4. Split-K: only latency separated the last loads of the loop from the epilogue's reads."""
    found = named(reference_four_wave, Code.RAW_LDS, phases=(K, E))
    assert found
    assert shows_wrong_numbers(reference_four_wave, found[0])
    drained = four_wave("fourwave/geom0_default", epilogue_drain=True)
    assert not named(drained, Code.RAW_LDS, phases=(K, E))


def test_a_fragment_read_hoisted_over_a_global_load(clean_four_wave):
    """5. Moved up past a load into LDS, a read races with writes that are still in flight."""
    read = positions(clean_four_wave, K, role=OpRole.FRAGMENT_LOAD, slot=(0, 1, 0))[0]
    load = max(i for i in positions(clean_four_wave, K, role=OpRole.GLOBAL_LOAD) if i < read)
    faulty = move(clean_four_wave, K, read, load)
    found = [f for f in verify(faulty).races() if f.code in (Code.RAW_LDS, Code.WAR_REG)]
    assert found
    assert any(shows_wrong_numbers(faulty, f) for f in found)
    assert breaks_by_itself(faulty, 2)


def test_a_completion_load_taken_for_a_prefetch(clean_ping_pong):
    """8. The half-boundary wait left the other half's completion load in flight."""
    waits = positions(clean_ping_pong, K, tag=ScheduleOps.WAIT_VM)
    assert [clean_ping_pong.kernel[i].op.wait_value for i in waits] == [12, 12]
    faulty = replace_entries(clean_ping_pong, K, *((i, "W16") for i in waits))
    found = named(faulty, Code.RAW_LDS)
    assert any("LOAD_A" in f.where[0].op for f in found)
    assert shows_wrong_numbers(faulty, found[0])
    assert breaks_by_itself(faulty, 2)


def test_uniform_distribution_under_stagger():
    """9. A prefetch lands while the lagging group still reads the slot in the next block."""
    faulty = ping_pong(find_ping_pong("IDENTITY", 1))
    found = named(faulty, Code.WAR_LDS, phases=(K, K))
    assert found
    reader, writer = found[0].waves
    assert (reader.group, writer.group) == (1, 0)
    assert shows_wrong_numbers(faulty, found[0])
    assert breaks_by_itself(faulty, 1)
    assert execute(faulty, timing=Early(), trips=1).correct


def test_a_prefetch_moved_ahead_of_the_read_it_overwrites(clean_ping_pong):
    """10. An early scheduler ignored anti edges."""
    read = positions(clean_ping_pong, K, role=OpRole.FRAGMENT_LOAD, slot=(1, 0, 0))[0]
    load = positions(clean_ping_pong, K, role=OpRole.GLOBAL_LOAD, slot=(1, 0, 0))[0]
    assert read < load
    ahead = move(clean_ping_pong, K, load, read)
    assert named(ahead, Code.TOKEN)
    assert not execute(ahead, timing=Early(), trips=1).correct
    after = move(clean_ping_pong, K, load, read + 1)
    found = named(after, Code.WAR_LDS)
    assert found
    assert shows_wrong_numbers(after, found[0])
    assert breaks_by_itself(after, 2)


def test_cross_stage_reads_without_a_drain(clean_four_wave, reference_four_wave):
    """11. The only vm wait stood in the last block of a half, after the rotated reads."""
    for document in (clean_four_wave, reference_four_wave):
        waits = positions(document, K, tag=ScheduleOps.WAIT_VM)
        rotated = positions(document, K, role=OpRole.FRAGMENT_LOAD, slot=(0, 1, 0))[0]
        faulty = drop(document, K, [i for i in waits if i < rotated])
        found = [f for f in named(faulty, Code.RAW_LDS) if f.where[1].phase is K]
        assert any("LOAD_A[1,0]" in f.where[1].op for f in found)
        assert any(shows_wrong_numbers(faulty, f) for f in found)
        assert breaks_by_itself(faulty, 2)
