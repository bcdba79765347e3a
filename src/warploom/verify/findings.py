"""What the verifiers take for granted and what they say: places, findings, reports, also as JSON.

``Assumptions`` are facts about one chip that a proof may rest on; each has a name (A1..A4), a
switch and a default. A schedule that is only right because of A3 or A4 is reported, never silently
accepted. ``Limits`` are budgets to check the document against; ``None`` means "not checked".

Both dialects of documents, counter schedules and role programs, are reported in these types.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Any

from warploom.dataclass import dataclass
from warploom.ir import WaveId
from warploom.ir.counter_dialect import Queue
from warploom.ir.schedule_ops import Phase
from warploom.repr_html import Pictured


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """Facts about the machine, each with a switch.

    ``vm_in_order`` (A1): global loads retire in order of issue; without it only ``vm(0)`` proves
    anything. ``lds_in_order`` (A2): the same for LDS operations. ``issue_stalls`` (A3): issuing
    past a counter's capacity stalls, so what is older than the capacity is complete.
    ``load_outlasts_read`` (A4): a global round trip takes longer than an LDS read the same wave
    has issued before.
    """

    vm_in_order: bool = True
    lds_in_order: bool = True
    issue_stalls: bool = False
    load_outlasts_read: bool = False

    @classmethod
    def for_edges(cls) -> Assumptions:
        """What is left where tiles hang over the edge of a matrix.

        Loads that lie outside return at once and may overtake those inside, so A1 does not hold:
        a kernel that clips its loads is checked with these.
        """
        return cls(vm_in_order=False)

    def in_order(self, queue: Queue) -> bool:
        """Does a count above zero prove anything about this queue?"""
        return self.vm_in_order if queue is Queue.VM else self.lds_in_order


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Budgets of a workgroup: LDS bytes (with the bytes of one slot, per channel), VGPRs of a wave,
    waves. What a document says of neither is what gfx950 has at most.
    """

    lds_bytes: int | None = None
    slot_bytes: tuple[int, int] = (0, 0)
    vgprs: int | None = 512
    waves: int | None = 16


class Severity(StrEnum):
    """``RACE``: possible under some timing. ``TIMING``: impossible only if a stated latency
    assumption holds. ``INFO``: worth knowing, no wrong result."""

    RACE = "race"
    TIMING = "timing"
    INFO = "info"


class Code(StrEnum):
    """The defects the verifiers know; docs/explain/hazards.md tells each one's condition."""

    RAW_LDS = "RAW-LDS"
    WAR_LDS = "WAR-LDS"
    WAW_LDS = "WAW-LDS"
    RAW_REG = "RAW-REG"
    WAR_REG = "WAR-REG"
    TOKEN = "TOKEN"
    COVERAGE = "COVERAGE"
    DEADLOCK = "DEADLOCK"
    ENCODING = "ENCODING"
    CAPACITY = "CAPACITY"
    DEAD_READ = "DEAD-READ"
    PHASE = "PHASE"
    LAPPED = "LAPPED"
    ARRIVALS = "ARRIVALS"
    BYTES = "BYTES"
    RAW_SLOT = "RAW-SLOT"
    WAR_SLOT = "WAR-SLOT"
    FENCE = "FENCE"
    PROXY = "PROXY"
    STAGING = "STAGING"
    DRAIN = "DRAIN"
    SCOPE = "SCOPE"
    BARRIER = "BARRIER"
    FLOW = "FLOW"
    EXCHANGE = "EXCHANGE"
    ALIGNMENT = "ALIGNMENT"


