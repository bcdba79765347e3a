"""``search``: the best schedule of a body for a machine or for your own measure.

Candidates are the schedule's own orders (identity, greedy, CSP), solved ones (MODULO, k best, with
slack, with margins, under perturbed costs) and orders reached from them step by step, on the body
as declared or on finer ops. Each is expanded, synchronised at least cost, verified and scored: by
the simulator, or by a measure of yours (a run on a GPU). Anytime, resumable from a store file, on a
pool of processes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import TypeAlias

from warploom.autotune import subjects
from warploom.autotune.build import Builder
from warploom.autotune.pool import worker_pool
from warploom.autotune.result import Row, SearchOptions, SearchResult
from warploom.autotune.schedule_search import safely, search_problem
from warploom.autotune.scored import Scores, digest_of
from warploom.errors import ConfigError, SchedulingError
from warploom.modulo import ModuloProblem, ModuloResult
from warploom.modulo.local_search import Evaluate, Found, Hunt, HuntOptions, HuntResult, Step, Task
from warploom.modulo.sequence import Program
from warploom.modulo.starts import build_bound
from warploom.pipeline.compile import CompiledSchedule
from warploom.pipeline.modulo.auto import EFFORTS, WHOLE, Split, Workbench
from warploom.pipeline.schedule import PipelineSchedule
from warploom.sim import MachineCosts, simulate
from warploom.sim.costs import TargetCosts, costs_of

FIRST, LOOK = 0.35, 0.12  # shares of the limits: for whole ops, and for each finer cut
LEAST, LOOKED = 0.1, 24  # seconds of a look, and evaluations: its starts, and walks from them
SEEDS = 2  # orders of whole ops that a finer cut starts from: walks soon leave them behind

Measure: TypeAlias = Callable[[CompiledSchedule], float] | Callable[[ModuloResult], float]
Progress: TypeAlias = Callable[[Step], None]


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
        return search_problem(subject, measure, options, store, progress)
    if not isinstance(subject, PipelineSchedule):
        raise ConfigError(
            f"cannot search schedules of a {type(subject).__name__}",
            where="search",
            fix="pass a PipelineSchedule, or a ModuloProblem with a measure",
        )
    machine = subjects.machine_of(subject) if target is None else costs_of(target)
    run = _ScheduleSearch(subject, machine, measure, options, progress)
    with _pool(options, executor, measure) as pool:
        return run.result(pool, store)


@contextmanager
def _pool(
    options: SearchOptions, executor: Executor | None, measure: Measure | None
) -> Iterator[Executor | None]:
    if executor is not None or options.workers == 1 or measure is not None:
        yield None if measure is not None else executor
        return
    pool = worker_pool(options.workers)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


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
        self.hunts: list[tuple[subjects.Subject, HuntResult]] = []
        self.known: dict[Split, tuple[subjects.Subject, Scores]] = {}
        self.builder = Builder.of(schedule) if options.build else None
        self.best_built = inf
        self.built: dict[tuple[Split, Program], bool] = {}

    def result(self, pool: Executor | None, store: Path | str | None) -> SearchResult:
        """Search, compile the best, and write the table."""
        whole = subjects.subject_of(self.schedule, self.machine, WHOLE, self.options.lds_bytes)
        self.tiles = whole.bench.tiles
        shipped: list[subjects.Baseline] = []
        own: list[subjects.Baseline] = []
        try:
            for name, compiled in subjects.baselines(self.schedule):
                shipped.append((name, compiled, self._value(whole, compiled, compiled_score=True)))
                if self._over():
                    break
            own += self._built_baselines(shipped)
            self.best_built = min((score for *_, score in own), default=inf)
            goal = self._goal(store, () if self._settled() else self.options.splits)
            stopped = self._hunts(whole.starts(shipped), pool, goal)
        except KeyboardInterrupt:
            if not own and (self.builder is not None or not shipped):
                raise
            own, stopped = own or shipped, "interrupt"
        return self._ranked(shipped, own, stopped)

    def _hunts(self, seeds: list[subjects.Sequenced], pool: Executor | None, goal: float) -> str:
        """One hunt after the other, and what ended them."""
        stopped = "nothing left to try"
        for split, share in self._plan():
            if self._settled():
                return "time limit"
            found = self._hunt(split, share, seeds, pool, goal)
            if found is None:
                continue
            stopped = found.stopped
            if split == WHOLE:
                best = [(f.origin, f.program.sequence) for f in found.ranked]
                seeds = [*best, *seeds][:SEEDS]
            if stopped in ("interrupt", "goal reached"):
                break
        return stopped

    def _over(self) -> bool:
        limit = self.options.seconds
        return limit is not None and time.monotonic() - self.begun >= limit

    def _settled(self) -> bool:
        """Whether the time is up and there is something to hand back."""
        return self._over() and self.best_built < inf

    def _built_baselines(self, shipped: Sequence[subjects.Baseline]) -> list[subjects.Baseline]:
        """Those that become kernels, if that was asked for; one is enough when time is up."""
        own: list[subjects.Baseline] = []
        for baseline in sorted(shipped, key=lambda b: b[2]):
            if self.builder is None or self.builder.builds(baseline[1]):
                own.append(baseline)
                if self._over():
                    break
        return own

    def _goal(self, store: Path | str | None, splits: Sequence[Split]) -> float:
        """What ends the search: the goal asked for, or what no granularity can go below."""
        for split in splits or (WHOLE,):
            subject = subjects.subject_of(
                self.schedule, self.machine, split, self.options.lds_bytes
            )
            scores = Scores(store, digest_of(subject.bench, self.measure))
            self.known[split] = subject, scores
        if self.measure is not None:
            return self.options.goal
        bounds = [build_bound(s.bench.parts.problem, None) for s, _ in self.known.values()]
        return max(self.options.goal, float(min(bounds)))

    def _plan(self) -> Iterator[tuple[Split, float]]:
        """A look at every granularity, the longest at whole ops, whose orders start the others;
        then all that is left for the best of them."""
        splits = self.options.splits
        for split in splits if len(splits) > 1 else ():
            yield split, FIRST if split == WHOLE else LOOK
        best = min(self.hunts, key=lambda h: h[1].best.score, default=None)
        yield (best[0].split if best else splits[0]), 1.0

    def _hunt(
        self,
        split: Split,
        share: float,
        seeds: Sequence[subjects.Sequenced],
        pool: Executor | None,
        goal: float,
    ) -> HuntResult | None:
        """One granularity for a share of the limits, the last for what is left of them."""
        options = self.options
        subject, scores = self.known[split]
        left = None
        if options.seconds is not None:
            over = options.seconds - (time.monotonic() - self.begun)
            left = max(LEAST, over if share == 1.0 else min(over, options.seconds * share))
        hunt = Hunt(
            subject.bench.parts.problem,
            self._building(
                subject, scores.through(lambda tasks: self._scores(subject, tasks, pool))
            ),
            HuntOptions(
                evaluations=self._allowed(share),
                seconds=left,
                efforts=EFFORTS if self.measure is None else EFFORTS[-1:],
                batch=max(4, 2 * options.workers),
                seed=options.seed,
                goal=goal,
            ),
            starts=[*scores.best_programs(), *subject.programs(seeds)],
            progress=self.progress,
        )
        try:
            found = hunt.run()
        except SchedulingError:
            if share == 1.0 and not self.hunts and self.best_built == inf:
                raise
            return None  # too short a look, or nothing better than the schedule's own
        self.hunts.append((subject, found))
        return found

    def _allowed(self, share: float) -> int:
        """Evaluations of a share of the limit; the last share is what is left."""
        left = self.options.most_evaluations - sum(f.evaluations for _, f in self.hunts)
        if share == 1.0:
            return max(1, left)
        return max(1, min(left, max(LOOKED, round(self.options.most_evaluations * share))))

    def _scores(
        self, subject: subjects.Subject, tasks: Sequence[Task], pool: Executor | None
    ) -> list[float]:
        if self.measure is not None:
            return [self._measured(subject, t) for t in tasks]
        if pool is None:
            return [simulate_task(subject.bench, t) for t in tasks]
        try:
            futures = [pool.submit(simulate_task, subject.bench, t) for t in tasks]
            return [f.result() for f in futures]
        except BrokenExecutor:  # a worker was killed: its work is done here
            return [simulate_task(subject.bench, t) for t in tasks]

    def _building(self, subject: subjects.Subject, evaluate: Evaluate) -> Evaluate:
        """The evaluation; what would be the best is built first, if that was asked for."""
        if self.builder is None:
            return evaluate

        def checked(tasks: Sequence[Task]) -> list[float]:
            scores = evaluate(tasks)
            return [self._if_built(subject, t, s) for t, s in zip(tasks, scores, strict=True)]

        return checked

    def _if_built(self, subject: subjects.Subject, task: Task, score: float) -> float:
        """The score; infinite where it would be the best and the kernel cannot be built."""
        if task.effort != EFFORTS[-1] or score >= self.best_built:
            return score
        compiled = subjects.compiled_order(subject, task.program, task.effort)
        assert self.builder is not None
        good = compiled is not None and self.builder.builds(compiled)
        self.built[subject.split, task.program] = good
        self.best_built = score if good else self.best_built
        return score if good else inf

    def _measured(self, subject: subjects.Subject, task: Task) -> float:
        compiled = subjects.compiled_order(subject, task.program, task.effort)
        return inf if compiled is None else self._value(subject, compiled)

    def _value(
        self, subject: subjects.Subject, compiled: CompiledSchedule, *, compiled_score: bool = False
    ) -> float:
        """A compiled schedule's score by the measure, or simulated."""
        if self.measure is not None:
            return safely(self.measure, compiled)
        return subject.bench.score(compiled.document()) if compiled_score else inf

    def _ranked(
        self, shipped: Sequence[subjects.Baseline], own: Sequence[subjects.Baseline], stopped: str
    ) -> SearchResult:
        tried = self.builder is not None
        rows = [Row(origin=b[0], score=b[2], built=b in own if tried else None) for b in shipped]
        hunted: list[tuple[float, subjects.Subject, Found]] = []
        seen: set[tuple[Split, Program]] = set()
        for subject, found in self.hunts:
            new = [f for f in found.ranked if (subject.split, f.program) not in seen]
            seen |= {(subject.split, f.program) for f in new}
            hunted += [(f.score, subject, f) for f in new]
            rows += [
                Row(
                    origin=f.origin,
                    score=f.score,
                    split=subject.split,
                    built=self.built.get((subject.split, f.program)),
                )
                for f in new
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
        hunted: Sequence[tuple[float, subjects.Subject, Found]],
    ) -> tuple[CompiledSchedule, float]:
        own = min(shipped, key=lambda s: s[2], default=None)
        for score, subject, found in hunted:
            if own is not None and own[2] <= score:
                break
            if self.builder is not None and not self.built.get((subject.split, found.program)):
                continue
            compiled = subjects.compiled_order(subject, found.program, found.effort)
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
        per = document.protocol.k_tiles_per_iteration
        return 0.0 if load is None else float(load.bound) * self.tiles / per
