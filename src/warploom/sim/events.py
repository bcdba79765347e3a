"""What a run looked like: typed events in cycles, the only thing the views read.

A *row* is whatever runs a program of its own: a wave of a wave group, or a warp role. Events point
at rows and at each other by index (``row`` into ``Simulation.rows``, ``op`` into
``Simulation.ops``). A measured trace can be brought into the same form: nothing here knows how the
times came about.

Example: row 0 issues a load at cycle 4, the memory unit serves it until 8, its data is there at
207; a wait at cycle 20 stalls until then::

    OpEvent(row=0, unit="GLOBAL_MEM", issue=4, issued=8, start=4, end=8, done=207, ...)
    StallEvent(row=0, start=20, end=207, cause=StallCause(kind=StallKind.QUEUE, op=0, ...), ...)
"""

from __future__ import annotations

from enum import StrEnum

from warploom.dataclass import dataclass


class StallKind(StrEnum):
    """Why a row stood still."""

    QUEUE = "wait"  # a counter or group wait: an asynchronous op had not completed
    BARRIER = "barrier"  # other rows had not arrived
    SIGNAL = "signal"  # a signal (a lap of an mbarrier) had not been given
    REGISTER = "register"  # a result this op reads was not there yet
    UNIT = "unit"  # the unit was busy
    CAPACITY = "capacity"  # the counter could not count more operations in flight


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One program in the run: a wave (with its group) or an instance of a role, which runs
    ``program``.
    """

    name: str
    group: int = 0
    wave: int = 0
    role: str = ""
    program: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in the schedule something stands: phase, entry index and loop iteration."""

    phase: str
    index: int
    iteration: int | None
    label: str

    def text(self) -> str:
        """A readable form, e.g. ``LOAD_A[1,0] (kernel 12, iteration 3)``."""
        which = "" if self.iteration is None else f", iteration {self.iteration}"
        return f"{self.label} ({self.phase} {self.index}{which})"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpEvent:
    """One op: its row issues in ``[issue, issued)``, the unit is held in ``[start, end)``.

    The result may be used from ``done`` on. ``queue`` names the in-order counter it occupies
    with ``count`` units. ``detail`` holds further facts for display, as (name, value) pairs.
    """

    row: int
    place: Place
    kind: str
    unit: str
    lane: str
    issue: int
    issued: int
    start: int
    end: int
    done: int
    queue: str = ""
    count: int = 0
    detail: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StallCause:
    """What a stall waited for; ``op`` or ``row`` point at the culprit where there is one."""

    kind: StallKind
    text: str
    op: int | None = None
    row: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StallEvent:
    """A row stood still in ``[start, end)`` in front of the entry at ``place``."""

    row: int
    place: Place
    start: int
    end: int
    cause: StallCause


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitEvent:
    """A wait was reached at ``start`` and left at ``end``; both are equal when it cost nothing.

    ``op`` is the op that must complete (None: nothing was in flight), ``ready`` when it did.
    """

    row: int
    place: Place
    start: int
    end: int
    op: int | None
    ready: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierEvent:
    """All participants met: ``arrivals`` holds (row, cycle); they went on at ``release``."""

    name: str
    ordinal: int
    release: int
    arrivals: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotEvent:
    """One life of a storage slot: first written at ``start``, full at ``ready``, free at ``end``.

    ``row`` is None for storage shared by all rows (LDS). ``content`` says what lay there.
    """

    slot: str
    row: int | None
    content: str
    start: int
    ready: int
    end: int
    writers: tuple[int, ...] = ()
    readers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Data went from op ``src`` to op ``dst`` through ``via``."""

    src: int
    dst: int
    via: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSpan:
    """A row spent ``[start, end)`` in one phase, or in one iteration of the loop."""

    row: int
    phase: str
    iteration: int | None
    start: int
    end: int
