"""Classes of documents that were once judged wrongly: wrong ones are found, right twins are clean.

Where a run can show it, an explorer that shares no code with the verifier agrees.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.modelcheck.held_back import first_fault
from tests.verify.hand_made import (
    FIRST,
    FLOW,
    OUT,
    SLOT,
    ZERO,
    add,
    changed,
    consumer,
    document,
    fill,
    multiply,
    of,
    producer,
    ring,
    role,
    through,
)
from warploom.document.flow import FlowOp, Home, When
from warploom.document.rings import BufferCopy, NamedBarrier, Scope, StagingBuffer
from warploom.document.roles import (
    Arrive,
    BulkCommit,
    BulkStore,
    BulkWait,
    Compute,
    NamedSync,
    ProxyFence,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.errors import DocumentError
from warploom.verify.roles import verify_roles

GROUP = ScopeSync(scope=Scope.WARPGROUP)


def deep(depth, peel, *, missing=None, flow=FIRST):
    """A producer that is ``peel`` uses ahead; one of its prologue's loads may lack its wait."""
    ahead = [e for k in range(peel) for e in fill(k, wait=k != missing)]
    first = producer(prologue=ahead, peel=peel)
    second = consumer(multiply(), multiply(0, first=True), (OUT,), peel=1, registers=(("z", 8),))
    return document(first, second, rings=[ring(depth=depth)], flow=flow)


def lagging(depth, lag, pending):
    """Slots are released ``lag`` iterations after their product was issued."""
    product = multiply()[:4]
    start = multiply(0, first=True)[:4]
    ahead = [[replace(e, k=k) if hasattr(e, "k") else e for e in product] for k in range(1, lag)]
    free = [WaitGroup(pending=pending), Arrive(ring="r", k=-lag)]
    rest = [
        x for k in range(lag, 0, -1) for x in (WaitGroup(pending=k - 1), Arrive(ring="r", k=-k))
    ]
    taker = consumer(
        [*product, *free], [*start, *(e for row in ahead for e in row)], [*rest, OUT], peel=lag
    )
    return document(producer(), taker, rings=[ring(depth=depth)], flow=FIRST)


DEEP = {
    "wrong": [
        deep(25, 13, missing=1),
        deep(13, 5, missing=4),
        deep(18, 18, missing=0),
        deep(24, 12, missing=11),
        lagging(16, 3, 4),
        lagging(20, 2, 3),
    ],
    "right": [
        deep(25, 13),
        deep(13, 5),
        deep(18, 18),
        deep(40, 1),
        lagging(16, 3, 3),
        lagging(20, 2, 2),
        lagging(24, 5, 5),
    ],
}

late = Compute(op="out", reads=("z",))
NONE = {
    "wrong": [
        changed(document(), "consumer", epilogue=(WaitFull(ring="r", k=-1), OUT)),
        changed(document(), "producer", epilogue=(WaitEmpty(ring="r", k=-3),), peel=0),
        document(
            producer(fill(), prologue=fill(0), peel=0),
            consumer(),
        ),
        changed(
            document(rings=[ring(empty=4)]),
            "consumer",
            kernel=tuple(add()[:2]),
            epilogue=(Arrive(ring="r", k=-1), OUT),
        ),
        changed(document(), "consumer", prologue=(ZERO, *add()), peel=0),
    ],
    "right": [
        document(),
        document(rings=[ring(depth=1)]),
        document(producer(), consumer(multiply())),
        lagging(2, 1, 1),
        replace(document(), least_trips=2),
        document(
            producer(fill(), prologue=fill(0), peel=1),
            consumer(),
        ),
    ],
}


def setup(who, entry, depth=2):
    return changed(document(rings=[ring(depth=depth)]), who, setup=(entry,))


SETUP = {
    "wrong": [
        setup("producer", WaitEmpty(ring="r", k=-1)),
        setup("producer", WaitEmpty(ring="r", k=-2)),
        setup("producer", WaitEmpty(ring="r", k=2)),
        setup("producer", WaitFull(ring="r", k=0)),
        setup("consumer", WaitFull(ring="r", k=-3)),
        setup("producer", WaitEmpty(ring="r", k=-3), depth=3),
        setup("consumer", WaitEmpty(ring="r", k=-1)),
        setup("consumer", WaitFull(ring="r", k=-1)),
    ],
    "right": [
        setup("producer", WaitEmpty(ring="r", k=0)),
        setup("producer", WaitEmpty(ring="r", k=1)),
        setup("producer", WaitEmpty(ring="r", k=-3)),
        setup("producer", WaitEmpty(ring="r", k=-4)),
        setup("producer", WaitFull(ring="r", k=-2)),
    ],
}


