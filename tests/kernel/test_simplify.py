"""Rewrites keep the meaning of a kernel, each alone and all together."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import warploom as wl
from tests.kernel.random_kernels import random_kernels
from tests.kernel.sources import run_source
from warploom import ConfigError
from warploom.kernel.check import check_kernel
from warploom.kernel.simplify import REWRITES, simplify
from warploom.kernel.values import Const, Dot, Fn, Pointwise, Spread, operands, results, walk
from warploom.kernels.attention import attention
from warploom.kernels.gemm import gemm
from warploom.kernels.swiglu import swiglu

SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def assert_same(one, two):
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


@SETTINGS
@given(random_kernels())
def test_all_rewrites_keep_the_meaning(case):
    simple = simplify(case.kernel)
    check_kernel(simple)
    assert_same(case.reference(), case.reference(simple))


@pytest.mark.parametrize("name", REWRITES)
@settings(parent=SETTINGS, max_examples=15)
@given(case=random_kernels())
def test_each_rewrite_keeps_the_meaning(name, case):
    rewritten = REWRITES[name](case.kernel)
    check_kernel(rewritten)
    assert_same(case.reference(), case.reference(rewritten))


@settings(parent=SETTINGS, max_examples=25)
@given(random_kernels(), st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))
def test_extents_do_not_matter(case, m, n, k):
    chosen = {"m": m, "n": n, "k": k}
    names = {v.name: chosen[v.name[0]] for v in case.kernel.vars if v.extent is None}
    assert_same(case.reference(), case.reference(simplify(case.kernel), extents=names))


def bf16(*names):
    return dict.fromkeys(names, "bf16")


def count(kernel, kind, fn=None):
    ops = [op for op in walk(kernel.ops) if isinstance(op, kind)]
    return len([op for op in ops if fn is None or op.fn is fn])


def test_a_sum_of_products_accumulates():
    kernel = simplify(gemm.specialise(bf16("a", "b", "out"), without={"bias", "residual"}))
    (loop,) = kernel.loops
    (dot,) = [op for op in loop.body if isinstance(op, Dot)]
    assert dot.into == loop.carried[0].inside.name
    assert dot.result.name == loop.carried[0].last
    assert not any(isinstance(op, Pointwise) for op in loop.body)


def test_alpha_of_one_vanishes():
    kernel = gemm.specialise(
        bf16("a", "b", "out"), without={"bias", "residual"}, constants={"alpha": 1.0}
    )
    assert count(kernel, Pointwise, Fn.MUL) == 1
    assert count(simplify(kernel), Pointwise, Fn.MUL) == 0


def test_attention_goes_to_base_2_at_no_cost():
    kernel = attention.specialise(
        bf16("q", "k", "v", "out"), sizes={"d": 64}, without={"lengths"}, constants={"causal": True}
    )
    simple = simplify(kernel)
    (before,), (after,) = kernel.loops, simple.loops
    assert count(simple, Pointwise, Fn.EXP) == 0
    assert count(simple, Pointwise, Fn.EXP2) == 2
    tiles = [
        sum(isinstance(o, Pointwise) and o.fn is Fn.MUL and len(o.result.dims) == 2 for o in x.body)
        for x in (before, after)
    ]
    assert tiles[0] == tiles[1] == 2  # the scale, and what is kept of the sum
    assert count(simplify(kernel, without={"exp2"}), Pointwise, Fn.EXP) == 2


def test_silu_puts_the_factor_into_the_negation():
    simple = simplify(swiglu.specialise(bf16("x", "gate", "up", "out")))
    assert count(simple, Pointwise, Fn.EXP2) == 1
    assert count(simple, Pointwise, Fn.NEG) == 0
    assert count(simple, Pointwise, Fn.MUL) == 3


def test_exp_stays_where_base_2_saves_nothing():
    text = (
        "@wl.kernel\n"
        'def kernel(x: wl.In["m", "n"], out: wl.Out["m", "n"]):\n'
        "    m, n = wl.tile(out)\n"
        "    out[m, n] = wl.exp(x[m, n])\n"
    )
    kernel = run_source(text, wl=wl)["kernel"].specialise({"x": "f32", "out": "f32"})
    assert count(simplify(kernel), Pointwise, Fn.EXP) == 1


def test_what_does_not_change_moves_out():
    kernel = attention.specialise(bf16("q", "k", "v", "out"), sizes={"d": 64}, without={"lengths"})
    (loop,) = simplify(kernel).loops
    assert not any(isinstance(op, Const) for op in loop.body)
    inside = {c.inside.name for c in loop.carried}
    for op in loop.body:
        inside |= {v.name for v in results(op)}
        reads_loop = any(o in inside for o in operands(op))
        assert reads_loop or loop.var in str(op), op


def test_what_is_not_stored_goes():
    kernel = attention.specialise(
        bf16("q", "k", "v", "out"), sizes={"d": 64}, without={"lengths", "lse"}
    )
    assert count(simplify(kernel), Pointwise, Fn.LOG) == 0
    assert count(simplify(kernel), Spread) == 3


def test_unknown_rewrite():
    kernel = swiglu.specialise(bf16("x", "gate", "up", "out"))
    with pytest.raises(ConfigError, match="no rewrite is called 'fast'"):
        simplify(kernel, without={"fast"})
