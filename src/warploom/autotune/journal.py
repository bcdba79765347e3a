"""A file of JSON lines, appended as they come, so that what was stopped can be resumed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warploom.errors import ConfigError


class Lines:
    """``known``: the objects of the file; a line cut off by a killed process is passed over."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+", errors="replace") as file:
                file.seek(0)
                text = file.read()
        except OSError as error:
            raise ConfigError(
                f"cannot keep results in {self.path}: {error.strerror}",
                where="store",
                fix="a file that can be read and written",
            ) from None
        self._cut = text != "" and not text.endswith("\n")  # so the next line begins anew
        self.known = [row for line in text.splitlines() if isinstance(row := _read(line), dict)]

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a line."""
        with self.path.open("a") as file:
            file.write("\n" * self._cut + json.dumps(row) + "\n")
        self._cut = False


def _read(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None
