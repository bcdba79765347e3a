"""The search of a kernel's knobs: shapes bounded and pruned, orders simulated, trials measured.

Two objectives on one engine: a shape is worth what the simulator expects of its best order, a trial
the milliseconds it takes. Trials are measured in batches: the ones the simulator likes best, and a
few spread over the rest. Everything known is in the journal, so that a search that was stopped goes
on where it was. Without a measure the result is the simulator's ranking, and says so.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.autotune.store import Journal, SharedStore, space_key
from warploom.autotune.tiles import KernelSpace, Shape, Trial
from warploom.compiler.compiled import Compiled
from warploom.compiler.disk_cache import default_cache, digest
from warploom.dataclass import dataclass
from warploom.errors import ConfigError, WarploomError
from warploom.ir.tile import Walk
from warploom.passes.heuristics import ASSUMED, ASSUMED_UNITS, check_pins
from warploom.passes.kernel_config import KernelConfig
from warploom.passes.rewrites import rewrite
from warploom.search_engine import Engine, Objective

FEWEST = 8  # measured trials from which on a rank correlation says something
LEAST = 0.5  # seconds for the order of the first shape, however short the time
SHARE = 0.2  # of the time that one shape may take
SCHEDULING = 0.5  # of the time, where the rest is for measuring
LONGER = 1.5  # from how much more time on a shape that had to stop is worth another try
STEPS = 4  # one in so many of the trials is for steps
FIRST, FINAL = "first", "final"  # turns in which a trial is timed
ENOUGH = "as many measured as asked for"

Measure = Callable[[KernelConfig], float]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointOptions:
    """How much is tried.

    ``shapes`` are scheduled, unless their bound exceeds the best prediction by more than the share
    ``margin``. ``trials`` are measured, in batches of ``batch``; then the ``finalists`` best again,
    in rotation, ``rounds`` times. ``steps``: other values of single knobs, of the best trial, that
    become trials. ``seconds``: nothing new begins after them.
    """

    shapes: int = 12
    margin: float = 0.25
    trials: int = 40
    batch: int = 8
    finalists: int = 4
    rounds: int = 3
    programs: int = 6
    steps: int = 16
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A trial with its measured milliseconds; ``error``: why it could not be measured."""

    trial: Trial
    milliseconds: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointResult:
    """All trials, the best first; ``measured`` false: ranked by the simulator alone."""

    kernel: str
    sizes: tuple[tuple[str, int], ...]
    rows: tuple[Row, ...]
    measured: bool
    shapes: int
    scheduled: int
    pruned: int
    stopped: str
    seconds: float

    @property
    def best(self) -> Trial:
        """The quickest trial, or the one the simulator likes best."""
        return self.rows[0].trial

    def known(self) -> list[Row]:
        """Rows with a measured time."""
        return [r for r in self.rows if r.milliseconds is not None]

    def correlation(self) -> float | None:
        """Rank correlation of predicted with measured times; None with too few measured."""
        known = self.known()
        if len(known) < FEWEST:
            return None
        times = [r.milliseconds or 0.0 for r in known]
        return rank_correlation([r.trial.predicted for r in known], times)


def search_tiles(
    compiled: Compiled,
    *,
    measure: Measure | None = None,
    options: JointOptions | None = None,
    store: Path | str | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    folder: Path | None = None,
) -> JointResult:
    """The best choices for a kernel and its sizes.

    ``measure`` gives the milliseconds of a config; what it raises makes the trial useless, not the
    search. Ctrl-C ends the search with what is known. Through an ``executor`` (a Dask cluster's)
    workers measure a batch side by side; each keeps what it measured in the content-addressed cache
    (``folder``; the usual one), so that a worker that dies loses nothing that was measured.
    """
    search = _Search(compiled, measure, options or JointOptions(), Journal(store), progress)
    shared = None if executor is None else SharedStore(folder or default_cache())
    search.timed = search.measuring(executor, shared)
    return search.run()


@dataclass(frozen=True, slots=True)
class _Scheduled:
    """The trials of a shape; ``stopped``: the seconds after which it had to, if it had to."""

    trials: tuple[Trial, ...]
    stopped: float | None = None


_Timing = tuple[KernelConfig, str]  # what is timed, and in which turn
_Time = tuple[float | None, str]  # milliseconds, or why there are none


