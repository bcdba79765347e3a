"""What the engine keeps of a run: rows, units, barriers and signals on the way, and the trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from warploom.sim.events import BarrierEvent, OpEvent, Place, Row, StallEvent, WaitEvent
from warploom.sim.program import Await, BarrierSpec, Issue, Program, Turn, Unit
from warploom.sim.queues import Due, InOrderQueue


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
