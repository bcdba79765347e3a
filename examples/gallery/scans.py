"""Running sums and recurrences: gated linear attention, delta rule, Mamba's scan."""

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def cumsum_rows(x: wl.In["m", "n"], out: wl.Out["m", "n", wl.f32]):
    m = wl.tile(out, whole="n")
    out[m] = wl.cumsum(x[m], axis=1)


@wl.kernel
def chunk_cumsum(g: wl.In["b", "c", "t", "h", wl.f32], out: wl.Out["b", "c", "t", "h", wl.f32]):
    """Log gates summed inside each chunk, along time: the heads lie beside one another."""
    b, c, h = wl.tile(out, whole="t")
    out[b, c, :, h] = wl.cumsum(g[b, c, :, h], axis=0)


@wl.kernel
def long_cumsum(x: wl.In["m", "n"], out: wl.Out["m", "n", wl.f32]):
    m = wl.tile("m")
    before = wl.zeros(m)
    for n in wl.steps(x.n, 256):
        v = x[m, n].to(wl.f32)
        out[m, n] = before + wl.cumsum(v, axis=1)
        before += v.sum(axis=1)


@wl.kernel
def recurrent_gla(
    q: wl.In["b", "t", "k"],
    key: wl.In["b", "t", "k"],
    v: wl.In["b", "t", "e"],
    gate: wl.In["b", "t", "k", wl.f32],
    out: wl.Out["b", "t", "e"],
    state: wl.Out["b", "k", "e", wl.f32],
):
    b, e = wl.tile(state, whole="k")
    s = wl.zeros(q.k, e)
    for t in wl.steps(q.t, 1):
        s = s * wl.exp(gate[b, t, :]) + key[b, t, :] * v[b, t, e]
        out[b, t, e] = (s * q[b, t, :]).sum(axis=0)
    state[b, :, e] = s


def recurrent_gla_wanted(q, key, v, gate):
    b, t, k = q.shape
    s, out = np.zeros((b, k, v.shape[2])), np.zeros(v.shape)
    for i in range(t):
        s = s * np.exp(gate[:, i, :, None]) + key[:, i, :, None] * v[:, i, None]
        out[:, i] = (s * q[:, i, :, None]).sum(1)
    return out, s


@wl.kernel
def delta_rule(
    q: wl.In["b", "t", "k"],
    key: wl.In["b", "t", "k"],
    v: wl.In["b", "t", "e"],
    beta: wl.In["b", "t", wl.f32],
    gate: wl.In["b", "t", wl.f32],
    out: wl.Out["b", "t", "e"],
    state: wl.Out["b", "k", "e", wl.f32],
):
    b, e = wl.tile(state, whole="k")
    s = wl.zeros(q.k, e)
    for t in wl.steps(q.t, 1):
        x = key[b, t, :]
        s = s * wl.exp(gate[b, t])
        new = (v[b, t, e] - (s * x).sum(axis=0)) * beta[b, t]
        s = s + x * new
        out[b, t, e] = (s * q[b, t, :]).sum(axis=0)
    state[b, :, e] = s


def delta_rule_wanted(q, key, v, beta, gate):
    b, t, k = q.shape
    s, out = np.zeros((b, k, v.shape[2])), np.zeros(v.shape)
    for i in range(t):
        s = s * np.exp(gate[:, i])[:, None, None]
        new = (v[:, i] - (s * key[:, i, :, None]).sum(1)) * beta[:, i, None]
        s = s + key[:, i, :, None] * new[:, None]
        out[:, i] = (s * q[:, i, :, None]).sum(1)
    return out, s


@wl.kernel
def selective_scan(
    x: wl.In["b", "t", "d"],
    dt: wl.In["b", "t", "d"],
    a: wl.In["n", "d", wl.f32],
    bs: wl.In["b", "t", "n"],
    cs: wl.In["b", "t", "n"],
    out: wl.Out["b", "t", "d"],
):
    b, d = wl.tile("b", "n", "d", whole="n")
    h = wl.zeros(a.n, d)
    for t in wl.steps(x.t, 1):
        step = wl.softplus(dt[b, t, d].to(wl.f32))
        h = h * wl.exp(a[:, d] * step) + bs[b, t, :] * (step * x[b, t, d])
        out[b, t, d] = (h * cs[b, t, :]).sum(axis=0)


