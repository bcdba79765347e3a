"""Any grid, any number of stages, wave groups and back edges."""

from dataclasses import replace

import pytest

from tests.sync.minimal import check_minimal
from warploom.errors import OrderError, SyncError
from warploom.ir import BarrierKind, RegisterWaits
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, Phase
from warploom.sync.counters import Hazard, repair, synthesise
from warploom.sync.counters.order import span
from warploom.sync.counters.reasons import read_text

from .generated_documents import entries, load, mma, ring
from .verifiers import clean, verified


@pytest.mark.parametrize(
    ("rows", "cols", "stages", "groups"),
    [(1, 1, 1, 1), (1, 2, 2, 1), (2, 2, 3, 1), (2, 2, 2, 2), (1, 2, 2, 3), (3, 1, 1, 2)],
)
@pytest.mark.parametrize("mode", ["weakest", "fewest"])
def test_rings(rows, cols, stages, groups, mode):
    result = synthesise(ring(rows, cols, stages, groups), mode=mode, limit=8)
    assert clean(result.document)
    assert not check_minimal(result.document, verified, barriers=result.derived_barriers)
    assert result.kernel_barriers >= groups


def test_one_wave_needs_no_barrier():
    result = synthesise(ring(2, 2, 2, waves=1))
    assert clean(result.document)
    assert result.derived_barriers == ()
    assert not check_minimal(result.document, verified)


@pytest.mark.parametrize("keep", [True, False])
def test_chains_over_two_back_edges(keep):
    document = ring(1, 1, 1, late=True)
    assert span(read_text(document)) == 2
    result = synthesise(document, keep_barriers=keep)
    assert result.trips == (0, 1, 2, 3)
    assert clean(result.document)
    assert not check_minimal(result.document, verified, barriers=result.derived_barriers)


def test_fencing_barriers_drain_by_themselves():
    document = ring(2, 2, 2)
    document = replace(document, protocol=replace(document.protocol, barrier=BarrierKind.FENCING))
    result = synthesise(document)
    assert clean(result.document)
    assert result.counts(Phase.KERNEL).vm == 0
    assert not check_minimal(result.document, verified, barriers=result.derived_barriers)


@pytest.mark.parametrize("barrier", list(BarrierKind))
@pytest.mark.parametrize("waves", [1, 4])
def test_waits_of_the_code_generator_count(barrier, waves):
    document = ring(2, 2, 1, waves=waves)
    protocol = replace(document.protocol, barrier=barrier, register_waits=RegisterWaits.COMPILER)
    result = synthesise(replace(document, protocol=protocol))
    # An MMA in front of each load has taken every fragment, so no lgkm wait is left to do.
    assert [result.counts(p).lgkm for p in Phase] == [0, 0, 0]
    assert clean(result.document)
    assert not check_minimal(result.document, verified, barriers=result.derived_barriers)


def test_epilogue_drain_of_the_protocol_is_used():
    document = ring(2, 2, 2)
    drained = replace(document, protocol=replace(document.protocol, epilogue_drain=True))
    result = synthesise(drained)
    assert clean(result.document)
    assert result.counts(Phase.EPILOGUE).vm == 0
    assert not check_minimal(result.document, verified, barriers=result.derived_barriers)


def test_counts_are_clamped_to_what_the_counter_expresses():
    result = synthesise(ring(2, 2, 3, vm=(30, 30), lgkm=(9, 9)))
    counts = {
        name: [e.op.wait_value for e in result.document.kernel if e.op.name == name]
        for name in ("WAIT_VM", "WAIT_LGKM")
    }
    assert max(counts["WAIT_VM"]) <= 62
    assert max(counts["WAIT_LGKM"]) <= 14
    assert clean(result.document)
    assert not check_minimal(result.document, verified, barriers=result.derived_barriers)
    assert any("at most" in r.text for r in result.reasons)


def test_a_large_kernel_is_bounded_work():
    result = synthesise(ring(4, 4, 3, 2), limit=2)
    assert verified(result.document)


