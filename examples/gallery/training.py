"""Losses, optimisers and normalisation of training."""

import numpy as np
from examples.gallery.case import Case, normal
from examples.gallery.pointwise import philox

import warploom as wl


@wl.kernel
def grpo(
    logits: wl.In["b", "t", "v"],
    ids: wl.In["b", "t", wl.i32],
    old: wl.In["b", "t", wl.f32],
    ref: wl.In["b", "t", wl.f32],
    adv: wl.In["b", wl.f32],
    mask: wl.In["b", "t", wl.bool_],
    loss: wl.Out["b", "t", wl.f32],
    *,
    beta: float,
    low: float,
    high: float,
    temperature: float,
):
    b, t = wl.tile(loss, unit="b")
    z = logits[b, t, :] / temperature
    top = z.max(axis=1)
    lse = top + wl.log(wl.exp(z - top).sum(axis=1))
    logp = logits[b, t, ids[b, t]] / temperature - lse
    ratio = wl.exp(logp - old[b, t])
    clipped = wl.clamp(ratio, 1.0 - low, 1.0 + high)
    d = ref[b, t] - logp
    kl = wl.exp(d) - d - 1.0
    per = -wl.minimum(ratio * adv[b], clipped * adv[b]) + beta * kl
    loss[b, t] = wl.where(mask[b, t], per, 0.0)


def grpo_wanted(logits, ids, old, ref, adv, mask, beta, low, high, temperature):
    z = logits / temperature
    lse = np.log(np.exp(z).sum(-1))
    lp = np.take_along_axis(z, ids[..., None], -1)[..., 0] - lse
    r = np.exp(lp - old)
    c = np.clip(r, 1 - low, 1 + high)
    d = ref - lp
    per = -np.minimum(r * adv[:, None], c * adv[:, None]) + beta * (np.exp(d) - d - 1)
    return np.where(mask, per, 0)


@wl.kernel
def dpo(
    chosen: wl.In["b", wl.f32],
    rejected: wl.In["b", wl.f32],
    ref_c: wl.In["b", wl.f32],
    ref_r: wl.In["b", wl.f32],
    loss: wl.Out["one", wl.f32],
    reward: wl.Out["b", wl.f32],
    *,
    beta: float,
):
    b = wl.tile(reward)
    d = beta * ((chosen[b] - ref_c[b]) - (rejected[b] - ref_r[b]))
    loss[0] += wl.softplus(-d).sum() / chosen.b
    reward[b] = d


def dpo_wanted(chosen, rejected, ref_c, ref_r, beta):
    d = beta * ((chosen - ref_c) - (rejected - ref_r))
    return np.array([np.log1p(np.exp(-d)).mean()]), d


@wl.kernel
def batch_norm(
    x: wl.In["n", "c", "s"],
    w: wl.In["c", wl.f32],
    b: wl.In["c", wl.f32],
    out: wl.Out["n", "c", "s"],
    mean: wl.Out["c", wl.f32],
    var: wl.Out["c", wl.f32],
    *,
    eps: float,
):
    c = wl.tile(mean, unit="c")
    count = x.n * x.s
    total, squares = wl.zeros(), wl.zeros()
    for n in wl.steps(x.n):
        for s in wl.steps(x.s):
            v = x[n, c, s].to(wl.f32)
            total += v.sum()
            squares += (v * v).sum()
    mu = total / count
    sigma = squares / count - mu * mu
    r = wl.rsqrt(sigma + eps)
    for n in wl.steps(x.n):
        for s in wl.steps(x.s):
            out[n, c, s] = (x[n, c, s] - mu) * r * w[c] + b[c]
    mean[c] = mu
    var[c] = sigma


def batch_norm_wanted(x, w, b, eps):
    mu, v = x.mean((0, 2)), x.var((0, 2))
    return (x - mu[:, None]) / np.sqrt(v + eps)[:, None] * w[:, None] + b[:, None], mu, v


@wl.kernel
def adamw(
    p: wl.In["n"],
    g: wl.In["n"],
    m: wl.In["n", wl.f32],
    v: wl.In["n", wl.f32],
    new_p: wl.Out["n"],
    new_m: wl.Out["n", wl.f32],
    new_v: wl.Out["n", wl.f32],
    *,
    lr: float,
    b1: float,
    b2: float,
    eps: float,
    decay: float,
    c1: float,
    c2: float,
):
    n = wl.tile(new_p)
    grad = g[n].to(wl.f32)
    a = b1 * m[n] + (1.0 - b1) * grad
    b = b2 * v[n] + (1.0 - b2) * grad * grad
    new_m[n] = a
    new_v[n] = b
    new_p[n] = p[n] * (1.0 - lr * decay) - lr * (a / c1) / (wl.sqrt(b / c2) + eps)


