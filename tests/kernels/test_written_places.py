"""Loads and stores at odd sizes: indices outside, strides, lists, scattered rows."""

import numpy as np
import pytest

import tests.host_cuda as hc
import warploom as wl
from tests.frontend.sources import run_source
from tests.kernels.written import NAN, close, drawn, executed
from warploom.errors import KernelShapeError


@pytest.fixture(autouse=True)
def _nan_around(monkeypatch):
    monkeypatch.setattr(hc, "POISON", NAN)


@wl.kernel
def shifted(
    x: wl.In["b", "m", "k"],
    w: wl.In["n", "k"],
    prev: wl.In["b", "m", "n"],
    bias: wl.In["b", "n", wl.f32],
    g: wl.In["b", wl.f32],
    rows: wl.In["b", "m", wl.f32],
    o1: wl.Out["b", "m", "n"],
    o2: wl.Out["b", "m", "n"],
    o3: wl.Out["b", "m", "n"],
    o4: wl.Out["b", "m", "n"],
):
    b, m, n = wl.tile("b", "m", "n")
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[b - 1, m, k] @ w[n, k].T
    o1[b, m, n] = acc
    o2[b, m, n] = acc * 0.0 + prev[b - 1, m, n]
    o3[b, m, n] = acc * 0.0 + bias[b + 1, n]
    o4[b + 1, m, n] = acc * 0.0 + g[b - 2] + bias[7, n] + rows[b - 1, m]


@wl.kernel
def shifted_rows(
    x: wl.In["b", "m", "k"],
    y: wl.In["b", "m", "n"],
    rows: wl.In["b", "m", wl.f32],
    out: wl.Out["b", "m", wl.f32],
):
    b, m = wl.tile("b", "m", "n", whole="n")
    s = y[b, m].to(wl.f32).sum(axis=1) * 0.0
    for k in wl.steps(x.k):
        s += x[b, m, k].to(wl.f32).sum(axis=1)
    out[b - 1, m] = s + rows[b + 1, m]


@pytest.mark.parametrize("sizes", [(3, 127, 200), (1, 1, 8)])
def test_rows_outside_an_axis_are_not_stored(sizes):
    b, m, k = sizes
    arrays = {"x": drawn(b, m, k), "y": drawn(b, m, 64), "rows": drawn(b, m, seed=1)}
    sizes = {"b": b, "m": m, "k": k, "n": 64}
    (got,), (same,) = executed(shifted_rows, {"x": "bf16", "y": "bf16"}, sizes, arrays)
    sums = arrays["x"].sum(2) + np.concatenate([arrays["rows"][1:], np.zeros((1, m))])
    want = np.concatenate([sums[1:], np.zeros((1, m))])
    close(got, want)
    close(same, want)


@pytest.mark.parametrize("sizes", [(3, 40, 50, 64), (2, 127, 333, 200), (1, 1, 1, 8)])
def test_numbers_outside_an_axis_read_0_and_store_nothing(sizes):
    b, m, n, k = sizes
    shapes = {"x": (b, m, k), "w": (n, k), "prev": (b, m, n)}
    arrays = {name: drawn(*s, seed=i) for i, (name, s) in enumerate(shapes.items())}
    arrays |= {"bias": drawn(b, n, seed=7), "g": drawn(b, seed=8), "rows": drawn(b, m, seed=9)}
    types = dict.fromkeys(("x", "w", "prev", "o1", "o2", "o3", "o4"), "bf16")
    sizes = dict(zip("bmnk", sizes, strict=True))
    outs, reference = executed(shifted, types, sizes, arrays)

    def down(a, by=1):
        return np.concatenate([np.zeros_like(a[:by]), a[:-by]])[: len(a)]

    def up(a):
        return np.concatenate([a[1:], np.zeros_like(a[:1])])

    full = (b, m, n)
    o4 = np.zeros(full)
    o4[1:] = (down(arrays["g"], 2)[:, None, None] + down(arrays["rows"])[:, :, None])[:-1]
    o4[1:] += (arrays["bias"][7] if b > 7 else np.zeros(n))[None, None]
    wants = (
        down(arrays["x"]) @ arrays["w"].T,
        down(arrays["prev"]),
        np.broadcast_to(up(arrays["bias"])[:, None], full),
        o4,
    )
    for got, same, want in zip(outs, reference, wants, strict=True):
        close(got, want)
        close(same, want)


@wl.kernel
def moved_units(x: wl.In["b", "m", "k"], w: wl.In["n", "k"], out: wl.Out["b", "m", "n"]):
    b, m, n = wl.tile("b", "m", "n")
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[b, m, k] @ w[n, k].T
    out[b + 1, m, n] = acc


