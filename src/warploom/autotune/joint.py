"""The joint search: shapes bounded and pruned, orders simulated, trials measured.

Trials are measured in batches: the ones the simulator likes best, and a few spread over the rest.
Everything known is in a results file, so that a search that was stopped goes on where it was.
Without a measure the result is the simulator's ranking, and says so.
"""

import hashlib
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from warploom.autotune.joint_book import SCHEMA, Book
from warploom.autotune.ranks import rank_correlation
from warploom.autotune.spread import spread
from warploom.autotune.tiles import Shape, Trial, schedule, shapes
from warploom.compiler.code_digest import fingerprint
from warploom.compiler.compiled import Compiled
from warploom.compiler.disk_cache import default_cache, digest
from warploom.errors import ConfigError, WarploomError
from warploom.ir.tile import Walk
from warploom.passes.heuristics import ASSUMED, ASSUMED_UNITS
from warploom.passes.kernel_config import KernelConfig

FEWEST = 8  # measured trials from which on a rank correlation says something
LEAST = 0.5  # seconds for the order of the first shape, however short the time
SHARE = 0.2  # of the time that one shape may take
SCHEDULING = 0.5  # of the time, where the rest is for measuring

Measure = Callable[[KernelConfig], float]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointOptions:
    """How much is tried.

    ``shapes`` are scheduled, unless their bound exceeds the best prediction by more than the share
    ``margin``. ``trials`` are measured, in batches of ``batch``; then the ``finalists`` best again,
    in rotation, ``rounds`` times. ``seconds``: nothing new begins after them.
    """

    shapes: int = 12
    margin: float = 0.25
    trials: int = 40
    batch: int = 8
    finalists: int = 4
    rounds: int = 3
    programs: int = 6
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
    search = _Search(compiled, measure, options or JointOptions(), store, progress)
    search.executor, search.folder = executor, folder or default_cache()
    return search.run()


