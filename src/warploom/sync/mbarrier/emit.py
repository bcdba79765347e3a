"""A role's steps with everything that guards them, counts of waits the weakest that do.

The products of one op are one group, committed at once. A step *demands* groups: a release, the
groups that read the slot; ordinary work, the groups that write what it touches or read what it
overwrites. With ``y`` groups committed after the newest demanded one, ``wait_group y`` is the
weakest count that proves it. A position takes the least count over all its executions, and a wait
that the others already cover is dropped.
"""

from collections.abc import Callable, Iterator

from warploom.dataclass import dataclass
from warploom.ir import mbarrier_dialect as roles
from warploom.ir.mbarrier_dialect import RoleEntry
from warploom.ir.rings import BufferCopy, Per, Scope, Side
from warploom.sync.mbarrier.expand import (
    Lists,
    Occurrence,
    Position,
    Step,
    runs,
    slots_of,
    store_waits,
)
from warploom.sync.mbarrier.plan import Copy, Over, Plan, Product, Store, Stores, Verbatim, Work


@dataclass(frozen=True, slots=True)
class Demand:
    """Before this execution, group number ``group`` must have retired; ``committed`` are out."""

    position: Position
    committed: int
    group: int
    why: str


Trace = list[tuple[Position, int, Demand | None]]


def group_waits(lists: Lists, over: Over | None = None) -> dict[Position, tuple[int, str]]:
    """The count and the reason of the wait in front of each position that needs one.

    ``over``: products that ops rely on to be over, beside what their operands demand.
    """
    traces = [_trace(run, over or {}) for run in runs(lists)]
    demands = [d for trace in traces for _, _, d in trace if d is not None]
    waits: dict[Position, tuple[int, str]] = {}
    for d in demands:
        count = d.committed - d.group - 1
        if d.position not in waits or count < waits[d.position][0]:
            waits[d.position] = (count, d.why)
    for position in sorted(waits, key=_removal_order):
        fewer = {p: w for p, w in waits.items() if p != position}
        if _covered(traces, fewer):
            waits = fewer
    return waits


def _removal_order(position: Position) -> tuple[int, int]:
    return ({"prologue": 0, "epilogue": 1, "kernel": 2}[position[0]], -position[1])


def _covered(traces: list[Trace], waits: dict[Position, tuple[int, str]]) -> bool:
    for trace in traces:
        retired = 0
        for position, committed, demand in trace:
            if position in waits:
                retired = max(retired, committed - waits[position][0])
            if demand is not None and demand.group >= retired:
                return False
    return True


def _trace(run: list[Occurrence], over: Over) -> Trace:
    groups: list[Occurrence] = []
    out: Trace = []
    for occurrence in run:
        wanted = [(g, why) for g, other in enumerate(groups) for why in _needs(occurrence, other)]
        wanted += [(g, w) for g, o in enumerate(groups) for w in _relies(occurrence, o, over)]
        demand = None
        if wanted:
            group, why = max(wanted)
            demand = Demand(occurrence.position, len(groups), group, why)
        out.append((occurrence.position, len(groups), demand))
        if isinstance(occurrence.step.action, Product):
            groups.append(occurrence)
    return out


def _needs(later: Occurrence, earlier: Occurrence) -> Iterator[str]:
    """Why ``later`` may not run while the group of ``earlier`` is in flight."""
    product = earlier.step.action
    assert isinstance(product, Product)
    step = later.step
    if step.is_release:
        read = [s.part for s in slots_of(product) if s.ring == step.ring]
        same = later.tile == earlier.tile if step.once else later.use == earlier.use
        if read and same:
            yield f"{earlier.step.op} must have read {'/'.join(read)} before the slot is released"
        return
    yield from _register_needs(step, product, earlier.step.op)


def _relies(later: Occurrence, earlier: Occurrence, over: Over) -> Iterator[str]:
    """Products whose registers the later op counts on."""
    for op, back in over.get(later.step.op, ()):
        if op == earlier.step.op and earlier.use <= later.use - back:
            yield f"{later.step.op} takes the registers {op} has read"


