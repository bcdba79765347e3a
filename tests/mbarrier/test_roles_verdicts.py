"""The judge of roles: derived schedules are clean, every planted defect is found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.mbarrier.gemm_kernel import GemmKernel
from warploom.errors import VerificationError
from warploom.interp.executor.roles import first_fault
from warploom.ir.mbarrier_dialect import (
    Arrive,
    BulkWait,
    ClusterSync,
    Commit,
    Compute,
    Expect,
    Load,
    Mma,
    MmaFence,
    ProxyFence,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import Part, Scope, SlotRead
from warploom.sync.mbarrier import Release
from warploom.verify.roles import Code, Severity, require_clean, tile_sequences, verify_roles

from .flows import gemm_flow
from .samples import gemm_document, meeting

KERNELS = (
    GemmKernel(),
    GemmKernel(tile_m=256, tile_n=192),
    GemmKernel(tile_m=256, tile_n=200),
    GemmKernel(cluster=(2, 1)),
    GemmKernel(cluster=(1, 2)),
    GemmKernel(release=Release.SAME_ITERATION),
    GemmKernel(tile_n=128, stages=5),
    GemmKernel(tile_m=64, tile_n=64, consumers=1, stages=3),
)
RUNS = ((1, 1, 1), (1, 2, 3), (5, 1, 4), (9, 7), (4, 4, 4))


def edited(document, role, phase, change):
    """The document with one list of one role rewritten; ``change`` maps an entry to a tuple."""
    program = document.program(role)
    entries = tuple(x for e in getattr(program, phase) for x in change(e))
    assert entries != getattr(program, phase), "the mutation changes nothing"
    new = replace(program, **{phase: entries})
    programs = tuple(new if p.name == role else p for p in document.programs)
    return replace(document, programs=programs)


def with_ring(document, **fields):
    return replace(document, rings=(replace(document.rings[0], **fields),))


def on(kind, change):
    return lambda e: change(e) if isinstance(e, kind) else (e,)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_derived_schedules_are_clean(kernel):
    report = verify_roles(gemm_document(kernel))
    assert report.clean, str(report)
    assert not report.findings


@pytest.mark.parametrize("kernel", KERNELS[:6], ids=lambda k: k.name)
def test_derived_schedules_survive_random_executions(kernel):
    document = gemm_document(kernel)
    for tiles in RUNS:
        assert first_fault(document, tiles, range(6)) is None


def moved_arrive(document):
    """The empty arrive in front of the wait_group that guards it."""
    program = document.program("consumer")
    kernel = list(program.kernel)
    arrive = next(i for i, e in enumerate(kernel) if isinstance(e, Arrive))
    wait = next(i for i, e in enumerate(kernel) if isinstance(e, WaitGroup))
    kernel.insert(wait, kernel.pop(arrive))
    new = replace(program, kernel=tuple(kernel))
    return replace(document, programs=(document.programs[0], new))


def no_carry(document, role):
    programs = tuple(
        replace(p, carries_phase=False) if p.name == role else p for p in document.programs
    )
    return replace(document, programs=programs)


D = gemm_document()
DROP = lambda e: ()  # noqa: E731

# name, mutant, codes of which one must be found, does it also fail in random execution
MUTANTS = [
    (
        "kernel wait_group one too weak",
        edited(
            D, "consumer", "kernel", on(WaitGroup, lambda e: (replace(e, pending=e.pending + 1),))
        ),
        {Code.WAR_SLOT},
    ),
    (
        "epilogue wait_group one too weak",
        edited(
            D, "consumer", "epilogue", on(WaitGroup, lambda e: (replace(e, pending=e.pending + 1),))
        ),
        {Code.WAR_SLOT, Code.RAW_REG},
    ),
    ("empty arrive before the wait", moved_arrive(D), {Code.WAR_SLOT}),
    (
        "consumer waits with the wrong parity",
        edited(D, "consumer", "kernel", on(WaitFull, lambda e: (replace(e, parity=1),))),
        {Code.PHASE},
    ),
    (
        "producer waits with the wrong parity",
        edited(D, "producer", "kernel", on(WaitEmpty, lambda e: (replace(e, parity=0),))),
        {Code.PHASE},
    ),
    (
        "too many expected bytes",
        edited(D, "producer", "kernel", on(Expect, lambda e: (replace(e, bytes=e.bytes + 16),))),
        {Code.BYTES},
    ),
    (
        "too few expected bytes",
        edited(D, "producer", "kernel", on(Expect, lambda e: (replace(e, bytes=e.bytes - 16),))),
        {Code.BYTES},
    ),
    ("one empty arrival too many", with_ring(D, empty_arrivals=9), {Code.ARRIVALS}),
    ("one empty arrival too few", with_ring(D, empty_arrivals=7), {Code.ARRIVALS}),
    ("two full arrivals", with_ring(D, full_arrivals=2), {Code.ARRIVALS}),
    ("no full wait", edited(D, "consumer", "kernel", on(WaitFull, DROP)), {Code.RAW_SLOT}),
    ("no empty wait", edited(D, "producer", "kernel", on(WaitEmpty, DROP)), {Code.WAR_SLOT}),
    ("no release", edited(D, "consumer", "kernel", on(Arrive, DROP)), {Code.DEADLOCK}),
    ("no expect", edited(D, "producer", "kernel", on(Expect, DROP)), {Code.BYTES}),
    ("no fence", edited(D, "consumer", "prologue", on(MmaFence, DROP)), {Code.FENCE}),
    ("no commit", edited(D, "consumer", "kernel", on(Commit, DROP)), {Code.WAR_SLOT}),
    (
        "one operand is not loaded",
        edited(D, "producer", "kernel", on(Load, lambda e: () if e.part == "B" else (e,))),
        {Code.TOKEN},
    ),
    (
        "operand loaded for the next iteration",
        edited(D, "producer", "kernel", on(Load, lambda e: (replace(e, k=1),))),
        {Code.COVERAGE, Code.RAW_SLOT},
    ),
    (
        "the first product keeps the last tile's accumulator",
        edited(D, "consumer", "prologue", on(Mma, lambda e: (replace(e, accumulate=True),))),
        {Code.TOKEN},
    ),
    (
        "every product discards",
        edited(D, "consumer", "kernel", on(Mma, lambda e: (replace(e, accumulate=False),))),
        {Code.TOKEN},
    ),
    (
        "no product in the prologue",
        edited(D, "consumer", "prologue", on(Mma, DROP)),
        {Code.COVERAGE},
    ),
    ("one slot", with_ring(D, depth=1), {Code.DEADLOCK}),
    ("consumer forgets the phase", no_carry(D, "consumer"), {Code.PHASE}),
    ("producer forgets the phase", no_carry(D, "producer"), {Code.PHASE}),
    (
        "no proxy fence",
        edited(D, "consumer", "epilogue", on(ProxyFence, DROP)),
        {Code.PROXY},
    ),
    (
        "no barrier between writers and store",
        edited(D, "consumer", "epilogue", on(ScopeSync, DROP)),
        {Code.PROXY},
    ),
    (
        "staging copy refilled too early",
        edited(
            D, "consumer", "epilogue", on(BulkWait, lambda e: (replace(e, pending=e.pending + 1),))
        ),
        {Code.STAGING},
    ),
    (
        "stores not drained",
        edited(D, "consumer", "finish", on(BulkWait, DROP)),
        {Code.DRAIN},
    ),
]


@pytest.mark.parametrize(
    ("name", "mutant", "codes"), [m[:3] for m in MUTANTS], ids=[m[0] for m in MUTANTS]
)
def test_every_planted_defect_is_found(name, mutant, codes):
    report = verify_roles(mutant)
    assert not report.clean, name
    assert codes & report.codes(), f"{name}: {report}"
    assert all(f.why and f.fix for f in report.findings)


@pytest.mark.parametrize(("name", "mutant"), [m[:2] for m in MUTANTS], ids=[m[0] for m in MUTANTS])
def test_every_planted_defect_runs_wrong(name, mutant):
    runs = (*RUNS, (12, 12))
    assert any(first_fault(mutant, tiles, range(40), intended=D) for tiles in runs), name


def test_both_roles_forgetting_the_phase_is_found():
    mutant = no_carry(no_carry(D, "consumer"), "producer")
    assert Code.PHASE in verify_roles(mutant).codes()
    assert any(first_fault(mutant, tiles, range(40)) for tiles in RUNS)


def test_phases_need_no_carry_when_every_tile_has_twice_the_depth():
    mutant = no_carry(no_carry(D, "consumer"), "producer")
    assert not verify_roles(mutant, sequences=[(8, 8), (16, 8)]).findings


def test_arrival_by_one_thread_is_an_assumption_not_a_proof():
    document = edited(
        with_ring(D, empty_arrivals=2),
        "consumer",
        "kernel",
        on(Arrive, lambda e: (replace(e, scope=Scope.WARPGROUP),)),
    )
    document = edited(
        document,
        "consumer",
        "epilogue",
        on(Arrive, lambda e: (replace(e, scope=Scope.WARPGROUP),)),
    )
    report = verify_roles(document)
    assert report.clean
    assert {f.severity for f in report.findings} == {Severity.TIMING}
    assert report.codes() == {Code.SCOPE}


def test_cluster_peers_leave_when_all_slots_are_free():
    document = gemm_document(GemmKernel(cluster=(2, 1)))
    waits = [e.k for e in document.program("producer").finish]
    assert waits == list(range(document.rings[0].depth))
    mutant = edited(document, "producer", "finish", on(WaitEmpty, DROP))
    assert verify_roles(mutant).codes() == {Code.DRAIN}
    last = on(WaitEmpty, lambda e: () if e.k == waits[-1] else (e,))
    assert verify_roles(edited(document, "producer", "finish", last)).codes() == {Code.DRAIN}


def test_cluster_peers_that_meet_all_meet_before_they_leave():
    document = meeting(gemm_document(GemmKernel(cluster=(2, 1))))
    assert verify_roles(document).clean
    for role in ("producer", "consumer"):
        mutant = edited(document, role, "finish", on(ClusterSync, DROP))
        assert Code.BARRIER in verify_roles(mutant).codes()
    document = edited(document, "producer", "finish", on(ClusterSync, DROP))
    document = edited(document, "consumer", "finish", on(ClusterSync, DROP))
    assert Code.DRAIN in verify_roles(document).codes()


def test_a_local_release_of_a_multicast_slot_is_found():
    document = gemm_document(GemmKernel(cluster=(2, 1)))
    document = with_ring(document, empty_arrivals=8)
    for phase in ("kernel", "epilogue"):
        document = edited(document, "consumer", phase, on(Arrive, lambda e: (replace(e, ctas=1),)))
    report = verify_roles(document)
    assert Code.WAR_SLOT in report.codes()
    assert any(first_fault(document, tiles, range(60)) for tiles in RUNS)


def test_shared_memory_beyond_the_limit_is_found():
    assert Code.CAPACITY in verify_roles(with_ring(D, depth=5)).codes()


@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_every_pattern_of_tile_ends_occurs_in_some_run(depth, least):
    programs = tuple(replace(p, peel=least) for p in D.programs)
    document = replace(with_ring(D, depth=depth), programs=programs)
    window = depth + least + 1
    seen = set()
    for tiles in tile_sequences(document):
        ends = "".join("0" * (n - 1) + "1" for n in tiles)
        seen |= {ends[i : i + window] for i in range(len(ends) - window + 1)}
    allowed = {
        f"{i:0{window}b}"
        for i in range(1 << window)
        if all(len(gap) >= least - 1 for gap in f"{i:0{window}b}".split("1")[1:-1])
    }
    assert allowed <= seen


def test_deep_rings_are_checked_with_fewer_runs():
    document = with_ring(D, depth=20, parts=(Part(name="A", offset=0, bytes=16),))
    assert len(tile_sequences(document)) < 30
    assert len(tile_sequences(D)) < 20


def test_require_clean_raises_with_the_report():
    mutant = with_ring(D, empty_arrivals=7)
    with pytest.raises(VerificationError, match="not proven") as error:
        require_clean(mutant)
    assert error.value.report.findings


def test_hazards_name_the_authors_line_of_the_op_they_are_about():
    document = gemm_flow(D)
    mutant = edited(document, "consumer", "kernel", on(WaitFull, DROP))
    lines = {f.line for f in verify_roles(mutant).findings if f.code is Code.RAW_SLOT}
    assert lines & {"gemm.py:6", "gemm.py:7"}


def test_a_declared_flow_is_checked_and_clean():
    assert verify_roles(gemm_flow(D)).verdict == "clean"


def one_thread_reads(*, joined, scope):
    """A role of 128 threads that reads slots with ordinary loads and releases them."""
    meet = (ScopeSync(scope=Scope.WARPGROUP),) if joined else ()
    kernel = (
        WaitFull(ring="ab"),
        Compute(op="look", slots=(SlotRead(ring="ab", part="A"), SlotRead(ring="ab", part="B"))),
        *meet,
        Arrive(ring="ab", scope=scope),
    )
    reader = replace(
        D.program("consumer"),
        instances=1,
        peel=0,
        prologue=(),
        kernel=kernel,
        epilogue=(),
        finish=(),
    )
    arrivals = 4 if scope is Scope.WARP else 1
    document = with_ring(replace(D, buffers=()), empty_arrivals=arrivals)
    return replace(document, programs=(D.program("producer"), reader))


@pytest.mark.parametrize("scope", [Scope.THREAD, Scope.WARPGROUP])
def test_one_thread_may_release_what_all_have_read_only_behind_a_sync(scope):
    report = verify_roles(one_thread_reads(joined=False, scope=scope))
    assert Code.SCOPE in {f.code for f in report.races()}
    assert not verify_roles(one_thread_reads(joined=True, scope=scope)).findings
    assert not verify_roles(one_thread_reads(joined=False, scope=Scope.WARP)).findings


def test_two_halves_in_one_place_are_found():
    def halves(e):
        half = replace(e, bytes=e.bytes // 2)
        return (half, replace(half, op=half.op + "2"))

    mutant = edited(D, "producer", "kernel", on(Load, halves))
    assert Code.TOKEN in verify_roles(mutant).codes()


def test_registers_beyond_the_chip_are_found():
    program = replace(D.program("consumer"), registers=(("acc", 300),))
    document = replace(D, programs=(D.programs[0], program))
    assert Code.CAPACITY in verify_roles(document).codes()
    program = replace(program, registers=(("acc", 250),), instances=3)
    document = replace(D, programs=(D.programs[0], program))
    assert "SM has" in verify_roles(document).text()


def test_a_release_of_the_tile_before_in_the_prologue_is_found():
    """At the first tile it releases a use that never was, and the phases slip."""
    consumer = D.program("consumer")
    [release] = [e for e in consumer.epilogue if isinstance(e, Arrive)]
    moved = replace(
        consumer,
        prologue=(*consumer.prologue, release),
        epilogue=tuple(e for e in consumer.epilogue if e != release),
    )
    document = replace(D, programs=(D.programs[0], moved))
    assert Code.PHASE in verify_roles(document).codes()
    assert first_fault(document, (2, 3), range(20)) == "deadlock"
