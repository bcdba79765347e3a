"""Documents by hand, wrong ones with right twins: clusters, chains of roles, other rings' laps,
names, named barriers, prologues, rings used once a tile.

Where a right twin is called clean, runs with one step held back agree.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.modelcheck.held_back import first_fault
from tests.verify.hand_made import (
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
)
from tests.verify.test_document_classes import GROUP, JOIN, lagging
from warploom.errors import DocumentError
from warploom.ir.dataflow import Flow, FlowOp, Home, When
from warploom.ir.format1 import read_schedule, write_schedule
from warploom.ir.mbarrier_dialect import (
    Arrive,
    ClusterSync,
    Commit,
    Compute,
    Expect,
    Load,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    ProxyFence,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import NamedBarrier, Per, Scope, Side, SlotRead
from warploom.verify.report import verify_file
from warploom.verify.roles import verify_roles
from warploom.verify.roles.graph import build_order

WRONG, RIGHT = {}, {}


def wrong(name, made):
    WRONG[name] = made


def right(name, made):
    RIGHT[name] = made


# --- cluster/multicast
def cluster(
    size,
    share,
    *,
    c=2,
    empty=None,
    ctas=None,
    finish=True,
    depth=2,
    expect=None,
    mult=None,
    work=add,
    fin=None,
):
    mult = c if mult is None else mult
    part = (("p", 0, share * mult),)
    load = Load(op="load", ring="r", part="p", bytes=share, multicast=mult)
    ctas = c if ctas is None else ctas
    k = work()
    k[-1] = replace(k[-1], ctas=ctas)
    fins = tuple(WaitEmpty(ring="r", k=i) for i in range(depth)) if finish else ()
    if fin is not None:
        fins = fin
    return document(
        producer(
            [WaitEmpty(ring="r"), Expect(ring="r", bytes=expect or share * mult), load], finish=fins
        ),
        consumer(k),
        rings=[ring(depth=depth, empty=4 * ctas if empty is None else empty, parts=part)],
        cluster=size,
    )


right("multicast 2", cluster(2, 1024))
right("multicast 2 of 4", cluster(4, 1024, c=2))
right("multicast 4 depth 5", cluster(4, 512, c=4, depth=5))
wrong("multicast share not 128", cluster(2, 1040))
wrong("multicast share 64B", cluster(2, 64))
wrong("mma multicast share 1024-unaligned", cluster(2, 1152, work=multiply))
right("mma multicast share 1024", cluster(2, 1024, work=multiply))
wrong("cluster arrivals one too few", cluster(2, 1024, empty=4))
wrong("cluster arrivals local only", cluster(2, 1024, ctas=1))
wrong("expect own share only", cluster(2, 1024, expect=1024))
wrong("cluster no finish", cluster(2, 1024, finish=False))
wrong("cluster finish waits only first slot", cluster(2, 1024, fin=(WaitEmpty(ring="r", k=0),)))


def csync(d):
    return replace(d, programs=tuple(replace(p, finish=(ClusterSync(),)) for p in d.programs))


right("cluster finish csync", csync(cluster(2, 1024, finish=False)))
wrong(
    "cluster finish csync only consumer",
    changed(cluster(2, 1024, finish=False), "consumer", finish=(ClusterSync(),)),
)


# --- three roles: transform
MADE = SlotRead(ring="t", part="q")


def three(
    depth=2, d2=2, *, middle=None, mid_threads=128, order=0, last=None, e1=None, e2=None, f2=None
):
    mid = (
        middle
        if middle is not None
        else [
            WaitFull(ring="r"),
            WaitEmpty(ring="t"),
            Compute(op="conv", slots=(SLOT,), fills_slots=(MADE,)),
            ProxyFence(),
            ScopeSync(),
            Arrive(ring="r"),
            Arrive(ring="t", side=Side.FULL),
        ]
    )
    lastk = (
        last
        if last is not None
        else [
            WaitFull(ring="t"),
            MmaFence(),
            Mma(op="add", slots=(MADE,), accumulator="z"),
            Commit(),
            WaitGroup(pending=0),
            Arrive(ring="t"),
        ]
    )
    flow = Flow(
        ops=(
            FlowOp(name="load", role="producer", results=("x",)),
            FlowOp(name="conv", role="mid", operands=(of("x"),), results=("y",)),
            FlowOp(name="zero", role="consumer", when=When.HEAD, results=("z0",)),
            FlowOp(
                name="add", role="consumer", operands=(of("y"), of("s", 1, "z0")), results=("s",)
            ),
            FLOW.ops[3],
        ),
        homes=(FLOW.homes[0], Home(value="y", place="t.q"), *FLOW.homes[1:]),
    )
    return document(
        producer(),
        role("mid", mid, threads=mid_threads),
        consumer(lastk),
        rings=[
            ring(depth=depth, empty=e1 or -(-mid_threads // 32)),
            ring("t", d2, full=f2 or -(-mid_threads // 32), empty=e2 or 4, parts=(("q", 0, 1024),)),
        ],
        flow=flow,
    )


right("three roles", three())
right("three roles deep", three(9, 13))
right("three roles shallow", three(1, 1))
MADE = SlotRead(ring="t", part="q")
base = [
    WaitFull(ring="r"),
    WaitEmpty(ring="t"),
    Compute(op="conv", slots=(SLOT,), fills_slots=(MADE,)),
    ProxyFence(),
    ScopeSync(),
    Arrive(ring="r"),
    Arrive(ring="t", side=Side.FULL),
]


def without(i):
    return [e for j, e in enumerate(base) if j != i]


for i in (0, 1, 3, 4, 5, 6):
    wrong(f"three roles without {i}", three(middle=without(i)))
    wrong(f"three roles deep without {i}", three(16, 20, middle=without(i)))
wrong("three: fence behind arrive", three(middle=[*base[:3], base[4], base[5], base[6], base[3]]))
wrong("three: fence after sync", three(middle=[*base[:3], base[4], base[3], *base[5:]]))
wrong("three: release source before reading", three(middle=[base[0], base[5], *base[1:5], base[6]]))
wrong("three: arrive full before the writes", three(middle=[base[0], base[1], base[6], *base[2:6]]))
right("three: empty waited first", three(middle=[base[1], base[0], *base[2:]]))
wrong(
    "three: thread-scope arrive full w/out group sync",
    three(middle=[*base[:5], base[5], Arrive(ring="t", side=Side.FULL, scope=Scope.THREAD)], f2=1),
)
right(
    "three: thread-scope arrive full with group sync",
    three(
        middle=[*base[:4], GROUP, base[5], Arrive(ring="t", side=Side.FULL, scope=Scope.THREAD)],
        f2=1,
    ),
)
right("three: 1 warp", three(mid_threads=32))
wrong("three: 40 threads, 1 arrival", three(mid_threads=40, e1=1, f2=1))


# The source is released through the barriers of ring t: who released use u there has read r.
def via(depth, d2, prod_wait):
    d = three(depth, d2, middle=without(5))
    return changed(
        d,
        "producer",
        kernel=(WaitEmpty(ring="t", k=0), *fill(wait=False))
        if prod_wait
        else tuple(fill(wait=False)),
    )


right("source released through other ring, d == d2", via(2, 2, True))
wrong("source released through other ring, d < d2", via(2, 3, True))
right("source released through other ring, d > d2", via(3, 2, True))
wrong("source released through other ring, no wait", via(3, 2, False))
right("source released through other ring, deep", via(16, 16, True))
wrong("source released through other ring, deep d<d2", via(15, 16, True))

# --- hold names
wrong("dup register arrays", changed(document(), "consumer", registers=(("z", 8), ("z", 8))))


# ring a.b part c vs ring a part b.c
def dotted(home_fix):
    rings = [ring("r", parts=(("p.q", 0, 1024),)), ring("r.p", parts=(("q", 0, 1024),))]
    one = SlotRead(ring="r", part="p.q")
    two = SlotRead(ring="r.p", part="q")
    prod = producer(
        [
            WaitEmpty(ring="r"),
            Expect(ring="r", bytes=1024),
            Load(op="load", ring="r", part="p.q", bytes=1024),
            WaitEmpty(ring="r.p"),
            Expect(ring="r.p", bytes=1024),
            Load(op="load2", ring="r.p", part="q", bytes=1024),
        ]
    )
    a1, a2 = (one, two) if home_fix else (two, one)
    cons = consumer(
        [
            WaitFull(ring="r"),
            WaitFull(ring="r.p"),
            Compute(op="add", reads=("z",), writes=("z",), slots=(a1,)),
            Compute(op="add2", reads=("z",), writes=("z",), slots=(a2,)),
            Arrive(ring="r"),
            Arrive(ring="r.p"),
        ]
    )
    flow = Flow(
        ops=(
            FlowOp(name="load", role="producer", results=("x",)),
            FlowOp(name="load2", role="producer", results=("x2",)),
            FLOW.ops[1],
            FlowOp(
                name="add", role="consumer", operands=(of("x"), of("s2", 1, "z0")), results=("s",)
            ),
            FlowOp(name="add2", role="consumer", operands=(of("x2"), of("s")), results=("s2",)),
            replace(FLOW.ops[3], operands=(of("s2", 0, "z0"),)),
        ),
        homes=(
            Home(value="x", place="r.p.q"),
            Home(value="x2", place="r.p.q"),
            *FLOW.homes[1:],
            Home(value="s2", place="z"),
        ),
    )
    return document(prod, cons, rings=rings, flow=flow)


right("dotted names", dotted(True))
wrong("dotted names swapped", dotted(False))

# zero-depth, etc
wrong("zero depth", document(rings=[ring(depth=0)]))
wrong("negative depth", document(rings=[ring(depth=-2)]))
wrong("empty arrivals too many", document(rings=[ring(empty=5)]))
wrong("full arrivals 2", document(rings=[ring(full=2)]))
right("empty role beside", document(producer(), consumer(), role("idle", [], threads=32)))
right(
    "empty role with peel 3",
    replace(document(producer(), consumer(), role("idle", [], threads=32, peel=3))),
)
# parities
wrong(
    "parity 1 on full",
    changed(document(), "consumer", kernel=(WaitFull(ring="r", parity=1), *add()[1:])),
)
wrong(
    "parity 0 on empty",
    changed(document(), "producer", kernel=(WaitEmpty(ring="r", parity=0), *fill()[1:])),
)
wrong(
    "parity 2/3", changed(document(), "consumer", kernel=(WaitFull(ring="r", parity=3), *add()[1:]))
)
wrong(
    "parity -1", changed(document(), "consumer", kernel=(WaitFull(ring="r", parity=-1), *add()[1:]))
)
# named barriers
wrong(
    "named barrier only one comes",
    document(
        producer(),
        changed(document(), "consumer", kernel=(*add(), JOIN)).program("consumer"),
        barriers=(NamedBarrier(name="b", id=1, threads=160),),
    ),
)
right(
    "named barrier consumers alone",
    document(
        producer(), consumer([*add(), JOIN]), barriers=(NamedBarrier(name="b", id=1, threads=128),)
    ),
)
wrong(
    "named barrier 2 instances, sized for 1",
    document(
        producer(),
        consumer([*add(), JOIN], instances=2),
        rings=[ring(empty=8)],
        barriers=(NamedBarrier(name="b", id=1, threads=128),),
    ),
)
right(
    "named barrier 2 instances",
    document(
        producer(),
        consumer([*add(), JOIN], instances=2),
        rings=[ring(empty=8)],
        barriers=(NamedBarrier(name="b", id=1, threads=256),),
    ),
)
wrong(
    "prod barrier in prologue, cons in kernel",
    document(
        producer(prologue=[JOIN]),
        consumer([*add(), JOIN]),
        barriers=(NamedBarrier(name="b", id=1, threads=160),),
    ),
)
right(
    "both in prologue",
    document(
        producer(prologue=[JOIN]),
        consumer(prologue=(ZERO, JOIN)),
        barriers=(NamedBarrier(name="b", id=1, threads=160),),
    ),
)
wrong(
    "both in different tile ends (prologue vs epilogue crossing ring)",
    document(
        producer(epilogue=[JOIN]),
        consumer(prologue=(ZERO, JOIN)),
        rings=[ring(depth=2)],
        barriers=(NamedBarrier(name="b", id=1, threads=160),),
    ),
)
right(
    "both in epilogue",
    document(
        producer(epilogue=[JOIN]),
        consumer(epilogue=(OUT, JOIN)),
        barriers=(NamedBarrier(name="b", id=1, threads=160),),
    ),
)


# two barriers in opposite order
def opp(o):
    b = [NamedSync(barrier="b"), NamedSync(barrier="c")]
    return document(
        producer([*fill(), *b]),
        consumer([*add(), *(b if o else b[::-1])]),
        barriers=(
            NamedBarrier(name="b", id=1, threads=160),
            NamedBarrier(name="c", id=2, threads=160),
        ),
    )


right("two barriers same order", opp(True))
wrong("two barriers opposite", opp(False))


# peel with fill ahead
def ahead(n, join):
    return document(
        producer(fill(0), prologue=[e for k in range(n) for e in fill(k)], peel=n),
        consumer(prologue=(ZERO,)),
        rings=[ring(depth=n)],
    )


for n in (1, 2, 5, 12):
    right(f"ahead {n}", ahead(n, 0))


def ahead2(n, depth):
    return document(
        producer(fill(0), prologue=[e for k in range(n) for e in fill(k)], peel=n),
        consumer(prologue=(ZERO,)),
        rings=[ring(depth=depth)],
    )


right("ahead more than depth", ahead2(5, 2))
wrong(
    "ahead but peel missing by one",
    document(producer(fill(0), prologue=[*fill(0), *fill(1)], peel=1), consumer(), least_trips=2),
)
wrong(
    "peel larger than what prologue does",
    document(producer(fill(0), prologue=[*fill(0)], peel=2), consumer()),
)
# epilogue lag
wrong(
    "release lagging never drained",
    changed(
        document(),
        "consumer",
        kernel=(*add()[:2], Arrive(ring="r", k=-1)),
        prologue=(ZERO, *add()[:2]),
        peel=1,
    ),
)
right(
    "release lagging drained",
    changed(
        document(),
        "consumer",
        kernel=(*add()[:2], Arrive(ring="r", k=-1)),
        prologue=(ZERO, *add()[:2]),
        peel=1,
        epilogue=(Arrive(ring="r", k=-1), OUT),
    ),
)
wrong(
    "release lagging, depth 1 deadlock",
    replace(
        changed(
            document(),
            "consumer",
            kernel=(*add()[:2], Arrive(ring="r", k=-1)),
            prologue=(ZERO, *add()[:2]),
            peel=1,
            epilogue=(Arrive(ring="r", k=-1), OUT),
        ),
        rings=(ring(depth=1),),
    ),
)
# least_trips lies? least with kernel peel 0 and prologue waits
wrong(
    "prologue works on iteration 0 but peel 0 least 1",
    changed(replace(document(), least_trips=1), "consumer", prologue=(ZERO, *add())),
)
# tile ring
tring = ring("t", 1, full=1, empty=4, parts=(("p", 0, 1024),), per=Per.TILE)


def tiled(depth=1, release="epilogue", where="prologue", prod="prologue"):
    place = SlotRead(ring="t", part="p")
    f = [
        WaitEmpty(ring="t"),
        Expect(ring="t", bytes=1024),
        Load(op="loadt", ring="t", part="p", bytes=1024),
    ]
    zero = Compute(op="zero", writes=("z",), slots=(place,))
    rel = [Arrive(ring="t")]
    flow = Flow(
        ops=(
            FlowOp(name="loadt", role="producer", when=When.HEAD, results=("y",)),
            FLOW.ops[0],
            replace(FLOW.ops[1], operands=(of("y"),)),
            *FLOW.ops[2:],
        ),
        homes=(Home(value="y", place="t.p"), *FLOW.homes),
    )
    return document(
        producer(
            prologue=f if prod == "prologue" else (), epilogue=f if prod == "epilogue" else ()
        ),
        consumer(
            prologue=(WaitFull(ring="t"), zero, *(rel if release == "prologue" else ())),
            kernel=(*add(), *(rel if release == "kernel" else ())),
            epilogue=(OUT, *(rel if release == "epilogue" else ())),
        ),
        rings=[ring(), replace(tring, depth=depth)],
        flow=flow,
    )


for r in ("prologue", "epilogue"):
    for dd in (1, 2, 3):
        right(f"tile ring {r} {dd}", tiled(dd, r))
wrong("tile ring never released", tiled(1, ""))
wrong("tile ring never released depth 3", tiled(3, ""))
wrong("tile ring released every iteration", tiled(1, "kernel"))
wrong("tile ring loaded at tile end", tiled(1, "epilogue", prod="epilogue"))


# groups
def groups(pend, lag, depth=4):
    return lagging(depth, lag, pend)


wrong("lag 2 pending 3", groups(3, 2))
right("lag 2 pending 2", groups(2, 2))
wrong("lag 1 pending 2", groups(2, 1))


def verdict(made):
    try:
        return verify_roles(read_schedule(write_schedule(made))).verdict
    except DocumentError:
        return "malformed"


@pytest.mark.parametrize("name", WRONG)
def test_it_is_found(name):
    assert verdict(WRONG[name]) in ("race", "malformed")


@pytest.mark.parametrize("name", RIGHT)
def test_it_is_clean(name):
    made = RIGHT[name]
    report = verify_roles(made)
    assert report.verdict == "clean", report.text()
    least = made.minimum_trips
    if made.cluster == 1:
        for tiles in ((least,) * 2, (least + 2, least, least + 1)):
            assert first_fault(made, made, tiles, most=40) is None


@pytest.mark.parametrize("entries", [add(), [*add(), NamedArrive(barrier="b")]], ids=["one", "two"])
def test_edges_grow_with_the_list(entries):
    """An arrival does not name all earlier accesses again, which made long lists quadratic."""
    barriers = (NamedBarrier(name="b", id=1, threads=128),)

    def edges(times):
        made = changed(document(barriers=barriers), "consumer", kernel=tuple(entries) * times)
        return sum(map(len, build_order(made, (2,)).edges))

    assert edges(200) <= 2.2 * edges(100)


def test_what_is_too_large_is_not_judged_and_a_missing_file_is_malformed(tmp_path):
    path = tmp_path / "x.json"
    lists = changed(document(), "consumer", kernel=tuple(add()) * 4000)
    path.write_text(write_schedule(lists))
    found = verify_file(path)
    assert (found.verdict.value, found.exit_code) == ("not judged", 2)
    assert found.to_json()["verdict"] == "not judged"
    assert verify_file(tmp_path / "none.json").verdict.value == "malformed"


def test_a_key_that_stands_twice_is_malformed(tmp_path):
    text = write_schedule(document())
    path = tmp_path / "x.json"
    twice = text.replace('"depth"', '"depth": 9, "depth"', 1)
    assert json.loads(twice)  # the last one counts, for a reader that does not look
    path.write_text(twice)
    assert verify_file(path).verdict.value == "malformed"
