"""Reports on machine code: verdict, findings with both events, assumptions; text, JSON, exit codes.

``Report`` is what ``check`` returns for one entry point. Verdicts and exit codes are shared with
``verify``: ``clean`` exits 0; ``race``, ``deadlock``, ``invalid``, ``wrong`` and ``timing`` exit 1;
``not judged``, ``unsupported`` and ``malformed`` exit 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from warploom.dataclass import dataclass


class Verdict(StrEnum):
    """What is said of one file; ``NOTE`` is a kind of finding only and leaves a verdict clean."""

    CLEAN = "clean"
    RACE = "race"
    DEADLOCK = "deadlock"
    INVALID = "invalid"
    WRONG = "wrong"
    TIMING = "timing"
    NOT_JUDGED = "not judged"
    UNSUPPORTED = "unsupported"
    MALFORMED = "malformed"
    NOTE = "note"

    @property
    def exit_code(self) -> int:
        """The exit code this verdict alone gives."""
        if self in (Verdict.CLEAN, Verdict.NOTE):
            return 0
        return 2 if self in _UNDECIDED else 1


_SHOWN = 12  # findings in full; the rest is counted
_NOTES = 2  # that a text lists
_UNDECIDED = (Verdict.NOT_JUDGED, Verdict.UNSUPPORTED, Verdict.MALFORMED)
_RANK = (  # of several findings the first of these names the verdict
    Verdict.MALFORMED,
    Verdict.DEADLOCK,
    Verdict.RACE,
    Verdict.INVALID,
    Verdict.WRONG,
    Verdict.TIMING,
    Verdict.UNSUPPORTED,
    Verdict.NOT_JUDGED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRange:
    """Bytes ``start`` up to ``stop`` (excluded) of ``space``, of a variable or tensor ``name``."""

    space: str
    start: int
    stop: int
    name: str = ""
    cta: int | None = None

    def __str__(self) -> str:
        of = f" of {self.name}" if self.name else ""
        at = f" of CTA {self.cta}" if self.cta is not None and not self.name else ""
        return f"{self.space} bytes {self.start:#x}..{self.stop - 1:#x}{of}{at}"

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values."""
        result: dict[str, Any] = {"space": self.space, "start": self.start, "stop": self.stop}
        if self.name:
            result["name"] = self.name
        if self.cta is not None:
            result["cta"] = self.cta
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeEvent:
    """One execution of an instruction.

    ``line`` is the line of the checked file, ``source`` the line of the source (``file:line``)
    where the file has line tables. ``lanes`` are the lanes of the warp or wave that matter;
    ``thread`` is one thread number of the CTA. ``iteration`` counts the executions of this
    instruction by this warp, from 0.
    """

    line: int
    instruction: str
    source: str = ""
    cta: int = 0
    warp: int = 0
    thread: int | None = None
    lanes: tuple[int, ...] = ()
    iteration: int = 0
    what: str = ""

    def __str__(self) -> str:
        where = f"CTA {self.cta} warp {self.warp}"
        if self.thread is not None:
            where += f" thread {self.thread}"
        what = f" {self.what}" if self.what else ""
        source = f" ({self.source})" if self.source else ""
        step = f", execution {self.iteration}" if self.iteration else ""
        return f"line {self.line}{source}: {self.instruction}{what} [{where}{step}]"

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values."""
        result: dict[str, Any] = {
            "line": self.line,
            "instruction": self.instruction,
            "cta": self.cta,
            "warp": self.warp,
            "iteration": self.iteration,
        }
        if self.source:
            result["source"] = self.source
        if self.thread is not None:
            result["thread"] = self.thread
        if self.lanes:
            result["lanes"] = list(self.lanes)
        if self.what:
            result["what"] = self.what
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFinding:
    """One defect: kind, short code, events, bytes, why no order holds, a witness and a fix.

    ``axiom`` names the axiom without which (or with which) the finding would not stand; ``count``
    is how many times the same pair of instructions was found.
    """

    kind: Verdict
    code: str
    why: str
    fix: str = ""
    events: tuple[CodeEvent, ...] = ()
    address: AddressRange | None = None
    witness: tuple[str, ...] = ()
    axiom: str = ""
    count: int = 1
    launch: str = ""

    def text(self) -> str:
        """The finding as a few readable lines."""
        lines = [f"{self.code} [{self.kind.value}]" + (f" x{self.count}" if self.count > 1 else "")]
        lines += [f"  event  {e}" for e in self.events]
        if self.address is not None:
            lines.append(f"  bytes  {self.address}")
        lines.append(f"  why    {self.why}")
        if self.axiom:
            lines.append(f"  axiom  {self.axiom}")
        lines += [f"  run    {step}" for step in self.witness]
        if self.fix:
            lines.append(f"  fix    {self.fix}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values."""
        result: dict[str, Any] = {
            "code": self.code,
            "kind": self.kind.value,
            "events": [e.to_json() for e in self.events],
            "address": None if self.address is None else self.address.to_json(),
            "why": self.why,
            "witness": list(self.witness),
            "fix": self.fix,
            "count": self.count,
        }
        if self.axiom:
            result["axiom"] = self.axiom
        if self.launch:
            result["launch"] = self.launch
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeReport:
    """The verdict on one entry point of one file.

    ``launches`` are the launches that were run, ``assumes`` what the verdict rests on (axioms,
    orders of draws, missing facts), ``never_run`` instructions that no launch reached,
    ``unsupported`` the first instruction that is not modelled, with its line, ``error`` why a file
    or launch cannot be read. ``figures`` are counts (instructions, seconds, bytes moved).
    ``without``: axioms, and the verdict with each of them turned off, where that is another one.
    """

    file: str
    entry: str = ""
    findings: tuple[CodeFinding, ...] = ()
    launches: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    never_run: tuple[str, ...] = ()
    unsupported: str = ""
    error: str = ""
    not_judged: tuple[str, ...] = ()
    without: tuple[tuple[str, str], ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """The gravest finding; else what kept it from being decided; else ``clean``."""
        kinds = {f.kind for f in self.findings}
        if self.error:
            kinds.add(Verdict.MALFORMED)
        if self.unsupported:
            kinds.add(Verdict.UNSUPPORTED)
        if self.not_judged:
            kinds.add(Verdict.NOT_JUDGED)
        return next((v for v in _RANK if v in kinds), Verdict.CLEAN)

    @property
    def clean(self) -> bool:
        """Decided, and nothing was found but notes."""
        return self.verdict is Verdict.CLEAN

    @property
    def exit_code(self) -> int:
        """The exit code of this report alone."""
        return self.verdict.exit_code

    def defects(self) -> tuple[CodeFinding, ...]:
        """The findings that are no notes."""
        return tuple(f for f in self.findings if f.kind is not Verdict.NOTE)

    def notes(self) -> tuple[CodeFinding, ...]:
        """The findings that leave the verdict as it is."""
        return tuple(f for f in self.findings if f.kind is Verdict.NOTE)

    def text(self) -> str:
        """The report as readable lines."""
        name = f"{self.file}: {self.entry}" if self.entry else self.file
        lines = [f"{name}: {self.verdict.value} ({len(self.defects())} finding(s))"]
        lines += [
            f"with the axiom {axiom} turned off ({axiom}=off): {verdict}"
            for axiom, verdict in self.without
        ]
        if self.error:
            lines.append(self.error)
        if self.unsupported:
            lines.append(f"unsupported: {self.unsupported}")
        lines += [f"not judged: {n}" for n in self.not_judged]
        defects = self.defects()
        lines += [f.text() for f in defects[:_SHOWN]]
        for code in dict.fromkeys(f.code for f in defects[_SHOWN:]):
            more = [f for f in defects[_SHOWN:] if f.code == code]
            at = sorted({f.events[0].line for f in more if f.events})
            where = ", ".join(map(str, at[:12])) + (", ..." if len(at) > 12 else "")
            lines.append(f"... and {len(more)} more {code}; first events at lines {where}")
        notes = self.notes()
        lines += [f.text() for f in notes[:_NOTES]]
        if len(notes) > _NOTES:
            lines.append(f"... and {len(notes) - _NOTES} more notes")
        lines += [f"launch: {launch}" for launch in self.launches]
        lines += [f"assumes: {a}" for a in self.assumes]
        shown = 12
        lines += [f"never run: {n}" for n in self.never_run[:shown]]
        if len(self.never_run) > shown:
            lines.append(f"never run: ... and {len(self.never_run) - shown} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values: one object a file."""
        result: dict[str, Any] = {
            "file": self.file,
            "entry": self.entry,
            "verdict": self.verdict.value,
            "launches": list(self.launches),
            "assumes": list(self.assumes),
            "findings": [f.to_json() for f in self.findings],
            "never_run": list(self.never_run),
        }
        if self.without:
            result["without"] = dict(self.without)
        if self.unsupported:
            result["unsupported"] = self.unsupported
        if self.error:
            result["error"] = self.error
        if self.not_judged:
            result["not_judged"] = list(self.not_judged)
        if self.figures:
            result["figures"] = dict(self.figures)
        return result


def exit_code(reports: Iterable[CodeReport]) -> int:
    """The exit code for all reports together."""
    return max((r.exit_code for r in reports), default=0)
