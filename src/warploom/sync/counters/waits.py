"""Waits for a text whose barriers are decided.

Every requirement has a deadline. Waiting at deadlines only, for the youngest operation that is due
and not yet waited for, with a count that leaves all younger units in flight, is the *weakest*
solution: any correct one has completed at least as much at every point. *Fewest* positions are a
stabbing problem over the intervals (issue, deadline]; counts are then as weak as the positions
allow.

The kernel comes first (it runs n times), then the prologue, which must only do what the kernel's
own waits do not do in time, then the epilogue, one count for all trip counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum

from warploom.dataclass import dataclass
from warploom.ir.counter_dialect import Queue
from warploom.ir.schedule_ops import Phase
from warploom.sync.counters.program import Need, Program, Site, unroll
from warploom.sync.counters.reasons import Act, Text


class Style(Enum):
    """Where waits go: at deadlines, at the fewest places, or at waits the document has already."""

    WEAKEST = "weakest"
    FEWEST = "fewest"
    REUSE = "reuse"


class Short(Exception):  # noqa: N818 - a signal inside this package, not an error for callers
    """A window has too few barriers after every place where it could be waited for."""

    def __init__(self, program: Program, need: Need) -> None:
        super().__init__()
        self.program, self.need = program, need


@dataclass(frozen=True, slots=True)
class Duty:
    """A requirement in one program; ``due`` is its deadline there (``None``: no gap serves it)."""

    program: Program
    need: Need
    due: int | None


@dataclass(slots=True)
class Placed:
    """Waits decided so far: count per place and queue, and the requirement that forced it."""

    counts: dict[Site, dict[Queue, int]] = field(default_factory=dict)
    binding: dict[tuple[Site, Queue], tuple[Program, Need, int]] = field(default_factory=dict)

    def copy(self) -> Placed:
        """An independent copy."""
        return Placed({k: dict(v) for k, v in self.counts.items()}, dict(self.binding))

    def put(self, program: Program, need: Need, gap: int) -> None:
        """Wait at ``gap`` for ``need.producer`` and nothing younger."""
        site, queue = program.site(gap), need.queue
        assert site is not None
        count = min(program.younger(queue, need.producer, gap), queue.largest_wait)
        here = self.counts.setdefault(site, {})
        if queue not in here or count < here[queue]:
            here[queue] = count
            self.binding[site, queue] = (program, need, gap)

    def remove(self, site: Site, queue: Queue) -> None:
        """Forget one wait."""
        del self.counts[site][queue]
        del self.binding[site, queue]
        if not self.counts[site]:
            del self.counts[site]


class Windows:
    """Every distinct requirement of a text, over all trip counts that decide.

    A window is told by its two places and the back edges between them: what lies between is
    then the same text, whatever the trip count. A loop read that only the epilogue uses counts.
    Derived barriers create no requirement: those of ``known``, where only they differ, are taken.
    """

    def __init__(self, text: Text, trips: range, known: Windows | None = None) -> None:
        self.text, self.trips = text, trips
        asked = range(len(trips)) if known is None else {n for n, _ in known._needs}
        programs = {n: unroll(text, trips[n]) for n in asked}
        depth = trips[-1] + 3
        self.loop = unroll(text, depth)
        self._anchor = depth // 2
        self.kernel: list[Duty] = []
        self.entering: list[Duty] = []
        self.leaving: list[Duty] = []
        own = {
            n: [t for t, e in enumerate(p.elements) if not e.item.derived]
            for n, p in programs.items()
        }
        self._needs: list[tuple[int, Need]] = (
            _distinct_needs(programs, own) if known is None else known._needs
        )
        for n, need in self._needs:
            a, b = own[n][need.producer], own[n][need.consumer]
            self._sort_in(programs[n], need._replace(producer=a, consumer=b))

    def beside(self, text: Text) -> Windows:
        """The windows of a text that differs in derived barriers only."""
        return Windows(text, self.trips, self)

    def _sort_in(self, program: Program, need: Need) -> None:
        a, b = program.elements[need.producer], program.elements[need.consumer]
        if b.phase is Phase.EPILOGUE:
            self.leaving.append(Duty(program, need, program.deadline(need)))
        elif a.phase is Phase.KERNEL:
            self.kernel.append(self._in_loop(need, a.index, b.index, b.iteration - a.iteration))
        else:
            self.entering.append(Duty(program, need, program.deadline(need)))

    def _in_loop(self, need: Need, producer: int, consumer: int, distance: int) -> Duty:
        starts = self.loop.starts
        moved = need._replace(
            producer=starts[self._anchor - distance] + producer,
            consumer=starts[self._anchor] + consumer,
        )
        return Duty(self.loop, moved, self.loop.deadline(moved))


def _distinct_needs(
    programs: Mapping[int, Program], own: Mapping[int, list[int]]
) -> list[tuple[int, Need]]:
    """Each window once: its program, and its two ends counted without derived barriers."""
    found: dict[object, tuple[int, Need]] = {}
    for n, program in programs.items():
        place = {t: i for i, t in enumerate(own[n])}
        for need in program.needs():
            a, b = place[need.producer], place[need.consumer]
            moved = need._replace(producer=a, consumer=b)
            found.setdefault(_window_key(program, need), (n, moved))
    return list(found.values())


def _window_key(program: Program, need: Need) -> object:
    a, b = program.elements[need.producer], program.elements[need.consumer]
    if b.phase is Phase.EPILOGUE:
        distance = program.trips - a.iteration if a.phase is Phase.KERNEL else program.trips
        if a.phase is Phase.EPILOGUE:
            distance = 0
    else:
        distance = b.iteration - a.iteration
    return (need.hazard, need.queue, a.phase, a.index, b.phase, b.index, distance)


Job = tuple[Duty, int, int]
"""A requirement with the first and last gap at which it may be waited for."""

Positions = Callable[[Duty], int | None]
"""Where a requirement is waited for: a gap after its producer and not after its deadline."""


def at_deadline(duty: Duty) -> int | None:
    """The weakest choice."""
    return duty.due


def at_last_of(allowed: frozenset[tuple[int, Queue]]) -> Positions:
    """The last allowed kernel position (item index, queue) before the deadline."""

    def choose(duty: Duty) -> int | None:
        program, need, due = duty.program, duty.need, duty.due
        if due is None:
            return None
        for t in range(due, need.producer, -1):
            e = program.elements[t]
            if e.phase is Phase.KERNEL and (e.index, need.queue) in allowed:
                return t
        return None

    return choose


def kernel_waits(windows: Windows, positions: Positions = at_deadline) -> Placed:
    """The loop's waits. Raises ``Short`` when a window has no position or too few barriers."""
    placed, size = Placed(), len(windows.text.kernel)
    due: dict[tuple[int, Queue], tuple[int, Duty, int]] = {}
    for duty in windows.kernel:
        if served(duty, placed):
            continue
        gap = positions(duty)
        if gap is None:
            raise Short(duty.program, duty.need)
        e = duty.program.elements[gap]
        age = duty.need.producer - windows.loop.starts[e.iteration]
        key = (e.index, duty.need.queue)
        if key not in due or age > due[key][0]:
            due[key] = (age, duty, gap)
    for queue in Queue:
        mine = sorted((i, *rest) for (i, q), rest in due.items() if q is queue)
        # What the same places waited for one iteration ago. Compared by age and not by count: a
        # clamped count completes more than it must, which would make the pattern aperiodic.
        reached = max((age - size for _, age, _, _ in mine), default=0)
        for _, age, duty, gap in mine:
            if age > reached:
                reached = age
                placed.put(duty.program, duty.need, gap)
    if _completes_more(windows.text, placed):
        _relax(windows.kernel, placed)
    return placed


