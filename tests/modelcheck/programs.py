"""Random small role programs that are right, with their declared dataflow; and random edits."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.modelcheck.edits import ALTERNATING
from tests.modelcheck.families import (
    WRITE,
    attention,
    document,
    fill,
    gemm,
    load_ops,
    met,
    of,
    ring,
)
from warploom.ir.dataflow import Flow, FlowOp, Home, When
from warploom.ir.mbarrier_dialect import (
    Arrive,
    Commit,
    Compute,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    ProxyFence,
    RoleProgram,
    RolesDocument,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import NamedBarrier, Scope, Side, SlotRead


def handed(rng):
    """A role computes what another multiplies: slots written by ordinary instructions."""
    depth = rng.choice((1, 2))
    slot = SlotRead(ring="h", part="H")
    threads = rng.choice((32, 128))
    wide = threads > 32 and rng.random() < 0.3
    scope = rng.choice((Scope.THREAD, Scope.WARPGROUP)) if wide else Scope.WARP
    sync = ScopeSync(scope=Scope.WARPGROUP if wide else Scope.WARP)
    maker = RoleProgram(
        name="producer",
        instances=1,
        threads=threads,
        peel=0,
        prologue=(),
        kernel=(
            WaitEmpty(ring="h"),
            Compute(op="make", fills_slots=(slot,)),
            ProxyFence(),
            sync,
            Arrive(ring="h", side=Side.FULL, scope=scope),
        ),
        epilogue=(),
    )

    def product(first):
        return (
            WaitFull(ring="h"),
            MmaFence(),
            Mma(op="mma", slots=(slot,), accumulator="acc", accumulate=not first),
            Commit(),
            WaitGroup(pending=0),
            Arrive(ring="h"),
        )

    taker = RoleProgram(
        name="consumer",
        instances=1,
        threads=128,
        peel=1,
        prologue=product(True),
        kernel=product(False),
        epilogue=(Compute(op="write", reads=("acc",)),),
        registers=(("acc", 8),),
    )
    flow = Flow(
        ops=(
            FlowOp(name="make", role="producer", results=("h",)),
            FlowOp(name="mma", role="consumer", operands=(of("h"), of("sum", 1)), results=("sum",)),
            WRITE,
        ),
        homes=(Home(value="h", place="h.H"), Home(value="sum", place="acc")),
    )
    return RolesDocument(
        name="random",
        target="h200",
        strategy="random",
        rings=(ring("h", depth, "H", 4, full=1 if wide else threads // 32),),
        programs=(maker, taker),
        flow=flow,
    )


def own(rng):
    """A role that multiplies what it wrote to slots itself, its warps apart."""
    depth = rng.choice((1, 1, 2))
    instances = rng.choice((1, 1, 2))
    late = depth > 1 and rng.random() < 0.5  # the product of the iteration before
    slot = SlotRead(ring="h", part="H")
    wide = rng.random() < 0.3
    scope = rng.choice((Scope.THREAD, Scope.WARPGROUP)) if wide else Scope.WARP
    write = [
        WaitEmpty(ring="h"),
        *([ScopeSync(scope=Scope.WARPGROUP)] if wide else []),
        Compute(op="make", fills_slots=(slot,)),
        ProxyFence(),
        ScopeSync(scope=Scope.WARPGROUP if wide else Scope.WARP),
        Arrive(ring="h", side=Side.FULL, scope=scope),
    ]

    def product(k, first):
        return [
            WaitFull(ring="h", k=k),
            MmaFence(),
            Mma(op="mma", k=k, slots=(slot,), accumulator="acc", accumulate=not first),
            Commit(),
            WaitGroup(pending=0),
            Arrive(ring="h", k=k),
        ]

    start = [Compute(op="start", writes=("acc",))]
    taker = RoleProgram(
        name="consumer",
        instances=instances,
        threads=128,
        peel=1,
        prologue=tuple(start + write + ([] if late else product(0, False))),
        kernel=tuple(write + product(-1 if late else 0, False)),
        epilogue=(*(product(-1, False) if late else ()), Compute(op="write", reads=("acc",))),
        registers=(("acc", 8),),
    )
    flow = Flow(
        ops=(
            FlowOp(name="start", role="consumer", when=When.HEAD, results=("sum0",)),
            FlowOp(name="make", role="consumer", results=("h",)),
            FlowOp(
                name="mma",
                role="consumer",
                operands=(of("h"), of("sum", 1, "sum0")),
                results=("sum",),
            ),
            WRITE,
        ),
        homes=(
            Home(value="h", place="h.H"),
            Home(value="sum", place="acc"),
            Home(value="sum0", place="acc"),
        ),
    )
    full = instances * (1 if wide else 4)
    return RolesDocument(
        name="random",
        target="h200",
        strategy="random",
        rings=(ring("h", depth, "H", 4 * instances, full=full),),
        programs=(taker,),
        flow=flow,
    )


def alternating(rng):
    """Instances that take whole tiles in turn: from the first wait of a tile to the last one, and
    to the last product.
    """
    while True:
        base = rng.choice((gemm, gemm, attention, own))(rng)
        role = base.program("consumer")
        if role.instances == 1 and not base.barriers:
            break
    n = rng.choice((2, 2, 2, 3))
    held = (WaitFull, WaitEmpty, Mma, Commit)
    last = max((i + 1 for i, e in enumerate(role.epilogue) if isinstance(e, held)), default=0)
    role = replace(
        role,
        instances=n,
        alternates=True,
        setup=(NamedArrive(barrier="turn", turn=1, instance=n - 1), *role.setup),
        prologue=(NamedSync(barrier="turn"), *role.prologue),
        epilogue=(
            *role.epilogue[:last],
            NamedArrive(barrier="turn", turn=1),
            *role.epilogue[last:],
        ),
    )
    programs = tuple(role if p.name == role.name else p for p in base.programs)
    turn = NamedBarrier(name="turn", id=1, threads=256, count=n)
    return replace(base, programs=programs, barriers=(turn,))


def none(rng):
    """Tiles may have no iterations: sums start before the loop, and nothing is peeled."""
    depth, instances = rng.choice((1, 2, 3)), rng.choice((1, 1, 2))
    parts = rng.choice(("A", "AB"))
    slots = tuple(SlotRead(ring="ab", part=p) for p in parts)
    products = rng.random() < 0.6
    if products:
        work = [
            WaitFull(ring="ab"),
            MmaFence(),
            Mma(op="add", slots=slots, accumulator="acc"),
            Commit(),
            WaitGroup(pending=0),
            Arrive(ring="ab"),
        ]
    else:
        add = Compute(op="add", reads=("acc",), writes=("acc",), slots=slots)
        work = [WaitFull(ring="ab"), add, Arrive(ring="ab")]
    loads, homes = load_ops("ab", parts)
    operands = (*(of(f"ab{p}") for p in parts), of("sum", 1, "sum0"))
    ops = [
        *loads,
        FlowOp(name="start", role="consumer", when=When.HEAD, results=("sum0",)),
        FlowOp(name="add", role="consumer", operands=operands, results=("sum",)),
        replace(WRITE, operands=(of("sum", 0, "sum0"),)),
    ]
    homes += [Home(value="sum", place="acc"), Home(value="sum0", place="acc")]
    made = document(
        rings=(ring("ab", depth, parts, 4 * instances),),
        producer=([], fill("ab", parts), []),
        consumer=(
            [Compute(op="start", writes=("acc",))],
            work,
            [Compute(op="write", reads=("acc",))],
        ),
        instances=instances,
        registers=(("acc", 8),),
        flow=Flow(ops=tuple(ops), homes=tuple(homes)),
    )
    return replace(made, programs=tuple(replace(p, peel=0) for p in made.programs))


def through(rng):
    """Slots of one ring, handed over and released through the barriers of another."""
    depth, threads = rng.choice((1, 2, 3)), rng.choice((32, 128))
    readers = rng.choice((32, 128))
    wide = threads > 32 and rng.random() < 0.3
    full, slot = (Scope.THREAD if wide else Scope.WARP), SlotRead(ring="w", part="W")
    meet = ScopeSync(scope=Scope.WARPGROUP if wide else Scope.WARP)
    maker = RoleProgram(
        name="producer",
        instances=1,
        threads=threads,
        peel=0,
        prologue=(),
        kernel=(
            WaitEmpty(ring="h"),
            *([meet] if wide else []),
            Compute(op="make", fills_slots=(slot,)),
            meet,
            Arrive(ring="h", side=Side.FULL, scope=full),
        ),
        epilogue=(),
    )
    taker = RoleProgram(
        name="consumer",
        instances=1,
        threads=readers,
        peel=0,
        prologue=(Compute(op="start", writes=("z",)),),
        kernel=(
            WaitFull(ring="h"),
            Compute(op="add", reads=("z",), writes=("z",), slots=(slot,)),
            ScopeSync(scope=Scope.WARP),
            Arrive(ring="h"),
        ),
        epilogue=(Compute(op="write", reads=("z",)),),
        registers=(("z", 8),),
    )
    flow = Flow(
        ops=(
            FlowOp(name="make", role="producer", results=("x",)),
            FlowOp(name="start", role="consumer", when=When.HEAD, results=("sum0",)),
            FlowOp(
                name="add",
                role="consumer",
                operands=(of("x"), of("sum", 1, "sum0")),
                results=("sum",),
            ),
            replace(WRITE, operands=(of("sum", 0, "sum0"),)),
        ),
        homes=(
            Home(value="x", place="w.W"),
            Home(value="sum", place="z"),
            Home(value="sum0", place="z"),
        ),
    )
    return RolesDocument(
        name="random",
        target="h200",
        strategy="random",
        rings=(
            ring("w", depth, "W", 1, full=1),
            ring("h", depth, "", readers // 32, full=1 if wide else threads // 32),
        ),
        programs=(maker, taker),
        flow=flow,
    )


FAMILIES = (gemm, gemm, attention, attention, met, handed, own)
MIXED = 4_000_000  # seeds from here on draw from all families


def many_threads(rng, document):
    """The loads by one thread of a warp, or of a warpgroup that meets after every wait."""
    producer = document.programs[0]
    threads = rng.choice((32, 128))
    if producer.threads > 1 or document.barriers:
        return document

    def meet(entries):
        out = []
        for e in entries:
            joined = isinstance(e, WaitEmpty) and threads > 32
            out += [e, ScopeSync(scope=Scope.WARPGROUP)] if joined else [e]
        return tuple(out)

    kernel, prologue = meet(producer.kernel), meet(producer.prologue)
    producer = replace(producer, threads=threads, prologue=prologue, kernel=kernel)
    return replace(document, programs=(producer, *document.programs[1:]))


def random_program(seed):
    """A program that is right."""
    rng = random.Random(seed)
    if seed >= MIXED:
        family = rng.choice((*FAMILIES, alternating, alternating, none, none, through))
    else:
        family = alternating if seed >= ALTERNATING else rng.choice(FAMILIES)
    made = family(rng)
    return many_threads(rng, made) if rng.random() < 0.15 else made