def selective_scan_wanted(x, dt, a, bs, cs):
    b, t, d = x.shape
    h, out = np.zeros((b, a.shape[0], d)), np.zeros(x.shape)
    for i in range(t):
        step = np.log1p(np.exp(dt[:, i]))
        h = h * np.exp(a * step[:, None]) + bs[:, i, :, None] * (step * x[:, i])[:, None]
        out[:, i] = (h * cs[:, i, :, None]).sum(1)
    return out


@wl.kernel
def chunk_gla(
    q: wl.In["b", "c", "t", "d"],
    k: wl.In["b", "c", "j", "d"],
    v: wl.In["b", "c", "j", "e"],
    grown: wl.In["b", "c", "t", wl.f32],
    seen: wl.In["b", "c", "j", wl.f32],
    all: wl.In["b", "c", wl.f32],
    out: wl.Out["b", "c", "t", "e"],
    state: wl.Out["b", "d", "e", wl.f32],
):
    b, e = wl.tile(state, whole="d")
    s = wl.zeros(q.d, e)
    for c in wl.steps(q.c, 1):
        qs, ks, vs = q[b, c], k[b, c], v[b, c, :, e]
        now, then, end = grown[b, c], seen[b, c], all[b, c]
        x = (qs @ ks.T) * wl.exp(now - then)
        x = wl.where(wl.index(k.j) <= wl.index(q.t), x, 0.0)
        out[b, c, :, e] = x.to(q.dtype) @ vs + (qs @ s.to(q.dtype)) * wl.exp(now)
        s = s * wl.exp(end) + ks.T @ (vs * wl.exp(end - then)).to(q.dtype)
    state[b, :, e] = s


def chunk_gla_inputs(rng):
    gates = -np.abs(normal(rng, 2, 3, 64)) * 0.1
    grown = np.cumsum(gates, axis=2)
    return {
        "q": normal(rng, 2, 3, 64, 64, scale=0.3),
        "k": normal(rng, 2, 3, 64, 64, scale=0.3),
        "v": normal(rng, 2, 3, 64, 72),
        "grown": grown,
        "seen": grown.copy(),
        "all": grown[:, :, -1].copy(),
    }


def chunk_gla_wanted(q, k, v, grown, seen, all):
    b, c, t, d = q.shape
    gates = np.diff(grown, axis=2, prepend=0).reshape(b, c * t)
    flat = [x.reshape(b, c * t, -1) for x in (q, k, v)]
    gate = np.broadcast_to(gates[..., None], (b, c * t, d))
    out, state = recurrent_gla_wanted(*flat, gate)
    return out.reshape(b, c, t, -1), state


@wl.kernel
def gated_delta_net(
    q: wl.In["b", "c", "j", "d"],
    k: wl.In["b", "c", "t", "d"],
    v: wl.In["b", "c", "t", "e"],
    beta: wl.In["b", "c", "t", wl.f32],
    grown: wl.In["b", "c", "t", wl.f32],
    seen: wl.In["b", "c", "j", wl.f32],
    last: wl.In["b", "c", wl.f32],
    out: wl.Out["b", "c", "j", "e"],
    state: wl.Out["b", "d", "e", wl.f32],
):
    """A chunk at a time: a triangular system for what each key adds, then products.

    ``grown`` (``seen``, for queries): sums of the log gates of a chunk so far; ``last``: of all.
    """
    b, e = wl.tile(state, whole="d")
    s = wl.zeros(q.d, e)
    for c in wl.steps(q.c, 1):
        qs, ks = q[b, c], k[b, c]
        g, h = grown[b, c, :], seen[b, c, :]
        t, j = wl.index(k.t), wl.index(q.j)
        before = s.to(q.dtype)
        u = (v[b, c, :, e] - wl.exp(g) * (ks @ before)) * beta[b, c, :]
        for r in wl.steps(k.t, 1):  # forward substitution, a column at a time
            row = wl.where(t == r, u, 0.0).sum(axis=0)
            column = (ks * k[b, c, r, :]).sum(axis=1) * wl.exp(g - grown[b, c, r])
            u = u - wl.where(t > r, column * beta[b, c, :], 0.0) * row
        x = (qs @ ks.T) * wl.where(j >= t, wl.exp(h - g), 0.0)
        o = wl.exp(h) * (qs @ before) + x.to(q.dtype) @ u.to(q.dtype)
        out[b, c, :, e] = o
        s = s * wl.exp(last[b, c]) + (ks * wl.exp(last[b, c] - g)).to(q.dtype).T @ u.to(q.dtype)
    state[b, :, e] = s


