"""``search``: the best schedule of a body for a machine or for your own measure.

Candidates are the schedule's own orders (identity, greedy, CSP), solved ones (MODULO, k best, with
slack, with margins, under perturbed costs) and orders reached from them step by step, on the body
as declared or on finer ops. Each is expanded, synchronised at least cost, verified and scored: by
the simulator, or by a measure of yours (a run on a GPU). Anytime, resumable from a store file, on a
pool of processes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from math import inf, isfinite
from pathlib import Path
from typing import Any, TypeAlias

from warploom.autotune import subjects
from warploom.autotune.build import Builder
from warploom.autotune.store import Journal, space_key
from warploom.compiler.disk_cache import digest
from warploom.dataclass import dataclass
from warploom.errors import ConfigError, SchedulingError, WarploomError
from warploom.modulo import ModuloOptions, ModuloProblem, ModuloResult, solve_modulo
from warploom.modulo.bounds.plain import plain_bound
from warploom.modulo.bounds.system import build_system
from warploom.modulo.local_search import Found, Hunt, HuntOptions, HuntResult, Step, Task
from warploom.modulo.sequence import Program, as_result
from warploom.modulo.starts import Start, build_bound
from warploom.pipeline.compile import CompiledSchedule
from warploom.pipeline.modulo.auto import EFFORTS, WHOLE, Split, simulate_task
from warploom.pipeline.schedule import PipelineSchedule
from warploom.search_engine import Engine, Objective, executor_for
from warploom.sim import MachineCosts, simulate
from warploom.sim.costs import TargetCosts, costs_of

EVALUATIONS = 120
ENDLESS = 1_000_000_000
FIRST, LOOK = 0.35, 0.12  # shares of the limits: for whole ops, and for each finer cut
LEAST, LOOKED = 0.1, 24  # seconds of a look, and evaluations: its starts, and walks from them
SEEDS = 2  # orders of whole ops that a finer cut starts from: walks soon leave them behind
RESUMED = 8  # of the best orders that are known, starts of a search that goes on
ROLES_WORK = 4.0  # to find roles for a body that has none

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

    ``evaluations`` counts scored candidates: equal bodies, seeds and numbers of workers then give
    equal results, however loaded the machine is. ``seconds`` is by the clock. With neither
    ``EVALUATIONS`` are scored, with ``seconds`` alone as many as fit in. Any limit returns the best
    so far with its bound.
    ``splits`` are the granularities tried, each for a short look, the best for the rest: (2, 2)
    cuts every sub-tile of A and B in two. ``workers`` processes score candidates, unless an
    ``executor`` is given; a measure is called in this process, one candidate at a time.
    ``lds_bytes`` bounds ring depths. ``goal`` ends the search early; so does the bound. ``build``:
    whatever would be the best is emitted for gfx950 first and counts only if it passes the gate
    without spills.
    """

    seconds: float | None = None
    evaluations: int | None = None
    splits: tuple[Split, ...] = (WHOLE,)
    workers: int = 1
    seed: int = 0
    goal: float = 0.0
    lds_bytes: int | None = None
    build: bool = False

    def __post_init__(self) -> None:
        if self.workers < 1 or not self.splits:
            raise ConfigError("at least one worker and one split", where="SearchOptions")
        if self.evaluations is not None and self.evaluations < 1:
            raise ConfigError("a search without evaluations", where="SearchOptions.evaluations")
        if self.seconds is not None and not self.seconds > 0:
            raise ConfigError(f"a limit of {self.seconds} s", where="SearchOptions.seconds")

    @property
    def most_evaluations(self) -> int:
        """How many candidates are scored at the most."""
        if self.evaluations is not None:
            return self.evaluations
        return EVALUATIONS if self.seconds is None else ENDLESS


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
    options, journal = options or SearchOptions(), Journal(store)
    if isinstance(subject, ModuloProblem):
        return _search_problem(subject, measure, options, journal, progress)
    if not isinstance(subject, PipelineSchedule):
        raise ConfigError(
            f"cannot search schedules of a {type(subject).__name__}",
            where="search",
            fix="pass a PipelineSchedule, or a ModuloProblem with a measure",
        )
    machine = subjects.machine_of(subject) if target is None else costs_of(target)
    run = _ScheduleSearch(subject, machine, measure, options, progress, journal)
    workers = nullcontext(executor) if executor is not None else executor_for(options.workers)
    with nullcontext(None) if measure is not None else workers as run.executor:
        return run.result()


