"""What the judge of warp-specialised schedules reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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

    def codes(self) -> frozenset[Code]:
        """The kinds of findings."""
        return frozenset(f.code for f in self.findings)

    def __str__(self) -> str:
        head = f"{self.document}: " + ("clean" if self.clean else "NOT clean")
        return "\n".join([head, *(str(f) for f in self.findings)])
