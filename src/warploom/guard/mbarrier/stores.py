"""Counts of bulk stores: a staging copy is refilled when the store that reads it is over."""

from __future__ import annotations

from warploom.guard.mbarrier.expand import Lists
from warploom.guard.mbarrier.plan import Store, Stores
from warploom.guard.mbarrier.unrolled import Position, runs


def store_waits(lists: Lists) -> dict[Position, int]:
    """For each store position, how many younger store groups may be unread when it fills."""
    out: dict[Position, int] = {}
    for run in runs(lists):
        last: dict[tuple[str, int], int] = {}
        committed = 0
        for occurrence in run:
            action = occurrence.step.action
            if not isinstance(action, Store | Stores):
                continue
            copies = (action.copy,) if isinstance(action, Store) else (n for n, _ in action.chunks)
            for key in ((action.buffer, copy) for copy in copies):
                if key in last:
                    younger = committed - last[key] - 1
                    position = occurrence.position
                    out[position] = min(out.get(position, younger), younger)
                last[key] = committed
            committed += 1
    return out
