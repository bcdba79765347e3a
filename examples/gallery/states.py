"""Attention by trees, pages, blocks and parts; recurrences; routing."""

import itertools

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def tree_attention(
    q: wl.In["h", "s", "d"],
    k: wl.In["h", "t", "d"],
    v: wl.In["h", "t", "d"],
    mask: wl.In["s", "t/32", wl.u32],
    out: wl.Out["h", "s", "d"],
    *,
    scale: float,
):
    h, s = wl.tile(out, whole="d")
    qs = q[h, s]
    acc, total, top = wl.zeros(s, q.d), wl.zeros(s), wl.full(s, -1e30)
    for t in wl.steps(k.t):
        bit = (mask[s, t] >> (wl.index(t) % 32)) & 1
        x = wl.where(bit == 1, (qs @ k[h, t].T) * scale, -1e30)
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.where(bit == 1, wl.exp(x - new), 0.0)
        total = total * keep + p.sum(axis=1)
        acc = acc * keep + p.to(v.dtype) @ v[h, t]
        top = new
    out[h, s] = acc / wl.where(total > 0, total, 1.0)


def tree_attention_wanted(q, k, v, mask, scale):
    t = np.arange(k.shape[1])
    m = (mask.astype(np.int64)[:, t // 32] >> (t % 32)) & 1
    e = np.where(m == 1, np.exp(np.einsum("hsd,htd->hst", q, k) * scale), 0)
    z = e.sum(-1, keepdims=True)
    return np.einsum("hst,htd->hsd", e, v) / np.where(z > 0, z, 1)


@wl.kernel
def everything_attention(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "g", "t", "d"],
    v: wl.In["b", "g", "t", "d"],
    sink: wl.In["h", wl.f32],
    slope: wl.In["h", wl.f32],
    out: wl.Out["b", "h", "s", "d"],
    lse: wl.Out["b", "h", "s", wl.f32],
    *,
    scale: float,
    cap: float,
    window: int,
):
    b, h, s = wl.tile(out, whole="d")
    g = h // (q.h // k.g)
    qs = q[b, h, s]
    acc, total, top = wl.zeros(s, q.d), wl.zeros(s), wl.full(s, -1e30)
    i = wl.index(s)
    for t in wl.steps(k.t, start=i.min() - window + 1, until=i.max() + 1):
        j = wl.index(t)
        x = cap * wl.tanh((qs @ k[b, g, t].T) * (scale / cap)) + slope[h] * (j - i)
        x = wl.where((j <= i) & (i - j < window), x, -1e30)
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        total = total * keep + p.sum(axis=1)
        acc = acc * keep + p.to(v.dtype) @ v[b, g, t]
        top = new
    new = wl.maximum(top, sink[h])
    total = total * wl.exp(top - new) + wl.exp(sink[h] - new)
    out[b, h, s] = acc * wl.exp(top - new) / total
    lse[b, h, s] = new + wl.log(total)


def everything_attention_wanted(q, k, v, sink, slope, scale, cap, window):
    r = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, r, 1), np.repeat(v, r, 1)
    i = np.arange(q.shape[2])[:, None]
    j = np.arange(k.shape[2])
    x = cap * np.tanh(np.einsum("bhsd,bhtd->bhst", q, k) * scale / cap) + slope[:, None, None] * (
        j - i
    )
    e = np.where((j <= i) & (i - j < window), np.exp(x), 0)
    z = e.sum(-1) + np.exp(sink)[:, None]
    return np.einsum("bhst,bhtd->bhsd", e, v) / z[..., None], np.log(z)


