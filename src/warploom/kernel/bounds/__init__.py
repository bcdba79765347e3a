"""Where a condition over indices holds: for all, for some, or for no element of a tile.

``visible`` predicates, edges and windows are conditions over sums of indices, sizes and numbers.
``may`` and ``must`` give, in terms of the first and last elements of the variables, when a tile
holds some element for which the condition can be true, and when it is true for all. ``reach`` gives
the stretch of one variable outside of which it is never true (or inside of which it always is).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from warploom.kernel.bounds.affine import Affine, Between, Element, affine
from warploom.kernel.bounds.terms import (
    All,
    Any,
    Condition,
    NotAbove,
    Number,
    Place,
    Spelling,
    Term,
    Truth,
    both,
    condition_in_c,
    either,
    greatest,
    holds_at,
    least,
    not_above,
    plus,
    quotient,
    term_at,
    term_in_c,
    total,
)
from warploom.kernel.rewrite import definitions
from warploom.kernel.values import Const, DType, Fn, Kernel, Op, Pointwise, Spread, Transpose

__all__ = [
    "Certainty",
    "Condition",
    "Place",
    "Reach",
    "Spelling",
    "Term",
    "condition_in_c",
    "decide",
    "holds_at",
    "may",
    "must",
    "reach",
    "term_at",
    "term_in_c",
]

_COMPARE = {Fn.LT, Fn.LE, Fn.GT, Fn.GE, Fn.EQ, Fn.NE}
_OPPOSITE = {Fn.LT: Fn.GE, Fn.LE: Fn.GT, Fn.GT: Fn.LE, Fn.GE: Fn.LT, Fn.EQ: Fn.NE, Fn.NE: Fn.EQ}


class Certainty(StrEnum):
    """How a condition stands over a tile."""

    ALWAYS = "always"
    NEVER = "never"
    MIXED = "mixed"


def may(kernel: Kernel, condition: str) -> Condition:
    """True for every tile that holds an element for which the condition is true."""
    return _some(definitions(kernel.ops), condition, yes=True)


def must(kernel: Kernel, condition: str) -> Condition:
    """True only for tiles for all of whose elements the condition is true."""
    return _every(definitions(kernel.ops), condition, yes=True)


def decide(kernel: Kernel, condition: str, place: Place) -> Certainty:
    """How a condition stands over one tile; MIXED where the bounds do not tell."""
    if holds_at(must(kernel, condition), place):
        return Certainty.ALWAYS
    return Certainty.MIXED if holds_at(may(kernel, condition), place) else Certainty.NEVER


def _some(made: Mapping[str, Op], name: str, *, yes: bool) -> Condition:
    """When the condition (``yes``) or its opposite may hold somewhere."""
    op = made.get(name)
    match op:
        case Const() if op.result.dtype is DType.BOOL:
            return Truth(bool(op.value) is yes)
        case Spread() | Transpose():
            return _some(made, op.arg, yes=yes)
        case Pointwise(fn=Fn.NOT):
            return _some(made, op.args[0], yes=not yes)
        case Pointwise(fn=Fn.AND | Fn.OR):
            parts = [_some(made, a, yes=yes) for a in op.args]
            return both(*parts) if (op.fn is Fn.AND) is yes else either(*parts)
        case Pointwise() if op.fn in _COMPARE:
            return _compared(made, op, yes=yes)
        case _:
            return Truth(True)


def _every(made: Mapping[str, Op], name: str, *, yes: bool) -> Condition:
    """When the condition (``yes``) or its opposite holds everywhere: its contrary holds nowhere."""
    return _negated(_some(made, name, yes=not yes))


def _negated(condition: Condition) -> Condition:
    match condition:
        case Truth():
            return Truth(not condition.value)
        case NotAbove():
            return not_above(plus(condition.right, 1), condition.left)
        case All():
            return either(*(_negated(a) for a in condition.args))
        case Any():
            return both(*(_negated(a) for a in condition.args))


def _compared(made: Mapping[str, Op], op: Pointwise, *, yes: bool) -> Condition:  # noqa: PLR0911
    gap = _gap(made, op)
    if gap is None:
        return Truth(True)
    zero = Number(0)
    match op.fn if yes else _OPPOSITE[op.fn]:
        case Fn.LE:
            return not_above(gap.low(), zero)
        case Fn.LT:
            return not_above(plus(gap.low(), 1), zero)
        case Fn.GE:
            return not_above(zero, gap.high())
        case Fn.GT:
            return not_above(Number(1), gap.high())
        case Fn.EQ:
            return both(not_above(gap.low(), zero), not_above(zero, gap.high()))
        case _:
            return either(not_above(plus(gap.low(), 1), zero), not_above(Number(1), gap.high()))


def _gap(made: Mapping[str, Op], op: Pointwise) -> Affine | None:
    """Left minus right of a comparison of integers."""
    left, right = (affine(made, a) for a in op.args)
    return None if left is None or right is None else left.plus(right.times(-1))


@dataclass(frozen=True, slots=True)
class Reach:
    """A stretch of a variable's elements, both ends included; None: no bound on that side."""

    first: Term | None = None
    last: Term | None = None


