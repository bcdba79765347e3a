"""Searches, codes of few bits, hashes, backward passes."""

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def router_top4(
    x: wl.In["m", "k"],
    w: wl.In["e", "k"],
    bias: wl.In["e", wl.f32],
    weight: wl.Out["m", "p", wl.f32],
    expert: wl.Out["m", "p", wl.i32],
):
    m = wl.tile("m")
    z = wl.zeros(m, w.e)
    for k in wl.steps(x.k):
        z += x[m, k] @ w[:, k].T
    z = z + bias[:]
    vals, ids = wl.topk(z, 4)
    total = sum(wl.exp(v - vals[0]) for v in vals)
    for i in range(4):
        weight[m, i] = wl.exp(vals[i] - vals[0]) / total
        expert[m, i] = ids[i]


def router_top4_wanted(x, w, bias):
    z = x @ w.T + bias
    o = np.argsort(-z, axis=1, kind="stable")[:, :4]
    v = np.take_along_axis(z, o, 1)
    e = np.exp(v - v[:, :1])
    return e / e.sum(1, keepdims=True), o


@wl.kernel
def gemm_transposed(a: wl.In["m", "k"], b: wl.In["k", "n"], out: wl.Out["n", "m"]):
    m, n = wl.tile("m", "n")
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[k, n]
    out[n, m] = acc.T


