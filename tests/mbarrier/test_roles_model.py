"""The operational model: what it runs, what it faults on, and that it does not look at waits
that are not there.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.mbarrier.gemm_kernel import GemmKernel
from tests.modelcheck import programs
from warploom.errors import ConfigError
from warploom.interp.executor.roles import Fault, Machine, Plan, Values, first_fault, meaning
from warploom.interp.executor.roles.memory import MBarrier, NamedState
from warploom.ir.mbarrier_dialect import (
    Arrive,
    BulkStore,
    BulkWait,
    Mma,
    MmaFence,
    ProxyFence,
    ScopeSync,
    WaitEmpty,
    WaitGroup,
)
from warploom.ir.rings import Scope
from warploom.verify.roles import Code, verify_roles

from .samples import attention_document, gemm_document

G = gemm_document()  # stores through staging copies, each used twice a tile
RUNS = ((1, 1, 1), (1, 2, 2), (3, 1, 1, 2))


def edited(phase, change, document=None):
    document = document or attention_document()
    program = document.program("consumer")
    entries = tuple(x for i, e in enumerate(getattr(program, phase)) for x in change(i, e))
    assert entries != getattr(program, phase)
    new = replace(program, **{phase: entries})
    return replace(document, programs=(document.program("producer"), new))


def without(kind, nth=0):
    seen = []

    def change(i, e):
        if isinstance(e, kind):
            seen.append(i)
            return () if len(seen) == nth + 1 else (e,)
        return (e,)

    return change


def fails(document, seeds=40, intended=None):
    intended = intended or attention_document()
    faults = (first_fault(document, tiles, range(seeds), intended=intended) for tiles in RUNS)
    return next((f for f in faults if f), None)


def test_a_lap_needs_all_arrivals_and_all_bytes():
    barrier = MBarrier(2, 2)
    assert barrier.passes(1)
    barrier.bytes += 64
    barrier.arrive(2)
    assert not barrier.passes(0)
    barrier.bytes -= 64
    barrier.settle()
    assert barrier.passes(0)
    assert (barrier.laps, barrier.pending) == (1, 2)
    with pytest.raises(Fault, match="more arrivals"):
        barrier.arrive(3)


def test_a_named_barrier_opens_for_exactly_its_threads():
    state = NamedState()
    assert state.join(128, 256) == 0
    assert state.join(128, 256) == 0
    assert (state.generation, state.threads) == (1, 0)
    with pytest.raises(Fault, match="too many threads"):
        state.join(384, 256)


def test_the_meaning_of_a_tile_depends_on_every_iteration_of_it():
    values = Values()
    two, three = (meaning(attention_document(), (n,), values) for n in (2, 3))
    assert two.keys() == three.keys()
    assert not set(two.values()) & set(three.values())
    assert meaning(attention_document(), (2,), values) == two


def test_a_run_is_reproducible():
    wrong = edited("kernel", without(WaitGroup))
    assert fails(wrong) == fails(wrong) is not None


@pytest.mark.parametrize("cluster", [(1, 1), (2, 1)])
def test_multicast_copies_and_cluster_exits_run(cluster):
    document = gemm_document(GemmKernel(cluster=cluster))
    assert first_fault(document, (5, 3), range(8)) is None
    assert len(Plan.of(document, (5,)).agents) == 3 * cluster[0]


@pytest.mark.parametrize(
    ("phase", "kind", "nth", "code"),
    [
        ("epilogue", ProxyFence, 0, Code.PROXY),
        ("epilogue", ScopeSync, 0, Code.STAGING),
        ("epilogue", ScopeSync, 1, Code.PROXY),
        ("epilogue", BulkWait, 0, Code.STAGING),
        ("epilogue", BulkStore, 0, Code.COVERAGE),
        ("epilogue", BulkStore, 3, Code.COVERAGE),
        ("finish", BulkWait, 0, Code.DRAIN),
    ],
    ids=str,
)
def test_staging_left_out_runs_wrong_and_is_found(phase, kind, nth, code):
    wrong = edited(phase, without(kind, nth), G)
    assert fails(wrong, intended=G) is not None
    assert code in verify_roles(wrong).codes()


def test_a_fence_left_out_runs_wrong_and_is_found():
    wrong = edited("kernel", without(MmaFence))
    assert fails(wrong) is not None
    assert Code.FENCE in verify_roles(wrong).codes()


def test_a_store_left_out_is_found_also_in_the_last_tile():
    """The last fill is after every refill: only the end of the program shows it."""
    wrong = edited("epilogue", without(BulkStore, 3), G)
    report = verify_roles(wrong, sequences=[(1,)])
    assert any("never stored" in f.why for f in report.findings)


def test_stores_of_a_warpgroup_need_a_barrier_of_the_warpgroup():
    def wide(i, e):
        return (replace(e, scope=Scope.WARPGROUP),) if isinstance(e, BulkStore) else (e,)

    def wider(i, e):
        return (replace(e, scope=Scope.WARPGROUP),) if isinstance(e, ScopeSync) else (e,)

    one = edited("epilogue", wide, G)
    assert fails(one, intended=G) is not None
    assert fails(edited("epilogue", wider, one), seeds=10, intended=G) is None


def test_products_in_flight_at_the_end_are_a_fault():
    program = attention_document().program("consumer")
    last = next(e for e in program.epilogue if isinstance(e, Mma))
    new = replace(program, finish=(*program.finish, last))
    wrong = replace(attention_document(), programs=(attention_document().program("producer"), new))
    assert fails(wrong) is not None


def test_tiles_too_short_are_refused():
    with pytest.raises(ConfigError, match="at least 1"):
        first_fault(attention_document(), (2, 0), range(1))
    with pytest.raises(ConfigError, match="tiles"):
        first_fault(attention_document(), (), range(1))


def test_a_machine_starts_with_the_first_steps_only():
    machine = Machine(Plan.of(attention_document(), (1,)), Values())
    kinds = {kind for kind, _, _ in machine.actions()}
    assert kinds == {"first", "settle"}


def handed(seed):
    """A role that writes slots for another's products, with ordinary instructions."""
    return programs.handed(random.Random(seed))


@pytest.mark.parametrize("seed", range(6))
def test_slots_written_by_a_role_reach_the_products_of_another(seed):
    assert all(first_fault(handed(seed), tiles, range(12)) is None for tiles in RUNS)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [(ProxyFence, "no fence"), (Arrive, "deadlock"), (WaitEmpty, "")],
    ids=["fence", "arrival", "wait"],
)
def test_a_handed_slot_needs_its_fence_its_arrival_and_its_wait(kind, fault):
    document = handed(1)
    maker = document.programs[0]
    maker = replace(maker, kernel=tuple(e for e in maker.kernel if not isinstance(e, kind)))
    broken = replace(document, programs=(maker, document.programs[1]))
    assert not verify_roles(broken).clean
    found = [first_fault(broken, tiles, range(40), intended=document) for tiles in RUNS]
    assert fault in next(f for f in found if f)
