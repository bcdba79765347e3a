"""Inference: routing, caches, quantised weights, sampling."""

import itertools

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def add_rms_quantise(
    x: wl.In["m", "n"],
    res: wl.In["m", "n"],
    w: wl.In["n"],
    q: wl.Out["m", "n", wl.e4m3],
    scale: wl.Out["m", wl.f32],
    new: wl.Out["m", "n"],
    *,
    eps: float,
):
    m = wl.tile(q, whole="n")
    h = x[m] + res[m]
    new[m] = h
    y = h * wl.rsqrt((h * h).sum(axis=1) / x.n + eps) * w[:]
    s = wl.maximum(wl.abs(y).max(axis=1), 1e-10) / 448.0
    q[m] = y / s
    scale[m] = s


def add_rms_quantise_wanted(x, res, w, eps):
    h = x + res
    y = h / np.sqrt((h * h).mean(1, keepdims=True) + eps) * w
    s = np.maximum(np.abs(y).max(1), 1e-10) / 448
    return y / s[:, None], s, h


@wl.kernel
def route_top8(
    x: wl.In["t", "e", wl.f32],
    bias: wl.In["e", wl.f32],
    weight: wl.Out["t", "k", wl.f32],
    expert: wl.Out["t", "k", wl.i32],
    *,
    scale: float,
):
    t = wl.tile("t")
    s = wl.sigmoid(x[t, :])
    _, places = wl.topk(s + bias[:], 8)
    picked = [wl.sigmoid(x[t, p]) for p in places]
    total = sum(picked)
    for i in range(8):
        weight[t, i] = picked[i] / total * scale
        expert[t, i] = places[i]


def route_top8_wanted(x, bias, scale):
    s = 1 / (1 + np.exp(-x))
    o = np.argsort(-(s + bias), axis=1, kind="stable")[:, :8]
    v = np.take_along_axis(s, o, 1)
    return v / v.sum(1, keepdims=True) * scale, o


@wl.kernel
def histogram(x: wl.In["n", wl.i32], out: wl.Out["bins", wl.i32]):
    n = wl.tile("n")
    out[x[n]] += 1


@wl.kernel
def embedding_bag(
    ids: wl.In["t", wl.i32],
    weight: wl.In["t", wl.f32],
    table: wl.In["v", "d"],
    starts: wl.Starts["b"],
    out: wl.Out["b", "d"],
):
    b, d = wl.tile(out, unit="b")
    acc = wl.zeros(d)
    for t in wl.steps(ids.t, start=starts[b], until=starts[b + 1]):
        acc += (table[ids[t], d] * weight[t]).sum(axis=0)
    out[b, d] = acc


def embedding_bag_wanted(ids, weight, table, starts):
    return np.stack(
        [(table[ids[a:z]] * weight[a:z, None]).sum(0) for a, z in itertools.pairwise(starts)]
    )


@wl.kernel
def quantise_blocks(
    x: wl.In["m", "n"], q: wl.Out["m", "n", wl.e4m3], s: wl.Out["m/128", "n/128", wl.f32]
):
    m, n = wl.tile(q, rows=128, cols=128)
    v = x[m, n]
    a = wl.maximum(wl.abs(v).max(), 1e-4) / 448.0
    q[m, n] = v / a
    s[m, n] = a