def partial(threads, arrivals, **more):
    made = document(rings=[ring(empty=arrivals)])
    return changed(made, "consumer", threads=threads, **more)


def joined(threads, barrier):
    """Both meet at a named barrier in every iteration, in place of releases."""
    join = NamedSync(barrier="b")
    return document(
        producer([*fill(wait=False), join]),
        consumer([*add()[:2], join], threads=threads),
        rings=[ring(depth=1, empty=1)],
        barriers=(NamedBarrier(name="b", id=1, threads=barrier),),
    )


WARPS = {
    "wrong": [
        partial(48, 1),
        partial(33, 1),
        partial(100, 3),
        partial(48, 3),
        through(threads=40, made=()),
        joined(48, 64),
    ],
    "right": [partial(48, 2), partial(33, 2), partial(100, 4), partial(5, 1), joined(48, 96)],
}


def strided(stride, depth=2, work=add, size=1024, offset=0):
    parts = (("p", offset, size),)
    flow = FLOW
    return document(
        producer(fill(size=size)),
        consumer(work()),
        rings=[ring(depth=depth, parts=parts, stride=stride)],
        flow=flow,
    )


STRIDES = {
    "wrong": [
        strided(1040),
        strided(1088, depth=3),
        strided(1025),
        strided(0, size=1040),
        strided(1152, work=multiply),
        strided(1536, work=multiply, size=1280),
        strided(1000),
        strided(2048, offset=16),
    ],
    "right": [
        strided(1152),
        strided(1280, depth=3),
        strided(2048, work=multiply),
        strided(0),
        strided(1040, depth=1),
        strided(1152, size=1040),
    ],
}


def named(array, reads, *, slots=(), where="z"):
    """A register array of any name, and what is added up in place of the slot."""
    work = Compute(op="add", reads=reads, writes=("z",), slots=slots)
    flow = replace(
        FLOW,
        ops=(FLOW.ops[0], replace(FLOW.ops[1], results=("z0", "junk")), *FLOW.ops[2:]),
        homes=(*FLOW.homes, Home(value="junk", place=array)),
    )
    return document(
        producer(),
        consumer(
            [WaitFull(ring="r"), work, Arrive(ring="r")],
            (Compute(op="zero", writes=("z", array)),),
            registers=(("z", 8), (array, 8)),
        ),
        flow=flow,
    )


def renamed(name):
    """Sums in an array that is called like something else."""
    put = {"reads": (name,), "writes": (name,)}
    flow = replace(
        FLOW,
        homes=(FLOW.homes[0], Home(value="z0", place=name), Home(value="s", place=name)),
    )
    return document(
        producer(),
        consumer(
            [WaitFull(ring="r"), Compute(op="add", slots=(SLOT,), **put), Arrive(ring="r")],
            (Compute(op="zero", writes=(name,)),),
            (Compute(op="out", reads=(name,)),),
            registers=((name, 8),),
        ),
        flow=flow,
    )


NAMES = {
    "wrong": [
        named("r.p", ("r.p", "z")),
        named("r.q", ("r.q", "z")),
        named("x", ("x", "z")),
        named("r.p", ("r.p", "z"), slots=(SLOT,)),
    ],
    "right": [
        named("r.p", ("z",), slots=(SLOT,)),
        named("r#0", ("z",), slots=(SLOT,)),
        renamed("r.p"),
        renamed("c#0"),
        renamed("full"),
    ],
}

ACROSS = {
    "wrong": [
        through(made=()),
        through(made=(ProxyFence(),)),
        through(read=()),
        through(full=Scope.THREAD),
        through(full=Scope.WARPGROUP),
        through(depth=1, made=(), threads=32),
        through(made=(), read=(), depth=3),
    ],
    "right": [
        through(),
        through(depth=1),
        through(depth=14),
        through(full=Scope.THREAD, made=(GROUP,)),
        through(full=Scope.WARPGROUP, made=(GROUP,)),
        through(threads=32),
        through(read=(GROUP,)),
    ],
}

COPY = BufferCopy(buffer="c", copy=0)


