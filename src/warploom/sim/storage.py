"""Lives of storage slots and the data links between ops, read off the ops of a run.

Every row runs the same text over shared storage, so the n-th write of a row to a slot and the
n-th write of any other row together make the slot's n-th content. Private storage (registers)
lives row by row. A slot named with ``#`` and a number says itself which content is meant.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from warploom.sim.events import Link, SlotEvent
from warploom.sim.state import Trace

USE = "#"
SHARED_PREFIXES = ("LDS ", "smem ")


@dataclass(slots=True)
class _Life:
    """A content of a slot: the ops that wrote it and those that read it."""

    slot: str
    row: int | None
    content: str
    writers: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)


def storage_events(trace: Trace) -> tuple[tuple[SlotEvent, ...], tuple[Link, ...]]:
    """All lives of all slots in order of their start, and all links from writer to reader."""
    lives: dict[tuple[str, int | None, int], _Life] = {}
    writes: Counter[tuple[int, str]] = Counter()
    contents: dict[int, str] = {}
    for number, (event, step) in enumerate(zip(trace.ops, trace.issues, strict=True)):
        contents[number] = step.content
        for slot in step.reads:
            life = lives.get(_key(slot, event.row, writes[event.row, slot]))
            if life is not None:
                life.readers.append(number)
                contents[number] = contents[number] or life.content
        if step.writes:
            writes[event.row, step.writes] += 1
            key = _key(step.writes, event.row, writes[event.row, step.writes])
            life = lives.setdefault(key, _Life(step.writes, key[1], contents[number]))
            life.writers.append(number)
    events = sorted(
        (_event(trace, life) for life in lives.values()),
        key=lambda life: (life.slot, -1 if life.row is None else life.row, life.start),
    )
    links = tuple(link for life in lives.values() for link in _links(trace, life))
    return tuple(events), links


def _key(slot: str, row: int, ordinal: int) -> tuple[str, int | None, int]:
    if USE in slot:  # the program says which use it means: writer and reader need not be one row
        return slot, None, 0
    return slot, (None if slot.startswith(SHARED_PREFIXES) else row), ordinal


def _event(trace: Trace, life: _Life) -> SlotEvent:
    ready = max(trace.ops[i].done for i in life.writers)
    return SlotEvent(
        slot=life.slot.split(USE, maxsplit=1)[0],
        row=life.row,
        content=life.content,
        start=min(trace.ops[i].issue for i in life.writers),
        ready=ready,
        end=max([ready, *(trace.ops[i].done for i in life.readers)]),
        writers=tuple(life.writers),
        readers=tuple(life.readers),
    )


def _links(trace: Trace, life: _Life) -> list[Link]:
    """From each row's own write to its reads; the other rows' shares look the same."""
    links = []
    slot = life.slot.split(USE, maxsplit=1)[0]
    for reader in life.readers:
        row = trace.ops[reader].row
        own = [i for i in life.writers if trace.ops[i].row == row]
        for writer in own or life.writers:
            what = f" ({life.content})" if life.content else ""
            text = (
                f"{trace.ops[reader].place.text()} reads {slot}{what} written by "
                f"{trace.ops[writer].place.text()}"
            )
            links.append(Link(src=writer, dst=reader, via=slot, text=text))
    return links