class _Search:
    def __init__(
        self,
        compiled: Compiled,
        measure: Measure | None,
        options: JointOptions,
        store: Path | str | None,
        progress: Progress | None,
    ) -> None:
        self.compiled, self.kernel = compiled, compiled.rewritten
        self.measure, self.options = measure, options
        kernel = compiled.rewritten
        known = {v.axis: ASSUMED_UNITS if v.walk is Walk.UNIT else ASSUMED for v in kernel.vars}
        self.sizes = known | compiled.sizes
        self.tell = progress or (lambda said: None)
        self.executor: Executor | None = None
        self.folder = default_cache()
        self.begun = time.monotonic()
        self.book = Book(store, self._key())
        self.trials: dict[str, Trial] = {}
        self.stopped = "everything tried"
        self.shapes = self.scheduled = self.pruned = 0

    def _key(self) -> str:
        """What results belong to: kernel, sizes, pins, and the code that emits."""
        text = (
            f"{self.kernel}|{sorted(self.sizes.items())}|{sorted(map(str, self.compiled.pinned))}"
        )
        return hashlib.sha256(f"{SCHEMA}|{fingerprint()}|{text}".encode()).hexdigest()[:24]

    def run(self) -> JointResult:
        """Enumerate, measure, and rank."""
        try:
            self.enumerate()
            if self.measure is not None:
                self.measure_all()
                self.finish()
        except KeyboardInterrupt:
            self.stopped = "interrupt"
        if not self.trials:
            raise ConfigError(
                f"nothing of kernel {self.kernel.name} could be scheduled",
                where=f"sizes {self.sizes}",
                fix="pin fewer choices, or allow more shapes",
            )
        return self.result()

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
        limit, target = self.options.seconds, self.compiled.target
        known = self.book.trials(None if limit is None else limit * SHARE)
        found = shapes(self.kernel, self.sizes, self.compiled.pinned, target, self.out_of_time)
        self.shapes = len(found)
        self.tell(f"{len(found)} shapes have a place on the chip")
        best = float("inf")
        for shape in _in_turn(found):
            if self.scheduled >= self.options.shapes or (self.trials and self.enough()):
                break
            if shape.bound > best * (1 + self.options.margin):
                self.pruned += 1
                continue
            left = None
            if limit is not None:  # one shape without an order must not take all of it
                left = max(LEAST, min(limit - time.monotonic() + self.begun, limit * SHARE))
            count = self.options.programs
            made, start = known.get(shape.config), time.monotonic()
            if made is None:
                made = tuple(
                    schedule(self.kernel, shape, self.sizes, target, programs=count, seconds=left)
                )
                over = self.out_of_time()  # then there may be more of them
                over = over or (left is not None and time.monotonic() - start >= left)
                self.book.keep_trials(shape, made, left if over else None)
            self.scheduled += 1
            self.trials |= {t.name: t for t in made}
            best = min([best, *(t.predicted for t in made)])
            self.tell(f"{shape.config.name}: {len(made)} trials, best {best:.0f} cycles")

    def measure_all(self) -> None:
        """Batches until the budget is spent or nothing is left."""
        while (left := self.options.trials - self.book.count(self.trials)) > 0:
            batch = self.next_batch(min(left, self.options.batch))
            if not batch or self.out_of_time():
                return
            for name, took, error in self.measured(batch, "first"):
                self.book.measured(name, took, error)
        self.stopped = "as many measured as asked for"

    def measured(
        self, trials: Sequence[Trial], turn: str
    ) -> Iterator[tuple[str, float | None, str]]:
        """Milliseconds of trials, or why there are none, as they are known.

        ``turn`` tells apart times of one trial that are to be taken anew.
        """
        assert self.measure is not None
        names = {digest(self.book.key, t.name, turn): t.name for t in trials}
        tasks = {key: self.trials[name].config for key, name in names.items()}
        folder = self.folder if self.executor is not None else None
        work = partial(_safely, self.measure)
        for key, (took, error) in spread(work, tasks, executor=self.executor, folder=folder):
            if took is not None:
                self.tell(f"{names[key]}: {took:.4f} ms")
            yield names[key], took, error

    def next_batch(self, size: int) -> list[Trial]:
        """The ones the simulator likes best, and a quarter spread over the rest."""
        rest = [t for t in self.trials.values() if not self.book.knows(t.name)]
        rest.sort(key=lambda t: (t.predicted, t.name))
        spread = size // 4 if len(rest) > size else 0
        chosen = rest[: size - spread]
        far = rest[size - spread :]
        step = max(1, len(far) // max(1, spread))
        return chosen + far[step // 2 :: step][:spread]

    def finish(self) -> None:
        """The best few again, in rotation: single times drift with the board's power."""
        times = [(took, n) for n in self.trials if (took := self.book.time_of(n)) is not None]
        best = [name for _, name in sorted(times)[: self.options.finalists]]
        if len(best) < 2 or self.stopped == "time limit":
            return
        found: dict[str, list[float]] = {n: [] for n in best}
        for n in range(self.options.rounds):
            rotated = best[n % len(best) :] + best[: n % len(best)]
            for name, took, _ in self.measured([self.trials[x] for x in rotated], f"final {n}"):
                found[name] += [] if took is None else [took]
        for name, several in found.items():
            if several:
                self.book.measured(name, statistics.median(several), "")

    def result(self) -> JointResult:
        """Rows ranked by time, then by prediction."""
        rows = [
            Row(trial=t, milliseconds=self.book.time_of(n), error=self.book.error_of(n))
            for n, t in self.trials.items()
        ]
        rows.sort(key=_rank)
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


def _safely(measure: Measure, config: KernelConfig) -> tuple[float | None, str]:
    """Milliseconds, or why there are none; in any process."""
    try:
        return float(measure(config)), ""
    except WarploomError as error:
        return None, error.what
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def _rank(row: Row) -> tuple[int, float, str]:
    if row.milliseconds is not None:
        return 0, row.milliseconds, row.trial.name
    return 2 if row.error else 1, row.trial.predicted, row.trial.name


def _in_turn(found: Sequence[Shape]) -> Iterator[Shape]:
    """The first of every tile size, then the second of each, and so on."""
    groups: dict[object, list[Shape]] = {}
    for shape in found:
        groups.setdefault((shape.config.tile, shape.config.consumer_warpgroups), []).append(shape)
    for turn in range(max(map(len, groups.values()), default=0)):
        for group in groups.values():
            yield from group[turn : turn + 1]
