"""Beyond the GEMM: several rings, slots used once a tile, registers as operands, order barriers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warploom.ir.mbarrier_dialect import (
    Arrive,
    Compute,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    RoleProgram,
    RolesDocument,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import NamedBarrier, Part, Per, SlotRead
from warploom.modulo import (
    Limit,
    LimitKind,
    ModuloEdge,
    ModuloOp,
    ModuloProblem,
    ModuloResult,
    Read,
    Ring,
    RingKind,
    Role,
)
from warploom.sync.mbarrier import Copy, Plan, Product, RingPlan, RolePlan, Work, derive_roles
from warploom.verify.roles import Code, verify_roles

TILE = 16 * 1024
NAMES = ("load_k", "load_v", "qk", "softmax", "pv")


def problem():
    """Attention in five ops: scores, softmax and values, with K, V, S and P as rings."""
    roles = ("producer", "producer", "consumer", "consumer", "consumer")
    units = ("copy", "copy", "tensor", "alu", "tensor")
    holds = (300, 300, 512, 700, 512)
    ops = tuple(
        ModuloOp(name=n, unit=u, occupancy=h, role=r, issue=16)
        for n, u, h, r in zip(NAMES, units, holds, roles, strict=True)
    )
    edges = (
        ModuloEdge(src=0, dst=2, latency=600),
        ModuloEdge(src=1, dst=4, latency=600),
        ModuloEdge(src=2, dst=3, latency=574),
        ModuloEdge(src=3, dst=4, latency=700),
    )
    rings = tuple(
        Ring(
            name=name,
            kind=RingKind.SMEM,
            size=TILE,
            writers=(writer,),
            readers=((Read(op=reader, hold=574),),),
        )
        for name, writer, reader in (("k", 0, 2), ("v", 1, 4))
    )
    return ModuloProblem(
        name="attention",
        ops=ops,
        edges=edges,
        rings=rings,
        roles=(Role(name="producer"), Role(name="consumer")),
    )


def result(times, ii=1300):
    return ModuloResult(
        problem=problem(),
        ii=ii,
        lower_bound=ii,
        proven=False,
        times=times,
        depths=(2, 2),
        roles=tuple(op.role for op in problem().ops),
        limit=Limit(kind=LimitKind.UNIT, text="given"),
        res_mii=ii,
        rec_mii=1,
        rec_mii_at_depths=1,
    )


def plan(consumers=2):
    part = lambda name: (Part(name=name, offset=0, bytes=TILE),)  # noqa: E731
    copy = lambda name: (Copy(ring=name.lower(), part=name, bytes=TILE),)  # noqa: E731
    read = lambda name: SlotRead(ring=name.lower(), part=name)  # noqa: E731
    return Plan(
        name="attention",
        target="h200",
        actions={
            "load_k": copy("K"),
            "load_v": copy("V"),
            "qk": Product(slots=(read("Q"), read("K")), accumulator="s", fresh=True),
            "softmax": Work(reads=("s", "o"), writes=("p", "o")),
            "pv": Product(slots=(read("V"),), accumulator="o", registers=("p",)),
        },
        rings=(
            RingPlan(name="q", parts=part("Q"), per=Per.TILE, depth=1),
            RingPlan(name="k", parts=part("K")),
            RingPlan(name="v", parts=part("V")),
        ),
        roles=(
            RolePlan(name="producer", instances=1, threads=1, head=(("load_q", copy("Q")),)),
            RolePlan(
                name="consumer",
                instances=consumers,
                threads=128,
                registers=(("s", 64), ("p", 32), ("o", 64)),
                head=(("clear", Work(writes=("o",))),),
                tail=(("write", Work(reads=("o",))),),
            ),
        ),
    )


IN_ORDER = (0, 600, 756, 1330, 2030)
OVERLAPPED = (0, 1300, 756, 1400, 2800)  # pv of an iteration after qk of the next


@pytest.mark.parametrize("times", [IN_ORDER, OVERLAPPED], ids=["in order", "overlapped"])
def test_derived_attention_is_clean(times):
    document = derive_roles(result(times), plan())
    report = verify_roles(document)
    assert report.verdict == "not judged", str(report)  # its dataflow is not declared
    assert not report.findings


def test_the_overlap_leaves_products_in_flight():
    consumer = derive_roles(result(OVERLAPPED), plan()).program("consumer")
    ops = [e.op for e in consumer.kernel if isinstance(e, Mma | Compute)]
    assert set(ops) == {"qk", "softmax", "pv"}
    assert consumer.peel >= 1
    lags = {e.op: -e.k for e in consumer.kernel if isinstance(e, Mma | Compute)}
    assert lags["qk"] < lags["pv"], "the scores run ahead of the values"


def test_the_query_is_waited_for_once_a_tile_and_released_at_its_end():
    consumer = derive_roles(result(IN_ORDER), plan()).program("consumer")
    waits = [e.ring for e in consumer.prologue if isinstance(e, WaitFull)]
    assert waits.count("q") == 1
    assert "q" not in [e.ring for e in consumer.kernel if isinstance(e, WaitFull)]
    assert "q" in [e.ring for e in consumer.epilogue if isinstance(e, Arrive)]
    document = derive_roles(result(IN_ORDER), plan())
    assert document.ring("q").empty_arrivals == 8


def without(document, kind, phase="kernel", role="consumer"):
    program = document.program(role)
    kept = tuple(e for e in getattr(program, phase) if not isinstance(e, kind))
    new = replace(program, **{phase: kept})
    return replace(
        document, programs=tuple(new if p.name == role else p for p in document.programs)
    )


def test_registers_touched_in_flight_are_found():
    document = derive_roles(result(IN_ORDER), plan())
    codes = verify_roles(without(document, WaitGroup)).codes()
    assert Code.RAW_REG in codes
    assert verify_roles(without(document, MmaFence)).codes() & {Code.FENCE}


def test_releasing_the_query_early_is_found():
    document = derive_roles(result(IN_ORDER), plan())
    consumer = document.program("consumer")
    early = next(e for e in consumer.epilogue if isinstance(e, Arrive) and e.ring == "q")
    rest = tuple(e for e in consumer.epilogue if e is not early)
    new = replace(consumer, prologue=(*consumer.prologue, early), epilogue=rest)
    programs = (document.program("producer"), new)
    assert Code.WAR_SLOT in verify_roles(replace(document, programs=programs)).codes()


def ping_pong(*, setup=True, arrive_turn=1):
    """Two consumers that take turns: each waits for its own barrier and wakes the other."""
    first = (NamedArrive(barrier="turn", turn=1, instance=1),) if setup else ()
    program = RoleProgram(
        name="consumer",
        instances=2,
        threads=128,
        peel=0,
        setup=first,
        prologue=(),
        kernel=(
            NamedSync(barrier="turn"),
            Compute(op="work"),
            NamedArrive(barrier="turn", turn=arrive_turn),
        ),
        epilogue=(),
    )
    return RolesDocument(
        name="turns",
        target="h200",
        strategy="given",
        rings=(),
        programs=(program,),
        barriers=(NamedBarrier(name="turn", id=2, threads=256, count=2),),
    )


def test_turns_are_clean_though_the_last_arrival_wakes_nobody():
    report = verify_roles(ping_pong())
    assert not report.findings, str(report)


def test_turns_without_a_first_arrival_deadlock():
    assert verify_roles(ping_pong(setup=False)).codes() & {Code.DEADLOCK, Code.BARRIER}


def test_waking_oneself_is_found():
    assert not verify_roles(ping_pong(arrive_turn=0)).clean
