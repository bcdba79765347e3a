"""What the verification of coverage says: claims with how far they hold, and findings."""

from __future__ import annotations

from enum import StrEnum

from warploom.dataclass import dataclass


class How(StrEnum):
    """How far a claim was verified."""

    ALL = "all sizes"
    CLASSES = "enumerated size classes"
    NOT = "not followed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something that was verified, for which sizes, and by what argument."""

    what: str
    how: How
    argument: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong: what, where in the module, and the sizes that show it."""

    what: str
    where: str
    sizes: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        at = ", ".join(f"{n}={v}" for n, v in self.sizes)
        return f"{self.where}: {self.what}" + (f" ({at})" if at else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageReport:
    """The verdict on a module: ``clean`` or ``wrong``."""

    module: str
    claims: tuple[Claim, ...]
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """``clean`` where nothing was found."""
        return "wrong" if self.findings else "clean"

    def __str__(self) -> str:
        lines = [f"coverage of {self.module}: {self.verdict}"]
        lines += [f"  {c.what}: {c.how} ({c.argument})" for c in self.claims]
        lines += [f"  wrong: {f}" for f in self.findings]
        return "\n".join(lines)
