"""A text with decided waits as a document again, and why each wait and barrier is there.

A reason names the binding requirement (the one that leaves the fewest units in flight), every
further requirement the same wait is the first to serve, what may stay in flight, and the trip
count that binds.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.ir.counter_dialect import Queue, ScheduleDocument
from warploom.ir.schedule_ops import DepEdge, OpDesc, Phase, ScheduleEntry
from warploom.sync.counters.program import Hazard, Program, Site
from warploom.sync.counters.reasons import LETTER, PHASES, Act, Item, Text
from warploom.sync.counters.waits import Duty, Placed, Windows


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
    old = item.entry
    if old.time_slot == slot:
        return old
    return replace(old, time_slot=slot)


def _stagger(text: Text, items: dict[Site, int]) -> int | None:
    for i, item in enumerate(text.prologue):
        if item.act is Act.STAGGER:
            return items[Phase.PROLOGUE, i]
    return None


def _stagger_field(old: ScheduleDocument, stagger: int | None, length: int) -> int:
    """The field mirrors the protocol; one that pointed after the prologue stays as far after."""
    if stagger is not None and old.warp_stagger_index == old.protocol.stagger_index:
        return stagger
    after = old.warp_stagger_index - len(old.prologue)
    return length + after if after >= 0 else min(old.warp_stagger_index, length)


def _moved_deps(text: Text, items: dict[Site, int]) -> tuple[DepEdge, ...]:
    """Kernel dependences at their new indices; those of removed waits and barriers go."""
    moved = {x.source: items[Phase.KERNEL, i] for i, x in enumerate(text.kernel) if x.source >= 0}
    return tuple(
        DepEdge(moved[d.producer_idx], moved[d.consumer_idx], d.dep_kind, d.loop_distance)
        for d in text.document.kernel_deps
        if d.producer_idx in moved and d.consumer_idx in moved
    )


_VERB = {
    Hazard.RAW_LDS: "before it is read by",
    Hazard.WAR_LDS: "before it is overwritten by",
    Hazard.WAW_LDS: "before it is overwritten by",
    Hazard.RAW_REG: "before",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One requirement a wait or barrier serves. Places are (phase, entry index)."""

    hazard: Hazard
    producer: str
    consumer: str
    producer_at: Site
    consumer_at: Site
    barriers_joined: int | None
    trip_count: int | None

    @property
    def text(self) -> str:
        """The requirement in words."""
        joined = self.barriers_joined
        plural = "" if joined == 1 else "s"
        through = "" if joined is None else f", joined by {joined} barrier{plural}"
        return (
            f"{self.producer} must be complete {_VERB[self.hazard]} {self.consumer} "
            f"[{self.hazard}]{through}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why the entry ``index`` of ``phase`` is there; ``queue`` is ``None`` for a barrier."""

    phase: Phase
    index: int
    queue: Queue | None
    count: int | None
    binding: Served
    further: tuple[Served, ...] = ()
    in_flight: tuple[str, ...] = ()
    units: int = 0
    slack: int | None = None

    @property
    def what(self) -> str:
        """``vm(20)``, ``lgkm(0)`` or ``barrier``."""
        return "barrier" if self.queue is None else f"{self.queue.value}({self.count})"

    @property
    def text(self) -> str:
        """One line: what completes, for whom, what may stay in flight, which trip count binds."""
        return f"{LETTER[self.phase]}[{self.index}] {self.what}: {self.why}"

    @property
    def why(self) -> str:
        """The same without the entry and its place."""
        parts = [self.binding.text]
        if self.queue is None:
            parts.append("no other barrier lies where it would do")
        else:
            names = ", ".join(self.in_flight) or "nothing"
            parts.append(f"{self.units} younger units may stay in flight ({names})")
            if self.count is not None and self.count < self.units:
                parts.append(f"the counter expresses at most {self.count}")
        if self.binding.trip_count is not None:
            parts[-1] += f" (binding at n = {self.binding.trip_count})"
        return "; ".join(parts)

    @property
    def details(self) -> tuple[str, ...]:
        """The further requirements and the slack, one line each."""
        lines = [f"also: {s.text}" for s in self.further]
        if self.slack is not None:
            late = "comes {} cycles after its data" if self.slack >= 0 else "stalls {} cycles"
            lines.append(f"in the stall model it {late.format(abs(self.slack))}")
        return tuple(lines)


def explain(
    windows: Windows, placed: Placed, emitted: Emitted, slack: Mapping[Site, int] | None = None
) -> tuple[Reason, ...]:
    """A reason for every decided wait and every derived barrier, in text order."""
    book = _Book(windows, placed, emitted)
    reasons = [*book.waits(), *book.barriers()]
    if slack is not None:
        reasons = [replace(r, slack=slack.get((r.phase, r.index))) for r in reasons]
    return tuple(sorted(reasons, key=lambda r: (PHASES.index(r.phase), r.index)))


class _Book:
    """Requirements sorted by the place that first completes them."""

    def __init__(self, windows: Windows, placed: Placed, emitted: Emitted) -> None:
        self.windows, self.placed, self.emitted = windows, placed, emitted
        self.first: dict[tuple[Site, Queue], list[tuple[Duty, int]]] = defaultdict(list)
        self.done: list[tuple[Duty, int]] = []
        for i in (*windows.kernel, *windows.entering, *windows.leaving):
            assert i.due is not None
            gap = i.program.completed_at(placed.counts, i.need, i.due)
            assert gap is not None
            self.done.append((i, gap))
            site = i.program.site(gap)
            if site is not None:
                self.first[site, i.need.queue].append((i, gap))

    def waits(self) -> Iterable[Reason]:
        for site, counts in self.placed.counts.items():
            for queue, count in counts.items():
                served = sorted(self.first[site, queue], key=_tightness)
                if served:
                    yield self._wait(site, queue, count, served)

    def _wait(self, site: Site, queue: Queue, count: int, served: list[tuple[Duty, int]]) -> Reason:
        duty, gap = served[0]
        program, need = duty.program, duty.need
        between = range(need.producer + 1, gap)
        names = [
            program.elements[t].item.name
            for t in between
            if program.elements[t].item.queue is queue and program.elements[t].item.units
        ]
        return Reason(
            phase=site[0],
            index=self.emitted.waits[site, queue],
            queue=queue,
            count=count,
            binding=self._served(duty, gap),
            further=_distinct(self._served(i, g) for i, g in served[1:]),
            in_flight=tuple(names),
            units=program.younger(queue, need.producer, gap),
        )

    def barriers(self) -> Iterable[Reason]:
        text = self.windows.text
        for phase in PHASES:
            for index, item in enumerate(text.phase(phase)):
                if item.act is Act.BARRIER and item.derived:
                    needing = sorted(self._needing((phase, index)), key=_length)
                    if needing:
                        yield Reason(
                            phase=phase,
                            index=self.emitted.items[phase, index],
                            queue=None,
                            count=None,
                            binding=self._served(*needing[0]),
                            further=_distinct(self._served(i, g) for i, g in needing[1:]),
                        )

    def _needing(self, barrier: Site) -> Iterable[tuple[Duty, int]]:
        """Requirements that would have too few barriers after their wait without this one."""
        for duty, gap in self.done:
            program, need = duty.program, duty.need
            if not need.cross:
                continue
            through = range(gap, need.consumer)
            hits = sum(program.site(t) == barrier for t in through)
            joined = program.barriers[need.consumer] - program.barriers[gap]
            if hits and joined - hits < program.demand(gap):
                yield duty, gap

    def _served(self, duty: Duty, gap: int) -> Served:
        program, need = duty.program, duty.need
        joined = program.barriers[need.consumer] - program.barriers[gap]
        return Served(
            hazard=need.hazard,
            producer=_relative(program, need.producer, gap),
            consumer=_relative(program, need.consumer, gap),
            producer_at=self._entry(program, need.producer),
            consumer_at=self._entry(program, need.consumer),
            barriers_joined=joined if need.cross else None,
            trip_count=_binding_trips(program, need.producer, need.consumer),
        )

    def _entry(self, program: Program, t: int) -> Site:
        e = program.elements[t]
        assert e.phase is not None
        return e.phase, self.emitted.items[e.phase, e.index]


_RANK = tuple(Hazard)


def _tightness(served: tuple[Duty, int]) -> tuple[int, bool, int, int]:
    """Fewest units first; among equals what recurs in the loop, then what crosses waves."""
    (duty, gap), need = served, served[0].need
    program = duty.program
    once = program.elements[need.producer].phase is not Phase.KERNEL
    units = program.younger(need.queue, need.producer, gap)
    return units, once, _RANK.index(need.hazard), program.trips


def _binding_trips(program: Program, producer: int, consumer: int) -> int | None:
    """The trip count a duty was seen at, where it matters: between phases."""
    a, b = program.elements[producer], program.elements[consumer]
    return None if a.phase is b.phase else program.trips


def _length(served: tuple[Duty, int]) -> int:
    return served[0].need.consumer - served[0].need.producer


def _distinct(served: Iterable[Served]) -> tuple[Served, ...]:
    """Once each, whatever the trip count."""
    out: dict[tuple[object, ...], Served] = {}
    for s in served:
        out.setdefault((s.hazard, s.producer, s.consumer), s)
    return tuple(out.values())


def _relative(program: Program, t: int, seen_from: int) -> str:
    """An event as seen from another place of the program."""
    a, b = program.elements[t], program.elements[seen_from]
    name = a.item.name
    if a.phase is Phase.PROLOGUE:
        return f"{name} of the prologue"
    if a.phase is Phase.EPILOGUE:
        return f"{name} of the epilogue"
    if b.phase is Phase.KERNEL:
        d = a.iteration - b.iteration
        return f"{name} of this iteration" if d == 0 else f"{name} of iteration i{d:+d}"
    if b.phase is Phase.PROLOGUE:
        return f"{name} of the first iteration" if a.iteration == 0 else f"{name} of iteration 1"
    back = program.trips - a.iteration
    return f"{name} of the last iteration" if back == 1 else f"{name} of iteration n-{back}"
