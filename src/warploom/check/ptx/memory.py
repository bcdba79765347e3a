"""Memory with a shadow: bytes, who wrote each byte last, who has read it since.

Every access is checked when it is made: against the last write of each byte and, for writes,
against all reads since. The shadow holds the writer's component and value per byte, and a number
for the set of reads; sets are shared between bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from warploom.check.ptx.clocks import CONTROL, FULL, GLOBAL, MAPS, SHARED

Array = NDArray[Any]
MOST_READERS = 512


class Knowing(Protocol):
    """What threads know: ``Clocks``, or a warp's view of them."""

    def look(self, plane: int, threads: Array, components: Array) -> Array:
        """What each thread knows of components."""


@dataclass(slots=True, eq=False)
class Event:
    """One execution of a memory instruction by the lanes of a warp.

    ``components`` and ``values``: one per lane for generic accesses, one in all for asynchronous
    ones. ``starts`` and ``width``: the bytes of each lane, where lanes have their own.
    """

    number: int
    pc: int
    warp: Any
    lanes: Array
    components: Array
    values: Array
    starts: Array | None
    width: int
    write: bool
    proxy: str
    atomic: bool = False
    iteration: int = 0
    what: str = ""
    scope: str = ""  # of an atomic access

    def strong_for(self, other: Event) -> bool:
        """Whether two atomic accesses are of scopes that include each other's thread."""
        if self.warp.cta is other.warp.cta:
            return True
        narrow = ("cta",) if self.warp.cta.cluster is other.warp.cta.cluster else ("cta", "cluster")
        return self.scope not in narrow and other.scope not in narrow


ROUNDING = 2.0**-12  # of a sum, where its terms cancel


class Conflict(NamedTuple):
    """Two accesses without an order; ``same`` where both wrote the same bytes."""

    old: Event
    new: Event
    kind: str  # RAW, WAR or WAW
    start: int
    stop: int
    old_lane: int
    new_lane: int
    same: bool
    proxy: bool  # ordered, but no proxy fence
    rounded: bool = False  # both wrote the same number, computed in two orders


def alike(one: Array, two: Array) -> Array:
    """Which bytes (rows of an access) are equal, or of words that differ by rounding alone.

    Lanes that hold copies of a sum may have added in different orders. Only words that are
    ordinary numbers in single precision count: small integers are not.
    """
    equal: Array = one == two
    if one.shape[-1] % 4 or equal.all():
        return equal
    a = np.ascontiguousarray(one).view(np.float32).astype(np.float64)
    b = np.ascontiguousarray(two).view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(a), np.abs(b))
        close = (np.abs(a - b) <= size * ROUNDING) & (size > 1e-20) & (size < 1e20)
    result: Array = equal | np.repeat(close, 4, axis=-1)
    return result