def _register_needs(step: Step, product: Product, op: str) -> Iterator[str]:
    action = step.action
    touched: set[str] = set()
    written: set[str] = set()
    if isinstance(action, Work):
        touched, written = {*action.reads, *action.writes}, {*action.writes}
    elif isinstance(action, Store | Stores):
        touched = {*action.reads}
    elif isinstance(action, Product):
        touched = {*action.registers}
    if product.accumulator in touched:
        yield f"{op} writes {product.accumulator}, which {step.op} uses"
    for name in sorted(written & {*product.registers}):
        yield f"{op} reads {name}, which {step.op} overwrites"
    if not isinstance(action, Product):  # products may share operands, nothing else may read them
        for name in sorted(touched & {*product.registers} - written):
            yield f"{op} holds {name}, which {step.op} reads"


@dataclass(frozen=True, slots=True)
class Guards:
    """What stands in front of each position."""

    groups: dict[Position, tuple[int, str]]
    stores: dict[Position, int]
    first_reads: dict[Position, tuple[str, ...]]
    first_loads: dict[Position, tuple[str, ...]]


def guards_of(plan: Plan, lists: Lists, over: Over | None = None) -> Guards:
    """Derive the guards of a role from its steps."""
    return Guards(
        groups=group_waits(lists, over),
        stores=store_waits(lists),
        first_reads=_firsts(plan, lists, lambda s: {r.ring for r in slots_of(s.action)}),
        first_loads=_firsts(plan, lists, _loaded),
    )


def entries(
    plan: Plan, guards: Guards, name: str, steps: tuple[Step, ...]
) -> tuple[RoleEntry, ...]:
    """The entries of one list."""
    return tuple(e for i, s in enumerate(steps) for e in _guarded(plan, guards, (name, i), s))


def _loaded(step: Step) -> set[str]:
    action = step.action
    if isinstance(action, Work):
        return {s.ring for s in action.fills}
    return {c.ring for c in action} if isinstance(action, tuple) else set()


def _firsts(
    plan: Plan, lists: Lists, touches: Callable[[Step], set[str]]
) -> dict[Position, tuple[str, ...]]:
    """Positions that are the first of the role to touch a use of a ring, in some run."""
    found: dict[Position, set[str]] = {}
    for run in runs(lists):
        seen: set[tuple[str, int]] = set()
        for o in run:
            for ring in touches(o.step):
                use = (ring, o.tile if plan.ring(ring).per is Per.TILE else o.use)
                if use not in seen:
                    seen.add(use)
                    found.setdefault(o.position, set()).add(ring)
    return {p: tuple(sorted(rings)) for p, rings in found.items()}


def _guarded(plan: Plan, guards: Guards, at: Position, step: Step) -> Iterator[RoleEntry]:
    for ring in guards.first_reads.get(at, ()):
        yield roles.WaitFull(
            ring=ring, k=step.k, reason=f"{step.op} reads {ring}: its bytes landed"
        )
    if at in guards.groups:
        pending, why = guards.groups[at]
        left = f"; {pending} younger group(s) stay in flight" if pending else ""
        yield roles.WaitGroup(pending=pending, reason=why + left)
    yield from _body(plan, guards, at, step)


def _body(plan: Plan, guards: Guards, at: Position, step: Step) -> Iterator[RoleEntry]:
    match step.action:
        case None:
            yield _release(plan, step)
        case Product() as product:
            yield from _product(step, product)
        case Work() as work:
            yield from _work(plan, guards, at, step, work)
        case Store() as store:
            yield from _store(step, store, guards.stores.get(at))
        case Stores() as stores:
            yield from _stores(step, stores, guards.stores.get(at))
        case Verbatim(entries=listed):
            yield from listed
        case copies:
            yield from _copies(plan, guards, at, step, copies)


