"""Checking files: many documents in, one verdict each, and the exit code that sums them up.

Verdicts and exit codes are those of ``check`` (``warploom.report.Verdict``): 0 all are clean; 1
some document has a finding; 2 some is malformed, too large, or not judged. A malformed document
never keeps the others from being checked.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from warploom.dataclass import dataclass
from warploom.errors import (
    ConfigError,
    DocumentError,
    TooLargeError,
    WarploomError,
    cannot_read,
)
from warploom.ir import read_schedule
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.format1 import MAX_TEXT
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.report import Verdict
from warploom.verify.counter_schedules import verify
from warploom.verify.findings import Assumptions, Report
from warploom.verify.roles import verify_roles

MAX_LENGTHS = 256
"""Tile lengths of a role program that are checked one by one."""
_TILES = 3  # of one length, one after the other


class Judged(Protocol):
    """A report: of a schedule, or of a whole module."""

    @property
    def verdict(self) -> str:
        """One of ``warploom.report.Verdict``."""

    def text(self) -> str:
        """Readable lines."""

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVerdict:
    """The verdict on one file: a report, or the error that made it impossible."""

    file: str
    report: Judged | None = None
    error: str = ""
    too_large: bool = False

    @property
    def verdict(self) -> Verdict:
        """What is said of the file."""
        if self.report is None:
            return Verdict.NOT_JUDGED if self.too_large else Verdict.MALFORMED
        return Verdict(self.report.verdict)

    @property
    def exit_code(self) -> int:
        """The exit code this file alone would give."""
        return self.verdict.exit_code

    def to_json(self) -> dict[str, Any]:
        """The verdict in its documented form."""
        if self.report is None:
            return {
                "file": self.file,
                "verdict": self.verdict.value,
                "trips_proven": None,
                "assumes": [],
                "findings": [],
            }
        return {"file": self.file, **self.report.to_json()}

    def text(self) -> str:
        """The verdict as readable lines."""
        if self.report is None:
            return f"{self.file}: {self.verdict.value}\n{self.error}"
        return f"{self.file}: {self.report.text()}"


def verify_file(path: str | Path, trips: range | None = None) -> FileVerdict:
    """Check one file."""
    name = str(path)
    try:
        document = read_schedule(_read(Path(path)))
        return FileVerdict(file=name, report=verify_document(document, trips))
    except TooLargeError as error:
        return FileVerdict(file=name, error=str(error), too_large=True)
    except WarploomError as error:
        return FileVerdict(file=name, error=str(error))
    except OSError as error:
        return FileVerdict(file=name, error=cannot_read(name, error))
    except ValueError as error:
        return FileVerdict(file=name, error=f"cannot read {name}: {error}")
    except (MemoryError, RecursionError):
        return FileVerdict(file=name, error="the document is too large to judge", too_large=True)


def verify_document(
    document: ScheduleDocument | RolesDocument, trips: range | None = None
) -> Report:
    """The verdict; of role programs with ``trips`` only for tiles of those lengths, in pairs.

    Of counter schedules also what it would be where loads do not complete in order of issue
    (``vm_order=off``), if that is another one.
    """
    if not isinstance(document, RolesDocument):
        return _both_ways(document, verify(document, trips=trips), trips)
    if trips is None:
        return verify_roles(document)
    least = document.minimum_trips
    wanted = trips[max(least - trips.start, 0) :]
    if not 0 < len(wanted) <= MAX_LENGTHS:
        raise ConfigError(
            f"{len(wanted)} tile lengths to judge in {trips.start}..{trips.stop - 1}",
            fix=f"give 1 to {MAX_LENGTHS} counts of at least {least}, or none to prove all",
        )
    scope = f"{wanted[0]}..{wanted[-1]}"
    return verify_roles(document, sequences=[(n,) * _TILES for n in wanted], scope=scope)


def _both_ways(document: ScheduleDocument, report: Report, trips: range | None) -> Report:
    if not report.clean or not any(a.startswith("vm_order=on") for a in report.assumes):
        return report
    without = verify(document, trips=trips, assumptions=Assumptions(vm_in_order=False))
    if without.verdict == report.verdict:
        return report
    note = f"vm_order=off: {without.verdict}, {len(without.findings)} finding(s)"
    return replace(report, assumes=(*report.assumes, note))


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise DocumentError("a folder, not a document")
    with path.open("rb") as file:
        data = file.read(MAX_TEXT + 1)
    if len(data) > MAX_TEXT:
        raise DocumentError(f"the file is larger than {MAX_TEXT} bytes")
    return data


def exit_code(verdicts: Iterable[FileVerdict]) -> int:
    """The exit code for all files together."""
    return max((v.exit_code for v in verdicts), default=0)


def render(verdict: FileVerdict, form: str) -> str:
    """One verdict as a line of JSON, or as text without characters a terminal may choke on."""
    if form == "json":
        return json.dumps(verdict.to_json())
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in verdict.text())


def parse_trips(text: str) -> range:
    """Read ``N..M`` (both included) or a single count ``N``."""
    first, dots, last = text.partition("..")
    numbers = [first, last] if dots else [first, first]
    if not all(n.isascii() and n.isdigit() and len(n) <= 9 for n in numbers):
        raise ConfigError(f"{text[:40]!r} is no range of trip counts", fix="write N or N..M")
    low, high = (int(n) for n in numbers)
    if low > high:
        raise ConfigError(f"the range {text} is empty", fix="write the smaller count first")
    return range(low, high + 1)
