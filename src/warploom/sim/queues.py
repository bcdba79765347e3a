"""In-order queues of asynchronous operations: what retires when, and who holds it up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from warploom.document.machine import OpTiming


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

    def room(self, count: int, limit: int) -> Due:
        """When ``count`` more units fit; an op larger than the limit needs the queue empty."""
        return self.due(max(0, limit - count))


def _later(first: Due, second: Due) -> Due:
    """The later of two; the earlier in queue order is to blame when both are equal."""
    return second if second.time > first.time else first