def _work(plan: Plan, guards: Guards, at: Position, step: Step, work: Work) -> Iterator[RoleEntry]:
    for ring in guards.first_loads.get(at, ()):
        yield roles.WaitEmpty(ring=ring, k=step.k, reason="all consumers released the slot")
    yield roles.Compute(
        op=step.op,
        k=step.k,
        reads=work.reads,
        writes=work.writes,
        slots=work.slots,
        fills_slots=work.fills,
        args=work.args,
    )
    if not work.fills:
        return
    yield roles.ProxyFence(reason="ordinary writes become visible to the tensor cores")
    if plan.scope is not Scope.THREAD:
        yield roles.ScopeSync(scope=plan.scope, reason="all writers have fenced")
    for ring in dict.fromkeys(s.ring for s in work.fills):
        yield roles.Arrive(
            ring=ring, k=step.k, scope=plan.scope, side=Side.FULL, reason="its share is written"
        )


def _stores(step: Step, stores: Stores, pending: int | None) -> Iterator[RoleEntry]:
    """All chunks filled, one fence, one group."""
    if pending is not None:
        yield roles.BulkWait(pending=pending, reason="the stores that read these copies are over")
        yield roles.ScopeSync(scope=stores.scope, reason="known to all threads that refill them")
    copies = [(BufferCopy(buffer=stores.buffer, copy=n), args) for n, args in stores.chunks]
    for copy, args in copies:
        yield roles.Compute(op=stores.fill, k=step.k, reads=stores.reads, fills=(copy,), args=args)
    yield roles.ProxyFence(reason="ordinary writes become visible to the copy engine")
    yield roles.ScopeSync(scope=stores.scope, reason="all writers have fenced")
    for copy, args in copies:
        yield roles.BulkStore(
            op=step.op, source=copy, scope=stores.scope, args=args, k=step.k, reduce=stores.reduce
        )
    yield roles.BulkCommit()


def _copies(
    plan: Plan, guards: Guards, at: Position, step: Step, copies: tuple[Copy, ...]
) -> Iterator[RoleEntry]:
    for ring in guards.first_loads.get(at, ()):
        total = sum(p.bytes for p in plan.ring(ring).parts)
        yield roles.WaitEmpty(ring=ring, k=step.k, reason="its readers released the slot")
        yield roles.Expect(ring=ring, k=step.k, bytes=total, reason="all parts of the slot")
    for c in copies:
        yield roles.Load(
            op=f"{step.op}.{c.part}",
            ring=c.ring,
            part=c.part,
            k=step.k,
            bytes=c.bytes,
            multicast=c.multicast,
            by_threads=c.by_threads,
        )


def _product(step: Step, product: Product) -> Iterator[RoleEntry]:
    yield roles.MmaFence(reason="registers written before are ordered before the products")
    yield roles.Mma(
        op=step.op,
        k=step.k,
        slots=product.slots,
        registers=product.registers,
        accumulator=product.accumulator,
        accumulate=not product.fresh,
    )
    yield roles.Commit(reason=f"{step.op} is one group")


def _release(plan: Plan, step: Step) -> roles.Arrive:
    return roles.Arrive(
        ring=step.ring,
        k=step.k,
        scope=plan.scope,
        ctas=plan.multicast(step.ring),
        reason=f"the slot of {step.ring} may be filled again",
    )


def _store(step: Step, store: Store, pending: int | None) -> Iterator[RoleEntry]:
    copy = BufferCopy(buffer=store.buffer, copy=store.copy)
    if pending is not None:
        yield roles.BulkWait(
            pending=pending, reason=f"the store that read copy {store.copy} is over"
        )
        yield roles.ScopeSync(scope=store.scope, reason="known to all threads that refill it")
    yield roles.Compute(op=store.fill, reads=store.reads, fills=(copy,), args=store.args)
    yield roles.ProxyFence(reason="ordinary writes become visible to the copy engine")
    yield roles.ScopeSync(scope=store.scope, reason="all writers have fenced")
    yield roles.BulkStore(
        op=step.op, source=copy, scope=store.scope, args=store.args, reduce=store.reduce
    )
    yield roles.BulkCommit()