@wl.kernel
def mla_paged(
    q: wl.In["b", "h", "c"],
    qr: wl.In["b", "h", "r"],
    cache: wl.In["pages", "t", "c"],
    kr: wl.In["pages", "t", "r"],
    table: wl.In["b", "j", wl.i32],
    length: wl.In["b", wl.i32],
    out: wl.Out["b", "h", "c"],
    lse: wl.Out["b", "h", wl.f32],
    *,
    scale: float,
):
    b, h = wl.tile("b", "h", unit="b")
    qs, rs = q[b, h, :], qr[b, h, :]
    acc, total, top = wl.zeros(h, q.c), wl.zeros(h), wl.full(h, -1e30)
    for j in wl.steps(table.j, 1, until=(length[b] + cache.t - 1) // cache.t):
        page = table[b, j]
        for t in wl.steps(cache.t):
            kv = cache[page, t, :]
            x = (qs @ kv.T + rs @ kr[page, t, :].T) * scale
            x = wl.where(j * cache.t + wl.index(t) < length[b], x, -wl.inf)
            new = wl.maximum(top, x.max(axis=1))
            keep, p = wl.exp(top - new), wl.exp(x - new)
            total = total * keep + p.sum(axis=1)
            acc = acc * keep + p.to(q.dtype) @ kv
            top = new
    out[b, h, :] = acc / wl.maximum(total, 1e-30)
    lse[b, h] = top + wl.log(total)


def mla_paged_wanted(q, qr, cache, kr, table, length, scale):
    out = np.zeros(q.shape)
    lse = np.zeros(q.shape[:2])
    for b in range(len(q)):
        n = length[b]
        c = np.concatenate([cache[p] for p in table[b]])[:n]
        r = np.concatenate([kr[p] for p in table[b]])[:n]
        x = (q[b] @ c.T + qr[b] @ r.T) * scale
        if n:
            e = np.exp(x)
            out[b] = e / e.sum(1, keepdims=True) @ c
            lse[b] = np.log(e.sum(1))
        else:
            lse[b] = -np.inf
    return out, lse


@wl.kernel
def sage(
    q: wl.In["h", "s", "d", wl.i8],
    k: wl.In["h", "t", "d", wl.i8],
    v: wl.In["h", "t", "d", wl.f16],
    qs: wl.In["h", "s", wl.f32],
    ks: wl.In["h", "t", wl.f32],
    out: wl.Out["h", "s", "d", wl.bf16],
    *,
    causal=False,
):
    h, s = wl.tile(out, whole="d")
    qq, sc = q[h, s], qs[h, s]
    acc, total, top = wl.zeros(s, q.d), wl.zeros(s), wl.full(s, -1e30)
    for t in wl.steps(k.t, 64, until=wl.index(s).max() + 1 if causal else k.t):
        x = (qq @ k[h, t].T).to(wl.f32) * sc * ks[h, t]
        if causal:
            x = wl.where(wl.index(t) <= wl.index(s), x, -1e30)
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp2(top - new), wl.exp2(x - new)
        total = total * keep + p.sum(axis=1)
        acc = acc * keep + p.to(v.dtype) @ v[h, t]
        top = new
    out[h, s] = acc / total


def sage_wanted(q, k, v, qs, ks):
    x = np.einsum("hsd,htd->hst", q.astype(float), k.astype(float)) * qs[..., None] * ks[:, None]
    e = np.where(np.tri(q.shape[1], k.shape[1]) > 0, np.exp2(x), 0)
    return np.einsum("hst,htd->hsd", e / e.sum(-1, keepdims=True), v)


@wl.kernel
def merge_many(
    v: wl.In["p", "s", "h", "d"],
    lse: wl.In["p", "s", "h", wl.f32],
    out: wl.Out["s", "h", "d"],
    total: wl.Out["s", "h", wl.f32],
):
    s, h = wl.tile(out, whole="d")
    acc, z, top = wl.zeros(h, v.d), wl.zeros(h), wl.full(h, -1e30)
    for p in wl.steps(v.p, 1):
        l = wl.maximum(lse[p, s, h], -1e30)
        new = wl.maximum(top, l)
        a, b = wl.exp(top - new), wl.exp(l - new)
        acc = acc * a + v[p, s, h] * b
        z = z * a + b
        top = new
    out[s, h] = acc / z
    total[s, h] = top + wl.log(z)


def merge_many_wanted(v, lse):
    e = np.exp(lse)
    return (v * e[..., None]).sum(0) / e.sum(0)[..., None], np.log(e.sum(0))


@wl.kernel
def indexer(
    q: wl.In["s", "h", "d", wl.e4m3],
    k: wl.In["t", "d", wl.e4m3],
    w: wl.In["s", "h", wl.f32],
    ks: wl.In["t", wl.f32],
    out: wl.Out["s", "t", wl.f32],
):
    s, t = wl.tile(out)
    keys = k[t, :]
    acc = wl.zeros(s, t)
    for h in wl.steps(q.h, 1):
        acc += wl.relu(q[s, h, :] @ keys.T) * w[s, h]
    out[s, t] = wl.where(wl.index(t) <= wl.index(s), acc * ks[t], -1e4)


def indexer_wanted(q, k, w, ks):
    o = (np.maximum(np.einsum("shd,td->sht", q, k), 0) * w[..., None]).sum(1) * ks
    return np.where(np.arange(k.shape[0]) <= np.arange(q.shape[0])[:, None], o, -1e4)


@wl.kernel
def gat(
    score: wl.In["e", "h", wl.f32],
    value: wl.In["n", "h", "d"],
    col: wl.In["e", wl.i32],
    starts: wl.Starts["r"],
    out: wl.Out["r", "h", "d"],
):
    r, h = wl.tile("r", "h", unit="r")
    top, total, acc = wl.full(h, -1e30), wl.zeros(h), wl.zeros(h, value.d)
    for e in wl.steps(score.e, 1, start=starts[r], until=starts[r + 1]):
        x = score[e, h]
        new = wl.maximum(top, x)
        keep, p = wl.exp(top - new), wl.exp(x - new)
        total = total * keep + p
        acc = acc * keep + value[col[e], h, :] * p
        top = new
    out[r, h, :] = acc / wl.maximum(total, 1e-20)


def gat_wanted(score, value, col, starts):
    out = np.zeros((len(starts) - 1, *value.shape[1:]))
    for r, (a, z) in enumerate(itertools.pairwise(starts)):
        e = np.exp(score[a:z])
        if z > a:
            out[r] = ((e / e.sum(0))[..., None] * value[col[a:z]]).sum(0)
    return out


@wl.kernel
def kda(
    q: wl.In["b", "t", "h", "k"],
    k: wl.In["b", "t", "h", "k"],
    v: wl.In["b", "t", "h", "e"],
    g: wl.In["b", "t", "h", "k", wl.f32],
    beta: wl.In["b", "t", "h", wl.f32],
    s0: wl.In["b", "h", "k", "e", wl.f32],
    out: wl.Out["b", "t", "h", "e"],
    final: wl.Out["b", "h", "k", "e", wl.f32],
    *,
    scale: float,
):
    b, h, e = wl.tile("b", "h", "e", unit=("b", "h"))
    s = s0[b, h, :, e]
    for t in wl.steps(q.t, 1):
        key = k[b, t, h, :]
        s = s * wl.exp(g[b, t, h, :])
        u = (v[b, t, h, e] - (s * key).sum(axis=0)) * beta[b, t, h]
        s = s + key * u
        out[b, t, h, e] = (s * (q[b, t, h, :] * scale)).sum(axis=0)
    final[b, h, :, e] = s


def kda_wanted(q, k, v, g, beta, s0, scale):
    s, out = s0.copy(), np.zeros(v.shape)
    for t in range(q.shape[1]):
        s = s * np.exp(g[:, t])[..., None]
        u = (v[:, t] - np.einsum("bhke,bhk->bhe", s, k[:, t])) * beta[:, t, :, None]
        s = s + k[:, t][..., None] * u[:, :, None]
        out[:, t] = np.einsum("bhke,bhk->bhe", s, q[:, t]) * scale
    return out, s


@wl.kernel
def rwkv7(
    r: wl.In["b", "t", "h", "k"],
    w: wl.In["b", "t", "h", "k", wl.f32],
    k: wl.In["b", "t", "h", "k"],
    v: wl.In["b", "t", "h", "e"],
    a: wl.In["b", "t", "h", "k"],
    bb: wl.In["b", "t", "h", "k"],
    out: wl.Out["b", "t", "h", "e"],
):
    b, h, e = wl.tile("b", "h", "e", unit=("b", "h"))
    s = wl.zeros(e, r.k)
    for t in wl.steps(r.t, 1):
        sa = (s * a[b, t, h, :]).sum(axis=1)
        s = s * wl.exp(-wl.exp(w[b, t, h, :])) + sa * bb[b, t, h, :] + v[b, t, h, e] * k[b, t, h, :]
        out[b, t, h, e] = (s * r[b, t, h, :]).sum(axis=1)


def rwkv7_wanted(r, w, k, v, a, bb):
    b, length, h, width = r.shape
    s, out = np.zeros((b, h, v.shape[-1], width)), np.zeros(v.shape)
    for t in range(length):
        sa = np.einsum("bhek,bhk->bhe", s, a[:, t])
        s = s * np.exp(-np.exp(w[:, t]))[:, :, None] + sa[..., None] * bb[:, t][:, :, None]
        s = s + v[:, t][..., None] * k[:, t][:, :, None]
        out[:, t] = np.einsum("bhek,bhk->bhe", s, r[:, t])
    return out


@wl.kernel
def ssd_chunk(
    x: wl.In["b", "c", "h", "t", "p"],
    dt: wl.In["b", "c", "h", "t", wl.f32],
    acum: wl.In["b", "c", "h", "t", wl.f32],
    bm: wl.In["b", "c", "g", "t", "n"],
    cm: wl.In["b", "c", "g", "s", "n"],
    acs: wl.In["b", "c", "h", "s", wl.f32],
    state: wl.In["b", "c", "h", "n", "p"],
    out: wl.Out["b", "c", "h", "s", "p"],
):
    b, c, h, s = wl.tile(out, whole="p")
    g = h // (x.h // bm.g)
    cs = cm[b, c, g, s, :]
    a = acs[b, c, h, s]
    acc = (cs @ state[b, c, h, :, :]) * wl.exp(a)
    for t in wl.steps(x.t, 64, until=wl.index(s).max() + 1):
        l = wl.where(wl.index(s) >= wl.index(t), wl.exp(a - acum[b, c, h, t]), 0.0)
        p = (cs @ bm[b, c, g, t, :].T) * l * dt[b, c, h, t]
        acc += p.to(x.dtype) @ x[b, c, h, t]
    out[b, c, h, s] = acc


def ssd_chunk_wanted(x, dt, acum, bm, cm, acs, state):
    r = x.shape[2] // bm.shape[2]
    bm, cm = np.repeat(bm, r, 2), np.repeat(cm, r, 2)
    decay = np.exp(np.minimum(acs[..., :, None] - acum[..., None, :], 50))
    p = np.einsum("bchsn,bchtn->bchst", cm, bm) * np.tril(decay) * dt[..., None, :]
    inner = np.einsum("bchst,bchtp->bchsp", p, x)
    return inner + np.einsum("bchsn,bchnp->bchsp", cm, state) * np.exp(acs)[..., None]


def ssd_chunk_make(rng):
    sums = np.cumsum(-rng.uniform(0, 0.1, (1, 2, 4, 96)), -1)
    return {
        "x": normal(rng, 1, 2, 4, 96, 40),
        "dt": rng.uniform(0.1, 1, (1, 2, 4, 96)),
        "acum": sums,
        "bm": normal(rng, 1, 2, 2, 96, 48, scale=0.3),
        "cm": normal(rng, 1, 2, 2, 96, 48, scale=0.3),
        "acs": sums,
        "state": normal(rng, 1, 2, 4, 48, 40),
    }


@wl.kernel
def mixtral_gate(
    x: wl.In["t", "e"],
    weight: wl.Out["t", "two", wl.f32],
    expert: wl.Out["t", "two", wl.i32],
    count: wl.Out["e", wl.i32],
    prob: wl.Out["e", wl.f32],
):
    t = wl.tile("t")
    v = x[t, :].to(wl.f32)
    z = wl.exp(v - v.max(axis=1))
    p = z / z.sum(axis=1)
    (a, b), (i, j) = wl.topk(p, 2)
    weight[t, 0] = a / (a + b)
    weight[t, 1] = b / (a + b)
    expert[t, 0] = i
    expert[t, 1] = j
    count[i] += 1
    count[j] += 1
    prob[:] += p.sum(axis=0)


def mixtral_gate_wanted(x):
    p = np.exp(x)
    p /= p.sum(1, keepdims=True)
    o = np.argsort(-p, axis=1, kind="stable")[:, :2]
    v = np.take_along_axis(p, o, 1)
    return v / v.sum(1, keepdims=True), o, np.bincount(o.ravel(), minlength=x.shape[1]), p.sum(0)


@wl.kernel
def spec_verify(
    draft: wl.In["b", "g", wl.i32],
    p: wl.In["b", "g", "v", wl.f32],
    q: wl.In["b", "g", "v", wl.f32],
    u: wl.In["b", "g", wl.f32],
    accepted: wl.Out["b", wl.i32],
):
    b = wl.tile(accepted)
    alive, n = wl.full(b, 1, dtype=wl.i32), wl.full(b, 0, dtype=wl.i32)
    for g in wl.steps(draft.g, 1):
        t = draft[b, g]
        ok = u[b, g] * q[b, g, t] <= p[b, g, t]
        alive = alive & wl.where(ok, 1, 0)
        n += alive
    accepted[b] = n


def spec_verify_wanted(draft, p, q, u):
    b, g = np.arange(len(draft))[:, None], np.arange(draft.shape[1])
    return np.cumprod(u * q[b, g, draft] <= p[b, g, draft], 1).sum(1)


CASES = (
    Case(
        kernel=tree_attention,
        make=lambda r: {
            "q": normal(r, 2, 37, 72),
            "k": normal(r, 2, 100, 72),
            "v": normal(r, 2, 100, 72),
            "mask": r.integers(0, 2**32, (37, 4)) * (np.arange(37) != 5)[:, None],
        },
        wanted=tree_attention_wanted,
        scalars={"scale": 0.2},
    ),
    Case(
        kernel=everything_attention,
        make=lambda r: {
            "q": normal(r, 1, 4, 127, 72),
            "k": normal(r, 1, 2, 127, 72),
            "v": normal(r, 1, 2, 127, 72),
            "sink": normal(r, 4),
            "slope": np.abs(normal(r, 4)),
        },
        wanted=everything_attention_wanted,
        scalars={"scale": 0.1, "cap": 20.0, "window": 33},
    ),
    Case(
        kernel=mla_paged,
        make=lambda r: {
            "q": normal(r, 3, 16, 256, scale=0.3),
            "qr": normal(r, 3, 16, 64, scale=0.3),
            "cache": normal(r, 7, 16, 256),
            "kr": normal(r, 7, 16, 64),
            "table": r.permutation(7)[:6].reshape(3, 2),
            "length": np.array([29, 1, 16]),
        },
        wanted=mla_paged_wanted,
        scalars={"scale": 0.1},
    ),
    Case(
        kernel=sage,
        make=lambda r: {
            "q": r.integers(-127, 128, (2, 70, 72)),
            "k": r.integers(-127, 128, (2, 90, 72)),
            "v": normal(r, 2, 90, 72),
            "qs": r.uniform(0.5, 1, (2, 70)) * 0.01,
            "ks": r.uniform(0.5, 1, (2, 90)) * 0.01,
        },
        wanted=sage_wanted,
        types={},
        choices={"causal": True},
    ),
    Case(
        kernel=merge_many,
        make=lambda r: {
            "v": normal(r, 5, 7, 9, 40),
            "lse": np.where(r.uniform(size=(5, 7, 9)) < 0.3, -np.inf, normal(r, 5, 7, 9)),
        },
        wanted=merge_many_wanted,
    ),
    Case(
        kernel=indexer,
        make=lambda r: {
            "q": normal(r, 70, 4, 80),
            "k": normal(r, 96, 80),
            "w": normal(r, 70, 4),
            "ks": np.abs(normal(r, 96)),
        },
        wanted=indexer_wanted,
        types={},
    ),
    Case(
        kernel=gat,
        make=lambda r: {
            "score": normal(r, 60, 3),
            "value": normal(r, 17, 3, 40),
            "col": r.integers(0, 17, 60),
            "starts": np.array([0, 0, 20, 21, 50, 60]),
        },
        wanted=gat_wanted,
    ),
    Case(
        kernel=kda,
        make=lambda r: {
            "q": normal(r, 2, 9, 3, 40, scale=0.3),
            "k": normal(r, 2, 9, 3, 40, scale=0.15),
            "v": normal(r, 2, 9, 3, 24),
            "g": -np.abs(normal(r, 2, 9, 3, 40, scale=0.2)),
            "beta": r.uniform(0, 1, (2, 9, 3)),
            "s0": normal(r, 2, 3, 40, 24),
        },
        wanted=kda_wanted,
        scalars={"scale": 0.3},
    ),
    Case(
        kernel=rwkv7,
        make=lambda r: {
            "r": normal(r, 1, 9, 3, 33, scale=0.3),
            "w": normal(r, 1, 9, 3, 33, scale=0.3),
            "k": normal(r, 1, 9, 3, 33),
            "v": normal(r, 1, 9, 3, 33),
            "a": normal(r, 1, 9, 3, 33, scale=0.1),
            "bb": normal(r, 1, 9, 3, 33, scale=0.1),
        },
        wanted=rwkv7_wanted,
    ),
    Case(
        kernel=ssd_chunk,
        make=ssd_chunk_make,
        wanted=ssd_chunk_wanted,
    ),
    Case(
        kernel=mixtral_gate,
        make=lambda r: {"x": normal(r, 127, 9)},
        wanted=mixtral_gate_wanted,
        sizes={"two": 2},
        initial={"count": 0.0, "prob": 0.0},
    ),
    Case(
        kernel=spec_verify,
        make=lambda r: {
            "draft": r.integers(0, 33, (13, 5)),
            "p": r.uniform(size=(13, 5, 33)),
            "q": r.uniform(size=(13, 5, 33)),
            "u": r.uniform(size=(13, 5)),
        },
        wanted=spec_verify_wanted,
    ),
)
