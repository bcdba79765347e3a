"""Integer values of a kernel as sums of variables and scalars, with their bounds over a tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.kernel.bounds.terms import (
    High,
    Low,
    Named,
    Number,
    Term,
    greatest,
    least,
    quotient,
    total,
)
from warploom.kernel.values import (
    Const,
    DType,
    Fn,
    Indices,
    Op,
    Pointwise,
    Position,
    Reduce,
    Spread,
    Transpose,
)


@dataclass(frozen=True, slots=True)
class Element:
    """An element of what a variable covers: any between its first and its last."""

    var: str


@dataclass(frozen=True, slots=True)
class Exact:
    """A scalar value of the kernel."""

    value: str


@dataclass(frozen=True, slots=True)
class Between:
    """A value of which only bounds are known; ``value`` tells equal ones from others."""

    value: str
    low: Term
    high: Term
    vars: frozenset[str]


Atom = Element | Exact | Between


@dataclass(frozen=True, slots=True)
class Affine:
    """A sum of atoms, each times a number, and a number."""

    parts: tuple[tuple[Atom, int], ...] = ()
    number: int = 0

    def times(self, by: int) -> Affine:
        """Each part times a number."""
        return Affine(tuple((a, f * by) for a, f in self.parts) if by else (), self.number * by)

    def plus(self, other: Affine) -> Affine:
        """The sum; parts that cancel go."""
        found: dict[Atom, int] = {}
        for atom, factor in (*self.parts, *other.parts):
            found[atom] = found.get(atom, 0) + factor
        kept = tuple((a, f) for a, f in found.items() if f)
        return Affine(kept, self.number + other.number)

    def low(self) -> Term:
        """A bound from below over the tile."""
        return self._bound(upper=False)

    def high(self) -> Term:
        """A bound from above over the tile."""
        return self._bound(upper=True)

    def _bound(self, *, upper: bool) -> Term:
        parts: list[tuple[Term, int]] = [(Number(self.number), 1)]
        for atom, factor in self.parts:
            parts.append((_end(atom, upper=upper is (factor > 0)), factor))
        return total(*parts)

    @property
    def vars(self) -> frozenset[str]:
        """The variables it moves with."""
        found: frozenset[str] = frozenset()
        for atom, _ in self.parts:
            if isinstance(atom, Element):
                found |= {atom.var}
            elif isinstance(atom, Between):
                found |= atom.vars
        return found


def _end(atom: Atom, *, upper: bool) -> Term:
    match atom:
        case Element():
            return High(atom.var) if upper else Low(atom.var)
        case Exact():
            return Named(atom.value)
        case Between():
            return atom.high if upper else atom.low


def affine(made: Mapping[str, Op], name: str) -> Affine | None:  # noqa: PLR0911 (one a kind)
    """An integer value as a sum; None where nothing is known about it."""
    op = made.get(name)
    match op:
        case Const() if op.result.dtype is DType.I32:
            return Affine(number=int(op.value))
        case Indices():
            return Affine(((Element(op.var), 1),))
        case Position():
            return Affine(((Exact(name), 1),))
        case Spread() | Transpose():
            return affine(made, op.arg)
        case Reduce() if op.fn in (Fn.MAX, Fn.MIN):
            return _reduced(made, op)
        case Pointwise() if op.result.dtype is DType.I32:
            found = _pointwise(made, op)
            if found is not None:
                return found
    result = getattr(op, "result", None)
    if result is not None and not result.dims and result.dtype is DType.I32:
        return Affine(((Exact(name), 1),))
    return None


def _reduced(made: Mapping[str, Op], op: Reduce) -> Affine | None:
    """``index(s).max()`` is the last element of s."""
    arg = affine(made, op.arg)
    if arg is None or op.result.dtype is not DType.I32:
        return None
    low = High if op.fn is Fn.MAX else Low
    exact = [(a, f) for a, f in arg.parts if a == Element(op.over) and f == 1]
    rest = Affine(tuple((a, f) for a, f in arg.parts if a != Element(op.over)), arg.number)
    if len(exact) == 1 and op.over not in rest.vars:
        end: Term = low(op.over)
        return rest.plus(Affine(((Between(op.result.name, end, end, frozenset()), 1),)))
    return Affine(((Between(op.result.name, arg.low(), arg.high(), rest.vars), 1),))


def _pointwise(made: Mapping[str, Op], op: Pointwise) -> Affine | None:
    args = [affine(made, a) for a in op.args if op.fn is not Fn.WHERE]
    if op.fn is Fn.WHERE:
        args = [affine(made, a) for a in op.args[1:]]
    known = [a for a in args if a is not None]
    if len(known) < len(args):
        return None
    match op.fn, known:
        case Fn.ADD, [a, b]:
            return a.plus(b)
        case Fn.SUB, [a, b]:
            return a.plus(b.times(-1))
        case Fn.NEG, [a]:
            return a.times(-1)
        case Fn.MUL, [a, b] if not a.parts or not b.parts:
            return b.times(a.number) if not a.parts else a.times(b.number)
        case _:
            return _between(op, known)


def _between(op: Pointwise, args: list[Affine]) -> Affine | None:
    """Bounds of what is no sum."""
    moved = frozenset[str]().union(*(a.vars for a in args))
    match op.fn, args:
        case Fn.FLOORDIV, [a, b] if not b.parts and b.number > 0:
            low, high = quotient(a.low(), b.number), quotient(a.high(), b.number)
        case Fn.MOD, [_, b] if not b.parts and b.number > 0:
            low, high = Number(0), Number(b.number - 1)
        case Fn.MIN, [a, b]:
            low, high = least(a.low(), b.low()), least(a.high(), b.high())
        case Fn.MAX, [a, b]:
            low, high = greatest(a.low(), b.low()), greatest(a.high(), b.high())
        case Fn.WHERE, [a, b]:
            low, high = least(a.low(), b.low()), greatest(a.high(), b.high())
        case Fn.ABS, [a]:
            minus = a.times(-1)
            low = greatest(a.low(), minus.low(), Number(0))
            high = greatest(a.high(), minus.high())
        case _:
            return None
    return Affine(((Between(op.result.name, low, high, moved), 1),))
