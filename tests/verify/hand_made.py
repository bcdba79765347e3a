"""Small role documents made by hand: one who fills slots, one who adds them up."""

from __future__ import annotations

from dataclasses import replace

from warploom.ir.dataflow import Flow, FlowOp, FlowOperand, Home, When
from warploom.ir.mbarrier_dialect import (
    Arrive,
    Commit,
    Compute,
    Expect,
    Load,
    Mma,
    MmaFence,
    RoleProgram,
    RolesDocument,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import Part, RoleRing, Scope, Side, SlotRead

SLOT = SlotRead(ring="r", part="p")
OUT = Compute(op="out", reads=("z",))
MEET = ScopeSync()
ZERO = Compute(op="zero", writes=("z",))


def ring(name="r", depth=2, *, full=1, empty=4, parts=(("p", 0, 1024),), **more):
    made = tuple(Part(name=n, offset=o, bytes=b) for n, o, b in parts)
    return RoleRing(
        name=name, depth=depth, parts=made, full_arrivals=full, empty_arrivals=empty, **more
    )


def fill(k=0, *, wait=True, size=1024):
    """One use of the ring is waited for, announced and copied."""
    load = Load(op="load", ring="r", part="p", k=k, bytes=size)
    waits = [WaitEmpty(ring="r", k=k)] if wait else []
    return [*waits, Expect(ring="r", k=k, bytes=size), load]


def add(k=0):
    """One use is added up and released."""
    work = Compute(op="add", k=k, reads=("z",), writes=("z",), slots=(SLOT,))
    return [WaitFull(ring="r", k=k), work, Arrive(ring="r", k=k)]


def multiply(k=0, *, first=False):
    """One use is multiplied and released."""
    return [
        WaitFull(ring="r", k=k),
        MmaFence(),
        Mma(op="add", k=k, slots=(SLOT,), accumulator="z", accumulate=not first),
        Commit(),
        WaitGroup(pending=0),
        Arrive(ring="r", k=k),
    ]


def role(name, kernel, prologue=(), epilogue=(), **more):
    given = {"instances": 1, "threads": 1, "peel": 0, "registers": (), **more}
    return RoleProgram(
        name=name,
        prologue=tuple(prologue),
        kernel=tuple(kernel),
        epilogue=tuple(epilogue),
        **given,
    )


def producer(kernel=None, **more):
    return role("producer", fill() if kernel is None else kernel, **more)


def consumer(kernel=None, prologue=(ZERO,), epilogue=(OUT,), **more):
    given = {"threads": 128, "registers": (("z", 8),), **more}
    return role("consumer", add() if kernel is None else kernel, prologue, epilogue, **given)


def of(value, back=0, before=None):
    return FlowOperand(value=value, back=back, before=before)


FLOW = Flow(
    ops=(
        FlowOp(name="load", role="producer", results=("x",)),
        FlowOp(name="zero", role="consumer", when=When.HEAD, results=("z0",)),
        FlowOp(name="add", role="consumer", operands=(of("x"), of("s", 1, "z0")), results=("s",)),
        FlowOp(
            name="out", role="consumer", when=When.TAIL, operands=(of("s", 0, "z0"),), stores=True
        ),
    ),
    homes=(
        Home(value="x", place="r.p"),
        Home(value="z0", place="z"),
        Home(value="s", place="z"),
    ),
)
FIRST = replace(
    FLOW,
    ops=(
        FLOW.ops[0],
        replace(FLOW.ops[2], operands=(of("x"), of("s", 1))),
        replace(FLOW.ops[3], operands=(of("s"),)),
    ),
    homes=(FLOW.homes[0], FLOW.homes[2]),
)  # sums start with the first product


def document(*programs, rings=None, flow=FLOW, **more):
    made = programs or (producer(), consumer())
    return RolesDocument(
        name="made",
        target="h200",
        strategy="hand",
        rings=(ring(),) if rings is None else tuple(rings),
        programs=tuple(made),
        flow=flow,
        **more,
    )


def changed(base, name, **more):
    """The document with a program changed."""
    programs = tuple(replace(p, **more) if p.name == name else p for p in base.programs)
    return replace(base, programs=programs)


def through(*, made=(MEET,), read=(MEET,), full=Scope.WARP, depth=2, threads=128):
    """Slots of ring r, handed over and released through the barriers of ring h."""
    maker = role(
        "producer",
        [
            WaitEmpty(ring="h"),
            Compute(op="load", fills_slots=(SLOT,)),
            *made,
            Arrive(ring="h", side=Side.FULL, scope=full),
        ],
        threads=threads,
    )
    taker = consumer([WaitFull(ring="h"), add()[1], *read, Arrive(ring="h")])
    arrivals = 1 if full is not Scope.WARP else -(-threads // 32)
    rings = (ring(depth=depth), ring("h", depth, full=arrivals, parts=()))
    return document(maker, taker, rings=rings)