def _objective(
    each: Callable[[Task], float], key: str, score: Callable[[Task, float], float] | None = None
) -> Objective[Task, float]:
    """Orders of the body that ``key`` stands for."""

    def about(task: Task) -> dict[str, Any]:
        order = {"sequence": task.program.sequence, "depths": task.program.depths}
        return {"space": key, **order, "effort": task.effort}

    return Objective(
        each=each,
        score=score or (lambda _, value: value),
        key=lambda t: digest(key, t.program.sequence, t.program.depths, t.effort),
        about=about,
        encode=_finite,
        decode=float,
    )


def _finite(score: float) -> float | str:
    """JSON has no infinity."""
    return score if isfinite(score) else "inf"


def _resumed(journal: Journal, key: str) -> list[Start]:
    """The best known orders, as starts of the search that goes on."""
    known = [r for r in journal.rows() if r.get("space") == key and r["value"] != "inf"]
    known.sort(key=lambda r: (r["value"], r["sequence"]))
    programs = dict.fromkeys(Program(tuple(r["sequence"]), tuple(r["depths"])) for r in known)
    return [(f"resumed {i + 1}", p) for i, p in enumerate(list(programs)[:RESUMED])]


def _safely(measure: Callable[..., float], candidate: object) -> float:
    """A measure's number; its own mistakes make a candidate useless, not the search."""
    try:
        found = float(measure(candidate))
        return found if isfinite(found) else inf
    except (WarploomError, ArithmeticError, ValueError, RuntimeError, OSError):
        return inf


