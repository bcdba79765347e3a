"""``wl.grad``: derivatives of pointwise functions, against finite differences."""

import math

import numpy as np
import pytest

from warploom.errors import KernelTypeError
from warploom.frontend import language as wl
from warploom.ir.tile import DType

TYPES = dict.fromkeys(("x", "w", "out"), DType.F32)
erf = np.vectorize(math.erf)


@wl.kernel
def slopes(x: wl.In["m", "n"], w: wl.In["k", "n"], out: wl.Out["m", "k"], *, fn=None):
    m, k = wl.tile(out)
    acc = wl.zeros(m, k)
    for n in wl.steps(x.n):
        acc += x[m, n] @ w[k, n].T
    out[m, k] = wl.grad(fn(acc), acc)


def capped(x):
    return 5.0 * wl.tanh(x / 5.0)


def waves(x):
    return wl.sin(x) * wl.cos(x) - wl.abs(x) / (2.0 + x * x)


def bent(x):
    return wl.where(x > 0.5, wl.silu(x), wl.maximum(x, -0.25) * wl.exp(-x)) + wl.gelu(x)


def roots(x):
    y = x * x + 1.0
    return wl.sqrt(y) + wl.rsqrt(y) + wl.log(y) * wl.log2(y) - wl.exp2(-y) + wl.minimum(x, 0.1)


def stepped(x):
    return wl.floor(x * 3.0) * x + (x * 5.0).to(wl.i32) * 0.5 + 0.9**x + x.clamp(-0.5, 0.7)


def silu(x):
    return x / (1 + np.exp(-x))


CASES = {
    "capped": (capped, lambda x: 5 * np.tanh(x / 5)),
    "stepped": (
        stepped,
        lambda x: np.floor(x * 3) * x + np.trunc(x * 5) * 0.5 + 0.9**x + np.clip(x, -0.5, 0.7),
    ),
    "waves": (waves, lambda x: np.sin(x) * np.cos(x) - abs(x) / (2 + x * x)),
    "bent": (
        bent,
        lambda x: (
            np.where(x > 0.5, silu(x), np.maximum(x, -0.25) * np.exp(-x))
            + 0.5 * x * (1 + erf(x / np.sqrt(2)))
        ),
    ),
    "roots": (
        roots,
        lambda x: (
            np.sqrt(x * x + 1)
            + 1 / np.sqrt(x * x + 1)
            + np.log(x * x + 1) * np.log2(x * x + 1)
            - np.exp2(-x * x - 1)
            + np.minimum(x, 0.1)
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_derivatives(name):
    fn, same = CASES[name]
    x, step = np.random.default_rng(0).standard_normal((16, 16)), 1e-6
    found = slopes.specialise(TYPES, constants={"fn": fn}).reference(x, np.eye(16))
    np.testing.assert_allclose(found, (same(x + step) - same(x - step)) / (2 * step), atol=1e-6)


@wl.kernel
def lifted(x: wl.In["m", "n"], w: wl.In["k", "n"], out: wl.Out["m", "k"]):
    m, k = wl.tile(out)
    acc = wl.zeros(m, k)
    for n in wl.steps(x.n):
        acc += x[m, n] @ w[k, n].T
    out[m, k] = acc + wl.grad(acc * 3.0 + wl.floor(acc), acc)


def test_numbers_stay_numbers():
    kernel = lifted.specialise(TYPES)
    np.testing.assert_array_equal(kernel.reference(np.ones((2, 2)), np.eye(2)), 4.0)


def gathered(x):
    return x - x.max(axis=1)


def test_a_reduction_between_is_refused():
    with pytest.raises(KernelTypeError, match="other elements take part"):
        slopes.specialise(TYPES, constants={"fn": gathered})
