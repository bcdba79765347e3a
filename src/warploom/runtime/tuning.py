"""Choosing by measurement: configurations timed on a call's tensors, the quickest kept.

``kernel.benchmark`` and ``wl.autotune`` take the configurations they are given, ``gemm(tune=True)``
the likely ones of the model, and keeps the quickest for later calls (``compiler.tuned``). What is
measured is the stream's time, the order of candidates turning round by round.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from warploom.compiler.cuda_driver import Timer
from warploom.compiler.remembered import remember
from warploom.dataclass import dataclass
from warploom.errors import ConfigError, WarploomError
from warploom.frontend.tile_kernel import TileKernel
from warploom.passes.kernel_config import KernelConfig
from warploom.runtime.tensors import stream_of
from warploom.search_engine import Engine, Objective

if TYPE_CHECKING:  # calls recall what was measured
    from warploom.compiler.compiled import Compiled
    from warploom.runtime.kernel_calls import Calls

ROUNDS, SLICE_MS, COUNT = 5, 8.0, 4
Measure = Callable[[Sequence[Callable[[], object]]], Sequence[float]]
"""Milliseconds of each call."""

C = TypeVar("C", KernelConfig, int)


def timed(calls: Mapping[C, Callable[[], object]], measure: Measure) -> Engine[C, float | str]:
    """Candidates that can be built, timed in turn; of others why they cannot. One alone is not
    timed.
    """

    def together(candidates: Sequence[C]) -> list[float | str]:
        refused: dict[C, str] = {}
        for candidate in candidates:
            try:
                calls[candidate]()
            except WarploomError as error:
                refused[candidate] = error.what
        able = [c for c in candidates if c not in refused]
        times = measure([calls[c] for c in able]) if len(able) > 1 else [0.0] * len(able)
        known = dict(zip(able, times, strict=True))
        return [refused[c] if c in refused else known[c] for c in candidates]

    engine: Engine[C, float | str] = Engine(
        Objective(together=together, score=lambda _, v: inf if isinstance(v, str) else v)
    )
    engine.evaluate(list(calls))
    return engine


def tune_call(
    calls: Calls,
    tensors: Sequence[Any],
    scalars: tuple[float, ...],
    options: tuple[Any, ...],
    stream: int | None,
) -> KernelConfig | None:
    """Measure the likely configs of a call and remember the quickest; None: none can be built."""
    at = stream if stream is not None else stream_of(tensors[0])()
    complete = calls.launch(tensors, scalars, options, stream)
    made = calls.compiled(complete, options)

    def launching(config: KernelConfig) -> Callable[[], object]:
        pinned = (*options[:4], config.pins)
        return lambda: calls.launch(complete, scalars, pinned, at)

    trials = {config: launching(config) for config in likely(made)}
    best = timed(trials, lambda some: rotated(some, at)).best
    if best is not None:
        remember(made.kernel, made.sizes, best)
        calls.forget()
    return best


def likely(made: Compiled, count: int = COUNT) -> tuple[KernelConfig, ...]:
    """The best few configs by estimate, the first also with two further walks."""
    ranked = [c.config for c in made.choices[:count]]
    first = ranked[0]
    more = [
        replace(first, raster_group=max(1, first.raster_group // 2)),
        replace(first, serpentine=not first.serpentine),
    ]
    return (*ranked, *more)


class StreamTimer(Protocol):
    """Milliseconds between two points of a stream, whichever driver has it."""

    def mark(self, which: int, stream: int | None) -> None:
        """Record the start (0) or the end (1)."""
        ...

    def milliseconds(self) -> float:
        """The time between the marks."""
        ...


def rotated(
    calls: Sequence[Callable[[], object]],
    stream: int | None = None,
    *,
    rounds: int = ROUNDS,
    slice_ms: float = SLICE_MS,
    timer: StreamTimer | None = None,
) -> list[float]:
    """Median milliseconds of each call; the order turns round by round, since what ran before sets
    clocks. ``timer``: of another driver than CUDA's.
    """
    timer = timer or Timer()

    def run(call: Callable[[], object], repeats: int) -> float:
        timer.mark(0, stream)
        for _ in range(repeats):
            call()
        timer.mark(1, stream)
        return timer.milliseconds() / repeats

    for call in calls:
        run(call, 2)
    repeats = [max(1, int(slice_ms / max(run(call, 3), 1e-3))) for call in calls]
    times: list[list[float]] = [[] for _ in calls]
    for r in range(rounds):
        for i in range(len(calls)):
            at = (i + r) % len(calls)
            times[at].append(run(calls[at], repeats[at]))
    return [statistics.median(t) for t in times]


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """Median milliseconds of a kernel's calls, and of what it was compared with, by name."""

    kernel: str
    milliseconds: float
    against: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        rest = "".join(
            f"; {name} {ms:.4f} ms ({ms / self.milliseconds:.2f} x)"
            for name, ms in self.against.items()
        )
        return f"{self.kernel} {self.milliseconds:.4f} ms{rest}"


def _timed(args: Sequence[Any], given: Mapping[str, Any], rounds: int) -> Measure:
    def measure(calls: Sequence[Callable[[], object]]) -> Sequence[float]:
        stream = given.get("stream")
        tensors = [x for x in (*args, *given.values()) if hasattr(x, "shape")]
        if stream is None and tensors:
            stream = stream_of(tensors[0])()
        return rotated(calls, stream, rounds=rounds)

    return measure


