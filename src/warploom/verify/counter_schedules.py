"""``verify``: the verdict on a schedule document, for every timing and every trip count."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import field, replace

from warploom import axioms
from warploom.dataclass import dataclass
from warploom.errors import ConfigError, TooLargeError
from warploom.ir.counter_dialect import Queue, RegisterWaits
from warploom.ir.format1 import AnyGiven, document_of
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.schedule_ops import Phase
from warploom.verify import structure
from warploom.verify.completion import NEVER, dependence_depth, loads_follow_the_loop
from warploom.verify.data import find_data_errors, find_flow_errors, looks_back
from warploom.verify.events import Item, Kind, Text, beyond, read_text
from warploom.verify.explain import event, explain
from warploom.verify.findings import (
    FLOW_DECLARED,
    Assumptions,
    Code,
    Event,
    Finding,
    Limits,
    Report,
    Severity,
)
from warploom.verify.races import Conflict, Run, analyse, find_conflicts
from warploom.verify.roles import verify_roles

MAX_EVENTS = 600_000
MAX_FINDINGS = 250
"""Findings of one severity that a report lists."""
_BEYOND = 6
"""Further trip counts to look at where the argument for all of them does not apply."""

_LOOKED_AT = 16
"""Trip counts that are asked for are looked at up to this far beyond those that decide all."""

_ORDER = {Severity.RACE: 0, Severity.TIMING: 1, Severity.INFO: 2}


def verify(
    document: AnyGiven,
    *,
    trips: range | None = None,
    assumptions: Assumptions | None = None,
    limits: Limits | None = None,
) -> Report:
    """Check a document, or what compilation returned. Without ``trips``: every iteration count.

    Programs of roles are checked for all lengths of tiles (``warploom.verify.roles``).

    Raises ``DocumentError`` for a document that has no meaning or is too large to check, and
    ``ConfigError`` for an impossible range.
    """
    given = document_of(document)
    if isinstance(given, RolesDocument):
        least = given.minimum_trips
        pairs = None if trips is None else [(n, n) for n in trips if n >= least]
        return verify_roles(given, sequences=pairs)
    document = given
    text = read_text(given)
    if trips is not None:
        _check_range(trips)
    limits = limits or Limits()
    assumptions = assumptions or Assumptions()
    checked, proven, depth = _deciding(text)
    court = _Court(text=text, assumptions=assumptions)
    court.try_all(checked, limits)
    if trips is not None and proven and not court.is_wrong():
        more = range(max(trips.start, checked.stop), min(trips.stop, checked.stop + _LOOKED_AT))
        court.try_all(more, limits)
        court.keep_trips(trips)
    elif trips is not None:
        checked = trips
        court = _Court(text=text, assumptions=assumptions)
        court.try_all(checked, limits)
    scope = checked if trips is None else trips
    found, omitted = court.verdict()
    return Report(
        name=document.name,
        findings=found,
        trips_proven="all" if proven and trips is None else f"{scope[0]}..{scope[-1]}",
        trips_checked=tuple(checked),
        depth=depth,
        omitted=omitted,
        not_judged=beyond(document),
        assumes=_assumed(text, assumptions),
    )


def _assumed(text: Text, assumptions: Assumptions) -> tuple[str, ...]:
    """What the verdict rests on: declared dataflow, and the axioms that its waits make use of."""
    found = [] if text.flow is None else [FLOW_DECLARED]
    counted = {i.queue for i in text.items() if i.kind is Kind.WAIT and i.count}
    if text.protocol.register_waits is RegisterWaits.COMPILER:
        counted.add(Queue.LGKM)
    for queue, name in ((Queue.VM, "vm_order"), (Queue.LGKM, "lds_order")):
        if queue in counted:
            found.append(axioms.stated(name, on=assumptions.in_order(queue)))
    if assumptions.issue_stalls:
        found.append(axioms.stated("counter_stall", on=True))
    return tuple(found)


def _deciding(text: Text) -> tuple[range, bool, int]:
    """The trip counts to check, whether they decide all, and the depth."""
    _check_size(text, [4])
    _check_size(text, range(3))
    depth = dependence_depth(text)
    if depth is None:
        return range(_BEYOND + 1), False, _BEYOND
    end = max(depth + 2, 3 if text.flow is None else looks_back(text.flow) + 4)
    if loads_follow_the_loop(text):
        return range(end), True, depth
    return range(end + _BEYOND), False, depth


def _check_range(trips: range) -> None:
    if not trips or trips[0] < 0 or trips.step != 1:
        raise ConfigError(
            f"no trip counts to judge in {trips}",
            fix="give a range of counts from 0 up, such as range(0, 5)",
        )


def _check_size(text: Text, counts: Iterable[int]) -> None:
    fixed = len(text.prologue) + len(text.epilogue) + 3
    size = 0
    for count in counts:
        size += fixed + count * len(text.kernel)
        if size > MAX_EVENTS:
            raise TooLargeError(
                "the schedule is too large to judge",
                why=f"unrolling it takes more than {MAX_EVENTS} events",
                fix="judge fewer trip counts; without --trips a few decide all of them",
            )


@dataclass(slots=True)
class _Court:
    """Collects findings over trip counts; each kind of finding is kept once, at its first count."""

    text: Text
    assumptions: Assumptions
    found: dict[Hashable, Finding] = field(default_factory=dict)
    needed: dict[tuple[Phase, int], tuple[int, Event]] = field(default_factory=dict)
    omitted: set[Hashable] = field(default_factory=set)
    kept: Counter[Severity] = field(default_factory=Counter)
    first: int | None = None

    def add_all(self, findings: Iterable[Finding]) -> None:
        """Keep findings that are new."""
        for finding in findings:
            key = finding.severity, _key(finding)
            if self._has_room(key, finding.severity):
                self.found[key] = finding

    def _has_room(self, key: Hashable, severity: Severity) -> bool:
        """Is this finding new, and one of the first of its severity?"""
        if key in self.found or key in self.omitted:
            return False
        self.kept[severity] += 1
        if self.kept[severity] <= MAX_FINDINGS:
            return True
        self.omitted.add(key)
        return False

    def try_all(self, counts: range, limits: Limits) -> None:
        """Check the budgets and each trip count."""
        if not counts:
            return
        _check_size(self.text, counts)
        self.add_all(structure.find_over_budget(self.text, limits))
        self.first = counts[0] if self.first is None else self.first
        for count in counts:
            self._try(analyse(self.text, count, self.assumptions))

    def _try(self, run: Run) -> None:
        conflicts = list(find_conflicts(run))
        for conflict in conflicts:
            severity, note = self._severity(run, conflict)
            if severity is Severity.RACE:
                self._note_encoding(run, conflict)
            key = severity, _conflict_key(run, conflict)
            if self._has_room(key, severity):
                self.found[key] = explain(run, conflict, severity, note)
        judged = find_data_errors if self.text.flow is None else find_flow_errors
        self.add_all(judged(run))
        self.add_all(structure.find_deadlock(run.program))
        if self.assumptions.issue_stalls:
            self.add_all(self._resting_on_stalls(run, conflicts))

    def _severity(self, run: Run, conflict: Conflict) -> tuple[Severity, str]:
        if conflict.harmless:
            return Severity.INFO, ""
        if conflict.code is not Code.WAR_LDS or conflict.waves[0] != conflict.waves[1]:
            return Severity.RACE, ""
        note = f" Rests on A4 (a load outlasts an LDS read of its wave): {_slack(run, conflict)}."
        holds = self.assumptions.load_outlasts_read
        return (Severity.INFO if holds else Severity.TIMING), note

    def _note_encoding(self, run: Run, conflict: Conflict) -> None:
        """Would a wait the hardware can not express have ordered this pair?"""
        at = run.completion.literal[conflict.first]
        if at == NEVER or at >= run.completion.done[conflict.first]:
            return
        one, other = conflict.waves
        apart = conflict.joined and one != other
        ahead = run.program.barriers_before(conflict.second, other.group)
        ordered = ahead > run.program.barriers_before(at, one.group) if apart else True
        if ordered and at < conflict.second:
            item = run.program.items[at]
            entry = run.program.trips, event(run.program, conflict.second)
            self.needed.setdefault((item.phase, item.index), entry)

    def _resting_on_stalls(self, run: Run, conflicts: list[Conflict]) -> Iterator[Finding]:
        """What only A3 keeps in order: reported as information, so that it is seen."""
        without = replace(self.assumptions, issue_stalls=False)
        bare = analyse(self.text, run.program.trips, without)
        known = {_conflict_key(run, c) for c in conflicts}
        for conflict in find_conflicts(bare):
            if _conflict_key(bare, conflict) not in known and not conflict.harmless:
                note = " Rests on A3 (issuing past a counter's capacity stalls)."
                yield explain(bare, conflict, Severity.INFO, note)

    def is_wrong(self) -> bool:
        """Has anything worse than information been found?"""
        return any(f.severity is not Severity.INFO for f in self.found.values())

    def keep_trips(self, trips: range) -> None:
        """Drop information that only other trip counts show."""
        self.found = {k: f for k, f in self.found.items() if f.trip_count in trips}

    def verdict(self) -> tuple[tuple[Finding, ...], int]:
        """The findings, worst first, and how many did not fit."""
        self.add_all(self._encodings())
        found = sorted(self.found.values(), key=lambda f: (_ORDER[f.severity], f.trip_count))
        return tuple(found), len(self.omitted)

    def _encodings(self) -> Iterator[Finding]:
        for item in self.text.items():
            if item.is_unencodable:
                yield self._encoding(item)

    def _encoding(self, item: Item) -> Finding:
        trips, needed_by = self.needed.get((item.phase, item.index), (self.first or 0, None))
        return structure.encoding_finding(item, trips, needed_by)


def _slack(run: Run, conflict: Conflict) -> str:
    read, load = (run.program.items[p].op for p in (conflict.first, conflict.second))
    if read is None or load is None or not (read.latency or load.latency):
        return "the document gives no latencies"
    return f"{load.latency - read.latency} cycles of slack by the document's latencies"


def _conflict_key(run: Run, conflict: Conflict) -> Hashable:
    """The same pair of entries, equally many iterations apart, is one finding."""
    items, at = run.program.items, run.program.iterations
    one, other = items[conflict.first], items[conflict.second]
    apart = at[conflict.second] - at[conflict.first] if one.phase is other.phase else 0
    return conflict.code, one.phase, one.index, other.phase, other.index, apart


def _key(finding: Finding) -> Hashable:
    one, other = finding.where
    if finding.code in (Code.COVERAGE, Code.FLOW):
        return finding.code, finding.slot, one.phase, one.index
    if finding.code in (Code.DEADLOCK, Code.CAPACITY):
        return finding.code, finding.why if finding.code is Code.CAPACITY else ""
    apart = other.iteration - one.iteration if one.phase is other.phase else 0
    return finding.code, one.phase, one.index, other.phase, other.index, apart
