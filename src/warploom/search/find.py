"""``search``: the best schedule of a body for a machine or for your own measure.

Candidates are the schedule's own orders (identity, greedy, CSP), solved ones (MODULO, k best, with
slack, with margins, under perturbed costs) and orders reached from them step by step, on the body
as declared or on finer ops. Each is expanded, synchronised at least cost, verified and scored: by
the simulator, or by a measure of yours (a run on a GPU). Anytime, resumable from a store file, on a
pool of processes.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TypeAlias

from warploom.errors import ConfigError, SchedulingError, WarploomError
from warploom.order import ModuloProblem, ModuloResult, solve_modulo
from warploom.order.bounds.plain import plain_bound
from warploom.order.bounds.system import build_system
from warploom.order.hunt import Found, Hunt, HuntOptions, HuntResult, Step, Task
from warploom.order.options import ModuloOptions
from warploom.order.sequence import Program, as_result
from warploom.order.starts import build_bound
from warploom.search.build import Builder
from warploom.search.scored import Scores, digest_of
from warploom.search.subjects import (
    Baseline,
    Subject,
    baselines,
    compiled_order,
    machine_of,
    subject_of,
)
from warploom.seed.compile import CompiledSchedule
from warploom.seed.modulo.auto import EFFORTS, Workbench
from warploom.seed.modulo.refine import WHOLE, Split
from warploom.seed.schedule import PipelineSchedule
from warploom.sim import MachineCosts, simulate
from warploom.sim.costs import TargetCosts, costs_of

Measure: TypeAlias = Callable[[CompiledSchedule], float] | Callable[[ModuloResult], float]
Progress: TypeAlias = Callable[[Step], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One candidate in the rank table: where it came from, on which ops, and its score.

    ``built``: it became a kernel (None: nobody tried).
    """

    origin: str
    score: float
    split: Split = WHOLE
    built: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The best candidate and how it compares.

    ``best`` is a compiled schedule (of a ``ModuloProblem``: a ``ModuloResult``); ``score`` cycles
    for one iteration of the body, or what the measure says. ``bound``: the busiest unit's own time,
    None for a measure, whose unit is not known.
    """

    best: CompiledSchedule | ModuloResult
    score: float
    bound: float | None
    rows: tuple[Row, ...]
    evaluations: int
    seconds: float
    stopped: str

    def table(self, limit: int = 12) -> str:
        """The rank table as text, best first."""
        lines = [f"{'score':>10}  {'split':5}  origin"]
        for row in self.rows[:limit]:
            built = {True: ", built", False: ", cannot be built", None: ""}[row.built]
            lines.append(f"{row.score:>10g}  {row.split[0]}x{row.split[1]}    {row.origin}{built}")
        bound = "" if self.bound is None else f", bound {self.bound:g}"
        lines.append(
            f"{self.evaluations} evaluations in {self.seconds:.0f} s ({self.stopped}){bound}"
        )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How long and how widely to look.

    ``splits`` are the granularities tried, each for an equal share of the limits: (2, 2) cuts every
    sub-tile of A and B in two. ``workers`` processes score candidates, unless an ``executor`` is
    given; a measure is called in this process, one candidate at a time. ``lds_bytes`` bounds ring
    depths. ``goal`` ends the search early; so does the bound. ``build``: whatever would be the best
    is emitted for gfx950 first and counts only if it passes the gate without spills.
    """

    seconds: float | None = 60.0
    evaluations: int = 1_000_000
    splits: tuple[Split, ...] = (WHOLE,)
    workers: int = 1
    seed: int = 0
    goal: float = 0.0
    solver_seconds: float = 10.0
    lds_bytes: int | None = None
    build: bool = False

    def __post_init__(self) -> None:
        if self.workers < 1 or not self.splits:
            raise ConfigError("at least one worker and one split", where="SearchOptions")


def search(
    subject: PipelineSchedule | ModuloProblem,
    target: MachineCosts | TargetCosts | None = None,
    *,
    measure: Measure | None = None,
    options: SearchOptions | None = None,
    executor: Executor | None = None,
    store: Path | str | None = None,
    progress: Progress | None = None,
) -> SearchResult:
    """The best schedule found for ``subject`` on ``target``, or by ``measure``.

    ``target``: the machine whose simulated cycles score; without one that of the schedule's target,
    MI355X for a kernel of known shape on it, else the ops' own latencies. ``measure`` maps a
    candidate to a number to be small; whatever it raises counts as infinite. ``store`` keeps every
    score on disk, so that a search that was stopped goes on. Ctrl-C ends a search with the best so
    far.
    """
    options = options or SearchOptions()
    if isinstance(subject, ModuloProblem):
        return _search_problem(subject, measure, options, store, progress)
    if not isinstance(subject, PipelineSchedule):
        raise ConfigError(
            f"cannot search schedules of a {type(subject).__name__}",
            where="search",
            fix="pass a PipelineSchedule, or a ModuloProblem with a measure",
        )
    machine = machine_of(subject) if target is None else costs_of(target)
    run = _ScheduleSearch(subject, machine, measure, options, progress)
    with _pool(options, executor, measure) as pool:
        return run.result(pool, store)


