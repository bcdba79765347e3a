"""Random bits, the largest few, and elements picked by each row beside products, as emitted."""

import numpy as np

import warploom as wl
from tests.host_cuda import NEEDS_COMPILER
from tests.kernels.written import close, drawn, executed

pytestmark = NEEDS_COMPILER


@wl.kernel
def dropped(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"], *, seed: int):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    u = wl.uniform(seed, wl.index(m) * w.n + wl.index(n))
    out[m, n] = wl.where(u >= 0.5, acc, 0.0)


@wl.kernel
def router(
    x: wl.In["m", "k"],
    w: wl.In["e", "k"],
    best: wl.Out["j", "m", wl.f32],
    which: wl.Out["j", "m", wl.i32],
):
    m = wl.tile("m")
    acc = wl.zeros(m, w.e)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    values, places = wl.topk(acc, 2)
    for i in range(2):
        best[i, m] = values[i]
        which[i, m] = places[i]


@wl.kernel
def picked(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    t: wl.In["m", wl.i32],
    y: wl.In["m", "n"],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc + y[m, t[m]]


def test_dropout_after_a_product_equals_the_reference():
    x, w = drawn(70, 64), drawn(50, 64, seed=1)
    sizes = {"m": 70, "n": 50, "k": 64}
    (out,), (wanted,) = executed(dropped, "bf16", sizes, {"x": x, "w": w}, {"seed": 7})
    assert ((out == 0) == (wanted == 0)).all()
    assert 0.4 < (out == 0).mean() < 0.6
    close(out, wanted)


def test_the_two_largest_of_a_product():
    x, w = drawn(70, 64), drawn(64, 64, seed=1)
    sizes = {"m": 70, "e": 64, "k": 64, "j": 2}
    (best, which), _ = executed(router, {"x": "bf16", "w": "bf16"}, sizes, {"x": x, "w": w})
    logits = x @ w.T
    order = np.argsort(-logits, axis=1, kind="stable")[:, :2]
    assert (order == which.T).all()
    close(best.T, np.take_along_axis(logits, order, 1))


def test_an_element_picked_by_each_row_beside_a_product():
    x, w, y = drawn(70, 64), drawn(50, 64, seed=1), drawn(70, 50, seed=3)
    t = np.random.default_rng(0).integers(-1, 51, 70)
    types = dict.fromkeys(("x", "w", "y", "out"), "bf16")
    arrays = {"x": x, "w": w, "t": t, "y": y}
    (out,), _ = executed(picked, types, {"m": 70, "n": 50, "k": 64}, arrays)
    some = np.where((t >= 0) & (t < 50), y[np.arange(70), np.clip(t, 0, 49)], 0)
    close(out, x @ w.T + some[:, None])


@wl.kernel
def nested_products(x: wl.In["m", "k"], w: wl.In["j", "n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for j in wl.steps(w.j, 1):
        for k in wl.steps(x.k):
            acc += x[m, k] @ w[j, n, k].T
    out[m, n] = acc


@wl.kernel
def added_whole(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n", wl.i32]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] += acc.to(wl.i32)


def test_what_pipelined_loops_cannot_do_runs_without_a_pipeline():
    x, w = drawn(33, 70), drawn(3, 20, 70, seed=1)
    got = nested_products.interpret(x, w, types="bf16")
    close(np.asarray(got, np.float64), np.einsum("mk,jnk->mn", x, w), 5e-2)
    whole, other = np.round(2 * drawn(17, 64)), np.round(2 * drawn(40, 64, seed=1))
    begun = np.arange(17 * 40, dtype=np.int32).reshape(17, 40)
    got = added_whole.interpret(
        whole, other, types={"x": "bf16", "w": "bf16"}, initial={"out": begun}
    )
    assert (got == begun + (whole @ other.T).astype(np.int32)).all()


@wl.kernel
def masked_after(
    x: wl.In["m", "k"], w: wl.In["n", "k"], mask: wl.In["m", "n", wl.bool_], out: wl.Out["m", "n"]
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = wl.where(mask[m, n], acc, 0.0)


@wl.kernel
def masked_inside(
    q: wl.In["s", "d"],
    k: wl.In["t", "d"],
    mask: wl.In["s", "t", wl.bool_],
    out: wl.Out["s", wl.f32],
):
    s = wl.tile(out)
    qs = q[s]
    l = wl.zeros(s)
    for t in wl.steps(k.t):
        l += wl.where(mask[s, t], wl.exp(qs @ k[t].T * 0.1), 0.0).sum(axis=1)
    out[s] = l


def test_masks_of_bytes_beside_products():
    x, w = drawn(70, 64), drawn(50, 64, seed=1)
    mask = np.random.default_rng(0).integers(0, 2, (70, 50))
    types = {"x": "bf16", "w": "bf16", "out": "bf16"}
    arrays, sizes = {"x": x, "w": w, "mask": mask}, {"m": 70, "n": 50, "k": 64}
    (out,), _ = executed(masked_after, types, sizes, arrays, pingpong=1)
    close(out, np.where(mask, x @ w.T, 0))
    types, sizes = {"q": "bf16", "k": "bf16"}, {"s": 70, "t": 50, "d": 64}
    arrays = {"q": x, "k": w, "mask": mask}
    (out,), _ = executed(masked_inside, types, sizes, arrays, pingpong=1)
    close(out, np.where(mask, np.exp(x @ w.T * 0.1), 0).sum(1))
