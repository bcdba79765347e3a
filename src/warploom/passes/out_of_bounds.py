"""What elements past the end of a loop are, and the numbers that leave no trace there."""

from __future__ import annotations

from enum import StrEnum

from warploom.ir.elementwise import REDUCTIONS
from warploom.ir.tile import DType


class Outside(StrEnum):
    """What elements past the end are. ``FINITE``: a number that times 0 is 0."""

    ZERO = "zero"
    ONE = "one"
    FINITE = "finite"
    LOWEST = "lowest"
    HIGHEST = "highest"
    UNKNOWN = "unknown"


LOWEST = float("-inf")
NUMBERS = {
    Outside.LOWEST: LOWEST,
    Outside.HIGHEST: -LOWEST,
    Outside.ZERO: 0.0,
    Outside.ONE: 1.0,
}
WHOLE_NUMBERS = {
    Outside.LOWEST: -(2**31),
    Outside.HIGHEST: 2**31 - 1,
    Outside.ZERO: 0,
    Outside.ONE: 1,
}
NEUTRAL = {
    fn: next(o for o, n in NUMBERS.items() if n == row.identity) for fn, row in REDUCTIONS.items()
}


def neutral(wanted: Outside, dtype: DType) -> float:
    """The number that changes no result: whole numbers have no infinities."""
    return WHOLE_NUMBERS[wanted] if dtype is DType.I32 else NUMBERS[wanted]


def known_as(number: float, dtype: DType) -> Outside:
    """What a number is known to be."""
    known = WHOLE_NUMBERS if dtype is DType.I32 else NUMBERS
    return next((o for o, n in known.items() if n == number), Outside.UNKNOWN)
