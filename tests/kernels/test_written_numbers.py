"""Kernels without a loop, whole numbers and types of 8 bits."""

import numpy as np
import pytest

import tests.host_cuda as hc
import warploom as wl
from tests.kernels.written import NAN, close, drawn, executed
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import DType


@pytest.fixture(autouse=True)
def _nan_around(monkeypatch):
    monkeypatch.setattr(hc, "POISON", NAN)


@wl.kernel
def rmsnorm(x: wl.In["m", "n"], w: wl.In["n"], out: wl.Out["m", "n"], *, eps: float):
    m = wl.tile(out, whole="n")
    v = x[m].to(wl.f32)
    out[m] = v * wl.rsqrt((v * v).sum(axis=1) / x.n + eps) * w[:]


@wl.kernel
def layernorm(
    x: wl.In["m", "n"],
    w: wl.In["n", wl.f32],
    bias: wl.In["n"],
    out: wl.Out["m", "n"],
    mean: wl.Out["m"],
    *,
    eps: float,
):
    m = wl.tile(out, whole="n")
    v = x[m].to(wl.f32)
    mu = v.sum(axis=1) / x.n
    c = v - mu
    out[m] = c * wl.rsqrt((c * c).sum(axis=1) / x.n + eps) * w[:] + bias[:]
    mean[m] = mu


@wl.kernel
def placed(
    x: wl.In["b", "m", "n"],
    rows: wl.In["m", wl.i32],
    g: wl.In["b", wl.f32],
    pair: wl.In["n", "u"],
    out: wl.Out["b", "m", "n", "u"],
    top: wl.Out["m", "b", wl.i32],
    out8: wl.Out["b", "m", "n", wl.e4m3],
):
    b, m = wl.tile("b", "m", "n", whole="n")
    v = x[b - 1, m].to(wl.f32) + wl.index(m) * 0.25 + g[b + 1]
    out[b, m, :, 0] = v * pair[:, 1]
    out[b, m, :, 1] = wl.where(wl.index(x.n) > rows[m], v, -1.0)
    top[m, b] = wl.where(v > 0.5, wl.index(x.n) * 50000, -1).max(axis=1) + rows[m] * 3
    out8[b + 1, m] = v * 100.0


@pytest.mark.parametrize("n", [64, 128, 256])
@pytest.mark.parametrize("m", [1, 40, 127])
def test_norms_of_rows_are_right(m, n):
    arrays = {"x": drawn(m, n), "w": drawn(n, seed=1)}
    types = dict.fromkeys(("x", "w", "out"), "bf16")
    sizes = {"m": m, "n": n}
    (got,), (same,) = executed(rmsnorm, types, sizes, arrays, {"eps": 1e-5})
    x = arrays["x"]
    want = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * arrays["w"]
    close(got, want)
    close(same, want)
    arrays["bias"] = drawn(n, seed=2)
    types = dict.fromkeys(("x", "bias", "out", "mean"), "bf16")
    (got, mean), reference = executed(layernorm, types, sizes, arrays, {"eps": 1e-5})
    c = x - x.mean(1, keepdims=True)
    want = c / np.sqrt((c * c).mean(1, keepdims=True) + 1e-5) * arrays["w"] + arrays["bias"]
    close(got, want)
    close(mean, x.mean(1))
    close(reference[0], want)


@pytest.mark.parametrize(("b", "m"), [(3, 127), (1, 1), (2, 65)])
def test_rows_without_a_loop_lie_where_they_are_meant_to(b, m):
    n = 64
    rng = np.random.default_rng(3)
    arrays = {
        "x": drawn(b, m, n),
        "rows": rng.integers(0, 2**26, m),
        "g": drawn(b, seed=1),
        "pair": drawn(n, 2, seed=2),
    }
    arrays["rows"][::2] = rng.integers(-5, n, len(arrays["rows"][::2]))
    types = dict.fromkeys(("x", "pair", "out"), "bf16")
    outs, reference = executed(placed, types, {"b": b, "m": m, "n": n, "u": 2}, arrays)
    x = np.concatenate([np.zeros((1, m, n)), arrays["x"][:-1]])
    v = x + (np.arange(m) * 0.25)[:, None] + np.append(arrays["g"][1:], 0.0)[:, None, None]
    hidden = np.where(np.arange(n) > arrays["rows"][:, None], v, -1.0)
    want = np.stack([v * arrays["pair"][:, 1], hidden], -1)
    top = np.where(v > 0.5, np.arange(n) * 50000, -1).max(2).T + arrays["rows"][:, None] * 3
    out8 = rounded(np.concatenate([np.zeros((1, m, n)), v[:-1] * 100.0]), DType.E4M3)
    for found in (outs, reference):
        close(found[0], want)
        np.testing.assert_array_equal(found[1], top)
    np.testing.assert_allclose(outs[2], out8, rtol=0.13, atol=1e-2)


@wl.kernel
def lcg(
    x: wl.In["m", "k"], seed: wl.In["m", wl.i32], out: wl.Out["m", wl.i32], s: wl.Out["m", wl.f32]
):
    m = wl.tile(out)
    r, acc = seed[m], wl.zeros(m)
    for k in wl.steps(x.k, 64):
        acc += x[m, k].to(wl.f32).sum(axis=1)
        r = r * 1664525 + 1013904223
    out[m] = r
    s[m] = acc


