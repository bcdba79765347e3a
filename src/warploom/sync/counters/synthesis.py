"""``synthesise``: waits and barriers derived from the hazard model instead of by rule.

Barriers first, waits second: a window between waves can be served iff it holds enough barriers,
whatever the counts are. So the kernel's barriers are a stabbing problem of their own, solved
exactly; the waits follow by deadlines, kernel, prologue, epilogue.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from functools import lru_cache
from typing import Any

from warploom.dataclass import dataclass
from warploom.errors import SyncError
from warploom.ir.counter_dialect import Queue, ScheduleDocument
from warploom.ir.schedule_ops import Phase, ScheduleOps
from warploom.sync.counters import waits
from warploom.sync.counters.barriers import Stabbing, arc_up_to, kernel_barriers, stab
from warploom.sync.counters.cost import Cost, StallModel
from warploom.sync.counters.emit import Emitted, Reason, emit, explain
from warploom.sync.counters.order import checked_trips
from warploom.sync.counters.reasons import PHASES, Act, Text, read_text


class Barriers(StrEnum):
    """Which barriers a kernel gets: those that stall least, or the fewest."""

    CHEAPEST = "cheapest"
    FEWEST = "fewest"


class Mode(StrEnum):
    """``WEAKEST``: every wait as late and as weak as can be; ``FEWEST``: fewest instructions."""

    WEAKEST = "weakest"
    FEWEST = "fewest"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseCounts:
    """Barriers, vm waits and lgkm waits of one phase."""

    barriers: int
    vm: int
    lgkm: int

    def __str__(self) -> str:
        return f"{self.barriers},{self.vm},{self.lgkm}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """A schedule with derived synchronisation.

    ``trips``: the trip counts that were looked at and decide all. ``kernel_barriers``: how many
    barriers the kernel got beyond the kept ones; ``fewest_barriers`` would do, proven. ``ranked``
    sets of them were compared by ``cost``, and ``complete`` says whether these were all of the
    fewest. ``derived_barriers`` lists the derived ones as (phase, entry index).
    """

    document: ScheduleDocument
    mode: Mode
    reasons: tuple[Reason, ...]
    trips: tuple[int, ...]
    kernel_barriers: int
    fewest_barriers: int
    ranked: int
    complete: bool
    cost: float
    derived_barriers: tuple[tuple[Phase, int], ...]

    def counts(self, phase: Phase) -> PhaseCounts:
        """How much synchronisation a phase has."""
        return count_sync(self.document, phase)

    def reason(self, phase: Phase, index: int) -> Reason | None:
        """Why the entry is there, if it is derived."""
        return next((r for r in self.reasons if (r.phase, r.index) == (phase, index)), None)


def count_sync(document: ScheduleDocument, phase: Phase) -> PhaseCounts:
    """Barriers and waits in one phase of any document."""
    tags = [e.op.tag for e in document.phase(phase)]
    return PhaseCounts(
        barriers=tags.count(ScheduleOps.BARRIER),
        vm=tags.count(ScheduleOps.WAIT_VM),
        lgkm=tags.count(ScheduleOps.WAIT_LGKM),
    )


def synthesise(
    document: ScheduleDocument,
    *,
    keep_barriers: bool | Collection[Phase] = True,
    mode: Mode | str = Mode.WEAKEST,
    barriers: Barriers | str | None = None,
    extra_barriers: int = 0,
    cost: Cost | None = None,
    prices: StallModel | None = None,
    limit: int = 64,
) -> Synthesis:
    """Replace the waits of a schedule by proven ones; add barriers where they are missing.

    Args:
        document: gives order, stagger and protocol; its waits are ignored.
        keep_barriers: keep the document's barriers (in all phases, none, or those named).
        mode: weakest waits, or fewest wait instructions.
        barriers: the cheapest by ``cost`` whatever their number (the count breaks ties), or the
            fewest. By default the fewest for ``mode="fewest"``, else the cheapest.
        extra_barriers: of the fewest, rank kernels with that many barriers more.
        cost: cycles of an iteration, or anything to be small; by default an in-order stall model
            under the latencies of the document's own ops.
        prices: when data comes, to propose places; by default ``cost`` if it is a stall model,
            else the document's own.
        limit: how many sets of kernel barriers are ranked at most.

    Raises ``OrderError`` for an order that loses or mixes tiles, ``SyncError`` for one that cannot
    be synchronised.
    """
    mode = _mode(mode)
    if extra_barriers < 0 or limit < 1:
        raise SyncError(
            f"extra_barriers {extra_barriers} and limit {limit} are out of range",
            fix="extra_barriers >= 0, limit >= 1",
        )
    which = _which(barriers, mode, extra_barriers)
    own = prices or (cost if isinstance(cost, StallModel) else StallModel.of(document))
    price = cost if cost is not None else own
    best, ranked, stabbing, trips = _known(
        document, _phases(keep_barriers), which, price, own, extra_barriers, limit
    )
    if mode is Mode.FEWEST:
        best = _fewest(best, price, limit)
    return _result(best, mode, trips, stabbing, ranked, price)


def guarded(
    document: ScheduleDocument, cost: Cost, prices: StallModel, limit: int
) -> tuple[ScheduleDocument, float]:
    """The cheapest synchronised document and its cost, without reasons: for searches."""
    best, *_ = _known(document, PHASES, Barriers.CHEAPEST, cost, prices, 0, limit)
    return best.emitted.document, best.cost


def _known(*asked: Any) -> _Found:  # noqa: ANN401 (what ``_search`` takes)
    """Commands, searches and comparisons ask for the same document again."""
    try:
        hash(asked)
    except TypeError:  # lists for tuples, or a cost that cannot be told from others
        return _search(*asked)
    return _remembered(*asked)


def _search(
    document: ScheduleDocument,
    keep: tuple[Phase, ...],
    which: Barriers,
    cost: Cost,
    prices: StallModel,
    extra: int,
    limit: int,
) -> _Found:
    text = read_text(document, keep_barriers=keep)
    trips = checked_trips(text)
    cheapest = which is Barriers.CHEAPEST
    windows = waits.Windows(text, trips)
    found = kernel_barriers(
        windows,
        extra,
        min(limit, 4) if cheapest else limit,
        prices if cheapest else None,
    )

    def build(start: Text) -> _Candidate:
        return _Candidate(finish(windows.beside(start)), cost, start, which)

    best, ranked = (found.cheapest if cheapest else found.best)(build, limit)
    return best, ranked, found.stabbing, trips


_Found = tuple["_Candidate", int, Stabbing, range]
_remembered = lru_cache(maxsize=32)(_search)


def _mode(mode: Mode | str) -> Mode:
    try:
        return Mode(mode)
    except ValueError:
        known = ", ".join(repr(m.value) for m in Mode)
        raise SyncError(f"unknown mode {mode!r}", fix=f"one of {known}") from None


def _which(barriers: Barriers | str | None, mode: Mode, extra: int) -> Barriers:
    """Extra barriers count from the fewest, so they ask for those."""
    if barriers is None:
        return Barriers.FEWEST if mode is Mode.FEWEST or extra else Barriers.CHEAPEST
    try:
        return Barriers(barriers)
    except ValueError:
        known = ", ".join(repr(b.value) for b in Barriers)
        raise SyncError(f"unknown barriers {barriers!r}", fix=f"one of {known}") from None


def _phases(keep: bool | Collection[Phase]) -> tuple[Phase, ...]:
    if isinstance(keep, bool):
        return PHASES if keep else ()
    return tuple(p for p in PHASES if p in keep)


@dataclass(frozen=True, slots=True)
class Solution:
    """A text with all its barriers and waits decided."""

    windows: waits.Windows
    placed: waits.Placed

    @property
    def text(self) -> Text:
        """The text, derived barriers included."""
        return self.windows.text


def finish(
    windows: waits.Windows,
    kernel: waits.Placed | None = None,
    *,
    style: waits.Style = waits.Style.WEAKEST,
) -> Solution:
    """Waits of all phases, and barriers of prologue and epilogue where a window lacks them.

    The kernel's barriers are decided; ``kernel`` gives its waits, or the weakest are taken.
    """
    loop = kernel if kernel is not None else waits.kernel_waits(windows)
    late: tuple[waits.Duty, ...] = ()
    while True:
        placed = loop.copy()
        try:
            waits.prologue_waits(windows, placed, late, style=style)
            missing = waits.epilogue_waits(windows, placed, style=style)
        except waits.Short as short:
            windows = windows.beside(_with_barrier_for(windows.text, short))
            late = ()
            continue
        if not missing:
            return Solution(windows, placed)
        late += missing


def _with_barrier_for(text: Text, short: waits.Short) -> Text:
    """One more barrier: right in front of the consumer, or at the end of the prologue."""
    e = short.program.elements[short.need.consumer]
    if e.phase is Phase.EPILOGUE:
        return text.with_barriers(Phase.EPILOGUE, [text.front(Phase.EPILOGUE, e.index)])
    place = e.index if e.phase is Phase.PROLOGUE else len(text.prologue)
    return text.with_barriers(Phase.PROLOGUE, [place])


class _Candidate:
    """A solution with its document and its rank. ``start``: the text before ``finish``."""

    def __init__(self, solution: Solution, cost: Cost, start: Text, which: Barriers) -> None:
        self.solution, self.start, self.which = solution, start, which
        self.emitted: Emitted = emit(solution.text, solution.placed)
        self.cost = float(cost(self.emitted.document))
        counts = {p: count_sync(self.emitted.document, p) for p in PHASES}
        outside = [counts[Phase.PROLOGUE], counts[Phase.EPILOGUE]]
        k = counts[Phase.KERNEL]
        first = (k.barriers, self.cost) if which is Barriers.FEWEST else (self.cost, k.barriers)
        self.key: tuple[float, ...] = (
            *first,
            -_weakness(solution),
            k.vm + k.lgkm,
            sum(c.barriers for c in outside),
            sum(c.vm + c.lgkm for c in outside),
        )
        self.fewest_key = (k.vm + k.lgkm, self.cost, -_count_sum(solution.placed))


def _weakness(solution: Solution) -> int:
    """Sum over the kernel's operations of the MMAs between issue and forced completion."""
    loop, size = solution.windows.loop, len(solution.text.kernel)
    total = 0
    for start in loop.starts[1:2]:
        for t in range(start, start + size):
            queue = loop.elements[t].item.queue
            if queue is not None:
                total += _mmas_in_flight(solution, t, queue, min(t + 2 * size, loop.starts[-1]))
    return total


