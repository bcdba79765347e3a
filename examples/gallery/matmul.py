"""Products of matrices with what is fused into them."""

import math

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def silu(x):
    return x / (1 + np.exp(-x))


@wl.kernel
def gemm_epilogue(
    a: wl.In["k", "m"],
    b: wl.In["n", "k"],
    rows: wl.In["m", wl.f32],
    columns: wl.In["n", wl.f32],
    bias: wl.In["n", wl.f32],
    residual: wl.In["m", "n"],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[k, m].T @ b[n, k].T
    out[m, n] = wl.gelu(acc * rows[m] * columns[n] + bias[n]) + residual[m, n]


@wl.kernel
def batched(x: wl.In["b", "h", "m", "k"], w: wl.In["h", "n", "k"], out: wl.Out["b", "h", "m", "n"]):
    b, h, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[b, h, m, k] @ w[h, n, k].T
    out[b, h, m, n] = acc


@wl.kernel
def layer_norm_gemm(
    x: wl.In["m", "k"],
    gamma: wl.In["k"],
    beta: wl.In["k"],
    w: wl.In["n", "k"],
    out: wl.Out["m", "n"],
    *,
    eps: float,
):
    m, n = wl.tile(out)
    s, ss = wl.zeros(m), wl.zeros(m)
    for k in wl.steps(x.k):
        a = x[m, k].to(wl.f32)
        s += a.sum(axis=1)
        ss += (a * a).sum(axis=1)
    mean = s / x.k
    r = wl.rsqrt(ss / x.k - mean * mean + eps)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        y = (x[m, k] - mean) * r * gamma[k] + beta[k]
        acc += y.to(x.dtype) @ w[n, k].T
    out[m, n] = acc


def layer_norm_gemm_wanted(x, gamma, beta, w, eps):
    mean, var = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    return ((x - mean) / np.sqrt(var + eps) * gamma + beta) @ w.T


@wl.kernel
def linear_cross_entropy(
    x: wl.In["m", "d"],
    w: wl.In["v", "d"],
    label: wl.In["m", wl.i32],
    loss: wl.Out["m", wl.f32],
):
    m = wl.tile(loss)
    total, top, hit = wl.zeros(m), wl.full(m, -1.0e30), wl.zeros(m)
    for v in wl.steps(w.v, 128):
        z = wl.zeros(m, v)
        for d in wl.steps(x.d):
            z += x[m, d] @ w[v, d].T
        hit += wl.where(wl.index(v) == label[m], z, 0.0).sum(axis=1)
        new = wl.maximum(top, z.max(axis=1))
        total = total * wl.exp(top - new) + wl.exp(z - new).sum(axis=1)
        top = new
    loss[m] = top + wl.log(total) - hit


def linear_cross_entropy_wanted(x, w, label):
    z = x @ w.T
    return np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), label]


@wl.kernel
def router(
    x: wl.In["m", "k"], w: wl.In["e", "k"], weight: wl.Out["m", wl.f32], expert: wl.Out["m", wl.i32]
):
    m = wl.tile(weight)
    z = wl.zeros(m, w.e)
    for k in wl.steps(x.k):
        z += x[m, k] @ w[:, k].T
    p = wl.exp(z - z.max(axis=1))
    weight[m] = (p / p.sum(axis=1)).max(axis=1)
    expert[m] = z.argmax(axis=1)


def router_wanted(x, w):
    z = x @ w.T
    p = np.exp(z - z.max(1, keepdims=True))
    return (p / p.sum(1, keepdims=True)).max(1), z.argmax(1)


@wl.kernel
def streamed_top2(
    x: wl.In["m", "d"],
    w: wl.In["v", "d"],
    first: wl.Out["m", wl.f32],
    second: wl.Out["m", wl.f32],
    place: wl.Out["m", wl.i32],
):
    m = wl.tile(first)
    xs = x[m, :]
    a, b, at = wl.full(m, -1.0e30), wl.full(m, -1.0e30), wl.full(m, 0, dtype=wl.i32)
    for v in wl.steps(w.v):
        z = xs @ w[v, :].T
        (most, next), (where, _) = wl.topk(z, 2)
        b = wl.maximum(wl.minimum(a, most), wl.maximum(b, next))
        at = wl.where(most > a, where, at)
        a = wl.maximum(a, most)
    first[m] = a
    second[m] = b
    place[m] = at


def streamed_top2_wanted(x, w):
    z = np.sort(x @ w.T, axis=1)
    return z[:, -1], z[:, -2], (x @ w.T).argmax(1)


@wl.kernel
def mlp(
    x: wl.In["m", "d"],
    gate: wl.In["f", "d"],
    up: wl.In["f", "d"],
    down: wl.In["e", "f"],
    out: wl.Out["m", "e"],
):
    m = wl.tile(out, whole="e")
    acc = wl.zeros(m, down.e)
    for f in wl.steps(gate.f, 64):
        g, u = wl.zeros(m, f), wl.zeros(m, f)
        for d in wl.steps(x.d):
            g += x[m, d] @ gate[f, d].T
            u += x[m, d] @ up[f, d].T
        acc += (wl.silu(g) * u).to(x.dtype) @ down[:, f].T
    out[m] = acc