class _Search:
    def __init__(
        self,
        compiled: Compiled,
        measure: Measure | None,
        options: JointOptions,
        journal: Journal,
        progress: Progress | None,
    ) -> None:
        self.kernel = rewrite(compiled.simplified, positive=compiled.positive)
        self.measure, self.options, self.journal = measure, options, journal
        known = {
            v.axis: ASSUMED_UNITS if v.walk is Walk.UNIT else ASSUMED for v in self.kernel.vars
        }
        self.sizes = known | compiled.sizes
        check_pins(self.kernel, compiled.pinned)
        self.space = KernelSpace(self.kernel, self.sizes, compiled.pinned, compiled.target)
        self.tell = progress or (lambda said: None)
        self.begun = time.monotonic()
        self.trials: dict[KernelConfig, Trial] = {}
        self.stopped = "everything tried"
        self.shapes = self.scheduled = self.pruned = 0
        subject = (self.kernel, sorted(self.sizes.items()), sorted(map(str, compiled.pinned)))
        self.key = space_key(subject)
        self.model: Engine[Shape, _Scheduled] = Engine(
            Objective(
                each=self._schedule,
                score=lambda _, made: min((t.predicted for t in made.trials), default=inf),
                key=lambda shape: digest(self.key, options.programs, shape.config.pins),
                encode=lambda made: {
                    "trials": [t.to_json() for t in made.trials],
                    "stopped": made.stopped,
                },
                decode=self._scheduled_before,
            ),
            store=journal,
        )
        self.timed = self.measuring(None, None)

    def measuring(
        self, executor: Executor | None, shared: SharedStore | None
    ) -> Engine[_Timing, _Time]:
        """The engine of measurements; ``turn`` tells apart times that are to be taken anew."""
        key = space_key(self.key, self.measure)

        def told(engine: Engine[_Timing, _Time], timing: _Timing) -> None:
            took, _ = engine.values[timing]
            if took is not None:
                self.tell(f"{self.trials[timing[0]].name}: {took:.4f} ms")

        return Engine(
            Objective(
                each=partial(_timed, self.measure),
                score=lambda _, value: inf if value[0] is None else value[0],
                key=lambda timing: digest(key, timing[0].pins, timing[1]),
                encode=list,
                decode=lambda kept: (kept[0], kept[1]),
            ),
            store=self.journal,
            shared=shared,
            executor=executor,
            progress=told,
        )

    def run(self) -> JointResult:
        """Enumerate, measure, step and rank."""
        ended = self.model.run(lambda _: self.look())
        if ended == "interrupt":
            self.stopped = ended
        if not self.trials:
            raise ConfigError(
                f"nothing of kernel {self.kernel.name} could be scheduled",
                where=f"sizes {self.sizes}",
                fix="pin fewer choices, or allow more shapes",
            )
        return self.result()

    def look(self) -> None:
        """What is tried, one after the other."""
        self.enumerate()
        steps = self.options.steps
        if self.measure is not None:
            self.measure_all(self.options.trials - (self.options.trials // STEPS if steps else 0))
        self.take_steps()
        if self.measure is not None:
            self.measure_all(self.options.trials)
            self.finish()

    def out_of_time(self) -> bool:
        """Whether the time is up; remembered as the reason to stop."""
        limit = self.options.seconds
        over = limit is not None and time.monotonic() - self.begun > limit
        if over:
            self.stopped = "time limit"
        return over

    def enough(self) -> bool:
        """Whether no other shape is to be scheduled: some of the time is for measuring."""
        limit = self.options.seconds
        if self.measure is None or limit is None:
            return self.out_of_time()
        return time.monotonic() - self.begun > limit * SCHEDULING

    def enumerate(self) -> None:
        """Trials of the shapes that may win, best bounds first, every tile size in its turn."""
        found = self.space.shapes(self.out_of_time)
        self.shapes = len(found)
        self.tell(f"{len(found)} shapes have a place on the chip")
        for shape in _in_turn(found):
            if self.scheduled >= self.options.shapes or (self.trials and self.enough()):
                break
            if shape.bound > self.model.best_score * (1 + self.options.margin):
                self.pruned += 1
                continue
            self.model.evaluate([shape])
            made = self.model.values[shape].trials
            self.scheduled += 1
            self.trials |= {t.config: t for t in made}
            best = self.model.best_score
            self.tell(f"{shape.config.name}: {len(made)} trials, best {best:.0f} cycles")

    def _schedule(self, shape: Shape) -> _Scheduled:
        """The trials of a shape; one without an order must not take all of the time."""
        limit, start, left = self.options.seconds, time.monotonic(), None
        if limit is not None:
            left = max(LEAST, min(limit - start + self.begun, limit * SHARE))
        made = tuple(self.space.schedule(shape, self.options.programs, left))
        over = self.out_of_time()  # then there may be more of them
        over = over or (left is not None and time.monotonic() - start >= left)
        return _Scheduled(made, left if over else None)

    def _scheduled_before(self, kept: Mapping[str, Any]) -> _Scheduled | None:
        """Not where it had to stop, and there is more time now."""
        stopped, limit = kept["stopped"], self.options.seconds
        if stopped is None or (limit is not None and limit * SHARE <= stopped * LONGER):
            return _Scheduled(tuple(Trial.from_json(t) for t in kept["trials"]), stopped)
        return None

    def known(self) -> int:
        """How many of the trials are measured, or cannot be."""
        timings = [(config, FIRST) for config in self.trials]
        self.timed.recall(timings)
        return sum(t in self.timed.values for t in timings)

    def measure_all(self, most: int) -> None:
        """Batches until so many trials are known, or nothing is left."""
        while (left := most - self.known()) > 0:
            batch = self.next_batch(min(left, self.options.batch))
            if not batch or self.out_of_time():
                return
            self.timed.evaluate([(t.config, FIRST) for t in batch])
        if most == self.options.trials:
            self.stopped = ENOUGH

    def next_batch(self, size: int) -> list[Trial]:
        """The ones the simulator likes best, and a quarter spread over the rest."""
        rest = [t for t in self.trials.values() if (t.config, FIRST) not in self.timed.values]
        rest.sort(key=lambda t: (t.predicted, t.name))
        spread = size // 4 if len(rest) > size else 0
        chosen = rest[: size - spread]
        far = rest[size - spread :]
        step = max(1, len(far) // max(1, spread))
        return chosen + far[step // 2 :: step][:spread]

    def take_steps(self) -> None:
        """Single knobs of the best trial moved, those that should cost least first; from a better
        one on, its knobs. Without a measure only what the simulator tells apart becomes a trial.
        """
        left, base = self.options.steps, self.result().rows[0].trial if self.trials else None
        while base is not None:
            better = None
            for move in self.space.moves(base):
                spent = self.measure is not None and self.known() >= self.options.trials
                if left == 0 or spent or self.out_of_time():
                    return
                trial = self.space.moved(base, move)
                if trial is None or trial.config in self.trials:
                    continue
                if self.measure is None and trial.predicted == base.predicted:
                    continue
                left -= 1
                self.trials[trial.config] = trial
                self.tell(f"{trial.name}: {trial.predicted:.0f} cycles")
                if self.measure is not None:
                    self.timed.evaluate([(trial.config, FIRST)])
                if self.worth(trial) < self.worth(base):
                    better = trial
                    break
            base = better

    def worth(self, trial: Trial) -> tuple[int, float]:
        """What a trial is ranked by: its time, else what is expected of it."""
        took, error = self.timed.values.get((trial.config, FIRST), (None, ""))
        turns = [(trial.config, f"{FINAL} {n}") for n in range(self.options.rounds)]
        later = [self.timed.scores[t] for t in turns if t in self.timed.values]
        several = [ms for ms in later if ms < inf]
        if several:
            return 0, statistics.median(several)
        return (0, took) if took is not None else (2 if error else 1, trial.predicted)

    def finish(self) -> None:
        """The best few again, in rotation: single times drift with the board's power."""
        known = [r.trial for r in self.result().rows if r.milliseconds is not None]
        best = known[: self.options.finalists]
        if len(best) < 2 or self.stopped == "time limit":
            return
        for n in range(self.options.rounds):
            rotated = best[n % len(best) :] + best[: n % len(best)]
            self.timed.evaluate([(t.config, f"{FINAL} {n}") for t in rotated])

    def result(self) -> JointResult:
        """Rows ranked by time, then by prediction."""
        rows = []
        for trial in sorted(self.trials.values(), key=lambda t: (self.worth(t), t.name)):
            kind, worth = self.worth(trial)
            _, error = self.timed.values.get((trial.config, FIRST), (None, ""))
            rows.append(Row(trial=trial, milliseconds=None if kind else worth, error=error))
        return JointResult(
            kernel=self.kernel.name,
            sizes=tuple(sorted(self.sizes.items())),
            rows=tuple(rows),
            measured=any(r.milliseconds is not None for r in rows),
            shapes=self.shapes,
            scheduled=self.scheduled,
            pruned=self.pruned,
            stopped=self.stopped,
            seconds=time.monotonic() - self.begun,
        )


def _timed(measure: Measure | None, timing: _Timing) -> _Time:
    """Milliseconds, or why there are none; in any process."""
    assert measure is not None
    try:
        took = float(measure(timing[0]))
        return (took, "") if isfinite(took) else (None, f"measured {took} ms")
    except WarploomError as error:
        return None, error.what
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def _in_turn(found: Sequence[Shape]) -> Iterator[Shape]:
    """The first of every tile size, then the second of each, and so on."""
    groups: dict[object, list[Shape]] = {}
    for shape in found:
        groups.setdefault((shape.config.tile, shape.config.consumer_warpgroups), []).append(shape)
    for turn in range(max(map(len, groups.values()), default=0)):
        for group in groups.values():
            yield from group[turn : turn + 1]


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's: 1 for the same order, 0 for none; ties share their rank."""
    if len(a) < 2:
        return 0.0
    x, y = _ranks(a), _ranks(b)
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / scale if scale else 0.0


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    given = np.asarray(values, dtype=float)
    order = given.argsort(kind="stable")
    ranks = np.empty(len(given))
    ranks[order] = np.arange(len(given))
    for value in np.unique(given):
        same = given == value
        ranks[same] = ranks[same].mean()
    return ranks
