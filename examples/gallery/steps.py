"""Gradients, optimisers, recurrences, images, losses, caches."""

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


def sm(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sig(x):
    return 1 / (1 + np.exp(-x))


@wl.kernel
def group_norm_grad(
    x: wl.In["b", "g", "n"],
    dy: wl.In["b", "g", "n"],
    w: wl.In["g", "c"],
    mean: wl.In["b", "g", wl.f32],
    rstd: wl.In["b", "g", wl.f32],
    dx: wl.Out["b", "g", "n"],
):
    b, g = wl.tile(dx, whole="n")
    hw = x.n // w.c
    i = wl.index(x.n)
    xhat = (x[b, g] - mean[b, g]) * rstd[b, g]
    wdy = dy[b, g] * w[g, i // hw]
    c1 = (wdy * xhat).mean(axis=1)
    c2 = wdy.mean(axis=1)
    dx[b, g] = (wdy - (xhat * c1 + c2)) * rstd[b, g]


def gng_make(r):
    x = normal(r, 2, 3, 60)
    return {
        "x": x,
        "dy": normal(r, 2, 3, 60),
        "w": normal(r, 3, 4),
        "mean": x.mean(2),
        "rstd": 1 / np.sqrt(x.var(2) + 1e-05),
    }


def group_norm_grad_wanted(x, dy, w, mean, rstd):
    xh = (x - mean[..., None]) * rstd[..., None]
    wdy = dy * np.repeat(w, 15, 1)
    return (wdy - xh * (wdy * xh).mean(2, keepdims=True) - wdy.mean(2, keepdims=True)) * rstd[
        ..., None
    ]


@wl.kernel
def moe_align(ids: wl.In["t", wl.i32], count: wl.Out["e", wl.i32]):
    e = wl.tile(count)
    hits = wl.full(e, 0, dtype=wl.i32)
    for t in wl.steps(ids.t):
        hits += wl.where(ids[t] == wl.index(e), 1, 0).sum(axis=1)
    count[e] = hits


@wl.kernel
def moe_offsets(count: wl.In["b", "e", wl.i32], offs: wl.Out["b", "e", wl.i32], *, block: int):
    b = wl.tile(offs, whole="e")
    padded = (count[b] + block - 1) // block * block
    offs[b] = wl.cumsum(padded, axis=1) - padded


def moe_offsets_wanted(count, block):
    p = (count + block - 1) // block * block
    return np.cumsum(p, 1) - p


@wl.kernel
def permute_rows(x: wl.In["t", "d"], src: wl.In["p", wl.i32], out: wl.Out["p", "d"]):
    p, d = wl.tile(out)
    row = src[p]
    out[p, d] = wl.where(row >= 0, x[row, d], 0.0)


@wl.kernel
def retnet_recurrent(
    q: wl.In["b", "h", "t", "d"],
    k: wl.In["b", "h", "t", "d"],
    v: wl.In["b", "h", "t", "e"],
    decay: wl.In["h", wl.f32],
    out: wl.Out["b", "h", "t", "e"],
):
    b, h, e = wl.tile("b", "h", "e", unit="h")
    s = wl.zeros(k.d, e)
    for t in wl.steps(k.t, 1):
        s = s * decay[h] + k[b, h, t, :] * v[b, h, t, e]
        out[b, h, t, e] = (q[b, h, t, :] * s).sum(axis=0)


def retnet_recurrent_wanted(q, k, v, decay):
    o = np.zeros(v.shape)
    s = np.zeros((*q.shape[:2], q.shape[3], v.shape[3]))
    for t in range(q.shape[2]):
        s = s * decay[:, None, None] + k[:, :, t, :, None] * v[:, :, t, None]
        o[:, :, t] = (q[:, :, t, :, None] * s).sum(2)
    return o


@wl.kernel
def mamba2_chunk_scan(
    c: wl.In["b", "h", "l", "n"],
    bmat: wl.In["b", "h", "l", "n"],
    x: wl.In["b", "h", "l", "p"],
    dt: wl.In["b", "h", "l", wl.f32],
    acum: wl.In["b", "h", "l", wl.f32],
    state: wl.In["b", "h", "p", "n"],
    out: wl.Out["b", "h", "l", "p"],
):
    b, h, l = wl.tile(out, whole="p")
    al = acum[b, h, l]
    acc = c[b, h, l] @ state[b, h].T * wl.exp(al)
    for s in wl.steps(x.l):
        cb = c[b, h, l] @ bmat[b, h, s].T
        causal = wl.index(l) >= wl.index(s)
        decay = wl.exp(wl.where(causal, al - acum[b, h, s], -wl.inf))
        acc += (cb * decay * dt[b, h, s]).to(x.dtype) @ x[b, h, s]
    out[b, h, l] = acc


def mamba2_chunk_scan_wanted(c, bmat, x, dt, acum, state):
    causal = np.tri(x.shape[2]) > 0
    o = np.einsum("bhln,bhpn->bhlp", c, state) * np.exp(acum)[..., None]
    d = np.where(causal, np.exp(np.where(causal, acum[..., :, None] - acum[..., None, :], 0)), 0)
    return o + np.einsum("bhln,bhsn->bhls", c, bmat) * d * dt[:, :, None] @ x


@wl.kernel
def causal_conv_varlen(
    x: wl.In["t", "d"],
    w: wl.In["d", "k"],
    bias: wl.In["d"],
    seq: wl.In["t", wl.i32],
    out: wl.Out["t", "d"],
):
    t, d = wl.tile(out)
    acc = wl.zeros(t, d) + bias[d]
    for i in range(4):
        j = wl.index(t) - 3 + i
        same = seq[j] == seq[t]
        acc += wl.where(same, x[j, d] * w[d, i], 0.0)
    out[t, d] = wl.silu(acc)


def causal_conv_varlen_wanted(x, w, bias, seq):
    o = np.zeros(x.shape) + bias
    for i in range(4):
        for t in range(len(x)):
            j = t - 3 + i
            if j >= 0 and seq[j] == seq[t]:
                o[t] += x[j] * w[:, i]
    return o * sig(o)


@wl.kernel
def paged_kv_write(
    k: wl.In["t", "h", "d"], slots: wl.In["t", wl.i32], cache: wl.Out["page", "off", "h", "d"]
):
    t, h, d = wl.tile(k)
    s = slots[t]
    cache[s // 16, s % 16, h, d] = k[t, h, d]


def paged_kv_write_wanted(k, slots):
    o = np.full((5, 16, *k.shape[1:]), np.nan)
    for t, s in enumerate(slots):
        if s >= 0:
            o[s // 16, s % 16] = k[t]
    return o


@wl.kernel
def merge_lse(
    o1: wl.In["t", "h", "d"],
    l1: wl.In["t", "h", wl.f32],
    o2: wl.In["t", "h", "d"],
    l2: wl.In["t", "h", wl.f32],
    out: wl.Out["t", "h", "d"],
    lse: wl.Out["t", "h", wl.f32],
):
    t, h = wl.tile(out, whole="d", unit="t")
    a, b = (l1[t, h], l2[t, h])
    both = wl.logaddexp(a, b)
    out[t, h] = o1[t, h] * wl.exp(a - both) + o2[t, h] * wl.exp(b - both)
    lse[t, h] = both


@wl.kernel
def conv_transpose2x2(
    x: wl.In["b", "h", "w", "c"], wt: wl.In["c", "i", "j", "f"], out: wl.Out["b", "p", "q", "f"]
):
    b, p, q, f = wl.tile(out)
    acc = wl.zeros(q, f)
    for c in wl.steps(x.c, 1):
        acc += x[b, p // 2, wl.index(q) // 2, c] * wt[c, p % 2, wl.index(q) % 2, f]
    out[b, p, q, f] = acc


def conv_transpose2x2_wanted(x, wt):
    b, h, w = x.shape[:3]
    o = np.zeros((b, 2 * h, 2 * w, wt.shape[3]))
    for i in range(2):
        for j in range(2):
            o[:, i::2, j::2] = x @ wt[:, i, j]
    return o


@wl.kernel
def gaussian_blur(x: wl.In["b", "h", "w"], g: wl.In["i", "j", wl.f32], out: wl.Out["b", "h", "w"]):
    b, h, w = wl.tile(out)
    acc = wl.zeros(h, w)
    for i in range(3):
        for j in range(3):
            r = wl.clamp(wl.index(h) + i - 1, 0, x.h - 1)
            s = wl.clamp(wl.index(w) + j - 1, 0, x.w - 1)
            acc += x[b, r, s] * g[i, j]
    out[b, h, w] = acc


def gaussian_blur_wanted(x, g):
    p = np.pad(x, ((0, 0), (1, 1), (1, 1)), mode="edge")
    h, w = x.shape[1:]
    return sum(p[:, i : i + h, j : j + w] * g[i, j] for i in range(3) for j in range(3))


@wl.kernel
def pixel_shuffle(x: wl.In["b", "c4", "h", "w"], out: wl.Out["b", "c", "p", "q"]):
    b, c, p, q = wl.tile(out)
    pi, qi = (wl.index(p), wl.index(q))
    out[b, c, p, q] = x[b, c * 4 + pi % 2 * 2 + qi % 2, pi // 2, qi // 2]


def pixel_shuffle_wanted(x):
    b, c4, h, w = x.shape
    return (
        x.reshape(b, c4 // 4, 2, 2, h, w)
        .transpose(0, 1, 4, 2, 5, 3)
        .reshape(b, c4 // 4, 2 * h, 2 * w)
    )


@wl.kernel
def sgd_nesterov(
    p: wl.In["n", wl.f32],
    g: wl.In["n", wl.f32],
    buf: wl.In["n", wl.f32],
    p_out: wl.Out["n", wl.f32],
    buf_out: wl.Out["n", wl.f32],
    *,
    lr: float,
    mom: float,
    wd: float,
    nesterov: bool = True,
):
    n = wl.tile(p_out)
    d = g[n] + wd * p[n]
    v = mom * buf[n] + d
    d = d + mom * v if nesterov else v
    p_out[n] = p[n] - lr * d
    buf_out[n] = v


def sgd_nesterov_wanted(p, g, buf, lr, mom, wd):
    d = g + wd * p
    v = mom * buf + d
    return (p - lr * (d + mom * v), v)


@wl.kernel
def adafactor_stats(
    g: wl.In["m", "n"], row: wl.Out["m", wl.f32], col: wl.Out["n", wl.f32], *, eps: float
):
    m, n = wl.tile(g)
    sq = g[m, n].to(wl.f32) ** 2 + eps
    row[m] += sq.sum(axis=1)
    col[n] += sq.sum(axis=0)


@wl.kernel
def focal_loss(
    x: wl.In["m", "c"],
    y: wl.In["m", wl.i32],
    out: wl.Out["m", wl.f32],
    *,
    gamma: float,
    alpha: float,
):
    m = wl.tile(out)
    logp = wl.log_softmax(x[m, :], axis=1)
    lp = wl.where(wl.index(x.c) == y[m], logp, 0.0).sum(axis=1)
    p = wl.exp(lp)
    out[m] = -alpha * (1 - p) ** gamma * lp


def focal_loss_wanted(x, y, gamma, alpha):
    lp = np.log(sm(x))[np.arange(len(x)), y]
    return -alpha * (1 - np.exp(lp)) ** gamma * lp


@wl.kernel
def triplet_margin(
    a: wl.In["m", "d"],
    p: wl.In["m", "d"],
    n: wl.In["m", "d"],
    out: wl.Out["one", wl.f32],
    *,
    margin: float,
):
    m = wl.tile("m")
    dp = wl.sqrt(((a[m, :] - p[m, :] + 1e-06) ** 2).sum(axis=1))
    dn = wl.sqrt(((a[m, :] - n[m, :] + 1e-06) ** 2).sum(axis=1))
    loss = wl.relu(dp - dn + margin)
    out[0] += loss.sum() / a.m


@wl.kernel
def huber(
    x: wl.In["n", wl.f32],
    y: wl.In["n", wl.f32],
    loss: wl.Out["one", wl.f32],
    grad: wl.Out["n", wl.f32],
    *,
    delta: float,
):
    n = wl.tile(grad)
    d = x[n] - y[n]
    a = abs(d)
    small = a < delta
    loss[0] += wl.sum(wl.where(small, 0.5 * d * d, delta * (a - 0.5 * delta)))
    grad[n] = wl.where(small, d, delta * wl.sign(d))


def huber_wanted(x, y, delta):
    d = x - y
    return (
        np.array([np.where(abs(d) < delta, 0.5 * d * d, delta * (abs(d) - 0.5 * delta)).sum()]),
        np.clip(d, -delta, delta),
    )


@wl.kernel
def confusion(a: wl.In["n", wl.i32], b: wl.In["n", wl.i32], out: wl.Out["i", "j", wl.f32]):
    n = wl.tile(a)
    out[a[n], b[n]] += 1.0


def confusion_wanted(a, b):
    o = np.zeros((5, 7))
    np.add.at(o, (a, b), 1)
    return o


@wl.kernel
def histogram_counts(x: wl.In["n"], out: wl.Out["b", wl.u32], *, lo: float, hi: float):
    n = wl.tile(x)
    i = wl.floor((x[n] - lo) / (hi - lo) * 20).to(wl.i32)
    out[i] += 1


@wl.kernel
def rms_columns(x: wl.In["m", "n"], out: wl.Out["n", wl.f32]):
    n = wl.tile(out)
    acc = wl.zeros(n)
    for m in wl.steps(x.m):
        acc += (x[m, n].to(wl.f32) ** 2).sum(axis=0)
    out[n] = wl.sqrt(acc / x.m)


@wl.kernel
def logcumsumexp(x: wl.In["m", "n", wl.f32], out: wl.Out["m", "n", wl.f32]):
    m = wl.tile("m")
    run = wl.full(m, -wl.inf)
    for n in wl.steps(x.n, 1):
        run = wl.where(run == -wl.inf, x[m, n], wl.logaddexp(run, x[m, n]))
        out[m, n] = run


@wl.kernel
def discounted_returns(
    r: wl.In["b", "t", wl.f32],
    done: wl.In["b", "t", wl.bool_],
    out: wl.Out["b", "t", wl.f32],
    *,
    gamma: float,
):
    b = wl.tile("b")
    g = wl.zeros(b)
    for i in wl.steps(r.t, 1):
        t = r.t - 1 - i
        g = r[b, t] + gamma * wl.where(done[b, t], 0.0, g)
        out[b, t] = g


def discounted_returns_wanted(r, done, gamma):
    o = np.zeros(r.shape)
    g = np.zeros(len(r))
    for t in range(r.shape[1])[::-1]:
        g = r[:, t] + gamma * np.where(done[:, t], 0, g)
        o[:, t] = g
    return o


@wl.kernel
def swiglu_clamp_quant(
    x: wl.In["t", "n2"], q: wl.Out["t", "n", wl.e4m3], s: wl.Out["t", "n/64", wl.f32]
):
    t, n = wl.tile(q, cols=64)
    gate = x[t, wl.index(n)]
    up = x[t, wl.index(n) + q.n]
    y = wl.silu(gate) * up
    scale = wl.maximum(y.abs().max(axis=1), 1e-06) / 448
    q[t, n] = y / scale
    s[t, n] = scale


def swiglu_clamp_quant_wanted(x):
    n = x.shape[1] // 2
    y = x[:, :n] * sig(x[:, :n]) * x[:, n:]
    s = np.maximum(abs(y.reshape(len(x), -1, 64)).max(2), 1e-06) / 448
    return (y / np.repeat(s, 64, 1), s)


@wl.kernel
def token_log_probs(
    h: wl.In["t", "d"],
    w: wl.In["v", "d"],
    ids: wl.In["t", wl.i32],
    logp: wl.Out["t", wl.f32],
    entropy: wl.Out["t", wl.f32],
    *,
    temp: float,
):
    t = wl.tile(logp)
    top, total, picked, ws = (wl.full(t, -wl.inf), wl.zeros(t), wl.zeros(t), wl.zeros(t))
    for v in wl.steps(w.v):
        z = wl.zeros(t, v)
        for d in wl.steps(h.d):
            z += h[t, d] @ w[v, d].T
        z = z / temp
        new = wl.maximum(top, z.max(axis=1))
        r = wl.exp(top - new)
        e = wl.exp(z - new)
        total = total * r + e.sum(axis=1)
        ws = ws * r + (e * z).sum(axis=1)
        picked += wl.where(wl.index(v) == ids[t], z, 0.0).sum(axis=1)
        top = new
    lse = top + wl.log(total)
    logp[t] = picked - lse
    entropy[t] = lse - ws / total


def token_log_probs_wanted(h, w, ids, temp):
    z = h @ w.T / temp
    l = np.log(sm(z))
    return (l[np.arange(len(z)), ids], -(np.exp(l) * l).sum(1))


@wl.kernel
def talking_heads(
    s: wl.In["b", "g", "q", "k"], mix: wl.In["h", "g", wl.f32], out: wl.Out["b", "h", "q", "k"]
):
    b, h, q = wl.tile(out, whole="k")
    z = wl.zeros(q, s.k)
    for g in wl.steps(s.g, 1):
        z += mix[h, g] * s[b, g, q]
    out[b, h, q] = wl.softmax(z, axis=1)


@wl.kernel
def upper_solve(
    u: wl.In["b", "n", "n2", wl.f32],
    y: wl.In["b", "n", "r", wl.f32],
    x: wl.Out["b", "n", "r", wl.f32],
):
    b, r = wl.tile("b", "r", unit="b")
    done = wl.zeros(y.n, r)
    for i in wl.steps(y.n, 1):
        row = y.n - 1 - i
        known = (u[b, row, wl.index(y.n)] * done).sum(axis=0)
        new = (y[b, row, r] - known) / u[b, row, row]
        done = wl.where(wl.index(y.n) == row, new, done)
        x[b, row, r] = new


def upper_solve_wanted(u, y):
    return np.linalg.solve(np.triu(u), y)


CASES = (
    Case(kernel=group_norm_grad, make=gng_make, wanted=group_norm_grad_wanted),
    Case(
        kernel=moe_align,
        make=lambda r: {"ids": r.integers(0, 13, 333)},
        wanted=lambda ids: np.bincount(ids, minlength=13),
        sizes={"e": 13},
    ),
    Case(
        kernel=moe_offsets,
        make=lambda r: {"count": r.integers(0, 50, (2, 13))},
        wanted=moe_offsets_wanted,
        scalars={"block": 16},
    ),
    Case(
        kernel=permute_rows,
        make=lambda r: {"x": normal(r, 20, 77), "src": r.integers(-1, 20, 45)},
        wanted=lambda x, src: np.where(src[:, None] >= 0, x[src], 0),
    ),
    Case(
        kernel=retnet_recurrent,
        make=lambda r: {
            "q": normal(r, 1, 3, 13, 16),
            "k": normal(r, 1, 3, 13, 16),
            "v": normal(r, 1, 3, 13, 21),
            "decay": r.uniform(0.8, 1, 3),
        },
        wanted=retnet_recurrent_wanted,
    ),
    Case(
        kernel=mamba2_chunk_scan,
        make=lambda r: {
            "c": normal(r, 1, 2, 70, 16),
            "bmat": normal(r, 1, 2, 70, 16),
            "x": normal(r, 1, 2, 70, 64),
            "dt": r.uniform(0.1, 1, (1, 2, 70)),
            "acum": -np.cumsum(r.uniform(0, 0.3, (1, 2, 70)), 2),
            "state": normal(r, 1, 2, 64, 16),
        },
        wanted=mamba2_chunk_scan_wanted,
    ),
    Case(
        kernel=causal_conv_varlen,
        make=lambda r: {
            "x": normal(r, 33, 70),
            "w": normal(r, 70, 4),
            "bias": normal(r, 70),
            "seq": np.repeat([1, 2, 3], 11),
        },
        wanted=causal_conv_varlen_wanted,
    ),
    Case(
        kernel=paged_kv_write,
        make=lambda r: {
            "k": normal(r, 9, 3, 40),
            "slots": np.array([3, 17, 79, -1, 40, 41, 0, 16, 33]),
        },
        wanted=paged_kv_write_wanted,
        sizes={"page": 5, "off": 16},
    ),
    Case(
        kernel=merge_lse,
        make=lambda r: {
            "o1": normal(r, 9, 5, 40),
            "l1": r.normal(size=(9, 5)),
            "o2": normal(r, 9, 5, 40),
            "l2": r.normal(size=(9, 5)),
        },
        wanted=lambda o1, l1, o2, l2: (
            (o1 * np.exp(l1)[..., None] + o2 * np.exp(l2)[..., None])
            / (np.exp(l1) + np.exp(l2))[..., None],
            np.logaddexp(l1, l2),
        ),
    ),
    Case(
        kernel=conv_transpose2x2,
        make=lambda r: {"x": normal(r, 2, 5, 7, 6), "wt": normal(r, 6, 2, 2, 9)},
        wanted=conv_transpose2x2_wanted,
        sizes={"p": 10, "q": 14},
    ),
    Case(
        kernel=gaussian_blur,
        make=lambda r: {"x": normal(r, 2, 13, 37), "g": r.uniform(size=(3, 3))},
        wanted=gaussian_blur_wanted,
    ),
    Case(
        kernel=pixel_shuffle,
        make=lambda r: {"x": normal(r, 2, 12, 5, 7)},
        wanted=pixel_shuffle_wanted,
        sizes={"c": 3, "p": 10, "q": 14},
    ),
    Case(
        kernel=sgd_nesterov,
        make=lambda r: {k: r.normal(size=1001) for k in ("p", "g", "buf")},
        wanted=sgd_nesterov_wanted,
        scalars={"lr": 0.1, "mom": 0.9, "wd": 0.01},
        memory_bound=True,
    ),
    Case(
        kernel=adafactor_stats,
        make=lambda r: {"g": normal(r, 77, 130)},
        wanted=lambda g, eps: ((g * g + eps).sum(1), (g * g + eps).sum(0)),
        scalars={"eps": 0.001},
        initial={"row": 0, "col": 0},
        memory_bound=True,
    ),
    Case(
        kernel=focal_loss,
        make=lambda r: {"x": normal(r, 23, 101), "y": r.integers(0, 101, 23)},
        wanted=focal_loss_wanted,
        scalars={"gamma": 2.0, "alpha": 0.25},
    ),
    Case(
        kernel=triplet_margin,
        make=lambda r: {k: normal(r, 23, 70) for k in "apn"},
        wanted=lambda a, p, n, margin: np.array(
            [
                np.maximum(
                    np.sqrt(((a - p + 1e-06) ** 2).sum(1))
                    - np.sqrt(((a - n + 1e-06) ** 2).sum(1))
                    + margin,
                    0,
                ).mean()
            ]
        ),
        scalars={"margin": 1.0},
        initial={"out": 0},
        sizes={"one": 1},
    ),
    Case(
        kernel=huber,
        make=lambda r: {"x": r.normal(size=1001), "y": r.normal(size=1001)},
        wanted=huber_wanted,
        scalars={"delta": 1.0},
        initial={"loss": 0},
        sizes={"one": 1},
    ),
    Case(
        kernel=confusion,
        make=lambda r: {"a": r.integers(0, 5, 333), "b": r.integers(0, 7, 333)},
        wanted=confusion_wanted,
        sizes={"i": 5, "j": 7},
        initial={"out": 0},
    ),
    Case(
        kernel=histogram_counts,
        make=lambda r: {"x": r.uniform(0, 1, 1001).astype(np.float32)},
        wanted=lambda x, lo, hi: np.bincount(
            np.floor(x.astype(np.float32) * 20).astype(int), minlength=20
        )[:20],
        types="f32",
        scalars={"lo": 0.0, "hi": 1.0},
        sizes={"b": 20},
        initial={"out": 0},
    ),
    Case(
        kernel=rms_columns,
        make=lambda r: {"x": normal(r, 333, 77)},
        wanted=lambda x: np.sqrt((x * x).mean(0)),
        memory_bound=True,
    ),
    Case(
        kernel=logcumsumexp,
        make=lambda r: {"x": r.normal(size=(9, 45))},
        wanted=lambda x: np.logaddexp.accumulate(x, axis=1),
        types={},
    ),
    Case(
        kernel=discounted_returns,
        make=lambda r: {"r": r.normal(size=(9, 33)), "done": r.integers(0, 5, (9, 33)) == 0},
        wanted=discounted_returns_wanted,
        scalars={"gamma": 0.97},
        types={},
    ),
    Case(
        kernel=swiglu_clamp_quant,
        make=lambda r: {"x": normal(r, 21, 256)},
        wanted=swiglu_clamp_quant_wanted,
        sizes={"n": 128},
        tolerance=0.05,
    ),
    Case(
        kernel=token_log_probs,
        make=lambda r: {
            "h": normal(r, 37, 100, scale=0.3),
            "w": normal(r, 201, 100, scale=0.3),
            "ids": r.integers(0, 201, 37),
        },
        wanted=token_log_probs_wanted,
        scalars={"temp": 0.8},
    ),
    Case(
        kernel=talking_heads,
        make=lambda r: {"s": normal(r, 2, 4, 13, 45), "mix": r.normal(size=(6, 4))},
        wanted=lambda s, mix: sm(np.einsum("hg,bgqk->bhqk", mix, s)),
    ),
    Case(
        kernel=upper_solve,
        make=lambda r: {
            "u": np.triu(r.normal(size=(2, 16, 16)) * 0.3) + 2 * np.eye(16),
            "y": r.normal(size=(2, 16, 21)),
        },
        wanted=upper_solve_wanted,
        types={},
    ),
)
