"""Kernels in the language that tests lower and execute, and their cases."""

import re

from tests.frontend.random_kernels import RandomKernel

GEMM = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], bias: wl.In["n", wl.f32], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc + bias[n]
"""
SOFTMAX = """
@wl.kernel
def kernel(q: wl.In["m", "d"], keys: wl.In["k", "d"], v: wl.In["k", "d"],
           tilt: wl.In["k", wl.f32], out: wl.Out["m", "d"], *, alpha: float):
    m = wl.tile(out, whole="d")
    qs = q[m]
    o, l, top = wl.zeros(m, q.d), wl.zeros(m), wl.full(m, -1.0e30)
    for k in wl.steps(keys.k):
        x = {score}
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(v.dtype) @ v[k]
        top = new
    out[m] = o / wl.where(l > 0, l, 1.0)
"""
ROW_NAMES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], side: wl.In["m", wl.f32],
           out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    h = wl.log(wl.abs(side[m]) + 1.0) - side[m]
    acc, rs, rm = wl.zeros(m, n), wl.zeros(m), wl.full(m, -8.0)
    for k in wl.steps(x.k):
        a = x[m, k]
        acc += a @ w[n, k].T
        rs += wl.exp(a * 0.5).sum(axis=1)
        rm = wl.maximum(rm, wl.exp(a).max(axis=1))
    out[m, n] = (acc + rs + rm) * 0.125 + wl.maximum(acc, h)
"""
TWO_STORES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"],
           out_b: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(out)
    acc, rs = wl.zeros(m, n), wl.zeros(m)
    for k in wl.steps(x.k):
        a = x[m, k]
        acc += a @ w[n, k].T
        rs += (a.to(wl.f32) * a).sum(axis=1)
    out[m, n] = acc * wl.tanh(rs)
    out_b[m, n] = wl.maximum(acc, rs)
"""
NORM_THEN_PRODUCT = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"], *, alpha: float):
    m, n = wl.tile(out)
    s = wl.zeros(m)
    for k in wl.steps(x.k):
        a = x[m, k]
        s += (a.to(wl.f32) * a).sum(axis=1)
    r = wl.rsqrt(s / x.k + alpha)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += (x[m, k] * r).to(x.dtype) @ w[n, k].T
    out[m, n] = acc
"""
TWO_SOURCES = """
@wl.kernel
def kernel(q: wl.In["m", "d"], k1: wl.In["s", "d"], v1: wl.In["s", "d"], k2: wl.In["t", "d"],
           v2: wl.In["t", "d"], out: wl.Out["m", "d"], lse: wl.Out["m", wl.f32], *, alpha: float):
    m = wl.tile(out, whole="d")
    qs = q[m]
    o, l, top = wl.zeros(m, q.d), wl.zeros(m), wl.full(m, -wl.inf)
    for s in wl.steps(k1.s):
        x = (qs @ k1[s].T) * alpha
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(q.dtype) @ v1[s]
        top = new
    for t in wl.steps(k2.t):
        x = (qs @ k2[t].T) * alpha
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(q.dtype) @ v2[t]
        top = new
    out[m] = o / l
    lse[m] = top + wl.log(l)
"""
ROW_SOFTMAX = """
@wl.kernel
def kernel(x: wl.In["m", "k"], top: wl.Out["m", wl.f32], out_b: wl.Out["m", "k"]):
    m = wl.tile(top)
    t, s = wl.full(m, -8.0), wl.zeros(m)
    for k in wl.steps(x.k):
        t = wl.maximum(t, x[m, k].to(wl.f32).max(axis=1))
    top[m] = t
    for k in wl.steps(x.k):
        s += wl.exp(x[m, k] - t).sum(axis=1)
    for k in wl.steps(x.k):
        out_b[m, k] = wl.exp(x[m, k] - t) / s
"""
BLOCK_SCALES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], sx: wl.In["m", "k/64", wl.f32], w: wl.In["n", "k"],
           sw: wl.In["n/64", "k/64", wl.f32], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        acc += (x[m, k] @ w[n, k].T) * sx[m, k] * sw[n, k]
    out[m, n] = acc
