"""Scores on disk: one JSON line each, appended as they come, so that a search can be resumed."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any

from warploom.autotune.journal import Lines
from warploom.modulo.local_search import Evaluate, Task
from warploom.modulo.sequence import Program
from warploom.modulo.starts import Start

SCHEMA = "warploom.search/2"
RESUMED = 8


def digest_of(subject: object, measure: Callable[..., float] | None) -> str:
    """What scores belong to: the priced body and machine, and the measure by its name."""
    name = "" if measure is None else getattr(measure, "__qualname__", type(measure).__qualname__)
    return hashlib.sha256(f"{SCHEMA}|{subject!r}|{name}".encode()).hexdigest()[:24]


class Scores:
    """Known scores of one subject; without a path they live in memory only."""

    def __init__(self, path: Path | str | None, key: str) -> None:
        self.lines, self.key = None if path is None else Lines(path), key
        self.known: dict[Task, float] = {}
        for data in self.lines.known if self.lines else ():
            self._read(data)

    def _read(self, data: Mapping[str, Any]) -> None:
        try:
            if data["key"] != self.key:
                return
            program = Program(tuple(data["sequence"]), tuple(data["depths"]))
            score = inf if data["score"] is None else float(data["score"])
            self.known[Task(program, int(data["effort"]))] = score
        except (ValueError, KeyError, TypeError):
            return

    def best_programs(self) -> list[Start]:
        """The best known orders, as starts of the search that goes on."""
        good = [(s, t.program) for t, s in self.known.items() if isfinite(s)]
        good.sort(key=lambda item: (item[0], item[1].sequence))
        programs = list(dict.fromkeys(p for _, p in good))[:RESUMED]
        return [(f"resumed {i + 1}", p) for i, p in enumerate(programs)]

    def through(self, evaluate: Evaluate) -> Evaluate:
        """The evaluation, asked only for what is not known yet."""

        def looked_up(tasks: Sequence[Task]) -> list[float]:
            missing = [t for t in tasks if t not in self.known]
            for task, score in zip(missing, evaluate(missing) if missing else (), strict=True):
                self._add(task, float(score))
            return [self.known[t] for t in tasks]

        return looked_up

    def _add(self, task: Task, score: float) -> None:
        self.known[task] = score
        if self.lines is None:
            return
        row = {
            "key": self.key,
            "sequence": task.program.sequence,
            "depths": task.program.depths,
            "effort": task.effort,
            "score": score if isfinite(score) else None,
        }
        self.lines.add(row)