def quantise_blocks_wanted(x):
    rows, width = x.shape
    s = np.zeros((-(-rows // 128), -(-width // 128)))
    o = np.zeros_like(x)
    for i in range(s.shape[0]):
        for j in range(s.shape[1]):
            b = np.s_[128 * i : 128 * i + 128, 128 * j : 128 * j + 128]
            s[i, j] = max(np.abs(x[b]).max(), 1e-4) / 448
            o[b] = x[b] / s[i, j]
    return o, s


@wl.kernel
def quantise_groups(
    x: wl.In["m", "n"], q: wl.Out["m", "n", wl.e4m3], s: wl.Out["m", "n/128", wl.f32]
):
    m, n = wl.tile(q, cols=128)
    v = x[m, n]
    a = wl.maximum(wl.abs(v).max(axis=1), 1e-4) / 448.0
    q[m, n] = v / a
    s[m, n] = a


def quantise_groups_wanted(x):
    rows, width = x.shape
    s = np.zeros((rows, -(-width // 128)))
    o = np.zeros_like(x)
    for j in range(s.shape[1]):
        b = np.s_[:, 128 * j : 128 * j + 128]
        s[:, j] = np.maximum(np.abs(x[b]).max(1), 1e-4) / 448
        o[b] = x[b] / s[:, j, None]
    return o, s


@wl.kernel
def rope_at(
    x: wl.In["t", "h", "d"],
    pos: wl.In["t", wl.i32],
    cos: wl.In["p", "r", wl.f32],
    sin: wl.In["p", "r", wl.f32],
    out: wl.Out["t", "h", "d"],
):
    t, h = wl.tile(out, whole="d", unit="t")
    half = x.d // 2
    i = wl.index(x.d)
    at = pos[t]
    other = x[t, h, (i + half) % x.d]
    out[t, h] = x[t, h] * cos[at, i % half] + wl.where(i < half, -other, other) * sin[at, i % half]


def rope_at_wanted(x, pos, cos, sin):
    d = x.shape[-1]
    i = np.arange(d)
    o = x[..., (i + d // 2) % d]
    c, s = cos[pos][:, None][..., i % (d // 2)], sin[pos][:, None][..., i % (d // 2)]
    return x * c + np.where(i < d // 2, -o, o) * s


@wl.kernel
def logits_process(
    x: wl.In["b", "v"],
    seen: wl.In["b", "v", wl.bool_],
    temp: wl.In["b", wl.f32],
    out: wl.Out["b", "v", wl.f32],
    *,
    penalty: float,
    min_p: float,
):
    b = wl.tile(out, whole="v")
    z = x[b].to(wl.f32)
    z = wl.where(seen[b], wl.where(z > 0, z / penalty, z * penalty), z) / temp[b]
    top = z.max(axis=1)
    out[b] = wl.where(z - top >= wl.log(min_p), z, -1e30)


def logits_process_wanted(x, seen, temp, penalty, min_p):
    z = np.where(seen, np.where(x > 0, x / penalty, x * penalty), x) / temp[:, None]
    return np.where(z - z.max(1, keepdims=True) >= np.log(min_p), z, -1e30)


@wl.kernel
def conv_update(
    x: wl.In["b", "d"],
    state: wl.In["b", "k", "d"],
    w: wl.In["k", "d"],
    out: wl.Out["b", "d"],
    new: wl.Out["b", "k", "d"],
):
    b, d = wl.tile(out)
    acc = wl.zeros(b, d)
    for i in range(4):
        v = state[b, i + 1, d] if i < 3 else x[b, d]
        new[b, i, d] = v
        acc += v * w[i, d]
    out[b, d] = wl.silu(acc)


def conv_update_wanted(x, state, w):
    s = np.concatenate([state[:, 1:], x[:, None]], 1)
    o = (s * w).sum(1)
    return o / (1 + np.exp(-o)), s


@wl.kernel
def append_int8(
    k: wl.In["t", "h", "d"],
    slot: wl.In["t", wl.i32],
    cache: wl.Out["s", "h", "d", wl.i8],
    scale: wl.Out["s", "h", wl.f32],
):
    t, h = wl.tile("t", "h", unit="t")
    v = k[t, h, :]
    a = wl.maximum(wl.abs(v).max(axis=1), 1e-6) / 127.0
    cache[slot[t], h, :] = wl.floor(v / a + 0.5)
    scale[slot[t], h] = a


def append_int8_wanted(k, slot):
    a = np.maximum(np.abs(k).max(-1), 1e-6) / 127
    c = np.full((23, *k.shape[1:]), np.nan)
    s = np.full((23, k.shape[1]), np.nan)
    c[slot] = np.clip(np.floor(k / a[..., None] + 0.5), -128, 127)
    s[slot] = a
    return c, s


@wl.kernel
def unpermute(
    y: wl.In["r", "d"],
    place: wl.In["t", "k", wl.i32],
    weight: wl.In["t", "k", wl.f32],
    out: wl.Out["t", "d"],
):
    t, d = wl.tile(out)
    acc = wl.zeros(t, d)
    for i in range(2):
        acc += y[place[t, i], d] * weight[t, i]
    out[t, d] = acc


@wl.kernel
def ssm_step(
    state: wl.In["b", "h", "p", "n", wl.f32],
    x: wl.In["b", "h", "p"],
    dt: wl.In["b", "h", wl.f32],
    a: wl.In["h", wl.f32],
    bs: wl.In["b", "n"],
    cs: wl.In["b", "n"],
    d: wl.In["h", wl.f32],
    new: wl.Out["b", "h", "p", "n", wl.f32],
    y: wl.Out["b", "h", "p"],
):
    b, h, p = wl.tile(new, whole="n")
    step = wl.softplus(dt[b, h])
    s = state[b, h, p] * wl.exp(a[h] * step) + x[b, h, p] * step * bs[b, :]
    new[b, h, p] = s
    y[b, h, p] = (s * cs[b, :]).sum(axis=1) + d[h] * x[b, h, p]


def ssm_step_wanted(state, x, dt, a, bs, cs, d):
    st = np.log1p(np.exp(dt))
    s = state * np.exp(a * st)[..., None, None] + (x * st[..., None])[..., None] * bs[:, None, None]
    return s, (s * cs[:, None, None]).sum(-1) + d[:, None] * x


@wl.kernel
def multinomial(p: wl.In["b", "v", wl.f32], u: wl.In["b", wl.f32], out: wl.Out["b", wl.i32]):
    b = wl.tile(out)
    w = p[b, :]
    c = wl.cumsum(w, axis=1)
    out[b] = wl.where(c <= u[b] * w.sum(axis=1), 1, 0).sum(axis=1)


def multinomial_wanted(p, u):
    c = np.cumsum(p, 1)
    return (c <= (u * p.sum(1))[:, None]).sum(1)


@wl.kernel
def expert_places(
    expert: wl.In["t", wl.i32], place: wl.Out["t", wl.i32], count: wl.Out["e", wl.i32]
):
    e = wl.tile(count, unit="e")
    seen = wl.zeros(dtype=wl.i32)
    for t in wl.steps(expert.t, 128):
        mine = wl.where(expert[t] == e, 1, 0)
        at = seen + wl.cumsum(mine, axis=0) - 1
        wl.atomic_max(place[t], wl.where(mine == 1, at, -1))
        seen += mine.sum()
    count[e] = seen


def expert_places_wanted(expert):
    c = np.zeros(6, int)
    p = np.zeros(len(expert), int)
    for i, x in enumerate(expert):
        p[i] = c[x]
        c[x] += 1
    return p, c


@wl.kernel
def packed_swiglu(x: wl.In["m", "w"], out: wl.Out["m", "n"], *, limit: float):
    m, n = wl.tile(out)
    gate = wl.minimum(x[m, wl.index(n)], limit)
    up = wl.clamp(x[m, wl.index(n) + out.n], -limit, limit)
    out[m, n] = gate * wl.sigmoid(1.702 * gate) * (up + 1.0)


def packed_swiglu_wanted(x, limit):
    n = x.shape[1] // 2
    g = np.minimum(x[:, :n], limit)
    u = np.clip(x[:, n:], -limit, limit)
    return g / (1 + np.exp(-1.702 * g)) * (u + 1)


@wl.kernel
def jagged_sum(x: wl.In["t", wl.f32], starts: wl.Starts["b"], out: wl.Out["b", wl.f32]):
    b = wl.tile(out, unit="b")
    total = wl.zeros()
    for t in wl.steps(x.t, start=starts[b], until=starts[b + 1]):
        total += x[t].sum()
    out[b] = total


@wl.kernel
def wkv(
    k: wl.In["b", "t", "c"],
    v: wl.In["b", "t", "c"],
    w: wl.In["c", wl.f32],
    u: wl.In["c", wl.f32],
    out: wl.Out["b", "t", "c"],
):
    b, c = wl.tile("b", "c", unit="b")
    num, den, top = wl.zeros(c), wl.zeros(c), wl.full(c, -1e38)
    for t in wl.steps(k.t, 1):
        kk, vv = k[b, t, c].to(wl.f32), v[b, t, c].to(wl.f32)
        m = wl.maximum(top, u[c] + kk)
        e1, e2 = wl.exp(top - m), wl.exp(u[c] + kk - m)
        out[b, t, c] = (e1 * num + e2 * vv) / (e1 * den + e2)
        m = wl.maximum(top - w[c], kk)
        e1, e2 = wl.exp(top - w[c] - m), wl.exp(kk - m)
        num, den, top = e1 * num + e2 * vv, e1 * den + e2, m


def wkv_wanted(k, v, w, u):
    b, steps, c = k.shape
    n = np.zeros((b, c))
    d = np.zeros((b, c))
    o = np.zeros(k.shape)
    for t in range(steps):
        e = np.exp(u + k[:, t])
        o[:, t] = (n + e * v[:, t]) / (d + e)
        n = np.exp(-w) * n + np.exp(k[:, t]) * v[:, t]
        d = np.exp(-w) * d + np.exp(k[:, t])
    return o


@wl.kernel
def dequant_gemm(
    x: wl.In["m", "k"],
    w: wl.In["n", "k", wl.i8],
    s: wl.In["n", "k/32"],
    z: wl.In["n", "k/32", wl.i8],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        b = (w[n, k].to(wl.f32) - z[n, k].to(wl.f32)) * s[n, k]
        acc += x[m, k] @ b.to(x.dtype).T
    out[m, n] = acc


@wl.kernel
def lora_rank12(
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
        xs = x[m, k]
        acc += xs @ w[n, k].T
        low += xs @ a[:, k].T
    out[m, n] = acc + scale * (low.to(x.dtype) @ b[n, :].T)


def e2m1(code):
    """The value of 4 bits: sign, two of exponent, one of fraction."""
    low = code & 7
    size = wl.where(low < 4, low * 0.5, wl.where(low < 6, low - 2.0, wl.where(low == 6, 4.0, 6.0)))
    return wl.where((code & 8) != 0, -size, size)


@wl.kernel
def nvfp4_gemm(
    x: wl.In["m", "k"],
    w: wl.In["n", "k/2", wl.i8],
    s: wl.In["n", "k/16", wl.e4m3],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        code = (w[n, k] >> (wl.index(k) % 2 * 4)) & 15
        b = e2m1(code) * s[n, k]
        acc += x[m, k] @ b.to(x.dtype).T
    out[m, n] = acc


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def nvfp4_gemm_wanted(x, w, s):
    u = w.astype(int) & 255
    c = np.stack([u & 15, u >> 4], -1).reshape(w.shape[0], -1)
    return x @ (FP4[c] * np.repeat(s, 16, 1)).T


@wl.kernel
def w8a8(
    x: wl.In["m", "k", wl.i8],
    w: wl.In["n", "k", wl.i8],
    sx: wl.In["m", wl.f32],
    sw: wl.In["n", wl.f32],
    bias: wl.In["n"],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n, dtype=wl.i32)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc * sx[m] * sw[n] + bias[n]


@wl.kernel
def swiglu_quant(
    x: wl.In["m", "k"],
    g: wl.In["n", "k"],
    u: wl.In["n", "k"],
    q: wl.Out["m", "n", wl.e4m3],
    s: wl.Out["m", "n/128", wl.f32],
):
    m, n = wl.tile(q, cols=128)
    a, b = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k):
        xs = x[m, k]
        a += xs @ g[n, k].T
        b += xs @ u[n, k].T
    y = wl.silu(a) * b
    scale = wl.maximum(wl.abs(y).max(axis=1), 1e-6) / 448.0
    q[m, n] = y / scale
    s[m, n] = scale


def swiglu_quant_wanted(x, g, u):
    a = x @ g.T
    y = a / (1 + np.exp(-a)) * (x @ u.T)
    s = np.stack(
        [
            np.maximum(np.abs(y[:, j : j + 128]).max(1), 1e-6) / 448
            for j in range(0, y.shape[1], 128)
        ],
        1,
    )
    return y / np.repeat(s, 128, 1)[:, : y.shape[1]], s


@wl.kernel
def glu_mlp(
    x: wl.In["m", "d"],
    wg: wl.In["f", "d"],
    wu: wl.In["f", "d"],
    wd: wl.In["o", "f"],
    out: wl.Out["m", "o"],
):
    m = wl.tile(out, whole="o")
    acc = wl.zeros(m, wd.o)
    for f in wl.steps(wg.f, 64):
        g, u = wl.zeros(m, f), wl.zeros(m, f)
        for d in wl.steps(x.d):
            a = x[m, d]
            g += a @ wg[f, d].T
            u += a @ wu[f, d].T
        acc += (wl.silu(g) * u).to(x.dtype) @ wd[:, f].T
    out[m] = acc


def glu_mlp_wanted(x, wg, wu, wd):
    g = x @ wg.T
    return (g / (1 + np.exp(-g)) * (x @ wu.T)) @ wd.T


CASES = (
    Case(
        kernel=add_rms_quantise,
        make=lambda rng: {
            "x": normal(rng, 5, 333),
            "res": normal(rng, 5, 333),
            "w": normal(rng, 333),
        },
        wanted=add_rms_quantise_wanted,
        scalars={"eps": 1e-5},
        tolerance=5e-2,
        memory_bound=True,
    ),
    Case(
        kernel=route_top8,
        make=lambda rng: {"x": normal(rng, 19, 72), "bias": normal(rng, 72) * 0.1},
        wanted=route_top8_wanted,
        scalars={"scale": 2.5},
        sizes={"k": 8},
        types="f32",
        tolerance=1e-4,
    ),
    Case(
        kernel=histogram,
        make=lambda rng: {"x": rng.integers(-2, 12, 1003)},
        wanted=lambda x: np.bincount(x[(x >= 0) & (x < 10)], minlength=10),
        sizes={"bins": 10},
        initial={"out": 0},
        tolerance=0,
    ),
    Case(
        kernel=embedding_bag,
        make=lambda rng: {
            "ids": rng.integers(0, 30, 50),
            "weight": normal(rng, 50),
            "table": normal(rng, 30, 77),
            "starts": np.array([0, 3, 3, 49, 50]),
        },
        wanted=embedding_bag_wanted,
    ),
    Case(
        kernel=quantise_blocks,
        make=lambda rng: {"x": normal(rng, 150, 200)},
        wanted=quantise_blocks_wanted,
        tolerance=5e-2,
    ),
    Case(
        kernel=quantise_groups,
        make=lambda rng: {"x": normal(rng, 7, 300)},
        wanted=quantise_groups_wanted,
        tolerance=5e-2,
    ),
    Case(
        kernel=rope_at,
        make=lambda rng: {
            "x": normal(rng, 7, 3, 64),
            "pos": rng.integers(0, 19, 7),
            "cos": np.cos(normal(rng, 19, 32)),
            "sin": np.sin(normal(rng, 19, 32)),
        },
        wanted=rope_at_wanted,
        memory_bound=True,
    ),
    Case(
        kernel=logits_process,
        make=lambda rng: {
            "x": normal(rng, 3, 301),
            "seen": rng.integers(0, 2, (3, 301)).astype(bool),
            "temp": np.array([0.7, 1.0, 1.3]),
        },
        wanted=logits_process_wanted,
        types="f32",
        scalars={"penalty": 1.2, "min_p": 0.05},
        tolerance=1e-4,
    ),
    Case(
        kernel=conv_update,
        make=lambda rng: {
            "x": normal(rng, 5, 77),
            "state": normal(rng, 5, 4, 77),
            "w": normal(rng, 4, 77),
        },
        wanted=conv_update_wanted,
    ),
    Case(
        kernel=append_int8,
        make=lambda rng: {"k": normal(rng, 9, 2, 40), "slot": rng.permutation(23)[:9]},
        wanted=append_int8_wanted,
        sizes={"s": 23},
    ),
    Case(
        kernel=unpermute,
        make=lambda rng: {
            "y": normal(rng, 26, 77),
            "place": rng.permutation(26).reshape(13, 2),
            "weight": rng.uniform(size=(13, 2)),
        },
        wanted=lambda y, place, weight: (y[place] * weight[..., None]).sum(1),
    ),
    Case(
        kernel=ssm_step,
        make=lambda rng: {
            "state": normal(rng, 2, 3, 10, 16),
            "x": normal(rng, 2, 3, 10),
            "dt": normal(rng, 2, 3),
            "a": -np.abs(normal(rng, 3)),
            "bs": normal(rng, 2, 16),
            "cs": normal(rng, 2, 16),
            "d": normal(rng, 3),
        },
        wanted=ssm_step_wanted,
        memory_bound=True,
    ),
    Case(
        kernel=multinomial,
        make=lambda rng: {"p": rng.uniform(size=(5, 301)).round(2), "u": rng.uniform(size=5)},
        wanted=multinomial_wanted,
        types="f32",
        tolerance=0,
    ),
    Case(
        kernel=expert_places,
        make=lambda rng: {"expert": rng.integers(0, 6, 301)},
        wanted=expert_places_wanted,
        sizes={"e": 6},
        initial={"place": -1},
        tolerance=0,
    ),
    Case(
        kernel=packed_swiglu,
        make=lambda rng: {"x": normal(rng, 5, 154)},
        wanted=packed_swiglu_wanted,
        sizes={"n": 77},
        scalars={"limit": 7.0},
        memory_bound=True,
    ),
    Case(
        kernel=jagged_sum,
        make=lambda rng: {"x": normal(rng, 500), "starts": np.array([0, 0, 3, 499, 500])},
        wanted=lambda x, starts: np.array([x[a:z].sum() for a, z in itertools.pairwise(starts)]),
        types="f32",
    ),
    Case(
        kernel=wkv,
        make=lambda rng: {
            "k": normal(rng, 2, 9, 41),
            "v": normal(rng, 2, 9, 41),
            "w": np.abs(normal(rng, 41)),
            "u": normal(rng, 41),
        },
        wanted=wkv_wanted,
    ),
    Case(
        kernel=dequant_gemm,
        make=lambda rng: {
            "x": normal(rng, 37, 160),
            "w": rng.integers(-100, 100, (72, 160)),
            "s": normal(rng, 72, 5, scale=0.01),
            "z": rng.integers(-5, 5, (72, 5)),
        },
        wanted=lambda x, w, s, z: x @ ((w - np.repeat(z, 32, 1)) * np.repeat(s, 32, 1)).T,
        tolerance=3e-2,
    ),
    Case(
        kernel=lora_rank12,
        make=lambda rng: {
            "x": normal(rng, 45, 136),
            "w": normal(rng, 72, 136),
            "a": normal(rng, 12, 136, scale=0.1),
            "b": normal(rng, 72, 12),
        },
        wanted=lambda x, w, a, b, scale: x @ w.T + scale * (x @ a.T) @ b.T,
        scalars={"scale": 2.0},
    ),
    Case(
        kernel=nvfp4_gemm,
        make=lambda rng: {
            "x": normal(rng, 37, 160),
            "w": rng.integers(-128, 128, (72, 80)),
            "s": np.abs(normal(rng, 72, 10)).round(1),
        },
        wanted=nvfp4_gemm_wanted,
        tolerance=3e-2,
    ),
    Case(
        kernel=w8a8,
        make=lambda rng: {
            "x": rng.integers(-128, 128, (37, 160)),
            "w": rng.integers(-128, 128, (72, 160)),
            "sx": np.abs(normal(rng, 37)) * 0.01,
            "sw": np.abs(normal(rng, 72)) * 0.01,
            "bias": normal(rng, 72),
        },
        wanted=lambda x, w, sx, sw, bias: (x @ w.T) * sx[:, None] * sw + bias,
    ),
    Case(
        kernel=swiglu_quant,
        make=lambda rng: {
            "x": normal(rng, 37, 72),
            "g": normal(rng, 200, 72, scale=0.2),
            "u": normal(rng, 200, 72, scale=0.2),
        },
        wanted=swiglu_quant_wanted,
        tolerance=6e-2,
    ),
    Case(
        kernel=glu_mlp,
        make=lambda rng: {
            "x": normal(rng, 37, 72),
            "wg": normal(rng, 150, 72, scale=0.2),
            "wu": normal(rng, 150, 72, scale=0.2),
            "wd": normal(rng, 72, 150, scale=0.2),
        },
        wanted=glu_mlp_wanted,
        tolerance=3e-2,
    ),
)
