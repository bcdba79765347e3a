"""The mutation harness: does the judge find what really goes wrong, and nothing else?

In go schedules and a judge, out comes a ``Score``: every distinct mutant is run by the numeric
executor (ground truth) and judged; defective ones the judge reports are *killed*, those it passes
*survive*; a harmless one it reports is a *false alarm*, unless a witness of the judge, run by the
executor, gives wrong numbers after all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.executor.exploration import Truth, explore
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.truth import GroundTruth, decide
from warploom.errors import DocumentError
from warploom.interp.executor import Scripted, execute
from warploom.interp.executor.program import lower
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.witness import Witness


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a judge says: is the schedule racy, why, and runs that are meant to show it."""

    racy: bool
    reason: str = ""
    witnesses: tuple[Witness, ...] = ()


Judge = Callable[[ScheduleDocument], Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One mutant, what it does and what the judge says."""

    subject: str
    mutant: Mutant
    truth: GroundTruth
    verdict: Verdict
    shown: bool = False
    """A witness of the judge gave wrong numbers."""

    @property
    def kind(self) -> str:
        """``killed``, ``survived``, ``passed`` or ``false alarm``."""
        if self.truth.defective:
            return "killed" if self.verdict.racy else "survived"
        return "false alarm" if self.verdict.racy else "passed"


@dataclass(slots=True, kw_only=True)
class Score:
    """Counts over all mutants of one subject, and the outcomes that need an explanation."""

    subject: str
    generated: int = 0
    identical: int = 0
    meaningless: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    witnesses: Counter[str] = field(default_factory=Counter)
    suspects: list[Outcome] = field(default_factory=list)

    @property
    def distinct(self) -> int:
        """Mutants whose program differs from the subject's and from one another."""
        return sum(self.kinds.values())

    @property
    def defective(self) -> int:
        """Mutants that really go wrong."""
        return self.kinds["killed"] + self.kinds["survived"]

    @property
    def harmless(self) -> int:
        """Mutants that never went wrong."""
        return self.kinds["passed"] + self.kinds["false alarm"]

    def to_json(self) -> dict[str, Any]:
        """The figures, and every survivor and false alarm by name."""
        return {
            "subject": self.subject,
            "generated": self.generated,
            "identical": self.identical,
            "meaningless": self.meaningless,
            "distinct": self.distinct,
            "defective": self.defective,
            "harmless": self.harmless,
            "killed": self.kinds["killed"],
            "survived": self.kinds["survived"],
            "false_alarms": self.kinds["false alarm"],
            "witnesses": dict(self.witnesses),
            "operators": dict(sorted(self.operators.items())),
            "suspects": [_explain(o) for o in self.suspects],
        }


def score(
    subject: ScheduleDocument,
    judge: Judge,
    *,
    every: int = 1,
    seen: set[int] | None = None,
    explore_limit: int = 0,
    show_witnesses: bool = False,
    pool: Executor | None = None,
) -> Score:
    """Mutate one schedule and compare the judge with the executor.

    Args:
        subject: a schedule that is correct.
        judge: what is being tested.
        every: take only every n-th distinct mutant.
        seen: programs that do not count again; shared between subjects by the caller.
        explore_limit: states of complete exploration per trip count, 0 for none; only for a
            subject that is itself small enough.
        show_witnesses: run the judge's witnesses for every defective mutant, too.
        pool: processes that share the work.
    """
    result = Score(subject=subject.name)
    if explore_limit and not _small(subject, explore_limit):
        explore_limit = 0
    found = _distinct(subject, result, set() if seen is None else seen, every)
    judged = partial(_outcome, subject.name, judge, explore_limit, show_witnesses)
    for outcome in pool.map(judged, found, chunksize=4) if pool else map(judged, found):
        result.kinds[outcome.kind] += 1
        result.operators[outcome.mutant.operator] += 1
        if outcome.verdict.witnesses and (show_witnesses or not outcome.truth.defective):
            result.witnesses["shown" if outcome.shown else "not shown"] += 1
        if outcome.kind in ("survived", "false alarm"):
            result.suspects.append(outcome)
    return result


def _small(subject: ScheduleDocument, limit: int) -> bool:
    return explore(subject, trips=2, limit=limit).truth is not Truth.UNDECIDED


def _outcome(
    subject: str, judge: Judge, explore_limit: int, show_witnesses: bool, mutant: Mutant
) -> Outcome:
    truth = decide(mutant.document, explore_limit=explore_limit)
    verdict = judge(mutant.document)
    shown = False
    if verdict.racy and (show_witnesses or not truth.defective):
        shown = show(mutant.document, verdict.witnesses)
    if shown and not truth.defective:
        truth = GroundTruth(defective=True, evidence="a witness of the judge", runs=truth.runs)
    return Outcome(subject=subject, mutant=mutant, truth=truth, verdict=verdict, shown=shown)


def _distinct(
    subject: ScheduleDocument, result: Score, seen: set[int], every: int
) -> Iterator[Mutant]:
    seen.add(program_key(subject))
    taken = 0
    for mutant in mutants(subject):
        result.generated += 1
        try:
            key = program_key(mutant.document)
        except DocumentError:
            result.meaningless += 1
            continue
        if key in seen:
            result.identical += 1
            continue
        seen.add(key)
        taken += 1
        if (taken - 1) % every == 0:
            yield mutant


def program_key(document: ScheduleDocument) -> int:
    """Equal for documents whose waves execute the same steps, whatever hints stand between."""
    program = lower(document, 1)
    return hash(
        (
            program.tiles,
            program.group_of,
            program.fencing,
            program.compiler_waits,
            tuple(
                (
                    s.kind,
                    s.slots,
                    s.tile,
                    s.staging,
                    s.units,
                    s.register,
                    s.operands,
                    s.accumulator,
                    s.vm,
                    s.lgkm,
                )
                for steps in program.steps
                for s in steps
            ),
        )
    )


def show(document: ScheduleDocument, witnesses: Iterable[Witness]) -> bool:
    """Whether one of the witnesses, run by the executor, gives wrong numbers or hangs."""
    for witness in witnesses:
        try:
            if not execute(document, timing=Scripted(witness)).correct:
                return True
        except DocumentError:
            continue
    return False


def _explain(outcome: Outcome) -> dict[str, str]:
    return {
        "kind": outcome.kind,
        "operator": outcome.mutant.operator,
        "where": outcome.mutant.where,
        "executor": outcome.truth.evidence.splitlines()[0] if outcome.truth.evidence else "",
        "judge": outcome.verdict.reason,
    }


def table(scores: Iterable[Score]) -> str:
    """The scores as an aligned text table with a closing sum."""
    head = ("subject", "distinct", "defective", "killed", "survived", "harmless", "false alarms")
    rows: list[tuple[str, ...]] = [head]
    for s in scores:
        k = s.kinds
        figures = (s.distinct, s.defective, k["killed"], k["survived"], s.harmless)
        rows.append((s.subject, *map(str, figures), str(k["false alarm"])))
    sums = [str(sum(int(row[i]) for row in rows[1:])) for i in range(1, len(head))]
    rows.append(("all", *sums))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) for r in rows)
