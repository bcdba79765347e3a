"""What one agent alone can get wrong: registers in flight, fences, staging copies, coverage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from warploom.document.roles import (
    BufferCopy,
    BulkCommit,
    BulkStore,
    BulkWait,
    Commit,
    Compute,
    Load,
    Mma,
    MmaFence,
    ProxyFence,
    Scope,
    ScopeSync,
    WaitGroup,
)
from warploom.verify.roles.finding import Code, RoleFinding
from warploom.verify.roles.order import Order
from warploom.verify.roles.unroll import Agent, Event, describe


@dataclass(slots=True)
class _Registers:
    """Register arrays of one agent: what groups in flight hold, what has a value."""

    groups: list[list[Mma]] = field(default_factory=list)
    open: list[Mma] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    fenced: bool = False
    filled: set[str] = field(default_factory=set)
    unread: dict[str, Event] = field(default_factory=dict)

    def in_flight(self) -> list[Mma]:
        """Products that may still run."""
        return [m for g in self.groups for m in g] + self.open


def check_registers(order: Order, agent: Agent) -> Iterator[RoleFinding]:
    """Accumulators and operand registers are left alone while a group holds them."""
    state = _Registers()
    tile = 0
    for event in order.programs[agent]:
        if event.tile != tile:
            tile = event.tile
            state.filled.clear()
        match event.entry:
            case Mma():
                yield from _issue(order, event, event.entry, state)
            case Commit():
                state.groups.append(state.open)
                state.open = []
            case WaitGroup(pending=n):
                state.groups = state.groups[len(state.groups) - n :] if n else []
            case MmaFence():
                state.touched.clear()
                state.fenced = True
            case Compute():
                yield from _touch(order, event, event.entry, state)
            case _:
                pass
    if state.in_flight():
        yield _at(
            order,
            order.programs[agent][-1],
            Code.DRAIN,
            "matrix products are still in flight at the end",
            "WaitGroup 0 behind the last group",
        )


def _issue(order: Order, event: Event, mma: Mma, state: _Registers) -> Iterator[RoleFinding]:
    used = {mma.accumulator, *mma.registers}
    if not state.fenced or used & state.touched:
        yield _at(
            order,
            event,
            Code.FENCE,
            f"{describe(mma)} uses registers that ordinary instructions touched, without a fence",
            "MmaFence in front of the first Mma behind them",
        )
    for other in state.in_flight():
        if other.accumulator in mma.registers:
            yield _at(
                order,
                event,
                Code.RAW_REG,
                f"{describe(mma)} reads {other.accumulator}, which {other.op} still writes",
                "WaitGroup in front",
            )
    needed = set(mma.registers) | ({mma.accumulator} if mma.accumulate else set())
    for name in sorted(needed - state.filled):
        yield _at(
            order,
            event,
            Code.TOKEN,
            f"{describe(mma)} uses {name}, which has no value of this tile",
            "accumulate = False on the first product of a tile",
        )
    if not mma.accumulate and mma.accumulator in state.unread:
        yield _at(
            order,
            event,
            Code.TOKEN,
            f"{describe(mma)} discards {mma.accumulator} before anything read it",
            "accumulate = True, or read it first",
        )
    state.filled.add(mma.accumulator)
    state.unread[mma.accumulator] = event
    state.open.append(mma)


def _touch(order: Order, event: Event, op: Compute, state: _Registers) -> Iterator[RoleFinding]:
    touched = {*op.reads, *op.writes}
    for mma in state.in_flight():
        if mma.accumulator in touched:
            yield _at(
                order,
                event,
                Code.RAW_REG,
                f"{describe(op)} touches {mma.accumulator} while {mma.op} still writes it",
                "WaitGroup that retires the group in front",
            )
        if set(mma.registers) & set(op.writes):
            yield _at(
                order,
                event,
                Code.WAR_REG,
                f"{describe(op)} overwrites an operand register {mma.op} still reads",
                "WaitGroup that retires the group in front",
            )
    for name in sorted(set(op.reads) - state.filled):
        yield _at(
            order,
            event,
            Code.TOKEN,
            f"{describe(op)} reads {name}, which has no value of this tile",
            "compute it first",
        )
    for name in op.reads:
        state.unread.pop(name, None)
    state.touched |= touched
    state.filled |= set(op.writes)


_UNSTORED = ("written", "fenced", "warp", "visible")


@dataclass(slots=True)
class _Copy:
    """A staging copy: ordinary writes on their way to the copy engine, and back."""

    state: str = "free"  # free, written, fenced, warp, visible, reading, read
    group: int = -1
    scope: Scope = Scope.WARP


def check_staging(order: Order, agent: Agent) -> Iterator[RoleFinding]:
    """Ordinary writes are fenced and joined before a bulk store, stores over before a rewrite."""
    copies: dict[BufferCopy, _Copy] = defaultdict(_Copy)
    group = 0
    last = None
    for event in order.programs[agent]:
        last = event
        match event.entry:
            case Compute(fills=fills):
                for c in fills:
                    yield from _fill(order, event, copies[c])
            case ProxyFence():
                _advance(copies, "written", "fenced")
            case ScopeSync(scope=scope):
                _join(copies, scope)
            case BulkStore():
                yield from _store(order, event, event.entry, copies[event.entry.source], group)
            case BulkCommit():
                group += 1
            case BulkWait():
                _finish_stores(copies, event.entry, group)
            case _:
                pass
    if last:
        yield from _end_of_stores(order, last, {c.state for c in copies.values()})


def _end_of_stores(order: Order, last: Event, states: set[str]) -> Iterator[RoleFinding]:
    if states & set(_UNSTORED):
        yield _unstored(order, last, "a staging copy is filled and never stored")
    if states & {"reading", "read"}:
        yield _at(
            order,
            last,
            Code.DRAIN,
            "bulk stores may be unfinished when the CTA exits",
            "BulkWait(pending=0, source_read=False) in finish",
        )


def _advance(copies: dict[BufferCopy, _Copy], old: str, new: str) -> None:
    for c in copies.values():
        if c.state == old:
            c.state = new


def _join(copies: dict[BufferCopy, _Copy], scope: Scope) -> None:
    """A barrier of ``scope``: fenced writes are visible in it, a store's end known to it."""
    wide = scope is Scope.WARPGROUP
    _advance(copies, "fenced", "visible" if wide else "warp")
    for c in copies.values():
        if c.state == "read" and (wide or c.scope is Scope.WARP):
            c.state = "free"