def staged(first, second, meet, *, waits=True):
    """A staging copy that is stored twice, under two scopes, and then written again."""
    flow = replace(
        FLOW,
        ops=(
            *FLOW.ops[:3],
            FlowOp(
                name="put",
                role="consumer",
                when=When.TAIL,
                operands=(of("s", 0, "z0"),),
                results=("c",),
            ),
            *(
                FlowOp(name=n, role="consumer", when=When.TAIL, operands=(of("c"),), stores=True)
                for n in ("one", "two")
            ),
        ),
        homes=(*FLOW.homes, Home(value="c", place="c#0")),
    )
    tail = [
        *([BulkWait(pending=0)] if waits else []),
        *meet,
        Compute(op="put", reads=("z",), fills=(COPY,)),
        ProxyFence(),
        GROUP,
        BulkStore(op="one", source=COPY, scope=first),
        BulkStore(op="two", source=COPY, scope=second),
        BulkCommit(),
    ]
    return document(
        producer(),
        consumer(epilogue=tail, finish=(BulkWait(pending=0, source_read=False),)),
        flow=flow,
        buffers=(StagingBuffer(name="c", role="consumer", copies=1, bytes=1024),),
    )


WARP, ALL = Scope.WARP, Scope.WARPGROUP
STAGED = {
    "wrong": [
        staged(ALL, WARP, (ScopeSync(),)),
        staged(WARP, ALL, (ScopeSync(),)),
        staged(ALL, ALL, ()),
        staged(WARP, WARP, ()),
        staged(ALL, WARP, (GROUP,), waits=False),
    ],
    "right": [
        staged(ALL, WARP, (GROUP,)),
        staged(WARP, ALL, (GROUP,)),
        staged(ALL, ALL, (GROUP,)),
        staged(WARP, WARP, (ScopeSync(),)),
        staged(Scope.THREAD, WARP, (GROUP,)),
    ],
}


def meeting(made, read, depth=1, *, prologue=()):
    """Both meet at a named barrier; the slots have no release of their own."""
    return document(
        producer([*fill(wait=False), *made], prologue=prologue),
        consumer([*add()[:2], *read]),
        rings=[ring(depth=depth, empty=1)],
        barriers=(NamedBarrier(name="b", id=1, threads=160),),
    )


JOIN = NamedSync(barrier="b")
filled = [e for e in through().program("producer").kernel if not isinstance(e, WaitEmpty | Arrive)]


def handed(sync_after_fill, sync_after_read):
    """Slots written by ordinary instructions, handed over and released at a named barrier."""
    write = [Compute(op="load", fills_slots=(SLOT,))]
    return document(
        role(
            "producer", [*write, *[JOIN] * sync_after_fill, *[JOIN] * sync_after_read], threads=32
        ),
        consumer([*[JOIN] * sync_after_fill, add()[1], *[JOIN] * sync_after_read]),
        rings=[ring(depth=1, empty=1)],
        barriers=(NamedBarrier(name="b", id=1, threads=160),),
    )


JOINED = {
    "wrong": [
        meeting((), ()),
        meeting((JOIN,), ()),
        meeting((), (JOIN,)),
        handed(1, 0),
        handed(0, 1),
        document(
            producer([JOIN, *fill(wait=False)]),
            consumer([*add()[:1], JOIN, *add()[1:2]]),
            rings=[ring(depth=1, empty=1)],
            barriers=(NamedBarrier(name="b", id=1, threads=160),),
        ),
    ],
    "right": [
        meeting((JOIN,), (JOIN,)),
        meeting((JOIN,), (JOIN,), depth=2),
        meeting((JOIN,), (JOIN,), depth=15),
        handed(1, 1),
        meeting((JOIN, JOIN), (JOIN, JOIN), depth=14),
    ],
}

CLASSES = {
    "deep rings": DEEP,
    "tiles of no iterations": NONE,
    "waits in setup": SETUP,
    "parts of warps": WARPS,
    "strides of slots": STRIDES,
    "names that read alike": NAMES,
    "another ring's barrier": ACROSS,
    "staging under two scopes": STAGED,
    "joined by a named barrier": JOINED,
}
WRONG = [(name, i) for name, group in CLASSES.items() for i in range(len(group["wrong"]))]
RIGHT = [(name, i) for name, group in CLASSES.items() for i in range(len(group["right"]))]


def verdict(made):
    try:
        return verify_roles(made).verdict
    except DocumentError:
        return "malformed"


@pytest.mark.parametrize(("name", "i"), WRONG)
def test_the_wrong_one_is_found(name, i):
    assert verdict(CLASSES[name]["wrong"][i]) in ("race", "malformed")


@pytest.mark.parametrize(("name", "i"), RIGHT)
def test_its_right_twin_is_clean(name, i):
    made = CLASSES[name]["right"][i]
    report = verify_roles(made)
    assert report.verdict == "clean", report.text()
    assert report.trips_proven in ("all", f">= {made.minimum_trips}")
    depth, least = max(r.depth for r in made.rings), made.minimum_trips
    for tiles in ((least,) * 3, (least + 1, least, least + 2), (least + depth + 1, least)):
        assert first_fault(made, made, tiles, most=60) is None
