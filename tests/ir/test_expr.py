"""Expressions: truncating division, printing with C's precedence, substitution."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from warploom.ir.expr import (
    Binary,
    Const,
    IntExpr,
    Op,
    Select,
    Sym,
    SymKind,
    ceil_div,
    evaluate,
    least,
    lift,
    linear,
    most,
    show,
    size,
    substitute,
)

X, Y = size("x"), Sym(SymKind.STEP, "x")


def test_symbols_of_two_kinds_are_two_symbols() -> None:
    assert X != Y
    assert evaluate(lift(X - Y), {X: 5, Y: 3}) == 2


def test_division_truncates_toward_zero() -> None:
    assert evaluate(lift(X // 8), {X: -7}) == 0
    assert evaluate(lift(X % 8), {X: -7}) == -7
    assert evaluate(ceil_div(X, 64), {X: 65}) == 2


def test_printing_has_the_brackets_c_needs() -> None:
    assert show(lift((X + 1) * 2 // 3 % 4)) == "(x + 1) * 2 / 3 % 4"
    assert show(lift(X - (X - 1))) == "x - (x - 1)"
    assert show(least(X * 2, most(X - 3, 0))) == "min(x * 2, max(x - 3, 0))"
    assert show(lift(Select(lift(X < 1), X, Const(2)) * 3)) == "(x < 1 ? x : 2) * 3"


def test_affine_forms() -> None:
    form = linear(lift(3 * (X + 2) - X))
    assert form is not None
    assert (form.constant, form.factors) == (6, ((X, 2),))
    assert linear(lift(X * X)) is None


NUMBERS = st.integers(-50, 50)
TREES: st.SearchStrategy[IntExpr] = st.recursive(
    st.one_of(NUMBERS.map(Const), st.sampled_from([X, Y])),
    lambda inner: st.builds(
        Binary, st.sampled_from([Op.ADD, Op.SUB, Op.MUL, Op.MIN, Op.MAX]), inner, inner
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(TREES, NUMBERS, NUMBERS)
def test_what_is_printed_means_what_is_evaluated(tree: IntExpr, x: int, y: int) -> None:
    names = {X: "x", Y: "y"}
    text = show(tree, lambda s: names[s])
    value = evaluate(tree, {X: x, Y: y})
    assert int(eval(text, {"min": min, "max": max, "x": x, "y": y})) == value
    assert evaluate(substitute(tree, {X: Const(x)}), {Y: y}) == value
