"""Room 9, judge: is a schedule right for every timing and every trip count?

``verify`` reads a ``warploom.schedule/1`` document and nothing else; it imports no scheduler, no
block builder and no wait derivation, so its verdict shares no assumption with how the schedule was
made. ``witness`` turns a finding into a concrete interleaving.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from warploom.verify.assumptions import Assumptions, Limits
from warploom.verify.findings import (
    Code,
    Event,
    Finding,
    Report,
    Severity,
    finding_to_json,
    report_to_json,
)
from warploom.verify.judge import verify
from warploom.verify.witness import witness

if TYPE_CHECKING:
    from warploom.verify.report import FileVerdict, exit_code, judge_file, judge_files

# Judging files brings role programs along.
_ON_DEMAND = {
    "FileVerdict": "report",
    "exit_code": "report",
    "judge_file": "report",
    "judge_files": "report",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever the module exports)
    if name in _ON_DEMAND:
        value = getattr(import_module(f"warploom.verify.{_ON_DEMAND[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Assumptions",
    "Code",
    "Event",
    "FileVerdict",
    "Finding",
    "Limits",
    "Report",
    "Severity",
    "exit_code",
    "finding_to_json",
    "judge_file",
    "judge_files",
    "report_to_json",
    "verify",
    "witness",
]