@contextmanager
def _pool(
    options: SearchOptions, executor: Executor | None, measure: Measure | None
) -> Iterator[Executor | None]:
    if executor is not None or options.workers == 1 or measure is not None:
        with nullcontext():
            yield None if measure is not None else executor
        return
    known = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in known else "spawn")
    pool = ProcessPoolExecutor(options.workers, mp_context=context)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def simulate_task(bench: Workbench, task: Task) -> float:
    """One candidate's score; runs in any process."""
    return bench.simulated(task.program, task.effort)


class _ScheduleSearch:
    """Baselines, then one hunt for each granularity; the best of all is compiled."""

    def __init__(
        self,
        schedule: PipelineSchedule,
        machine: MachineCosts,
        measure: Measure | None,
        options: SearchOptions,
        progress: Progress | None,
    ) -> None:
        self.schedule, self.machine, self.measure = schedule, machine, measure
        self.options, self.progress = options, progress
        self.begun = time.monotonic()
        self.hunts: list[tuple[Subject, HuntResult]] = []
        self.builder = Builder.of(schedule) if options.build else None
        self.best_built = inf
        self.built: dict[tuple[Split, Program], bool] = {}

    def result(self, pool: Executor | None, store: Path | str | None) -> SearchResult:
        """Search, compile the best, and write the table."""
        whole = subject_of(self.schedule, self.machine, WHOLE, self.options.lds_bytes)
        shipped = [
            (name, compiled, self._value(whole, compiled, compiled_score=True))
            for name, compiled in baselines(self.schedule)
        ]
        own = [s for s in shipped if self.builder is None or self.builder.builds(s[1])]
        self.best_built = min((score for *_, score in own), default=inf)
        bound = max(self.options.goal, float(build_bound(whole.bench.parts.problem, None)))
        goal = bound if self.measure is None else self.options.goal
        stopped = "nothing left to try"
        seeds: list[tuple[str, tuple[int, ...]]] = whole.starts(shipped)
        for share, split in enumerate(self.options.splits):
            found = self._hunt(split, len(self.options.splits) - share, seeds, pool, store, goal)
            stopped = found.stopped
            if split == WHOLE:
                seeds = [(f.origin, f.program.sequence) for f in found.ranked[:4]] + seeds
            if stopped in ("interrupt", "goal reached"):
                break
        return self._ranked(shipped, own, stopped)

    def _hunt(
        self,
        split: Split,
        shares: int,
        seeds: Sequence[tuple[str, tuple[int, ...]]],
        pool: Executor | None,
        store: Path | str | None,
        goal: float,
    ) -> HuntResult:
        options = self.options
        subject = subject_of(self.schedule, self.machine, split, options.lds_bytes)
        told = (subject.bench, "built") if self.builder else subject.bench
        scores = Scores(store, digest_of(told, self.measure))
        left = None
        if options.seconds is not None:
            left = max(1.0, (options.seconds - (time.monotonic() - self.begun)) / shares)
        hunt = Hunt(
            subject.bench.parts.problem,
            scores.through(lambda tasks: self._scores(subject, tasks, pool)),
            HuntOptions(
                evaluations=max(1, options.evaluations // shares),
                seconds=left,
                efforts=EFFORTS if self.measure is None else EFFORTS[-1:],
                batch=max(4, 2 * options.workers),
                seed=options.seed,
                goal=goal,
                solver_seconds=options.solver_seconds,
            ),
            starts=[*scores.best_programs(), *subject.programs(seeds)],
            progress=self.progress,
        )
        found = hunt.run()
        self.hunts.append((subject, found))
        return found

    def _scores(
        self, subject: Subject, tasks: Sequence[Task], pool: Executor | None
    ) -> list[float]:
        if self.measure is not None:
            return [self._measured(subject, t) for t in tasks]
        if pool is None:
            scores = [simulate_task(subject.bench, t) for t in tasks]
        else:
            futures = [pool.submit(simulate_task, subject.bench, t) for t in tasks]
            scores = [f.result() for f in futures]
        if self.builder is None:
            return scores
        return [self._if_built(subject, t, s) for t, s in zip(tasks, scores, strict=True)]

    def _if_built(self, subject: Subject, task: Task, score: float) -> float:
        """The score; infinite where it would be the best and the kernel cannot be built."""
        if task.effort != EFFORTS[-1] or score >= self.best_built:
            return score
        compiled = compiled_order(subject, task.program, task.effort)
        assert self.builder is not None
        good = compiled is not None and self.builder.builds(compiled)
        self.built[subject.split, task.program] = good
        self.best_built = score if good else self.best_built
        return score if good else inf

    def _measured(self, subject: Subject, task: Task) -> float:
        compiled = compiled_order(subject, task.program, task.effort)
        return inf if compiled is None else self._value(subject, compiled)

    def _value(
        self, subject: Subject, compiled: CompiledSchedule, *, compiled_score: bool = False
    ) -> float:
        """A compiled schedule's score by the measure, or simulated."""
        if self.measure is not None:
            return _safely(self.measure, compiled)
        return subject.bench.score_of(compiled) if compiled_score else inf

    def _ranked(
        self, shipped: Sequence[Baseline], own: Sequence[Baseline], stopped: str
    ) -> SearchResult:
        tried = self.builder is not None
        rows = [Row(origin=b[0], score=b[2], built=b in own if tried else None) for b in shipped]
        hunted: list[tuple[float, Subject, Found]] = []
        for subject, found in self.hunts:
            hunted += [(f.score, subject, f) for f in found.ranked]
            rows += [
                Row(
                    origin=f.origin,
                    score=f.score,
                    split=subject.split,
                    built=self.built.get((subject.split, f.program)),
                )
                for f in found.ranked
            ]
        rows.sort(key=lambda r: (r.score, r.origin))
        best, score = self._compiled_best(own, sorted(hunted, key=lambda h: h[0]))
        machine = None if self.measure is not None else self._bound(best)
        return SearchResult(
            best=best,
            score=score,
            bound=machine,
            rows=tuple(rows),
            evaluations=sum(f.evaluations for _, f in self.hunts) + len(shipped),
            seconds=time.monotonic() - self.begun,
            stopped=stopped,
        )

    def _compiled_best(
        self,
        shipped: Sequence[tuple[str, CompiledSchedule, float]],
        hunted: Sequence[tuple[float, Subject, Found]],
    ) -> tuple[CompiledSchedule, float]:
        own = min(shipped, key=lambda s: s[2], default=None)
        for score, subject, found in hunted:
            if own is not None and own[2] <= score:
                break
            if self.builder is not None and not self.built.get((subject.split, found.program)):
                continue
            compiled = compiled_order(subject, found.program, found.effort)
            if compiled is not None:
                return compiled, score
        if own is None:
            assert self.builder is not None
            raise SchedulingError(
                f"no order of {self.schedule.name!r} was found that can be built",
                why="; ".join(f"{n} x {what}" for what, n in self.builder.reasons.items()),
                fix="another matrix instruction, a smaller tile, or more time",
            )
        return own[1], own[2]

    def _bound(self, best: CompiledSchedule) -> float:
        document = best.document()
        split = next((s for s, _ in self.hunts if s.bench.units == document.counters), None)
        machine = split.bench.machine if split is not None else self.machine
        load = simulate(document, machine, trips=2).bound
        tiles = self.hunts[0][0].bench.tiles if self.hunts else 1
        per = document.protocol.k_tiles_per_iteration
        return 0.0 if load is None else float(load.bound) * tiles / per


def _safely(measure: Callable[..., float], candidate: object) -> float:
    """A measure's number; its own mistakes make a candidate useless, not the search."""
    try:
        return float(measure(candidate))
    except (WarploomError, ArithmeticError, ValueError, RuntimeError, OSError):
        return inf


def _search_problem(
    problem: ModuloProblem,
    measure: Measure | None,
    options: SearchOptions,
    store: Path | str | None,
    progress: Progress | None,
) -> SearchResult:
    """A bare body: orders of its ops, scored by the measure (or by the least II of the order)."""
    begun = time.monotonic()
    if problem.fixed_roles() is None:
        quick = ModuloOptions(goals=(), seconds=options.solver_seconds)
        problem = problem.with_roles(solve_modulo(problem, quick).roles)
    scores = Scores(store, digest_of(problem, measure))

    def evaluate(tasks: Sequence[Task]) -> list[float]:
        return [score(t.program) for t in tasks]

    def score(program: Program) -> float:
        result = as_result(problem, program)
        if result is None:
            return inf
        return float(result.ii) if measure is None else _safely(measure, result)

    found = Hunt(
        problem,
        scores.through(evaluate),
        HuntOptions(
            evaluations=options.evaluations,
            seconds=options.seconds,
            seed=options.seed,
            goal=options.goal,
            solver_seconds=options.solver_seconds,
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
