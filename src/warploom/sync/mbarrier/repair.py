"""Repair of role programs: the missing fence, wait, release, turn or count, found and put in.

``repair_roles`` asks a verifier what is wrong, tries small edits that answer each finding in the
runs that show it, keeps the one that leaves least, and goes on until nothing is left or helps. It
never takes an op away or moves one: only what synchronises is added or corrected. The verifier is
given (``verify_roles`` in practice), so this package knows none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from warploom.errors import DocumentError
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.sync.mbarrier.edits import Found, edits

MAX_ROUNDS = 10
MAX_TRIED = 2000
MAX_RUNS = 2  # that an edit must mend before all are checked


class Verdict(Protocol):
    """What a verifier returns."""

    def races(self) -> Sequence[Found]:
        """What makes the schedule wrong."""


class Judge(Protocol):
    """Checks a document: all its runs, or tiles of these numbers of iterations."""

    def __call__(
        self, document: RolesDocument, *, sequences: Sequence[tuple[int, ...]] | None = None
    ) -> Verdict:
        """The verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRepair:
    """The repaired document, what was done to it, and what is still wrong."""

    document: RolesDocument
    changes: tuple[str, ...]
    left: tuple[Found, ...]

    @property
    def done(self) -> bool:
        """Nothing is left."""
        return not self.left


def repair_roles(document: RolesDocument, judge: Judge) -> RoleRepair:
    """Add what is missing until the verifier finds nothing, or nothing helps any more."""
    found = tuple(judge(document).races())
    changes: list[str] = []
    tried = 0
    for _ in range(MAX_ROUNDS):
        if not found:
            break
        runs = tuple(dict.fromkeys(f.tiles for f in found if f.tiles))[:MAX_RUNS] or None
        seen: set[RolesDocument] = {document}
        best: tuple[str, RolesDocument] | None = None
        least = _score(_left(judge, document, runs) or found), 0
        for words, new in edits(document, found):
            if new in seen or tried >= MAX_TRIED:
                continue
            seen.add(new)
            tried += 1
            score = _scored(judge, new, runs)
            if score is not None and score < least:
                best, least = (words, new), score
                if least == (0, 0):
                    break
        if best is None:
            break
        changes.append(best[0])
        document = best[1]
        found = tuple(judge(document).races())
    return RoleRepair(document=document, changes=tuple(changes), left=found)


def _scored(
    judge: Judge, document: RolesDocument, runs: tuple[tuple[int, ...], ...] | None
) -> tuple[int, int] | None:
    """How much is wrong in these runs, and where nothing is, in all of them."""
    left = _left(judge, document, runs)
    if left is None:
        return None
    return _score(left), 0 if left else _score(_left(judge, document, None) or ())


def _left(
    judge: Judge, document: RolesDocument, runs: tuple[tuple[int, ...], ...] | None
) -> tuple[Found, ...] | None:
    """What is wrong in these runs, or in any; None where the document has no meaning."""
    try:
        verdict = judge(document, sequences=runs) if runs else judge(document)
    except DocumentError:
        return None
    return tuple(verdict.races())


def _score(found: Sequence[Found]) -> int:
    """A deadlock hides what comes after it, so it weighs most."""
    return len(found) + (1000 if any(str(f.code) == "DEADLOCK" for f in found) else 0)
