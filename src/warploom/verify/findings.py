"""What the judge says: events, findings and reports, as values and in JSON form."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import Any

from warploom.document import WaveId
from warploom.document.kinds import Phase


class Severity(Enum):
    """``RACE``: possible under some timing. ``TIMING``: impossible only if a stated latency
    assumption holds. ``INFO``: worth knowing, no wrong result."""

    RACE = "race"
    TIMING = "timing"
    INFO = "info"


class Code(Enum):
    """The hazards the judge knows; docs/explain/hazards.md tells each one's condition."""

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


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a phase, in one iteration (0 outside the kernel)."""

    phase: Phase
    index: int
    iteration: int
    op: str

    def __str__(self) -> str:
        turn = f" of iteration {self.iteration}" if self.phase is Phase.KERNEL else ""
        return f"{self.op} ({self.phase.name.lower()}[{self.index}]{turn})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One hazard: both events, the waves that execute them, the reason and a concrete fix.

    ``trip_count`` is the smallest judged iteration count that shows it. ``waves`` are the wave of
    the first and of the second event.
    """

    code: Code
    severity: Severity
    trip_count: int
    where: tuple[Event, Event]
    slot: str | None
    waves: tuple[WaveId, ...]
    why: str
    fix: str

    def text(self) -> str:
        """The finding as a few readable lines."""
        first, second = self.where
        place = str(first) if first == second else f"{first} -> {second}"
        waves = ", ".join(str(w) for w in self.waves)
        slot = f", {self.slot}" if self.slot else ""
        return (
            f"{self.code.value} [{self.severity.value}] {place}\n"
            f"  with   {self.trip_count} iteration(s); {waves}{slot}\n"
            f"  why    {self.why}\n"
            f"  fix    {self.fix}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The verdict on one document.

    ``trips_proven`` is "all" or the judged range ``"N..M"``; ``trips_checked`` the iteration
    counts that were unrolled; ``depth`` the number of back edges the longest dependence spans.
    ``omitted`` counts findings beyond the limit that a report lists.
    """

    name: str
    findings: tuple[Finding, ...]
    trips_proven: str
    trips_checked: tuple[int, ...]
    depth: int
    omitted: int = 0

    @property
    def verdict(self) -> str:
        """``race``, ``timing`` or ``clean``."""
        found = {f.severity for f in self.findings}
        if Severity.RACE in found:
            return "race"
        return "timing" if Severity.TIMING in found else "clean"

    @property
    def is_clean(self) -> bool:
        """No race and no timing finding."""
        return self.verdict == "clean"

    def races(self) -> tuple[Finding, ...]:
        """The findings that make the schedule wrong."""
        return tuple(f for f in self.findings if f.severity is Severity.RACE)

    def _repr_html_(self) -> str:
        # Pictures live above this room; looked up only when a notebook asks for one.
        return str(import_module("warploom.view.notebook").verdict_html(self))

    def text(self) -> str:
        """The report as readable lines."""
        trips = f"trip counts: {self.trips_proven}"
        head = f"{self.name}: {self.verdict} ({trips}, {len(self.findings)} finding(s))"
        more = [f"... and {self.omitted} more"] if self.omitted else []
        return "\n".join([head, *(f.text() for f in self.findings), *more])


def report_to_json(report: Report) -> dict[str, Any]:
    """Verdict, proven trip counts and findings as JSON-ready values."""
    return {
        "verdict": report.verdict,
        "trips_proven": report.trips_proven,
        "findings": [finding_to_json(f) for f in report.findings],
    }


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """One finding as JSON-ready values."""
    return {
        "code": finding.code.value,
        "severity": finding.severity.value,
        "trip_count": finding.trip_count,
        "where": [
            {"phase": e.phase.name, "index": e.index, "iteration": e.iteration, "op": e.op}
            for e in finding.where
        ],
        "slot": finding.slot,
        "waves": [[w.group, w.member] for w in finding.waves],
        "why": finding.why,
        "fix": finding.fix,
    }
