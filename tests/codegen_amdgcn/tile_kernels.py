"""Kernels for the general lowering: what authors write beside the shipped ones."""

from warploom.frontend import language as wl


@wl.kernel
def add(x: wl.In["m", "n"], y: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = x[m, n] + y[m, n]


@wl.kernel
def softmax(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m = wl.tile(out, whole="n")
    row = x[m]
    e = wl.exp(row - row.max(axis=1))
    out[m] = e / e.sum(axis=1)


@wl.kernel
def rms_norm(x: wl.In["m", "n"], w: wl.In["n"], out: wl.Out["m", "n"], *, eps: float = 1e-5):
    m = wl.tile(out, whole="n")
    row = x[m]
    mean = (row * row).sum(axis=1) / x.n
    out[m] = row * wl.rsqrt(mean + eps) * w[:]


@wl.kernel
def layer_norm(
    x: wl.In["m", "n"],
    w: wl.In["n"],
    b: wl.In["n"],
    out: wl.Out["m", "n"],
    mean: wl.Out["m", wl.f32] = None,
):
    m = wl.tile(out, whole="n")
    row = x[m]
    middle = row.sum(axis=1) / x.n
    apart = row - middle
    spread = (apart * apart).sum(axis=1) / x.n
    out[m] = apart * wl.rsqrt(spread + 1e-5) * w[:] + b[:]
    mean[m] = middle


@wl.kernel
def column_sum(x: wl.In["m", "n"], out: wl.Out["n", wl.f32]):
    n = wl.tile(out)
    acc = wl.zeros(n)
    for m in wl.steps(x.m, 32):
        acc += x[m, n].sum(axis=0)
    out[n] = acc


@wl.kernel
def row_sum(x: wl.In["m", "n"], out: wl.Out["m", wl.f32], top: wl.Out["m", wl.f32] = None):
    m = wl.tile(out)
    acc, high = wl.zeros(m), wl.full(m, -wl.inf)
    for n in wl.steps(x.n, 64):
        acc += x[m, n].sum(axis=1)
        high = wl.maximum(high, x[m, n].max(axis=1))
    out[m] = acc
    top[m] = high


@wl.kernel
def transpose(x: wl.In["m", "n"], out: wl.Out["n", "m"]):
    n, m = wl.tile(out)
    out[n, m] = x[m, n].T


@wl.kernel
def product_both_ways(a: wl.In["k", "m"], b: wl.In["k", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[k, m].T @ b[k, n]
    out[m, n] = acc


@wl.kernel
def batched(a: wl.In["b", "m", "k"], w: wl.In["b", "n", "k"], out: wl.Out["b", "m", "n"]):
    b, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[b, m, k] @ w[b, n, k].T
    out[b, m, n] = acc


@wl.kernel
def chained(a: wl.In["m", "k"], b: wl.In["r", "k"], c: wl.In["n", "r"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, b.r)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[:, k].T
    out[m, n] = acc.to(a.dtype) @ c[n, :].T


@wl.kernel
def quantised(
    a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"], top: wl.Out["m", wl.f32]
):
    m = wl.tile(out, whole="n")
    acc = wl.zeros(m, b.n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[:, k].T
    high = wl.maximum(acc.max(axis=1), -acc.min(axis=1))
    top[m] = high
    out[m] = acc / wl.where(high > 0, high, 1.0) * 448.0


@wl.kernel
def zero_points(
    x: wl.In["m", "k"],
    w: wl.In["n", "k", wl.i8],
    scale: wl.In["n", "k/32", wl.f32],
    zero: wl.In["n", "k/32", wl.f32],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        weights = (w[n, k].to(wl.f32) - zero[n, k]) * scale[n, k]
        acc += x[m, k] @ weights.to(x.dtype).T
    out[m, n] = acc


@wl.kernel
def summed_into(a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[n, k].T
    out[m, n] += acc


@wl.kernel
def listed(
    a: wl.In["m", "k"],
    b: wl.In["n", "k"],
    some: wl.In["m/128", "c", wl.i32],
    count: wl.In["m/128", wl.i32],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out, rows=128)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k, 64, some=(some, count)):
        acc += a[m, k] @ b[n, k].T
    out[m, n] = acc


@wl.kernel
def integers(x: wl.In["m", "n", wl.i32], out: wl.Out["m", "n", wl.i32], total: wl.Out["m", wl.i32]):
    m = wl.tile(out, whole="n")
    row = x[m]
    out[m] = (row * 3 // 7) % 5 - (row >> 2) + (row & 6)
    total[m] = row.max(axis=1)


@wl.kernel
def rotated(x: wl.In["m", "n"], angle: wl.In["m", wl.f32], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    a = angle[m] * wl.index(n).to(wl.f32)
    out[m, n] = x[m, n] * wl.cos(a) + wl.sin(a)


@wl.kernel
def two_outputs(
    a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"], raw: wl.Out["m", "n", wl.f32],
    rows: wl.Out["m", wl.f32],
):  # fmt: skip
    m = wl.tile(out, whole="n")
    acc = wl.zeros(m, b.n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[:, k].T
    raw[m] = acc
    rows[m] = acc.sum(axis=1)
    out[m] = wl.gelu(acc)


@wl.kernel
def outside(x: wl.In["b", "m", "k"], w: wl.In["n", "k"], out: wl.Out["b", "m", "n"]):
    b, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[b - 1, m, k] @ w[n, k].T + x[7, m, k] @ w[n, k].T
    out[b + 1, m, n] = acc


@wl.kernel
def columns_apart(x: wl.In["m", "n"], out: wl.Out["m", "n", "c"]):
    m, n = wl.tile("m", "n")
    out[m, n, 1] = wl.relu(x[m, n])


@wl.kernel
def lds(
    end: wl.In["tile", "n"], t0: wl.In["n"], size0: wl.Out["tile", "n"], *, lane: int, entry: float
):
    tile, n = wl.tile(size0)
    size0[tile, n] = wl.where(wl.index(n) % lane == 0, end[tile, n] * entry, t0[n])


@wl.kernel
def picked_pairs(
    x: wl.In["s", "c"], row: wl.In["m", wl.i32], column: wl.In["n", wl.i32], out: wl.Out["m", "n"]
):
    m, n = wl.tile(out)
    out[m, n] = x[row[m], column[n]]


@wl.kernel
def scattered(x: wl.In["m", "n"], row: wl.In["m", wl.i32], out: wl.Out["s", "n"]):
    m, n = wl.tile("m", "n")
    out[row[m], n] = x[m, n]


@wl.kernel
def fused_mlp(
    x: wl.In["m", "d"], up: wl.In["f", "d"], down: wl.In["n", "f"], out: wl.Out["m", "n"]
):
    """A pipelined loop inside of a loop."""
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for f in wl.steps(up.f):
        h = wl.zeros(m, f)
        for d in wl.steps(x.d):
            h += x[m, d] @ up[f, d].T
        acc += wl.relu(h).to(x.dtype) @ down[n, f].T
    out[m, n] = acc


@wl.kernel
def running(
    q: wl.In["c", "t", "d"], k: wl.In["c", "j", "d"], g: wl.In["c", "j", wl.f32],
    out: wl.Out["t", "d", wl.f32],
):  # fmt: skip
    """A running sum in a loop over chunks."""
    t, d = wl.tile(out)
    acc = wl.zeros(t, d)
    for c in wl.steps(q.c, 1):
        x = (q[c, t] @ k[c].T) * wl.exp(wl.cumsum(g[c], axis=0) * 0.05)
        acc += x.to(q.dtype) @ k[c, :, d]
    out[t, d] = acc