def gated_delta_net_make(rng):
    keys = normal(rng, 2, 3, 16, 24)
    grown = np.cumsum(-np.abs(normal(rng, 2, 3, 16)) * 0.1, -1)
    return {
        "q": normal(rng, 2, 3, 16, 24, scale=0.3),
        "k": keys / np.linalg.norm(keys, axis=-1, keepdims=True),
        "v": normal(rng, 2, 3, 16, 40),
        "beta": rng.uniform(0.2, 1.0, (2, 3, 16)),
        "grown": grown,
        "seen": grown,
        "last": grown[..., -1],
    }


def gated_delta_net_wanted(q, k, v, beta, grown, seen, last):
    """The recurrence, a key after the other."""
    b, c, t, d = q.shape
    s, out = np.zeros((b, d, v.shape[-1])), np.zeros(v.shape)
    gates = np.diff(grown, axis=-1, prepend=0)
    for i, r in np.ndindex(c, t):
        s = s * np.exp(gates[:, i, r])[:, None, None]
        new = (v[:, i, r] - np.einsum("bde,bd->be", s, k[:, i, r])) * beta[:, i, r, None]
        s = s + k[:, i, r, :, None] * new[:, None]
        out[:, i, r] = np.einsum("bde,bd->be", s, q[:, i, r])
    return out, s


CASES = (
    Case(
        kernel=cumsum_rows,
        make=lambda rng: {"x": normal(rng, 7, 333)},
        wanted=lambda x: np.cumsum(x, axis=1),
        tolerance=1e-4,
        memory_bound=True,
    ),
    Case(
        kernel=chunk_cumsum,
        make=lambda rng: {"g": normal(rng, 2, 3, 64, 5)},
        wanted=lambda g: np.cumsum(g, axis=2),
        tolerance=1e-4,
        memory_bound=True,
    ),
    Case(
        kernel=long_cumsum,
        make=lambda rng: {"x": normal(rng, 7, 1003)},
        wanted=lambda x: np.cumsum(x, axis=1),
        tolerance=1e-4,
        memory_bound=True,
    ),
    Case(
        kernel=recurrent_gla,
        make=lambda rng: {
            "q": normal(rng, 2, 17, 16),
            "key": normal(rng, 2, 17, 16),
            "v": normal(rng, 2, 17, 24),
            "gate": -np.abs(normal(rng, 2, 17, 16)),
        },
        wanted=recurrent_gla_wanted,
        memory_bound=True,
    ),
    Case(
        kernel=delta_rule,
        make=lambda rng: {
            "q": normal(rng, 2, 17, 16),
            "key": normal(rng, 2, 17, 16, scale=0.25),
            "v": normal(rng, 2, 17, 24),
            "beta": rng.uniform(size=(2, 17)),
            "gate": -rng.uniform(size=(2, 17)),
        },
        wanted=delta_rule_wanted,
        memory_bound=True,
        trial=15,
    ),
    Case(
        kernel=selective_scan,
        make=lambda rng: {
            "x": normal(rng, 2, 17, 40),
            "dt": normal(rng, 2, 17, 40),
            "a": -np.abs(normal(rng, 16, 40)),
            "bs": normal(rng, 2, 17, 16),
            "cs": normal(rng, 2, 17, 16),
        },
        wanted=selective_scan_wanted,
        memory_bound=True,
    ),
    Case(
        kernel=chunk_gla,
        make=chunk_gla_inputs,
        wanted=chunk_gla_wanted,
        trial=15,
    ),
    Case(
        kernel=gated_delta_net,
        make=gated_delta_net_make,
        wanted=gated_delta_net_wanted,
        tolerance=3e-2,
    ),
)