def _finish_stores(copies: dict[BufferCopy, _Copy], wait: BulkWait, group: int) -> None:
    """The issuing thread knows that the stores are over; the others learn it at a barrier."""
    for c in copies.values():
        if c.state in ("reading", "read") and c.group < group - wait.pending:
            c.state = "read" if wait.source_read else "free"


def _fill(order: Order, event: Event, copy: _Copy) -> Iterator[RoleFinding]:
    if copy.state in ("reading", "read"):
        yield _at(
            order,
            event,
            Code.STAGING,
            f"{describe(event.entry)} overwrites a staging copy a bulk store may still read",
            "BulkWait for the store's group, then ScopeSync, in front",
        )
    if copy.state in _UNSTORED and copy.state != "written":  # several ops may fill one copy
        why = f"{describe(event.entry)} overwrites a staging copy that nobody stored"
        yield _unstored(order, event, why)
    copy.state = "written"


def _unstored(order: Order, event: Event, why: str) -> RoleFinding:
    return _at(order, event, Code.COVERAGE, why, "a BulkStore behind every fill")


def _store(
    order: Order, event: Event, store: BulkStore, copy: _Copy, group: int
) -> Iterator[RoleFinding]:
    enough = ("visible", "warp") if store.scope is Scope.WARP else ("visible",)
    if copy.state not in enough:
        missing = {"written": "no ProxyFence", "fenced": "no ScopeSync", "warp": "no ScopeSync"}
        yield _at(
            order,
            event,
            Code.PROXY,
            f"{describe(store)} reads ordinary writes with "
            f"{missing.get(copy.state, 'nothing written')} between",
            "ProxyFence by the writers, then ScopeSync, then the store",
        )
    copy.state, copy.group, copy.scope = "reading", group, store.scope


def check_coverage(order: Order, agent: Agent) -> Iterator[RoleFinding]:
    """Every load and every product runs exactly once for every iteration of every tile."""
    steps: dict[tuple[str, int], list[int]] = defaultdict(list)
    for event in order.programs[agent]:
        entry = event.entry
        if isinstance(entry, Load | Mma) and event.phase in ("prologue", "kernel", "epilogue"):
            if isinstance(entry, Load) and order.document.ring(entry.ring).per == "tile":
                steps[f"{entry.op}/tile", event.tile].append(0)
                continue
            steps[entry.op, event.tile].append(event.step)
    for (op, tile), found in steps.items():
        want = [0] if op.endswith("/tile") else list(range(order.tiles[tile]))
        if sorted(found) != want:
            yield RoleFinding(
                code=Code.COVERAGE,
                why=f"{op} of {agent.role} runs for iterations {sorted(found)} of a tile "
                f"that has {len(want)}",
                fix="prologue, kernel and epilogue together run each iteration once",
                tiles=order.tiles,
            )


def _at(order: Order, event: Event, code: Code, why: str, fix: str) -> RoleFinding:
    return RoleFinding(code=code, why=why, fix=fix, where=(event.place(),), tiles=order.tiles)
