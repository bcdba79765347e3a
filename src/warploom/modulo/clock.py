"""Limits of a whole solve, by work or by the clock: it stops there with the best it has."""

import time
from dataclasses import field

from warploom.dataclass import dataclass

WORK, TIME = "work limit", "time limit"


class OutOfTimeError(Exception):
    """The deadline has passed; never leaves this package. Says which."""


@dataclass(slots=True)
class Deadline:
    """``seconds`` from its making, and ``work`` of all questions together; None never ends."""

    seconds: float | None = None
    work: float | None = None
    spent: float = 0.0
    worked: float = 0.0  # what the questions took, without what asking them costs
    _start: float = field(default_factory=time.monotonic)

    def left(self) -> float | None:
        """Seconds that remain (0 when over), None without a limit."""
        if self.seconds is None:
            return None
        return max(0.0, self.seconds - (time.monotonic() - self._start))

    def work_left(self, most: float) -> float:
        """How much of ``most`` work a question may take."""
        return most if self.work is None else min(most, self.work - self.spent)

    def check(self) -> None:
        """Raise ``OutOfTimeError`` when nothing remains."""
        if self.work is not None and self.spent >= self.work:
            raise OutOfTimeError(WORK)
        if self.left() == 0.0:
            raise OutOfTimeError(TIME)


def stopped_by(stop: BaseException) -> str:
    """What a result says of the exception that ended its solve."""
    return "interrupt" if isinstance(stop, KeyboardInterrupt) else str(stop)
