"""Kernels as authors write them: those that take longer to schedule, and those without a place."""

from __future__ import annotations

from tests.kernels.authored import BEGINS, read

LONG = read(
    """
top1_narrow | x: m k, w: e k -> best which: m f32 | m=100 e=8 k=136 | whole e
    m = wl.tile(best)
    acc = wl.zeros(m, w.e)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    top = acc.max(axis=1)
    at = wl.where(acc == top, wl.index(w.e).to(wl.f32), 1.0e9).min(axis=1)
    best[m] = wl.sigmoid(top)
    which[m] = at
gqa_decode_bias | q: h d, k v: t d, bias: h t f32 -> out: h d | h=16 t=200 d=64 | whole d
    h = wl.tile(out, whole="d")
    qs = q[h]
    o, l, top = wl.zeros(h, q.d), wl.zeros(h), wl.full(h, -1.0e30)
    for t in wl.steps(k.t):
        x = qs @ k[t].T + bias[h, t]
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(v.dtype) @ v[t]
        top = new
    out[h] = o / l
layernorm_gemm | x: m k, w: n k, wsum bias: n f32 -> out: m n | m=100 n=72 k=136 | scalar eps=1e-05
    m, n = wl.tile(out)
    acc, s, ss = wl.zeros(m, n), wl.zeros(m), wl.zeros(m)
    for k in wl.steps(x.k):
        a = x[m, k]
        acc += a @ w[n, k].T
        s += a.to(wl.f32).sum(axis=1)
        ss += (a.to(wl.f32) * a).sum(axis=1)
    mean = s / x.k
    r = wl.rsqrt(ss / x.k - mean * mean + eps)
    out[m, n] = (acc - mean * wsum[n]) * r + bias[n]
layernorm_exact | x: m k, w: n k, gamma beta: k -> out: m n | m=100 n=72 k=136 | scalar eps=1e-05
    m, n = wl.tile(out)
    s, ss = wl.zeros(m), wl.zeros(m)
    for k in wl.steps(x.k):
        a = x[m, k].to(wl.f32)
        s += a.sum(axis=1)
        ss += (a * a).sum(axis=1)
    mean = s / x.k
    r = wl.rsqrt(ss / x.k - mean * mean + eps)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        y = (x[m, k] - mean) * r * gamma[k] + beta[k]
        acc += y.to(x.dtype) @ w[n, k].T
    out[m, n] = acc
carry_in | q: s d, k v: t d, first: s d f32, x y: s f32 -> out: s d f32, sums most: s f32
| s=100 t=200 d=64 | whole d
    s = wl.tile(out, whole="d")
    qs = q[s]
    o, l, top = first[s], x[s], y[s]
    for t in wl.steps(k.t):
        z = qs @ k[t].T
        new = wl.maximum(top, z.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(z - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(v.dtype) @ v[t]
        top = new
    out[s] = o
    sums[s] = l
    most[s] = top
mla | q: s d, p: s r, c: t d, y: t r -> out: s d | s=100 t=200 d=128 r=64 | whole dr
| scalar scale=0.1
    s = wl.tile(out, whole="d")
    qs, ps = q[s], p[s]
    o, l, top = wl.zeros(s, q.d), wl.zeros(s), wl.full(s, -1.0e30)
    for t in wl.steps(c.t):
        cs = c[t]
        x = (qs @ cs.T + ps @ y[t].T) * scale
        new = wl.maximum(top, x.max(axis=1))
        keep, w = wl.exp(top - new), wl.exp(x - new)
        l = l * keep + w.sum(axis=1)
        o = o * keep + w.to(c.dtype) @ cs
        top = new
    out[s] = o / l
kl_loss | x y: m d, w v: n d -> loss: m f32 | m=100 n=200 d=64 | whole d
    m = wl.tile(loss)
    xs, ys, far = x[m], y[m], wl.full(m, -1.0e30)
    l, top, r, most, acc = wl.zeros(m), far, wl.zeros(m), far, wl.zeros(m)
    for n in wl.steps(w.n):
        z, u = xs @ w[n].T, ys @ v[n].T
        new, big = wl.maximum(top, z.max(axis=1)), wl.maximum(most, u.max(axis=1))
        l = l * wl.exp(top - new) + wl.exp(z - new).sum(axis=1)
        p = wl.exp(u - big)
        acc = acc * wl.exp(most - big) + (p * (u - z)).sum(axis=1)
        r = r * wl.exp(most - big) + p.sum(axis=1)
        top, most = new, big
    loss[m] = acc / r - most - wl.log(r) + top + wl.log(l)
top2 | x: m k, w: e k -> a b: m f32, i j: m i32 | m=100 e=64 k=136 | whole e
    m = wl.tile(a)
    acc = wl.zeros(m, w.e)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    e = wl.index(w.e)
    one = acc.max(axis=1)
    at = wl.where(acc == one, e, 9999).min(axis=1)
    rest = wl.where(e == at, -wl.inf, acc)
    two = rest.max(axis=1)
    a[m] = 1.0 / (1.0 + wl.exp(two - one))
    b[m] = 1.0 / (1.0 + wl.exp(one - two))
    i[m] = at
    j[m] = wl.where(rest == two, e, 9999).min(axis=1)
gemm_row_softmax | x: m k, w: n k -> out: m n | m=100 n=64 k=136 | whole n
    m = wl.tile(out, whole="n")
    acc = wl.zeros(m, w.n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    p = wl.exp(acc - acc.max(axis=1))
    out[m] = p / p.sum(axis=1)
top1_routing | x: m k, w: e k -> best which: m f32 | m=100 e=64 k=136 | whole e
    m = wl.tile(best)
    acc = wl.zeros(m, w.e)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    top = acc.max(axis=1)
    at = wl.where(acc == top, wl.index(w.e).to(wl.f32), 1.0e9).min(axis=1)
    best[m] = wl.sigmoid(top)
    which[m] = at
rope_attention | q1 q2: s d, k1 k2: t d, cs sn: s d, ct st: t d, v: t f -> out: s f
| s=100 t=150 d=64 f=64 | whole df
    s = wl.tile(out, whole="f")
    a1 = (q1[s] * cs[s] - q2[s] * sn[s]).to(q1.dtype)
    a2 = (q1[s] * sn[s] + q2[s] * cs[s]).to(q1.dtype)
    o, l, top = wl.zeros(s, v.f), wl.zeros(s), wl.full(s, -1.0e30)
    for t in wl.steps(v.t):
        b1 = (k1[t] * ct[t] - k2[t] * st[t]).to(q1.dtype)
        b2 = (k1[t] * st[t] + k2[t] * ct[t]).to(q1.dtype)
        x = (a1 @ b1.T + a2 @ b2.T) * 0.125
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(v.dtype) @ v[t]
        top = new
    out[s] = o / l
two_outputs | x: m k, wq wk: n k -> q: m n, kk: m n f32 | m=100 n=72 k=136
    m, n = wl.tile(q)
    a, b = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k):
        xs = x[m, k]
        a += xs @ wq[n, k].T
        b += xs @ wk[n, k].T
    q[m, n] = a * 0.125
    kk[m, n] = wl.relu(b)
transposed_store | x: m k, w: n k -> out: m n, t: n m | m=100 n=72 k=136
    PRODUCT
    out[m, n] = acc
    t[n, m] = acc.T
batched_small | x: b m k, w: b k n -> out: b m n | b=5 m=16 n=24 k=40
    b, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[b, m, k] @ w[b, k, n]
    out[b, m, n] = acc
conv_gather | x: p k, w: f n k -> out: m n | p=102 m=100 n=72 k=64 f=3
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        for f in range(3):
            acc += x[wl.index(m) + f, k] @ w[f, n, k].T
    out[m, n] = acc
three_chained | x y: m k, w: f n k -> out: m n | m=100 n=72 k=136 f=3
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[0, n, k].T
        acc += y[m, k] @ w[1, n, k].T
        acc += x[m, k] @ w[2, n, k].T
    out[m, n] = acc
bias_in_loop | q: m d, w: k d, b: m k, v: k e -> out: m e | m=100 k=136 d=64 e=64 | whole de
    m = wl.tile(out, whole="e")
    qs, acc = q[m], wl.zeros(m, v.e)
    for k in wl.steps(w.k):
        x = wl.tanh(b[m, k]) + qs @ w[k].T
        acc += x.to(q.dtype) @ v[k]
    out[m] = acc
residual_gate | x: m k, w: n k, r: m n, g: m n f32 -> out: m n | m=100 n=72 k=136
    PRODUCT
    out[m, n] = r[m, n] + wl.tanh(g[m, n]) * acc
gram | x: k m, y: k n -> out: m n f32 | m=104 n=72 k=136
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[k, m].T @ y[k, n]
    out[m, n] = acc
mlp | x: m d, up: h d, down: e h -> out: m e | m=100 h=136 d=64 e=64 | whole de
    m = wl.tile(out, whole="e")
    xs = x[m]
    acc = wl.zeros(m, down.e)
    for h in wl.steps(up.h):
        y = wl.gelu(xs @ up[h].T)
        acc += y.to(x.dtype) @ down[:, h].T
    out[m] = acc
dropout_mask | x: m k, w: n k, keep: m n i8 -> out: m n | m=100 n=72 k=136
    PRODUCT
    out[m, n] = wl.where(keep[m, n] > 0, acc, 0.0)
column_scaled_rhs | x: m k, w: k n, g: k f32 -> out: m n | m=100 n=72 k=136
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ (w[k, n] * g[k]).to(x.dtype)
    out[m, n] = acc
pointwise_loop | x y: m n -> out: m n, top: m f32 | m=100 n=80
    m = wl.tile(top)
    t = wl.full(m, -8.0)
    for n in wl.steps(x.n):
        z = wl.silu(x[m, n]) * y[m, n]
        t = wl.maximum(t, z.max(axis=1))
        out[m, n] = z
    top[m] = t
bias_grad | x: m k, w: n k, y: m n -> out: m n, db: n f32 | m=300 n=71 k=136
    PRODUCT
    g = wl.exp(acc) * y[m, n]
    out[m, n] = g
    db[n] += g.sum(axis=0)  # rows that are not there do not count
turned_mlp | x: m d, w: h d, v: h e -> out: e m | m=100 d=64 h=136 e=64 | whole de
    m = wl.tile("m")
    rows = x[m]
    acc = wl.zeros(v.e, m)
    for h in wl.steps(w.h):
        acc += v[h].T @ wl.relu(w[h] @ rows.T).to(x.dtype)  # an operand of 32 columns has no room
    out[:, m] = acc
"""
)
REFUSED = read(
    """
conv_1d | x: b p k, w: f n k -> out: b m n | b=2 p=102 m=100 n=72 k=64 f=3 | says wl.index
    b, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        for f in range(3):
            acc += x[b, m + f, k] @ w[f, n, k].T
    out[b, m, n] = acc
columns_most | x: m k, w: n k -> out: m n, norm: n f32 | m=100 n=72 k=136
| says of which a tile has a part only
    PRODUCT
    out[m, n] = acc
    norm[n] += (acc * acc).max(axis=0)
lora | x: m k, w: n k, a: r k, b: n r -> out: m n | m=100 n=72 k=136 r=16 | whole r
| says a product outside of a loop
    m, n = wl.tile(out)
    acc, low = wl.zeros(m, n), wl.zeros(m, a.r)
    for k in wl.steps(x.k):
        xs = x[m, k]
        acc += xs @ w[n, k].T
        low += xs @ a[:, k].T
    out[m, n] = acc + low.to(x.dtype) @ b[n].T
linear_attention | q: s d, k: t d, v: t e -> out: s e | s=100 t=200 d=64 e=64 | whole de
| says a product outside of a loop
    s = wl.tile("s")
    h = wl.zeros(k.d, v.e)
    for t in wl.steps(k.t):
        h += k[t].T @ v[t]
    out[s] = q[s] @ h.to(q.dtype)
pointwise | x y: m n -> out: m n | m=100 n=80 | says a tile without a loop
    m, n = wl.tile(out)
    out[m, n] = wl.silu(x[m, n]) * y[m, n]
loop_row_add | x: m k, w: n k -> out: m n, hits: k f32 | m=100 n=72 k=136
| says stored inside the loop
    PRODUCT
        hits[k] += x[m, k].to(wl.f32).sum(axis=0)
    out[m, n] = acc
column_norms | x: m k, y: n k -> out: m n | m=100 n=72 k=136
| says a vector of 'n' that is computed here
    m, n = wl.tile(out)
    acc, yy = wl.zeros(m, n), wl.zeros(n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ y[n, k].T
        yy += (y[n, k].to(wl.f32) * y[n, k]).sum(axis=1)
    out[m, n] = yy - 2.0 * acc
turned_sum | x: m k, w: n k -> out: m n | m=100 n=72 k=136
| says a transposed tile that is computed here
    m, n = wl.tile(out)
    a, b = wl.zeros(m, n), wl.zeros(n, m)
    for k in wl.steps(x.k):
        a += x[m, k] @ w[n, k].T
        b += w[n, k] @ x[m, k].T
    out[m, n] = a + b.T
swapped_tiles | x: m k, w: n k -> out: m n | m=100 n=72 k=136 | says are made of one another
    m, n = wl.tile(out)
    a, b = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        a, b = b, 0.5 * a + x[m, k] @ w[n, k].T
    out[m, n] = a - b
from_before | x: m k, g: m f32 -> out: m f32 | m=100 k=300 | says becomes one from before the loop
    m = wl.tile(out)
    h, a, b = wl.exp(g[m]), wl.zeros(m), wl.zeros(m)
    for k in wl.steps(x.k, 64):
        b = b * 0.5 + x[m, k].to(wl.f32).sum(axis=1) * a
        a = h
    out[m] = b
"""
)
LONG |= read(BEGINS.format("begins_0", "wl.zeros(m, n) + 0.5"))
LONG |= read(BEGINS.format("begins_2", "wl.exp(side[m]) * bias[n]"))