@wl.kernel
def reduced(
    x: wl.In["m", "k", wl.i8],
    least: wl.Out["m", wl.i32],
    most: wl.Out["m", wl.i32],
    total: wl.Out["m", wl.i32],
    last: wl.Out["m", wl.i32],
):
    m = wl.tile(least)
    low, high = wl.full(m, 2147483647, dtype=wl.i32), wl.full(m, -2147483648, dtype=wl.i32)
    every, at = wl.full(m, 0, dtype=wl.i32), wl.full(m, -1, dtype=wl.i32)
    for k in wl.steps(x.k):
        v = x[m, k].to(wl.i32) * 16777259 + wl.index(k)
        low = wl.minimum(low, v.min(axis=1))
        high = wl.maximum(high, v.max(axis=1))
        every = every + v.sum(axis=1)
        at = wl.maximum(at, wl.where(x[m, k].to(wl.f32) > 90.0, wl.index(k), -1).max(axis=1))
    least[m] = low
    most[m] = high
    total[m] = every
    last[m] = at


def wrapped(array):
    return (np.asarray(array).astype(np.int64) + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize(("m", "k"), [(16, 256), (127, 200), (1, 8), (65, 72)])
def test_carried_whole_numbers_are_exact_and_wrap(m, k):
    rng = np.random.default_rng(0)
    arrays = {"x": drawn(m, k), "seed": rng.integers(-(2**31), 2**31, m)}
    outs, reference = executed(lcg, {"x": "bf16"}, {"m": m, "k": k}, arrays)
    want = arrays["seed"]
    for _ in range(-(-k // 64)):
        want = wrapped(want * 1664525 + 1013904223)
    np.testing.assert_array_equal(outs[0], want)
    np.testing.assert_array_equal(reference[0], want)


@pytest.mark.parametrize(("m", "k"), [(64, 256), (127, 208), (1, 16), (65, 144)])
def test_whole_numbers_are_reduced_exactly(m, k):
    x = np.random.default_rng(1).integers(-128, 128, (m, k))
    outs, reference = executed(reduced, {}, {"m": m, "k": k}, {"x": x})
    v = wrapped(x * 16777259 + np.arange(k))
    at = np.where(x > 90, np.arange(k), -1).max(1)
    for found in (outs, reference):
        for got, want in zip(found, (v.min(1), v.max(1), wrapped(v.sum(1)), at), strict=True):
            np.testing.assert_array_equal(got, want)


@wl.kernel
def hashed(
    x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n", wl.i32], y: wl.Out["m", "n"]
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    h = (wl.index(m) * 64 + wl.index(n)) * 1103515245 + 12345
    h = (h + (h >> 13)) * 2654435769
    out[m, n] = h
    y[m, n] = acc * ((h >> 16) & 255)


@pytest.mark.parametrize("sizes", [(16, 32, 64), (127, 333, 200), (1, 1, 8)])
def test_a_hash_wraps_in_kernel_and_reference_alike(sizes):
    m, n, k = sizes
    arrays = {"x": np.ones((m, k)), "w": np.ones((n, k))}
    types = dict.fromkeys(("x", "w", "y"), "bf16")
    outs, reference = executed(hashed, types, {"m": m, "n": n, "k": k}, arrays)
    h = wrapped((np.arange(m)[:, None] * 64 + np.arange(n)) * 1103515245 + 12345)
    h = wrapped(wrapped(h + (h >> 13)) * (2654435769 - 2**32))
    for found in (outs, reference):
        np.testing.assert_array_equal(found[0], h)
        close(found[1], k * ((h >> 16) & 255))


@wl.kernel
def quantised(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    scale: wl.In["m", wl.f32],
    out: wl.Out["m", "n", wl.e4m3],
    wide: wl.Out["m", "n", wl.e5m2],
    whole: wl.Out["m", "n", wl.i8],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc * scale[m]
    wide[m, n] = acc * scale[m]
    whole[m, n] = acc * scale[m]


@pytest.mark.parametrize("sizes", [(127, 333, 200), (64, 64, 64), (1, 1, 8)])
def test_outputs_of_8_bits_are_rounded_and_held(sizes):
    m, n, k = sizes
    arrays = {"x": drawn(m, k), "w": drawn(n, k, seed=1), "scale": drawn(m, seed=2) * 64}
    types = {"x": "bf16", "w": "bf16"}
    outs, reference = executed(quantised, types, {"m": m, "n": n, "k": k}, arrays)
    exact = arrays["x"] @ arrays["w"].T * arrays["scale"][:, None]
    np.testing.assert_allclose(outs[0], rounded(exact, DType.E4M3), rtol=0.13, atol=1e-2)
    np.testing.assert_allclose(outs[1], rounded(exact, DType.E5M2), rtol=0.26, atol=1e-2)
    np.testing.assert_allclose(outs[2], np.clip(np.trunc(exact), -128, 127), atol=1)
    assert np.abs(outs[0]).max() <= 448
    assert len(reference) == 3
