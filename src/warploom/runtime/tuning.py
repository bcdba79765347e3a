"""Choosing by measurement: run the likely configs on the caller's tensors and keep the quickest.

Results are kept on disk beside the compiled kernels, so that calls use them from then on.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from warploom.compiler.cuda_driver import Timer
from warploom.compiler.disk_cache import digest, disk_cache
from warploom.dataclass import dataclass
from warploom.errors import WarploomError
from warploom.ir.tile import Kernel
from warploom.passes.kernel_config import KernelConfig
from warploom.runtime.tensors import stream_of

if TYPE_CHECKING:  # calls recall what was measured
    from warploom.compiler.compiled import Compiled
    from warploom.runtime.kernel_calls import Calls

ROUNDS, SLICE_MS, COUNT = 5, 8.0, 4
Pins = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A config and its median milliseconds."""

    config: KernelConfig
    milliseconds: float


def tune_call(
    calls: Calls,
    tensors: Sequence[Any],
    scalars: tuple[float, ...],
    options: tuple[Any, ...],
    stream: int | None,
) -> tuple[Measured, ...]:
    """Measure the likely configs of a call and remember the quickest; quickest first."""
    at = stream if stream is not None else stream_of(tensors[0])()
    complete = calls.launch(tensors, scalars, options, stream)
    made = calls.compiled(complete, options)
    trials: list[tuple[KernelConfig, Callable[[], object]]] = []
    for config in likely(made):
        pinned = (*options[:4], config.pins)

        def go(pinned: tuple[Any, ...] = pinned) -> object:
            return calls.launch(complete, scalars, pinned, at)

        try:
            go()
        except WarploomError:  # one that cannot be built
            continue
        trials.append((config, go))
    found = measure(trials, at)
    remember(made.kernel, made.sizes, found[0].config)
    calls.forget()
    return found


def likely(made: Compiled, count: int = COUNT) -> tuple[KernelConfig, ...]:
    """The best few configs by estimate, the first also with two further walks."""
    ranked = [c.config for c in made.choices[:count]]
    first = ranked[0]
    more = [
        replace(first, raster_group=max(1, first.raster_group // 2)),
        replace(first, serpentine=not first.serpentine),
    ]
    return (*ranked, *more)


def measure(
    options: Sequence[tuple[KernelConfig, Callable[[], object]]], stream: int | None
) -> tuple[Measured, ...]:
    """Time every option in rotating order; quickest first."""
    times = rotated([go for _, go in options], stream)
    found = [Measured(config=t, milliseconds=ms) for (t, _), ms in zip(options, times, strict=True)]
    return tuple(sorted(found, key=lambda m: m.milliseconds))


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


def remember(
    kernel: Kernel, sizes: Mapping[str, int], config: KernelConfig, folder: Path | None = None
) -> None:
    """Keep a config for later calls of the same kernel on the same sizes."""
    data = json.dumps({"kernel": kernel.name, "sizes": dict(sizes), "config": dict(config.pins)})
    disk_cache(folder).put("tuned", _key(kernel, sizes), data.encode())


def recall(kernel: Kernel, sizes: Mapping[str, int], folder: Path | None = None) -> Pins:
    """What is remembered, as pins; nothing if there is none."""
    data = disk_cache(folder).get("tuned", _key(kernel, sizes))
    try:
        kept = json.loads(data or b"{}").get("config", {})
        return tuple((n, tuple(v) if isinstance(v, list) else v) for n, v in kept.items())
    except (ValueError, AttributeError):
        return ()


def _key(kernel: Kernel, sizes: Mapping[str, int]) -> str:
    return digest(str(kernel), kernel.name, *sorted(sizes.items()))
