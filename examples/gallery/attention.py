"""Attention in its forms."""

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def attention(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "g", "t", "d"],
    v: wl.In["b", "g", "t", "d"],
    sink: wl.In["h", wl.f32],
    bias: wl.In["h", "s", "t", wl.f32],
    out: wl.Out["b", "h", "s", "d"],
    *,
    scale: float,
    cap: float,
    window: int,
):
    b, h, s = wl.tile(out, whole="d")
    g = h // (q.h // k.g)
    qs = q[b, h, s]
    top = wl.zeros(s) + sink[h]
    total, acc = wl.zeros(s) + 1.0, wl.zeros(s, q.d)
    for t in wl.steps(k.t):
        x = cap * wl.tanh((qs @ k[b, g, t].T) * scale / cap) + bias[h, s, t]
        apart = wl.index(s) - wl.index(t)
        x = wl.where((apart >= 0) & (apart < window), x, -1.0e30)
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        total = total * keep + p.sum(axis=1)
        acc = acc * keep + p.to(v.dtype) @ v[b, g, t]
        top = new
    out[b, h, s] = acc / total


def attention_wanted(q, k, v, sink, bias, scale, cap, window):
    share = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, share, 1), np.repeat(v, share, 1)
    x = cap * np.tanh(np.einsum("bhsd,bhtd->bhst", q, k) * scale / cap) + bias
    i, j = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
    e = np.where((i >= j) & (i - j < window), np.exp(x), 0)
    return np.einsum("bhst,bhtd->bhsd", e, v) / (e.sum(-1) + np.exp(sink)[:, None])[..., None]


@wl.kernel
def mla_decode(
    q: wl.In["b", "h", "c"],
    q_rope: wl.In["b", "h", "r"],
    kv: wl.In["b", "t", "c"],
    k_rope: wl.In["b", "t", "r"],
    length: wl.In["b", wl.i32],
    out: wl.Out["b", "h", "c"],
    *,
    scale: float,
):
    b, h = wl.tile(out, whole="c")
    qs, qr = q[b, h], q_rope[b, h, :]
    acc, total, top = wl.zeros(h, q.c), wl.zeros(h), wl.full(h, -1.0e30)
    for t in wl.steps(kv.t, until=length[b]):
        cs = kv[b, t]
        x = (qs @ cs.T + qr @ k_rope[b, t, :].T) * scale
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        total = total * keep + p.sum(axis=1)
        acc = acc * keep + p.to(kv.dtype) @ cs
        top = new
    out[b, h] = acc / total


def mla_decode_wanted(q, q_rope, kv, k_rope, length, scale):
    x = (np.einsum("bhc,btc->bht", q, kv) + np.einsum("bhr,btr->bht", q_rope, k_rope)) * scale
    x = np.where(np.arange(kv.shape[1]) < length[:, None, None], np.exp(x), 0)
    return np.einsum("bht,btc->bhc", x / x.sum(-1, keepdims=True), kv)


@wl.kernel
def decode(
    q: wl.In["b", "h", "d"],
    k: wl.In["b", "t", "d"],
    v: wl.In["b", "t", "d"],
    out: wl.Out["b", "h", "d"],
    lse: wl.Out["b", "h", wl.f32],
    *,
    scale: float,
):
    b, h = wl.tile(out, whole="d")
    qs = q[b, h]
    acc, total, top = wl.zeros(h, q.d), wl.zeros(h), wl.full(h, -1.0e30)
    for t in wl.steps(k.t):
        x = (qs @ k[b, t].T) * scale
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        total = total * keep + p.sum(axis=1)
        acc = acc * keep + p.to(v.dtype) @ v[b, t]
        top = new
    out[b, h] = acc / total
    lse[b, h] = top + wl.log(total)


def decode_wanted(q, k, v, scale):
    x = np.einsum("bhd,btd->bht", q, k) * scale
    e = np.exp(x)
    return np.einsum("bht,btd->bhd", e / e.sum(-1, keepdims=True), v), np.log(e.sum(-1))


@wl.kernel
def linear_attention(
    q: wl.In["b", "s", "d"], k: wl.In["b", "t", "d"], v: wl.In["b", "t", "e"],
    out: wl.Out["b", "s", "e"],
):  # fmt: skip
    b, s, e = wl.tile(out)
    qs, acc, total = q[b, s, :], wl.zeros(s, e), wl.zeros(s)
    for t in wl.steps(k.t):
        x = qs @ k[b, t, :].T
        x = wl.where(wl.index(s) >= wl.index(t), x, 0.0)
        total += x.sum(axis=1)
        acc += x.to(v.dtype) @ v[b, t, e]
    out[b, s, e] = acc / (total + 1e-3)


def linear_attention_wanted(q, k, v):
    x = np.tril(np.einsum("bsd,btd->bst", q, k))
    return np.einsum("bst,bte->bse", x, v) / (x.sum(-1, keepdims=True) + 1e-3)


CASES = (
    Case(
        kernel=attention,
        make=lambda rng: {
            "q": normal(rng, 2, 4, 70, 64),
            "k": normal(rng, 2, 2, 70, 64),
            "v": normal(rng, 2, 2, 70, 64),
            "sink": normal(rng, 4),
            "bias": normal(rng, 4, 70, 70),
        },
        wanted=attention_wanted,
        scalars={"scale": 0.125, "cap": 20.0, "window": 33},
        trial=3,
    ),
    Case(
        kernel=mla_decode,
        make=lambda rng: {
            "q": normal(rng, 2, 16, 512, scale=0.3),
            "q_rope": normal(rng, 2, 16, 64, scale=0.3),
            "kv": normal(rng, 2, 70, 512),
            "k_rope": normal(rng, 2, 70, 64),
            "length": np.array([70, 33]),
        },
        wanted=mla_decode_wanted,
        scalars={"scale": 0.1},
        trial=7,
    ),
    Case(
        kernel=decode,
        make=lambda rng: {
            "q": normal(rng, 2, 16, 80),
            "k": normal(rng, 2, 133, 80),
            "v": normal(rng, 2, 133, 80),
        },
        wanted=decode_wanted,
        scalars={"scale": 0.1},
    ),
    Case(
        kernel=linear_attention,
        make=lambda rng: {
            "q": np.abs(normal(rng, 2, 100, 64)) * 0.1,
            "k": np.abs(normal(rng, 2, 100, 64)) * 0.1,
            "v": normal(rng, 2, 100, 72),
        },
        wanted=linear_attention_wanted,
    ),
)
