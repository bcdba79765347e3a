"""The best order for a measure: starts, steps from order to order, feedback, until time is up.

A hunt is a strategy of the search engine. It knows nothing of what orders are worth (cycles of a
simulator, seconds on a GPU, anything to be small; infinite: not usable). Cheap looks come first
(``effort`` 1), dearer ones only where they may pay. Equal seeds and counts of evaluations give
equal hunts.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import field, replace
from itertools import islice
from math import inf, isfinite

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, SchedulingError
from warploom.modulo.learn import FEW, Learner
from warploom.modulo.model import ModuloProblem
from warploom.modulo.sequence import Orders, Program, neighbours
from warploom.modulo.starts import Start, solver_starts
from warploom.search_engine import Budget, Engine, Objective, Store

SOLVE_SECONDS = 10.0  # of a start, at most, where the hunt has a time limit
KNOWN = 3  # orders that walks begin from
PATIENCE = 6  # batches without a better order before another start is taken
STALE = 40  # starts in a row that bring nothing new: the source is exhausted
NEAR_BEST = 0.06  # how far above the best a cheap look may lie to earn a dear one
LOOSE = 0.02  # how much worse a step may be and still be taken now and then


@dataclass(frozen=True, slots=True)
class Task:
    """An order to be scored, and how much work its score may take."""

    program: Program
    effort: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A scored order: where it came from, at which effort it was scored."""

    program: Program
    origin: str
    score: float
    effort: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntOptions:
    """``evaluations`` counts scores; ``seconds`` is wall-clock time (None: no limit by it).

    ``efforts`` rise; an order is scored with the next one when it may be among the best. ``goal``
    ends the hunt as soon as a score of the highest effort reaches it. ``batch`` orders are scored
    at once, by as many workers as the evaluation has. Without ``seconds`` the solver's starts
    are bounded by work, so that a hunt does not depend on the clock.
    """

    evaluations: int = 200
    seconds: float | None = None
    efforts: tuple[int, ...] = (1,)
    batch: int = 4
    seed: int = 0
    goal: float = 0.0

    def __post_init__(self) -> None:
        if self.evaluations < 1 or self.batch < 1 or not self.efforts:
            raise ConfigError(
                "a hunt needs at least one evaluation, a batch of one and an effort",
                where="HuntOptions",
            )
        if self.seconds is not None and not self.seconds > 0:
            raise ConfigError(f"a time limit of {self.seconds} seconds", where="HuntOptions")


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntResult:
    """All that was scored at the highest effort, best first; and what ended the hunt."""

    ranked: tuple[Found, ...]
    evaluations: int
    seconds: float
    stopped: str

    @property
    def best(self) -> Found:
        """The best order."""
        return self.ranked[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a progress callback hears: scores so far and the best of them."""

    evaluations: int
    best: float
    origin: str
    seconds: float


@dataclass
class Hunt:
    """One hunt over the orders of a body; ``objective`` scores tasks of every effort."""

    problem: ModuloProblem
    objective: Objective[Task, float]
    options: HuntOptions = field(default_factory=HuntOptions)
    starts: Iterable[Start] = ()
    progress: Callable[[Step], None] | None = None
    store: Store | None = None
    executor: Executor | None = None

    def run(self) -> HuntResult:
        """Hunt until a limit, the goal or an interrupt; never loses what was found."""
        options = self.options
        top = options.efforts[-1]
        self._engine: Engine[Task, float] = Engine(
            replace(self.objective, answers=lambda task: task.effort == top),
            Budget(evaluations=options.evaluations, seconds=options.seconds, goal=options.goal),
            store=self.store,
            executor=self.executor,
            progress=self._tell,
        )
        self._origins: dict[Program, str] = {}
        self._roots: dict[Program, str] = {}  # of those that were made of others
        self._rng = random.Random(options.seed)
        stopped = self._engine.run(self._walk)
        ranked = self._ranking()
        if not ranked:
            if stopped == "interrupt":
                raise KeyboardInterrupt
            raise SchedulingError(
                f"the search found no usable order of {self.problem.name!r}",
                why=f"{len(self._engine.scores)} were tried ({stopped}); every score was infinite",
                fix="allow more evaluations, or look at one candidate by hand",
            )
        return HuntResult(
            ranked=ranked,
            evaluations=len(self._engine.scores),
            seconds=self._engine.spent(),
            stopped=stopped,
        )

    def _tell(self, engine: Engine[Task, float], _: Task) -> None:
        if self.progress is None:
            return
        origin = "" if engine.best is None else self._origins[engine.best.program]
        self.progress(
            Step(
                evaluations=len(engine.scores),
                best=engine.best_score,
                origin=origin,
                seconds=engine.spent(),
            )
        )

    def _ranking(self) -> tuple[Found, ...]:
        top = self.options.efforts[-1]
        found = [
            Found(program=p, origin=self._origins[p], score=score, effort=effort)
            for (p, effort), score in self._scores()
            if effort == top and isfinite(score)
        ]
        return tuple(sorted(found, key=lambda f: (f.score, f.program.sequence, f.program.depths)))

    def _scores(self) -> Iterator[tuple[tuple[Program, int], float]]:
        return (((t.program, t.effort), s) for t, s in self._engine.scores.items())

    def _walk(self, _: Engine[Task, float]) -> None:
        self._seen: set[Program] = set()
        known = list(self._usable(self.starts))
        self._score(known)
        limit = self.options.seconds
        seconds = None if limit is None else min(SOLVE_SECONDS, limit / 4)
        near = known[:KNOWN]
        solved = self._usable(solver_starts(self.problem, self._rng, seconds=seconds, known=near))
        self._score(list(islice(solved, self.options.batch)))
        if len(self.problem.ops) <= FEW:
            self._learn()
        idle = 0
        for n, start in enumerate(self._restarts(solved)):
            before = len(self._engine.scores)
            self._descend(start, f"step {n}")
            idle = 0 if len(self._engine.scores) > before else idle + 1
            if idle >= PATIENCE:
                return

    def _learn(self) -> None:
        """Orders that are best under costs which explain the scores, until they stop paying."""
        learner, dry = Learner(self.problem, self._rng), 0
        while dry < PATIENCE:
            before = self._best_cheap()
            found = learner.proposals(self._cheap_scores(), self.options.batch)
            self._score([("learnt", p) for p in found])
            dry = 0 if self._best_cheap() < before else dry + 1

    def _best_cheap(self) -> float:
        return min(self._cheap_scores().values(), default=inf)

    def _cheap_scores(self) -> dict[Program, float]:
        return {p: s for (p, e), s in self._scores() if e == self.options.efforts[0]}

    def _usable(self, starts: Iterable[Start]) -> Iterator[Start]:
        """Only orders that keep every dependence and the budget, each once."""
        orders, stale = Orders(self.problem), 0
        for origin, program in starts:
            self._engine.check()
            if program in self._seen or orders.paths(program) is None:
                stale += 1
                if stale > STALE:
                    return
                continue
            stale = 0
            self._seen.add(program)
            yield origin, program

    def _restarts(self, solved: Iterator[Start]) -> Iterator[Program]:
        """The best so far, again and again; in between the solvers' starts and others near it."""
        while True:
            ranked = self._ranking() or self._cheap_ranking()
            if ranked:
                yield ranked[0].program
            self._score(list(islice(solved, self.options.batch)))
            ranked = self._ranking() or self._cheap_ranking()
            if ranked:
                yield self._rng.choice(ranked[: max(4, self.options.batch)]).program

    def _cheap_ranking(self) -> list[Found]:
        low = self.options.efforts[0]
        scores = [(s, p) for (p, e), s in self._scores() if e == low and isfinite(s)]
        scores.sort(key=lambda item: (item[0], item[1].sequence))
        return [Found(program=p, origin=self._origins[p], score=s, effort=low) for s, p in scores]

    def _cheap(self, program: Program) -> float:
        return self._engine.scores.get(Task(program, self.options.efforts[0]), inf)

    def _descend(self, start: Program, origin: str) -> None:
        """Steps from one order until some batches in a row bring nothing better."""
        at, level, dry = start, self._cheap(start), 0
        while dry < PATIENCE:
            near = islice(neighbours(self.problem, at, self._rng), self.options.batch)
            root = self._root(at)
            batch = [(f"{origin} from {root}", p) for p, _ in near]
            self._roots |= {p: root for _, p in batch if p not in self._origins}
            if not batch:
                return
            self._score(batch)
            best = min((p for _, p in batch), key=self._cheap)
            score = self._cheap(best)
            allowed = level * (1 + (LOOSE if self._rng.random() < 0.1 else 0.0))
            dry = 0 if score < level else dry + 1
            if score <= allowed:
                at, level = best, score

    def _root(self, program: Program) -> str:
        """Where the first order came from of which a program was made step by step."""
        return self._roots.get(program) or self._origins.get(program) or "start"

    def _score(self, batch: Sequence[Start]) -> None:
        """Score at the lowest effort, then whatever is near the best at the next ones."""
        for origin, program in batch:
            self._origins.setdefault(program, origin)
        chosen = [p for _, p in batch]
        known = self._engine.scores
        for low, effort in enumerate(self.options.efforts):
            todo = [t for p in dict.fromkeys(chosen) if (t := Task(p, effort)) not in known]
            for first in range(0, len(todo), self.options.batch):
                self._engine.evaluate(todo[first : first + self.options.batch])
            if low + 1 < len(self.options.efforts):
                line = self._line(effort)
                chosen = [p for p in chosen if known[Task(p, effort)] <= line]

    def _line(self, effort: int) -> float:
        """The worst score of an effort that earns the next effort: close above the best."""
        scores = sorted(s for (_, e), s in self._scores() if e == effort and isfinite(s))
        return scores[0] * (1 + NEAR_BEST / effort) if scores else inf
