"""Completion: where each asynchronous operation is first known to be over.

Both queues retire in order of issue. A wait for ``n`` completes everything that has at least ``n``
units issued after it; a drain and a fencing barrier complete everything. Where the code generator
guards the registers, the wait it puts in front of an MMA or a store counts as well.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from warploom.document import RegisterWaits
from warploom.verify.assumptions import Assumptions, Queue
from warploom.verify.dataflow import Flow
from warploom.verify.program import Program
from warploom.verify.text import Item, Kind

NEVER = 1 << 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Where each asynchronous operation is first known to be complete.

    ``done[x]`` is the position of the event that completes the operation issued at ``x`` (``NEVER``
    if none does): it is complete for everything after. ``late`` is the same for groups >= 1, whose
    stagger barriers may drain too. ``literal`` takes every wait count at its word, also those the
    hardware can not express.
    """

    done: list[int]
    late: list[int]
    literal: list[int]


def complete(program: Program, flow: Flow, assumptions: Assumptions) -> Completion:
    """Find where every asynchronous operation completes."""
    text = program.text
    done = _Sweep(program, flow, assumptions).walk()
    drains_at_stagger = text.fencing and program.stagger >= 0
    unencodable = any(item.is_unencodable for item in text.items())
    return Completion(
        done=done,
        late=_Sweep(program, flow, assumptions, late=True).walk() if drains_at_stagger else done,
        literal=_Sweep(program, flow, assumptions, literal=True).walk() if unencodable else done,
    )


class _Sweep:
    """One walk over the program with both queues as lists of (position, units issued through)."""

    def __init__(
        self,
        program: Program,
        flow: Flow,
        assumptions: Assumptions,
        *,
        late: bool = False,
        literal: bool = False,
    ) -> None:
        self.items = program.items
        self.flow = flow
        self.assumptions = assumptions
        self.literal = literal
        self.done = [NEVER] * len(program.items)
        self.flights: dict[Queue, deque[tuple[int, int]]] = {q: deque() for q in Queue}
        self.issued = dict.fromkeys(Queue, 0)
        self.drains = {Kind.DRAIN}
        if program.text.fencing:
            self.drains |= {Kind.BARRIER, Kind.STAGGER} if late else {Kind.BARRIER}
        self.guarded = program.text.protocol.register_waits is RegisterWaits.COMPILER

    def walk(self) -> list[int]:
        """Where each operation completes."""
        for position, item in enumerate(self.items):
            if item.kind is Kind.WAIT:
                self._wait(position, item)
            elif item.kind in self.drains:
                self._retire(Queue.VM, 0, position)
                self._retire(Queue.LGKM, 0, position)
            else:
                if self.guarded:
                    self._guard(position, item)
                if item.queue is not None:
                    self._issue(position, item, item.queue)
        return self.done

    def _wait(self, position: int, item: Item) -> None:
        queue = item.queue
        assert queue is not None
        works = self.literal or not item.is_unencodable
        if works and (item.count == 0 or self.assumptions.in_order(queue)):
            self._retire(queue, item.count, position)

    def _issue(self, position: int, item: Item, queue: Queue) -> None:
        self.issued[queue] += item.units
        self.flights[queue].append((position, self.issued[queue]))
        if self.assumptions.issue_stalls and self.assumptions.in_order(queue):
            self._retire(queue, queue.capacity, position)

    def _guard(self, position: int, item: Item) -> None:
        """The wait the code generator puts in front of an event that takes registers."""
        if item.kind is Kind.MMA:
            self._retire_through(
                Queue.LGKM, max(self.flow.operands[position], default=-1), position
            )
        elif item.kind is Kind.STORE:
            self._retire_through(Queue.VM, self.flow.source[position], position)

    def _retire(self, queue: Queue, count: int, position: int) -> None:
        flight, through = self.flights[queue], self.issued[queue] - count
        while flight and flight[0][1] <= through:
            self.done[flight.popleft()[0]] = position

    def _retire_through(self, queue: Queue, last: int, position: int) -> None:
        """Complete everything issued up to position ``last``.

        Out of order, the only wait that completes one operation completes all.
        """
        flight = self.flights[queue]
        if flight and flight[0][0] <= last and not self.assumptions.in_order(queue):
            last = position
        while flight and flight[0][0] <= last:
            self.done[flight.popleft()[0]] = position