_NOWHERE = Reach(Number(1), Number(0))


def reach(kernel: Kernel, condition: str, var: str, *, certain: bool = False) -> Reach:
    """The elements of ``var`` that matter, for a tile of the other variables.

    Outside of it the condition is false for all elements of the tile; ``certain``: inside of it
    it is true for all.
    """
    return _reach(definitions(kernel.ops), condition, var, yes=True, certain=certain)


def _reach(  # noqa: PLR0911 (one a kind of condition)
    made: Mapping[str, Op], name: str, var: str, *, yes: bool, certain: bool
) -> Reach:
    op = made.get(name)
    unknown = _NOWHERE if certain else Reach()
    match op:
        case Const() if op.result.dtype is DType.BOOL:
            return Reach() if bool(op.value) is yes else _NOWHERE
        case Spread() | Transpose():
            return _reach(made, op.arg, var, yes=yes, certain=certain)
        case Pointwise(fn=Fn.NOT):
            return _reach(made, op.args[0], var, yes=not yes, certain=certain)
        case Pointwise(fn=Fn.AND | Fn.OR):
            parts = [_reach(made, a, var, yes=yes, certain=certain) for a in op.args]
            if (op.fn is Fn.AND) is yes:
                return _meet(parts)
            return parts[0] if certain else _hull(parts)
        case Pointwise() if op.fn in _COMPARE:
            gap = _gap(made, op)
            if gap is None or _hidden(gap, var):
                return unknown
            return _solved(gap, op.fn if yes else _OPPOSITE[op.fn], var, certain=certain)
        case _:
            return unknown


def _hidden(gap: Affine, var: str) -> bool:
    """Whether the variable stands inside something that is no sum."""
    return any(isinstance(a, Between) and var in a.vars for a, _ in gap.parts)


def _meet(parts: list[Reach]) -> Reach:
    firsts = [p.first for p in parts if p.first is not None]
    lasts = [p.last for p in parts if p.last is not None]
    return Reach(
        greatest(*firsts) if firsts else None,
        least(*lasts) if lasts else None,
    )


def _hull(parts: list[Reach]) -> Reach:
    """The least stretch around all; parts that are nowhere do not count."""
    parts = [p for p in parts if p != _NOWHERE]
    if not parts:
        return _NOWHERE
    firsts, lasts = [p.first for p in parts], [p.last for p in parts]
    return Reach(
        least(*(f for f in firsts if f is not None)) if None not in firsts else None,
        greatest(*(x for x in lasts if x is not None)) if None not in lasts else None,
    )


def _solved(gap: Affine, fn: Fn, var: str, *, certain: bool) -> Reach:
    """The stretch of ``var`` where ``gap fn 0``."""
    factor = next((f for a, f in gap.parts if a == Element(var)), 0)
    rest = Affine(tuple((a, f) for a, f in gap.parts if a != Element(var)), gap.number)
    match fn:
        case Fn.LE:
            return _below(rest, factor, certain=certain)
        case Fn.LT:
            return _below(rest.plus(Affine(number=1)), factor, certain=certain)
        case Fn.GE:
            return _below(rest.times(-1), -factor, certain=certain)
        case Fn.GT:
            return _below(rest.times(-1).plus(Affine(number=1)), -factor, certain=certain)
        case Fn.EQ:
            return _meet(
                [
                    _below(rest, factor, certain=certain),
                    _below(rest.times(-1), -factor, certain=certain),
                ]
            )
        case _:
            return _NOWHERE if certain else Reach()


def _below(rest: Affine, factor: int, *, certain: bool) -> Reach:
    """Where ``factor * var + rest <= 0``: for the worst rest if certain, for the best else."""
    worst = rest.high() if certain else rest.low()
    minus = total((worst, -1))
    if factor > 0:
        return Reach(last=quotient(minus, factor))
    if factor < 0:  # var >= rest / -factor, rounded up
        return Reach(first=total((quotient(minus, -factor), -1)))
    met = not_above(worst, Number(0))
    if isinstance(met, Truth):
        return Reach() if met.value else _NOWHERE
    # Whether it holds does not depend on var: all of it, or nothing.
    return _NOWHERE if certain else Reach()
