"""``warploom repair``: the nearest schedule without races, and what was changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from warploom.cli.knobs import SpecArgument
from warploom.cli.screen import Answer, OutputOption, working, write_file
from warploom.cli.source import load
from warploom.cli.subject import Subject
from warploom.document.roles import RolesDocument
from warploom.errors import SyncError
from warploom.guard.counters import Repair, repair
from warploom.guard.mbarrier.repair import repair_roles
from warploom.verify.roles import verify_roles
from warploom.view.compare import changes


def repair_command(source: SpecArgument, output: OutputOption = None) -> Answer:
    """Add and tighten as few waits and barriers as leave no race, and say why.

    Role programs are derived anew from their kernel; what differs is listed.
    Exit code 0: nothing to repair, or repaired and proven. 2: the order itself is wrong, which no
    wait can repair.

    Example: warploom repair racy.json -o clean.json
    """
    subject = load(source)
    with working(f"repairing {subject.name}"):
        mended, text, found = _roles(subject) if subject.is_roles else _counters(subject)
    if output is not None:
        write_file(output, mended.text())
    return Answer(lambda: text, lambda: found, 0 if mended.report().clean else 1)


def _counters(subject: Subject) -> tuple[Subject, str, dict[str, Any]]:
    assert not subject.is_roles
    done = repair(subject.document)
    return replace(subject, document=done.document, compiled=None), done.text, _as_json(done)


def _roles(subject: Subject) -> tuple[Subject, str, dict[str, Any]]:
    if subject.report().verdict != "race":
        found: dict[str, Any] = {"name": subject.name, "changes": []}
        return subject, f"{subject.name}: nothing to repair", found
    if subject.kernel is None:
        return _patched(subject)
    mended = replace(subject, document=subject.kernel.lowered.document)
    lines = changes(subject.document, mended.document)
    text = f"{subject.name}: {len(lines)} entries differ from the derived programs"
    return mended, "\n".join([text, *lines]), {"name": subject.name, "changes": lines}


def _patched(subject: Subject) -> tuple[Subject, str, dict[str, Any]]:
    """A document whose kernel is not known: what is missing is put in, one entry at a time."""
    assert isinstance(subject.document, RolesDocument)
    done = repair_roles(subject.document, verify_roles)
    if not done.done:
        raise SyncError(
            f"{subject.name} races, and no fence, wait, release or turn repairs it",
            where=subject.spec,
            why=str(done.left[0]),
            fix="its ops are wrong or out of order; derive it anew from its kernel",
        )
    text = f"{subject.name}: {len(done.changes)} change(s)"
    mended = replace(subject, document=done.document)
    found = {"name": subject.name, "changes": list(done.changes)}
    return mended, "\n".join([text, *done.changes]), found


def _as_json(done: Repair) -> dict[str, Any]:
    return {
        "name": done.document.name,
        "trips": list(done.trips),
        "changes": [
            {
                "kind": c.kind.value,
                "phase": c.phase.name,
                "index": c.index,
                "before": c.before,
                "after": c.after,
                "why": c.text.partition(": ")[2],
            }
            for c in done.changes
        ],
    }