def served(duty: Duty, placed: Placed) -> bool:
    """Is the requirement met in time by the decided waits and what the text holds?"""
    if duty.due is None:
        return False
    done = duty.program.completed_at(placed.counts, duty.need, duty.due)
    return done is not None


def _completes_more(text: Text, placed: Placed) -> bool:
    """Some wait completes more than its requirement asks: clamped, or operations without units."""
    free = any(x.queue is not None and x.units == 0 and x.act is not Act.WAIT for x in text.kernel)
    return free or any(
        p.younger(q, need.producer, gap) > placed.counts[site][q]
        for (site, q), (p, need, gap) in placed.binding.items()
    )


def _relax(duties: Sequence[Duty], placed: Placed) -> None:
    """Drop or weaken waits one by one while every requirement still holds."""

    def clean() -> bool:
        return all(served(i, placed) for i in duties)

    for site, queue in sorted(placed.binding, key=lambda k: (k[0][1], k[1].value)):
        count, reason = placed.counts[site][queue], placed.binding[site, queue]
        placed.remove(site, queue)
        if clean():
            continue
        placed.binding[site, queue] = reason
        here = placed.counts.setdefault(site, {})
        here[queue] = count
        while here[queue] < queue.largest_wait:
            here[queue] += 1
            if not clean():
                here[queue] -= 1
                break