def _search_problem(
    problem: ModuloProblem,
    measure: Callable[..., float] | None,
    options: SearchOptions,
    journal: Journal,
    progress: Progress | None,
) -> SearchResult:
    """A bare body: orders of its ops, scored by the measure (or by the least II of the order)."""
    begun = time.monotonic()
    if problem.fixed_roles() is None:
        quick = ModuloOptions(goals=(), work=ROLES_WORK, seconds=options.seconds)
        problem = problem.with_roles(solve_modulo(problem, quick).roles)
    key = space_key(problem, measure, scheduling=True)

    def each(task: Task) -> float:
        result = as_result(problem, task.program)
        if result is None:
            return inf
        return float(result.ii) if measure is None else _safely(measure, result)

    found = Hunt(
        problem,
        _objective(each, key),
        HuntOptions(
            evaluations=options.most_evaluations,
            seconds=options.seconds,
            seed=options.seed,
            goal=options.goal,
        ),
        starts=_resumed(journal, key),
        progress=progress,
        store=journal,
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


class _ScheduleSearch:
    """Baselines, then one hunt for each granularity; the best of all is compiled."""

    def __init__(
        self,
        schedule: PipelineSchedule,
        machine: MachineCosts,
        measure: Measure | None,
        options: SearchOptions,
        progress: Progress | None,
        journal: Journal,
    ) -> None:
        self.schedule, self.machine, self.measure = schedule, machine, measure
        self.options, self.progress, self.journal = options, progress, journal
        self.executor: Executor | None = None
        self.begun = time.monotonic()
        self.hunts: list[tuple[subjects.Subject, HuntResult]] = []
        self.known: dict[Split, tuple[subjects.Subject, str]] = {}
        self.builder = Builder.of(schedule) if options.build else None
        self.best_built = inf
        self.built: dict[tuple[Split, Program], bool] = {}

    def result(self) -> SearchResult:
        """Search, compile the best, and write the table."""
        whole = subjects.subject_of(self.schedule, self.machine, WHOLE, self.options.lds_bytes)
        self.tiles = whole.bench.tiles
        shipped: list[subjects.Baseline] = []
        own: list[subjects.Baseline] = []
        try:
            for name, compiled in subjects.baselines(self.schedule):
                shipped.append((name, compiled, self._own_score(whole, name, compiled)))
                if self._over():
                    break
            own += self._built_baselines(shipped)
            self.best_built = min((score for *_, score in own), default=inf)
            goal = self._goal(() if self._settled() else self.options.splits)
            stopped = self._hunts(whole.starts(shipped), goal)
        except KeyboardInterrupt:
            if not own and (self.builder is not None or not shipped):
                raise
            own, stopped = own or shipped, "interrupt"
        return self._ranked(shipped, own, stopped)

    def _own_score(self, whole: subjects.Subject, name: str, compiled: CompiledSchedule) -> float:
        """What an order of the schedule's own is worth."""
        key = space_key(whole.bench, self.measure, scheduling=True)
        own = compiled.document()

        def each(_: str) -> float:
            if self.measure is not None:
                return _safely(self.measure, compiled)
            return whole.bench.score(own)

        objective = Objective(
            each=each, key=lambda n: digest(key, n, own), encode=_finite, decode=float
        )
        return Engine(objective, store=self.journal).evaluate([name])[0]

    def _hunts(self, seeds: list[subjects.Sequenced], goal: float) -> str:
        """One hunt after the other, and what ended them."""
        stopped = "nothing left to try"
        for split, share in self._plan():
            if self._settled():
                return "time limit"
            found = self._hunt(split, share, seeds, goal)
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

    def _goal(self, splits: Sequence[Split]) -> float:
        """What ends the search: the goal asked for, or what no granularity can go below."""
        for split in splits or (WHOLE,):
            subject = subjects.subject_of(
                self.schedule, self.machine, split, self.options.lds_bytes
            )
            key = space_key(subject.bench, self.measure, scheduling=True)
            self.known[split] = subject, key
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
        self, split: Split, share: float, seeds: Sequence[subjects.Sequenced], goal: float
    ) -> HuntResult | None:
        """One granularity for a share of the limits, the last for what is left of them."""
        options = self.options
        subject, key = self.known[split]
        left = None
        if options.seconds is not None:
            over = options.seconds - (time.monotonic() - self.begun)
            left = max(LEAST, over if share == 1.0 else min(over, options.seconds * share))
        each = partial(simulate_task, subject.bench)
        if self.measure is not None:
            each = partial(self._measured, subject)
        hunt = Hunt(
            subject.bench.parts.problem,
            _objective(each, key, partial(self._if_built, subject)),
            HuntOptions(
                evaluations=self._allowed(share),
                seconds=left,
                efforts=EFFORTS if self.measure is None else EFFORTS[-1:],
                batch=max(4, 2 * options.workers),
                seed=options.seed,
                goal=goal,
            ),
            starts=[*_resumed(self.journal, key), *subject.programs(seeds)],
            progress=self.progress,
            store=self.journal,
            executor=self.executor,
        )
        try:
            result = hunt.run()
        except SchedulingError:
            if share == 1.0 and not self.hunts and self.best_built == inf:
                raise
            return None  # too short a look, or nothing better than the schedule's own
        self.hunts.append((subject, result))
        return result

    def _allowed(self, share: float) -> int:
        """Evaluations of a share of the limit; the last share is what is left."""
        left = self.options.most_evaluations - sum(f.evaluations for _, f in self.hunts)
        if share == 1.0:
            return max(1, left)
        return max(1, min(left, max(LOOKED, round(self.options.most_evaluations * share))))

    def _if_built(self, subject: subjects.Subject, task: Task, score: float) -> float:
        """The score; infinite where it would be the best and the kernel cannot be built."""
        if self.builder is None or task.effort != EFFORTS[-1] or score >= self.best_built:
            return score
        good = self.built.get((subject.split, task.program))
        if good is None:
            compiled = subjects.compiled_order(subject, task.program, task.effort)
            good = compiled is not None and self.builder.builds(compiled)
        self.built[subject.split, task.program] = good
        self.best_built = score if good else self.best_built
        return score if good else inf

    def _measured(self, subject: subjects.Subject, task: Task) -> float:
        assert self.measure is not None
        compiled = subjects.compiled_order(subject, task.program, task.effort)
        return inf if compiled is None else _safely(self.measure, compiled)

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