@pytest.mark.parametrize("pins", [{"store_from_registers": True}, {"store_from_registers": False}])
def test_a_computed_unit_is_one_index_of_a_store(pins):
    b, m, n, k = 3, 40, 48, 64
    arrays = {"x": drawn(b, m, k), "w": drawn(n, k, seed=1)}
    types = dict.fromkeys(("x", "w", "out"), "bf16")
    sizes = {"b": b, "m": m, "n": n, "k": k}
    more = {"m": 64, "n": 64, "k": 64, "consumer_warpgroups": 1, "pingpong": 1, "stages": 2}
    (got,), (same,) = executed(moved_units, types, sizes, arrays, **more, **pins)
    want = np.zeros((b, m, n))
    want[1:] = (arrays["x"] @ arrays["w"].T)[:-1]
    close(got, want, 4e-2)
    close(same, want, 4e-2)


@wl.kernel
def pairs(x: wl.In["m", "k"], w: wl.In["n", "u", "k"], out: wl.Out["m", "n", "u"]):
    m, n = wl.tile("m", "n")
    a0, a1 = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k):
        a = x[m, k]
        a0 += a @ w[n, 0, k].T
        a1 += a @ w[n, 1, k].T
    out[m, n, 0] = a0
    out[m, n, 1] = a1


@wl.kernel
def summed_pairs(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n", "u", wl.f32]):
    m, n = wl.tile("m", "n")
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n, 0] += acc


@pytest.mark.parametrize("kind", ["bf16", "f32"])
@pytest.mark.parametrize("sizes", [(40, 48, 64), (127, 333, 200), (1, 1, 8), (129, 65, 72)])
def test_a_number_on_the_last_axis_of_a_store_keeps_the_columns_apart(sizes, kind):
    m, n, k = sizes
    arrays = {"x": drawn(m, k), "w": drawn(n, 2, k, seed=1)}
    types = {"x": "bf16", "w": "bf16", "out": kind}
    (got,), (same,) = executed(pairs, types, {"m": m, "n": n, "k": k, "u": 2}, arrays)
    want = np.einsum("mk,nuk->mnu", arrays["x"], arrays["w"])
    close(got, want, 5e-2)
    close(same, want)


def test_a_sum_of_columns_that_lie_apart():
    x, w = drawn(33, 70), drawn(20, 70, seed=1)
    begun = drawn(33, 20, 2, seed=2)
    got = summed_pairs.interpret(
        x, w, types={"x": "bf16", "w": "bf16"}, initial={"out": begun}, sizes={"u": 2}
    )
    close(got[..., 0], begun[..., 0] + x @ w.T, 5e-2)
    assert (got[..., 1] == begun[..., 1].astype(np.float32)).all()


BLOCK_MAX = """
@wl.kernel
def block_max(x: wl.In["m", "k"], w: wl.In["n", "k"], top: wl.Out["m", "n/64", wl.f32]):
    m, n = wl.tile("m", "n")
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    top[m, n] = acc.max(axis=1)
"""


@wl.kernel
def split_max(x: wl.In["m", "k"], w: wl.In["b", "n", "k"], top: wl.Out["m", "b", wl.f32]):
    b, m = wl.tile("b", "m", "n", whole="n")
    acc = wl.zeros(m, w.n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[b, :, k].T
    top[m, b] = acc.max(axis=1)


def test_blocks_of_an_output_are_refused_and_the_fix_works():
    text = run_source(BLOCK_MAX, wl=wl)["block_max"]
    with pytest.raises(KernelShapeError, match="split the axis"):
        text.specialise({"x": "bf16", "w": "bf16"})
    arrays = {"x": drawn(127, 72), "w": drawn(3, 64, 72, seed=1)}
    sizes = {"m": 127, "b": 3, "n": 64, "k": 72}
    (got,), _ = executed(split_max, {"x": "bf16", "w": "bf16"}, sizes, arrays)
    close(got, np.einsum("mk,bnk->mbn", arrays["x"], arrays["w"]).max(2))


@wl.kernel
def sparse(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    cols: wl.In["m/128", "c", wl.i32],
    counts: wl.In["m/128", wl.i32],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out, rows=128)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64, some=(cols, counts)):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc


