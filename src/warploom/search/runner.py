"""Running a sweep: through any executor, with results kept on disk as they come."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from warploom.search.space import Outcome, Point, Sweep, evaluate

Progress = Callable[[int, int], None]
_RANK = {"clean": 0, "timing": 1, "race": 2, "refused": 3}


class Cache:
    """Outcomes by content hash, one JSON line each, appended as they are known.

    A line cut off by a killed process is ignored and computed again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Outcome] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            self._read()

    def _read(self) -> None:
        for line in self.path.read_text().splitlines():
            try:
                data = json.loads(line)
                self._known[data["key"]] = outcome_from_json(data["outcome"])
            except (ValueError, KeyError, TypeError):
                continue

    def get(self, point: Point) -> Outcome | None:
        """The outcome of a point, if known."""
        return self._known.get(point.key())

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome, on disk at once."""
        key = outcome.point.key()
        self._known[key] = outcome
        with self.path.open("a") as file:
            file.write(json.dumps({"key": key, "outcome": asdict(outcome)}) + "\n")


def outcome_from_json(data: dict[str, Any]) -> Outcome:
    """An outcome from its JSON form."""
    point = data["point"] | {"tile": tuple(data["point"]["tile"])}
    return Outcome(**(data | {"point": Point(**point)}))


def explore(
    sweep: Sweep | Sequence[Point],
    *,
    executor: Executor | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Evaluate every point, cached ones without work; the result is in the sweep's order."""
    points = list(sweep.points() if isinstance(sweep, Sweep) else sweep)
    found = {p: known for p in points if cache and (known := cache.get(p))}
    missing = [p for p in points if p not in found]
    done = len(points) - len(missing)
    tell = progress or (lambda done, total: None)
    tell(done, len(points))
    for outcome in _evaluated(missing, executor):
        found[outcome.point] = outcome
        if cache:
            cache.add(outcome)
        done += 1
        tell(done, len(points))
    return [found[p] for p in points]


def _evaluated(points: Sequence[Point], executor: Executor | None) -> Iterable[Outcome]:
    if executor is None:
        yield from map(evaluate, points)
        return
    futures: list[Future[Outcome]] = [executor.submit(evaluate, p) for p in points]
    try:
        for future in _completed(futures):
            yield future.result()
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def _completed(futures: Sequence[Future[Outcome]]) -> Iterable[Future[Outcome]]:
    """Futures as they finish; other executors' futures may only be waited for in order."""
    if all(isinstance(f, Future) for f in futures):
        return as_completed(futures)
    return futures


def ranked(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Clean first, then by cycles per K-tile of equal work, then by waits; ties by key."""

    def order(outcome: Outcome) -> tuple[float, float, int, str]:
        bm, bn, bk = outcome.point.tile
        cycles = outcome.cycles_per_tile
        per_flop = float("inf") if cycles is None else cycles / (bm * bn * bk)
        return (
            _RANK.get(outcome.verdict, 9),
            per_flop,
            outcome.waits or 0,
            outcome.point.key(),
        )

    return sorted(outcomes, key=order)