def _mmas_in_flight(solution: Solution, producer: int, queue: Queue, last: int) -> int:
    loop, mmas = solution.windows.loop, 0
    for t in range(producer + 1, last):
        n = loop.count_at(solution.placed.counts, t, queue)
        if n is not None and loop.younger(queue, producer, t) >= n:
            break
        mmas += loop.elements[t].item.act is Act.MMA
    return mmas


def _count_sum(placed: waits.Placed) -> int:
    return sum(n for counts in placed.counts.values() for n in counts.values())


def _fewest(best: _Candidate, cost: Cost, limit: int) -> _Candidate:
    """Same kernel barriers, fewest waits. Places of the weakest solution suffice: any wait can move
    later to one of them. Queue by queue, ranked by cost among equals. Prologue and epilogue start
    afresh: stronger waits in the kernel may spare them a barrier."""
    start, windows = best.start, best.solution.windows.beside(best.start)
    kernel = {
        q: {s[1] for s, c in best.solution.placed.counts.items() if q in c and s[0] is Phase.KERNEL}
        for q in Queue
    }
    for queue in Queue:
        ranked = []
        for places in wait_places(windows, queue, sorted(kernel[queue]), min(limit, 24)):
            trial = {**kernel, queue: set(places)}
            allowed = frozenset((i, q) for q, mine in trial.items() for i in mine)
            placed = waits.kernel_waits(windows, waits.at_last_of(allowed))
            done = finish(windows, placed, style=waits.Style.FEWEST)
            ranked.append((_Candidate(done, cost, start, best.which), places))
        best, places = min(ranked, key=lambda r: r[0].fewest_key)
        kernel[queue] = set(places)
    return best


