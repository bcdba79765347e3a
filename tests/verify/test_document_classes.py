"""Classes of documents that were once judged wrongly: wrong ones are found, right twins are clean.

Where a run can show it, an explorer that shares no code with the verifier agrees.
"""

from __future__ import annotations

import re
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
from warploom.errors import DocumentError, VerificationError
from warploom.ir.dataflow import FlowOp, Home, When
from warploom.ir.mbarrier_dialect import (
    Arrive,
    BulkCommit,
    BulkStore,
    BulkWait,
    Compute,
    NamedArrive,
    NamedSync,
    ProxyFence,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import BufferCopy, NamedBarrier, Scope, StagingBuffer
from warploom.verify.findings import FLOW_DECLARED
from warploom.verify.roles import verify_roles
from warploom.verify.roles.composition import check_loops, require_composed

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
        setup("producer", WaitEmpty(ring="r", k=-1), depth=14),
        setup("producer", WaitEmpty(ring="r", k=14), depth=14),
    ],
    "right": [
        setup("producer", WaitEmpty(ring="r", k=0)),
        setup("producer", WaitEmpty(ring="r", k=1)),
        setup("producer", WaitEmpty(ring="r", k=-3)),
        setup("producer", WaitEmpty(ring="r", k=-4)),
        setup("producer", WaitFull(ring="r", k=-2)),
        setup("producer", WaitEmpty(ring="r", k=3), depth=14),
        setup("producer", WaitEmpty(ring="r", k=-28), depth=14),
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


def declared(work, operands):
    """A program and its declaration, edited in step: nothing says what the author wanted."""
    ops = (*FLOW.ops[:2], replace(FLOW.ops[2], operands=operands), FLOW.ops[3])
    return document(
        producer(),
        consumer([WaitFull(ring="r"), work, Arrive(ring="r")]),
        flow=replace(FLOW, ops=ops),
    )


FLOWS = [
    declared(Compute(op="add", writes=("z",), slots=(SLOT,)), (of("x"),)),  # the last one alone
    declared(Compute(op="add", reads=("z",), writes=("z",)), (of("s", 1, "z0"),)),  # x is not added
    document(
        producer(),
        consumer(epilogue=(Compute(op="out"),)),
        flow=replace(FLOW, ops=(*FLOW.ops[:3], replace(FLOW.ops[3], operands=()))),
    ),  # something else is stored
]


@pytest.mark.parametrize("made", [document(), *FLOWS])
def test_a_flow_that_was_declared_is_an_assumption(made):
    assert verify_roles(made).assumes == (FLOW_DECLARED,)


@pytest.mark.parametrize("made", FLOWS)
def test_the_same_programs_with_the_author_s_flow_are_wrong(made):
    assert verify_roles(replace(made, flow=FLOW)).verdict == "race"


HUGE = 10**9
LARGE = [
    changed(document(), "producer", peel=HUGE),
    changed(document(), "consumer", peel=4097, prologue=(), kernel=(), epilogue=()),
    replace(document(), least_trips=HUGE),
    document(rings=[ring(depth=HUGE)]),
    document(rings=[ring(), ring("idle", HUGE, parts=())]),
    document(rings=[ring(parts=(("p", 0, 1024), ("q", HUGE, 16)))]),
    changed(document(), "consumer", registers=(("z", HUGE),)),
    changed(document(), "producer", instances=HUGE),
    changed(document(), "consumer", kernel=tuple(add()) * 400, prologue=(ZERO, *add()) * 300),
]


@pytest.mark.parametrize("made", LARGE)
def test_what_is_too_large_is_refused_or_wrong_at_once(made):
    assert verdict(made) in ("malformed", "race")


@pytest.mark.parametrize("peel", [2, 9, 24])
def test_a_long_prologue_is_checked(peel):
    assert verify_roles(deep(peel, peel)).verdict == "clean"


def loop(name, letter, kernel=None, **more):
    """A loop of a tile with a ring of its own."""
    base = document(producer(), consumer(multiply() if kernel is None else kernel), **more)

    def own(e):
        e = replace(e, ring=letter) if hasattr(e, "ring") else e
        return replace(e, slots=(replace(SLOT, ring=letter),)) if getattr(e, "slots", ()) else e

    programs = tuple(replace(p, kernel=tuple(map(own, p.kernel))) for p in base.programs)
    homes = (Home(value="x", place=f"{letter}.p"), *FLOW.homes[1:])
    rings = tuple(replace(r, name=letter) for r in base.rings)
    flow = replace(FLOW, homes=homes)
    return replace(base, name=name, programs=programs, rings=rings, flow=flow)


def at_barrier(name, letter, number):
    made = loop(name, letter)
    barrier = NamedBarrier(name=f"b{number}", id=number, threads=160)
    programs = tuple(
        replace(p, kernel=(*p.kernel, NamedSync(barrier=barrier.name))) for p in made.programs
    )
    return replace(made, programs=programs, barriers=(barrier,))


def unfinished(name, letter):
    """Its last group is waited for at the start of its next tile."""
    made = loop(name, letter)
    kernel = made.program("consumer").kernel
    return changed(made, "consumer", kernel=(*kernel[:4], *kernel[5:]))


TOGETHER = {
    "wrong": [
        (loop("one", "r"), loop("two", "r")),
        (loop("one", "r"), unfinished("two", "t")),
        (unfinished("one", "r"), loop("two", "t")),
        (at_barrier("one", "r", 1), at_barrier("two", "t", 1)),
        (loop("one", "r"), changed(loop("two", "t"), "consumer", threads=256)),
        (loop("one", "r"), changed(loop("two", "t"), "consumer", instances=2)),
        (
            loop("one", "r", rings=[ring(depth=120)]),
            loop("two", "t", rings=[ring(depth=110)]),
        ),
        (loop("one", "r"), changed(loop("two", "t"), "producer", carries_phase=False)),
    ],
    "right": [
        (loop("one", "r"), loop("two", "t")),
        (loop("one", "r"), loop("two", "t"), loop("three", "u")),
        (at_barrier("one", "r", 1), at_barrier("two", "t", 2)),
        (unfinished("one", "r"), loop("two", "t", add())),
        (loop("one", "r"),),
    ],
}


@pytest.mark.parametrize("loops", TOGETHER["wrong"])
def test_loops_that_share_what_they_must_not_are_refused(loops):
    found = list(check_loops(loops))
    assert found
    assert all(f.why and f.fix for f in found)
    with pytest.raises(VerificationError, match="not proven together"):
        require_composed(loops)


@pytest.mark.parametrize("loops", TOGETHER["right"])
def test_loops_that_share_nothing_are_proven_together(loops):
    assert list(check_loops(loops)) == []


def test_a_report_names_the_runs_it_rests_on_where_they_do_not_decide():
    wide = setup("consumer", WaitEmpty(ring="r", k=0), depth=14)
    report = verify_roles(wide)
    assert report.verdict == "not judged"
    assert re.fullmatch(r"\d+ tile sequences \(0-0, .*, \.\.\)", report.trips_proven)
    given = verify_roles(wide, sequences=[(1, 2), (3,)])
    assert given.trips_proven == "2 tile sequences (1-2, 3)"
    assert verify_roles(document()).trips_proven == "all"
    assert verify_roles(replace(document(), least_trips=1)).trips_proven == ">= 1"


def in_turn(depth, *, whole):
    """Two instances share every tile and take turns: for a whole tile, or for each iteration."""
    take, give = NamedSync(barrier="turn"), NamedArrive(barrier="turn", turn=1)
    around = ((take, ZERO), tuple(multiply()), (give, OUT)) if whole else (
        (ZERO,), (take, *multiply(), give), (OUT,)
    )  # fmt: skip
    prologue, kernel, epilogue = around
    role = consumer(
        kernel,
        prologue,
        epilogue,
        instances=2,
        setup=(replace(give, instance=1),),
        finish=(replace(take, instance=0),),
    )
    return document(
        producer(),
        role,
        rings=[ring(depth=depth, empty=8)],
        barriers=(NamedBarrier(name="turn", id=1, threads=256, count=2),),
    )


@pytest.mark.parametrize("depth", [2, 5, 14, 30])
def test_turns_of_whole_tiles_that_share_slots_deadlock(depth):
    report = verify_roles(in_turn(depth, whole=True))
    assert report.verdict == "race"
    assert "DEADLOCK" in {f.code.value for f in report.findings}
    assert first_fault(in_turn(depth, whole=True), in_turn(depth, whole=True), (depth + 1,))


@pytest.mark.parametrize("depth", [2, 5, 14, 30])
def test_turns_in_each_iteration_do_not(depth):
    made = in_turn(depth, whole=False)
    assert verify_roles(made).verdict == "clean"
    assert first_fault(made, made, (depth + 1, 2), most=40) is None
