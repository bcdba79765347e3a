"""Rewrites of the column keep a kernel's meaning, and fire where they should."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

import warploom as wl
from tests.frontend.random_kernels import random_kernels
from tests.frontend.sources import run_source
from warploom.errors import KernelError
from warploom.frontend.simplify import simplify
from warploom.ir.tile import Fn, Loop, Pointwise
from warploom.kernels.attention import attention
from warploom.kernels.rms_gemm import rms_gemm
from warploom.passes.cost_terms import shift_is_harmless
from warploom.passes.rewrites import rewrite
from warploom.passes.unroll import unrolled

TYPES = dict.fromkeys(("q", "k", "v", "out"), "bf16")
SCALE = frozenset({"scale"})


def attention_kernel(**constants):
    made = attention.specialise(TYPES, sizes={"d": 16}, without={"lengths"}, constants=constants)
    return simplify(made)


def attention_inputs(s=37, t=29):
    rng = np.random.default_rng(1)
    return [rng.standard_normal((2, 2, n, 16)) * 3 for n in (s, t, t)]


def loop_of(kernel):
    return next(op for op in kernel.ops if isinstance(op, Loop))


def functions(kernel):
    return [op.fn for op in loop_of(kernel).body if isinstance(op, Pointwise)]


@pytest.mark.parametrize("constants", [{}, {"causal": True}, {"causal": "end"}])
@pytest.mark.parametrize("positive", [frozenset(), SCALE])
def test_attention_means_the_same_after_rewrites(constants, positive):
    kernel, inputs = attention_kernel(**constants), attention_inputs()
    extents = {"s": 8, "t": 8}
    want = kernel.reference(*inputs, scale=0.25, extents=extents)
    got = rewrite(kernel, positive).reference(*inputs, scale=0.25, extents=extents)
    for a, b in zip(want, got, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(random_kernels())
def test_random_kernels_mean_the_same_after_rewrites(case):
    kernel = simplify(case.kernel)
    want, got = case.reference(kernel), case.reference(rewrite(kernel))
    for a, b in zip(want, got, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


def test_a_maximum_that_is_a_result_is_no_free_reference():
    kernel = attention_kernel()
    top = next(c for c in loop_of(kernel).carried if c.inside.name == "top_in")
    assert shift_is_harmless(kernel, loop_of(kernel), top)
    stores = [op for op in kernel.ops if hasattr(op, "tensor") and not hasattr(op, "result")]
    shown = dataclasses.replace(stores[-1], value=top.result.name)
    exposed = dataclasses.replace(kernel, ops=(*kernel.ops, shown))
    assert not shift_is_harmless(exposed, loop_of(exposed), top)


@pytest.mark.parametrize(("positive", "row"), [(SCALE, True), (frozenset(), False)])
def test_scales_of_unknown_sign_stay_before_the_maximum(positive, row):
    body = loop_of(rewrite(attention_kernel(), positive)).body
    maxima = {op.result.name for op in body if getattr(op, "over", None) and op.fn is Fn.MAX}
    assert row == any(op.fn is Fn.MUL and maxima & set(op.args) for op in body if hasattr(op, "fn"))


def test_zeros_past_the_end_need_no_condition():
    made = simplify(rms_gemm.specialise(dict.fromkeys(("x", "w", "out"), "bf16")))
    assert Fn.WHERE not in functions(rewrite(made))


def test_exponentials_past_the_end_are_hidden():
    assert functions(rewrite(attention_kernel(), SCALE)).count(Fn.WHERE) == 1


def test_a_sum_and_a_maximum_of_one_tile_are_hidden_apart():
    text = """
@wl.kernel
def kernel(x: wl.In["m", "k"], out: wl.Out["m", wl.f32]):
    m = wl.tile(out)
    s, t = wl.zeros(m), wl.full(m, -4.0)
    for k in wl.steps(x.k):
        e = x[m, k] + x[m, k]
        s += e.sum(axis=1)
        t = wl.maximum(t, e.max(axis=1))
    out[m] = s + t
"""
    kernel = simplify(run_source(text, wl=wl)["kernel"].specialise({"x": "bf16"}))
    array = -np.abs(np.random.default_rng(0).standard_normal((5, 21)))
    got = rewrite(kernel).reference(array, extents={"m": 4, "k": 8})
    np.testing.assert_allclose(got, kernel.reference(array, extents={"m": 4, "k": 8}))
    assert functions(rewrite(kernel)).count(Fn.WHERE) == 1  # zeros past the end sum to nothing


@wl.kernel
def grown(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        e = wl.exp(wl.minimum(wl.log(wl.abs(x[m, k]) + 1.0), 1.0) * 0.125)
        acc += (e.to(x.dtype) @ w[n, k].T) * 0.5
    out[m, n] = wl.maximum(acc, -wl.inf)


def test_several_steps_are_refused_whatever_numbers_stand_in_a_kernel():
    """Fractions and infinity divided a step's extent: a bare error."""
    kernel = grown.specialise(dict.fromkeys(("x", "w", "out"), "bf16"))
    with pytest.raises(KernelError, match="several steps"):  # a step past the end would add
        unrolled(rewrite(simplify(kernel)), 2)
