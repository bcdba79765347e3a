"""A text unrolled for one trip count.

Positions count the events of the unrolled program. All waves run the same positions; wave groups
differ only in the barriers at the stagger point. For events of two waves, ``e1`` happens before
``e2`` exactly when the second wave has executed at least one barrier more before ``e2`` than the
first before ``e1``: that barrier joined both.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.document.kinds import Phase
from warploom.verify.assumptions import Queue
from warploom.verify.text import Item, Kind, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The events of one wave for ``trips`` iterations.

    ``barriers[t]`` counts the barriers in front of position ``t`` in group 0; ``stagger`` is the
    position of the stagger point, or -1. ``issued[queue][t]`` are the units issued in front of
    ``t``, ``waits[queue]`` the positions of its waits.
    """

    text: Text
    trips: int
    items: list[Item]
    turns: list[int]
    barriers: list[int]
    stagger: int
    issued: dict[Queue, list[int]]
    waits: dict[Queue, list[int]]

    def barriers_before(self, position: int, group: int) -> int:
        """Barriers a wave of a group has executed in front of a position."""
        behind = 0 <= self.stagger < position
        return self.barriers[position] + (group if behind else 0)

    def units_between(self, queue: Queue, first: int, second: int) -> int:
        """Units of a queue issued after ``first`` and in front of ``second``."""
        return self.issued[queue][second] - self.issued[queue][first + 1]


def unroll(text: Text, trips: int) -> Program:
    """The program of one wave for a trip count."""
    items = list(text.prologue)
    turns = [0] * len(items)
    if text.protocol.barrier_after_prologue:
        items.append(Item(kind=Kind.BARRIER, phase=Phase.PROLOGUE, index=text.sizes[0]))
        turns.append(0)
    for turn in range(trips):
        items += text.kernel
        turns += [turn] * len(text.kernel)
    tail = list(text.epilogue)
    if text.protocol.epilogue_drain:
        added = (Kind.DRAIN, Kind.BARRIER)
        tail[:0] = [Item(kind=kind, phase=Phase.EPILOGUE, index=0) for kind in added]
    items += tail
    turns += [0] * len(tail)
    return _count(text, trips, items, turns)


def _count(text: Text, trips: int, items: list[Item], turns: list[int]) -> Program:
    barriers, stagger = [0], -1
    issued: dict[Queue, list[int]] = {Queue.VM: [0], Queue.LGKM: [0]}
    vm, lgkm = issued[Queue.VM], issued[Queue.LGKM]
    waits: dict[Queue, list[int]] = {Queue.VM: [], Queue.LGKM: []}
    for position, item in enumerate(items):
        kind, queue = item.kind, item.queue
        barriers.append(barriers[-1] + (kind is Kind.BARRIER))
        vm.append(vm[-1] + (item.units if queue is Queue.VM else 0))
        lgkm.append(lgkm[-1] + (item.units if queue is Queue.LGKM else 0))
        if kind is Kind.STAGGER:
            stagger = position
        elif kind is Kind.WAIT and queue is not None:
            waits[queue].append(position)
    return Program(
        text=text,
        trips=trips,
        items=items,
        turns=turns,
        barriers=barriers,
        stagger=stagger,
        issued=issued,
        waits=waits,
    )
