"""Claims for every size by induction, on functions that change evenly.

A position is a function f(i, s) of a tile's number and a size, made of sums, products with numbers,
divisions, minima, maxima and comparisons. Let L be a common multiple of the tile extent and of all
divisors. ``deltas`` follows f along two directions from a base point (i, s): *p* periods of the
size alone, (i, s + p L), and *m* periods of both, (i + m L / E, s + m L). It answers the two
increments if f(i + m L / E, s + (p + m) L) = f(i, s) + p du + m dv for all p, m >= 0, and None
where it cannot say: minima, maxima and comparisons must keep the side they take at the point,
divisions must be of numbers >= 0 that grow by multiples of the divisor.

Base points are all tiles i of all sizes s of one period. Tile i' of a larger size s' = s + n L is
either a base tile shifted n times (i' >= n L / E), or i' = j + m L / E with j < L / E and m < n:
tile j of size s + (n - m) L, shifted m times. So all base tiles must move with the size, and the
first L / E of them must stay where they are, at j E, while the size alone grows. Then the tiles of
s' are those of s moved by n L, which cover everything from n L on, and before them whole tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm
from typing import NamedTuple

from warploom.ir.expr import (
    DIVISIONS,
    Apply,
    Binary,
    Const,
    Element,
    IntExpr,
    Op,
    Select,
    Sym,
    apply_op,
    evaluate,
)

Delta = tuple[int, int]
MOST_PERIOD = 4096


class Point(NamedTuple):
    """A value with its increments; a tuple, because a verdict makes ten thousands."""

    value: int
    delta: Delta


class _UnevenError(Exception):
    """The function does not change evenly from here."""


def deltas(expr: IntExpr, at: dict[Sym, Point]) -> Point | None:
    """Value and increments of an expression at a base point; None where they cannot be told."""
    try:
        return _of(expr, at)
    except _UnevenError:
        return None


def _of(expr: IntExpr, at: dict[Sym, Point]) -> Point:
    match expr:
        case Binary():
            return _binary(expr.op, _of(expr.a, at), _of(expr.b, at))
        case Const():
            return Point(expr.value, (0, 0))
        case Sym():
            if expr not in at:
                raise _UnevenError
            return at[expr]
        case Select():
            taken = _of(expr.condition, at)
            if taken.delta != (0, 0):
                raise _UnevenError
            return _of(expr.then if taken.value else expr.otherwise, at)
        case Apply() | Element():
            raise _UnevenError


def _binary(op: Op, a: Point, b: Point) -> Point:  # noqa: C901, PLR0911, PLR0912
    (au, av), (bu, bv) = a.delta, b.delta
    value = 0 if op in DIVISIONS and not b.value else apply_op(op, a.value, b.value)
    if op is Op.ADD:
        return Point(value, (au + bu, av + bv))
    if op is Op.SUB:
        return Point(value, (au - bu, av - bv))
    if op is Op.MUL and b.delta == (0, 0):
        return Point(value, (au * b.value, av * b.value))
    if op is Op.MUL and a.delta == (0, 0):
        return Point(value, (bu * a.value, bv * a.value))
    if op in DIVISIONS and b.delta == (0, 0) and b.value > 0:
        falls = op is not Op.FLOOR_DIV and (a.value < 0 or au < 0 or av < 0)
        if falls or au % b.value or av % b.value:
            raise _UnevenError
        return Point(value, (0, 0) if op is Op.MOD else (au // b.value, av // b.value))
    if op in (Op.MIN, Op.MAX):
        low, high = (a, b) if op is Op.MIN else (b, a)
        if low.value <= high.value and _grows_no_faster(low, high):
            return a
        if high.value <= low.value and _grows_no_faster(high, low):
            return b
        raise _UnevenError
    if op in (Op.LT, Op.LE, Op.GE, Op.EQ, Op.NE):
        if a.delta == b.delta:
            return Point(value, (0, 0))
        below = op in (Op.LT, Op.LE)
        if below == bool(value) and op in (Op.LT, Op.LE, Op.GE) and _grows_no_faster(a, b):
            return Point(value, (0, 0))
        if below != bool(value) and op in (Op.LT, Op.LE, Op.GE) and _grows_no_faster(b, a):
            return Point(value, (0, 0))
        raise _UnevenError
    if op in (Op.AND, Op.OR) and a.delta == b.delta == (0, 0):
        return Point(value, (0, 0))
    raise _UnevenError


def _grows_no_faster(a: Point, b: Point) -> bool:
    return a.delta[0] <= b.delta[0] and a.delta[1] <= b.delta[1]


def divisors(expr: IntExpr) -> Iterator[int]:
    """Numbers an expression divides by."""
    match expr:
        case Binary():
            if expr.op in DIVISIONS and isinstance(expr.b, Const) and expr.b.value > 0:
                yield expr.b.value
            yield from divisors(expr.a)
            yield from divisors(expr.b)
        case Select():
            for part in (expr.condition, expr.then, expr.otherwise):
                yield from divisors(part)
        case _:
            return


def period_of(extent: int, *exprs: IntExpr) -> int | None:
    """A common multiple of the extent and all divisors; None where it is too large to enumerate."""
    found = lcm(extent, *(d for e in exprs for d in divisors(e)))
    return found if found <= MOST_PERIOD else None


def covers_axis(  # noqa: PLR0911 (one line a fault)
    position: IntExpr, tile: Sym, length: Sym, extent: int, count: int, *, early: bool = False
) -> tuple[bool, str]:
    """Whether tiles of ``extent`` at ``position`` cover an axis of any length, and why or why not.

    ``count`` is the number of elements that one counted tile stands for (extent times cluster).
    ``early``: the first tile may begin before the axis does, so that the last one is whole; then
    all of them begin as much earlier.
    """
    period = period_of(count, position)
    if period is None:
        return False, "the period of its divisors is too long to enumerate"
    per = period // count * (count // extent)
    start = 2 * period
    for size in range(start + period):
        tiles = -(-size // count) * (count // extent)
        first = _plain(position, tile, length, 0, size) if early and tiles else 0
        if not -extent < first <= 0:
            return False, f"the first tile of size {size} begins at {first}"
        reached = first
        for i in range(tiles):
            if size >= start:
                both = {tile: Point(i, (0, per)), length: Point(size, (0, period))}
                at = deltas(position, both)
                if at is None or at.delta != (0, period):
                    return False, f"tile {i} of size {size} does not move evenly"
                begin = at.value
                longer = both | {length: Point(size, (period, period))}
                right = i * extent + first
                if i < per and deltas(position, longer) != Point(right, (0, period)):
                    return False, f"tile {i} of size {size} and larger does not begin at {right}"
            else:
                found = deltas(position, {tile: Point(i, (0, 0)), length: Point(size, (0, 0))})
                begin = (
                    found.value if found is not None else _plain(position, tile, length, i, size)
                )
            if begin < first or begin > reached:
                return False, f"elements {reached} to {begin} of size {size} lie in no tile"
            reached = max(reached, begin + extent)
        if reached < size:
            return False, f"elements from {reached} of size {size} lie in no tile"
    return True, f"sizes below {start + period} one by one, larger ones by induction over {period}"


def _plain(position: IntExpr, tile: Sym, length: Sym, i: int, size: int) -> int:
    return evaluate(position, {tile: i, length: size})


def trips_cover(trips: IntExpr, length: Sym, extent: int, least: int) -> tuple[bool, str]:
    """Whether ``trips`` steps of ``extent`` reach the end of any length, none of them needlessly.

    Where fewer than ``least`` would do, ``least`` are run; those past the end read zeros.
    """
    period = period_of(extent, trips)
    if period is None:
        return False, "the period of its divisors is too long to enumerate"
    start = period + extent * (least + 1)
    for size in range(start + period):
        here = Point(size, (period, 0) if size >= start else (0, 0))
        at = deltas(trips, {length: here})
        value = at.value if at is not None else _plain(trips, length, length, size, size)
        if value != max(-(-size // extent), least):
            return False, f"{value} steps of {extent} for {size} elements"
        if size >= start and (at is None or at.delta[0] != period // extent):
            return False, f"the number of steps does not grow evenly from size {size} on"
    return True, f"sizes below {start + period} one by one, larger ones by induction over {period}"
