"""Is every derived wait and barrier needed? Decided by a judge that is handed in.

The judge shares nothing with this room: it says of a document whether it is free of findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from warploom.ir.counter_dialect import Queue, ScheduleDocument
from warploom.ir.schedule_ops import OpDesc, Phase, ScheduleEntry, ScheduleOps
from warploom.sync.counters.reasons import LETTER, PHASES

Judge = Callable[[ScheduleDocument], bool]
"""True when the document has no finding."""

Place = tuple[Phase, int]

_QUEUE: dict[int, Queue] = {ScheduleOps.WAIT_VM: Queue.VM, ScheduleOps.WAIT_LGKM: Queue.LGKM}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loose:
    """A wait or barrier that could be weaker or absent: ``change`` leaves no finding."""

    phase: Phase
    index: int
    change: str

    @property
    def text(self) -> str:
        """``K[3]: vm(12) -> vm(13)``."""
        return f"{LETTER[self.phase]}[{self.index}]: {self.change}"


def check_minimal(
    document: ScheduleDocument,
    judge: Judge,
    *,
    barriers: Iterable[Place] = (),
    waits: Iterable[Place] | None = None,
) -> tuple[Loose, ...]:
    """The loose ones among ``waits`` (all unless given) and ``barriers`` (the derived ones).

    Each wait is weakened by one (a count no counter can express means no wait at all), each
    barrier dropped; what the judge still calls clean is loose.
    """
    places = _all_waits(document) if waits is None else waits
    changes = [*(_weaker(document, p) for p in places), *(_without(document, b) for b in barriers)]
    return tuple(
        Loose(phase=place[0], index=place[1], change=change)
        for place, change, weaker in changes
        if judge(weaker)
    )


def _all_waits(document: ScheduleDocument) -> Iterator[Place]:
    for phase in PHASES:
        for i, entry in enumerate(document.phase(phase)):
            if int(entry.op.tag) in _QUEUE:
                yield phase, i


def _weaker(document: ScheduleDocument, place: Place) -> tuple[Place, str, ScheduleDocument]:
    entry = document.phase(place[0])[place[1]]
    queue, count = _QUEUE[int(entry.op.tag)], entry.op.wait_value
    old = f"{queue.value}({count})"
    if count + 1 > queue.largest_wait:
        changed = replace_entry(document, place, None)
        return place, f"{old} -> no wait", changed
    weaker = replace(entry, op=replace(entry.op, wait_value=count + 1))
    return place, f"{old} -> {queue.value}({count + 1})", replace_entry(document, place, weaker)


def _without(document: ScheduleDocument, place: Place) -> tuple[Place, str, ScheduleDocument]:
    return place, "barrier -> none", replace_entry(document, place, None)


def replace_entry(
    document: ScheduleDocument, place: Place, entry: ScheduleEntry | None
) -> ScheduleDocument:
    """The document with one entry replaced, or by a hint without effect if ``entry`` is None.

    A hint and not a gap: indices, the stagger point among them, stay what they are.
    """
    phase, index = place
    entries = list(document.phase(phase))
    hint = replace(entries[index], op=OpDesc.schedule_barrier())
    entries[index] = hint if entry is None else entry
    new = tuple(entries)
    if phase is Phase.PROLOGUE:
        return replace(document, prologue=new)
    if phase is Phase.KERNEL:
        return replace(document, kernel=new)
    return replace(document, epilogue=new)
