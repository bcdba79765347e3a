"""Attention in further forms, quantised and grouped products, losses over a vocabulary."""

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


def sm(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@wl.kernel
def diff_attention(
    q1: wl.In["b", "h", "s", "d"],
    q2: wl.In["b", "h", "s", "d"],
    k1: wl.In["b", "h", "t", "d"],
    k2: wl.In["b", "h", "t", "d"],
    v: wl.In["b", "h", "t", "e"],
    out: wl.Out["b", "h", "s", "e"],
    *,
    scale: float,
    lam: float,
):
    b, h, s = wl.tile(out, whole="e")
    m1, l1, o1 = (wl.full(s, -wl.inf), wl.zeros(s), wl.zeros(s, v.e))
    m2, l2, o2 = (wl.full(s, -wl.inf), wl.zeros(s), wl.zeros(s, v.e))
    for t in wl.steps(k1.t):
        vt = v[b, h, t]
        s1 = q1[b, h, s] @ k1[b, h, t].T * scale
        n1 = wl.maximum(m1, s1.max(axis=1))
        p1 = wl.exp(s1 - n1)
        a1 = wl.exp(m1 - n1)
        l1 = l1 * a1 + p1.sum(axis=1)
        o1 = o1 * a1 + p1.to(v.dtype) @ vt
        m1 = n1
        s2 = q2[b, h, s] @ k2[b, h, t].T * scale
        n2 = wl.maximum(m2, s2.max(axis=1))
        p2 = wl.exp(s2 - n2)
        a2 = wl.exp(m2 - n2)
        l2 = l2 * a2 + p2.sum(axis=1)
        o2 = o2 * a2 + p2.to(v.dtype) @ vt
        m2 = n2
    out[b, h, s] = o1 / l1 - lam * (o2 / l2)


def diff_attention_wanted(q1, q2, k1, k2, v, scale, lam):

    def f(q, k):
        return sm(q @ k.swapaxes(-1, -2) * scale)

    return (f(q1, k1) - lam * f(q2, k2)) @ v


@wl.kernel
def alibi_varlen(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "g", "t", "d"],
    v: wl.In["b", "g", "t", "d"],
    slope: wl.In["h", wl.f32],
    lens: wl.In["b", wl.i32],
    out: wl.Out["b", "h", "s", "d"],
    lse: wl.Out["b", "h", "s", wl.f32],
    *,
    scale: float,
    cap: float,
):
    b, h, s = wl.tile(out, whole="d")
    group = q.h // k.g
    top, total, acc = (wl.full(s, -wl.inf), wl.zeros(s), wl.zeros(s, q.d))
    n = lens[b]
    for t in wl.steps(k.t, until=n):
        x = q[b, h, s] @ k[b, h // group, t].T * scale
        x = cap * wl.tanh(x / cap)
        i, j = (wl.index(s), wl.index(t))
        x = x - slope[h] * (i - j).abs().to(wl.f32)
        x = wl.where((j <= i + 20) & (j < n), x, -wl.inf)
        new = wl.maximum(top, x.max(axis=1))
        safe = wl.where(new == -wl.inf, 0.0, new)
        p = wl.exp(x - safe)
        r = wl.exp(top - safe)
        total = total * r + p.sum(axis=1)
        acc = acc * r + p.to(v.dtype) @ v[b, h // group, t]
        top = new
    out[b, h, s] = wl.where(total > 0, acc / total, 0.0)
    lse[b, h, s] = wl.where(total > 0, top + wl.log(total), -wl.inf)


def alibi_varlen_wanted(q, k, v, slope, lens, scale, cap):
    batch, heads, rows = q.shape[:3]
    share = heads // k.shape[1]
    o = np.zeros(q.shape)
    lse = np.zeros((batch, heads, rows))
    for b in range(batch):
        for h in range(heads):
            x = q[b, h] @ k[b, h // share].T * scale
            x = cap * np.tanh(x / cap)
            i = np.arange(rows)[:, None]
            j = np.arange(k.shape[2])
            x = x - slope[h] * abs(i - j)
            x = np.where((j <= i + 20) & (j < lens[b]), x, -np.inf)
            m = x.max(1, keepdims=True)
            p = np.exp(x - m)
            o[b, h] = p / p.sum(1, keepdims=True) @ v[b, h // share]
            lse[b, h] = (m + np.log(p.sum(1, keepdims=True)))[:, 0]
    return (o, lse)


@wl.kernel
def chunked_local(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "h", "t", "d"],
    v: wl.In["b", "h", "t", "d"],
    out: wl.Out["b", "h", "s", "d"],
    *,
    scale: float,
    chunk: int,
):
    b, h, s = wl.tile(out, whole="d")
    top, total, acc = (wl.full(s, -wl.inf), wl.zeros(s), wl.zeros(s, q.d))
    for t in wl.steps(k.t):
        x = q[b, h, s] @ k[b, h, t].T * scale
        i, j = (wl.index(s), wl.index(t))
        x = wl.where((j <= i) & (i // chunk == j // chunk), x, -wl.inf)
        new = wl.maximum(top, x.max(axis=1))
        safe = wl.where(new == -wl.inf, 0.0, new)
        p = wl.exp(x - safe)
        r = wl.exp(top - safe)
        total = total * r + p.sum(axis=1)
        acc = acc * r + p.to(v.dtype) @ v[b, h, t]
        top = new
    out[b, h, s] = acc / total


def chunked_local_wanted(q, k, v, scale, chunk):
    i = np.arange(q.shape[2])[:, None]
    j = np.arange(k.shape[2])
    s = np.where((j <= i) & (i // chunk == j // chunk), q @ k.swapaxes(-1, -2) * scale, -np.inf)
    return sm(s) @ v


@wl.kernel
def t5_bias_attention(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "h", "t", "d"],
    v: wl.In["b", "h", "t", "d"],
    table: wl.In["h", "bucket", wl.f32],
    mask: wl.In["b", "t", wl.bool_],
    out: wl.Out["b", "h", "s", "d"],
):
    b, h, s = wl.tile(out, whole="d")
    top, total, acc = (wl.full(s, -wl.inf), wl.zeros(s), wl.zeros(s, q.d))
    for t in wl.steps(k.t):
        x = q[b, h, s] @ k[b, h, t].T
        dist = wl.clamp(wl.index(t) - wl.index(s) + 16, 0, 31)
        x = x + table[h, dist]
        x = wl.where(mask[b, t], x, -1000000000.0)
        new = wl.maximum(top, x.max(axis=1))
        p = wl.exp(x - new)
        r = wl.exp(top - new)
        total = total * r + p.sum(axis=1)
        acc = acc * r + p.to(v.dtype) @ v[b, h, t]
        top = new
    out[b, h, s] = acc / total


def t5_bias_attention_wanted(q, k, v, table, mask):
    i = np.arange(q.shape[2])[:, None]
    j = np.arange(k.shape[2])
    s = q @ k.swapaxes(-1, -2) + table[:, np.clip(j - i + 16, 0, 31)]
    return sm(np.where(mask[:, None, None], s, -1000000000.0)) @ v


@wl.kernel
def linear_attention_causal(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "h", "t", "d"],
    v: wl.In["b", "h", "t", "e"],
    out: wl.Out["b", "h", "s", "e"],
):
    b, h, s = wl.tile(out, whole="e")

    def feature(x):
        return wl.where(x > 0, x + 1.0, wl.exp(x))

    acc, z = (wl.zeros(s, v.e), wl.zeros(s))
    fq = feature(q[b, h, s]).to(q.dtype)
    for t in wl.steps(k.t):
        fk = feature(k[b, h, t]).to(q.dtype)
        a = fq @ fk.T
        a = wl.where(wl.index(t) <= wl.index(s), a, 0.0)
        z += a.sum(axis=1)
        acc += a.to(v.dtype) @ v[b, h, t]
    out[b, h, s] = acc / (z + 1e-06)


def linear_attention_causal_wanted(q, k, v):

    def f(x):
        return np.where(x > 0, x + 1, np.exp(x))

    a = np.tril(f(q) @ f(k).swapaxes(-1, -2))
    return a @ v / (a.sum(-1, keepdims=True) + 1e-06)


@wl.kernel
def nsa_compress(
    q: wl.In["b", "h", "s", "d"],
    kc: wl.In["b", "c", "d"],
    vc: wl.In["b", "c", "d"],
    out: wl.Out["b", "h", "s", "d"],
    *,
    scale: float,
    block: int,
):
    b, h, s = wl.tile(out, whole="d")
    top, total, acc = (wl.full(s, -wl.inf), wl.zeros(s), wl.zeros(s, q.d))
    for c in wl.steps(kc.c):
        x = q[b, h, s] @ kc[b, c].T * scale
        x = wl.where((wl.index(c) + 1) * block - 1 <= wl.index(s), x, -1e30)
        new = wl.maximum(top, x.max(axis=1))
        p = wl.where(x > -1e29, wl.exp(x - new), 0.0)
        r = wl.exp(top - new)
        total = total * r + p.sum(axis=1)
        acc = acc * r + p.to(vc.dtype) @ vc[b, c]
        top = new
    out[b, h, s] = wl.where(total > 0.0, acc / total, 0.0)


def nsa_compress_wanted(q, kc, vc, scale, block):
    i = np.arange(q.shape[2])[:, None]
    j = np.arange(kc.shape[1])
    ok = (j + 1) * block - 1 <= i
    s = np.einsum("bhsd,bcd->bhsc", q, kc) * scale
    s = np.where(ok, s, -1e30)
    p = np.exp(s - s.max(-1, keepdims=True)) * ok
    n = p.sum(-1, keepdims=True)
    return np.where(n > 0, np.einsum("bhsc,bcd->bhsd", p, vc) / np.where(n > 0, n, 1), 0)


@wl.kernel
def mean_pool_blocks(k: wl.In["b", "t", "d"], out: wl.Out["b", "c", "d"]):
    b, c, d = wl.tile(out)
    acc = wl.zeros(c, d)
    for i in range(16):
        acc += k[b, wl.index(c) * 16 + i, d]
    out[b, c, d] = acc / 16


@wl.kernel
def prefix_lm(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "h", "t", "d"],
    v: wl.In["b", "h", "t", "d"],
    prefix: wl.In["b", wl.i32],
    out: wl.Out["b", "h", "s", "d"],
    *,
    scale: float,
):
    b, h, s = wl.tile(out, whole="d")
    top, total, acc = (wl.full(s, -wl.inf), wl.zeros(s), wl.zeros(s, q.d))
    for t in wl.steps(k.t):
        x = q[b, h, s] @ k[b, h, t].T * scale
        ok = (wl.index(t) <= wl.index(s)) | (wl.index(t) < prefix[b])
        x = wl.where(ok, x, -wl.inf)
        new = wl.maximum(top, x.max(axis=1))
        p = wl.exp(x - new)
        r = wl.exp(top - new)
        total = total * r + p.sum(axis=1)
        acc = acc * r + p.to(v.dtype) @ v[b, h, t]
        top = new
    out[b, h, s] = acc / total


def prefix_lm_wanted(q, k, v, prefix, scale):
    i = np.arange(q.shape[2])[:, None]
    j = np.arange(k.shape[2])
    ok = (j <= i) | (j < prefix[:, None, None, None])
    return sm(np.where(ok, q @ k.swapaxes(-1, -2) * scale, -np.inf)) @ v


@wl.kernel
def varlen_cross(
    q: wl.In["n", "h", "d"],
    k: wl.In["p", "h", "d"],
    v: wl.In["p", "h", "d"],
    cq: wl.Starts["b"],
    ck: wl.Starts["b"],
    out: wl.Out["n", "h", "d"],
    *,
    scale: float,
):
    b, h, n = wl.tile("h", "n", groups=cq, unit="h")
    top, total, acc = (wl.full(n, -wl.inf), wl.zeros(n), wl.zeros(n, q.d))
    for p in wl.steps(k.p, start=ck[b], until=ck[b + 1]):
        x = q[n, h] @ k[p, h].T * scale
        new = wl.maximum(top, x.max(axis=1))
        w = wl.exp(x - new)
        r = wl.exp(top - new)
        total = total * r + w.sum(axis=1)
        acc = acc * r + w.to(v.dtype) @ v[p, h]
        top = new
    out[n, h] = acc / total


def varlen_cross_wanted(q, k, v, cq, ck, scale):
    o = np.zeros(q.shape)
    for b in range(len(cq) - 1):
        for h in range(q.shape[1]):
            o[cq[b] : cq[b + 1], h] = (
                sm(q[cq[b] : cq[b + 1], h] @ k[ck[b] : ck[b + 1], h].T * scale)
                @ v[ck[b] : ck[b + 1], h]
            )
    return o


@wl.kernel
def attention_dq(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "h", "t", "d"],
    v: wl.In["b", "h", "t", "d"],
    do: wl.In["b", "h", "s", "d"],
    lse: wl.In["b", "h", "s", wl.f32],
    delta: wl.In["b", "h", "s", wl.f32],
    dq: wl.Out["b", "h", "s", "d"],
    *,
    scale: float,
):
    b, h, s = wl.tile(dq, whole="d")
    acc = wl.zeros(s, q.d)
    for t in wl.steps(k.t, until=s.end if False else k.t):
        kt = k[b, h, t]
        x = q[b, h, s] @ kt.T * scale
        p = wl.where(wl.index(t) <= wl.index(s), wl.exp(x - lse[b, h, s]), 0.0)
        dp = do[b, h, s] @ v[b, h, t].T
        ds = p * (dp - delta[b, h, s]) * scale
        acc += ds.to(k.dtype) @ kt
    dq[b, h, s] = acc


def dq_make(r):
    a = {n: normal(r, 1, 2, 77, 64) for n in ("q", "k", "v", "do")}
    s = np.where(np.tri(77) > 0, a["q"] @ a["k"].swapaxes(-1, -2) * 0.125, -np.inf)
    m = s.max(-1)
    l = m + np.log(np.exp(s - m[..., None]).sum(-1))
    o = np.exp(s - l[..., None]) @ a["v"]
    return a | {"lse": l, "delta": (o * a["do"]).sum(-1)}


def attention_dq_wanted(q, k, v, do, lse, delta, scale):
    s = np.where(np.tri(77) > 0, q @ k.swapaxes(-1, -2) * scale, -np.inf)
    p = np.exp(s - lse[..., None])
    return p * (do @ v.swapaxes(-1, -2) - delta[..., None]) * scale @ k


@wl.kernel
def delta_of(
    o: wl.In["b", "h", "s", "d"],
    do: wl.In["b", "h", "s", "d"],
    delta: wl.Out["b", "h", "s", wl.f32],
):
    b, h, s = wl.tile(delta, unit="h")
    delta[b, h, s] = (o[b, h, s, :] * do[b, h, s, :]).sum(axis=-1)


@wl.kernel
def int8_kv_attention(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "h", "t", "d", wl.i8],
    ks: wl.In["b", "h", "t", wl.f32],
    v: wl.In["b", "h", "t", "d", wl.i8],
    vs: wl.In["b", "h", "t", wl.f32],
    out: wl.Out["b", "h", "s", "d"],
    *,
    scale: float,
):
    b, h, s = wl.tile(out, whole="d")
    top, total, acc = (wl.full(s, -wl.inf), wl.zeros(s), wl.zeros(s, q.d))
    for t in wl.steps(k.t):
        x = q[b, h, s] @ k[b, h, t].to(q.dtype).T * (ks[b, h, t] * scale)
        new = wl.maximum(top, x.max(axis=1))
        p = wl.exp(x - new)
        r = wl.exp(top - new)
        total = total * r + p.sum(axis=1)
        acc = acc * r + (p * vs[b, h, t]).to(q.dtype) @ v[b, h, t].to(q.dtype)
        top = new
    out[b, h, s] = acc / total


@wl.kernel
def sgmv_shrink(
    x: wl.In["t", "k"],
    a: wl.In["l", "r", "k"],
    starts: wl.Starts["g"],
    which: wl.In["g", wl.i32],
    out: wl.Out["t", "r"],
):
    g, t, r = wl.tile(out, groups=starts)
    acc = wl.zeros(t, r)
    for k in wl.steps(x.k):
        acc += x[t, k] @ a[which[g], r, k].T
    out[t, r] = acc


def sgmv_shrink_wanted(x, a, starts, which):
    o = np.zeros((len(x), a.shape[1]))
    for g in range(len(which)):
        o[starts[g] : starts[g + 1]] = x[starts[g] : starts[g + 1]] @ a[which[g]].T
    return o


@wl.kernel
def fp8_block_gemm(
    x: wl.In["m", "k", wl.e4m3],
    xs: wl.In["m", "k/128", wl.f32],
    w: wl.In["n", "k", wl.e4m3],
    ws: wl.In["n/128", "k/128", wl.f32],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out, cols=128)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 128):
        acc += x[m, k] @ w[n, k].T * xs[m, k] * ws[n, k]
    out[m, n] = acc


def fp8_block_gemm_wanted(x, xs, w, ws):
    return (
        x
        * np.repeat(xs, 128, 1)[:, : x.shape[1]]
        @ (w * np.repeat(np.repeat(ws, 128, 0)[: w.shape[0]], 128, 1)[:, : w.shape[1]]).T
    )


@wl.kernel
def mxfp4_gemm(
    x: wl.In["m", "k"],
    w: wl.In["n", "k2", wl.u8],
    e: wl.In["n", "k/32", wl.u8],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        byte = w[n, wl.index(k) // 2]
        code = byte >> wl.index(k) % 2 * 4 & 15
        mag = code & 7
        val = wl.where(
            mag < 2,
            mag.to(wl.f32) * 0.5,
            wl.exp2((mag // 2 - 1).to(wl.f32)) * (1.0 + (mag % 2).to(wl.f32) * 0.5),
        )
        val = wl.where(code >= 8, -val, val)
        scale = wl.exp2(e[n, k].to(wl.f32) - 127.0)
        acc += x[m, k] @ (val * scale).to(x.dtype).T
    out[m, n] = acc


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def mxfp4_gemm_wanted(x, w, e):
    n, k2 = w.shape
    v = np.zeros((n, 2 * k2))
    v[:, ::2] = FP4[w & 15]
    v[:, 1::2] = FP4[w >> 4]
    return x @ (v * np.repeat(2.0 ** (e - 127.0), 32, 1)[:, : 2 * k2]).T


@wl.kernel
def nf4_dequant(
    q: wl.In["n", "k2", wl.u8],
    table: wl.In["c", wl.f32],
    amax: wl.In["n", "k/64", wl.f32],
    out: wl.Out["n", "k"],
):
    n, k = wl.tile(out)
    code = q[n, wl.index(k) // 2] >> 4 - wl.index(k) % 2 * 4 & 15
    out[n, k] = table[code] * amax[n, k]


def nf4_dequant_wanted(q, table, amax):
    n, k2 = q.shape
    v = np.zeros((n, 2 * k2))
    v[:, ::2] = table[q >> 4]
    v[:, 1::2] = table[q & 15]
    return v * np.repeat(amax, 64, 1)[:, : 2 * k2]


@wl.kernel
def gemv_split(w: wl.In["n", "k"], x: wl.In["k"], y: wl.Out["n", wl.f32]):
    n = wl.tile(y)
    acc = wl.zeros(n)
    for k in wl.steps(x.k):
        acc += (w[n, k] * x[k]).sum(axis=1)
    y[n] += acc


@wl.kernel
def gemv(w: wl.In["n", "k"], x: wl.In["k"], bias: wl.In["n"], y: wl.Out["n"]):
    n = wl.tile(y)
    y[n] = wl.silu((w[n, :] * x[:]).sum(axis=1) + bias[n])


def gemv_wanted(w, x, bias):
    a = w @ x + bias
    return a / (1 + np.exp(-a))


@wl.kernel
def rbf_kernel(
    x: wl.In["m", "d"], y: wl.In["n", "d"], out: wl.Out["m", "n", wl.f32], *, gamma: float
):
    m, n = wl.tile(out)
    dot, xx, yy = (wl.zeros(m, n), wl.zeros(m), wl.zeros(n))
    for d in wl.steps(x.d):
        a, b = (x[m, d], y[n, d])
        dot += a @ b.T
        xx += (a.to(wl.f32) * a).sum(axis=1)
        yy += (b.to(wl.f32) * b).sum(axis=1)
    out[m, n] = wl.exp(-gamma * wl.maximum(xx + yy - 2 * dot, 0.0))


@wl.kernel
def l1_distance(x: wl.In["m", "d"], y: wl.In["n", "d"], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for d in wl.steps(x.d, 1):
        acc += (x[m, d] - y[n, d]).abs()
    out[m, n] = acc


@wl.kernel
def fused_linear_bce(
    x: wl.In["m", "d"], w: wl.In["c", "d"], y: wl.In["m", "c"], loss: wl.Out["m", wl.f32]
):
    m = wl.tile(loss)
    total = wl.zeros(m)
    for c in wl.steps(w.c):
        z = wl.zeros(m, c)
        for d in wl.steps(x.d):
            z += x[m, d] @ w[c, d].T
        total += (wl.maximum(z, 0.0) - z * y[m, c] + wl.log1p(wl.exp(-wl.abs(z)))).sum(axis=1)
    loss[m] = total / w.c


def fused_linear_bce_wanted(x, w, y):
    z = x @ w.T
    return (np.maximum(z, 0) - z * y + np.log1p(np.exp(-abs(z)))).mean(1)


CASES = (
    Case(
        kernel=diff_attention,
        make=lambda r: {
            "q1": normal(r, 1, 2, 37, 64),
            "q2": normal(r, 1, 2, 37, 64),
            "k1": normal(r, 1, 2, 93, 64),
            "k2": normal(r, 1, 2, 93, 64),
            "v": normal(r, 1, 2, 93, 128),
        },
        wanted=diff_attention_wanted,
        scalars={"scale": 0.125, "lam": 0.3},
    ),
    Case(
        kernel=alibi_varlen,
        make=lambda r: {
            "q": normal(r, 2, 4, 50, 64),
            "k": normal(r, 2, 2, 70, 64),
            "v": normal(r, 2, 2, 70, 64),
            "slope": r.uniform(0, 0.1, 4),
            "lens": np.array([70, 33]),
        },
        wanted=alibi_varlen_wanted,
        scalars={"scale": 0.125, "cap": 20.0},
    ),
    Case(
        kernel=chunked_local,
        make=lambda r: {n: normal(r, 1, 2, 150, 64) for n in "qkv"},
        wanted=chunked_local_wanted,
        scalars={"scale": 0.125, "chunk": 48},
    ),
    Case(
        kernel=t5_bias_attention,
        make=lambda r: {
            "q": normal(r, 1, 2, 37, 64, scale=0.3),
            "k": normal(r, 1, 2, 70, 64, scale=0.3),
            "v": normal(r, 1, 2, 70, 64),
            "table": r.normal(size=(2, 32)),
            "mask": r.integers(0, 2, (1, 70)).astype(bool),
        },
        wanted=t5_bias_attention_wanted,
    ),
    Case(
        kernel=linear_attention_causal,
        make=lambda r: {
            "q": normal(r, 1, 2, 77, 64),
            "k": normal(r, 1, 2, 77, 64),
            "v": normal(r, 1, 2, 77, 48),
        },
        wanted=linear_attention_causal_wanted,
    ),
    Case(
        kernel=nsa_compress,
        make=lambda r: {
            "q": normal(r, 1, 3, 140, 64),
            "kc": normal(r, 1, 8, 64),
            "vc": normal(r, 1, 8, 64),
        },
        wanted=nsa_compress_wanted,
        scalars={"scale": 0.125, "block": 16},
    ),
    Case(
        kernel=mean_pool_blocks,
        make=lambda r: {"k": normal(r, 2, 144, 70)},
        wanted=lambda k: k.reshape(2, 9, 16, 70).mean(2),
        sizes={"c": 9},
        memory_bound=True,
    ),
    Case(
        kernel=prefix_lm,
        make=lambda r: {
            "q": normal(r, 2, 2, 90, 80),
            "k": normal(r, 2, 2, 90, 80),
            "v": normal(r, 2, 2, 90, 80),
            "prefix": np.array([17, 60]),
        },
        wanted=prefix_lm_wanted,
        scalars={"scale": 0.11},
    ),
    Case(
        kernel=varlen_cross,
        make=lambda r: {
            "q": normal(r, 100, 2, 64),
            "k": normal(r, 120, 2, 64),
            "v": normal(r, 120, 2, 64),
            "cq": np.array([0, 30, 30, 100]),
            "ck": np.array([0, 50, 55, 120]),
        },
        wanted=varlen_cross_wanted,
        scalars={"scale": 0.125},
    ),
    Case(kernel=attention_dq, make=dq_make, wanted=attention_dq_wanted, scalars={"scale": 0.125}),
    Case(
        kernel=delta_of,
        make=lambda r: {"o": normal(r, 2, 3, 19, 72), "do": normal(r, 2, 3, 19, 72)},
        wanted=lambda o, do: (o * do).sum(-1),
        memory_bound=True,
    ),
    Case(
        kernel=int8_kv_attention,
        make=lambda r: {
            "q": normal(r, 1, 2, 33, 64),
            "k": r.integers(-127, 128, (1, 2, 72, 64)),
            "ks": r.uniform(0.005, 0.02, (1, 2, 72)),
            "v": r.integers(-127, 128, (1, 2, 72, 64)),
            "vs": r.uniform(0.005, 0.02, (1, 2, 72)),
        },
        wanted=lambda q, k, ks, v, vs, scale: (
            sm(q @ (k * ks[..., None]).swapaxes(-1, -2) * scale) @ (v * vs[..., None])
        ),
        scalars={"scale": 0.125},
    ),
    Case(
        kernel=sgmv_shrink,
        make=lambda r: {
            "x": normal(r, 70, 200),
            "a": normal(r, 5, 16, 200),
            "starts": np.array([0, 13, 13, 70]),
            "which": np.array([4, 1, 2]),
        },
        wanted=sgmv_shrink_wanted,
    ),
    Case(
        kernel=fp8_block_gemm,
        make=lambda r: {
            "x": normal(r, 100, 512),
            "xs": r.uniform(0.1, 1, (100, 4)),
            "w": normal(r, 200, 512),
            "ws": r.uniform(0.1, 1, (2, 4)),
        },
        wanted=fp8_block_gemm_wanted,
        tolerance=0.04,
    ),
    Case(
        kernel=mxfp4_gemm,
        make=lambda r: {
            "x": normal(r, 50, 192),
            "w": r.integers(0, 256, (70, 96)),
            "e": r.integers(124, 130, (70, 6)),
        },
        wanted=mxfp4_gemm_wanted,
    ),
    Case(
        kernel=nf4_dequant,
        make=lambda r: {
            "q": r.integers(0, 256, (13, 100)),
            "table": np.linspace(-1, 1, 16),
            "amax": r.uniform(0.1, 1, (13, 4)),
        },
        wanted=nf4_dequant_wanted,
        sizes={"k": 200},
        memory_bound=True,
    ),
    Case(
        kernel=gemv_split,
        make=lambda r: {"w": normal(r, 101, 700), "x": normal(r, 700)},
        wanted=lambda w, x: w @ x,
        initial={"y": 0},
        memory_bound=True,
    ),
    Case(
        kernel=gemv,
        make=lambda r: {
            "w": normal(r, 101, 700, scale=0.1),
            "x": normal(r, 700),
            "bias": normal(r, 101),
        },
        wanted=gemv_wanted,
        memory_bound=True,
    ),
    Case(
        kernel=rbf_kernel,
        make=lambda r: {"x": normal(r, 50, 70), "y": normal(r, 90, 70)},
        wanted=lambda x, y, gamma: np.exp(-gamma * ((x[:, None] - y) ** 2).sum(-1)),
        scalars={"gamma": 0.01},
    ),
    Case(
        kernel=l1_distance,
        make=lambda r: {"x": normal(r, 33, 20), "y": normal(r, 45, 20)},
        wanted=lambda x, y: np.abs(x[:, None] - y).sum(-1),
    ),
    Case(
        kernel=fused_linear_bce,
        make=lambda r: {
            "x": normal(r, 50, 100, scale=0.3),
            "w": normal(r, 130, 100, scale=0.3),
            "y": r.integers(0, 2, (50, 130)).astype(float),
        },
        wanted=fused_linear_bce_wanted,
    ),
)
