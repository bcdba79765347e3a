"""The search of a bare body: orders of its ops, by a measure or by the least interval of each."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

from warploom.autotune.result import Row, SearchOptions, SearchResult
from warploom.autotune.scored import Scores, digest_of
from warploom.errors import WarploomError
from warploom.modulo import ModuloProblem, solve_modulo
from warploom.modulo.bounds.plain import plain_bound
from warploom.modulo.bounds.system import build_system
from warploom.modulo.local_search import Hunt, HuntOptions, Step, Task
from warploom.modulo.options import ModuloOptions
from warploom.modulo.sequence import Program, as_result

ROLES_WORK = 4.0  # to find roles for a body that has none


def safely(measure: Callable[..., float], candidate: object) -> float:
    """A measure's number; its own mistakes make a candidate useless, not the search."""
    try:
        return float(measure(candidate))
    except (WarploomError, ArithmeticError, ValueError, RuntimeError, OSError):
        return inf


def search_problem(
    problem: ModuloProblem,
    measure: Callable[..., float] | None,
    options: SearchOptions,
    store: Path | str | None,
    progress: Callable[[Step], None] | None,
) -> SearchResult:
    """A bare body: orders of its ops, scored by the measure (or by the least II of the order)."""
    begun = time.monotonic()
    if problem.fixed_roles() is None:
        quick = ModuloOptions(goals=(), work=ROLES_WORK, seconds=options.seconds)
        problem = problem.with_roles(solve_modulo(problem, quick).roles)
    scores = Scores(store, digest_of(problem, measure))

    def evaluate(tasks: Sequence[Task]) -> list[float]:
        return [score(t.program) for t in tasks]

    def score(program: Program) -> float:
        result = as_result(problem, program)
        if result is None:
            return inf
        return float(result.ii) if measure is None else safely(measure, result)

    found = Hunt(
        problem,
        scores.through(evaluate),
        HuntOptions(
            evaluations=options.most_evaluations,
            seconds=options.seconds,
            seed=options.seed,
            goal=options.goal,
        ),
        starts=scores.best_programs(),
        progress=progress,
    ).run()
    best = as_result(problem, found.best.program)
    assert best is not None
    bound, limit, res, rec = plain_bound(build_system(problem))
    return SearchResult(
        best=replace(best, lower_bound=bound, limit=limit, res_mii=res, rec_mii=rec),
        score=found.best.score,
        bound=float(bound) if measure is None else None,
        rows=tuple(Row(origin=f.origin, score=f.score) for f in found.ranked),
        evaluations=found.evaluations,
        seconds=time.monotonic() - begun,
        stopped=found.stopped,
    )
