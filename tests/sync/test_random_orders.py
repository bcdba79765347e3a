"""Whatever the order: what is synthesised has no finding and nothing to spare."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.sync.minimal import check_minimal
from warploom.errors import OrderError
from warploom.ir import BarrierKind, Counters, RegisterWaits
from warploom.ir.schedule_ops import OpRole, Phase
from warploom.sync.counters import repair, synthesise
from warploom.sync.counters.order import checked_trips
from warploom.sync.counters.reasons import read_text

from .golden_documents import fourwave, pingpong, single_buffer
from .verifiers import clean, verified

BASES = {
    "csp": pingpong("strategy2_mg1"),
    "identity": pingpong("strategy0_mg0"),
    "fourwave": fourwave("geom0_default"),
    "single": single_buffer("T3_h1"),
}
DATA = (OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE, OpRole.FRAGMENT_LOAD, OpRole.COMPUTE)


def swapped(document, phase, position):
    """Two neighbouring data operations exchanged; waits and barriers stay where they are."""
    entries = list(document.phase(phase))
    places = [i for i, e in enumerate(entries) if e.op.role in DATA]
    a, b = (places[(position + k) % len(places)] for k in (0, 1))
    entries[a], entries[b] = (
        replace(entries[a], op=entries[b].op),
        replace(entries[b], op=entries[a].op),
    )
    return replace(document, **{phase.name.lower(): tuple(entries)})


def sound(document):
    try:
        checked_trips(read_text(document))
    except OrderError:
        return False
    return True


@st.composite
def documents(draw):
    document = BASES[draw(st.sampled_from(sorted(BASES)))]
    moves = st.tuples(st.sampled_from(list(Phase)), st.integers(0, 40))
    for phase, position in draw(st.lists(moves, max_size=12)):
        changed = swapped(document, phase, position)
        if sound(changed):
            document = changed
    cost = st.integers(0, 12)
    counters = Counters(
        vm_per_load=(draw(cost), draw(cost)), lgkm_per_load=(draw(cost), draw(cost))
    )
    protocol = document.protocol
    if protocol.register_waits is RegisterWaits.COMPILER:
        protocol = replace(
            protocol,
            barrier=draw(st.sampled_from(list(BarrierKind))),
            register_waits=draw(st.sampled_from(list(RegisterWaits))),
        )
    return replace(document, counters=counters, protocol=protocol)


SETTINGS = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@SETTINGS
@given(documents(), st.booleans(), st.sampled_from(["weakest", "fewest"]))
def test_random_orders_are_synchronised_minimally(document, keep, mode):
    result = synthesise(document, keep_barriers=keep, mode=mode, limit=4)
    assert clean(result.document)
    assert not check_minimal(result.document, verified, barriers=result.derived_barriers)


@SETTINGS
@given(documents(), st.randoms(use_true_random=False))
def test_damaged_schedules_are_repaired(document, random):
    """Waits weakened or dropped and barriers dropped at random come back, no more than needed."""
    damaged = synthesise(document, mode="fewest", limit=4).document
    for phase in Phase:
        kept = [
            replace(e, op=replace(e.op, wait_value=e.op.wait_value + random.choice([0, 0, 1, 9])))
            if e.op.name.startswith("WAIT")
            else e
            for e in damaged.phase(phase)
            if e.op.role is not OpRole.SYNC or random.random() < 0.8 or phase is Phase.PROLOGUE
        ]
        damaged = replace(damaged, **{phase.name.lower(): tuple(kept)})
    done = repair(damaged)
    assert clean(done.document)
    assert not repair(done.document).changes
    if verified(damaged):
        assert all(c.kind == "clamped" for c in done.changes)
    waits = [c for c in done.changes if c.reason is not None and c.reason.queue is not None]
    barriers = [c for c in done.changes if c.after == "BARRIER"]
    loose = check_minimal(
        done.document,
        verified,
        waits=[(c.phase, c.index) for c in waits],
        barriers=[(c.phase, c.index) for c in barriers],
    )
    assert not loose


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(SETTINGS, max_examples=200)
@given(documents(), st.booleans(), st.sampled_from(["weakest", "fewest"]))
def test_many_random_orders(document, keep, mode):
    result = synthesise(document, keep_barriers=keep, mode=mode, limit=16)
    assert clean(result.document)
    assert not check_minimal(result.document, verified, barriers=result.derived_barriers)