"""
HALVES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], sx: wl.In["m", "k/64", wl.f32], w: wl.In["h", "n", "k"],
           out: wl.Out["m", "h", "n"]):
    m, n = wl.tile("m", "n")
    left, right = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        left += (x[m, k] @ w[0, n, k].T) * sx[m, k]
        right += (x[m, k] @ w[1, n, k].T) * sx[m, k]
    out[m, 0, n] = left
    out[m, 1, n] = right
"""
DECAY = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], decay: wl.In["k/64", wl.f32],
           out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        acc = acc * wl.exp(decay[k] * 0.1) + {added}
    out[m, n] = acc
"""
SUMS_OF_GROUPS = """
@wl.kernel
def kernel(x: wl.In["m", "k"], y: wl.In["m", "n"], starts: wl.Starts["e"],
           out: wl.Out["e", "n", "k"]):
    e, n, k = wl.tile(out)
    acc = wl.zeros(n, k)
    for m in wl.steps(x.m, start=starts[e], until=starts[e + 1]):
        acc += y[m, n].T @ {right}
    out[e, n, k] = acc
"""
SCATTERED = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["e", "n", "k"], starts: wl.Starts["e"],
           weight: wl.In["m", wl.f32], out: wl.Out["s", "n"]):
    e, m, n = wl.tile("m", "n", groups=starts)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[e, n, k].T
    out[wl.index(m) // 3 * 2 - 1, n] += acc * weight[m]
"""
SUMS = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] += acc
"""
HALF_BYTES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k/2", wl.i8], scale: wl.In["k/128", "n", wl.f32],
           out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(n, m)
    for k in wl.steps(x.k, 128):
        number = (w[n, k] >> 4 * (wl.index(k) % 2)) & 15
        acc += ((number{less}).to(x.dtype) @ x[m, k].T) * scale[k, n]
    out[m, n] = acc.T
"""
GROUPED_SCALES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["e", "n", "k"], side: wl.In["k/64", "m", wl.f32],
           starts: wl.Starts["e"], out: wl.Out["m", "n"]):
    e, m, n = wl.tile(out, groups=starts)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        acc += (x[m, k] @ w[e, n, k].T) * side[k, m]
    out[m, n] = acc
"""
GROUPED_WEIGHTS = """
@wl.kernel
def kernel(q: wl.In["m", "d"], keys: wl.In["k", "d"], v: wl.In["k", "d"],
           tilt: wl.In["k", wl.f32], starts: wl.Starts["e"], out: wl.Out["m", "d"]):
    e, m = wl.tile(out, whole="d", groups=starts)
    qs = q[m]
    o = wl.zeros(m, q.d)
    for k in wl.steps(keys.k, start=starts[e], until=starts[e + 1]):
        p = wl.exp((qs @ keys[k].T) * 0.05 - wl.abs(tilt[k]))
        o += p.to(v.dtype) @ v[k]
    out[m] = o
"""
SIZES = {"m": 136, "n": 109, "k": 145, "s": 209, "t": 145, "d": 64}


def case(text, *, dtype="bf16", **sizes):
    names = dict.fromkeys(re.findall(r"(\w+): wl\.(?:In|Out)\[", text))
    typed = set(re.findall(r"(\w+): wl\.(?:In|Out)\[[^\]]*wl\.(?:f32|i8)\]", text))
    return RandomKernel(
        text=text,
        types={n: dtype for n in names if n not in typed},
        sizes=SIZES | sizes,
        whole={"d": SIZES["d"]} if '"d"' in text else {},
        scalars={"alpha": 0.25} if "alpha" in text else {},
        seed=3,
    )