@pytest.mark.parametrize("m", [300, 127, 129, 256, 1])
def test_the_last_rows_walk_their_own_list(m):
    n, k, tiles = 65, 256, -(-m // 128)
    x, w = drawn(m, k), drawn(n, k, seed=1)
    cols = np.array([[0, 1], [1, 2], [3, 0]])[:tiles]
    counts = np.array([2, 2, 1])[:tiles]
    want = np.zeros((m, n))
    for i in range(tiles):
        rows = slice(128 * i, 128 * i + 128)
        for j in cols[i, : counts[i]]:
            step = slice(64 * j, 64 * j + 64)
            want[rows] += x[rows, step] @ w[:, step].T
    types = dict.fromkeys(("x", "w", "out"), "bf16")
    arrays = {"x": x, "w": w, "cols": cols, "counts": counts}
    (got,), (same,) = executed(sparse, types, {"m": m, "n": n, "k": k, "c": 2}, arrays)
    close(got, want, 5e-2)
    close(same, want)


@wl.kernel
def conv(
    x: wl.In["b", "h", "w", "c"], f: wl.In["o", "i", "j", "c"], out: wl.Out["b", "h", "w", "o"]
):
    b, h, w, o = wl.tile(out)
    acc = wl.zeros(w, o)
    for c in wl.steps(x.c):
        for i in range(3):
            for j in range(3):
                acc += x[b, h + i - 1, wl.index(w) + j - 1, c] @ f[o, i, j, c].T
    out[b, h, w, o] = acc


@pytest.mark.parametrize("sizes", [(2, 3, 70, 72, 33), (1, 1, 1, 8, 1)])
def test_a_padded_convolution(sizes):
    b, h, w, c, o = sizes
    x, f = drawn(b, h, w, c), drawn(o, 3, 3, c, seed=1)
    types = dict.fromkeys(("x", "f", "out"), "bf16")
    extents = dict(zip("bhwco", sizes, strict=True)) | {"i": 3, "j": 3}
    (got,), (same,) = executed(conv, types, extents, {"x": x, "f": f})
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    want = sum(
        np.einsum("bhwc,oc->bhwo", wide[:, i : i + h, j : j + w], f[:, i, j])
        for i in range(3)
        for j in range(3)
    )
    close(got, want, 0.15)
    close(same, want)


@wl.kernel
def moved(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    res: wl.In["m", "n"],
    bias: wl.In["n", wl.f32],
    out: wl.Out["r", "n"],
):
    m, n = wl.tile("m", "n")
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[wl.index(m) * 2 + 3, n] = (
        acc + res[wl.index(m) - 1, n] + res[m, wl.index(n) + 1] + bias[wl.index(n) - 1]
    )


@wl.kernel
def moved_rows(x: wl.In["m", "k"], out: wl.Out["r", wl.f32]):
    m = wl.tile("m")
    s = wl.zeros(m)
    for k in wl.steps(x.k):
        s += x[m, k].to(wl.f32).sum(axis=1)
    out[wl.index(m) * 2 - 1] = s


@pytest.mark.parametrize("sizes", [(70, 48, 64), (127, 333, 200), (1, 1, 8)])
def test_rows_are_read_and_stored_where_an_index_says(sizes):
    m, n, k = sizes
    arrays = {"x": drawn(m, k), "w": drawn(n, k, seed=1), "res": drawn(m, n, seed=2)}
    arrays["bias"] = drawn(n, seed=3)
    types = dict.fromkeys(("x", "w", "res", "out"), "bf16")
    rows = 2 * m
    (got,), (same,) = executed(moved, types, {"m": m, "n": n, "k": k, "r": rows}, arrays)
    made = arrays["x"] @ arrays["w"].T
    made[1:] += arrays["res"][:-1]
    made[:, :-1] += arrays["res"][:, 1:]
    made[:, 1:] += arrays["bias"][:-1]
    want = np.zeros((rows, n))
    want[3::2] = made[: len(want[3::2])]
    close(got, want, 5e-2)
    close(same, want)
    (got,), (same,) = executed(
        moved_rows, {"x": "bf16"}, {"m": m, "k": k, "r": rows}, {"x": arrays["x"]}
    )
    want = np.zeros(rows)
    want[1::2][: m - 1] = arrays["x"].sum(1)[1:]
    close(got, want)
    close(same, want)


SCATTERED = """
@wl.kernel
def scattered(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "r"]):
    m, n = wl.tile("m", "n")
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, wl.index(n) * 2 + 1] = acc
"""


def test_scattered_columns():
    kernel = run_source(SCATTERED, wl=wl)["scattered"]
    x, w = drawn(33, 70), drawn(20, 70, seed=1)
    got = kernel.interpret(x, w, types="bf16", sizes={"r": 41})
    close(np.asarray(got[:, 1::2], np.float64), x @ w.T, 5e-2)
    assert np.isnan(np.asarray(got[:, ::2], np.float64)).all()  # nobody stores those