@wl.kernel
def conv3x3(x: wl.In["b", "y", "z", "c"], w: wl.In["t", "o", "c"], out: wl.Out["b", "y", "z", "o"]):
    b, y, z, o = wl.tile(out)
    acc = wl.zeros(z, o)
    for c in wl.steps(x.c):
        for t in range(9):
            pixels = x[b, y + (t // 3 - 1), wl.index(z) + (t % 3 - 1), c]
            acc += pixels @ w[t, o, c].T
    out[b, y, z, o] = acc


def conv3x3_wanted(x, w):
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    h, v = x.shape[1:3]
    return sum(padded[:, t // 3 : t // 3 + h, t % 3 : t % 3 + v] @ w[t].T for t in range(9))


@wl.kernel
def gemm_fp8_out(
    x: wl.In["m", "k"], w: wl.In["n", "k"], q: wl.Out["m", "n", wl.e4m3], s: wl.Out["m", wl.f32]
):
    m = wl.tile(q, whole="n")
    acc = wl.zeros(m, w.n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    scale = wl.maximum(wl.abs(acc).max(axis=1), 1e-12) / 448.0
    q[m] = acc / scale
    s[m] = scale


def gemm_fp8_out_wanted(x, w):
    z = x @ w.T
    s = np.abs(z).max(1) / 448
    return z / s[:, None], s


@wl.kernel
def syrk(x: wl.In["m", "k"], y: wl.In["n", "k"], out: wl.Out["m", "n", wl.f32]):
    """Of x @ x.T the lower triangle; x is given twice."""
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    lower = wl.index(n).min() <= wl.index(m).max()
    for k in wl.steps(x.k, until=wl.where(lower, x.k, 0)):  # no step above the diagonal
        acc += x[m, k] @ y[n, k].T
    out[m, n] = wl.where(wl.index(m) >= wl.index(n), acc, 0.0)


@wl.kernel
def int8_weights(
    x: wl.In["m", "k"],
    w: wl.In["n", "k", wl.i8],
    scale: wl.In["n", "k/128", wl.f32],
    zero: wl.In["n", "k/128", wl.f32],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(n, m)
    for k in wl.steps(x.k, 128):
        acc += ((w[n, k] - zero[n, k]).to(x.dtype) @ x[m, k].T) * scale[n, k]
    out[m, n] = acc.T


def int8_weights_wanted(x, w, scale, zero):
    wide = lambda s: np.repeat(s, 128, axis=1)[:, : w.shape[1]]  # noqa: E731
    return x @ ((w - wide(zero)) * wide(scale)).T


@wl.kernel
def accumulate(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] += acc


@wl.kernel
def lora(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    a: wl.In["r", "k"],
    b: wl.In["n", "r"],
    out: wl.Out["m", "n"],
    *,
    scale: float,
):
    m, n = wl.tile(out)
    acc, low = wl.zeros(m, n), wl.zeros(m, a.r)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
        low += x[m, k] @ a[:, k].T
    out[m, n] = acc + (low.to(x.dtype) @ b[n, :].T) * scale


@wl.kernel
def chain(a: wl.In["m", "k"], b: wl.In["r", "k"], c: wl.In["n", "r"], out: wl.Out["m", "n"]):
    m = wl.tile("m")
    low = wl.zeros(m, b.r)
    for k in wl.steps(a.k):
        low += a[m, k] @ b[:, k].T
    for n in wl.steps(c.n):
        out[m, n] = low.to(a.dtype) @ c[n].T


@wl.kernel
def qkv_rope(
    x: wl.In["m", "k"],
    w: wl.In["h", "d", "k"],
    cos: wl.In["m", "d", wl.f32],
    sin: wl.In["m", "d", wl.f32],
    out: wl.Out["h", "m", "d"],
):
    h, m = wl.tile(out, whole="d")
    acc, turned = wl.zeros(m, w.d), wl.zeros(m, w.d)
    i = wl.index(w.d)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[h, :, k].T
        turned += x[m, k] @ w[h, (i + w.d // 2) % w.d, k].T
    out[h, m] = acc * cos[m] + wl.where(i < w.d // 2, -turned, turned) * sin[m]


def qkv_rope_wanted(x, w, cos, sin):
    z = np.einsum("mk,hdk->hmd", x, w)
    d = z.shape[-1]
    other = np.roll(z, d // 2, axis=-1)
    return z * cos + np.where(np.arange(d) < d // 2, -other, other) * sin


@wl.kernel
def several(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    out: wl.Out["m", "n"],
    pre: wl.Out["m", "n", wl.f32],
    norms: wl.Out["m", wl.f32],
    columns: wl.Out["n", wl.f32],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    pre[m, n] = acc
    out[m, n] = wl.silu(acc)
    norms[m] += (acc * acc).sum(axis=1)
    columns[n] += acc.sum(axis=0)


def several_wanted(x, w):
    z = x @ w.T
    return silu(z), z, (z * z).sum(1), z.sum(0)


def xw(rng, m=100, n=72, k=136):
    return {"x": normal(rng, m, k), "w": normal(rng, n, k, scale=0.2)}


CASES = (
    Case(
        kernel=gemm_epilogue,
        make=lambda rng: {
            "a": normal(rng, 136, 104),
            "b": normal(rng, 72, 136, scale=0.2),
            "rows": normal(rng, 104),
            "columns": normal(rng, 72),
            "bias": normal(rng, 72),
            "residual": normal(rng, 104, 72),
        },
        wanted=lambda a, b, rows, columns, bias, residual: (
            gelu((a.T @ b.T) * rows[:, None] * columns + bias) + residual
        ),
        trial=1,
    ),
    Case(
        kernel=batched,
        make=lambda rng: {"x": normal(rng, 2, 3, 70, 72), "w": normal(rng, 3, 40, 72, scale=0.2)},
        wanted=lambda x, w: np.einsum("bhmk,hnk->bhmn", x, w),
        trial=2,
    ),
    Case(
        kernel=layer_norm_gemm,
        make=lambda rng: {
            "x": normal(rng, 100, 136),
            "gamma": normal(rng, 136),
            "beta": normal(rng, 136),
            "w": normal(rng, 72, 136, scale=0.2),
        },
        wanted=layer_norm_gemm_wanted,
        scalars={"eps": 1e-5},
        trial=4,
    ),
    Case(
        kernel=linear_cross_entropy,
        make=lambda rng: {
            "x": normal(rng, 70, 264),
            "w": normal(rng, 333, 264, scale=0.1),
            "label": rng.integers(0, 333, 70),
        },
        wanted=linear_cross_entropy_wanted,
        trial=5,
    ),
    Case(
        kernel=router,
        make=lambda rng: {"x": normal(rng, 100, 136), "w": normal(rng, 60, 136, scale=0.2)},
        wanted=router_wanted,
        trial=6,
    ),
    Case(
        kernel=streamed_top2,
        make=lambda rng: {"x": normal(rng, 100, 64), "w": normal(rng, 333, 64)},
        wanted=streamed_top2_wanted,
        trial=6,
    ),
    Case(
        kernel=mlp,
        make=lambda rng: {
            "x": normal(rng, 70, 136),
            "gate": normal(rng, 200, 136, scale=0.1),
            "up": normal(rng, 200, 136, scale=0.1),
            "down": normal(rng, 128, 200, scale=0.1),
        },
        wanted=lambda x, gate, up, down: (silu(x @ gate.T) * (x @ up.T)) @ down.T,
        trial=8,
    ),
    Case(
        kernel=conv3x3,
        make=lambda rng: {"x": normal(rng, 2, 5, 9, 72), "w": normal(rng, 9, 40, 72, scale=0.1)},
        wanted=conv3x3_wanted,
        trial=9,
    ),
    Case(
        kernel=gemm_fp8_out,
        make=lambda rng: xw(rng, n=72),
        wanted=gemm_fp8_out_wanted,
        tolerance=5e-2,
        trial=11,
    ),
    Case(
        kernel=syrk,
        make=lambda rng: dict.fromkeys(("x", "y"), normal(rng, 200, 136)),
        wanted=lambda x, y: np.tril(x @ y.T),
        trial=12,
    ),
    Case(
        kernel=int8_weights,
        make=lambda rng: {
            "x": normal(rng, 33, 264),
            "w": rng.integers(-128, 128, (72, 264)),
            "scale": np.abs(normal(rng, 72, 3)) * 0.01,
            "zero": rng.integers(-8, 8, (72, 3)).astype(float),
        },
        wanted=int8_weights_wanted,
        types={"x": "bf16", "out": "bf16"},
        trial=13,
    ),
    Case(
        kernel=accumulate,
        make=xw,
        wanted=lambda x, w: x @ w.T + 1,
        initial={"out": 1.0},
        trial=14,
    ),
    Case(
        kernel=lora,
        make=lambda rng: {
            **xw(rng),
            "a": normal(rng, 16, 136, scale=0.2),
            "b": normal(rng, 72, 16),
        },
        wanted=lambda x, w, a, b, scale: x @ w.T + (x @ a.T) @ b.T * scale,
        scalars={"scale": 0.5},
        trial=16,
    ),
    Case(
        kernel=chain,
        make=lambda rng: {
            "a": normal(rng, 100, 136),
            "b": normal(rng, 64, 136, scale=0.2),
            "c": normal(rng, 72, 64, scale=0.2),
        },
        wanted=lambda a, b, c: a @ b.T @ c.T,
        trial=16,
    ),
    Case(
        kernel=qkv_rope,
        make=lambda rng: {
            "x": normal(rng, 70, 136),
            "w": normal(rng, 2, 64, 136, scale=0.2),
            "cos": normal(rng, 70, 64),
            "sin": normal(rng, 70, 64),
        },
        wanted=qkv_rope_wanted,
        trial=18,
    ),
    Case(
        kernel=several,
        make=xw,
        wanted=several_wanted,
        initial={"norms": 0.0, "columns": 0.0},
        trial=20,
    ),
)
