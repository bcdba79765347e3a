"""Small role programs as kernels have them: products, attention, and products that meet."""

from __future__ import annotations

from dataclasses import replace

from warploom.ir.dataflow import Flow, FlowOp, FlowOperand, Home, When
from warploom.ir.mbarrier_dialect import (
    Arrive,
    BulkCommit,
    BulkStore,
    BulkWait,
    Commit,
    Compute,
    Expect,
    Load,
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
from warploom.ir.rings import (
    BufferCopy,
    NamedBarrier,
    Part,
    Per,
    RoleRing,
    Scope,
    SlotRead,
    StagingBuffer,
)

BYTES = 128


def of(value, back=0, before=None, zero_first=False):
    return FlowOperand(value=value, back=back, before=before, zero_first=zero_first)


WRITE = FlowOp(name="write", role="consumer", when=When.TAIL, operands=(of("sum"),), stores=True)


def fill(ring, parts, k=0, wait=True):
    out = [WaitEmpty(ring=ring, k=k)] if wait else []
    out.append(Expect(ring=ring, k=k, bytes=BYTES * len(parts)))
    return out + [Load(op=f"load.{ring}{p}", ring=ring, part=p, k=k, bytes=BYTES) for p in parts]


def ring(name, depth, parts, empty, per=Per.ITERATION, full=1):
    made = tuple(Part(name=p, offset=i * BYTES, bytes=BYTES) for i, p in enumerate(parts))
    return RoleRing(
        name=name, depth=depth, parts=made, full_arrivals=full, empty_arrivals=empty, per=per
    )


def load_ops(name, parts, when=When.LOOP):
    ops = [
        FlowOp(name=f"load.{name}{p}", role="producer", when=when, results=(f"{name}{p}",))
        for p in parts
    ]
    return ops, [Home(value=f"{name}{p}", place=f"{name}.{p}") for p in parts]


def staged_tail(rng, threads):
    """Convert and store a result through staging copies; (entries, finish, ops, homes)."""
    pieces = rng.choice((1, 2))
    copies = rng.randint(1, pieces)
    wide = rng.random() < 0.4
    scope = Scope.WARPGROUP if wide else Scope.WARP
    entries, ops, homes = [], [], []
    for i in range(pieces):
        copy = BufferCopy(buffer="c", copy=i % copies)
        entries += [
            BulkWait(pending=copies - 1, source_read=rng.random() < 0.7),
            ScopeSync(scope=scope),
            Compute(op="convert", reads=("acc",), fills=(copy,), args=(i,)),
            ProxyFence(),
            ScopeSync(scope=scope),
            BulkStore(op="store", source=copy, scope=scope, args=(i,)),
            BulkCommit(),
        ]
        ops += [
            FlowOp(
                name="convert",
                role="consumer",
                when=When.TAIL,
                args=(i,),
                operands=(of("sum"),),
                results=(f"c{i}",),
            ),
            FlowOp(
                name="store",
                role="consumer",
                when=When.TAIL,
                args=(i,),
                operands=(of(f"c{i}"),),
                stores=True,
            ),
        ]
        homes.append(Home(value=f"c{i}", place=f"c#{copy.copy}"))
    finish = [BulkWait(pending=0, source_read=False)]
    buffer = StagingBuffer(name="c", role="consumer", copies=copies, bytes=128)
    return entries, finish, ops, homes, buffer


def gemm(rng):
    """A matrix product: one ring, products released at once or an iteration later."""
    parts = rng.choice(("A", "AB"))
    depth = rng.choice((1, 2, 2, 3))
    instances = rng.choice((1, 1, 2))
    late = depth > 1 and rng.random() < 0.5
    slots = tuple(SlotRead(ring="ab", part=p) for p in parts)
    scope = Scope.WARP
    joined = rng.random() < 0.15  # one arrival after a sync of all
    if joined:
        scope = rng.choice((Scope.THREAD, Scope.WARPGROUP))
    meet = [ScopeSync(scope=Scope.WARPGROUP)] if joined else []

    def product(first):
        return [
            WaitFull(ring="ab"),
            MmaFence(),
            Mma(op="mma", slots=slots, accumulator="acc", accumulate=not first),
            Commit(),
        ]

    def release(k, pending):
        return [WaitGroup(pending=pending), *meet, Arrive(ring="ab", k=k, scope=scope)]

    kernel = product(False) + (release(-1, 1) if late else release(0, 0))
    prologue = product(True) + ([] if late else release(0, 0))
    epilogue = release(-1, 0) if late else []
    loads, homes = load_ops("ab", parts)
    operands = (*(of(f"ab{p}") for p in parts), of("sum", 1))
    ops = [*loads, FlowOp(name="mma", role="consumer", operands=operands, results=("sum",))]
    homes.append(Home(value="sum", place="acc"))
    buffers, finish = (), []
    if instances == 1 and rng.random() < 0.5:
        entries, finish, more, places, buffer = staged_tail(rng, 128)
        epilogue += entries
        ops += more
        homes += places
        buffers = (buffer,)
    else:
        epilogue.append(Compute(op="write", reads=("acc",)))
        ops.append(WRITE)
    arrivals = instances * (1 if joined else 4)
    return document(
        rings=(ring("ab", depth, parts, arrivals),),
        producer=([], fill("ab", parts), []),
        consumer=(prologue, kernel, epilogue),
        finish=finish,
        instances=instances,
        registers=(("acc", 8),),
        buffers=buffers,
        flow=Flow(ops=tuple(ops), homes=tuple(homes)),
    )


def document(*, rings, producer, consumer, flow, registers, instances=1, **more):
    roles = [
        RoleProgram(
            name="producer",
            instances=1,
            threads=1,
            peel=0,
            prologue=tuple(producer[0]),
            kernel=tuple(producer[1]),
            epilogue=tuple(producer[2]),
        ),
        RoleProgram(
            name="consumer",
            instances=instances,
            threads=128,
            peel=1,
            prologue=tuple(consumer[0]),
            kernel=tuple(consumer[1]),
            epilogue=tuple(consumer[2]),
            setup=tuple(more.get("setup", ())),
            finish=tuple(more.get("finish", ())),
            registers=registers,
        ),
        *more.get("others", ()),
    ]
    return RolesDocument(
        name="random",
        target="h200",
        strategy="random",
        rings=rings,
        programs=tuple(roles),
        buffers=tuple(more.get("buffers", ())),
        barriers=tuple(more.get("barriers", ())),
        flow=flow,
    )


def attention(rng):
    """Two rings, the second product an iteration late, a tile ring, perhaps turns."""
    instances = rng.choice((1, 1, 1, 2))
    depth = rng.choice((2, 2, 3) if instances == 1 else (2,))
    turns = instances == 2 and rng.random() < 0.8
    held = rng.random() < 0.5  # the tile's operand is fetched into registers
    take = [NamedSync(barrier="turn")] if turns else []
    give = [NamedArrive(barrier="turn", turn=1)] if turns else []
    s, v = SlotRead(ring="k", part="K"), SlotRead(ring="v", part="V")
    q = () if held else (SlotRead(ring="q", part="Q"),)
    first = Mma(
        op="qk",
        slots=(*q, s),
        registers=("q",) if held else (),
        accumulator="s",
        accumulate=False,
    )
    second = Mma(op="pv", k=-1, slots=(v,), registers=("p",), accumulator="o")
    soft = Compute(op="soft", reads=("s",), writes=("p",))
    start = [Compute(op="start", writes=("o",)), WaitFull(ring="q")]
    if held:
        fetch = Compute(op="fetch", writes=("q",), slots=(SlotRead(ring="q", part="Q"),))
        start += [fetch, Arrive(ring="q")]
    prologue = [
        *start,
        WaitFull(ring="k"),
        *take,
        MmaFence(),
        first,
        Commit(),
        *give,
        WaitGroup(pending=0),
        Arrive(ring="k"),
        soft,
    ]
    kernel = [
        WaitFull(ring="k"),
        *take,
        MmaFence(),
        first,
        Commit(),
        WaitFull(ring="v", k=-1),
        second,
        Commit(),
        *give,
        WaitGroup(pending=1),
        Arrive(ring="k"),
        WaitGroup(pending=0),
        Arrive(ring="v", k=-1),
        soft,
    ]
    epilogue = [
        WaitFull(ring="v", k=-1),
        *take,
        MmaFence(),
        second,
        Commit(),
        *give,
        WaitGroup(pending=0),
        Arrive(ring="v", k=-1),
        *([] if held else [Arrive(ring="q")]),
        Compute(op="write", reads=("o",)),
    ]
    ops, homes = [], []
    for name, part, when in (("q", "Q", When.HEAD), ("k", "K", When.LOOP), ("v", "V", When.LOOP)):
        made, places = load_ops(name, part, when)
        ops += made
        homes += places

    def op(name, operands, results, when=When.LOOP, **more):
        homes.extend(Home(value=r, place=h) for r, h in results)
        made = tuple(r for r, _ in results)
        ops.append(
            FlowOp(name=name, role="consumer", when=when, operands=operands, results=made, **more)
        )

    op("start", (), (("o0", "o"),), When.HEAD)
    if held:
        op("fetch", (of("qQ"),), (("held", "q"),), When.HEAD)
    op("qk", (of("held") if held else of("qQ"), of("kK")), (("scores", "s"),))
    op("soft", (of("scores"),), (("packed", "p"),))
    op("pv", (of("packed"), of("vV"), of("out", 1, "o0", zero_first=True)), (("out", "o"),))
    op("write", (of("out"),), (), When.TAIL, stores=True)
    setup = [NamedArrive(barrier="turn", turn=1, instance=1)] if turns else []
    finish = [NamedSync(barrier="turn", instance=0)] if turns else []
    barriers = (NamedBarrier(name="turn", id=1, threads=256, count=2),) if turns else ()
    n = 4 * instances
    return document(
        rings=(
            ring("q", 1, "Q", n, Per.TILE),
            ring("k", depth, "K", n),
            ring("v", depth, "V", n),
        ),
        producer=(fill("q", "Q"), fill("k", "K") + fill("v", "V"), []),
        consumer=(prologue, kernel, epilogue),
        instances=instances,
        setup=setup,
        finish=finish,
        barriers=barriers,
        registers=(("s", 8), ("p", 8), ("o", 8), ("q", 8)),
        flow=Flow(ops=tuple(ops), homes=tuple(homes)),
    )


def met(rng):
    """No waits for empty slots: a named barrier every iteration keeps both sides together."""
    base = gemm(rng)
    producer, consumer = base.programs
    if consumer.instances > 1 or base.rings[0].depth > 1:
        return base
    sync = NamedSync(barrier="t")
    keep = rng.random() < 0.5  # releases that nobody waits for
    kernel = tuple(e for e in producer.kernel if not isinstance(e, WaitEmpty))

    def freed(entries):
        out = []
        for e in entries:
            released = isinstance(e, Arrive)
            out += [e] if keep or not released else []
            out += [sync] if released else []
        return tuple(out)

    producer = replace(producer, kernel=(*kernel, sync))
    consumer = replace(
        consumer,
        prologue=freed(consumer.prologue),
        kernel=freed(consumer.kernel),
        epilogue=freed(consumer.epilogue),
    )
    barriers = (NamedBarrier(name="t", id=1, threads=160),)
    return replace(base, programs=(producer, consumer), barriers=barriers)
