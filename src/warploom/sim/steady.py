"""The steady state of a run and its interval; lives of slots and links of data between ops.

A run is *steady* when, over some stretch of it, every step of every row repeats with one period
of ``p`` iterations and one shift of ``d`` cycles, and the repeats cover the whole extent of an
iteration in time. Then the pattern can go on for ever without two ops meeting on a unit, so
``II = d / p`` is exact and no unit can be asked for more than it has: II is at least the resource
bound. A run that is not steady has only an average over its last iterations.

Every row runs the same text over shared storage, so the n-th write of a row to a slot and the
n-th write of any other row together make the slot's n-th content. Private storage (registers)
lives row by row. A slot named with ``#`` and a number says itself which content is meant.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from fractions import Fraction

from warploom.dataclass import dataclass
from warploom.sim.events import Link, PhaseSpan, SlotEvent
from warploom.sim.program import Issue, Slot, Workload
from warploom.sim.state import StepTime, Trace

MAX_PERIOD = 8
LOOP = "kernel"  # the phase that repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyState:
    """Cycles an iteration takes: exact when ``steady``; ``period`` iterations repeat."""

    interval: Fraction
    steady: bool
    period: int
    first_iteration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitLoad:
    """What one iteration asks of a unit, and the interval that forces."""

    unit: str
    cycles: int
    capacity: int

    @property
    def bound(self) -> Fraction:
        """The least initiation interval this unit allows."""
        return Fraction(self.cycles, self.capacity)


def steady_state(trace: Trace) -> SteadyState | None:
    """The steady state of the loop, or None when fewer than two iterations ran."""
    times, span, base = _iteration_times(trace)
    trips = len(times)
    if trips < 2:
        return None
    for period in range(1, min(MAX_PERIOD, trips - 1) + 1):
        found = _periodic(times, span, period)
        if found is not None:
            return replace(found, first_iteration=base + found.first_iteration)
    first = trips // 2 if trips > 3 else 0
    reached = max(times[-1]) - max(times[first])  # by the row that comes last: others run ahead
    interval = Fraction(reached, trips - 1 - first)
    return SteadyState(interval=interval, steady=False, period=1, first_iteration=base + first)


def _periodic(times: list[list[int]], span: int, period: int) -> SteadyState | None:
    """Whether some stretch repeats with ``period``, often enough to cover ``span`` cycles.

    The first iterations feel the prologue and the last ones the epilogue of a leading row, so the
    stretch may lie anywhere; the longest one counts.
    """
    shifts = [later[0] - now[0] for now, later in zip(times, times[period:], strict=False)]
    uniform = [
        all(b - a == shift for a, b in zip(now, later, strict=True))
        for shift, now, later in zip(shifts, times, times[period:], strict=False)
    ]
    first, length = _longest_run(shifts, uniform)
    shift = shifts[first]
    if shift <= 0 or (length // period) * shift < span or length < period:
        return None
    return SteadyState(
        interval=Fraction(shift, period), steady=True, period=period, first_iteration=first
    )


def _longest_run(shifts: list[int], uniform: list[bool]) -> tuple[int, int]:
    """Start and length of the longest stretch of uniform, equal shifts; the last of equals."""
    best, start = (0, 0), 0
    for i, fits in enumerate(uniform):
        if not fits:
            start = i + 1
            continue
        if i > start and shifts[i] != shifts[i - 1]:
            start = i
        if i + 1 - start >= best[1]:
            best = (start, i + 1 - start)
    return best


def _iteration_times(trace: Trace) -> tuple[list[list[int]], int, int]:
    """Step times as (iteration, step of any row), the longest extent of an iteration, the first.

    Roles may run their loops over different iterations; only those that all have count.
    """
    table: dict[int, list[int]] = {}
    for steps in trace.steps:
        for step in steps:
            if step.place.phase == LOOP and step.place.iteration is not None:
                table.setdefault(step.place.iteration, []).extend((step.went, step.served))
    ends: dict[int, int] = {}
    for op in trace.ops:
        if op.place.phase == LOOP and op.place.iteration is not None:
            ends[op.place.iteration] = max(ends.get(op.place.iteration, 0), op.end)
    width = max((len(values) for values in table.values()), default=0)
    whole = _longest_stretch(sorted(i for i, values in table.items() if len(values) == width))
    if not whole:
        return [], 0, 0
    span = max(ends.get(i, 0) - min(table[i]) for i in whole)
    return [table[i] for i in whole], span, whole[0]


def _longest_stretch(numbers: list[int]) -> list[int]:
    """The longest run of consecutive numbers in an ascending list; the first of equals."""
    best: list[int] = []
    run: list[int] = []
    for number in numbers:
        run = [*run, number] if run and run[-1] + 1 == number else [number]
        best = run if len(run) > len(best) else best
    return best


def unit_loads(workload: Workload) -> tuple[UnitLoad, ...]:
    """What one loop iteration of all rows that run it asks of each unit, heaviest bound first."""
    cycles: dict[str, Counter[int | None]] = {unit.name: Counter() for unit in workload.units}
    for program in workload.programs:
        for step in program.steps:
            if isinstance(step, Issue) and step.place.phase == LOOP:
                asked = step.instructions * step.timing.occupancy
                cycles[step.unit][step.place.iteration] += asked
    loads = [
        UnitLoad(
            unit=unit.name,
            cycles=max(cycles[unit.name].values(), default=0),
            capacity=unit.capacity,
        )
        for unit in workload.units
    ]
    return tuple(sorted(loads, key=lambda load: (-load.bound, load.unit)))


def phase_spans(steps: tuple[tuple[StepTime, ...], ...]) -> tuple[PhaseSpan, ...]:
    """When each row was in which phase and iteration, in order; a phase that a row comes back to
    (the prologue of its next tile) is a span of its own.
    """
    spans = []
    for row, times in enumerate(steps):
        extents: list[tuple[tuple[str, int | None], int, int]] = []
        for step in times:
            key = (step.place.phase, step.place.iteration)
            if step.place.phase == "protocol":
                continue
            if extents and extents[-1][0] == key:
                extents[-1] = (key, extents[-1][1], step.leave)
            else:
                extents.append((key, step.arrive, step.leave))
        spans += [
            PhaseSpan(row=row, phase=phase, iteration=iteration, start=start, end=end)
            for (phase, iteration), start, end in extents
        ]
    return tuple(spans)


@dataclass(slots=True)
class _Life:
    """A content of a slot: the ops that wrote it and those that read it."""

    slot: Slot
    row: int | None
    content: str
    writers: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)


def storage_events(trace: Trace) -> tuple[tuple[SlotEvent, ...], tuple[Link, ...]]:
    """All lives of all slots in order of their start, and all links from writer to reader."""
    lives: dict[_Key, _Life] = {}
    writes: Counter[tuple[int, Slot]] = Counter()
    contents: dict[int, str] = {}
    for number, (event, step) in enumerate(zip(trace.ops, trace.issues, strict=True)):
        contents[number] = step.content
        for slot in step.reads:
            life = lives.get(_key(slot, event.row, writes[event.row, slot]))
            if life is not None:
                life.readers.append(number)
                contents[number] = contents[number] or life.content
        if step.writes is not None:
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


_Key = tuple[Slot, int | None, int]


def _key(slot: Slot, row: int, ordinal: int) -> _Key:
    if slot.use is not None:  # which use, the program says: writer and reader need not be one row
        return slot, None, 0
    return slot, (None if slot.shared else row), ordinal


def _event(trace: Trace, life: _Life) -> SlotEvent:
    ready = max(trace.ops[i].done for i in life.writers)
    return SlotEvent(
        slot=life.slot.name,
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
    slot = life.slot.name
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
