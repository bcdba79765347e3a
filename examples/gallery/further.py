"""Losses, codes of few bits, adapters, images, small linear algebra."""

import math

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def jsd_grad(
    s: wl.In["m", "v"],
    t: wl.In["m", "v"],
    loss: wl.Out["m", wl.f32],
    grad: wl.Out["m", "v"],
    *,
    beta: float,
    temperature: float,
):
    m = wl.tile(loss)
    ls, lt = s[m, :] / temperature, t[m, :] / temperature
    ls = ls - ls.max(axis=1)
    lt = lt - lt.max(axis=1)
    ls = ls - wl.log(wl.exp(ls).sum(axis=1))
    lt = lt - wl.log(wl.exp(lt).sum(axis=1))
    q, p = wl.exp(ls), wl.exp(lt)
    mix = beta * p + (1 - beta) * q
    lm = wl.log(mix)
    loss[m] = (beta * p * (lt - lm) + (1 - beta) * q * (ls - lm)).sum(axis=1)
    dq = (1 - beta) * (ls - lm)
    g = q * (dq - (q * dq).sum(axis=1))
    grad[m, :] = g / temperature


def jsd_grad_wanted(s, t, beta, temperature):
    def lsm(x):
        x = x / temperature
        return x - np.log(np.exp(x).sum(1, keepdims=True))

    ls, lt = lsm(s), lsm(t)
    q, p = np.exp(ls), np.exp(lt)
    lm = np.log(beta * p + (1 - beta) * q)
    loss = (beta * p * (lt - lm) + (1 - beta) * q * (ls - lm)).sum(1)
    dq = (1 - beta) * (ls - lm)
    return loss, q * (dq - (q * dq).sum(1, keepdims=True)) / temperature


@wl.kernel
def ce_full(
    z: wl.In["t", "v"],
    y: wl.In["t", wl.i32],
    loss: wl.Out["t", wl.f32],
    grad: wl.Out["t", "v"],
    *,
    smooth: float,
    zc: float,
    ignore: int,
):
    t = wl.tile(loss)
    x = z[t, :].to(wl.f32)
    top = x.max(axis=1)
    e = wl.exp(x - top)
    s = e.sum(axis=1)
    lse = top + wl.log(s)
    at = z[t, y[t]]
    nll = lse - at
    sm = lse - x.sum(axis=1) / z.v
    live = y[t] != ignore
    loss[t] = wl.where(live, (1 - smooth) * nll + smooth * sm + zc * lse * lse, 0.0)
    p = e / s
    hot = wl.where(wl.index(z.v) == y[t], 1.0 - smooth, 0.0)
    g = p * (1 + 2 * zc * lse) - hot - smooth / z.v
    grad[t, :] = wl.where(live, g, 0.0)


def ce_full_wanted(z, y, smooth, zc, ignore):
    lse, width = np.log(np.exp(z).sum(1)), z.shape[1]
    nll = lse - z[np.arange(len(z)), np.where(y == ignore, 0, y)]
    live = y != ignore
    hot = (np.arange(width) == y[:, None]) * (1 - smooth)
    loss = (1 - smooth) * nll + smooth * (lse - z.mean(1)) + zc * lse**2
    grad = np.exp(z - lse[:, None]) * (1 + 2 * zc * lse[:, None]) - hot - smooth / width
    return np.where(live, loss, 0), np.where(live[:, None], grad, 0)


