"""Random small role programs that are right, with their declared dataflow; and random edits."""

from __future__ import annotations

import random
from dataclasses import fields, replace

from warploom.document.flow import Flow, FlowOp, FlowOperand, Home, When
from warploom.document.rings import (
    BufferCopy,
    NamedBarrier,
    Part,
    Per,
    RoleRing,
    Scope,
    Side,
    SlotRead,
    StagingBuffer,
)
from warploom.document.roles import (
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


# Seeds from here on move entries from list to list, too; from there on they name other things; and
# from the last on instances take tiles in turn.
ACROSS, NAMED, ALTERNATING = 800_000, 900_000, 1_000_000
FAMILIES = (gemm, gemm, attention, attention, met, handed, own)


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
    document = alternating(rng) if seed >= ALTERNATING else rng.choice(FAMILIES)(rng)
    return many_threads(rng, document) if rng.random() < 0.15 else document


def edited(document, seed):
    """The document with one or two random edits of any entry, ring or barrier."""
    rng = random.Random(seed)
    # Rings first: what an arrival for another use means depends on how many slots there are.
    for kind in sorted(rng.random() for _ in range(rng.choice((1, 1, 1, 2)))):
        document = _edit(rng, document, kind, across=seed >= ACROSS)
    return _named_anew(rng, document) if seed >= NAMED and rng.random() < 0.5 else document


def _edit(rng, document, kind, *, across):
    if kind < 0.1:
        return _edit_ring(rng, document)
    if kind < 0.15 and document.barriers:
        i = rng.randrange(len(document.barriers))
        b = document.barriers[i]
        change = rng.choice(({"threads": b.threads + rng.choice((-32, 32, 128))}, {"count": 1}))
        listed = list(document.barriers)
        listed[i] = replace(b, **change)
        return replace(document, barriers=tuple(listed))
    i = rng.randrange(len(document.programs))
    program = document.programs[i]
    if kind < 0.18:
        shared = program.instances > 1 and rng.random() < 0.5
        field = "alternates" if shared else "carries_phase"
        program = replace(program, **{field: not getattr(program, field)})
    else:
        program = (_across if across and rng.random() < 0.2 else _edit_list)(rng, document, program)
    programs = list(document.programs)
    programs[i] = program
    return replace(document, programs=tuple(programs))


def _edit_ring(rng, document):
    i = rng.randrange(len(document.rings))
    r = document.rings[i]
    change = rng.choice(
        (
            {"depth": max(1, r.depth - 1)},
            {"depth": r.depth + 1},
            {"full_arrivals": r.full_arrivals + 1},
            {"empty_arrivals": max(1, r.empty_arrivals - 1)},
            {"empty_arrivals": r.empty_arrivals + 1},
        )
    )
    listed = list(document.rings)
    listed[i] = replace(r, **change)
    return replace(document, rings=tuple(listed))


def _edit_list(rng, document, program):
    phases = [name for name, entries in program.phases() if entries]
    if not phases:
        return program
    phase = rng.choice(phases)
    entries = list(getattr(program, phase))
    i = rng.randrange(len(entries))
    kind = rng.random()
    if kind < 0.3:
        entries.pop(i)
    elif kind < 0.4:
        entries.insert(rng.randint(0, len(entries)), entries[i])
    elif kind < 0.6 and i + 1 < len(entries):
        entries[i], entries[i + 1] = entries[i + 1], entries[i]
    elif kind < 0.7:
        entries.insert(rng.randint(0, len(entries) - 1), entries.pop(i))
    else:
        entries[i] = _edit_entry(rng, entries[i], document, phase)
    return replace(program, **{phase: tuple(entries)})


def _across(rng, document, program):
    """An entry moved or copied to another list, before the first tile and after the last too; or
    the slots of a product exchanged.
    """
    source = rng.choice([name for name, entries in program.phases() if entries])
    target = rng.choice([name for name, _ in program.phases() if name != source])
    entries, others = list(getattr(program, source)), list(getattr(program, target))
    i = rng.randrange(len(entries))
    if isinstance(entries[i], Mma) and rng.random() < 0.5:
        entries[i] = replace(entries[i], slots=entries[i].slots[::-1])
        return replace(program, **{source: tuple(entries)})
    others.insert(rng.randint(0, len(others)), entries[i])
    if rng.random() < 0.5:
        entries.pop(i)
    return replace(program, **{source: tuple(entries), target: tuple(others)})


def _named_anew(rng, document):
    """An entry that names another ring, part, array or staging copy."""
    i = rng.randrange(len(document.programs))
    program = document.programs[i]
    phase, at = rng.choice([(n, j) for n, row in program.phases() for j in range(len(row))])
    row = list(getattr(program, phase))
    row[at] = _renamed(rng, row[at], document, program)
    programs = list(document.programs)
    programs[i] = replace(program, **{phase: tuple(row)})
    return replace(document, programs=tuple(programs))


def _renamed(rng, entry, document, program):
    arrays = [n for n, _ in program.registers]
    slots = [SlotRead(ring=r.name, part=p.name) for r in document.rings for p in r.parts]
    held = {f.name for f in fields(entry) if getattr(entry, f.name) not in ((), "", None)}
    found = sorted(held & {"ring", "accumulator", "registers", "reads", "writes", "slots"})
    if not found:
        return entry
    name = rng.choice(found)
    if name == "ring":
        slot = rng.choice(slots)
        part = {"part": slot.part} if isinstance(entry, Load) else {}
        return replace(entry, ring=slot.ring, **part)
    if name == "accumulator":
        return replace(entry, accumulator=rng.choice(arrays))
    row = list(getattr(entry, name))
    row[rng.randrange(len(row))] = rng.choice(slots if name == "slots" else arrays)
    return replace(entry, **{name: tuple(row)})


def _edit_entry(rng, entry, document, phase):
    names = [f.name for f in fields(entry) if f.name not in ("op", "reason", "args", "instance")]
    if not names:
        return entry
    name = rng.choice(names)
    old = getattr(entry, name)
    if isinstance(old, bool):
        new = not old
    elif isinstance(old, Scope | Side):
        new = rng.choice(list(type(old)))
    elif name == "parity":
        new = 1 - old
    elif name == "bytes":
        new = rng.choice((old // 2, old + BYTES))
    elif name in ("pending", "turn"):
        new = max(0, old + rng.choice((-1, 1)))
    elif name == "k":
        new = old + rng.choice((-1, 1))
        # On a single slot an arrival for another use is the same arrival: the verifier goes by the
        # use that is named.
        if isinstance(entry, Compute | BulkStore) and phase != "kernel":
            return entry  # outside the loop it means nothing
        if isinstance(entry, Expect | Arrive) and document.ring(entry.ring).depth == 1:
            return entry
    else:
        return entry
    return replace(entry, **{name: new})
