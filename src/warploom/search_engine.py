"""The engine of every search: what is proposed is evaluated once, kept, and counted.

A *strategy* proposes candidates: a function that asks the engine for the scores of one batch after
the other. An *objective* says what a candidate is worth: cycles of a model, a measurement. A
*budget* ends the search, as Ctrl-C does; what is known by then stays. A *store* keeps every value
under a digest of all it follows from, before anybody hears of it, so that nothing is evaluated
twice and a search that was stopped goes on where it was.

Candidates are evaluated in this process, by a pool of processes or by a Dask cluster. Workers keep
what they found themselves in the shared store, where there is one. A cluster that loses a worker
begins what that one had not finished again, elsewhere; what it had finished is read.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib import import_module
from math import inf
from typing import Any, Generic, Protocol, TypeVar

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, MissingExtraError

HOPELESS = 40  # values beyond the limit, all of no use: nothing usable will come

C = TypeVar("C", bound=Hashable)
V = TypeVar("V")


def _always(_: object) -> bool:
    return True


def _as_it_is(value: Any) -> Any:  # noqa: ANN401 (values of any objective)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective(Generic[C, V]):
    """What candidates are worth.

    ``each`` values one candidate, in any process; ``together`` a batch of them, in this one (times
    that are taken in turn). ``score``: a number to be small, infinite for what is of no use; it is
    asked once for each value. ``answers``: whether a candidate can be the result, or is but a look
    at one. ``key``: a digest of all that the value follows from. ``about``: what a file of values
    says of the candidate besides. ``encode`` and ``decode``: the value as JSON, and back (None:
    what was kept is no value now).
    """

    each: Callable[[C], V] | None = None
    together: Callable[[Sequence[C]], Iterable[V]] | None = None
    score: Callable[[C, V], float] = lambda _, value: float(value)  # type: ignore[arg-type]
    answers: Callable[[C], bool] = _always
    key: Callable[[C], str] = repr
    about: Callable[[C], dict[str, Any]] = lambda _: {}
    encode: Callable[[V], Any] = _as_it_is
    decode: Callable[[Any], V | None] = _as_it_is


class Shared(Protocol):
    """Values by key, as JSON, that processes and machines share; None for nothing."""

    def get(self, key: str) -> Any:  # noqa: ANN401
        """What is kept under a key."""

    def put(self, key: str, value: Any) -> None:  # noqa: ANN401
        """Keep a value."""


class Store(Protocol):
    """Values by key, as JSON, of this process; None for nothing."""

    def get(self, key: str) -> Any:  # noqa: ANN401
        """What is kept under a key."""

    def put(self, key: str, value: Any, about: dict[str, Any]) -> None:  # noqa: ANN401
        """Keep a value, with what is said of its candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What ends a search.

    ``evaluations`` counts values, known ones too, so that a search that goes on ends where one that
    was never stopped does. ``seconds`` is by the clock. ``goal``: a score that is good enough.
    """

    evaluations: int | None = None
    seconds: float | None = None
    goal: float = -inf

    def __post_init__(self) -> None:
        if self.evaluations is not None and self.evaluations < 1:
            raise ConfigError("a search without evaluations", where="evaluations")
        if self.seconds is not None and not self.seconds > 0:
            raise ConfigError(f"a limit of {self.seconds} s", where="seconds")


class StopSearch(Exception):  # noqa: N818 (no error: what a strategy is ended by)
    """The search is over; the text says why."""


class Engine(Generic[C, V]):
    """One search: ``values`` and ``scores`` of what was evaluated, ``best`` of what can be the
    result.
    """

    def __init__(
        self,
        objective: Objective[C, V],
        budget: Budget | None = None,
        *,
        store: Store | None = None,
        shared: Shared | None = None,
        executor: Executor | None = None,
        progress: Callable[[Engine[C, V], C], None] | None = None,
    ) -> None:
        self.objective, self.budget = objective, budget or Budget()
        self.store, self.shared = store, shared
        self.executor, self.progress = executor, progress
        self.values: dict[C, V] = {}
        self.scores: dict[C, float] = {}
        self.best: C | None = None
        self.best_score = inf
        self.begun = time.monotonic()

    def run(self, strategy: Callable[[Engine[C, V]], None]) -> str:
        """Let a strategy propose until it, the budget or Ctrl-C ends it; what ended it."""
        try:
            strategy(self)
        except StopSearch as end:
            return str(end)
        except KeyboardInterrupt:
            return "interrupt"
        return "nothing left to try"

    def spent(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self.begun

    def over(self) -> bool:
        """Whether the time is up."""
        return self.budget.seconds is not None and self.spent() >= self.budget.seconds

    def check(self) -> None:
        """End the search if its budget is spent; not before there is a result, if one may come."""
        most = self.budget.evaluations
        beyond = -1 if most is None else len(self.values) - most
        if beyond >= 0 and (self.best is not None or beyond >= HOPELESS):
            raise StopSearch("evaluations spent")
        if self.over():
            raise StopSearch("time limit")

    def recall(self, candidates: Iterable[C]) -> list[C]:
        """Take what is known of these from the stores; those of which nothing is."""
        missing = []
        for candidate in dict.fromkeys(candidates):
            if candidate in self.values:
                continue
            value = self._kept(candidate)
            if value is None:
                missing.append(candidate)
            else:
                self._add(candidate, value)
        return missing

    def _kept(self, candidate: C) -> V | None:
        for store in (self.store, self.shared):
            kept = None if store is None else store.get(self.objective.key(candidate))
            value = None if kept is None else self.objective.decode(kept)
            if value is not None:
                return value
        return None

    def evaluate(self, candidates: Sequence[C]) -> list[float]:
        """The scores of these; only what is not known is evaluated."""
        self.check()
        for candidate, value in self._evaluated(self.recall(candidates)):
            if self.store is not None:
                encoded = self.objective.encode(value)
                about = self.objective.about(candidate)
                self.store.put(self.objective.key(candidate), encoded, about)
            self._add(candidate, value)
        if self.best is not None and self.best_score <= self.budget.goal:
            raise StopSearch("goal reached")
        return [self.scores[c] for c in candidates]

    def _add(self, candidate: C, value: V) -> None:
        self.values[candidate] = value
        score = self.scores[candidate] = self.objective.score(candidate, value)
        if score < self.best_score and self.objective.answers(candidate):
            self.best, self.best_score = candidate, score
        if self.progress is not None:
            self.progress(self, candidate)

    def _evaluated(self, candidates: Sequence[C]) -> Iterator[tuple[C, V]]:
        """Values as they are known."""
        if not candidates:
            return
        objective, shared = self.objective, self.shared
        if objective.together is not None:
            yield from zip(candidates, objective.together(candidates), strict=True)
            return
        assert objective.each is not None
        executor = self.executor
        if executor is None and shared is None:
            for candidate in candidates:
                yield candidate, objective.each(candidate)
            return
        keys = {c: "" if shared is None else objective.key(c) for c in candidates}
        work = partial(_once, objective.each, objective.encode, shared)
        left = dict(keys)
        futures: dict[Future[Any], C] = {}
        try:
            if executor is not None:
                futures |= {executor.submit(work, c, key): c for c, key in keys.items()}
            for future in _completed(list(futures)):
                kept = future.result()
                del left[futures[future]]
                yield futures[future], self._value(kept)
        except BrokenExecutor:  # a worker was killed: what is left is done here
            pass
        finally:
            for future in futures:
                future.cancel()
        for candidate, key in left.items():
            yield candidate, self._value(work(candidate, key))

    def _value(self, kept: Any) -> V:  # noqa: ANN401 (JSON)
        result = self.objective.decode(kept)
        assert result is not None
        return result


def _once(
    each: Callable[[C], V],
    encode: Callable[[V], Any],
    shared: Shared | None,
    candidate: C,
    key: str,
) -> Any:  # noqa: ANN401 (JSON)
    """What is kept under a key; else what is found now, kept. In any process."""
    known = None if shared is None else shared.get(key)
    if known is not None:
        return known
    result = encode(each(candidate))
    if shared is not None:
        shared.put(key, result)
    return result


def _completed(futures: Sequence[Future[Any]]) -> Iterable[Future[Any]]:
    """Futures as they finish; other executors' futures may only be waited for in order."""
    return as_completed(futures) if all(isinstance(f, Future) for f in futures) else futures


def executor_for(jobs: int, dask: str | None = None) -> AbstractContextManager[Executor | None]:
    """This process for one job, a pool for several; ``dask``: the cluster at an address, or one of
    this machine (``local``).
    """
    if dask is None:
        return nullcontext(None) if jobs == 1 else worker_pool(jobs)
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise MissingExtraError("distributed", "explore", "A Dask sweep") from None
    here = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
    cluster = distributed.LocalCluster(**here) if dask == "local" else dask
    result: AbstractContextManager[Executor] = distributed.Client(cluster).get_executor()
    return result


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """A pool whose workers leave Ctrl-C to the process that made it, and print nothing."""
    known = multiprocessing.get_all_start_methods()
    return ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("fork" if "fork" in known else "spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    )
