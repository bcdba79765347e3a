"""The simulator's own instruction form: one ``Program`` per row, made of a few kinds of steps.

Everything the simulator runs is brought into this form first: schedule documents by
``sim.lower``, programs of warp roles directly. Counters, commit groups, barriers and
mbarriers all reduce to four primitives: an in-order queue with waits on it, a meeting of rows, a
signal that is counted, and a wait for a signal's count.

Example, a consumer of a ring of two buffers::

    Await(place=..., signal="full[0]", count=1)
    Issue(place=..., unit="tensor", timing=OpTiming(issue=16, occupancy=512, latency=574),
          queue="wgmma", count=1)
    WaitQueue(place=..., queue="wgmma", leave=0)
    Signal(place=..., signal="empty[0]")
"""

from __future__ import annotations

from typing import NamedTuple

from warploom.dataclass import dataclass
from warploom.errors import SimulationError
from warploom.ir.machine_costs import OpTiming
from warploom.sim.events import Place, Row

MAX_STEPS = 2_000_000


class Slot(NamedTuple):
    """Storage that ops write and read: of a row, or ``shared`` by all of them.

    ``use``: which use of it the program means; None: the one that is under way.
    """

    name: str
    shared: bool = False
    use: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """Issue an op of ``instructions`` instructions on a unit.

    It waits for every register in ``needs`` and delivers those in ``gives``; with a ``queue`` it
    takes ``count`` units of it and retires in order. Each of ``signals`` is given ``handoff``
    cycles after it is done. Where the unit takes only so much unfinished work (``ahead`` cycles of
    it), the row stands still until no more than that is left.
    """

    place: Place
    kind: str
    unit: str
    timing: OpTiming
    instructions: int = 1
    ahead: int | None = None
    queue: str = ""
    count: int = 0
    needs: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    handoff: int = 0
    writes: Slot | None = None
    reads: tuple[Slot, ...] = ()
    content: str = ""
    detail: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitQueue:
    """Stand still until at most ``leave`` units of a queue are in flight."""

    place: Place
    queue: str
    leave: int
    cost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Meet:
    """Join a barrier; first let the ``drain`` queues run empty."""

    place: Place
    barrier: str
    drain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Give a signal (an arrive); others see it ``handoff`` cycles later."""

    place: Place
    signal: str
    cost: int = 0
    handoff: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Await:
    """Stand still until a signal has been given ``count`` times in all, ``cost`` at the least."""

    place: Place
    signal: str
    count: int
    cost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Arrive at a barrier that ``per`` arrivals complete again and again.

    A row that ``waits`` goes on when the round it arrived in is complete; others only arrive.
    """

    place: Place
    barrier: str
    per: int
    waits: bool
    handoff: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Priority:
    """From here on this row wins (or loses) ties for a unit."""

    place: Place
    value: int
    cost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """Take some cycles of the row's own stream."""

    place: Place
    cost: int


Step = Issue | WaitQueue | Meet | Signal | Await | Turn | Priority | Spend


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What one row runs, and the units of its queues that may be in flight (None: any)."""

    row: Row
    steps: tuple[Step, ...]
    limits: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One unit of the machine: ``name`` is its identity, ``lane`` the name views group by.

    ``shared``: ops of several rows run at once; how long each takes then its price must say.
    """

    name: str
    lane: str
    capacity: int = 1
    blocking: bool = False
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierSpec:
    """A barrier, the number of rows that must meet at it, and cycles from meeting to release."""

    name: str
    rows: int
    cost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Programs, units and barriers: all the engine runs on. ``waits`` reads in listings."""

    name: str
    programs: tuple[Program, ...]
    units: tuple[Unit, ...]
    barriers: tuple[BarrierSpec, ...] = ()


def check_length(steps: int, name: str) -> None:
    """Refuse a run of more than ``MAX_STEPS`` steps over all rows."""
    if steps > MAX_STEPS:
        raise SimulationError(
            f"the run has {steps} steps; the limit is {MAX_STEPS}",
            where=name,
            fix="simulate fewer trips: the steady state needs only a few",
        )
