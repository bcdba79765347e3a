"""A text unrolled for one trip count, and what must be ordered in it.

``Program`` answers the two questions everything rests on: how many units of a queue were issued
after an operation (``younger``), and up to which gap a wait still serves a requirement
(``deadline``). A *gap* ``t`` is the place in front of element ``t``.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

from warploom.dataclass import dataclass
from warploom.ir.counter_dialect import Queue
from warploom.ir.schedule_ops import Phase
from warploom.sync.counters import reasons as texts

Site = tuple[Phase, int]
Waits = Mapping[Site, Mapping[Queue, int]]


class Hazard(StrEnum):
    """The ways two operations can race."""

    RAW_LDS = "RAW-LDS"
    WAR_LDS = "WAR-LDS"
    WAW_LDS = "WAW-LDS"
    RAW_REG = "RAW-REG"


class Element(NamedTuple):
    """One executed item: its place in the text (``None``: added by the protocol) and iteration."""

    phase: Phase | None
    index: int  # type: ignore[assignment]  # a tuple's own method, not used here
    iteration: int
    item: texts.Item


class Need(NamedTuple):
    """``producer`` must be complete before ``consumer`` issues (indices of program elements).

    ``cross``: complete in every wave before any wave issues the consumer.
    """

    hazard: Hazard
    queue: Queue
    producer: int
    consumer: int
    cross: bool


@dataclass(frozen=True, slots=True)
class Program:
    """The text as one wave executes it for ``trips`` loop iterations.

    ``guards[t]``: the youngest operation the code generator itself waits for in front of element
    ``t``, or -1.
    """

    text: texts.Text
    trips: int
    elements: tuple[Element, ...]
    barriers: tuple[int, ...]
    issued: Mapping[Queue, tuple[int, ...]]
    stagger: int
    starts: tuple[int, ...]
    guards: tuple[int, ...]

    def demand(self, gap: int) -> int:
        """Barriers needed between a wait at ``gap`` and a consumer, over all pairs of waves."""
        p = self.text.protocol
        if p.groups * p.waves_per_group == 1:
            return 0
        return p.groups if 0 <= self.stagger < gap else 1

    def deadline(self, need: Need) -> int | None:
        """The latest gap at which a wait still serves ``need``; ``None`` if there is none."""
        if not need.cross:
            return need.consumer
        for t in range(need.consumer, need.producer, -1):
            if self.barriers[need.consumer] - self.barriers[t] >= self.demand(t):
                return t
        return None

    def younger(self, queue: Queue, producer: int, gap: int) -> int:
        """Units of ``queue`` issued after ``producer`` and before ``gap``."""
        issued = self.issued[queue]
        return issued[gap] - issued[producer + 1]

    def site(self, gap: int) -> Site | None:
        """The place in the text a gap belongs to; ``None`` where nothing can be inserted."""
        e = self.elements[gap]
        return None if e.phase is None else (e.phase, e.index)

    def count_at(self, waits: Waits, gap: int, queue: Queue) -> int | None:
        """The count waited for at a gap: by a decided wait, a kept wait or a draining barrier."""
        phase, index, _, item = self.elements[gap]
        if item.act is texts.Act.BARRIER and item.drains:
            return 0
        here = None if phase is None else waits.get((phase, index))
        decided = None if here is None else here.get(queue)
        kept = kept_count(item) if item.queue is queue else None
        if decided is None or kept is None:
            return kept if decided is None else decided
        return min(decided, kept)

    def completed_at(self, waits: Waits, need: Need, last: int) -> int | None:
        """The first gap up to ``last`` at which the producer is complete; ``None`` if it is not."""
        guards, producer, queue = self.guards, need.producer, need.queue
        issued = self.issued[queue]
        before = issued[producer + 1]
        for t in range(producer + 1, last + 1):
            if guards[t] >= producer and self.queue(guards[t]) is queue:
                return t
            n = self.count_at(waits, t, queue)
            if n is not None and issued[t] - before >= n:
                return t
        return None

    def needs(self) -> Iterator[Need]:
        """Everything that must be ordered; only nearest pairs, since farther ones follow.

        Two writes with a read between are ordered by that read.
        """
        useful = _useful(self.elements)
        guarded = self.text.registers_guarded
        writer: dict[texts.Slot, int] = {}
        readers: dict[texts.Slot, list[int]] = defaultdict(list)
        holder: dict[texts.Register, int] = {}
        for t, e in enumerate(self.elements):
            item, live = e.item, t in useful
            if item.act in (texts.Act.MMA, texts.Act.STORE) and not guarded:
                for source in (holder[r] for r in item.uses if r in holder):
                    yield Need(Hazard.RAW_REG, self.queue(source), source, t, False)
            if item.slot is not None and item.writes_slot:
                for r in readers[item.slot]:
                    yield Need(Hazard.WAR_LDS, Queue.LGKM, r, t, True)
                if item.slot in writer and live and not readers[item.slot]:
                    last = writer[item.slot]
                    yield Need(Hazard.WAW_LDS, self.queue(last), last, t, False)
                writer[item.slot], readers[item.slot] = t, []
            elif item.slot in writer and live:
                last = writer[item.slot]
                yield Need(Hazard.RAW_LDS, self.queue(last), last, t, True)
                readers[item.slot].append(t)
            if item.defines is not None:
                holder[item.defines] = t

    def queue(self, t: int) -> Queue:
        """The queue of an asynchronous element."""
        queue = self.elements[t].item.queue
        assert queue is not None
        return queue


def kept_count(item: texts.Item) -> int | None:
    """What a wait of the document waits for; ``None`` if that is nothing the counter expresses."""
    if item.act is not texts.Act.WAIT or item.queue is None:
        return None
    return item.op.wait_value if 0 <= item.op.wait_value <= item.queue.largest_wait else None


def _useful(elements: tuple[Element, ...]) -> set[int]:
    """Elements whose value reaches an MMA. The rest create no requirement."""
    source: dict[object, int] = {}
    inputs: dict[int, list[int]] = {}
    useful: set[int] = set()
    for t, e in enumerate(elements):
        item = e.item
        if item.act in (texts.Act.MMA, texts.Act.STORE):
            inputs[t] = [source[r] for r in item.uses if r in source]
        elif item.act is texts.Act.READ:
            inputs[t] = [source[item.slot]] if item.slot in source else []
        if item.act is texts.Act.MMA:
            useful.add(t)
        if item.writes_slot:
            source[item.slot] = t
        if item.defines is not None:
            source[item.defines] = t
    todo = list(useful)
    while todo:
        for t in inputs.get(todo.pop(), ()):
            if t not in useful:
                useful.add(t)
                todo.append(t)
    return useful


def unroll(text: texts.Text, trips: int) -> Program:
    """The program of one wave, without the barriers only some groups execute."""
    elements, starts = _elements(text, trips)
    items = [e.item for e in elements]
    issued = {
        q: tuple(accumulate([x.units if x.queue is q else 0 for x in items], initial=0))
        for q in Queue
    }
    marks = [t for t, x in enumerate(items) if x.act is texts.Act.STAGGER]
    return Program(
        text,
        trips,
        tuple(elements),
        tuple(accumulate([x.act is texts.Act.BARRIER for x in items], initial=0)),
        issued,
        marks[0] if marks else -1,
        tuple(starts),
        _guards(elements) if text.registers_guarded else (-1,) * len(elements),
    )


def _guards(elements: list[Element]) -> tuple[int, ...]:
    """Per MMA or store, the youngest operation that fills one of its registers."""
    holder: dict[texts.Register, int] = {}
    out = []
    for t, e in enumerate(elements):
        out.append(max((holder.get(r, -1) for r in e.item.uses), default=-1))
        if e.item.defines is not None:
            holder[e.item.defines] = t
    return tuple(out)


def _elements(text: texts.Text, trips: int) -> tuple[list[Element], list[int]]:
    """All executed items and the positions at which iterations begin.

    The gap at the end of the prologue has an element of its own: the barrier the protocol puts
    there, or one without effect.
    """
    protocol = text.protocol
    out = [Element(Phase.PROLOGUE, i, 0, x) for i, x in enumerate(text.prologue)]
    joint = replace(texts.DERIVED_BARRIER, derived=False, drains=text.fencing)
    end = joint if protocol.barrier_after_prologue else texts.END
    out.append(Element(Phase.PROLOGUE, len(text.prologue), 0, end))
    starts = []
    for k in range(trips):
        starts.append(len(out))
        out += [Element(Phase.KERNEL, i, k, x) for i, x in enumerate(text.kernel)]
    if protocol.epilogue_drain:
        out.append(Element(None, 0, 0, replace(joint, drains=True)))
    out += [Element(Phase.EPILOGUE, i, 0, x) for i, x in enumerate(text.epilogue)]
    return out, starts