class Memory:
    """The bytes of a state space and their shadow."""

    def __init__(self, name: str, size: int, fill: int = 0) -> None:
        self.name = name
        self.data = np.full(size + (-size) % 16, fill, np.uint8)
        n = self.data.size
        self.component = np.zeros(n, np.int32)
        self.value = np.zeros(n, np.int32)
        self.writer = np.zeros(n, np.int32)
        self.atomic = np.zeros(n, np.bool_)
        self.readers = np.zeros(n, np.int32)
        self.untracked = 0  # bytes below are only read: reads leave no trace
        self.views: dict[Any, Array] = {}
        for dtype in (np.uint16, np.uint32, np.uint64):
            self.views[np.dtype(dtype).itemsize] = self.data.view(dtype)
        self.views[1] = self.data
        self._sets: list[tuple[Event, ...]] = [()]
        self._numbers: dict[tuple[int, ...], int] = {(): 0}
        self._added: dict[tuple[int, int], int] = {}

    def access(  # noqa: C901, PLR0912 (the one place where accesses are checked)
        self,
        clocks: Knowing,
        threads: Array,
        index: Array,
        event: Event,
        report: Callable[[Conflict], None],
        *,
        new: Array | None = None,
        war_fence: bool = False,
        data: bool = False,
    ) -> None:
        """Check one access and leave its trace.

        ``index``: bytes, a row for each of ``threads``. ``new``: the bytes to be written, to
        tell writes of the same value. ``data``: an atomic read that nothing repeats until its
        value changes. Where it comes after a write by control alone (a relaxed flag), what it
        reads may still be what was there before.
        """
        proxied = event.proxy != "generic"
        plane = FULL
        if event.proxy == "tensormap":
            plane = MAPS
        elif proxied:
            plane = GLOBAL if self.name == "global" else SHARED
        old_value = self.value[index]
        if old_value.any():
            old = self.component[index]
            bad = clocks.look(plane, threads, old) < old_value
            if event.atomic and bad.any():
                fine = self.atomic[index] & self._strong(index, event)
                if data and (bad & fine).any():
                    fine &= clocks.look(CONTROL, threads, old) < old_value
                bad &= ~fine
            if bad.any():
                self._writes(clocks, threads, index, event, report, bad, new, proxied)
        if event.write:
            sets = self.readers[index]
            if sets.any():
                self._reads(clocks, threads, index, event, report, sets, war_fence)
                self.readers[index] = 0
            self.component[index] = (
                event.components[0] if event.components.size == 1 else event.components[:, None]
            )
            self.value[index] = event.values[0] if event.values.size == 1 else event.values[:, None]
            self.writer[index] = event.number
            self.atomic[index] = event.atomic
        elif self.untracked == 0 or index.size == 0 or int(index.max()) >= self.untracked:
            self._note_read(clocks, index, event)

    def _writes(
        self,
        clocks: Knowing,
        threads: Array,
        index: Array,
        event: Event,
        report: Callable[[Conflict], None],
        bad: Array,
        new: Array | None,
        proxied: bool,
    ) -> None:
        rows, _ = np.nonzero(bad)
        where = index[bad]
        writers = self.writer[where]
        same = np.zeros(len(where), bool)
        rounded = same
        if new is not None:
            same = self.data[where] == new[bad]
            rounded = alike(self.data[index], new)[bad]
        for number in np.unique(writers):
            at = writers == number
            old = self.events[int(number)]
            bytes_, equal = where[at], bool(same[at].all())
            close = bool(rounded[at].all())
            lane = int(event.lanes[rows[at][0]]) if len(event.lanes) > 1 else int(event.lanes[0])
            ordered = False
            if proxied:
                known = clocks.look(FULL, threads, self.component[bytes_][None, :])
                ordered = bool((known >= self.value[bytes_][None, :]).all())
                if ordered and old.proxy == event.proxy:
                    continue  # one proxy: the order alone is enough
            start = int(bytes_.min())
            report(
                Conflict(
                    old,
                    event,
                    "WAW" if event.write else "RAW",
                    start,
                    _end(bytes_),
                    self._lane(old, int(bytes_[0])),
                    lane,
                    equal and not ordered,
                    ordered,
                    close and not ordered,
                )
            )

    events: list[Event]

    def _strong(self, index: Array, event: Event) -> Array:
        """Where the last writer and this atomic access are atomic for each other."""
        writers = self.writer[index]
        result = np.ones(index.shape, np.bool_)
        for number in np.unique(writers).tolist():
            if number and not event.strong_for(self.events[number]):
                result &= writers != number
        return result

    @staticmethod
    def _lane(event: Event, byte: int) -> int:
        if event.starts is None or len(event.lanes) == 1:
            return int(event.lanes[0])
        inside = (event.starts <= byte) & (byte < event.starts + event.width)
        return int(event.lanes[int(np.argmax(inside))])

    def _reads(
        self,
        clocks: Knowing,
        threads: Array,
        index: Array,
        event: Event,
        report: Callable[[Conflict], None],
        sets: Array,
        war_fence: bool,
    ) -> None:
        plane = SHARED if war_fence and event.proxy == "async" else CONTROL
        flat = sets.reshape(-1)
        numbers = [int(flat[0])] if (flat == flat[0]).all() else np.unique(flat).tolist()
        seen: set[int] = set()
        for number in numbers:
            for read in self._sets[number]:
                if read.number in seen or read is event:
                    continue
                seen.add(read.number)
                if event.atomic and read.atomic and event.strong_for(read):
                    continue
                need = read.values[None, :]
                known = clocks.look(
                    plane,
                    threads,
                    np.broadcast_to(read.components[None, :], (len(threads), len(read.components))),
                )
                bad = known < need
                if not bad.any():
                    continue
                self._read_conflict(clocks, threads, index, event, report, read, bad, plane)

    def _read_conflict(
        self,
        clocks: Knowing,
        threads: Array,
        index: Array,
        event: Event,
        report: Callable[[Conflict], None],
        read: Event,
        bad: Array,
        plane: int,
    ) -> None:
        """The lanes that share bytes; a pair without a shared byte is no conflict."""
        for row in np.nonzero(bad.any(axis=1))[0]:
            mine = index[row]
            held = mine[[read in self._sets[n] for n in self.readers[mine].tolist()]]
            if held.size == 0:
                continue
            for column in np.nonzero(bad[row])[0]:
                if read.starts is None or len(read.components) == 1:
                    shared = held
                    lane = int(read.lanes[0])
                else:
                    start = int(read.starts[column])
                    shared = held[(held >= start) & (held < start + read.width)]
                    lane = int(read.lanes[column])
                if shared.size:
                    order = clocks.look(
                        CONTROL, threads[row : row + 1], read.components[None, column : column + 1]
                    )
                    ordered = plane != CONTROL and bool(order[0, 0] >= read.values[column])
                    report(
                        Conflict(
                            read,
                            event,
                            "WAR",
                            int(shared.min()),
                            _end(shared),
                            lane,
                            int(event.lanes[row if len(event.lanes) > 1 else 0]),
                            False,
                            ordered,
                        )
                    )
                    return

    def _note_read(self, clocks: Knowing, index: Array, event: Event) -> None:
        old = self.readers[index]
        flat = old.reshape(-1)
        if flat.size == 0:
            return
        if (flat == flat[0]).all():
            self.readers[index] = self._with(int(flat[0]), event, clocks)
            return
        numbers, inverse = np.unique(flat, return_inverse=True)
        more = np.array([self._with(int(n), event, clocks) for n in numbers], np.int32)
        self.readers[index] = more[inverse].reshape(index.shape)

    def _with(self, number: int, event: Event, clocks: Knowing) -> int:
        """The set ``number`` and this read, without reads that this one covers."""
        key = (number, event.number)
        result = self._added.get(key)
        if result is not None:
            return result
        kept = [e for e in self._sets[number] if not _covers(e, event, clocks)]
        if len(kept) >= MOST_READERS:
            kept = kept[-MOST_READERS:]
        members = (*kept, event)
        name = tuple(e.number for e in members)
        made = self._numbers.get(name)
        if made is None:
            made = self._numbers[name] = len(self._sets)
            self._sets.append(members)
        if len(self._added) > 1 << 16:
            self._added.clear()
        self._added[key] = made
        return made


def _covers(old: Event, new: Event, clocks: Knowing) -> bool:
    """Whether everything ordered after ``new`` is ordered after ``old`` as well."""
    if old.atomic and not new.atomic:
        return False
    if old.components.size == 1 and new.components.size == 1 and old.starts is None:
        return bool(old.components[0] == new.components[0] and old.values[0] <= new.values[0])
    alike = old.warp is new.warp and old.components.size == new.components.size
    if alike and old.starts is not None and new.starts is not None and old.width == new.width:
        same = (old.components == new.components) & (old.starts == new.starts)
        if bool(np.all(same)):
            return True
    if new.components.size != new.lanes.size or new.proxy != "generic":
        return False
    threads = new.warp.threads[new.lanes]
    known = clocks.look(
        CONTROL,
        threads,
        np.broadcast_to(old.components[None, :], (len(threads), len(old.components))),
    )
    return bool((known >= old.values[None, :]).all())


def _end(where: Array) -> int:
    """One past the last byte of the first run of bytes."""
    ordered = np.unique(where)
    gaps = np.nonzero(np.diff(ordered) > 1)[0]
    return int(ordered[gaps[0]] if len(gaps) else ordered[-1]) + 1