FLOW_DECLARED = "flow as declared"
FLOW_NAMED = "flow as the names of the ops say"


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a phase of a counter schedule, in one iteration (0 outside the kernel)."""

    phase: Phase
    index: int
    iteration: int
    op: str

    def __str__(self) -> str:
        which = f" of iteration {self.iteration}" if self.phase is Phase.KERNEL else ""
        return f"{self.op} ({self.phase.name.lower()}[{self.index}]{which})"

    def to_json(self) -> dict[str, Any]:
        """The event in its documented form."""
        return {
            "phase": self.phase.name,
            "index": self.index,
            "iteration": self.iteration,
            "op": self.op,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an entry of a role program runs: role, instance, list and index, tile, iteration."""

    role: str
    phase: str
    index: int
    entry: str
    instance: int = 0
    cta: int = 0
    tile: int = 0
    iteration: int = 0

    def __str__(self) -> str:
        where = f"{self.role}.{self.phase}[{self.index}] {self.entry}"
        return f"{where} (instance {self.instance}, tile {self.tile}, iteration {self.iteration})"

    @property
    def op(self) -> str:
        """The entry, under the name an event has for it."""
        return self.entry

    def to_json(self) -> dict[str, Any]:
        """The event in its documented form, with its role and tile."""
        return {
            "phase": self.phase.upper(),
            "index": self.index,
            "iteration": self.iteration,
            "op": self.entry,
            "role": self.role,
            "tile": self.tile,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One defect: the events involved, the reason and a concrete fix.

    ``trip_count`` is the least checked iteration count that shows it, ``tiles`` the iterations of
    each tile of a run of role programs that does. ``waves`` are the waves (group, member) or agents
    (CTA, instance) of the events. ``line`` is the author's, where the document carries it.
    ``about``: what a finding without places is about, the same in every run that shows it.
    """

    code: Code
    why: str
    fix: str
    severity: Severity = Severity.RACE
    trip_count: int = 0
    where: tuple[Event | Place, ...] = ()
    slot: str | None = None
    waves: tuple[WaveId, ...] = ()
    tiles: tuple[int, ...] = ()
    line: str = ""
    about: tuple[str, ...] = ()

    def text(self) -> str:
        """The finding as a few readable lines."""
        places = list(dict.fromkeys(str(e) for e in self.where))
        lines = [f"{self.code.value} [{self.severity.value}] {' -> '.join(places)}".rstrip()]
        slot = f", {self.slot}" if self.slot else ""
        if self.tiles:
            lines.append(f"  with   tiles of {self.tiles} iteration(s){slot}")
        elif self.waves:
            waves = ", ".join(str(w) for w in self.waves)
            lines.append(f"  with   {self.trip_count} iteration(s); {waves}{slot}")
        lines += [f"  line   {self.line}"] if self.line else []
        return "\n".join([*lines, f"  why    {self.why}", f"  fix    {self.fix}"])

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Pictured):
    """The verdict on one document.

    ``trips_proven`` is "all" or what was checked; ``trips_checked`` the iteration counts that were
    unrolled; ``depth`` the number of back edges (or ring uses) the longest dependence spans.
    ``omitted`` counts findings beyond the limit that a report lists. ``not_judged`` says what no
    judge could decide: with anything there, the verdict is not clean. ``assumes`` says what the
    verdict takes from the document without being able to compare it with anything.
    """

    name: str
    findings: tuple[Finding, ...]
    trips_proven: str
    trips_checked: tuple[int, ...] = ()
    depth: int = 0
    omitted: int = 0
    sequences: int = 0
    not_judged: tuple[str, ...] = field(default=())
    assumes: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> str:
        """``race``, ``not judged``, ``timing`` or ``clean``."""
        found = {f.severity for f in self.findings}
        if Severity.RACE in found:
            return "race"
        if self.not_judged:
            return "not judged"
        return "timing" if Severity.TIMING in found else "clean"

    @property
    def clean(self) -> bool:
        """No race, and everything checked: what a proof needs if the stated assumptions hold."""
        return self.verdict in ("clean", "timing")

    @property
    def trouble(self) -> str:
        """What keeps it from being proven, in a few words."""
        if self.verdict == "not judged":
            return f"is not judged: {self.not_judged[0]}"
        return f"can race: {len(self.findings)} finding(s)"

    def races(self) -> tuple[Finding, ...]:
        """The findings that make the schedule wrong."""
        return tuple(f for f in self.findings if f.severity is Severity.RACE)

    def codes(self) -> frozenset[Code]:
        """The kinds of findings."""
        return frozenset(f.code for f in self.findings)

    def text(self) -> str:
        """The report as readable lines."""
        trips = f"trip counts: {self.trips_proven}"
        head = f"{self.name}: {self.verdict} ({trips}, {len(self.findings)} finding(s))"
        more = [f"... and {self.omitted} more"] if self.omitted else []
        notes = [f"not judged: {note}" for note in self.not_judged]
        notes += [f"assumes: {note}" for note in self.assumes]
        return "\n".join([head, *notes, *(f.text() for f in self.findings), *more])

    def to_json(self) -> dict[str, Any]:
        """Verdict, proven trip counts and findings as JSON-ready values."""
        return report_to_json(self)

    def __str__(self) -> str:
        return self.text()


def report_to_json(report: Report) -> dict[str, Any]:
    """Verdict, proven trip counts and findings as JSON-ready values."""
    notes = {"not_judged": list(report.not_judged)} if report.not_judged else {}
    return {
        "verdict": report.verdict,
        "trips_proven": report.trips_proven,
        **notes,
        "assumes": list(report.assumes),
        "findings": [finding_to_json(f) for f in report.findings],
    }


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """One finding as JSON-ready values."""
    line = {"line": finding.line} if finding.line else {}
    return {
        "code": finding.code.value,
        "severity": finding.severity.value,
        "trip_count": max(finding.tiles, default=finding.trip_count),
        "where": [e.to_json() for e in finding.where],
        "slot": finding.slot,
        "waves": [[w.group, w.member] for w in finding.waves]
        or [[p.cta, p.instance] for p in finding.where if isinstance(p, Place)],
        "why": finding.why,
        "fix": finding.fix,
        **line,
    }
