"""Waits that hold though loads past the end of K return at once.

Such a load lies outside its buffer and may overtake older ones, so a count of loads in flight
proves nothing (assumption A1 does not hold). Where a schedule needs the order, its waits for loads
become waits for all of them; that is judged again.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.document import ScheduleDocument
from warploom.document.kinds import ScheduleOps
from warploom.document.ops import ScheduleEntry
from warploom.errors import VerificationError
from warploom.verify import Assumptions, Report, verify


def safe_at_edges(document: ScheduleDocument) -> ScheduleDocument:
    """The document, its waits for loads tightened where they need loads to return in order."""
    if _judged(document) is None:
        return document
    tight = replace(
        document,
        prologue=tuple(map(_tightened, document.prologue)),
        kernel=tuple(map(_tightened, document.kernel)),
        epilogue=tuple(map(_tightened, document.epilogue)),
    )
    found = _judged(tight)
    if found is None or _judged(document, Assumptions()) is not None:
        return tight  # a schedule that races anyway was asked for with its races
    raise VerificationError(
        f"schedule {document.name!r} is not proven for any K",
        report=found,
        where=document.name,
        why="loads past the end of K return at once\n" + "\n".join(map(str, found.races())),
        fix="a K of whole iterations, or a schedule that waits for all its loads",
    )


def _judged(document: ScheduleDocument, assumptions: Assumptions | None = None) -> Report | None:
    """The report of a document that races."""
    report = verify(document, assumptions=assumptions or Assumptions.for_edges())
    return report if report.races() else None


def _tightened(entry: ScheduleEntry) -> ScheduleEntry:
    if entry.op.tag != ScheduleOps.WAIT_VM or entry.op.wait_value == 0:
        return entry
    return replace(entry, op=replace(entry.op, wait_value=0))
