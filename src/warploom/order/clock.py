"""Wall-clock limits: an anytime search stops at its deadline with the best it has."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


class OutOfTimeError(Exception):
    """The deadline has passed; never leaves the room."""


@dataclass(slots=True)
class Deadline:
    """``seconds`` from its making; None never ends."""

    seconds: float | None = None
    _start: float = field(default_factory=time.monotonic)

    def left(self) -> float | None:
        """Seconds that remain (0 when over), None without a limit."""
        if self.seconds is None:
            return None
        return max(0.0, self.seconds - (time.monotonic() - self._start))

    def check(self) -> None:
        """Raise ``OutOfTimeError`` when nothing remains."""
        if self.left() == 0.0:
            raise OutOfTimeError


def stopped_by(stop: BaseException) -> str:
    """What a result says of the exception that ended its solve."""
    return "interrupt" if isinstance(stop, KeyboardInterrupt) else "time limit"
