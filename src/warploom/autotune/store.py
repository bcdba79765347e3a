"""What searches know, by the digest of all that a value follows from: equal keys, equal values.

``Journal`` is a file of JSON lines, appended as values come, that a search goes on from. Searches
of any kind may share one. ``SharedStore`` is the content-addressed cache: workers on several
machines write to it, through ``WARPLOOM_CACHE_REMOTE`` or a folder that all see.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from warploom.compiler.code_digest import fingerprint
from warploom.compiler.disk_cache import digest, disk_cache
from warploom.dataclass import dataclass
from warploom.errors import ConfigError

SCHEMA, KIND = "warploom.values/1", "trial"
SCHEDULING = ("pipeline", "sim", "verify", "sync", "modulo", "targets", "ir")


def space_key(subject: object, measure: object = None, *, scheduling: bool = False) -> str:
    """What values belong to: the subject as its ``repr`` says it, the code that makes programs of
    it (``scheduling``: that of counter schedules), and the measure by its name.
    """
    named = "" if measure is None else type(measure).__qualname__
    named = getattr(measure, "__qualname__", named)
    where = getattr(measure, "__module__", "") if measure is not None else ""
    code = fingerprint(*(f"warploom.{p}" for p in SCHEDULING)) if scheduling else fingerprint()
    return digest(SCHEMA, code, repr(subject), where, named)


class Journal:
    """Values in a file, or in memory without a path; a line that was cut off is passed over."""

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = None if path is None else Path(path)
        text = "" if self.path is None else _opened(self.path)
        self._cut = text != "" and not text.endswith("\n")  # so the next line begins anew
        self._rows = {r["key"]: r for line in text.splitlines() if (r := _row(line)) is not None}
        if text.strip() and not self._rows and not text.startswith('{"key"'):
            raise ConfigError(
                f"{self.path} is no results file",
                where="store",
                why="no line of it is a result",
                fix="name another",
            )

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: str) -> Any:  # noqa: ANN401
        """The value under a key; None for nothing."""
        return self._rows.get(key, {}).get("value")

    def put(self, key: str, value: Any, about: Mapping[str, Any] | None = None) -> None:  # noqa: ANN401
        """Keep a value, on disk at once."""
        row = json.dumps({"key": key, "value": value, **(about or {})})
        self._rows[key] = json.loads(row)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write("\n" * self._cut + row + "\n")
            self._cut = False

    def rows(self) -> Iterator[dict[str, Any]]:
        """All values, with what is said of their candidates."""
        yield from self._rows.values()


@dataclass(frozen=True, slots=True)
class SharedStore:
    """Values in the content-addressed cache, its local part in a folder; can be sent to workers."""

    folder: Path

    def get(self, key: str) -> Any:  # noqa: ANN401
        """What is kept under a key; None for nothing, and for anything damaged."""
        data = disk_cache(self.folder).get(KIND, key)
        return None if data is None else json.loads(data)

    def put(self, key: str, value: Any) -> None:  # noqa: ANN401
        """Keep a value."""
        disk_cache(self.folder).put(KIND, key, json.dumps(value).encode())


def _opened(path: Path) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+", errors="replace") as file:
            file.seek(0)
            return file.read()
    except OSError as error:
        raise ConfigError(
            f"cannot keep results in {path}: {error.strerror}",
            where="store",
            fix="a file that can be read and written",
        ) from None


def _row(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("key"), str) else None
