"""Every derived wait and barrier says why it is there, in place and in words."""

from warploom.ir.schedule_ops import Phase
from warploom.sync.counters import Hazard, Queue, synthesise

from .golden_documents import fourwave, pingpong, single_buffer


def reasons(document, **options):
    result = synthesise(document, **options)
    return result, {(r.phase, r.index): r for r in result.reasons}


def test_reasons_cover_exactly_what_was_derived():
    for document in (pingpong("strategy2_mg1"), fourwave("geom0_default")):
        for keep in (True, False):
            result, found = reasons(document, keep_barriers=keep)
            waits = {
                (p, i)
                for p in Phase
                for i, e in enumerate(result.document.phase(p))
                if e.op.name.startswith("WAIT")
            }
            assert set(found) == waits | set(result.derived_barriers)
            for (phase, index), reason in found.items():
                op = result.document.phase(phase)[index].op
                assert op.wait_value == (reason.count or 0)
                assert result.reason(phase, index) is reason


def test_words_of_a_pingpong_kernel_wait():
    _, found = reasons(pingpong("strategy2_mg1"))
    text = found[Phase.KERNEL, 3].text
    assert text == (
        "K[3] vm(20): LOAD_B[0,1] of iteration i-1 must be complete before it is read by "
        "FRAG_B[0,1] of this iteration [RAW-LDS], joined by 2 barriers; 20 younger units may stay "
        "in flight (LOAD_A[0,1], LOAD_B[1,0], LOAD_A[1,0], LOAD_B[1,1], LOAD_A[1,1])"
    )
    assert found[Phase.KERNEL, 4].text == (
        "K[4] lgkm(8): FRAG_B[0,0] of this iteration must be complete before it is overwritten by "
        "LOAD_B[0,0] of this iteration [WAR-LDS], joined by 2 barriers; 8 younger units may stay "
        "in flight (FRAG_A[0,0])"
    )


def test_words_of_a_fourwave_epilogue():
    _, found = reasons(fourwave("geom0_default"))
    wait, barrier = found[Phase.EPILOGUE, 0], found[Phase.EPILOGUE, 1]
    assert wait.text.endswith("0 younger units may stay in flight (nothing) (binding at n = 1)")
    assert "LOAD_A[1,1] of the last iteration" in wait.text
    also = [s.producer for s in wait.further]
    assert "LOAD_A[1,1] of the prologue" in also
    assert barrier.queue is None
    assert barrier.binding.hazard is Hazard.RAW_LDS
    assert barrier.binding.barriers_joined == 1
    assert barrier.what == "barrier"


def test_values_behind_the_words():
    result, found = reasons(pingpong("strategy2_mg1"))
    reason = found[Phase.KERNEL, 3]
    assert reason.queue is Queue.VM
    assert reason.units == reason.count == 20
    phase, index = reason.binding.producer_at
    assert result.document.phase(phase)[index].op.label() == "LOAD_B[0,1] K0"
    phase, index = reason.binding.consumer_at
    assert result.document.phase(phase)[index].op.label() == "MMA_LOAD_B[0,1]"
    assert reason.slack is not None
    assert any(line.startswith("also: ") for line in reason.details)


def test_single_buffer_barriers_are_explained():
    result, found = reasons(single_buffer("T2_h0"), keep_barriers=False)
    assert len(result.derived_barriers) == 5
    kernel = [r.binding.hazard for r in result.reasons if r.phase is Phase.KERNEL]
    assert kernel == [Hazard.WAR_LDS, Hazard.RAW_LDS]
    assert all("STORE_A" in r.text for r in found.values())
