"""What raised raw errors works, and refusals name a fix that does."""

import numpy as np
import pytest

import tests.host_cuda as hc
import warploom as wl
from tests.frontend.sources import run_source
from tests.kernels.written import NAN, close, drawn, executed
from warploom.errors import KernelError, WarploomError
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import DType


@pytest.fixture(autouse=True)
def _nan_around(monkeypatch):
    monkeypatch.setattr(hc, "POISON", NAN)


@wl.kernel
def zero_points(
    x: wl.In["m", "k"],
    w: wl.In["n", "k", wl.i8],
    s: wl.In["n", "k/128", wl.f32],
    z: wl.In["n", "k/128", wl.f32],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 128):
        acc += x[m, k] @ ((w[n, k].to(wl.f32) - z[n, k]) * s[n, k]).to(x.dtype).T
    out[m, n] = acc


@pytest.mark.parametrize("sizes", [(127, 333, 208), (128, 128, 512), (1, 1, 16)])
def test_scales_and_zero_points_of_groups_along_k(sizes):
    m, n, k = sizes
    rng, groups = np.random.default_rng(0), -(-k // 128)
    w, z = rng.integers(-8, 8, (n, k)), rng.integers(-4, 4, (n, groups)).astype(float)
    s = 2.0 ** rng.integers(-3, 1, (n, groups))
    arrays = {"x": drawn(m, k), "w": w, "s": s, "z": z}
    types = {"x": "bf16", "out": "bf16"}
    (got,), (same,) = executed(zero_points, types, {"m": m, "n": n, "k": k}, arrays)
    at = np.arange(k) // 128
    want = arrays["x"] @ ((w - z[:, at]) * s[:, at]).T
    close(got, want, 5e-2)
    close(same, want)


@wl.kernel
def causal_bound(x: wl.In["m", "k"], w: wl.In["k", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(w.k, until=wl.index(m).max() + 1):
        acc += wl.where(wl.index(m) >= wl.index(k), x[m, k], 0.0).to(x.dtype) @ w[k, n]
    out[m, n] = acc


@pytest.mark.parametrize("sizes", [(127, 333, 200), (128, 64, 128), (1, 1, 8), (300, 65, 300)])
def test_a_loop_that_ends_with_its_tile(sizes):
    m, n, k = sizes
    arrays = {"x": drawn(m, k), "w": drawn(k, n, seed=1)}
    types = dict.fromkeys(("x", "w", "out"), "bf16")
    (got,), (same,) = executed(causal_bound, types, {"m": m, "n": n, "k": k}, arrays)
    want = np.tril(arrays["x"]) @ arrays["w"]
    close(got, want, 5e-2)
    close(same, want)


@wl.kernel
def split_sum(
    x: wl.In["m", "c", "j"],
    w: wl.In["n", "c", "j"],
    one: wl.In["p", wl.f32],
    out: wl.Out["m", "n", wl.f32],
):
    p, m, n = wl.tile("p", "m", "n")
    acc = wl.zeros(m, n)
    for c in wl.steps(x.c, 1, part=p):
        acc += x[m, c] @ w[n, c].T
    out[m, n] += acc * one[p]


@pytest.mark.parametrize(("m", "n", "c", "p"), [(127, 66, 3, 2), (64, 64, 4, 4), (1, 2, 1, 1)])
def test_parts_of_a_loop_are_added(m, n, c, p):
    arrays = {"x": drawn(m, c, 64), "w": drawn(n, c, 64, seed=1), "one": np.arange(1.0, p + 1)}
    sizes = {"m": m, "n": n, "c": c, "p": p, "j": 64}
    (got,), (same,) = executed(split_sum, {"x": "bf16", "w": "bf16"}, sizes, arrays)
    each = -(-c // p)
    want = sum(
        np.einsum("mcj,ncj->mn", *(arrays[t][:, i * each : (i + 1) * each] for t in "xw")) * (i + 1)
        for i in range(p)
    )
    close(got, want)
    close(same, want)


@wl.kernel
def row_quantised(x: wl.In["m", "n"], out: wl.Out["m", "n", wl.e4m3], scale: wl.Out["m", wl.f32]):
    m = wl.tile(out, whole="n")
    v = x[m].to(wl.f32)
    s = wl.maximum(wl.abs(v).max(axis=1), 1e-12) / 448.0
    out[m] = v / s
    scale[m] = s


@pytest.mark.parametrize("m", [1, 127])
def test_rows_are_quantised_without_a_loop(m):
    x = drawn(m, 128)
    (got, scale), _ = executed(row_quantised, {"x": "bf16"}, {"m": m, "n": 128}, {"x": x})
    close(got * scale[:, None], x, 0.07)
    np.testing.assert_allclose(np.abs(got).max(1), 448)


FLOATS = """
@wl.kernel
def product(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += {x} @ {w}.T
    out[m, n] = acc
"""


def test_products_of_other_types_are_not_pipelined_and_the_fix_works():
    text = run_source(FLOATS.format(x="x[m, k]", w="w[n, k]"), wl=wl)["product"]
    sizes = {"m": 127, "n": 66, "k": 72}
    with pytest.raises(KernelError, match="multiply two tiles of one type") as found:
        assert text.compile({"x": "f32", "w": "f32"}, sizes=sizes).choices
    assert "acc += x[m, k] @ w[n, k].T" in str(found.value)
    fixed = FLOATS.format(x="x[m, k].to(wl.bf16)", w="w[n, k].to(wl.bf16)")
    text = run_source(fixed, wl=wl)["product"]
    arrays = {"x": drawn(127, 72), "w": drawn(66, 72, seed=1)}
    (got,), _ = executed(text, {"x": "f32", "w": "f32"}, sizes, arrays)
    close(got, arrays["x"] @ arrays["w"].T)


ATTENTION = """
@wl.kernel
def attention(q: wl.In["s", "d"], k: wl.In["t", "d"], v: wl.In["t", "d"], out: wl.Out["s", "d"]):
    s = wl.tile(out, whole="d")
    qs = q[s]
    o, l = wl.zeros(s, q.d), wl.zeros(s)
    for t in wl.steps(k.t):
        p = wl.exp(qs @ k[t].T)
        l += p.sum(axis=1)
        o += {product}
    out[s] = o / l
"""
ROWS = """
@wl.kernel
def rows(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    {body}
"""


def text_of(source, name):
    return run_source(source, wl=wl)[name]


def test_fp8_scores_are_not_pipelined_and_both_as_bf16_work():
    types = {"q": "e4m3", "k": "e4m3", "v": "e4m3", "out": "f32"}
    sizes = {"s": 100, "t": 136, "d": 128}
    text = text_of(ATTENTION.format(product="p.to(v.dtype) @ v[t]"), "attention")
    with pytest.raises(KernelError, match="fp8 operands come from memory") as found:
        assert text.compile(types, sizes=sizes).choices
    fix = "p.to(wl.bf16) @ v[t].to(wl.bf16)"
    assert fix in str(found.value)
    shapes = {"q": (100, 128), "k": (136, 128), "v": (136, 128)}
    arrays = {n: drawn(*s, seed=i, dtype=DType.E4M3) / 4 for i, (n, s) in enumerate(shapes.items())}
    arrays = {n: rounded(a, DType.E4M3) for n, a in arrays.items()}
    text = text_of(ATTENTION.format(product=fix), "attention")
    (got,), (same,) = executed(text, types, sizes, arrays)
    p = np.exp(arrays["q"] @ arrays["k"].T)
    want = p @ arrays["v"] / p.sum(1, keepdims=True)
    close(got, want)
    close(same, want)


@pytest.mark.parametrize("d", [72, 200])
def test_a_whole_axis_that_fills_no_lines_is_padded_inside(d):
    text = text_of(ATTENTION.format(product="p.to(v.dtype) @ v[t]"), "attention")
    types = dict.fromkeys(("q", "k", "v", "out"), "bf16")
    assert text.compile(types, sizes={"s": 128, "t": 128, "d": d}).cuda


@pytest.mark.parametrize("d", [512, 1024])
def test_a_product_that_is_too_wide_for_a_pipeline_says_how_wide_it_may_be(d):
    text = text_of(ATTENTION.format(product="p.to(v.dtype) @ v[t]"), "attention")
    types = dict.fromkeys(("q", "k", "v", "out"), "bf16")
    with pytest.raises(KernelError, match="256 at most"):
        assert text.compile(types, sizes={"s": 128, "t": 128, "d": d}).choices


def test_a_product_that_is_too_wide_for_an_sm_has_the_figures():
    text = text_of(ATTENTION.format(product="p.to(v.dtype) @ v[t]"), "attention")
    types = dict.fromkeys(("q", "k", "v", "out"), "bf16")
    with pytest.raises(KernelError, match="do not fit on an SM") as found:
        assert text.compile(types, sizes={"s": 128, "t": 128, "d": 1024}).cuda
    assert "for t in wl.steps" in str(found.value)
    assert "elements of tiles in a thread" in str(found.value)


@pytest.mark.parametrize("n", [1, 104, 128, 1000])
def test_rows_of_any_length_by_tiles_whole_or_by_steps(n):
    types = {"x": "bf16", "out": "bf16"}
    tiles = "m, n = wl.tile(out)\n    out[m, n] = x[m, n] * 2.0"
    whole = 'm = wl.tile(out, whole="n")\n    out[m] = x[m] * 2.0'
    steps = 'm = wl.tile("m")\n    for n in wl.steps(x.n):\n        out[m, n] = x[m, n] * 2.0'
    x = drawn(127, n)
    for body in (tiles, whole, steps):
        text = text_of(ROWS.format(body=body), "rows")
        (got,), _ = executed(text, types, {"m": 127, "n": n}, {"x": x})
        close(got, 2 * x)


def test_shared_memory_that_does_not_suffice_is_counted_at_the_loop():
    source = ATTENTION.format(product="p.to(v.dtype) @ v[t]")
    source = source.replace('v: wl.In["t", "d"]', 'v: wl.In["t", "e"]').replace("q.d", "v.e")
    source = source.replace('wl.Out["s", "d"]', 'wl.Out["s", "e"]').replace(
        'whole="d"', 'whole="e"'
    )
    types = dict.fromkeys(("q", "k", "v", "out"), "bf16")
    text = text_of(source, "attention")
    with pytest.raises(WarploomError, match="bytes of shared memory") as found:
        assert text.compile(types, sizes={"s": 512, "t": 512, "d": 4096, "e": 128}).cuda
    assert "for t in wl.steps" in str(found.value)
    assert " -" not in str(found.value)
