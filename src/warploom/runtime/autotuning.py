"""``kernel.benchmark(...)`` and ``wl.autotune``: times of calls, and the quickest configuration.

Both run the kernel on the caller's tensors; what is measured is the stream's time, the order of
candidates turning round by round.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warploom.errors import ConfigError, WarploomError
from warploom.frontend.tile_kernel import TileKernel
from warploom.runtime.tensors import stream_of
from warploom.runtime.tuning import rotated

Measure = Callable[[Sequence[Callable[[], object]]], Sequence[float]]
"""Milliseconds of each call."""


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
        tried: list[tuple[dict[str, object], Callable[[], object]]] = []
        said: list[str] = []
        for config in self.configs:
            pinned = self.tile_kernel.with_config(**config)

            def go(pinned: TileKernel = pinned) -> object:
                return pinned(*args, **given)

            try:
                go()
            except WarploomError as error:  # one that cannot be built
                said.append(f"{config}: {error.what}")
                continue
            tried.append((config, go))
        if not tried:
            raise ConfigError(
                f"no configuration of kernel {self.tile_kernel.name} can be built",
                where="autotune",
                why="; ".join(said),
                fix="other configurations",
            )
        measure = self._measure or _timed(args, given, self._rounds)
        times = measure([go for _, go in tried]) if len(tried) > 1 else [0.0]
        return tried[min(range(len(tried)), key=lambda i: times[i])][0]


def _again(
    tile_kernel: TileKernel,
    configs: Sequence[Mapping[str, object]],
    rounds: int,
    measure: Measure | None,
    chosen: dict[tuple[Any, ...], dict[str, object]],
) -> Autotuned:
    made = Autotuned(tile_kernel, configs, rounds=rounds, measure=measure)
    made.chosen = chosen
    return made


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
