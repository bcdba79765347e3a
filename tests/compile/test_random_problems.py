"""No feasible problem is refused: every refusal is confirmed by a judge that shares no code."""

import warnings
from collections import Counter
from random import Random

import pytest

from warploom import (
    InfeasibleError,
    OverBudgetWarning,
    SchedulingStrategy,
    WarploomWarning,
    compile_schedule,
)

from .random_problems import SYNC, blocks_exist, random_problem

pytest.importorskip("ortools")
BLOCKED = (SchedulingStrategy.IDENTITY, SchedulingStrategy.GREEDY, SchedulingStrategy.CSP)
SMALL = 14  # ops; larger bodies keep the modulo search busy for too long here


def outcome(seed, strategy):
    """``clean`` or ``refused``; anything else raises."""
    schedule = random_problem(seed, strategy)
    sync = SYNC[Random(seed).randrange(len(SYNC))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WarploomWarning)
        warnings.simplefilter("error", OverBudgetWarning)
        try:
            compiled = compile_schedule(schedule, sync=sync)
        except InfeasibleError as error:
            refusal = error
        else:
            refusal = None
    if refusal is not None:
        assert refusal.fix
        assert not blocks_exist(schedule, strategy), f"seed {seed}: {refusal}"
        return "refused"
    assert compiled.report.verdict == "clean", f"seed {seed}"
    return "clean"


def run(seeds):
    counts = Counter()
    for seed in seeds:
        for strategy in BLOCKED:
            counts[strategy.name, outcome(seed, strategy)] += 1
        schedule = random_problem(seed, SchedulingStrategy.CSP)
        if len(schedule.build_body()) <= SMALL and schedule.name == "Grid":
            counts["MODULO", outcome(seed, SchedulingStrategy.MODULO)] += 1
    return counts


def test_a_sample_of_random_problems():
    counts = run(range(60, 65))
    for strategy in BLOCKED:
        assert counts[strategy.name, "clean"] > 2
    assert sum(n for (_, said), n in counts.items() if said == "refused") > 0


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(20))
def test_two_thousand_random_problems(part):
    counts = run(range(100 * part, 100 * part + 100))
    print(dict(counts))
    assert sum(counts.values()) >= 300
