"""``repair``: the nearest schedule without findings.

Order, barriers and waits of the document stay. A requirement no existing wait meets in time is met
by tightening a wait that already stands in its interval, else by a new one; a window between waves
with too few barriers gets one. The fewest places are changed (kernel: exactly; prologue and
epilogue: exactly, after the kernel), and each changed count is as weak as its place allows.
"""

from dataclasses import replace
from enum import StrEnum

from warploom.dataclass import dataclass
from warploom.ir.counter_dialect import Queue, ScheduleDocument
from warploom.ir.format1 import AnyGiven, counter_document_of
from warploom.ir.schedule_ops import Phase
from warploom.sync.counters import waits
from warploom.sync.counters.barriers import kernel_barriers
from warploom.sync.counters.cost import CHIP, Cost
from warploom.sync.counters.emit import Emitted, Reason, emit, explain
from warploom.sync.counters.order import checked_trips, matching_tails
from warploom.sync.counters.program import kept_count
from warploom.sync.counters.reasons import LETTER, PHASES, Act, Item, Text, read_text
from warploom.sync.counters.synthesis import Solution, finish, wait_places


class ChangeKind(StrEnum):
    """What was done to an entry."""

    ADDED = "added"
    TIGHTENED = "tightened"
    CLAMPED = "clamped"
    PROTOCOL = "protocol"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference; ``index`` is the entry's index in the repaired phase."""

    kind: ChangeKind
    phase: Phase
    index: int
    before: str
    after: str
    reason: Reason | None = None
    why: str = ""

    @property
    def text(self) -> str:
        """One line of the diff."""
        at = (
            "protocol"
            if self.kind is ChangeKind.PROTOCOL
            else f"{LETTER[self.phase]}[{self.index}]"
        )
        change = f"+ {self.after}" if not self.before else f"{self.before} -> {self.after}"
        return f"{at} {change}: {self.because}"

    @property
    def because(self) -> str:
        """Why it was made."""
        return self.reason.why if self.reason is not None else self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The repaired schedule and what was done to it; no changes if it had no findings."""

    document: ScheduleDocument
    changes: tuple[Change, ...]
    trips: tuple[int, ...]

    @property
    def text(self) -> str:
        """The diff, one change a line."""
        return "\n".join(c.text for c in self.changes) or "nothing to repair"


def repair(document: AnyGiven, *, cost: Cost = CHIP, limit: int = 16) -> Repair:
    """Add and tighten as little as leaves no finding for any trip count.

    Among repairs with equally few changed places in the kernel, fewer new waits and then lower
    ``cost`` win; ``limit`` bounds how many are compared. Raises ``OrderError`` when the order
    itself is wrong: no wait can repair that.
    """
    given = document = counter_document_of(document)
    tails = matching_tails(document.protocol)
    if tails != document.protocol.tail_barriers:
        document = replace(document, protocol=replace(document.protocol, tail_barriers=tails))
    text = _clamped(read_text(document, keep_waits=True))
    trips = checked_trips(text)
    windows = waits.Windows(text, trips)
    barriers = kernel_barriers(windows, limit=limit)
    best, _ = barriers.best(lambda t: _best_waits(windows.beside(t), cost, limit), limit)
    reasons = explain(best.solution.windows, best.solution.placed, best.emitted)
    changes = [*_protocol_change(given, tails), *_changes(best, reasons)]
    return Repair(document=best.emitted.document, changes=tuple(changes), trips=tuple(trips))


def _clamped(text: Text) -> Text:
    """Counts no counter can express become the nearest that one can."""
    for phase in PHASES:
        text = text.with_phase(phase, tuple(_clamped_item(x) for x in text.phase(phase)))
    return text


def _clamped_item(item: Item) -> Item:
    if item.act is not Act.WAIT or item.queue is None or kept_count(item) is not None:
        return item
    assert item.entry is not None
    count = 0 if item.op.wait_value < 0 else item.queue.largest_wait
    return replace(item, entry=replace(item.entry, op=replace(item.op, wait_value=count)))


class _Trial:
    """A repair, its document and its rank."""

    def __init__(self, solution: Solution, cost: Cost) -> None:
        self.solution = solution
        self.emitted: Emitted = emit(solution.text, solution.placed)
        edits = [(s, q) for s, counts in solution.placed.counts.items() for q in counts]
        kernel = [e for e in edits if e[0][0] is Phase.KERNEL]
        added = [e for e in kernel if not _is_tightened(solution.text, *e)]
        self.key: tuple[float, ...] = (
            len(kernel),
            len(added),
            float(cost(self.emitted.document)),
            len(edits),
        )


def _is_tightened(text: Text, site: tuple[Phase, int], queue: Queue) -> bool:
    items = text.phase(site[0])
    return site[1] < len(items) and items[site[1]].act is Act.WAIT and items[site[1]].queue is queue


def _best_waits(windows: waits.Windows, cost: Cost, limit: int) -> _Trial:
    """The best repair of a text whose kernel has all its barriers."""
    options = {q: wait_places(windows, q, _kernel_places(windows, q), limit) for q in Queue}
    base = {q: options[q][0] for q in Queue}
    best: _Trial | None = None
    for queue in Queue:
        ranked = []
        for places in options[queue]:
            trial = {**base, queue: places}
            allowed = frozenset((i, q) for q, mine in trial.items() for i in mine)
            placed = waits.kernel_waits(windows, waits.at_last_of(allowed))
            ranked.append((_Trial(finish(windows, placed, style=waits.Style.REUSE), cost), places))
        best, base[queue] = min(ranked, key=lambda r: r[0].key)
    assert best is not None
    return best


def _kernel_places(windows: waits.Windows, queue: Queue) -> list[int]:
    """Where the kernel may be changed: its waits of the queue, and deadlines that are missed."""
    items = windows.text.kernel
    places = {i for i, x in enumerate(items) if x.act is Act.WAIT and x.queue is queue}
    for i in windows.kernel:
        if i.need.queue is queue and i.due is not None and not waits.served(i, waits.Placed()):
            places.add(i.program.elements[i.due].index)
    return sorted(places)


def _protocol_change(given: ScheduleDocument, tails: tuple[int, ...]) -> list[Change]:
    old = given.protocol.tail_barriers
    if old == tails:
        return []
    return [
        Change(
            kind=ChangeKind.PROTOCOL,
            phase=Phase.EPILOGUE,
            index=-1,
            before=f"tail_barriers {list(old)}",
            after=f"tail_barriers {list(tails)}",
            why="the wave groups executed different numbers of barriers [DEADLOCK]",
        )
    ]


def _changes(trial: _Trial, reasons: tuple[Reason, ...]) -> list[Change]:
    by_place = {(r.phase, r.index): r for r in reasons}
    out = []
    for phase in PHASES:
        entries = trial.emitted.document.phase(phase)
        old = {
            trial.emitted.items[phase, i]: x.source
            for i, x in enumerate(trial.solution.text.phase(phase))
            if x.source >= 0
        }
        before = trial.solution.text.document.phase(phase)
        for index, entry in enumerate(entries):
            was = before[old[index]].op if index in old else None
            if was is None or was.wait_value != entry.op.wait_value:
                reason = by_place.get((phase, index))
                out.append(
                    _change(phase, index, was.label() if was else None, entry.op.label(), reason)
                )
    return out


def _change(
    phase: Phase, index: int, before: str | None, after: str, reason: Reason | None
) -> Change:
    kind = ChangeKind.ADDED if before is None else ChangeKind.TIGHTENED
    why = ""
    if before is not None and reason is None:
        kind, why = ChangeKind.CLAMPED, "the counter cannot express the count [ENCODING]"
    return Change(
        kind=kind,
        phase=phase,
        index=index,
        before=before or "",
        after=after,
        reason=reason,
        why=why,
    )