def test_a_wait_stands_in_front_of_the_raised_priority():
    document = ring(1, 1, 1)
    ops = [e.op for e in document.kernel]
    at = next(i for i, op in enumerate(ops) if op.name == "MMA")
    ops[at:at] = [OpDesc.set_prio(1)]
    ops[at + 2 : at + 2] = [OpDesc.set_prio(0)]
    result = synthesise(replace(document, kernel=entries(ops, Phase.KERNEL)))
    names = [e.op.label() for e in result.document.kernel]
    raised = names.index("SET_PRIO(1)")
    assert names[raised + 1] == "MMA[0,0]"
    between = names[names.index("READ_B[0,0]") + 1 : raised]
    assert "WAIT_LGKM(0)" in between


def test_prefetch_flags_and_hints_survive():
    document = ring(1, 1, 1)
    kernel = tuple(replace(e, is_prefetch=e.op.name.startswith("LOAD")) for e in document.kernel)
    fence = replace(kernel[0], op=OpDesc.sched_group_barrier(3, 2))
    result = synthesise(replace(document, kernel=(*kernel, fence)))
    assert sum(e.is_prefetch for e in result.document.kernel) == 2
    assert result.document.kernel[-1].op.label() == "SCHED_GROUP_BARRIER(3, 2)"
    assert [e.time_slot for e in result.document.kernel] == list(range(len(result.document.kernel)))


def test_lost_tiles_are_refused():
    document = ring(1, 1, 1)
    lost = replace(document, kernel=entries([e.op for e in document.kernel[:-1]], Phase.KERNEL))
    for action in (synthesise, repair):
        with pytest.raises(OrderError) as caught:
            action(lost)
        assert caught.value.code == "TOKEN"
        assert "waits cannot repair" in str(caught.value)
    twice = replace(document, epilogue=(*document.epilogue, *entries([mma(0, 0)], Phase.EPILOGUE)))
    with pytest.raises(OrderError) as caught:
        synthesise(twice)
    assert caught.value.code == "COVERAGE"


def test_unequal_barrier_totals_are_refused_and_repaired():
    document = ring(1, 1, 1, 2)
    hanging = replace(document, protocol=replace(document.protocol, tail_barriers=(0, 0)))
    with pytest.raises(SyncError, match="different numbers of barriers"):
        synthesise(hanging)
    done = repair(hanging)
    assert done.document.protocol.tail_barriers == (1, 0)
    assert "DEADLOCK" in done.text
    assert clean(done.document)


def test_bad_arguments_are_explained():
    document = ring(1, 1, 1)
    with pytest.raises(SyncError, match="unknown mode"):
        synthesise(document, mode="strongest")
    with pytest.raises(SyncError, match="out of range"):
        synthesise(document, extra_barriers=-1)
    ops = [replace(e.op, tag=9, channel=-1) for e in document.prologue]
    with pytest.raises(SyncError, match="channel"):
        synthesise(replace(document, prologue=entries(ops, Phase.PROLOGUE)))


def test_an_empty_loop_is_fine():
    document = ring(1, 1, 1)
    with pytest.raises(OrderError):
        synthesise(replace(document, kernel=()))
    empty = replace(document, prologue=(), kernel=(), epilogue=())
    assert synthesise(empty).document.kernel == ()


def test_the_cost_ranks_equal_counts():
    seen = []

    def count_entries(document):
        seen.append(document)
        return len(document.kernel)

    result = synthesise(ring(2, 2, 2), cost=count_entries, limit=8)
    assert result.cost == min(len(d.kernel) for d in seen)
    assert len(seen) == result.ranked


def test_two_writes_without_a_read_between_are_ordered():
    document = ring(1, 1, 1)
    wrong_first = replace(load(0, 0, 0), k_offset=KOffsetKind.K1)
    ops = [wrong_first, *(e.op for e in document.prologue)]
    result = synthesise(replace(document, prologue=entries(ops, Phase.PROLOGUE)))
    assert result.reasons[0].binding.hazard is Hazard.WAW_LDS
    assert [e.op.label() for e in result.document.prologue][1] == "WAIT_VM(0)"
    assert clean(result.document)
    assert not check_minimal(result.document, verified, barriers=result.derived_barriers)


def test_documents_too_large_to_search_are_refused():
    document = ring(1, 1, 1)
    with pytest.raises(SyncError, match="too many"):
        synthesise(replace(document, epilogue=document.epilogue * 1000))
