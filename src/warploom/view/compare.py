"""Two schedules side by side: entries aligned list by list, of either dialect or of both."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from warploom.document.counters import ScheduleDocument
from warploom.document.kinds import Phase
from warploom.document.roles import RolesDocument
from warploom.view.listing import entry_label

Document = ScheduleDocument | RolesDocument


@dataclass(frozen=True, slots=True)
class Pair:
    """One row: what stands left and right; empty where one side has nothing."""

    left: str
    right: str

    @property
    def same(self) -> bool:
        """Whether both sides say the same."""
        return self.left == self.right


def compare(left: Document, right: Document) -> dict[str, list[Pair]]:
    """All lists of entries of both documents by name, aligned."""
    a, b = _lists(left), _lists(right)
    names = [*a, *(name for name in b if name not in a)]
    return {name: aligned(a.get(name, []), b.get(name, [])) for name in names}


def changes(left: Document, right: Document) -> list[str]:
    """The rows that differ, one line each."""
    return [
        f"  {name}: {pair.left or '(nothing)'} -> {pair.right or '(nothing)'}"
        for name, pairs in compare(left, right).items()
        for pair in pairs
        if not pair.same
    ]


def _lists(document: Document) -> dict[str, list[str]]:
    if isinstance(document, RolesDocument):
        return {
            f"{program.name}.{phase}": [entry_label(e, document) for e in entries]
            for program in document.programs
            for phase, entries in program.phases()
            if entries
        }
    return {p.name.lower(): [e.op.label() for e in document.phase(p)] for p in Phase}


def aligned(left: Sequence[str], right: Sequence[str]) -> list[Pair]:
    """Two lists of labels with equal ones on equal rows."""
    rows: list[Pair] = []
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            rows += [Pair(x, x) for x in left[i1:i2]]
            continue
        longest = max(i2 - i1, j2 - j1)
        lefts = [*left[i1:i2], *[""] * (longest - (i2 - i1))]
        rights = [*right[j1:j2], *[""] * (longest - (j2 - j1))]
        rows += [Pair(x, y) for x, y in zip(lefts, rights, strict=True)]
    return rows
