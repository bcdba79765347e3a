"""Gradients of attention, absorbed latents, losses over two vocabularies, experts, convolution."""

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


def sm(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sig(x):
    return 1 / (1 + np.exp(-x))


@wl.kernel
def attention_dkdv(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "h", "t", "d"],
    v: wl.In["b", "h", "t", "d"],
    do: wl.In["b", "h", "s", "d"],
    lse: wl.In["b", "h", "s", wl.f32],
    delta: wl.In["b", "h", "s", wl.f32],
    dk: wl.Out["b", "h", "t", "d"],
    dv: wl.Out["b", "h", "t", "d"],
    *,
    scale: float,
):
    b, h, t = wl.tile(dk, whole="d")
    gk, gv = (wl.zeros(t, q.d), wl.zeros(t, q.d))
    for s in wl.steps(q.s):
        st = k[b, h, t] @ q[b, h, s].T * scale
        p = wl.where(wl.index(t) <= wl.index(s), wl.exp(st - lse[b, h, s]), 0.0)
        g = do[b, h, s]
        gv += p.to(q.dtype) @ g
        dp = v[b, h, t] @ g.T
        ds = p * (dp - delta[b, h, s]) * scale
        gk += ds.to(q.dtype) @ q[b, h, s]
    dk[b, h, t], dv[b, h, t] = (gk, gv)


def gradient_inputs(r):
    a = {n: normal(r, 1, 2, 77, 64) for n in ("q", "k", "v", "do")}
    s = np.where(np.tri(77) > 0, a["q"] @ a["k"].swapaxes(-1, -2) * 0.125, -np.inf)
    m = s.max(-1)
    l = m + np.log(np.exp(s - m[..., None]).sum(-1))
    o = np.exp(s - l[..., None]) @ a["v"]
    return a | {"lse": l, "delta": (o * a["do"]).sum(-1)}


def attention_dkdv_wanted(q, k, v, do, lse, delta, scale):
    s = np.where(np.tri(77) > 0, q @ k.swapaxes(-1, -2) * scale, -np.inf)
    p = np.exp(s - lse[..., None])
    ds = p * (do @ v.swapaxes(-1, -2) - delta[..., None]) * scale
    return (ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ do)


@wl.kernel
def mla_absorb(
    q: wl.In["b", "h", "c"],
    qr: wl.In["b", "h", "r"],
    kv: wl.In["b", "t", "c"],
    kr: wl.In["b", "t", "r"],
    lens: wl.In["b", wl.i32],
    out: wl.Out["b", "h", "c"],
    lse: wl.Out["b", "h", wl.f32],
    *,
    scale: float,
):
    b, h = wl.tile(out, whole="c")
    top, total, acc = (wl.full(h, -wl.inf), wl.zeros(h), wl.zeros(h, q.c))
    for t in wl.steps(kv.t, until=lens[b]):
        c = kv[b, t]
        s = (q[b, h] @ c.T + qr[b, h] @ kr[b, t].T) * scale
        s = wl.where(wl.index(t) < lens[b], s, -wl.inf)
        new = wl.maximum(top, s.max(axis=1))
        p, r = (wl.exp(s - new), wl.exp(top - new))
        total = total * r + p.sum(axis=1)
        acc = acc * r + p.to(kv.dtype) @ c
        top = new
    out[b, h] = acc / total
    lse[b, h] = top + wl.log(total)


def mla_absorb_wanted(q, qr, kv, kr, lens, scale):
    o = np.zeros(q.shape)
    lse = np.zeros(q.shape[:2])
    for b, n in enumerate(lens):
        s = (q[b] @ kv[b, :n].T + qr[b] @ kr[b, :n].T) * scale
        o[b] = sm(s) @ kv[b, :n]
        lse[b] = np.log(np.exp(s).sum(1))
    return (o, lse)


@wl.kernel
def linear_jsd(
    s: wl.In["m", "d"],
    t: wl.In["m", "e"],
    ws: wl.In["v", "d"],
    wt: wl.In["v", "e"],
    loss: wl.Out["m", wl.f32],
):
    m = wl.tile(loss)
    ms, ls, mt, lt = (wl.full(m, -wl.inf), wl.zeros(m), wl.full(m, -wl.inf), wl.zeros(m))
    for v in wl.steps(ws.v):
        a, b = (wl.zeros(m, v), wl.zeros(m, v))
        for d in wl.steps(s.d):
            a += s[m, d] @ ws[v, d].T
        for e in wl.steps(t.e):
            b += t[m, e] @ wt[v, e].T
        na, nb = (wl.maximum(ms, a.max(axis=1)), wl.maximum(mt, b.max(axis=1)))
        ls = ls * wl.exp(ms - na) + wl.exp(a - na).sum(axis=1)
        lt = lt * wl.exp(mt - nb) + wl.exp(b - nb).sum(axis=1)
        ms, mt = (na, nb)
    za, zb = (ms + wl.log(ls), mt + wl.log(lt))
    total = wl.zeros(m)
    for v in wl.steps(ws.v):
        a, b = (wl.zeros(m, v), wl.zeros(m, v))
        for d in wl.steps(s.d):
            a += s[m, d] @ ws[v, d].T
        for e in wl.steps(t.e):
            b += t[m, e] @ wt[v, e].T
        la, lb = (a - za, b - zb)
        p, q = (wl.exp(la), wl.exp(lb))
        mix = wl.log(0.5 * (p + q))
        total += 0.5 * (p * (la - mix) + q * (lb - mix)).sum(axis=1)
    loss[m] = total