def adamw_wanted(p, g, m, v, lr, b1, b2, eps, decay, c1, c2):
    a = b1 * m + (1 - b1) * g
    b = b2 * v + (1 - b2) * g * g
    return p * (1 - lr * decay) - lr * (a / c1) / (np.sqrt(b / c2) + eps), a, b


@wl.kernel
def clip_grad(g: wl.In["n"], total: wl.In["one", wl.f32], out: wl.Out["n"], *, limit: float):
    n = wl.tile(out)
    factor = wl.minimum(limit / (wl.sqrt(total[0]) + 1e-6), 1.0)
    out[n] = g[n] * factor


@wl.kernel
def scale_dropout_add(
    x: wl.In["m", "n"],
    gamma: wl.In["n"],
    res: wl.In["m", "n"],
    out: wl.Out["m", "n"],
    kept: wl.Out["m", "n", wl.bool_],
    *,
    p: float,
    seed: int,
):
    m, n = wl.tile(out)
    keep = wl.uniform(seed, wl.index(m) * x.n + wl.index(n)) >= p
    out[m, n] = res[m, n] + wl.where(keep, x[m, n] * gamma[n] / (1.0 - p), 0.0)
    kept[m, n] = keep


def scale_dropout_add_wanted(x, gamma, res, p, seed):
    u = (philox(seed, np.arange(x.size)) >> np.uint64(8)).astype(np.float64).reshape(
        x.shape
    ) * 2.0**-24
    k = u >= p
    return res + np.where(k, x * gamma / (1 - p), 0), k


@wl.kernel
def info_nce(s: wl.In["m", "n"], loss: wl.Out["one", wl.f32], *, temperature: float):
    m = wl.tile("m")
    z = s[m, :] / temperature
    top = z.max(axis=1)
    lse = top + wl.log(wl.exp(z - top).sum(axis=1))
    own = s[m, wl.index(m)] / temperature
    loss[0] += (lse - own).sum() / s.m


def info_nce_wanted(s, temperature):
    z = s / temperature
    return np.array([(np.log(np.exp(z).sum(1)) - np.diagonal(z)).mean()])


@wl.kernel
def cosine(a: wl.In["m", "n"], b: wl.In["m", "n"], out: wl.Out["m", wl.f32], *, eps: float):
    m = wl.tile(out)
    x, y = a[m, :].to(wl.f32), b[m, :].to(wl.f32)
    norm = wl.sqrt((x * x).sum(axis=1)) * wl.sqrt((y * y).sum(axis=1))
    out[m] = (x * y).sum(axis=1) / wl.maximum(norm, eps)


@wl.kernel
def linear_kl(
    x: wl.In["m", "d"],
    ws: wl.In["v", "d"],
    y: wl.In["m", "e"],
    wt: wl.In["v", "e"],
    loss: wl.Out["m", wl.f32],
):
    m = wl.tile(loss)
    ts, ls, tt, lt, cross = (
        wl.full(m, -1e30),
        wl.zeros(m),
        wl.full(m, -1e30),
        wl.zeros(m),
        wl.zeros(m),
    )
    for v in wl.steps(ws.v, 64):
        a, b = wl.zeros(m, v), wl.zeros(m, v)
        for d in wl.steps(x.d):
            a += x[m, d] @ ws[v, d].T
        for e in wl.steps(y.e):
            b += y[m, e] @ wt[v, e].T
        ns, nt = wl.maximum(ts, a.max(axis=1)), wl.maximum(tt, b.max(axis=1))
        ls = ls * wl.exp(ts - ns) + wl.exp(a - ns).sum(axis=1)
        keep = wl.exp(tt - nt)
        p = wl.exp(b - nt)
        lt = lt * keep + p.sum(axis=1)
        cross = cross * keep + (p * (b - a)).sum(axis=1)
        ts, tt = ns, nt
    loss[m] = cross / lt - (tt + wl.log(lt)) + (ts + wl.log(ls))


def linear_kl_wanted(x, ws, y, wt):
    a, b = x @ ws.T, y @ wt.T
    la = a - np.log(np.exp(a).sum(1, keepdims=True))
    lb = b - np.log(np.exp(b).sum(1, keepdims=True))
    return (np.exp(lb) * (lb - la)).sum(1)


@wl.kernel
def clip_loss(
    a: wl.In["m", "d"], b: wl.In["n", "d"], loss: wl.Out["m", wl.f32], *, temperature: float
):
    m = wl.tile(loss)
    xs = a[m, :]
    total, top, own = wl.zeros(m), wl.full(m, -1e30), wl.zeros(m)
    for n in wl.steps(b.n):
        z = (xs @ b[n, :].T) * temperature
        own += wl.where(wl.index(m) == wl.index(n), z, 0.0).sum(axis=1)
        new = wl.maximum(top, z.max(axis=1))
        total = total * wl.exp(top - new) + wl.exp(z - new).sum(axis=1)
        top = new
    loss[m] = top + wl.log(total) - own


