"""Norms, activations, routing, rotary embedding, sampling, quantisation."""

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def poly_norm(
    x: wl.In["m", "n"],
    w: wl.In["three", wl.f32],
    b: wl.In["one", wl.f32],
    out: wl.Out["m", "n"],
    *,
    eps: float,
):
    m = wl.tile(out, whole="n")
    v = x[m].to(wl.f32)
    p1 = v * wl.rsqrt((v * v).sum(axis=1) / x.n + eps)
    v2 = v * v
    p2 = v2 * wl.rsqrt((v2 * v2).sum(axis=1) / x.n + eps)
    v3 = v2 * v
    p3 = v3 * wl.rsqrt((v3 * v3).sum(axis=1) / x.n + eps)
    out[m] = w[0] * p3 + w[1] * p2 + w[2] * p1 + b[0]


def poly_norm_wanted(x, w, b, eps):

    def f(v):
        return v / np.sqrt((v * v).mean(1, keepdims=True) + eps)

    return w[0] * f(x**3) + w[1] * f(x**2) + w[2] * f(x) + b[0]


@wl.kernel
def dyt_grad(
    x: wl.In["m", "n"],
    dy: wl.In["m", "n"],
    alpha: wl.In["one", wl.f32],
    gamma: wl.In["n"],
    dx: wl.Out["m", "n"],
    dalpha: wl.Out["one", wl.f32],
    dgamma: wl.Out["n", wl.f32],
    dbeta: wl.Out["n", wl.f32],
):
    m, n = wl.tile(dx)
    a = alpha[0]
    t = wl.tanh(x[m, n] * a)
    g = dy[m, n] * gamma[n]
    d = (1 - t * t) * g
    dx[m, n] = d * a
    dgamma[n] += (dy[m, n] * t).sum(axis=0)
    dbeta[n] += dy[m, n].sum(axis=0)
    dalpha[0] += (d * x[m, n]).sum()


def dyt_grad_wanted(x, dy, alpha, gamma):
    t = np.tanh(x * alpha[0])
    d = (1 - t * t) * dy * gamma
    return (d * alpha[0], np.array([(d * x).sum()]), (dy * t).sum(0), dy.sum(0))


@wl.kernel
def instance_norm(
    x: wl.In["b", "c", "hw"],
    w: wl.In["c"],
    bias: wl.In["c"],
    out: wl.Out["b", "c", "hw"],
    *,
    eps: float,
):
    b, c = wl.tile(out, whole="hw")
    v = x[b, c]
    mean = v.sum(axis=1) / x.hw
    d = v - mean
    var = (d * d).sum(axis=1) / x.hw
    out[b, c] = d * wl.rsqrt(var + eps) * w[c] + bias[c]


def instance_norm_wanted(x, w, bias, eps):
    m = x.mean(2, keepdims=True)
    v = x.var(2, keepdims=True)
    return (x - m) / np.sqrt(v + eps) * w[:, None] + bias[:, None]


@wl.kernel
def gated_rms_norm(
    x: wl.In["t", "g", "n"],
    z: wl.In["t", "g", "n"],
    w: wl.In["g", "n"],
    out: wl.Out["t", "g", "n"],
    *,
    eps: float,
):
    t, g = wl.tile(out, whole="n")
    y = x[t, g] * wl.silu(z[t, g])
    out[t, g] = y * wl.rsqrt((y * y).sum(axis=-1) / x.n + eps) * w[g]


def gated_rms_norm_wanted(x, z, w, eps):
    y = x * z / (1 + np.exp(-z))
    return y / np.sqrt((y * y).mean(-1, keepdims=True) + eps) * w


