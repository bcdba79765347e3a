"""A role's steps with everything that guards them: the entries of its program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from warploom.document.rings import BufferCopy, Per, Scope, Side
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
    ProxyFence,
    RoleEntry,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.guard.mbarrier.expand import Lists, Step, slots_of
from warploom.guard.mbarrier.groups import group_waits
from warploom.guard.mbarrier.lifetimes import Over
from warploom.guard.mbarrier.plan import Copy, Plan, Product, Store, Stores, Verbatim, Work
from warploom.guard.mbarrier.stores import store_waits
from warploom.guard.mbarrier.unrolled import Position, runs


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
        yield WaitFull(ring=ring, k=step.k, reason=f"{step.op} reads {ring}: its bytes landed")
    if at in guards.groups:
        pending, why = guards.groups[at]
        left = f"; {pending} younger group(s) stay in flight" if pending else ""
        yield WaitGroup(pending=pending, reason=why + left)
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
        yield WaitEmpty(ring=ring, k=step.k, reason="all consumers released the slot")
    yield Compute(
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
    yield ProxyFence(reason="ordinary writes become visible to the tensor cores")
    if plan.scope is not Scope.THREAD:
        yield ScopeSync(scope=plan.scope, reason="all writers have fenced")
    for ring in dict.fromkeys(s.ring for s in work.fills):
        yield Arrive(
            ring=ring, k=step.k, scope=plan.scope, side=Side.FULL, reason="its share is written"
        )


def _stores(step: Step, stores: Stores, pending: int | None) -> Iterator[RoleEntry]:
    """All chunks filled, one fence, one group."""
    if pending is not None:
        yield BulkWait(pending=pending, reason="the stores that read these copies are over")
        yield ScopeSync(scope=stores.scope, reason="known to all threads that refill them")
    copies = [(BufferCopy(buffer=stores.buffer, copy=n), args) for n, args in stores.chunks]
    for copy, args in copies:
        yield Compute(op=stores.fill, k=step.k, reads=stores.reads, fills=(copy,), args=args)
    yield ProxyFence(reason="ordinary writes become visible to the copy engine")
    yield ScopeSync(scope=stores.scope, reason="all writers have fenced")
    for copy, args in copies:
        yield BulkStore(
            op=step.op, source=copy, scope=stores.scope, args=args, k=step.k, reduce=stores.reduce
        )
    yield BulkCommit()


def _copies(
    plan: Plan, guards: Guards, at: Position, step: Step, copies: tuple[Copy, ...]
) -> Iterator[RoleEntry]:
    for ring in guards.first_loads.get(at, ()):
        total = sum(p.bytes for p in plan.ring(ring).parts)
        yield WaitEmpty(ring=ring, k=step.k, reason="its readers released the slot")
        yield Expect(ring=ring, k=step.k, bytes=total, reason="all parts of the slot")
    for c in copies:
        yield Load(
            op=f"{step.op}.{c.part}",
            ring=c.ring,
            part=c.part,
            k=step.k,
            bytes=c.bytes,
            multicast=c.multicast,
            by_threads=c.by_threads,
        )


def _product(step: Step, product: Product) -> Iterator[RoleEntry]:
    yield MmaFence(reason="registers written before are ordered before the products")
    yield Mma(
        op=step.op,
        k=step.k,
        slots=product.slots,
        registers=product.registers,
        accumulator=product.accumulator,
        accumulate=not product.fresh,
    )
    yield Commit(reason=f"{step.op} is one group")


def _release(plan: Plan, step: Step) -> Arrive:
    return Arrive(
        ring=step.ring,
        k=step.k,
        scope=plan.scope,
        ctas=plan.multicast(step.ring),
        reason=f"the slot of {step.ring} may be filled again",
    )


def _store(step: Step, store: Store, pending: int | None) -> Iterator[RoleEntry]:
    copy = BufferCopy(buffer=store.buffer, copy=store.copy)
    if pending is not None:
        yield BulkWait(pending=pending, reason=f"the store that read copy {store.copy} is over")
        yield ScopeSync(scope=store.scope, reason="known to all threads that refill it")
    yield Compute(op=store.fill, reads=store.reads, fills=(copy,), args=store.args)
    yield ProxyFence(reason="ordinary writes become visible to the copy engine")
    yield ScopeSync(scope=store.scope, reason="all writers have fenced")
    yield BulkStore(
        op=step.op, source=copy, scope=store.scope, args=store.args, reduce=store.reduce
    )
    yield BulkCommit()
