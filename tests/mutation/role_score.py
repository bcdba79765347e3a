"""The judge of warp-specialised schedules, scored: what runs wrong, and what it says.

Every mutant runs in the operational model (``warploom.interp.executor.roles``) in many random
orders over
several tile sequences, which shows defects but cannot show their absence; and it is judged by
``verify_roles``. Four outcomes: ``found`` (runs wrong, reported), ``missed`` (runs wrong, passed),
``reported only`` (no run went wrong), ``passed`` (by both).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tests.mutation.role_mutants import RoleMutant, role_mutants
from warploom.interp.executor.roles import first_fault
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.verify.roles import verify_roles

QUICK = ((1, 2), (1, 1, 1), (3, 1, 1, 2), (2, 2), (5, 4), (1, 1, 1, 1))
SEEDS = 10
MORE_SEEDS = 60


class RoleVerdict(StrEnum):
    """How the model and the verifier agree on a mutant."""

    FOUND = "found"
    MISSED = "missed"
    REPORTED_ONLY = "reported only"
    PASSED = "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleOutcome:
    """One mutant, the fault of a run (or None), and the verifier's codes."""

    mutant: RoleMutant
    fault: str | None
    codes: tuple[str, ...]

    @property
    def verdict(self) -> RoleVerdict:
        """How both judge it."""
        if self.fault is not None:
            return RoleVerdict.FOUND if self.codes else RoleVerdict.MISSED
        return RoleVerdict.REPORTED_ONLY if self.codes else RoleVerdict.PASSED


def judge_mutant(
    mutant: RoleMutant, intended: RolesDocument, *, seeds: int = SEEDS, more: int = MORE_SEEDS
) -> RoleOutcome:
    """Run and judge one mutant; one that only the verifier reports gets ``more`` runs."""
    report = verify_roles(mutant.document)
    usual = lengthened(mutant.document, QUICK)
    fault = _run(mutant.document, intended, usual, range(seeds))
    if fault is None and not report.clean:
        shown = tuple(f.tiles for f in report.findings[:3] if f.tiles)
        sequences = dict.fromkeys([*shown, *usual])
        fault = _run(mutant.document, intended, sequences, range(seeds, seeds + more))
    codes = () if report.clean else tuple(sorted(report.codes()))
    return RoleOutcome(mutant=mutant, fault=fault, codes=codes)


def lengthened(
    document: RolesDocument, sequences: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], ...]:
    """The sequences with tiles as long as the document needs them at least."""
    more = max(document.minimum_trips, 1) - 1
    return tuple(tuple(n + more for n in tiles) for tiles in sequences)


def _run(
    document: RolesDocument,
    intended: RolesDocument,
    sequences: Iterable[tuple[int, ...]],
    seeds: range,
) -> str | None:
    for tiles in sequences:
        fault = first_fault(document, tiles, seeds, intended=intended)
        if fault is not None:
            return fault
    return None


def score_roles(document: RolesDocument, *, only: slice | None = None) -> tuple[RoleOutcome, ...]:
    """The outcomes of all mutants of a document (or a slice of them, for a sample)."""
    chosen = tuple(role_mutants(document))[only or slice(None)]
    return tuple(judge_mutant(m, document) for m in chosen)


def count_outcomes(outcomes: Iterable[RoleOutcome], *, work: bool = False) -> Counter[str]:
    """How often each verdict occurs among edits of the protocol (or of the work)."""
    return Counter(o.verdict.value for o in outcomes if o.mutant.work is work)
