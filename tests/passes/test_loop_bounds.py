"""Loops cut by conditions: checked by brute force over all elements of a tile."""

import itertools
from functools import partial

import pytest
from hypothesis import given, strategies as st

from warploom.frontend.simplify import simplify
from warploom.kernels.attention import attention
from warploom.passes.body import body_of
from warploom.passes.fuse import fuse
from warploom.passes.loop_bounds import Affine, cut_of
from warploom.passes.rewrites import rewrite

TYPES = dict.fromkeys(("q", "k", "v", "out"), "bf16")


def cut(**constants):
    made = attention.specialise(TYPES, sizes={"d": 64}, without={"lengths"}, constants=constants)
    body = body_of(rewrite(simplify(made), frozenset({"scale"})))
    return cut_of(body, fuse(body))


def window(b, h, i, j):
    return (j <= i) & (i - j < 100)


def odd(b, h, i, j):
    return (i + j) % 2 == 0


def test_the_end_of_the_keys_is_a_bound():
    found = cut()
    assert found.known
    assert not found.below
    assert [a.rows for a in found.above] == [0]


def test_causal_tiles_grow_downwards():
    found = cut(causal=True)
    assert found.known
    assert sorted(a.rows for a in found.above) == [0, 1]


def test_windows_have_both_bounds():
    found = cut(visible=window)
    assert found.known
    assert [(a.loop, a.rows, a.constant) for a in found.below] == [(1, -1, 99)]


def test_other_conditions_cut_nothing():
    found = cut(visible=odd)
    assert not found.known  # so that every iteration hides elements
    assert found.bounds == cut().bounds  # the end of the keys alone


def test_affine_conditions_beside_others_cut():
    found = cut(visible=lambda b, h, i, j: window(b, h, i, j) & odd(b, h, i, j))
    assert not found.known
    assert found.bounds == cut(visible=window).bounds


affines = st.builds(Affine, st.integers(-3, 3), st.integers(-3, 3), st.just(()), st.integers(-9, 9))


def at(t, s, x):
    return x.loop * t + x.rows * s + x.constant


@given(affines, affines, st.integers(-4, 4))
def test_sums_and_multiples(a, b, n):
    for t, s in itertools.product(range(-2, 3), repeat=2):
        value = partial(at, t, s)
        assert value(a.plus(b)) == value(a) + value(b)
        assert value(a.plus(b, -1)) == value(a) - value(b)
        assert value(a.times(n)) == n * value(a)


@pytest.mark.parametrize("extent", [1, 16, 128])
def test_bounds_hold_for_the_elements_they_were_made_of(extent):
    found = cut(visible=window)
    for i in range(0, 3 * extent, max(1, extent // 3)):
        for j in range(0, 3 * extent, max(1, extent // 3)):
            row = [a for a in found.bounds if a.rows]
            holds = all(a.loop * j + a.rows * i + a.constant >= 0 for a in row)
            assert holds == bool(window(0, 0, i, j))
