"""Registers of one agent: what groups in flight hold, what has a value; and coverage."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from warploom.document.rings import Per
from warploom.document.roles import Commit, Compute, Load, Mma, MmaFence, WaitGroup
from warploom.verify.agents import Agent, Event, describe, takes
from warploom.verify.findings import Code, Finding
from warploom.verify.roles.order import Order

_KINDS = {Commit, Compute, Mma, MmaFence, WaitGroup}


@dataclass(slots=True)
class _Registers:
    """Register arrays of one agent. ``writing`` and ``reading`` count products in flight."""

    groups: deque[list[Mma]] = field(default_factory=deque)
    open: list[Mma] = field(default_factory=list)
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
            case Mma():
                yield from _issue(order, event, event.entry, state)
            case Commit():
                state.groups.append(state.open)
                state.open = []
            case WaitGroup(pending=n):
                state.retire(n)
            case MmaFence():
                state.touched.clear()
                state.fenced = True
            case Compute():
                yield from _touch(order, event, event.entry, state)
            case _:
                pass
    if state.open or any(state.groups):
        yield at(
            order,
            order.programs[agent][-1],
            Code.DRAIN,
            "matrix products are still in flight at the end",
            "WaitGroup 0 after the last group",
        )


def _issue(order: Order, event: Event, mma: Mma, state: _Registers) -> Iterator[Finding]:
    used = {mma.accumulator, *mma.registers}
    wait = "WaitGroup in front"
    if not state.fenced or used & state.touched:
        why = f"{describe(mma)} uses registers that ordinary instructions touched, without a fence"
        yield at(order, event, Code.FENCE, why, "MmaFence in front of the first Mma after them")
    for name in filter(state.writing.get, mma.registers):
        why = f"{describe(mma)} reads {name}, which a product in flight still writes"
        yield at(order, event, Code.RAW_REG, why, wait)
    if state.reading[mma.accumulator] or mma.accumulator in mma.registers:
        why = f"{describe(mma)} overwrites {mma.accumulator}, which a product in flight still reads"
        yield at(order, event, Code.WAR_REG, why, wait)
    needed = set(mma.registers) | ({mma.accumulator} if mma.accumulate else set())
    for name in sorted(needed - state.filled):
        why = f"{describe(mma)} uses {name}, which has no value of this tile"
        fix = "accumulate = False on the first product of a tile"
        yield at(order, event, Code.TOKEN, why, fix)
    if not mma.accumulate and mma.accumulator in state.unread:
        why = f"{describe(mma)} discards {mma.accumulator} before anything read it"
        yield at(order, event, Code.TOKEN, why, "accumulate = True, or read it first")
    state.filled.add(mma.accumulator)
    state.unread.add(mma.accumulator)
    state.unread.difference_update(mma.registers)
    state.open.append(mma)
    state.writing[mma.accumulator] += 1
    for name in mma.registers:
        state.reading[name] += 1


def _touch(order: Order, event: Event, op: Compute, state: _Registers) -> Iterator[Finding]:
    touched = {*op.reads, *op.writes}
    wait = "WaitGroup that retires the group in front"
    for name in sorted(filter(state.writing.get, touched)):
        why = f"{describe(op)} touches {name} while a product in flight still writes it"
        yield at(order, event, Code.RAW_REG, why, wait)
    for name in filter(state.reading.get, op.writes):
        why = f"{describe(op)} overwrites {name}, which a product in flight still reads"
        yield at(order, event, Code.WAR_REG, why, wait)
    for name in sorted({*op.reads} - state.filled):
        why = f"{describe(op)} reads {name}, which has no value of this tile"
        yield at(order, event, Code.TOKEN, why, "compute it first")
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
    for event in order.of(agent, {Load, Mma}):
        entry = event.entry
        if isinstance(entry, (Load, Mma)) and event.phase not in ("setup", "finish"):
            once = isinstance(entry, Load) and entry.ring in tiled
            names[entry.op, once] = None
            steps[entry.op, once, event.tile].append(0 if once else event.step)
    for op, once in names:
        for tile, trips in enumerate(order.tiles):
            found = sorted(steps[op, once, tile])
            if not takes(order.document, agent, tile):
                continue
            if found != ([0] if once else list(range(trips))):
                yield Finding(
                    code=Code.COVERAGE,
                    why=f"{op} of {agent.role} runs for iterations {found[:8]} of a tile "
                    f"that has {1 if once else trips}",
                    fix="prologue, kernel and epilogue together run each iteration once",
                    tiles=order.tiles,
                )
                break


def at(order: Order, event: Event, code: Code, why: str, fix: str) -> Finding:
    """A finding about one event."""
    return Finding(code=code, why=why, fix=fix, where=(event.place(),), tiles=order.tiles)
