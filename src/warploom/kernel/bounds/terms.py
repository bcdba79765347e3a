"""Small integer expressions and conditions about a tile, to be evaluated or printed as C.

They speak of the first and last element a variable covers (``Low``, ``High``; both exist), and of
scalar values of the kernel (``Named``: sizes, parameters, loaded lengths).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Number:
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Low:
    """The first element a variable covers."""

    var: str


@dataclass(frozen=True, slots=True)
class High:
    """The last element a variable covers."""

    var: str


@dataclass(frozen=True, slots=True)
class Named:
    """A scalar value of the kernel."""

    value: str


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of products of a term and a number."""

    terms: tuple[tuple[Term, int], ...]


@dataclass(frozen=True, slots=True)
class Least:
    """The least of some terms."""

    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Greatest:
    """The greatest of some terms."""

    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Quotient:
    """A term divided by a positive number, rounded down."""

    arg: Term
    by: int


Term = Number | Low | High | Named | Sum | Least | Greatest | Quotient


@dataclass(frozen=True, slots=True)
class Truth:
    """A condition that is known."""

    value: bool


@dataclass(frozen=True, slots=True)
class NotAbove:
    """``left <= right``."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class All:
    """All of some conditions."""

    args: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """One of some conditions at least."""

    args: tuple[Condition, ...]


Condition = Truth | NotAbove | All | Any


def total(*parts: tuple[Term, int]) -> Term:
    """A sum, its numbers added up."""
    constant = 0
    terms: dict[Term, int] = {}
    for term, times in parts:
        inner = term.terms if isinstance(term, Sum) else ((term, 1),)
        for part, factor in inner:
            if isinstance(part, Number):
                constant += part.value * factor * times
            else:
                terms[part] = terms.get(part, 0) + factor * times
    kept = tuple((t, f) for t, f in terms.items() if f)
    if not kept:
        return Number(constant)
    if not constant and len(kept) == 1 and kept[0][1] == 1:
        return kept[0][0]
    return Sum((*kept, *([(Number(constant), 1)] if constant else [])))


def plus(term: Term, number: int) -> Term:
    """``term + number``."""
    return total((term, 1), (Number(number), 1))


def least(*args: Term) -> Term:
    """The least of some terms."""
    return _extreme(args, min, Least)


def greatest(*args: Term) -> Term:
    """The greatest of some terms."""
    return _extreme(args, max, Greatest)


def _extreme(
    args: tuple[Term, ...],
    pick: Callable[[list[int]], int],
    kind: type[Least] | type[Greatest],
) -> Term:
    numbers = [a.value for a in args if isinstance(a, Number)]
    others: list[Term] = list(dict.fromkeys(a for a in args if not isinstance(a, Number)))
    if numbers:
        others.append(Number(pick(numbers)))
    return others[0] if len(others) == 1 else kind(tuple(others))


def quotient(term: Term, by: int) -> Term:
    """``term // by``."""
    if by == 1:
        return term
    return Number(term.value // by) if isinstance(term, Number) else Quotient(term, by)


def not_above(left: Term, right: Term) -> Condition:
    """``left <= right``."""
    gap = total((right, 1), (left, -1))
    return Truth(gap.value >= 0) if isinstance(gap, Number) else NotAbove(left, right)


def both(*args: Condition) -> Condition:
    """All of some conditions."""
    if any(a == Truth(False) for a in args):
        return Truth(False)
    kept = tuple(dict.fromkeys(a for a in args if a != Truth(True)))
    return kept[0] if len(kept) == 1 else All(kept) if kept else Truth(True)


def either(*args: Condition) -> Condition:
    """One of some conditions."""
    if any(a == Truth(True) for a in args):
        return Truth(True)
    kept = tuple(dict.fromkeys(a for a in args if a != Truth(False)))
    return kept[0] if len(kept) == 1 else Any(kept) if kept else Truth(False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A tile: the first and last element of each variable, and the scalars."""

    spans: Mapping[str, tuple[int, int]]
    scalars: Mapping[str, int]


def term_at(term: Term, place: Place) -> int:  # noqa: PLR0911 (one line a kind)
    """The value of a term for one tile."""
    match term:
        case Number():
            return term.value
        case Low():
            return place.spans[term.var][0]
        case High():
            return place.spans[term.var][1]
        case Named():
            return place.scalars[term.value]
        case Sum():
            return sum(term_at(t, place) * f for t, f in term.terms)
        case Least():
            return min(term_at(a, place) for a in term.args)
        case Greatest():
            return max(term_at(a, place) for a in term.args)
        case Quotient():
            return term_at(term.arg, place) // term.by


def holds_at(condition: Condition, place: Place) -> bool:
    """Whether a condition holds for one tile."""
    match condition:
        case Truth():
            return condition.value
        case NotAbove():
            return term_at(condition.left, place) <= term_at(condition.right, place)
        case All():
            return all(holds_at(a, place) for a in condition.args)
        case Any():
            return any(holds_at(a, place) for a in condition.args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """How a back end writes leaves in C."""

    low: Callable[[str], str]
    high: Callable[[str], str]
    named: Callable[[str], str]


def term_in_c(term: Term, spell: Spelling) -> str:  # noqa: PLR0911 (one line a kind)
    """A term as a C expression of type int; ``min`` and ``max`` are CUDA's."""
    match term:
        case Number():
            return str(term.value) if term.value >= 0 else f"({term.value})"
        case Low():
            return spell.low(term.var)
        case High():
            return spell.high(term.var)
        case Named():
            return spell.named(term.value)
        case Sum():
            return "(" + " + ".join(_product(t, f, spell) for t, f in term.terms) + ")"
        case Least() | Greatest():
            word = "min" if isinstance(term, Least) else "max"
            text = term_in_c(term.args[0], spell)
            for arg in term.args[1:]:
                text = f"{word}({text}, {term_in_c(arg, spell)})"
            return text
        case Quotient():
            inner, by = term_in_c(term.arg, spell), term.by
            if by & (by - 1) == 0:  # an arithmetic shift rounds down
                return f"({inner} >> {by.bit_length() - 1})"
            return f"({inner} >= 0 ? {inner} / {by} : -((-{inner} + {by - 1}) / {by}))"


def _product(term: Term, factor: int, spell: Spelling) -> str:
    text = term_in_c(term, spell)
    return text if factor == 1 else f"{text} * ({factor})" if factor < 0 else f"{text} * {factor}"


def condition_in_c(condition: Condition, spell: Spelling) -> str:
    """A condition as a C expression."""
    match condition:
        case Truth():
            return "true" if condition.value else "false"
        case NotAbove():
            return f"({term_in_c(condition.left, spell)} <= {term_in_c(condition.right, spell)})"
        case All() | Any():
            word = " && " if isinstance(condition, All) else " || "
            return "(" + word.join(condition_in_c(a, spell) for a in condition.args) + ")"
