"""What the engine keeps of a run: queues in order, rows, units, barriers, signals, the trace."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from warploom.dataclass import dataclass
from warploom.ir.machine_costs import OpTiming
from warploom.sim.events import BarrierEvent, OpEvent, Place, Row, StallEvent, WaitEvent
from warploom.sim.program import Await, BarrierSpec, Issue, Program, Turn, Unit


class Due(NamedTuple):
    """A moment a queue reaches, and the op that sets it (None: nothing to wait for)."""

    time: int
    op: int | None


NOTHING = Due(0, None)


@dataclass(slots=True)
class _Item:
    """An op in the queue. ``last`` is its last unit's number, ``retired`` in queue order."""

    op: int
    last: int
    count: int
    start: int
    pace: int
    instructions: int
    latency: int
    before: Due
    retired: Due

    def unit_time(self, ordinal: int) -> int:
        """When its ``ordinal``-th unit (from 1) has its data, by itself."""
        share = -(-ordinal * self.instructions // self.count) if self.count else self.instructions
        return self.start + (share - 1) * self.pace + self.latency


@dataclass(slots=True)
class InOrderQueue:
    """Units retire in the order of issue, whatever order their data comes in."""

    issued: int = 0
    _items: list[_Item] = field(default_factory=list)

    def push(self, op: int, count: int, start: int, instructions: int, timing: OpTiming) -> int:
        """Add an op whose unit service begins at ``start``; the cycle it retires."""
        before = self._items[-1].retired if self._items else NOTHING
        self.issued += count
        item = _Item(
            op=op,
            last=self.issued,
            count=count,
            start=start,
            pace=max(timing.issue, timing.occupancy),
            instructions=instructions,
            latency=timing.latency,
            before=before,
            retired=NOTHING,
        )
        item.retired = _later(before, Due(item.unit_time(count), op))
        self._items.append(item)
        return item.retired.time

    def due(self, leave: int) -> Due:
        """When at most ``leave`` units are left in flight of all issued so far."""
        wanted = self.issued - leave
        for item in reversed(self._items):
            if item.last <= wanted:
                return item.retired
            inside = wanted - (item.last - item.count)
            if inside > 0:
                return _later(item.before, Due(item.unit_time(inside), item.op))
        return NOTHING

    def when_free(self, count: int, limit: int) -> Due:
        """When ``count`` more units fit; an op larger than the limit needs the queue empty."""
        return self.due(max(0, limit - count))


def _later(first: Due, second: Due) -> Due:
    """The later of two; the earlier in queue order is to blame when both are equal."""
    return second if second.time > first.time else first


class StepTime(NamedTuple):
    """A step that was run: reached at ``arrive``, begun at ``went``, left at ``leave``."""

    place: Place
    arrive: int
    went: int
    leave: int
    served: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The raw outcome of a run. ``steps`` has one list per row, ``issues`` one step per op."""

    rows: tuple[Row, ...]
    ops: tuple[OpEvent, ...]
    issues: tuple[Issue, ...]
    stalls: tuple[StallEvent, ...]
    waits: tuple[WaitEvent, ...]
    barriers: tuple[BarrierEvent, ...]
    steps: tuple[tuple[StepTime, ...], ...]


@dataclass(slots=True)
class RowState:
    """Where a row is: next step, its clock, priority, queues and registers."""

    index: int
    program: Program
    limits: dict[str, int]
    time: int = 0
    pc: int = 0
    priority: int = 0
    queues: dict[str, InOrderQueue] = field(default_factory=dict)
    registers: dict[str, Due] = field(default_factory=dict)
    steps: list[StepTime] = field(default_factory=list)
    worst: StallEvent | None = None  # the longest stall since the row last met others

    def queue(self, name: str) -> InOrderQueue:
        """The row's queue of that name."""
        return self.queues.setdefault(name, InOrderQueue())


@dataclass(slots=True)
class UnitState:
    """A unit's servers: the cycle each is free, and the op it last served."""

    unit: Unit
    servers: list[Due]

    def free(self) -> Due:
        """When a server is free next, and the op it then leaves."""
        first = self.servers[0]
        if len(self.servers) == 1:
            return first
        return min(self.servers, key=lambda server: server.time)

    def take(self, until: int, op: int) -> None:
        """Give the server that is free next to an op."""
        self.servers[self.servers.index(self.free())] = Due(until, op)


@dataclass(slots=True)
class BarrierState:
    """A barrier, how often it was passed, and who has come since: row, cycle and place."""

    spec: BarrierSpec
    ordinal: int = 0
    arrivals: list[tuple[int, int, Place]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row that stands before ``step`` until a signal has been given ``count`` times."""

    row: int
    step: Await | Turn
    count: int
    cost: int


@dataclass(slots=True)
class SignalState:
    """How often a signal was given (and will be, by those on the way), and who waits for it."""

    given: int = 0
    promised: int = 0
    waiting: list[Waiting] = field(default_factory=list)


class Gift(NamedTuple):
    """A signal on its way: given by a step, or by op ``op`` when it completes."""

    signal: str
    place: Place
    op: int | None
    row: int