def wait_places(
    windows: waits.Windows, queue: Queue, places: list[int], limit: int
) -> list[tuple[int, ...]]:
    """All smallest sets of kernel places at which every requirement of a queue can be met."""
    arcs = [
        arc_up_to(i, i.due, places, 1)
        for i in windows.kernel
        if i.need.queue is queue and i.due is not None and not waits.served(i, waits.Placed())
    ]
    found = stab(arcs, max(1, len(places)), limit=limit)
    assert found is not None
    return [tuple(places[c] for c in chosen) for chosen in found.sets]


def _result(
    best: _Candidate, mode: Mode, trips: range, stabbing: Stabbing, ranked: int, cost: Cost
) -> Synthesis:
    solution, emitted = best.solution, best.emitted
    model = cost if isinstance(cost, StallModel) else StallModel.of(emitted.document)
    reasons = explain(solution.windows, solution.placed, emitted, model.slack(emitted.document))
    derived = [
        (p, emitted.items[p, i])
        for p in PHASES
        for i, x in enumerate(solution.text.phase(p))
        if x.act is Act.BARRIER and x.derived
    ]
    return Synthesis(
        document=emitted.document,
        mode=mode,
        reasons=reasons,
        trips=tuple(trips),
        kernel_barriers=sum(p is Phase.KERNEL for p, _ in derived),
        fewest_barriers=stabbing.count,
        ranked=ranked,
        complete=stabbing.complete,
        cost=best.cost,
        derived_barriers=tuple(derived),
    )