def benchmark(
    tile_kernel: TileKernel,
    args: Sequence[Any],
    given: Mapping[str, Any],
    *,
    against: Mapping[str, Callable[..., object]] | None = None,
    rounds: int = 5,
    measure: Measure | None = None,
) -> Benchmark:
    """``TileKernel.benchmark``."""
    others = dict(against or {})
    calls = [lambda: tile_kernel(*args, **given), *(lambda f=f: f(*args) for f in others.values())]
    calls[0]()  # compiles, and says what does not suit before anything is timed
    times = (measure or _timed(args, given, rounds))(calls)
    found = dict(zip(others, times[1:], strict=True))
    return Benchmark(kernel=tile_kernel.name, milliseconds=times[0], against=found)


class Autotuned:
    """A kernel that takes the quickest of some configurations, measured once for sizes of a call.

    ``chosen`` has what was found, by the shapes of a call's tensors.
    """

    def __init__(
        self,
        tile_kernel: TileKernel,
        configs: Sequence[Mapping[str, object]],
        *,
        rounds: int = 5,
        measure: Measure | None = None,
    ) -> None:
        listed = not isinstance(configs, str | Mapping)
        self.tile_kernel = tile_kernel
        self.configs: tuple[dict[str, object], ...] = ()
        if listed and all(isinstance(c, Mapping) for c in configs):
            self.configs = tuple(dict(c) for c in configs)
        if not self.configs:
            raise ConfigError(
                f"autotune of kernel {tile_kernel.name} without configurations",
                where="autotune",
                fix="autotune(kernel, [{'m': 64}, {'m': 128, 'stages': 4}])",
            )
        self._rounds, self._measure = rounds, measure
        self.chosen: dict[tuple[Any, ...], dict[str, object]] = {}
        self.__name__, self.__doc__, self.__wrapped__ = (
            tile_kernel.name,
            tile_kernel.__doc__,
            tile_kernel,
        )
        self.__module__ = tile_kernel.__module__

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By name where the kernel of that name is this one, as kernels are."""
        function = self.tile_kernel.function
        found: object = sys.modules.get(function.__module__)
        for part in function.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is self:
            return str(function.__qualname__)
        return _again, (self.tile_kernel, self.configs, self._rounds, self._measure, self.chosen)

    def __repr__(self) -> str:
        return f"<autotuned {self.tile_kernel!r}, {len(self.configs)} configurations>"

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (what a kernel has)
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.tile_kernel, name)

    def __call__(self, *args: Any, **given: Any) -> Any:  # noqa: ANN401 (as a kernel's)
        """Run it; the first call with tensors of these shapes measures."""
        key = tuple(
            (str(n), tuple(x.shape), str(getattr(x, "dtype", "")))
            for n, x in (*enumerate(args), *sorted(given.items()))
            if hasattr(x, "shape")
        )
        if key not in self.chosen:
            self.chosen[key] = self._quickest(args, given)
        return self.tile_kernel.with_config(**self.chosen[key])(*args, **given)

    def _quickest(self, args: Sequence[Any], given: Mapping[str, Any]) -> dict[str, object]:
        def calling(config: Mapping[str, object]) -> Callable[[], object]:
            pinned = self.tile_kernel.with_config(**config)
            return lambda: pinned(*args, **given)

        calls = {n: calling(config) for n, config in enumerate(self.configs)}
        found = timed(calls, self._measure or _timed(args, given, self._rounds))
        if found.best is None:
            raise ConfigError(
                f"no configuration of kernel {self.tile_kernel.name} can be built",
                where="autotune",
                why="; ".join(f"{self.configs[n]}: {said}" for n, said in found.values.items()),
                fix="other configurations",
            )
        return self.configs[found.best]


def _again(
    tile_kernel: TileKernel,
    configs: Sequence[Mapping[str, object]],
    rounds: int,
    measure: Measure | None,
    chosen: dict[tuple[Any, ...], dict[str, object]],
) -> Autotuned:
    result = Autotuned(tile_kernel, configs, rounds=rounds, measure=measure)
    result.chosen = chosen
    return result


def autotune(
    kernel: TileKernel | Sequence[Mapping[str, object]] | None = None,
    configs: Sequence[Mapping[str, object]] | None = None,
    *,
    rounds: int = 5,
    measure: Measure | None = None,
) -> Any:  # noqa: ANN401 (a kernel, or a decorator of one)
    """A kernel that takes the quickest of some configurations.

    As a call, ``autotune(kernel, configs)``, or over a kernel: ``@wl.autotune(configs)`` above
    ``@wl.kernel``. A configuration is what ``with_config`` takes. ``measure``: another way to time
    calls, which gives milliseconds for each of them.
    """
    if isinstance(kernel, TileKernel):
        return Autotuned(kernel, configs or (), rounds=rounds, measure=measure)
    given = (configs or ()) if kernel is None else kernel

    def decorate(tile_kernel: TileKernel) -> Autotuned:
        if not isinstance(tile_kernel, TileKernel):
            raise ConfigError(
                "autotune stands over something that is no kernel",
                where="autotune",
                fix="@warploom.autotune(configs) above @warploom.kernel",
            )
        return Autotuned(tile_kernel, given, rounds=rounds, measure=measure)

    return decorate