@wl.kernel
def sparsemax(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m = wl.tile(out, whole="n")
    z = x[m].to(wl.f32)
    hi = z.max(axis=1)
    lo = hi - 1.0
    for _ in range(24):
        mid = (lo + hi) * 0.5
        s = wl.maximum(z - mid, 0.0).sum(axis=1)
        lo = wl.where(s >= 1.0, mid, lo)
        hi = wl.where(s >= 1.0, hi, mid)
    out[m] = wl.maximum(z - lo, 0.0)


def sparsemax_wanted(x):
    z = -np.sort(-x, axis=1)
    c = np.cumsum(z, 1)
    k = np.arange(1, x.shape[1] + 1)
    ok = 1 + k * z > c
    kk = ok.sum(1)
    tau = (np.take_along_axis(c, kk[:, None] - 1, 1) - 1) / kk[:, None]
    return np.maximum(x - tau, 0)


@wl.kernel
def masked_scale_softmax(
    x: wl.In["b", "h", "q", "k"],
    mask: wl.In["b", "q", "k", wl.bool_],
    out: wl.Out["b", "h", "q", "k"],
    *,
    scale: float,
):
    b, h, q = wl.tile(out, whole="k")
    s = wl.where(mask[b, q], -10000.0, x[b, h, q] * scale)
    p = wl.exp(s - s.max(axis=1))
    out[b, h, q] = p / p.sum(axis=1)


def masked_scale_softmax_wanted(x, mask, scale):
    s = np.where(mask[:, None], -10000.0, x * scale)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@wl.kernel
def tvd_grad(
    p: wl.In["m", "v"],
    q: wl.In["m", "v"],
    label: wl.In["m", wl.i32],
    loss: wl.Out["m", wl.f32],
    grad: wl.Out["m", "v"],
    *,
    ignore: int,
):
    m = wl.tile(loss)
    d = p[m, :] - q[m, :]
    live = label[m] != ignore
    loss[m] = wl.where(live, 0.5 * d.abs().sum(axis=1), 0.0)
    grad[m, :] = wl.where(live, 0.5 * wl.sign(d), 0.0)


def tvd_grad_wanted(p, q, label, ignore):
    d = p - q
    live = label != ignore
    return (np.where(live, 0.5 * np.abs(d).sum(1), 0), np.where(live[:, None], 0.5 * np.sign(d), 0))


@wl.kernel
def moe_sum(x: wl.In["t", "k", "d"], w: wl.In["t", "k", wl.f32], out: wl.Out["t", "d"]):
    t, d = wl.tile(out)
    acc = wl.zeros(t, d)
    for k in wl.steps(x.k, 1):
        acc += x[t, k, d] * w[t, k]
    out[t, d] = acc


@wl.kernel
def hyper_post(
    h: wl.In["t", "i", "d"],
    y: wl.In["t", "d"],
    mix: wl.In["t", "j", "i", wl.f32],
    beta: wl.In["t", "j", wl.f32],
    out: wl.Out["t", "j", "d"],
):
    t, j, d = wl.tile(out)
    acc = beta[t, j] * y[t, d]
    for i in range(4):
        acc += mix[t, j, i] * h[t, i, d]
    out[t, j, d] = acc


@wl.kernel
def hyper_pre(
    h: wl.In["t", "i", "d"],
    alpha: wl.In["t", "i", wl.f32],
    w: wl.In["d"],
    out: wl.Out["t", "d"],
    *,
    eps: float,
):
    t = wl.tile(out, whole="d")
    acc = wl.zeros(t, h.d)
    for i in range(4):
        acc = acc + alpha[t, i] * h[t, i]
    out[t] = acc * wl.rsqrt((acc * acc).sum(axis=1) / h.d + eps) * w[:]


def hyper_pre_wanted(h, alpha, w, eps):
    a = np.einsum("ti,tid->td", alpha, h)
    return a / np.sqrt((a * a).mean(1, keepdims=True) + eps) * w


@wl.kernel
def hgrn(
    x: wl.In["b", "t", "d"],
    g: wl.In["b", "t", "d"],
    out: wl.Out["b", "t", "d"],
    last: wl.Out["b", "d", wl.f32],
    h0: wl.In["b", "d"] = None,
):
    b, d = wl.tile("b", "d", unit="b")
    h = wl.zeros(d)
    if h0 is not None:
        h = h0[b, d].to(wl.f32)
    for t in wl.steps(x.t, 1):
        f = wl.sigmoid(g[b, t, d])
        h = f * h + (1 - f) * x[b, t, d]
        out[b, t, d] = h
    last[b, d] = h


def hgrn_wanted(x, g, h0):
    h = h0.copy()
    o = np.zeros(x.shape)
    for t in range(x.shape[1]):
        f = 1 / (1 + np.exp(-g[:, t]))
        h = f * h + (1 - f) * x[:, t]
        o[:, t] = h
    return (o, h)


@wl.kernel
def mrope(
    q: wl.In["t", "h", "d"],
    pos: wl.In["three", "t", wl.i32],
    inv: wl.In["f", wl.f32],
    out: wl.Out["t", "h", "d"],
    *,
    s0: int,
    s1: int,
):
    t, h = wl.tile(out, whole="d", unit="t")
    i = wl.index(q.d) % (q.d // 2)
    p = wl.where(i < s0, pos[0, t], wl.where(i < s0 + s1, pos[1, t], pos[2, t]))
    angle = p.to(wl.f32) * inv[i]
    x = q[t, h]
    other = q[t, h, (wl.index(q.d) + q.d // 2) % q.d]
    sign = wl.where(wl.index(q.d) < q.d // 2, -1.0, 1.0)
    out[t, h] = x * wl.cos(angle) + sign * other * wl.sin(angle)


def mrope_wanted(q, pos, inv, s0, s1):
    d = q.shape[2]
    i = np.arange(d) % (d // 2)
    p = np.where(i < s0, pos[0][:, None], np.where(i < s0 + s1, pos[1][:, None], pos[2][:, None]))
    a = (p * inv[i])[:, None]
    o = np.concatenate([-q[..., d // 2 :], q[..., : d // 2]], -1)
    return q * np.cos(a) + o * np.sin(a)


@wl.kernel
def partial_rope(
    x: wl.In["t", "h", "d"],
    cos: wl.In["p", "r"],
    sin: wl.In["p", "r"],
    pos: wl.In["t", wl.i32],
    out: wl.Out["t", "h", "d"],
):
    t, h = wl.tile(out, whole="d", unit="t")
    i = wl.index(x.d)
    half = cos.r
    rot = 2 * half
    mine = x[t, h]
    other = x[t, h, wl.where(i < half, i + half, i - half)]
    c = cos[pos[t], i % half]
    s = sin[pos[t], i % half]
    turned = mine * c + wl.where(i < half, -other, other) * s
    out[t, h] = wl.where(i < rot, turned, mine)


def partial_rope_wanted(x, cos, sin, pos):
    h = cos.shape[1]
    c, s = (cos[pos][:, None], sin[pos][:, None])
    a, b = (x[..., :h], x[..., h : 2 * h])
    return np.concatenate([a * c - b * s, b * c + a * s, x[..., 2 * h :]], -1)


@wl.kernel
def min_p(
    logits: wl.In["b", "v"],
    thresh: wl.In["b", wl.f32],
    temp: wl.In["b", wl.f32],
    probs: wl.Out["b", "v", wl.f32],
):
    b = wl.tile(probs, whole="v")
    z = logits[b] / temp[b]
    p = wl.exp(z - z.max(axis=1))
    p = p / p.sum(axis=1)
    keep = p >= p.max(axis=1) * thresh[b]
    kept = wl.where(keep, p, 0.0)
    probs[b] = kept / kept.sum(axis=1)


def min_p_wanted(logits, thresh, temp):
    z = logits / temp[:, None]
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    k = np.where(p >= p.max(1, keepdims=True) * thresh[:, None], p, 0)
    return k / k.sum(1, keepdims=True)


@wl.kernel
def top_k_mask(logits: wl.In["b", "v"], out: wl.Out["b", "v"]):
    b = wl.tile(out, whole="v")
    values, _ = wl.topk(logits[b], 5)
    out[b] = wl.where(logits[b] >= values[4], logits[b], -1000.0)


@wl.kernel
def segment_max(x: wl.In["n", "d", wl.f32], seg: wl.In["n", wl.i32], out: wl.Out["s", "d", wl.f32]):
    n, d = wl.tile(x)
    wl.atomic_max(out[seg[n], d], x[n, d])


def segment_max_wanted(x, seg):
    o = np.full((6, x.shape[1]), -1000000000.0)
    np.maximum.at(o, seg, x)
    return o


@wl.kernel
def max_pool_idx(
    x: wl.In["b", "c", "h", "w"],
    out: wl.Out["b", "c", "p", "q"],
    where: wl.Out["b", "c", "p", "q", wl.i32],
):
    b, c, p, q = wl.tile(out)
    best = wl.full((p, q), -wl.inf)
    at = wl.full((p, q), 0, dtype=wl.i32)
    for i in range(3):
        for j in range(3):
            r = wl.index(p) * 2 + i - 1
            s = wl.index(q) * 2 + j - 1
            inside = (r >= 0) & (r < x.h) & (s >= 0) & (s < x.w)
            v = wl.where(inside, x[b, c, r, s], -wl.inf)
            at = wl.where(v > best, r * x.w + s, at)
            best = wl.maximum(best, v)
    out[b, c, p, q] = best
    where[b, c, p, q] = at


def max_pool_idx_wanted(x):
    b, c, h, w = x.shape
    rows, cols = ((h + 1) // 2, (w + 1) // 2)
    o = np.zeros((b, c, rows, cols))
    a = np.zeros((b, c, rows, cols), int)
    for p in range(rows):
        for q in range(cols):
            best = np.full((b, c), -np.inf)
            at = np.zeros((b, c), int)
            for i in range(3):
                for j in range(3):
                    r, s = (2 * p + i - 1, 2 * q + j - 1)
                    if 0 <= r < h and 0 <= s < w:
                        v = x[:, :, r, s]
                        at = np.where(v > best, r * w + s, at)
                        best = np.maximum(best, v)
            o[:, :, p, q] = best
            a[:, :, p, q] = at
    return (o, a)


@wl.kernel
def quantise_128x128(
    w: wl.In["n", "k"], q: wl.Out["n", "k", wl.e4m3], s: wl.Out["n/128", "k/128", wl.f32]
):
    n, k = wl.tile(q, rows=128, cols=128)
    v = w[n, k].to(wl.f32)
    amax = wl.maximum(v.abs().max(), 1e-12)
    scale = amax / 448.0
    q[n, k] = v / scale
    s[n, k] = scale


def quantise_128x128_wanted(w):
    n, k = w.shape
    s = np.zeros((-(-n // 128), -(-k // 128)))
    q = np.zeros(w.shape)
    for i in range(s.shape[0]):
        for j in range(s.shape[1]):
            b = w[i * 128 : i * 128 + 128, j * 128 : j * 128 + 128]
            s[i, j] = np.abs(b).max() / 448
            q[i * 128 : i * 128 + 128, j * 128 : j * 128 + 128] = b / s[i, j]
    return (q, s)


@wl.kernel
def asym_int8(
    x: wl.In["m", "n"],
    q: wl.Out["m", "n", wl.i8],
    scale: wl.Out["m", wl.f32],
    zero: wl.Out["m", wl.i32],
):
    m = wl.tile(q, whole="n")
    v = x[m]
    lo, hi = (v.min(axis=1), v.max(axis=1))
    s = wl.maximum((hi - lo) / 255.0, 1e-08)
    z = wl.floor(-128.0 - lo / s + 0.5).to(wl.i32)
    q[m] = wl.clamp(wl.floor(v / s + 0.5).to(wl.i32) + z, -128, 127)
    scale[m] = s
    zero[m] = z


def asym_int8_wanted(x):
    lo, hi = (x.min(1), x.max(1))
    s = np.maximum((hi - lo) / 255, 1e-08)
    z = np.floor(-128 - lo / s + 0.5)
    return (np.clip(np.floor(x / s[:, None] + 0.5) + z[:, None], -128, 127), s, z)


@wl.kernel
def lion(
    p: wl.In["n", wl.f32],
    g: wl.In["n"],
    m: wl.In["n", wl.f32],
    p_new: wl.Out["n", wl.f32],
    m_new: wl.Out["n", wl.f32],
    *,
    lr: float,
    b1: float,
    b2: float,
    wd: float,
):
    n = wl.tile(p_new)
    grad = g[n].to(wl.f32)
    u = wl.sign(b1 * m[n] + (1 - b1) * grad)
    p_new[n] = p[n] * (1 - lr * wd) - lr * u
    m_new[n] = b2 * m[n] + (1 - b2) * grad


@wl.kernel
def gpt_oss_swiglu(x: wl.In["t", "n2"], out: wl.Out["t", "n"], *, alpha: float, limit: float):
    t, n = wl.tile(out)
    i = wl.index(n)
    gate = wl.minimum(x[t, 2 * i], limit)
    up = wl.clamp(x[t, 2 * i + 1], -limit, limit)
    out[t, n] = gate * wl.sigmoid(alpha * gate) * (up + 1)


def gpt_oss_swiglu_wanted(x, alpha, limit):
    g = np.minimum(x[:, ::2], limit)
    u = np.clip(x[:, 1::2], -limit, limit)
    return g / (1 + np.exp(-alpha * g)) * (u + 1)


@wl.kernel
def group_limited_topk(
    x: wl.In["t", "e", wl.f32],
    bias: wl.In["e", wl.f32],
    ids: wl.Out["t", "k", wl.i32],
    w: wl.Out["t", "k", wl.f32],
    *,
    scale: float,
):
    t = wl.tile("t")
    s = wl.sigmoid(x[t, :]) + bias[:]
    e = wl.index(x.e)
    scores = []
    for g in range(4):
        v, _ = wl.topk(wl.where(e // 8 == g, s, -wl.inf), 2)
        scores = [*scores, v[0] + v[1]]
    keep = s
    for g in range(4):
        rank = sum([wl.where(scores[h] > scores[g], 1, 0) for h in range(4)])
        keep = wl.where((e // 8 == g) & (rank >= 2), -wl.inf, keep)
    _, places = wl.topk(keep, 4)
    picked = [wl.sigmoid(x[t, p]) for p in places]
    total = sum(picked) + 1e-20
    for i in range(4):
        ids[t, i] = places[i]
        w[t, i] = picked[i] / total * scale


def group_limited_topk_wanted(x, bias, scale):
    s = 1 / (1 + np.exp(-x))
    b = s + bias
    g = b.reshape(len(x), 4, 8)
    gs = np.sort(g, 2)[:, :, -2:].sum(2)
    rank = (gs[:, None, :] > gs[:, :, None]).sum(2)
    k = np.where((rank >= 2)[:, :, None], -np.inf, g).reshape(b.shape)
    o = np.argsort(-k, 1, kind="stable")[:, :4]
    v = np.take_along_axis(s, o, 1)
    return (o, v / v.sum(1, keepdims=True) * scale)


CASES = (
    Case(
        kernel=poly_norm,
        make=lambda r: {"x": normal(r, 23, 333), "w": r.normal(size=3), "b": r.normal(size=1)},
        wanted=poly_norm_wanted,
        scalars={"eps": 1e-06},
        memory_bound=True,
    ),
    Case(
        kernel=dyt_grad,
        make=lambda r: {
            "x": normal(r, 37, 201),
            "dy": normal(r, 37, 201),
            "alpha": np.array([0.7]),
            "gamma": normal(r, 201),
        },
        wanted=dyt_grad_wanted,
        initial={"dalpha": 0, "dgamma": 0, "dbeta": 0},
    ),
    Case(
        kernel=instance_norm,
        make=lambda r: {"x": normal(r, 2, 7, 169), "w": normal(r, 7), "bias": normal(r, 7)},
        wanted=instance_norm_wanted,
        scalars={"eps": 1e-05},
    ),
    Case(
        kernel=gated_rms_norm,
        make=lambda r: {
            "x": normal(r, 11, 3, 100),
            "z": normal(r, 11, 3, 100),
            "w": normal(r, 3, 100),
        },
        wanted=gated_rms_norm_wanted,
        scalars={"eps": 1e-05},
    ),
    Case(kernel=sparsemax, make=lambda r: {"x": normal(r, 9, 77)}, wanted=sparsemax_wanted),
    Case(
        kernel=masked_scale_softmax,
        make=lambda r: {
            "x": normal(r, 2, 3, 13, 45),
            "mask": r.integers(0, 2, (2, 13, 45)).astype(bool),
        },
        wanted=masked_scale_softmax_wanted,
        scalars={"scale": 0.3},
    ),
    Case(
        kernel=tvd_grad,
        make=lambda r: {
            "p": normal(r, 19, 301),
            "q": normal(r, 19, 301),
            "label": np.array([-100 if i % 3 == 0 else i for i in range(19)]),
        },
        wanted=tvd_grad_wanted,
        scalars={"ignore": -100},
        types={"p": "f32", "q": "f32", "grad": "f32"},
    ),
    Case(
        kernel=moe_sum,
        make=lambda r: {"x": normal(r, 21, 6, 130), "w": r.normal(size=(21, 6))},
        wanted=lambda x, w: (x * w[..., None]).sum(1),
    ),
    Case(
        kernel=hyper_post,
        make=lambda r: {
            "h": normal(r, 13, 4, 70),
            "y": normal(r, 13, 70),
            "mix": r.normal(size=(13, 4, 4)),
            "beta": r.normal(size=(13, 4)),
        },
        wanted=lambda h, y, mix, beta: (
            np.einsum("tji,tid->tjd", mix, h) + beta[..., None] * y[:, None]
        ),
    ),
    Case(
        kernel=hyper_pre,
        make=lambda r: {
            "h": normal(r, 13, 4, 70),
            "alpha": r.normal(size=(13, 4)),
            "w": normal(r, 70),
        },
        wanted=hyper_pre_wanted,
        scalars={"eps": 1e-06},
    ),
    Case(
        kernel=hgrn,
        make=lambda r: {
            "x": normal(r, 3, 19, 77),
            "g": normal(r, 3, 19, 77),
            "h0": normal(r, 3, 77),
        },
        wanted=hgrn_wanted,
    ),
    Case(
        kernel=mrope,
        make=lambda r: {
            "q": normal(r, 9, 5, 48),
            "pos": r.integers(0, 50, (3, 9)),
            "inv": 10000.0 ** (-np.arange(24) / 24),
        },
        wanted=mrope_wanted,
        scalars={"s0": 8, "s1": 8},
    ),
    Case(
        kernel=partial_rope,
        make=lambda r: {
            "x": normal(r, 9, 5, 40),
            "cos": normal(r, 30, 8),
            "sin": normal(r, 30, 8),
            "pos": r.integers(0, 30, 9),
        },
        wanted=partial_rope_wanted,
    ),
    Case(
        kernel=min_p,
        make=lambda r: {
            "logits": normal(r, 7, 1001),
            "thresh": r.uniform(0.05, 0.2, 7),
            "temp": r.uniform(0.5, 2, 7),
        },
        wanted=min_p_wanted,
        memory_bound=True,
    ),
    Case(
        kernel=top_k_mask,
        make=lambda r: {"logits": normal(r, 7, 301)},
        wanted=lambda logits: np.where(logits >= -np.sort(-logits, 1)[:, 4:5], logits, -1000.0),
    ),
    Case(
        kernel=segment_max,
        make=lambda r: {"x": r.normal(size=(33, 45)), "seg": r.integers(0, 6, 33)},
        wanted=segment_max_wanted,
        sizes={"s": 6},
        initial={"out": -1000000000.0},
    ),
    Case(
        kernel=max_pool_idx,
        make=lambda r: {"x": normal(r, 2, 3, 11, 13)},
        wanted=max_pool_idx_wanted,
        sizes={"p": 6, "q": 7},
    ),
    Case(
        kernel=quantise_128x128,
        make=lambda r: {"w": normal(r, 200, 300)},
        wanted=quantise_128x128_wanted,
        tolerance=0.05,
    ),
    Case(kernel=asym_int8, make=lambda r: {"x": normal(r, 17, 130)}, wanted=asym_int8_wanted),
    Case(
        kernel=lion,
        make=lambda r: {"p": r.normal(size=1003), "g": normal(r, 1003), "m": r.normal(size=1003)},
        wanted=lambda p, g, m, lr, b1, b2, wd: (
            p * (1 - lr * wd) - lr * np.sign(b1 * m + (1 - b1) * g),
            b2 * m + (1 - b2) * g,
        ),
        scalars={"lr": 0.01, "b1": 0.9, "b2": 0.99, "wd": 0.1},
        memory_bound=True,
    ),
    Case(
        kernel=gpt_oss_swiglu,
        make=lambda r: {"x": normal(r, 17, 202)},
        wanted=gpt_oss_swiglu_wanted,
        scalars={"alpha": 1.702, "limit": 1.5},
        sizes={"n": 101},
        memory_bound=True,
    ),
    Case(
        kernel=group_limited_topk,
        make=lambda r: {"x": r.normal(size=(13, 32)), "bias": r.normal(size=32) * 0.1},
        wanted=group_limited_topk_wanted,
        scalars={"scale": 2.5},
        sizes={"k": 4},
    ),
)