def linear_jsd_wanted(s, t, ws, wt):
    p, q = (sm(s @ ws.T), sm(t @ wt.T))
    m = (p + q) / 2
    return 0.5 * (p * np.log(p / m) + q * np.log(q / m)).sum(1)


@wl.kernel
def int4_grouped_zeros(
    x: wl.In["t", "k"],
    w: wl.In["e", "n", "k2", wl.u8],
    s: wl.In["e", "n", "k/64"],
    z: wl.In["e", "n", "k/64"],
    starts: wl.Starts["e"],
    out: wl.Out["t", "n"],
):
    e, t, n = wl.tile(out, groups=starts)
    acc = wl.zeros(t, n)
    for k in wl.steps(x.k, 64):
        code = w[e, n, wl.index(k) // 2] >> wl.index(k) % 2 * 4 & 15
        b = (code.to(wl.f32) - z[e, n, k]) * s[e, n, k]
        acc += x[t, k] @ b.to(x.dtype).T
    out[t, n] = acc


def int4_grouped_zeros_wanted(x, w, s, z, starts):
    groups, n, k2 = w.shape
    v = np.zeros((groups, n, 2 * k2))
    v[..., ::2] = w & 15
    v[..., 1::2] = w >> 4
    v = (v - np.repeat(z, 64, 2)) * np.repeat(s, 64, 2)
    o = np.zeros((len(x), n))
    for e in range(groups):
        o[starts[e] : starts[e + 1]] = x[starts[e] : starts[e + 1]] @ v[e].T
    return o


@wl.kernel
def newton_schulz_step(
    x: wl.In["b", "m", "n"], g: wl.In["b", "m", "k"], out: wl.Out["b", "m", "n"], *, a: float
):
    b, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(g.k):
        acc += g[b, m, k] @ x[b, wl.index(k), n]
    out[b, m, n] = a * x[b, m, n] + acc


@wl.kernel
def conv1d_same(
    x: wl.In["b", "c", "t"], w: wl.In["o", "c", "k"], bias: wl.In["o"], out: wl.Out["b", "o", "t"]
):
    b, o, t = wl.tile(out)
    acc = wl.zeros(o, t)
    for c in wl.steps(x.c, 1):
        for k in range(3):
            acc += w[o, c, k] * x[b, c, wl.index(t) + k - 1]
    out[b, o, t] = wl.relu(acc + bias[o])


def conv1d_same_wanted(x, w, bias):
    p = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    t = x.shape[2]
    return np.maximum(
        sum(np.einsum("oc,bct->bot", w[:, :, k], p[:, :, k : k + t]) for k in range(3))
        + bias[:, None],
        0,
    )


@wl.kernel
def layer_norm_backward_params(
    x: wl.In["m", "n"],
    dy: wl.In["m", "n"],
    mean: wl.In["m", wl.f32],
    rstd: wl.In["m", wl.f32],
    dw: wl.Out["n", wl.f32],
    db: wl.Out["n", wl.f32],
):
    n = wl.tile(dw)
    gw = gb = wl.zeros(n)
    for m in wl.steps(x.m):
        g = dy[m, n]
        gw += (g * (x[m, n] - mean[m]) * rstd[m]).sum(axis=0)
        gb += g.sum(axis=0)
    dw[n], db[n] = (gw, gb)


@wl.kernel
def moe_gate_up_gather(
    x: wl.In["t", "d"],
    ids: wl.In["p", wl.i32],
    starts: wl.Starts["e"],
    wg: wl.In["e", "f", "d"],
    wu: wl.In["e", "f", "d"],
    out: wl.Out["p", "f"],
):
    e, p, f = wl.tile(out, groups=starts)
    g, u = (wl.zeros(p, f), wl.zeros(p, f))
    for d in wl.steps(x.d):
        a = x[ids[p], d]
        g += a @ wg[e, f, d].T
        u += a @ wu[e, f, d].T
    out[p, f] = wl.silu(g) * u


def moe_gate_up_gather_wanted(x, ids, starts, wg, wu):
    o = np.zeros((len(ids), wg.shape[1]))
    for e in range(len(wg)):
        a = x[ids[starts[e] : starts[e + 1]]]
        g = a @ wg[e].T
        o[starts[e] : starts[e + 1]] = g * sig(g) * (a @ wu[e].T)
    return o


@wl.kernel
def swiglu_fp8_tensor_amax(
    g: wl.In["m", "n"],
    u: wl.In["m", "n"],
    scale: wl.In["one", wl.f32],
    q: wl.Out["m", "n", wl.e4m3],
    amax: wl.Out["one", wl.f32],
):
    m, n = wl.tile(q)
    y = wl.silu(g[m, n]) * u[m, n]
    q[m, n] = y * scale[0]
    wl.atomic_max(amax[0], y.abs().max())


def swiglu_fp8_tensor_amax_wanted(g, u, scale):
    y = g * sig(g) * u
    return (y * 4, np.array([abs(y).max()]))


@wl.kernel
def rope_bwd_pairs(
    dy: wl.In["t", "h", "d"], cos: wl.In["t", "f"], sin: wl.In["t", "f"], dx: wl.Out["t", "h", "d"]
):
    t, h = wl.tile(dx, whole="d", unit="t")
    i = wl.index(dy.d)
    c, s = (cos[t, i // 2], sin[t, i // 2])
    other = dy[t, h, i ^ 1]
    dx[t, h] = dy[t, h] * c + wl.where(i % 2 == 0, other, -other) * s


def rope_bwd_pairs_wanted(dy, cos, sin):
    a, b = (dy[..., ::2], dy[..., 1::2])
    c, s = (cos[:, None], sin[:, None])
    o = np.zeros(dy.shape)
    o[..., ::2] = a * c + b * s
    o[..., 1::2] = b * c - a * s
    return o


CASES = (
    Case(
        kernel=attention_dkdv,
        make=gradient_inputs,
        wanted=attention_dkdv_wanted,
        scalars={"scale": 0.125},
    ),
    Case(
        kernel=mla_absorb,
        make=lambda r: {
            "q": normal(r, 2, 16, 128, scale=0.3),
            "qr": normal(r, 2, 16, 64, scale=0.3),
            "kv": normal(r, 2, 90, 128),
            "kr": normal(r, 2, 90, 64),
            "lens": np.array([90, 37]),
        },
        wanted=mla_absorb_wanted,
        scalars={"scale": 0.1},
    ),
    Case(
        kernel=linear_jsd,
        make=lambda r: {
            "s": normal(r, 37, 70, scale=0.3),
            "t": normal(r, 37, 100, scale=0.3),
            "ws": normal(r, 150, 70, scale=0.3),
            "wt": normal(r, 150, 100, scale=0.3),
        },
        wanted=linear_jsd_wanted,
    ),
    Case(
        kernel=int4_grouped_zeros,
        make=lambda r: {
            "x": normal(r, 50, 128),
            "w": r.integers(0, 256, (3, 70, 64)),
            "s": normal(r, 3, 70, 2, scale=0.1),
            "z": r.integers(0, 16, (3, 70, 2)).astype(float),
            "starts": np.array([0, 20, 20, 50]),
        },
        wanted=int4_grouped_zeros_wanted,
    ),
    Case(
        kernel=newton_schulz_step,
        make=lambda r: {"x": normal(r, 2, 40, 56), "g": normal(r, 2, 40, 40)},
        wanted=lambda x, g, a: a * x + g @ x,
        scalars={"a": 3.4445},
    ),
    Case(
        kernel=conv1d_same,
        make=lambda r: {"x": normal(r, 2, 6, 45), "w": normal(r, 9, 6, 3), "bias": normal(r, 9)},
        wanted=conv1d_same_wanted,
    ),
    Case(
        kernel=layer_norm_backward_params,
        make=lambda r: {
            "x": normal(r, 133, 77),
            "dy": normal(r, 133, 77),
            "mean": r.normal(size=133),
            "rstd": r.uniform(0.5, 1, 133),
        },
        wanted=lambda x, dy, mean, rstd: (
            (dy * (x - mean[:, None]) * rstd[:, None]).sum(0),
            dy.sum(0),
        ),
    ),
    Case(
        kernel=moe_gate_up_gather,
        make=lambda r: {
            "x": normal(r, 30, 72, scale=0.3),
            "ids": r.integers(0, 30, 60),
            "starts": np.array([0, 17, 17, 60]),
            "wg": normal(r, 3, 40, 72, scale=0.3),
            "wu": normal(r, 3, 40, 72, scale=0.3),
        },
        wanted=moe_gate_up_gather_wanted,
    ),
    Case(
        kernel=swiglu_fp8_tensor_amax,
        make=lambda r: {"g": normal(r, 33, 130), "u": normal(r, 33, 130), "scale": np.array([4.0])},
        wanted=swiglu_fp8_tensor_amax_wanted,
        initial={"amax": 0},
        tolerance=0.05,
    ),
    Case(
        kernel=rope_bwd_pairs,
        make=lambda r: {
            "dy": normal(r, 9, 5, 48),
            "cos": normal(r, 9, 24),
            "sin": normal(r, 9, 24),
        },
        wanted=rope_bwd_pairs_wanted,
    ),
)
