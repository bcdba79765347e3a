"""The results file of a joint search: shapes with their trials, and times by the trial's name."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from warploom.autotune.tiles import Shape, Trial
from warploom.compiler.disk_cache import write_whole
from warploom.errors import ConfigError
from warploom.passes.kernel_config import KernelConfig

SCHEMA = "warploom.tiles/3"
LONGER = 1.5  # from how much more time on a search that was stopped is worth another try


class Book:
    """Trials and times of one search; in memory only without a path.

    A file that is damaged, or of another kernel, sizes or version, is refused rather than lost.
    """

    def __init__(self, path: Path | str | None, key: str) -> None:
        self.path, self.key = None if path is None else Path(path), key
        self.data: dict[str, Any] = {"schema": SCHEMA, "key": key, "shapes": [], "times": {}}
        if self.path is None or not self.path.exists():
            return
        try:
            found = json.loads(self.path.read_text())
            same = found["schema"] == SCHEMA and found["key"] == key
        except (ValueError, KeyError, TypeError):
            raise ConfigError(
                f"{path} is no results file", where="store", fix="name another"
            ) from None
        if not same:
            raise ConfigError(
                f"{path} belongs to another search",
                where="store",
                why="the kernel, the sizes, what is pinned or this package differ",
                fix="name another file, or delete it",
            )
        self.data = found

    def trials(self, seconds: float | None) -> dict[KernelConfig, tuple[Trial, ...]]:
        """What was scheduled before, by shape; not what had to stop sooner than ``seconds``."""
        return {
            _config(row["shape"]): tuple(_trial(t) for t in row["trials"])
            for row in self.data["shapes"]
            if "stopped" not in row or (seconds is not None and seconds <= row["stopped"] * LONGER)
        }

    def keep_trials(self, shape: Shape, made: Sequence[Trial], stopped: float | None) -> None:
        """Keep a scheduled shape; ``stopped``: the seconds after which it had to, if it had to."""
        pins = json.loads(json.dumps(dict(shape.config.pins)))
        row = {"shape": pins, "trials": [_plain(t) for t in made]}
        if stopped is not None:
            row["stopped"] = stopped
        rest = [r for r in self.data["shapes"] if r["shape"] != pins]
        self.data["shapes"] = [*rest, row]
        self._write()

    def knows(self, name: str) -> bool:
        """Whether a trial was measured, or could not be."""
        return name in self.data["times"]

    def count(self, trials: Mapping[str, Trial]) -> int:
        """How many of the trials are known."""
        return sum(n in self.data["times"] for n in trials)

    def time_of(self, name: str) -> float | None:
        """Milliseconds."""
        found: float | None = self.data["times"].get(name, {}).get("ms")
        return found

    def error_of(self, name: str) -> str:
        """Why there is no time."""
        return str(self.data["times"].get(name, {}).get("error", ""))

    def measured(self, name: str, took: float | None, error: str) -> None:
        """Keep a time."""
        self.data["times"][name] = (
            {"ms": took} if took is not None else {"ms": None, "error": error}
        )
        self._write()

    def _write(self) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, (json.dumps(self.data, indent=1) + "\n").encode())


def _plain(trial: Trial) -> dict[str, object]:
    return {
        "config": dict(trial.config.pins),
        "bound": trial.bound,
        "predicted": trial.predicted,
    }


def _trial(data: Mapping[str, Any]) -> Trial:
    return Trial(
        config=_config(data["config"]),
        bound=float(data["bound"]),
        predicted=float(data["predicted"]),
    )


def _config(pins: Mapping[str, Any]) -> KernelConfig:
    """A config from its pins, which are extents first."""
    names = set(KernelConfig.__dataclass_fields__)
    extents = tuple((n, int(v)) for n, v in pins.items() if n not in names)
    rest: dict[str, Any] = {
        n: tuple(v) if isinstance(v, list) else v for n, v in pins.items() if n in names
    }
    return replace(KernelConfig(tile=extents), **rest)
