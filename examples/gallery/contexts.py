"""Attention of further forms, and its linear relatives."""

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def window_sink(
    q: wl.In["h", "s", "d"],
    k: wl.In["g", "t", "d"],
    v: wl.In["g", "t", "d"],
    sink: wl.In["h", wl.f32],
    out: wl.Out["h", "s", "d"],
    *,
    scale: float,
    window: int,
):
    h, s = wl.tile(out, whole="d")
    g = h // (q.h // k.g)
    qs = q[h, s]
    acc, total, top = wl.zeros(s, q.d), wl.zeros(s) + 1.0, wl.zeros(s) + sink[h]
    first = wl.maximum(wl.index(s).min() - window + 1, 0)
    for t in wl.steps(k.t, start=first, until=wl.index(s).max() + 1):
        x = (qs @ k[g, t].T) * scale
        d = wl.index(s) - wl.index(t)
        x = wl.where((d >= 0) & (d < window), x, -1e30)
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        total = total * keep + p.sum(axis=1)
        acc = acc * keep + p.to(v.dtype) @ v[g, t]
        top = new
    out[h, s] = acc / total


def window_sink_wanted(q, k, v, sink, scale, window):
    r = q.shape[0] // k.shape[0]
    k, v = np.repeat(k, r, 0), np.repeat(v, r, 0)
    x = np.einsum("hsd,htd->hst", q, k) * scale
    d = np.arange(q.shape[1])[:, None] - np.arange(k.shape[1])
    e = np.where((d >= 0) & (d < window), np.exp(x), 0)
    return np.einsum("hst,htd->hsd", e, v) / (e.sum(-1) + np.exp(sink)[:, None])[..., None]


@wl.kernel
def cross_attention(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "h", "t", "d"],
    v: wl.In["b", "h", "t", "d"],
    mask: wl.In["b", "t", wl.bool_],
    out: wl.Out["b", "h", "s", "d"],
    *,
    scale: float,
):
    b, h, s = wl.tile(out, whole="d")
    qs = q[b, h, s]
    acc, total, top = wl.zeros(s, q.d), wl.zeros(s), wl.full(s, -1e30)
    for t in wl.steps(k.t):
        x = wl.where(mask[b, t], (qs @ k[b, h, t].T) * scale, -1e30)
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        total = total * keep + p.sum(axis=1)
        acc = acc * keep + p.to(v.dtype) @ v[b, h, t]
        top = new
    out[b, h, s] = acc / total


def cross_attention_wanted(q, k, v, mask, scale):
    x = np.einsum("bhsd,bhtd->bhst", q, k) * scale
    e = np.where(mask[:, None, None], np.exp(x), 0)
    return np.einsum("bhst,bhtd->bhsd", e / e.sum(-1, keepdims=True), v)


@wl.kernel
def mla_prefill(
    q: wl.In["h", "s", "d"],
    qr: wl.In["h", "s", "r"],
    k: wl.In["h", "t", "d"],
    kr: wl.In["t", "r"],
    v: wl.In["h", "t", "e"],
    out: wl.Out["h", "s", "e"],
    *,
    scale: float,
):
    h, s = wl.tile(out, whole="e")
    a, b = q[h, s, :], qr[h, s, :]
    acc, total, top = wl.zeros(s, v.e), wl.zeros(s), wl.full(s, -1e30)
    for t in wl.steps(k.t, until=wl.index(s).max() + 1):
        x = (a @ k[h, t, :].T + b @ kr[t, :].T) * scale
        x = wl.where(wl.index(s) >= wl.index(t), x, -1e30)
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        total = total * keep + p.sum(axis=1)
        acc = acc * keep + p.to(v.dtype) @ v[h, t, :]
        top = new
    out[h, s] = acc / total


def mla_prefill_wanted(q, qr, k, kr, v, scale):
    x = (np.einsum("hsd,htd->hst", q, k) + np.einsum("hsr,tr->hst", qr, kr)) * scale
    e = np.tril(np.exp(x))
    return np.einsum("hst,hte->hse", e / e.sum(-1, keepdims=True), v)


@wl.kernel
def retention(
    q: wl.In["h", "s", "d"],
    k: wl.In["h", "t", "d"],
    v: wl.In["h", "t", "e"],
    decay: wl.In["h", wl.f32],
    out: wl.Out["h", "s", "e"],
):
    h, s, e = wl.tile(out)
    qs, acc, norm = q[h, s, :], wl.zeros(s, e), wl.zeros(s)
    for t in wl.steps(k.t, until=wl.index(s).max() + 1):
        d = wl.index(s) - wl.index(t)
        x = (qs @ k[h, t, :].T) * wl.where(d >= 0, wl.exp2(d * decay[h]), 0.0)
        norm += x.sum(axis=1)
        acc += x.to(v.dtype) @ v[h, t, e]
    out[h, s, e] = acc / wl.maximum(wl.abs(norm), 1.0)


