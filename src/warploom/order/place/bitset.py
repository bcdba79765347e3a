"""Free time of a unit modulo II as one integer of II bits: bit p set means cycle p is free."""

from __future__ import annotations


def rotate(bits: int, by: int, ii: int) -> int:
    """Move every bit ``by`` places up, around the circle of II bits."""
    by %= ii
    if not by:
        return bits
    return ((bits << by) | (bits >> (ii - by))) & ((1 << ii) - 1)


def span(start: int, cycles: int, ii: int) -> int:
    """The cycles ``start .. start + cycles - 1`` modulo II."""
    return rotate((1 << cycles) - 1, start, ii)


def free_starts(free: int, cycles: int, ii: int) -> int:
    """Bit p set iff ``cycles`` cycles from p on are all free; log2(cycles) rotate-ands."""
    runs, have = free, 1
    while have < cycles:
        step = min(have, cycles - have)
        runs &= rotate(runs, ii - step, ii)
        have += step
    return runs


def every(step: int, ii: int) -> int:
    """Multiples of ``step`` (which divides II)."""
    bits, have = 1, step
    while have < ii:
        bits |= bits << have
        have *= 2
    return bits & ((1 << ii) - 1)


def first_in(bits: int, low: int, high: int, ii: int, *, late: bool) -> int | None:
    """The first (last, when ``late``) time in ``low .. high`` whose phase bit is set."""
    if high < low:
        return None
    window = rotate(bits, -low, ii) & ((1 << min(high - low + 1, ii)) - 1)
    if not window:
        return None
    return low + (window.bit_length() - 1 if late else (window & -window).bit_length() - 1)
