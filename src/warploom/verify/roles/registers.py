"""Registers and staging copies of one agent: what is in flight, has a value, is on its way.

A copy is written by all threads of an instance and read by a store that one thread a scope issues.
Between: every writer fences, then the writers meet the thread that stores. After: that thread
waits for its store, then meets the writers. Who meets whom: a warp sync joins a warp, a warpgroup
sync, a named or a cluster sync all threads of the instance; a thread alone meets nobody.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import field

from warploom.dataclass import dataclass
from warploom.ir import mbarrier_dialect as roles
from warploom.ir.rings import BufferCopy, Per, Scope
from warploom.verify.agents import ALL, NOBODY, WARP, Agent, Event, describe, reach_of, takes
from warploom.verify.findings import Code, Finding
from warploom.verify.roles.order import Order

_KINDS = {roles.Commit, roles.Compute, roles.Mma, roles.MmaFence, roles.WaitGroup}


@dataclass(slots=True)
class _Registers:
    """Register arrays of one agent. ``writing`` and ``reading`` count products in flight."""

    groups: deque[list[roles.Mma]] = field(default_factory=deque)
    open: list[roles.Mma] = field(default_factory=list)
    writing: Counter[str] = field(default_factory=Counter)
    reading: Counter[str] = field(default_factory=Counter)
    touched: set[str] = field(default_factory=set)
    fenced: bool = False
    filled: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)  # filled once, before the first tile
    unread: set[str] = field(default_factory=set)

    def retire(self, pending: int) -> None:
        """All but the ``pending`` newest groups are over."""
        while len(self.groups) > pending:
            for mma in self.groups.popleft():
                self.writing[mma.accumulator] -= 1
                for name in mma.registers:
                    self.reading[name] -= 1


def check_registers(order: Order, agent: Agent) -> Iterator[Finding]:
    """Accumulators and operand registers are left alone while a group holds them."""
    state = _Registers()
    tile = 0
    for event in order.of(agent, _KINDS):
        if event.tile != tile:
            tile = event.tile
            state.filled = set(state.kept)
        match event.entry:
            case roles.Mma():
                yield from _issue(order, event, event.entry, state)
            case roles.Commit():
                state.groups.append(state.open)
                state.open = []
            case roles.WaitGroup(pending=n):
                state.retire(n)
            case roles.MmaFence():
                state.touched.clear()
                state.fenced = True
            case roles.Compute():
                yield from _touch(order, event, event.entry, state)
            case _:
                pass
    if state.open or any(state.groups):
        why, fix = (
            "matrix products are still in flight at the end",
            "WaitGroup 0 after the last group",
        )
        yield order.finding(Code.DRAIN, why, fix, order.programs[agent][-1])


def _issue(order: Order, event: Event, mma: roles.Mma, state: _Registers) -> Iterator[Finding]:
    used = {mma.accumulator, *mma.registers}
    wait = "WaitGroup in front"
    if not state.fenced or used & state.touched:
        why = f"{describe(mma)} uses registers that ordinary instructions touched, without a fence"
        yield order.finding(Code.FENCE, why, "MmaFence in front of the first Mma after them", event)
    for name in filter(state.writing.get, mma.registers):
        why = f"{describe(mma)} reads {name}, which a product in flight still writes"
        yield order.finding(Code.RAW_REG, why, wait, event)
    if state.reading[mma.accumulator] or mma.accumulator in mma.registers:
        why = f"{describe(mma)} overwrites {mma.accumulator}, which a product in flight still reads"
        yield order.finding(Code.WAR_REG, why, wait, event)
    needed = set(mma.registers) | ({mma.accumulator} if mma.accumulate else set())
    for name in sorted(needed - state.filled):
        why = f"{describe(mma)} uses {name}, which has no value of this tile"
        fix = "accumulate = False on the first product of a tile"
        yield order.finding(Code.TOKEN, why, fix, event)
    if not mma.accumulate and mma.accumulator in state.unread:
        why = f"{describe(mma)} discards {mma.accumulator} before anything read it"
        yield order.finding(Code.TOKEN, why, "accumulate = True, or read it first", event)
    state.filled.add(mma.accumulator)
    state.unread.add(mma.accumulator)
    state.unread.difference_update(mma.registers)
    state.open.append(mma)
    state.writing[mma.accumulator] += 1
    for name in mma.registers:
        state.reading[name] += 1


def _touch(order: Order, event: Event, op: roles.Compute, state: _Registers) -> Iterator[Finding]:
    touched = {*op.reads, *op.writes}
    wait = "WaitGroup that retires the group in front"
    for name in sorted(filter(state.writing.get, touched)):
        why = f"{describe(op)} touches {name} while a product in flight still writes it"
        yield order.finding(Code.RAW_REG, why, wait, event)
    for name in filter(state.reading.get, op.writes):
        why = f"{describe(op)} overwrites {name}, which a product in flight still reads"
        yield order.finding(Code.WAR_REG, why, wait, event)
    for name in sorted({*op.reads} - state.filled):
        why = f"{describe(op)} reads {name}, which has no value of this tile"
        yield order.finding(Code.TOKEN, why, "compute it first", event)
    state.unread.difference_update(op.reads)
    state.touched |= touched
    state.filled.update(op.writes)
    if event.phase == "setup":
        state.kept.update(op.writes)


def check_coverage(order: Order, agent: Agent) -> Iterator[Finding]:
    """Every load and every product runs exactly once for every iteration of every tile."""
    steps: dict[tuple[str, bool, int], list[int]] = defaultdict(list)
    names: dict[tuple[str, bool], None] = {}
    tiled = {r.name for r in order.document.rings if r.per is Per.TILE}
    for event in order.of(agent, {roles.Load, roles.Mma}):
        entry = event.entry
        if isinstance(entry, (roles.Load, roles.Mma)) and event.phase not in ("setup", "finish"):
            once = isinstance(entry, roles.Load) and entry.ring in tiled
            names[entry.op, once] = None
            steps[entry.op, once, event.tile].append(0 if once else event.step)
    for op, once in names:
        for tile, trips in enumerate(order.tiles):
            found = sorted(steps[op, once, tile])
            if not takes(order.document, agent, tile):
                continue
            if found != ([0] if once else list(range(trips))):
                has = f"of a tile that has {1 if once else trips}"
                why = f"{op} of {agent.role} runs for iterations {found[:8]} {has}"
                fix = "prologue, kernel and epilogue together run each iteration once"
                yield order.finding(Code.COVERAGE, why, fix, about=(agent.role, op))
                break


_MEETS = {roles.ProxyFence, roles.ScopeSync, roles.NamedSync, roles.ClusterSync}
_STAGED = {roles.Compute, roles.BulkStore, roles.BulkCommit, roles.BulkWait} | _MEETS


@dataclass(slots=True)
class _Store:
    """A bulk store in flight. ``wide``: one thread issues it for all of the instance, else one of
    every warp. ``over``: who issued it knows that it has read its copy, ``known``: so do the
    writers; ``complete``: it is over altogether.
    """

    wide: bool
    group: int
    over: bool = False
    known: bool = False
    complete: bool = False


@dataclass(slots=True)
class _Copy:
    """One staging copy. ``joined``: how far its fenced writes are known."""

    written: bool = False
    fenced: bool = False
    joined: int = NOBODY
    stored: bool = False
    stores: list[_Store] = field(default_factory=list)


def check_staging(order: Order, agent: Agent) -> Iterator[Finding]:
    """Ordinary writes are fenced and joined before a bulk store, stores over before a rewrite."""
    copies: dict[BufferCopy, _Copy] = defaultdict(_Copy)
    group = 0
    for event in order.of(agent, _STAGED):
        match event.entry:
            case roles.Compute(fills=fills):
                for c in fills:
                    yield from _fill(order, event, copies[c])
            case roles.ProxyFence() | roles.ScopeSync() | roles.NamedSync() | roles.ClusterSync():
                _advance(copies, event)
            case roles.BulkStore():
                yield from _store(order, event, event.entry, copies[event.entry.source], group)
            case roles.BulkCommit():
                group += 1
            case roles.BulkWait():
                _finish(copies, event.entry, group, agent)
            case _:
                pass
    if order.programs[agent]:
        yield from _end(order, order.programs[agent][-1], list(copies.values()))


def _advance(copies: dict[BufferCopy, _Copy], event: Event) -> None:
    reach = reach_of(event.entry, event.agent)
    for copy in copies.values():
        if isinstance(event.entry, roles.ProxyFence):
            copy.fenced = copy.fenced or copy.written
        else:
            if copy.fenced:
                copy.joined = max(copy.joined, reach)
            for store in copy.stores:
                if store.over and reach >= (ALL if store.wide else WARP):
                    store.known = True


def _fill(order: Order, event: Event, copy: _Copy) -> Iterator[Finding]:
    if not all(store.known for store in copy.stores):
        why = f"{describe(event.entry)} overwrites a staging copy a bulk store may still read"
        fix = "BulkWait for the store's group, then ScopeSync, in front"
        yield order.finding(Code.STAGING, why, fix, event)
    if copy.written and copy.fenced and not copy.stored:  # several ops may fill one copy
        why = f"{describe(event.entry)} overwrites a staging copy that nobody stored"
        yield order.finding(Code.COVERAGE, why, "a BulkStore after every fill", event)
    copy.written, copy.fenced, copy.joined, copy.stored = True, False, NOBODY, False


def _store(
    order: Order, event: Event, store: roles.BulkStore, copy: _Copy, group: int
) -> Iterator[Finding]:
    threads = event.agent.threads
    wide = store.scope is not Scope.WARP and threads > 32
    enough = NOBODY if threads == 1 else ALL if wide else WARP
    if not copy.fenced or copy.joined < enough:
        missing = "nothing written" if not copy.written else "no ProxyFence"
        if copy.fenced:
            missing = "no ScopeSync of all that wrote it"
        why = f"{describe(store)} reads ordinary writes with {missing} between"
        fix = "ProxyFence by the writers, then ScopeSync, then the store"
        yield order.finding(Code.PROXY, why, fix, event)
    copy.stored = True
    copy.stores = [s for s in copy.stores if not (s.known and s.complete)]
    copy.stores.append(_Store(wide, group))


def _finish(
    copies: dict[BufferCopy, _Copy], wait: roles.BulkWait, group: int, agent: Agent
) -> None:
    """The issuing thread knows that the stores are over; the others learn it at a barrier."""
    for store in (s for c in copies.values() for s in c.stores):
        if store.group < group - wait.pending:
            store.over = True
            store.known = store.known or agent.threads == 1
            store.complete = store.complete or not wait.source_read


def _end(order: Order, last: Event, copies: list[_Copy]) -> Iterator[Finding]:
    if any(c.written and not c.stored for c in copies):
        why = "a staging copy is filled and never stored"
        yield order.finding(Code.COVERAGE, why, "a BulkStore after every fill", last)
    if any(not store.complete for c in copies for store in c.stores):
        why = "bulk stores may be unfinished when the CTA exits"
        yield order.finding(
            Code.DRAIN, why, "BulkWait(pending=0, source_read=False) in finish", last
        )
