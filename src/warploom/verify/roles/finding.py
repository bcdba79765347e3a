"""What the judge of warp-specialised schedules reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Code(StrEnum):
    """What can be wrong with a protocol of roles, rings and asynchronous groups."""

    PHASE = "PHASE"
    LAPPED = "LAPPED"
    ARRIVALS = "ARRIVALS"
    BYTES = "BYTES"
    RAW_SLOT = "RAW-SLOT"
    WAR_SLOT = "WAR-SLOT"
    RAW_REG = "RAW-REG"
    WAR_REG = "WAR-REG"
    FENCE = "FENCE"
    PROXY = "PROXY"
    STAGING = "STAGING"
    TOKEN = "TOKEN"
    COVERAGE = "COVERAGE"
    DEADLOCK = "DEADLOCK"
    DRAIN = "DRAIN"
    SCOPE = "SCOPE"
    BARRIER = "BARRIER"
    CAPACITY = "CAPACITY"


class Severity(StrEnum):
    """``race``: possible under some timing. ``timing``: impossible if an assumption holds."""

    RACE = "race"
    TIMING = "timing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an entry runs: role, instance, list and index, the tile and its iteration."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFinding:
    """One defect with the entries involved, the tiles that show it, and what would fix it."""

    code: Code
    why: str
    fix: str
    where: tuple[Place, ...] = ()
    tiles: tuple[int, ...] = ()
    severity: Severity = Severity.RACE

    def __str__(self) -> str:
        places = " -> ".join(str(p) for p in self.where)
        lines = [f"{self.code} [{self.severity}]: {self.why}"]
        lines += [f"  where {places}"] if places else []
        lines += [f"  tiles {self.tiles} (iterations of each tile)"] if self.tiles else []
        return "\n".join([*lines, f"  fix   {self.fix}"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RolesReport:
    """The verdict. ``sequences`` tile sequences were unrolled; ``window`` is the longest reach.

    ``complete``: the sequences decide every trip count and every number of tiles.
    """

    document: str
    findings: tuple[RoleFinding, ...]
    window: int
    sequences: int
    complete: bool

    @property
    def clean(self) -> bool:
        """True when no race was found and the verdict covers every trip count."""
        return self.complete and not any(f.severity is Severity.RACE for f in self.findings)

    @property
    def verdict(self) -> str:
        """``race``, ``timing`` (an assumption is needed) or ``clean``.

        A document that could not be judged for every trip count is never clean.
        """
        if not self.clean:
            return "race"
        return "timing" if self.findings else "clean"

    @property
    def trips_proven(self) -> str:
        """``all`` when the verdict covers every tile length and number of tiles."""
        return "all" if self.complete else f"{self.sequences} tile sequences"

    def text(self) -> str:
        """The verdict as readable lines."""
        head = f"{self.verdict} (trip counts: {self.trips_proven})"
        return "\n".join([head, *(str(f) for f in self.findings)])

    def codes(self) -> frozenset[Code]:
        """The kinds of findings."""
        return frozenset(f.code for f in self.findings)

    def __str__(self) -> str:
        head = f"{self.document}: " + ("clean" if self.clean else "NOT clean")
        return "\n".join([head, *(str(f) for f in self.findings)])


def roles_report_to_json(report: RolesReport) -> dict[str, Any]:
    """Verdict and findings in the documented form; an event also names its role and tile."""
    return {
        "verdict": report.verdict,
        "trips_proven": report.trips_proven,
        "findings": [_finding_to_json(f) for f in report.findings],
    }


def _finding_to_json(finding: RoleFinding) -> dict[str, Any]:
    return {
        "code": finding.code.value,
        "severity": finding.severity.value,
        "trip_count": max(finding.tiles, default=None),
        "where": [
            {
                "phase": p.phase.upper(),
                "index": p.index,
                "iteration": p.iteration,
                "op": p.entry,
                "role": p.role,
                "tile": p.tile,
            }
            for p in finding.where
        ],
        "slot": None,
        "waves": [[p.cta, p.instance] for p in finding.where],
        "why": finding.why,
        "fix": finding.fix,
    }
