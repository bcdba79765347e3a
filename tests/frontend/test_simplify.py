"""Rewrites keep the meaning of a kernel, each alone and all together."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import warploom as wl
from tests.frontend.random_kernels import random_kernels
from tests.frontend.sources import run_source
from tests.frontend.well_formed import check_kernel
from warploom import ConfigError
from warploom.frontend.simplify import REWRITES, simplify
from warploom.ir.tile import Broadcast, Const, Dot, Fn, Pointwise, operands, results, walk
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
def test_all_rewrites_keep_the_result(case):
    simple = simplify(case.kernel)
    check_kernel(simple)
    assert_same(case.reference(), case.reference(simple))


@pytest.mark.parametrize("name", REWRITES)
@settings(parent=SETTINGS, max_examples=15)
@given(case=random_kernels())
def test_each_rewrite_keeps_the_result(name, case):
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
    assert count(simplify(kernel), Broadcast) == 3


def test_unknown_rewrite():
    kernel = swiglu.specialise(bf16("x", "gate", "up", "out"))
    with pytest.raises(ConfigError, match="no rewrite is called 'fast'"):
        simplify(kernel, without={"fast"})


def of_lines(*lines):
    text = (
        "@wl.kernel\n"
        'def kernel(x: wl.In["m", "n"], y: wl.In["m", "n"], out: wl.Out["m", "n"]):\n'
        "    m, n = wl.tile(out)\n"
        "    a, b = x[m, n], y[m, n]\n" + "".join(f"    {line}\n" for line in lines)
    )
    return run_source(text, wl=wl)["kernel"].specialise(dict.fromkeys(("x", "y", "out"), "f32"))


def test_choices_by_numbers_fold():
    kernel = of_lines(
        "one, two = wl.full(1.0), wl.full(2.0)",
        "p = wl.where(one < two, a, b)",
        "q = wl.where(one > two, a, b * (two - one))",
        "out[m, n] = p + q * 10 + (0.0 + a) / 1.0 + wl.where((one < two) | (a > b), 0.0, a)",
    )
    simple = simplify(kernel)
    x, y = np.random.default_rng(0).normal(size=(2, 3, 4))
    np.testing.assert_allclose(simple.reference(x, y), 2 * x + 10 * y)
    assert count(simple, Pointwise, Fn.WHERE) < count(kernel, Pointwise, Fn.WHERE)
    assert count(simple, Pointwise, Fn.DIV) == 0


def test_there_and_back_folds_for_narrow_types_only():
    text = (
        "@wl.kernel\n"
        'def kernel(x: wl.In["m", "n"], out: wl.Out["m", "n"]):\n'
        "    m, n = wl.tile(out)\n"
        "    out[m, n] = x[m, n].to(wl.f32).to(wl.bf16).T.T.to(wl.f32)\n"
    )
    made = run_source(text, wl=wl)["kernel"]
    narrow, wide = (
        simplify(made.specialise({"x": kind, "out": "f32"})) for kind in ("bf16", "f32")
    )
    assert count(narrow, Pointwise, Fn.CAST) == 1
    assert count(wide, Pointwise, Fn.CAST) == 2


def test_differences_are_not_shared_either_way():
    simple = simplify(of_lines("out[m, n] = (a - b) * 2 + (b - a) + (a + b) * (b + a)"))
    x, y = np.random.default_rng(0).normal(size=(2, 3, 4))
    np.testing.assert_allclose(simple.reference(x, y), x - y + (x + y) ** 2)
    assert count(simple, Pointwise, Fn.SUB) == 2
    assert count(simple, Pointwise, Fn.ADD) == 3


def test_a_product_read_twice_stays():
    text = (
        "@wl.kernel\n"
        'def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):\n'
        "    m, n = wl.tile(out)\n"
        "    acc, top = wl.zeros(m, n), wl.zeros(m, n)\n"
        "    for k in wl.steps(x.k, 8):\n"
        "        y = x[m, k] @ w[n, k].T\n"
        "        acc = acc * 0.5 + y\n"
        "        top = wl.maximum(top, y)\n"
        "    out[m, n] = acc + top\n"
    )
    kernel = run_source(text, wl=wl)["kernel"].specialise(dict.fromkeys(("x", "w", "out"), "f32"))
    simple = simplify(kernel)
    check_kernel(simple)
    x, w = np.random.default_rng(0).normal(size=(2, 5, 20))
    np.testing.assert_allclose(simple.reference(x, w), kernel.reference(x, w))
    assert next(o for o in walk(simple.ops) if isinstance(o, Dot)).into is None
