"""The policies beside the reference's rules, through the compiler."""

import pytest

from warploom import (
    DeclarativeSchedule,
    KernelGeometry,
    OrderError,
    Phase,
    Pipeline4Wave,
    ScheduleConfig,
    SchedulingStrategy,
    SyncPolicy,
    build_fourwave_schedule,
    compile_schedule,
    mi355x_target,
)

from .naive_verifier import clean, findings

GEOMETRY = KernelGeometry(
    BM=256,
    BN=256,
    BK=64,
    MMA_M=16,
    MMA_N=16,
    MMA_K=32,
    elem_bytes=2,
    simd_width=8,
    is_fp8=False,
    vm_per_load_a=4,
    vm_per_load_b=4,
    lgkm_per_load_a=8,
    lgkm_per_load_b=8,
)


def test_fourwave_is_proven_by_default_and_the_reference_races():
    proven = build_fourwave_schedule(GEOMETRY)
    assert proven.sync is SyncPolicy.PROVEN_WEAKEST
    assert clean(proven.document())
    ruled = build_fourwave_schedule(GEOMETRY, sync=SyncPolicy.REFERENCE, on_race="report")
    assert ruled.reasons == ()
    assert {"WAR-LDS", "RAW-LDS", "RAW-REG"} <= set(findings(ruled.document(), 2))


def test_pingpong_keeps_the_reference_by_default():
    ruled = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4))
    assert ruled.sync is SyncPolicy.REFERENCE
    assert clean(ruled.document())


SOLVED = (SchedulingStrategy.AUTO, SchedulingStrategy.MODULO)  # by a search of seconds


@pytest.mark.parametrize(
    ("policy", "strategy"),
    [
        pytest.param(p, s, marks=pytest.mark.slow if s in SOLVED[: 1 + n] else ())
        for n, p in enumerate((SyncPolicy.PROVEN_WEAKEST, SyncPolicy.PROVEN_FEWEST))
        for s in SchedulingStrategy
    ],
)
def test_pingpong_proven(policy, strategy):
    schedule = DeclarativeSchedule(
        lgkm_a=8, lgkm_b=4, config=ScheduleConfig(scheduling=strategy, auto_waits=True)
    )
    compiled = compile_schedule(schedule, sync=policy)
    assert clean(compiled.document())
    waits = [
        (p, i)
        for p in Phase
        for i, e in enumerate(compiled.document().phase(p))
        if e.op.name.startswith("WAIT")
    ]
    reasons = {(r.phase, r.index): r for r in compiled.reasons}
    assert {place for place, r in reasons.items() if r.queue is not None} == set(waits)
    for (phase, index), reason in reasons.items():
        if reason.queue is None:
            assert compiled.document().phase(phase)[index].op.name == "BARRIER"


def test_a_hook_of_the_schedule_chooses_the_policy():
    class Proven(DeclarativeSchedule):
        def sync_policy(self):
            return SyncPolicy.PROVEN_FEWEST

    assert compile_schedule(Proven(lgkm_a=8, lgkm_b=4)).sync is SyncPolicy.PROVEN_FEWEST


def test_listing_shows_every_reason():
    compiled = build_fourwave_schedule(GEOMETRY)
    text = compiled.listing()
    for reason in compiled.reasons:
        assert reason.text in text
    line = next(x for x in text.splitlines() if "WAIT_LGKM" in x and "wait=8" in x)
    assert "8 younger units may stay in flight (FRAG_A[0,1])" in line


def test_kernel_deps_follow_their_entries():
    compiled = build_fourwave_schedule(GEOMETRY)
    for dep in compiled.kernel_deps:
        assert compiled.kernel[dep.consumer_idx].op.name == "MMA"
    assert len(compiled.kernel_deps) == 4  # MMA to MMA; the others left from removed waits


def test_the_target_without_stagger_is_handled():
    schedule = Pipeline4Wave(GEOMETRY, None, mi355x_target())
    compiled = compile_schedule(schedule)
    assert compiled.warp_stagger_index == len(compiled.prologue) + 1


def test_an_order_that_loses_loads_is_refused():
    from warploom import synthesise

    from .golden_documents import pingpong

    with pytest.raises(OrderError) as caught:
        synthesise(pingpong("strategy2_mg2"))
    assert caught.value.code in ("TOKEN", "COVERAGE")
    assert "waits cannot repair this" in caught.value.fix