@wl.kernel
def attention_grad_keys(
    q: wl.In["h", "s", "d"],
    k: wl.In["g", "t", "d"],
    v: wl.In["g", "t", "d"],
    do: wl.In["h", "s", "d"],
    lse: wl.In["h", "s", wl.f32],
    delta: wl.In["h", "s", wl.f32],
    dk: wl.Out["g", "t", "d", wl.f32],
    dv: wl.Out["g", "t", "d", wl.f32],
    *,
    scale: float,
):
    g, t = wl.tile(dk, whole="d")
    ks, vs = k[g, t], v[g, t]
    a, b = wl.zeros(t, k.d), wl.zeros(t, k.d)
    for h in wl.steps(q.h, 1, start=g * (q.h // k.g), until=(g + 1) * (q.h // k.g)):
        for s in wl.steps(q.s, 64):
            p = wl.exp((ks @ q[h, s].T) * scale - lse[h, s])
            ds = p * (vs @ do[h, s].T - delta[h, s])
            b += p.to(q.dtype) @ do[h, s]
            a += ds.to(q.dtype) @ q[h, s]
    dk[g, t] = a * scale
    dv[g, t] = b


def attention_grad_keys_wanted(q, k, v, do, lse, delta, scale):
    r = q.shape[0] // k.shape[0]
    kk, vv = np.repeat(k, r, 0), np.repeat(v, r, 0)
    p = np.exp(np.einsum("hsd,htd->hst", q, kk) * scale - lse[..., None])
    ds = p * (np.einsum("hsd,htd->hst", do, vv) - delta[..., None])
    dv = np.einsum("hst,hsd->htd", p, do)
    dk = np.einsum("hst,hsd->htd", ds, q) * scale
    share = (k.shape[0], r, *k.shape[1:])
    return dk.reshape(share).sum(1), dv.reshape(share).sum(1)


@wl.kernel
def qk_norm_rope(
    x: wl.In["t", "h", "d"],
    w: wl.In["d"],
    cos: wl.In["t", "r", wl.f32],
    sin: wl.In["t", "r", wl.f32],
    out: wl.Out["t", "h", "d"],
    *,
    eps: float,
):
    t, h = wl.tile(out, whole="d")
    half = x.d // 2
    i = wl.index(x.d)
    v = x[t, h].to(wl.f32)
    r = wl.rsqrt((v * v).sum(axis=1) / x.d + eps)
    o = (i + half) % x.d
    a, b = v * r * w[:], x[t, h, o] * r * w[o]
    out[t, h] = a * cos[t, i % half] + wl.where(i < half, -b, b) * sin[t, i % half]


def qk_norm_rope_wanted(x, w, cos, sin, eps):
    d = x.shape[-1]
    y = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w
    i = np.arange(d)
    o = (i + d // 2) % d
    return (
        y * cos[:, None][..., i % (d // 2)]
        + np.where(i < d // 2, -y[..., o], y[..., o]) * sin[:, None][..., i % (d // 2)]
    )


@wl.kernel
def hadamard(x: wl.In["m", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        bits = wl.index(k) & wl.index(n)
        bits = bits ^ (bits >> 4)
        bits = bits ^ (bits >> 2)
        bits = (bits ^ (bits >> 1)) & 1
        sign = wl.where(bits == 1, -1.0, 1.0)
        acc += x[m, k] @ sign.to(x.dtype)
    out[m, n] = acc


def hadamard_wanted(x):
    n = x.shape[1]
    i = np.arange(n)
    p = np.array([[bin(a & b).count("1") % 2 for b in i] for a in i])
    return x @ np.where(p, -1.0, 1.0)


@wl.kernel
def decode_fp8(
    q: wl.In["b", "h", "d"],
    k: wl.In["b", "t", "d", wl.e4m3],
    v: wl.In["b", "t", "d", wl.e4m3],
    sk: wl.In["b", "t", wl.f32],
    sv: wl.In["b", "t", wl.f32],
    length: wl.In["b", wl.i32],
    out: wl.Out["b", "h", "d"],
    *,
    scale: float,
):
    b, h = wl.tile(out, whole="d")
    qs = q[b, h]
    acc, total, top = wl.zeros(h, q.d), wl.zeros(h), wl.full(h, -1e30)
    for t in wl.steps(k.t, 64, until=length[b]):
        x = (qs @ k[b, t].to(q.dtype).T) * scale * sk[b, t]
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        total = total * keep + p.sum(axis=1)
        acc = acc * keep + (p * sv[b, t]).to(q.dtype) @ v[b, t].to(q.dtype)
        top = new
    out[b, h] = acc / total


def decode_fp8_wanted(q, k, v, sk, sv, length, scale):
    o = np.zeros(q.shape)
    for b in range(len(q)):
        n = length[b]
        e = np.exp(q[b] @ (k[b, :n] * sk[b, :n, None]).T * scale)
        o[b] = e / e.sum(1, keepdims=True) @ (v[b, :n] * sv[b, :n, None])
    return o


@wl.kernel
def nearest_code(
    x: wl.In["m", "d"],
    code: wl.In["n", "d"],
    norm: wl.In["n", wl.f32],
    out: wl.Out["m", wl.i32],
    dist: wl.Out["m", wl.f32],
):
    m = wl.tile(out)
    xs = x[m, :]
    best, at = wl.full(m, wl.inf), wl.zeros(m, dtype=wl.i32)
    for n in wl.steps(code.n, 64):
        d = norm[n] - 2.0 * (xs @ code[n, :].T)
        low = d.min(axis=1)
        place = wl.where(d == low, wl.index(n), 2**31 - 1).min(axis=1)
        at = wl.where(low < best, place, at)
        best = wl.minimum(best, low)
    out[m] = at
    dist[m] = best


def nearest_code_make(rng):
    code = normal(rng, 150, 40)
    return {"x": normal(rng, 45, 40), "code": code, "norm": (code * code).sum(1)}


def nearest_code_wanted(x, code, norm):
    d = norm - 2 * x @ code.T
    return d.argmin(1), d.min(1)


@wl.kernel
def gram_stats(
    x: wl.In["m", "d"], y: wl.In["n", "d"], row: wl.Out["m", wl.f32], col: wl.Out["n", wl.f32]
):
    m, n = wl.tile("m", "n")
    acc = wl.zeros(m, n)
    for d in wl.steps(x.d):
        acc += x[m, d] @ y[n, d].T
    e = wl.exp(acc)
    row[m] += e.sum(axis=1)
    col[n] += e.sum(axis=0)


@wl.kernel
def conv1d(
    x: wl.In["b", "t", "c"], w: wl.In["k", "o", "c"], out: wl.Out["b", "t", "o"], *, dilation: int
):
    b, t, o = wl.tile(out)
    acc = wl.zeros(t, o)
    for c in wl.steps(x.c):
        for i in range(3):
            acc += x[b, wl.index(t) - (2 - i) * dilation, c] @ w[i, o, c].T
    out[b, t, o] = acc


def conv1d_wanted(x, w, dilation):
    o = np.zeros((*x.shape[:2], w.shape[1]))
    for i in range(3):
        s = (2 - i) * dilation
        xs = np.zeros_like(x)
        xs[:, s:] = x[:, : x.shape[1] - s]
        o += xs @ w[i].T
    return o


@wl.kernel
def newton_sqrt(a: wl.In["m", "n", wl.f32], it: wl.In["i", wl.f32], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(out)
    v = a[m, n]
    y = v * 0.5 + 0.5
    for _ in wl.steps(it.i, 1):
        new = 0.5 * (y + v / y)
        err = wl.abs(new - y).max()
        y = new
        if err < 1e-6:
            break
    out[m, n] = y


@wl.kernel
def gae(
    reward: wl.In["t", "b", wl.f32],
    value: wl.In["t", "b", wl.f32],
    done: wl.In["t", "b", wl.bool_],
    out: wl.Out["t", "b", wl.f32],
    *,
    gamma: float,
    lam: float,
):
    b = wl.tile("b")
    adv, nxt = wl.zeros(b), wl.zeros(b)
    for i in wl.steps(reward.t, 1):
        t = reward.t - 1 - i
        live = wl.where(done[t, b], 0.0, 1.0)
        v = value[t, b]
        delta = reward[t, b] + gamma * nxt * live - v
        adv = delta + gamma * lam * live * adv
        nxt = v
        out[t, b] = adv


def gae_wanted(reward, value, done, gamma, lam):
    o = np.zeros(reward.shape)
    a = np.zeros(reward.shape[1])
    n = np.zeros(reward.shape[1])
    for t in reversed(range(len(reward))):
        l = 1.0 - done[t]
        d = reward[t] + gamma * n * l - value[t]
        a = d + gamma * lam * l * a
        n = value[t]
        o[t] = a
    return o


@wl.kernel
def normalise_image(
    x: wl.In["b", "s", "c", wl.u8],
    mean: wl.In["c", wl.f32],
    std: wl.In["c", wl.f32],
    out: wl.Out["b", "c", "s"],
):
    b, c, s = wl.tile(out)
    out[b, c, s] = (x[b, s, c].T / 255.0 - mean[c]) / std[c]


@wl.kernel
def uint8_weights(
    x: wl.In["m", "k"],
    w: wl.In["n", "k", wl.u8],
    s: wl.In["n", "k/64"],
    z: wl.In["n", "k/64", wl.u8],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        b = (w[n, k] - z[n, k]) * s[n, k]
        acc += x[m, k] @ b.to(x.dtype).T
    out[m, n] = acc


@wl.kernel
def gptq_gemm(
    x: wl.In["m", "k"],
    w: wl.In["k/8", "n", wl.u32],
    s: wl.In["k/128", "n"],
    z: wl.In["k/128", "n", wl.u8],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 128):
        q = (w[k, n] >> (wl.index(k) % 8 * 4)) & 15
        b = (q.to(wl.i32) - z[k, n]) * s[k, n]
        acc += x[m, k] @ b.to(x.dtype)
    out[m, n] = acc


def gptq_gemm_wanted(x, w, s, z):
    q = np.stack([(w.astype(np.int64) >> (4 * i)) & 15 for i in range(8)], 1).reshape(
        -1, w.shape[1]
    )[: x.shape[1]]
    return x @ ((q - np.repeat(z, 128, 0)[: x.shape[1]]) * np.repeat(s, 128, 0)[: x.shape[1]])


@wl.kernel
def buckets(x: wl.In["n", wl.u32], out: wl.Out["n", wl.u32], *, count: int):
    n = wl.tile(out)
    h = x[n]
    h = h ^ (h >> 16)
    h = h * 0x85EBCA6B
    h = h ^ (h >> 13)
    h = h * 0xC2B2AE35
    h = h ^ (h >> 16)
    out[n] = h % count


def buckets_wanted(x, count):
    h = x.astype(np.uint32)
    h = h ^ (h >> np.uint32(16))
    with np.errstate(all="ignore"):
        h = h * np.uint32(0x85EBCA6B)
        h = h ^ (h >> np.uint32(13))
        h = h * np.uint32(0xC2B2AE35)
        h = h ^ (h >> np.uint32(16))
    return h % np.uint32(count)


CASES = (
    Case(
        kernel=router_top4,
        make=lambda rng: {
            "x": normal(rng, 37, 72),
            "w": normal(rng, 60, 72),
            "bias": normal(rng, 60),
        },
        wanted=router_top4_wanted,
        sizes={"p": 4},
    ),
    Case(
        kernel=gemm_transposed,
        make=lambda rng: {"a": normal(rng, 45, 72), "b": normal(rng, 72, 88)},
        wanted=lambda a, b: (a @ b).T,
        types="f16",
    ),
    Case(
        kernel=attention_grad_keys,
        make=lambda rng: {
            "q": normal(rng, 4, 50, 40, scale=0.3),
            "k": normal(rng, 2, 70, 40, scale=0.3),
            "v": normal(rng, 2, 70, 40),
            "do": normal(rng, 4, 50, 40),
            "lse": normal(rng, 4, 50) * 0.1 + 4,
            "delta": normal(rng, 4, 50),
        },
        wanted=attention_grad_keys_wanted,
        scalars={"scale": 0.3},
        tolerance=3e-2,
    ),
    Case(
        kernel=qk_norm_rope,
        make=lambda rng: {
            "x": normal(rng, 5, 3, 96),
            "w": normal(rng, 96),
            "cos": np.cos(normal(rng, 5, 48)),
            "sin": np.sin(normal(rng, 5, 48)),
        },
        wanted=qk_norm_rope_wanted,
        scalars={"eps": 1e-6},
    ),
    Case(
        kernel=hadamard,
        make=lambda rng: {"x": normal(rng, 37, 128)},
        wanted=hadamard_wanted,
        sizes={"n": 128},
    ),
    Case(
        kernel=decode_fp8,
        make=lambda rng: {
            "q": normal(rng, 2, 16, 96),
            "k": normal(rng, 2, 72, 96),
            "v": normal(rng, 2, 72, 96),
            "sk": rng.uniform(0.5, 1, (2, 72)),
            "sv": rng.uniform(0.5, 1, (2, 72)),
            "length": np.array([70, 5]),
        },
        wanted=decode_fp8_wanted,
        scalars={"scale": 0.1},
        tolerance=3e-2,
    ),
    Case(
        kernel=nearest_code,
        make=nearest_code_make,
        wanted=nearest_code_wanted,
    ),
    Case(
        kernel=gram_stats,
        make=lambda rng: {
            "x": normal(rng, 150, 72, scale=0.1),
            "y": normal(rng, 140, 72, scale=0.1),
        },
        wanted=lambda x, y: (np.exp(x @ y.T).sum(1), np.exp(x @ y.T).sum(0)),
        initial={"row": 0.0, "col": 0.0},
    ),
    Case(
        kernel=conv1d,
        make=lambda rng: {"x": normal(rng, 2, 50, 72), "w": normal(rng, 3, 40, 72, scale=0.2)},
        wanted=conv1d_wanted,
        scalars={"dilation": 2},
    ),
    Case(
        kernel=newton_sqrt,
        make=lambda rng: {"a": np.abs(normal(rng, 9, 33)) + 0.1, "it": np.zeros(50)},
        wanted=lambda a, it: np.sqrt(a),
        tolerance=1e-5,
    ),
    Case(
        kernel=gae,
        make=lambda rng: {
            "reward": normal(rng, 13, 37),
            "value": normal(rng, 13, 37),
            "done": rng.uniform(size=(13, 37)) < 0.1,
        },
        wanted=gae_wanted,
        scalars={"gamma": 0.99, "lam": 0.95},
        tolerance=1e-4,
    ),
    Case(
        kernel=normalise_image,
        make=lambda rng: {
            "x": rng.integers(0, 256, (2, 77, 3)),
            "mean": np.array([0.4, 0.5, 0.6]),
            "std": np.array([0.2, 0.3, 0.25]),
        },
        wanted=lambda x, mean, std: ((x / 255 - mean) / std).transpose(0, 2, 1),
    ),
    Case(
        kernel=uint8_weights,
        make=lambda rng: {
            "x": normal(rng, 37, 192),
            "w": rng.integers(0, 256, (72, 192)),
            "s": normal(rng, 72, 3, scale=0.01),
            "z": rng.integers(100, 150, (72, 3)),
        },
        wanted=lambda x, w, s, z: x @ ((w - np.repeat(z, 64, 1)) * np.repeat(s, 64, 1)).T,
        tolerance=3e-2,
    ),
    Case(
        kernel=gptq_gemm,
        make=lambda rng: {
            "x": normal(rng, 37, 256),
            "w": rng.integers(0, 2**32, (32, 72)),
            "s": normal(rng, 2, 72, scale=0.1),
            "z": rng.integers(0, 16, (2, 72)),
        },
        wanted=gptq_gemm_wanted,
        tolerance=3e-2,
    ),
    Case(
        kernel=buckets,
        make=lambda rng: {"x": rng.integers(0, 2**32, 1003)},
        wanted=buckets_wanted,
        scalars={"count": 1000},
        tolerance=0,
    ),
)