def retention_wanted(q, k, v, decay):
    d = np.arange(q.shape[1])[:, None] - np.arange(k.shape[1])
    x = np.einsum("hsd,htd->hst", q, k) * np.where(
        d >= 0, 2.0 ** (np.maximum(d, 0) * decay[:, None, None]), 0
    )
    return np.einsum("hst,hte->hse", x, v) / np.maximum(np.abs(x.sum(-1)), 1)[..., None]


@wl.kernel
def decode_append(
    q: wl.In["b", "h", "d"],
    new_k: wl.In["b", "d"],
    new_v: wl.In["b", "d"],
    k: wl.In["b", "t", "d"],
    v: wl.In["b", "t", "d"],
    length: wl.In["b", wl.i32],
    out: wl.Out["b", "h", "d"],
    *,
    scale: float,
):
    b, h = wl.tile(out, whole="d")
    qs = q[b, h]
    first = (qs * new_k[b, :]).sum(axis=1) * scale
    top, total, acc = first, wl.zeros(h) + 1.0, wl.zeros(h, q.d) + new_v[b, :]
    for t in wl.steps(k.t, until=length[b]):
        x = (qs @ k[b, t].T) * scale
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        total = total * keep + p.sum(axis=1)
        acc = acc * keep + p.to(v.dtype) @ v[b, t]
        top = new
    out[b, h] = acc / total


def decode_append_wanted(q, new_k, new_v, k, v, length, scale):
    o = np.zeros(q.shape)
    for b in range(len(q)):
        keys = np.concatenate([k[b, : length[b]], new_k[b : b + 1]])
        values = np.concatenate([v[b, : length[b]], new_v[b : b + 1]])
        e = np.exp(q[b] @ keys.T * scale)
        o[b] = e / e.sum(1, keepdims=True) @ values
    return o


@wl.kernel
def chunk_state(
    x: wl.In["c", "t", "p"],
    b: wl.In["c", "t", "n"],
    da: wl.In["c", "t", wl.f32],
    dt: wl.In["c", "t", wl.f32],
    last: wl.In["c", wl.f32],
    out: wl.Out["c", "p", "n", wl.f32],
):
    c, p, n = wl.tile(out)
    acc = wl.zeros(p, n)
    for t in wl.steps(x.t):
        w = wl.exp(last[c] - da[c, t]) * dt[c, t]
        acc += (x[c, t, p].T * w).to(x.dtype) @ b[c, t, n]
    out[c, p, n] = acc


def chunk_state_wanted(x, b, da, dt, last):
    w = np.exp(last[:, None] - da) * dt
    return np.einsum("ctp,ct,ctn->cpn", x, w, b)


CASES = (
    Case(
        kernel=window_sink,
        make=lambda rng: {
            "q": normal(rng, 4, 150, 80),
            "k": normal(rng, 2, 150, 80),
            "v": normal(rng, 2, 150, 80),
            "sink": normal(rng, 4),
        },
        wanted=window_sink_wanted,
        scalars={"scale": 0.11, "window": 40},
    ),
    Case(
        kernel=cross_attention,
        make=lambda rng: {
            "q": normal(rng, 2, 2, 33, 72),
            "k": normal(rng, 2, 2, 77, 72),
            "v": normal(rng, 2, 2, 77, 72),
            "mask": np.arange(77) < np.array([[77], [40]]),
        },
        wanted=cross_attention_wanted,
        scalars={"scale": 0.12},
    ),
    Case(
        kernel=mla_prefill,
        make=lambda rng: {
            "q": normal(rng, 2, 70, 128, scale=0.5),
            "qr": normal(rng, 2, 70, 64, scale=0.5),
            "k": normal(rng, 2, 70, 128, scale=0.5),
            "kr": normal(rng, 70, 64, scale=0.5),
            "v": normal(rng, 2, 70, 128),
        },
        wanted=mla_prefill_wanted,
        scalars={"scale": 0.1},
    ),
    Case(
        kernel=retention,
        make=lambda rng: {
            "q": normal(rng, 2, 100, 64, scale=0.3),
            "k": normal(rng, 2, 100, 64, scale=0.3),
            "v": normal(rng, 2, 100, 72),
            "decay": np.array([-0.05, -0.2]),
        },
        wanted=retention_wanted,
    ),
    Case(
        kernel=decode_append,
        make=lambda rng: {
            "q": normal(rng, 2, 16, 64),
            "new_k": normal(rng, 2, 64),
            "new_v": normal(rng, 2, 64),
            "k": normal(rng, 2, 70, 64),
            "v": normal(rng, 2, 70, 64),
            "length": np.array([70, 0]),
        },
        wanted=decode_append_wanted,
        scalars={"scale": 0.12},
    ),
    Case(
        kernel=chunk_state,
        make=lambda rng: {
            "x": normal(rng, 2, 50, 40),
            "b": normal(rng, 2, 50, 72),
            "da": -np.abs(normal(rng, 2, 50)),
            "dt": np.abs(normal(rng, 2, 50)),
            "last": normal(rng, 2) - 2,
        },
        wanted=chunk_state_wanted,
    ),
)