def prologue_waits(
    windows: Windows, placed: Placed, late: Sequence[Duty] = (), *, style: Style = Style.WEAKEST
) -> None:
    """Waits the prologue's own reads and the first iteration need beyond the kernel's waits.

    ``late``: requirements of the epilogue that can only be waited for here.
    """
    end = len(windows.text.prologue)
    jobs: list[Job] = []
    short = []
    for duty in (*windows.entering, *late):
        if served(duty, placed):
            continue
        if duty.due is None:
            short.append(duty)
        else:
            jobs.append((duty, duty.need.producer + 1, min(duty.due, end)))
    if short:
        raise _first_short(short)
    _place_on_line(jobs, placed, style)


def epilogue_waits(
    windows: Windows, placed: Placed, *, style: Style = Style.WEAKEST
) -> tuple[Duty, ...]:
    """Waits of the epilogue: one count for all trip counts.

    Returns the requirements that must be waited for in the prologue already (the last barriers in
    front of their consumer lie there); nothing is placed then.
    """
    jobs: list[Job] = []
    short, late = [], []
    for duty in windows.leaving:
        if served(duty, placed):
            continue
        span = _epilogue_span(duty)
        if span is not None:
            jobs.append((duty, *span))
        elif duty.due is not None and _from_prologue(duty):
            late.append(duty)
        else:
            short.append(duty)
    if short:
        raise _first_short(short)
    if not late:
        _place_on_line(jobs, placed, style)
    return tuple(late)


def _from_prologue(duty: Duty) -> bool:
    return duty.program.elements[duty.need.producer].phase is Phase.PROLOGUE


def _epilogue_span(duty: Duty) -> tuple[int, int] | None:
    """First and last gap of the epilogue at which the requirement can be waited for."""
    program, due = duty.program, duty.due
    if due is None or program.elements[due].phase is not Phase.EPILOGUE:
        return None
    first = len(program.elements) - len(program.text.epilogue)
    return max(first, duty.need.producer + 1), due


def _first_short(short: list[Duty]) -> Short:
    """The window whose consumer comes first in the text (right-end greedy is optimal on a line)."""

    def place(i: Duty) -> tuple[bool, int, bool]:
        e = i.program.elements[i.need.consumer]
        return e.phase is not Phase.PROLOGUE, e.index, i.program.trips == 0

    first = min(short, key=place)
    return Short(first.program, first.need)


def _place_on_line(jobs: list[Job], placed: Placed, style: Style) -> None:
    at: dict[int, list[tuple[Duty, int]]] = defaultdict(list)
    chosen = None if style is Style.WEAKEST else _positions_on_line(jobs, style)
    for duty, _, high in jobs:
        shift = high - duty.program.elements[high].index
        index = high - shift
        if chosen is not None:
            index = max(i for i in chosen[duty.need.queue] if i <= index)
        at[index].append((duty, index + shift))
    for index in sorted(at):
        for queue in Queue:
            todo = [(i, g) for i, g in at[index] if i.need.queue is queue and not served(i, placed)]
            if todo:
                i, gap = min(
                    todo, key=lambda x: x[0].program.younger(queue, x[0].need.producer, x[1])
                )
                placed.put(i.program, i.need, gap)


def _positions_on_line(jobs: list[Job], style: Style) -> dict[Queue, set[int]]:
    """Fewest positions that meet every interval: always the right end of the earliest one left.

    ``REUSE`` moves such a position back to a wait of the document that meets the same intervals.
    """
    chosen: dict[Queue, set[int]] = {q: set() for q in Queue}
    for queue in Queue:
        mine = [j for j in jobs if j[0].need.queue is queue]
        common: dict[int, int] = {}
        for duty, low, high in sorted(mine, key=_right_end):
            first, last = _index(duty, low), _index(duty, high)
            met = [p for p in common if first <= p <= last]
            if met:
                common[max(met)] = max(common[max(met)], first)
            else:
                common[last] = first
        for last, first in common.items():
            kept = _kept_between(mine, first, last, queue) if style is Style.REUSE else None
            chosen[queue].add(last if kept is None else kept)
    return chosen


def _index(duty: Duty, gap: int) -> int:
    return duty.program.elements[gap].index


def _right_end(job: Job) -> int:
    return _index(job[0], job[2])


def _kept_between(jobs: list[Job], first: int, last: int, queue: Queue) -> int | None:
    """The latest wait of the document at ``first .. last`` in the phase of the jobs."""
    duty, _, high = jobs[0]
    phase = duty.program.elements[high].phase
    assert phase is not None
    items = duty.program.text.phase(phase)
    for i in range(min(last, len(items) - 1), first - 1, -1):
        if items[i].act is Act.WAIT and items[i].queue is queue:
            return i
    return None
