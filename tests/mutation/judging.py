"""The verifier as the harness' judge: its verdict, its first reason, and its witnesses."""

from __future__ import annotations

from tests.mutation.harness import Verdict
from warploom.errors import WarploomError
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.witness import Witness
from warploom.verify import Finding, verify, witness

_WITNESSES = 3


def judge_by_verifier(document: ScheduleDocument) -> Verdict:
    """Racy when the verifier reports more than information."""
    report = verify(document)
    if report.verdict == "clean":
        return Verdict(racy=False)
    races = report.races() or report.findings
    return Verdict(
        racy=True,
        reason=races[0].text().splitlines()[0],
        witnesses=tuple(w for f in races[:_WITNESSES] if (w := _witness(document, f)) is not None),
    )


def _witness(document: ScheduleDocument, finding: Finding) -> Witness | None:
    """The finding's witness, if it has one."""
    try:
        return witness(document, finding)
    except WarploomError:
        return None
