"""Choosing by measurement: run the likely kernels on the caller's tensors and keep the quickest.

Results are kept on disk beside the compiled kernels, so ``gemm`` uses them from then on.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from warploom.hopper.energy import Shape
from warploom.hopper.kernel import Dtype, Epilogue
from warploom.launch.build import default_cache
from warploom.launch.choose import candidates, estimate, group_for
from warploom.launch.driver import Timer
from warploom.launch.launch import Choice
from warploom.launch.shipped import SHIPPED

ROUNDS, SLICE_MS = 5, 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A choice and its median milliseconds."""

    choice: Choice
    milliseconds: float


def likely(shape: Shape, out: Dtype, epilogue: Epilogue, count: int = 4) -> Iterator[Choice]:
    """The best few kernels by estimate, each with two tile orders, the first also serpentine."""
    pool = candidates(shape.dtype, out, epilogue)
    ranked = sorted(pool, key=lambda k: estimate(k, shape).seconds)[:count]
    for rank, kernel in enumerate(ranked):
        group = group_for(kernel)
        yield Choice(kernel=kernel, group=group)
        yield Choice(kernel=kernel, group=max(1, group // 2))
        if rank == 0:
            yield Choice(kernel=replace(kernel, serpentine=True), group=group)


def measure(
    options: list[tuple[Choice, Callable[[int | None], None]]], stream: int | None
) -> tuple[Measured, ...]:
    """Time every option in rotating order; quickest first."""
    timer = Timer()

    def run(launch: Callable[[int | None], None], repeats: int) -> float:
        timer.mark(0, stream)
        for _ in range(repeats):
            launch(stream)
        timer.mark(1, stream)
        return timer.milliseconds() / repeats

    repeats = [max(1, int(SLICE_MS / max(run(go, 3), 1e-3))) for _, go in options]
    times: list[list[float]] = [[] for _ in options]
    for r in range(ROUNDS):
        for i in range(len(options)):
            at = (i + r) % len(options)
            times[at].append(run(options[at][1], repeats[at]))
    found = [
        Measured(choice=choice, milliseconds=statistics.median(t))
        for (choice, _), t in zip(options, times, strict=True)
    ]
    return tuple(sorted(found, key=lambda m: m.milliseconds))


def remember(
    shape: Shape, out: Dtype, epilogue: Epilogue, choice: Choice, folder: Path | None = None
) -> None:
    """Keep a choice for later calls with the same shape, types and epilogue."""
    path = _path(folder)
    known = _read(path)
    known[_key(shape, out, epilogue)] = {
        "kernel": choice.kernel.name,
        "serpentine": choice.kernel.serpentine,
        "group": choice.group,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    recall.cache_clear()


@cache
def recall(
    shape: Shape, out: Dtype, epilogue: Epilogue, folder: Path | None = None
) -> Choice | None:
    """The remembered choice, if there is one and its kernel still ships."""
    kept = _read(_path(folder)).get(_key(shape, out, epilogue))
    if not isinstance(kept, dict):
        return None
    base = next((k for k in SHIPPED if k.name == kept.get("kernel")), None)
    group = kept.get("group")
    if base is None or not isinstance(group, int):
        return None
    kernel = replace(
        base,
        dtype=shape.dtype,
        out=out,
        epilogue=epilogue,
        serpentine=bool(kept.get("serpentine")),
    )
    return Choice(kernel=kernel, group=max(1, group))


def _path(folder: Path | None) -> Path:
    return (folder or default_cache()) / "tuned.json"


def _read(path: Path) -> dict[str, object]:
    """A damaged or missing file is no knowledge, never an error."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _key(shape: Shape, out: Dtype, epilogue: Epilogue) -> str:
    extra = f"{'s' if epilogue.scale else ''}{'b' if epilogue.bias else ''}{epilogue.activation}"
    return f"{shape.m}x{shape.n}x{shape.k} {shape.dtype} {out} {extra}"