@wl.kernel
def mx_gemm(
    x: wl.In["m", "k"],
    w: wl.In["n", "k", wl.e4m3],
    s: wl.In["n", "k/32", wl.u8],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        b = w[n, k].to(wl.f32) * wl.exp2((s[n, k] - 127).to(wl.f32))
        acc += x[m, k] @ b.to(x.dtype).T
    out[m, n] = acc


def mx_gemm_wanted(x, w, s):
    return x @ (w * np.repeat(np.exp2(s - 127.0), 32, 1)[:, : w.shape[1]]).T


@wl.kernel
def pack_signs(x: wl.In["m", "n"], out: wl.Out["m", "w", wl.u32]):
    m, w = wl.tile(out)
    acc = wl.full((m, w), 0, dtype=wl.u32)
    for i in range(32):
        bit = wl.where(x[m, wl.index(w) * 32 + i] > 0, 1, 0)
        acc = acc | (bit.to(wl.u32) << i)
    out[m, w] = acc


def pack_signs_wanted(x):
    b = np.zeros((x.shape[0], 128))
    b[:, : x.shape[1]] = x > 0
    return (b.reshape(-1, 4, 32) * 2.0 ** np.arange(32)).sum(-1)


@wl.kernel
def bgmv(
    x: wl.In["t", "k"],
    a: wl.In["l", "r", "k"],
    b: wl.In["l", "n", "r"],
    idx: wl.In["t", wl.i32],
    y: wl.In["t", "n"],
    out: wl.Out["t", "n"],
    *,
    scale: float,
):
    t, n = wl.tile(out, unit="t")
    l = idx[t]
    h = wl.zeros(a.r)
    for k in wl.steps(x.k):
        h += (a[l, :, k] * x[t, k]).sum(axis=1)
    out[t, n] = y[t, n] + scale * wl.where(l >= 0, (b[l, n, :] * h).sum(axis=1), 0.0)


def bgmv_wanted(x, a, b, idx, y, scale):
    o = y.copy()
    for t in range(len(x)):
        if idx[t] >= 0:
            o[t] += scale * b[idx[t]] @ (a[idx[t]] @ x[t])
    return o


@wl.kernel
def syr2k(a: wl.In["m", "k"], b: wl.In["m", "k"], out: wl.Out["m", "n"], *, alpha: float):
    m, n = wl.tile(out)
    if wl.index(m).max() < wl.index(n).min():
        return
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[wl.index(n), k].T + b[m, k] @ a[wl.index(n), k].T
    out[m, n] = wl.where(wl.index(m) >= wl.index(n), alpha * acc, 0.0)


@wl.kernel
def geglu_exact_grad(
    a: wl.In["m", "n"],
    b: wl.In["m", "n"],
    dy: wl.In["m", "n"],
    da: wl.Out["m", "n"],
    db: wl.Out["m", "n"],
):
    m, n = wl.tile(da)
    x = a[m, n].to(wl.f32)
    g = wl.gelu(x)
    d = dy[m, n]
    da[m, n] = d * b[m, n] * wl.grad(g, x)
    db[m, n] = d * g


def geglu_exact_grad_wanted(a, b, dy):
    e = np.vectorize(math.erf)(a / np.sqrt(2))
    p = np.exp(-a * a / 2) / np.sqrt(2 * np.pi)
    return dy * b * (0.5 * (1 + e) + a * p), dy * 0.5 * a * (1 + e)


@wl.kernel
def avg_pool(
    x: wl.In["b", "h", "w", "c"], out: wl.Out["b", "p", "q", "c"], *, size=3, stride=2, pad=1
):
    b, p, q, c = wl.tile(out)
    acc, count = wl.zeros(q, c), wl.zeros(q)
    for i in range(size):
        for j in range(size):
            y, z = p * stride - pad + i, wl.index(q) * stride - pad + j
            seen = (y >= 0) & (y < x.h) & (z >= 0) & (z < x.w)
            acc += x[b, y, z, c]
            count += wl.where(seen, 1.0, 0.0)
    out[b, p, q, c] = acc / count


def avg_pool_wanted(x):
    b, h, w, c = x.shape
    out = np.zeros((b, (h - 1) // 2 + 1, (w - 1) // 2 + 1, c))
    for p in range(out.shape[1]):
        for q in range(out.shape[2]):
            rows, columns = (slice(max(0, 2 * i - 1), 2 * i + 2) for i in (p, q))
            out[:, p, q] = x[:, rows, columns].mean((1, 2))
    return out


@wl.kernel
def bilinear(x: wl.In["c", "h", "w"], out: wl.Out["c", "p", "q"], *, sy: float, sx: float):
    c, p, q = wl.tile(out)
    y = wl.maximum((wl.index(p) + 0.5) * sy - 0.5, 0.0)
    z = wl.maximum((wl.index(q) + 0.5) * sx - 0.5, 0.0)
    y0, z0 = wl.floor(y).to(wl.i32), wl.floor(z).to(wl.i32)
    y1, z1 = wl.minimum(y0 + 1, x.h - 1), wl.minimum(z0 + 1, x.w - 1)
    fy, fz = y - y0, z - z0
    top = x[c, y0, z0] * (1 - fz) + x[c, y0, z1] * fz
    low = x[c, y1, z0] * (1 - fz) + x[c, y1, z1] * fz
    out[c, p, q] = top * (1 - fy) + low * fy


def bilinear_wanted(x, sy, sx):
    h, w = x.shape[1:]
    y = np.maximum((np.arange(22) + 0.5) * sy - 0.5, 0)
    z = np.maximum((np.arange(29) + 0.5) * sx - 0.5, 0)
    y0, z0 = np.floor(y).astype(int), np.floor(z).astype(int)
    y1, z1 = np.minimum(y0 + 1, h - 1), np.minimum(z0 + 1, w - 1)
    fy, fz = (y - y0)[:, None], z - z0
    top = x[:, y0][:, :, z0] * (1 - fz) + x[:, y0][:, :, z1] * fz
    low = x[:, y1][:, :, z0] * (1 - fz) + x[:, y1][:, :, z1] * fz
    return top * (1 - fy) + low * fy


@wl.kernel
def tri_solve(
    l: wl.In["b", "r", "c", wl.f32],
    rhs: wl.In["b", "r", "n", wl.f32],
    out: wl.Out["b", "r", "n", wl.f32],
):
    b, n = wl.tile("b", "n", unit="b")
    x = wl.zeros(rhs.r, n)
    i = wl.index(rhs.r)
    for r in wl.steps(rhs.r, 1):
        row = l[b, r, i]
        got = (rhs[b, r, n] - (x * row).sum(axis=0)) / l[b, r, wl.index(r)]
        x = wl.where(i == r, got, x)
    out[b, :, n] = x


def tri_solve_wanted(l, rhs):
    return np.stack([np.linalg.solve(np.tril(a), c) for a, c in zip(l, rhs, strict=True)])


@wl.kernel
def cholesky(a: wl.In["b", "r", "c", wl.f32], out: wl.Out["b", "r", "c", wl.f32]):
    b = wl.tile("b", unit="b")
    i, j = wl.index(a.r), wl.index(a.c)
    s = a[b, :, :]
    for k in wl.steps(a.c, 1):
        col = wl.where(j == k, s, 0.0).sum(axis=1)
        row = wl.where(i == k, s, 0.0).sum(axis=0)
        d = wl.where((i == k) & (j == k), s, 0.0).sum()
        lcol = wl.where(i >= k, col, 0.0) * wl.rsqrt(d)
        lrow = wl.where(j >= k, row, 0.0) * wl.rsqrt(d)
        s = wl.where((i > k) & (j > k), s - lcol * lrow, wl.where(j == k, lcol, s))
    out[b, :, :] = wl.where(i >= j, s, 0.0)


def cholesky_wanted(a):
    return np.linalg.cholesky(a)


def cholesky_make(rng):
    z = normal(rng, 3, 20, 20)
    return {"a": z @ z.transpose(0, 2, 1) + np.eye(20)}


@wl.kernel
def sinkhorn(x: wl.In["b", "m", "n", wl.f32], out: wl.Out["b", "m", "n", wl.f32]):
    b = wl.tile("b", unit="b")
    p = wl.exp(x[b, :, :])
    for _ in range(5):
        p = p / p.sum(axis=1)
        p = p / p.sum(axis=0)
    out[b, :, :] = p


def sinkhorn_wanted(x):
    p = np.exp(x)
    for _ in range(5):
        p = p / p.sum(2, keepdims=True)
        p = p / p.sum(1, keepdims=True)
    return p


@wl.kernel
def fft_stage(
    re: wl.In["b", "n", wl.f32],
    im: wl.In["b", "n", wl.f32],
    ro: wl.Out["b", "n", wl.f32],
    io: wl.Out["b", "n", wl.f32],
    *,
    half: int,
):
    b, n = wl.tile(ro)
    i = wl.index(n)
    low = (i & half) == 0
    j = i & (half - 1)
    ang = -3.141592653589793 * j.to(wl.f32) / half
    c, s = wl.cos(ang), wl.sin(ang)
    p = wl.where(low, i, i - half)
    q = wl.where(low, i + half, i)
    tr = re[b, q] * c - im[b, q] * s
    ti = re[b, q] * s + im[b, q] * c
    sg = wl.where(low, 1.0, -1.0)
    ro[b, n] = re[b, p] + sg * tr
    io[b, n] = im[b, p] + sg * ti


def fft_stage_wanted(re, im, half):
    x = re + 1j * im
    n = x.shape[1]
    i = np.arange(n)
    low = (i & half) == 0
    j = i & (half - 1)
    w = np.exp(-1j * np.pi * j / half)
    p = np.where(low, i, i - half)
    q = np.where(low, i + half, i)
    y = x[:, p] + np.where(low, 1, -1) * x[:, q] * w
    return y.real, y.imag


@wl.kernel
def adam8(
    p: wl.In["n", wl.f32],
    g: wl.In["n"],
    m: wl.In["n", wl.i8],
    ms: wl.In["n/64", wl.f32],
    new: wl.Out["n", wl.f32],
    mo: wl.Out["n", wl.i8],
    mso: wl.Out["n/64", wl.f32],
    *,
    lr: float,
    beta: float,
):
    n = wl.tile(new, cols=64)
    v = beta * (m[n].to(wl.f32) * ms[n]) + (1 - beta) * g[n]
    s = wl.maximum(wl.abs(v).max(), 1e-12) / 127.0
    mo[n] = wl.floor(v / s + 0.5)
    mso[n] = s
    new[n] = p[n] - lr * wl.sign(v)


def adam8_wanted(p, g, m, ms, lr, beta):
    i = np.arange(len(p)) // 64
    v = beta * m * ms[i] + (1 - beta) * g
    s = np.array([max(np.abs(v[i == j]).max(), 1e-12) / 127 for j in range(i.max() + 1)])
    return p - lr * np.sign(v), np.floor(v / s[i] + 0.5), s


CASES = (
    Case(
        kernel=jsd_grad,
        make=lambda r: {"s": normal(r, 9, 333), "t": normal(r, 9, 333)},
        wanted=jsd_grad_wanted,
        scalars={"beta": 0.3, "temperature": 2.0},
    ),
    Case(
        kernel=ce_full,
        make=lambda r: {
            "z": normal(r, 13, 333),
            "y": np.where(r.uniform(size=13) < 0.3, -100, r.integers(0, 333, 13)),
        },
        wanted=ce_full_wanted,
        scalars={"smooth": 0.1, "zc": 1e-2, "ignore": -100},
    ),
    Case(
        kernel=mx_gemm,
        make=lambda r: {
            "x": normal(r, 37, 200),
            "w": normal(r, 72, 200),
            "s": r.integers(120, 130, (72, 7)),
        },
        wanted=mx_gemm_wanted,
    ),
    Case(
        kernel=pack_signs,
        make=lambda r: {"x": normal(r, 13, 100)},
        wanted=pack_signs_wanted,
        sizes={"w": 4},
    ),
    Case(
        kernel=bgmv,
        make=lambda r: {
            "x": normal(r, 13, 200),
            "a": normal(r, 5, 16, 200, scale=0.1),
            "b": normal(r, 5, 77, 16),
            "idx": r.integers(-1, 5, 13),
            "y": normal(r, 13, 77),
        },
        wanted=bgmv_wanted,
        scalars={"scale": 0.5},
    ),
    Case(
        kernel=syr2k,
        make=lambda r: {"a": normal(r, 333, 72), "b": normal(r, 333, 72)},
        wanted=lambda a, b, alpha: np.where(np.tri(333) > 0, alpha * (a @ b.T + b @ a.T), np.nan),
        scalars={"alpha": 0.5},
        sizes={"n": 333},
    ),
    Case(
        kernel=geglu_exact_grad,
        make=lambda r: {n: normal(r, 19, 333) for n in ("a", "b", "dy")},
        wanted=geglu_exact_grad_wanted,
    ),
    Case(
        kernel=avg_pool,
        make=lambda r: {"x": normal(r, 2, 13, 11, 9)},
        wanted=avg_pool_wanted,
        sizes={"p": 7, "q": 6},
    ),
    Case(
        kernel=bilinear,
        make=lambda r: {"x": normal(r, 3, 11, 13)},
        wanted=bilinear_wanted,
        sizes={"p": 22, "q": 29},
        scalars={"sy": 0.5, "sx": 13 / 29},
    ),
    Case(
        kernel=tri_solve,
        make=lambda r: {
            "l": normal(r, 3, 24, 24, scale=0.3) + 2 * np.eye(24),
            "rhs": normal(r, 3, 24, 37),
        },
        wanted=tri_solve_wanted,
        tolerance=1e-3,
    ),
    Case(
        kernel=cholesky,
        make=cholesky_make,
        wanted=cholesky_wanted,
        tolerance=1e-3,
    ),
    Case(
        kernel=sinkhorn,
        make=lambda r: {"x": normal(r, 3, 17, 23)},
        wanted=sinkhorn_wanted,
        tolerance=1e-4,
    ),
    Case(
        kernel=fft_stage,
        make=lambda r: {"re": normal(r, 3, 64), "im": normal(r, 3, 64)},
        wanted=fft_stage_wanted,
        scalars={"half": 8},
        tolerance=1e-4,
    ),
    Case(
        kernel=adam8,
        make=lambda r: {
            "p": normal(r, 333),
            "g": normal(r, 333),
            "m": r.integers(-127, 128, 333),
            "ms": r.uniform(0.001, 0.01, 6),
        },
        wanted=adam8_wanted,
        scalars={"lr": 1e-2, "beta": 0.9},
    ),
)
