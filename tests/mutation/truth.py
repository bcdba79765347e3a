"""Ground truth: what a schedule does when it is really run, by the numeric executor alone.

A schedule is defective when some run gives wrong numbers or hangs. Runs: all deterministic
adversaries of the executor for trip counts 0 to 2, the drifting ones for 3, random seeds for the
first trip count; and complete exploration where the schedule is small. Whoever claims a race can
add a witness: it counts when its run fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.executor.exploration import Truth, explore
from warploom.interp.executor import Drift, Random, Timing, Trial, adversaries
from warploom.ir.counter_dialect import ScheduleDocument

TRIPS = (2, 1, 0, 3)
SEEDS = 2
_FEW_TRIPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundTruth:
    """``defective`` with the run that shows it, or harmless in every run tried.

    ``complete`` says that harmless was decided by exploring everything, not by sampling.
    """

    defective: bool
    evidence: str = ""
    runs: int = 0
    complete: bool = False


def decide(
    document: ScheduleDocument,
    *,
    trips: Sequence[int] = TRIPS,
    seeds: int = SEEDS,
    explore_limit: int = 0,
) -> GroundTruth:
    """Run a document under adversarial timings until one fails.

    ``explore_limit`` is the number of states to explore per trip count, 0 for none.
    """
    runs = 0
    for n in trips:
        trial = Trial.of(document, n)
        for timing in _timings(trial, seeds if n == trips[0] else 0):
            runs += 1
            run = trial.run(timing)
            if not run.correct:
                return GroundTruth(
                    defective=True, runs=runs, evidence=f"{timing}: {run.describe()}"
                )
    complete = explore_limit > 0
    for n in trips if complete else ():
        found = explore(document, trips=n, limit=explore_limit)
        if found.truth in (Truth.WRONG, Truth.DEADLOCK):
            evidence = f"explored, {n} iteration(s): " + "; ".join(found.path)
            return GroundTruth(defective=True, runs=runs, evidence=evidence)
        complete = complete and found.truth is Truth.CORRECT
    return GroundTruth(defective=False, runs=runs, complete=complete)


def _timings(trial: Trial, seeds: int) -> list[Timing]:
    """Adversaries that drift apart first: they expose most defects."""
    fixed = adversaries(trial.program)
    if trial.program.trips > _FEW_TRIPS:
        fixed = tuple(t for t in fixed if isinstance(t, Drift)) or fixed
    return [*reversed(fixed), *(Random(seed) for seed in range(seeds))]
