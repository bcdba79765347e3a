"""A text with decided waits as a ``ScheduleDocument`` again, and where each wait went."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from warploom.document.counters import ScheduleDocument
from warploom.document.kinds import Phase
from warploom.document.ops import DepEdge, OpDesc, ScheduleEntry
from warploom.guard.counters.program import Site
from warploom.guard.counters.text import PHASES, Act, Item, Queue, Text
from warploom.guard.counters.waits import Placed


@dataclass(frozen=True, slots=True)
class Emitted:
    """The document; entry index of every item of the text and of every decided wait."""

    document: ScheduleDocument
    items: dict[Site, int]
    waits: dict[tuple[Site, Queue], int]


def emit(text: Text, placed: Placed) -> Emitted:
    """Write the phases: items in order, each decided wait in front of its item."""
    items: dict[Site, int] = {}
    waits: dict[tuple[Site, Queue], int] = {}
    phases = {p: _phase(text, placed, p, items, waits) for p in PHASES}
    stagger = _stagger(text, items)
    old = text.document
    document = replace(
        old,
        protocol=replace(old.protocol, stagger_index=stagger),
        prologue=phases[Phase.PROLOGUE],
        kernel=phases[Phase.KERNEL],
        epilogue=phases[Phase.EPILOGUE],
        kernel_deps=_moved_deps(text, items),
        warp_stagger_index=_stagger_field(old, stagger, len(phases[Phase.PROLOGUE])),
    )
    return Emitted(document, items, waits)


def wait_op(queue: Queue, count: int) -> OpDesc:
    """The op of a wait."""
    return OpDesc.wait_vm(count) if queue is Queue.VM else OpDesc.wait_lgkm(count)


def _phase(
    text: Text,
    placed: Placed,
    phase: Phase,
    items: dict[Site, int],
    waits: dict[tuple[Site, Queue], int],
) -> tuple[ScheduleEntry, ...]:
    here: dict[int, list[tuple[Queue, Site]]] = defaultdict(list)
    for site, counts in placed.counts.items():
        if site[0] is phase:
            here[text.front(*site)] += [(q, site) for q in Queue if q in counts]
    out: list[ScheduleEntry] = []
    for i, item in enumerate((*text.phase(phase), None)):
        own = item is not None and item.act is Act.WAIT
        for queue, site in here.get(i, ()):
            waits[site, queue] = len(out)
            if own and item is not None and item.queue is queue:
                continue
            op = wait_op(queue, placed.counts[site][queue])
            out.append(ScheduleEntry(op=op, time_slot=len(out), phase=phase))
        items[phase, i] = len(out)
        if item is not None and item.act is not Act.STAGGER:
            out.append(_entry(item, phase, len(out), placed.counts.get((phase, i), {})))
    return tuple(out)


def _entry(item: Item, phase: Phase, slot: int, counts: dict[Queue, int]) -> ScheduleEntry:
    if item.entry is None:
        return ScheduleEntry(op=OpDesc.barrier(), time_slot=slot, phase=phase)
    if item.act is Act.WAIT and item.queue in counts:
        tightened = replace(item.op, wait_value=counts[item.queue])
        return replace(item.entry, op=tightened, time_slot=slot)
    return replace(item.entry, time_slot=slot)


def _stagger(text: Text, items: dict[Site, int]) -> int | None:
    for i, item in enumerate(text.prologue):
        if item.act is Act.STAGGER:
            return items[Phase.PROLOGUE, i]
    return None


def _stagger_field(old: ScheduleDocument, stagger: int | None, length: int) -> int:
    """The field mirrors the protocol; one that pointed after the prologue stays as far after."""
    if stagger is not None and old.warp_stagger_index == old.protocol.stagger_index:
        return stagger
    behind = old.warp_stagger_index - len(old.prologue)
    return length + behind if behind >= 0 else min(old.warp_stagger_index, length)


def _moved_deps(text: Text, items: dict[Site, int]) -> tuple[DepEdge, ...]:
    """Kernel dependences at their new indices; those of removed waits and barriers go."""
    moved = {x.source: items[Phase.KERNEL, i] for i, x in enumerate(text.kernel) if x.source >= 0}
    return tuple(
        DepEdge(moved[d.producer_idx], moved[d.consumer_idx], d.dep_kind, d.loop_distance)
        for d in text.document.kernel_deps
        if d.producer_idx in moved and d.consumer_idx in moved
    )