def clip_loss_wanted(a, b, temperature):
    z = a @ b.T * temperature
    return np.log(np.exp(z).sum(1)) - np.diagonal(z)


@wl.kernel
def softmax_columns(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    n = wl.tile(out, whole="m")
    v = x[:, n]
    e = wl.exp(v - v.max(axis=0))
    out[:, n] = e / e.sum(axis=0)


def softmax_columns_wanted(x):
    e = np.exp(x - x.max(0))
    return e / e.sum(0)


CASES = (
    Case(
        kernel=grpo,
        make=lambda rng: {
            "logits": normal(rng, 2, 7, 203),
            "ids": rng.integers(0, 203, (2, 7)),
            "old": normal(rng, 2, 7) - 5,
            "ref": normal(rng, 2, 7) - 5,
            "adv": normal(rng, 2),
            "mask": rng.integers(0, 2, (2, 7)).astype(bool),
        },
        wanted=grpo_wanted,
        types="f32",
        scalars={"beta": 0.04, "low": 0.2, "high": 0.28, "temperature": 0.9},
    ),
    Case(
        kernel=dpo,
        make=lambda rng: {k: normal(rng, 37) for k in ("chosen", "rejected", "ref_c", "ref_r")},
        wanted=dpo_wanted,
        scalars={"beta": 0.1},
        initial={"loss": 0.0},
        sizes={"one": 1},
        types="f32",
    ),
    Case(
        kernel=batch_norm,
        make=lambda rng: {"x": normal(rng, 3, 5, 77), "w": normal(rng, 5), "b": normal(rng, 5)},
        wanted=batch_norm_wanted,
        scalars={"eps": 1e-5},
    ),
    Case(
        kernel=adamw,
        make=lambda rng: {
            "p": normal(rng, 1003),
            "g": normal(rng, 1003),
            "m": normal(rng, 1003),
            "v": np.abs(normal(rng, 1003)),
        },
        wanted=adamw_wanted,
        scalars={
            "lr": 1e-2,
            "b1": 0.9,
            "b2": 0.99,
            "eps": 1e-8,
            "decay": 0.1,
            "c1": 0.1,
            "c2": 0.01,
        },
        memory_bound=True,
    ),
    Case(
        kernel=clip_grad,
        make=lambda rng: {"g": normal(rng, 333), "total": np.array([50.0])},
        wanted=lambda g, total, limit: g * min(limit / (np.sqrt(total[0]) + 1e-6), 1),
        scalars={"limit": 1.0},
        memory_bound=True,
    ),
    Case(
        kernel=scale_dropout_add,
        make=lambda rng: {
            "x": normal(rng, 5, 77),
            "gamma": normal(rng, 77),
            "res": normal(rng, 5, 77),
        },
        wanted=scale_dropout_add_wanted,
        scalars={"p": 0.25, "seed": 7},
        memory_bound=True,
    ),
    Case(
        kernel=info_nce,
        make=lambda rng: {"s": normal(rng, 37, 41)},
        wanted=info_nce_wanted,
        scalars={"temperature": 0.5},
        initial={"loss": 0.0},
        sizes={"one": 1},
    ),
    Case(
        kernel=cosine,
        make=lambda rng: {"a": normal(rng, 13, 301), "b": normal(rng, 13, 301)},
        wanted=lambda a, b, eps: (
            (a * b).sum(1) / np.maximum(np.sqrt((a * a).sum(1) * (b * b).sum(1)), eps)
        ),
        scalars={"eps": 1e-8},
    ),
    Case(
        kernel=linear_kl,
        make=lambda rng: {
            "x": normal(rng, 33, 72, scale=0.3),
            "ws": normal(rng, 131, 72, scale=0.3),
            "y": normal(rng, 33, 40, scale=0.3),
            "wt": normal(rng, 131, 40, scale=0.3),
        },
        wanted=linear_kl_wanted,
    ),
    Case(
        kernel=clip_loss,
        make=lambda rng: {"a": normal(rng, 70, 96, scale=0.2), "b": normal(rng, 70, 96, scale=0.2)},
        wanted=clip_loss_wanted,
        scalars={"temperature": 2.0},
    ),
    Case(
        kernel=softmax_columns,
        make=lambda rng: {"x": normal(rng, 63, 41)},
        wanted=softmax_columns_wanted,
        types="f32",
    ),
)
