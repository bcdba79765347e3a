"""Any document gives an ``Execution`` or one of our errors, whatever it contains."""

from contextlib import suppress

from hypothesis import given, settings, strategies as st

from warploom.errors import DocumentError, WarploomError
from warploom.interp.executor import Drift, Early, Execution, Late, Random, execute
from warploom.ir import BarrierKind, Counters, Protocol, RegisterWaits, ScheduleDocument
from warploom.ir.schedule_ops import (
    KOffsetKind,
    OpDesc,
    OpRole,
    OpTag,
    Phase,
    ScheduleEntry,
    ScheduleOps,
)
from warploom.verify import verify

from .notation import written

small = st.integers(0, 3)
tags = st.one_of(
    st.sampled_from([OpTag(0, "LOAD_A"), OpTag(1, "LOAD_B"), OpTag(9, "ODD"), OpTag(200, "ODDER")]),
    st.sampled_from(list(ScheduleOps)),
)
ops = st.builds(
    OpDesc,
    tag=tags,
    stage=small | st.just(10**9),
    subtile=small | st.just(10**9),
    k_offset=st.sampled_from(list(KOffsetKind)),
    lgkm_cost=small,
    wait_value=st.integers(0, 70),
    role=st.sampled_from(list(OpRole)),
    channel=st.integers(-1, 2),
)


@st.composite
def foreign_documents(draw):
    def phase(which):
        rows = draw(st.lists(ops, max_size=12))
        return tuple(ScheduleEntry(op=o, time_slot=i, phase=which) for i, o in enumerate(rows))

    groups = draw(st.integers(1, 3))
    tails = st.lists(st.integers(0, 2), min_size=groups, max_size=groups)
    return ScheduleDocument(
        name="foreign",
        target="?",
        strategy="?",
        protocol=Protocol(
            groups=groups,
            waves_per_group=draw(st.integers(1, 3)),
            stagger_index=draw(st.none() | st.integers(0, 20)),
            barrier_after_prologue=draw(st.booleans()),
            tail_barriers=tuple(draw(tails)),
            k_tiles_per_iteration=draw(st.integers(1, 3)),
            kernel_k_base=draw(st.integers(0, 3)),
            epilogue_drain=draw(st.booleans()),
            barrier=draw(st.sampled_from(list(BarrierKind))),
            register_waits=draw(st.sampled_from(list(RegisterWaits))),
        ),
        counters=Counters(vm_per_load=(draw(small), 70), lgkm_per_load=(draw(small), 20)),
        prologue=phase(Phase.PROLOGUE),
        kernel=phase(Phase.KERNEL),
        epilogue=phase(Phase.EPILOGUE),
    )


@settings(max_examples=120, deadline=None)
@given(
    document=foreign_documents(),
    trips=st.integers(0, 3),
    timing=st.sampled_from([Early(), Late(), Late(youngest_first=True), Random(1)])
    | st.builds(Drift, leader=st.integers(0, 2), laggard=st.integers(0, 2)),
    stalls=st.booleans(),
)
def test_a_run_or_a_typed_error(document, trips, timing, stalls):
    try:
        run = execute(document, timing=timing, trips=trips, capacity_stalls=stalls)
    except WarploomError:
        return
    assert isinstance(run, Execution)
    assert run.describe()
    if not run.correct and not stalls:
        with suppress(DocumentError):  # what the judge refuses is not clean either
            assert verify(document).verdict != "clean"


def test_nothing_to_multiply_is_correct():
    empty = written("", kernel_k_base=0)
    assert execute(empty, trips=0).correct
    assert not execute(written("", kernel_k_base=1), trips=0).correct
