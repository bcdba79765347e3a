"""Kernels as authors write them, all the way: executed as emitted, or refused at their line."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import warploom as wl
from tests.host_cuda import NEEDS_COMPILER
from tests.kernel.random_kernels import RandomKernel
from tests.kernel.sources import run_source
from tests.texts.test_random_kernels import Lowered, check
from warploom.emit.cuda.tile.source import emit_kernel
from warploom.errors import KernelError
from warploom.kernel.values import Access


class Written(NamedTuple):
    """A text, its sizes, and what stands for the rest: bf16, whole axes by name, scalars."""

    text: str
    sizes: dict
    whole: str = ""
    scalars: dict = {}  # noqa: RUF012 (never changed)
    types: dict = {}  # noqa: RUF012


class OfAuthors(RandomKernel):
    """A case whose labels are labels."""

    def arrays(self):
        found = list(super().arrays())
        names = [t.name for t in self.kernel.tensors if t.access is Access.IN]
        if "label" in names:
            at = names.index("label")
            found[at] = np.random.default_rng(1).integers(0, self.sizes["n"], found[at].shape)
        return tuple(found)


def case_of(written):
    signature = run_source(written.text, wl=wl)["kernel"].signature
    types = {t.name: "bf16" for t in signature.tensors if t.dtype is None} | written.types
    whole = {a: written.sizes[a] for a in written.whole}
    return OfAuthors(
        text=written.text,
        types=types,
        sizes=written.sizes,
        whole=whole,
        scalars=written.scalars,
        seed=3,
    )


WRITTEN = {
    "two_chained": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    y: wl.In["m", "k"],
    w: wl.In["n", "k"],
    v: wl.In["n", "k"],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
        acc += y[m, k] @ v[n, k].T
    out[m, n] = acc
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "into_used_twice": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc, old = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k):
        old += wl.abs(acc) * 0.25
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc + old
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "row_sums_out": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    out: wl.Out["m", "n"],
    norm: wl.Out["m", wl.f32],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc
    norm[m] += (acc * acc).sum(axis=1)
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "cross_entropy": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "d"],
    w: wl.In["n", "d"],
    label: wl.In["m", wl.i32],
    loss: wl.Out["m", wl.f32],
    lse: wl.Out["m", wl.f32],
):
    m = wl.tile(loss)
    xs = x[m]
    l, top, hit = wl.zeros(m), wl.full(m, -1.0e30), wl.zeros(m)
    for n in wl.steps(w.n):
        z = xs @ w[n].T
        hit += wl.where(wl.index(n) == label[m], z, 0.0).sum(axis=1)
        new = wl.maximum(top, z.max(axis=1))
        l = l * wl.exp(top - new) + wl.exp(z - new).sum(axis=1)
        top = new
    lse[m] = top + wl.log(l)
    loss[m] = top + wl.log(l) - hit
""",
        {"m": 100, "n": 200, "d": 64},
        whole="d",
    ),
    "argmax_i32": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    w: wl.In["e", "k"],
    best: wl.Out["m", wl.f32],
    which: wl.Out["m", wl.i32],
):
    m = wl.tile(best)
    acc = wl.zeros(m, w.e)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    top = acc.max(axis=1)
    best[m] = wl.sigmoid(top)
    which[m] = wl.where(acc == top, wl.index(w.e), 1048576).min(axis=1)
""",
        {"m": 100, "e": 64, "k": 136},
        whole="e",
    ),
    "gqa_decode_bias": Written(
        """
@wl.kernel
def kernel(
    q: wl.In["h", "d"],
    k: wl.In["t", "d"],
    v: wl.In["t", "d"],
    bias: wl.In["h", "t", wl.f32],
    out: wl.Out["h", "d"],
):
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
""",
        {"h": 16, "t": 200, "d": 64},
        whole="d",
    ),
    "layernorm_gemm": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    wsum: wl.In["n", wl.f32],
    bias: wl.In["n", wl.f32],
    out: wl.Out["m", "n"],
    *,
    eps: float,
):
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
""",
        {"m": 100, "n": 72, "k": 136},
        scalars={"eps": 1e-05},
    ),
    "layernorm_exact": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    gamma: wl.In["k"],
    beta: wl.In["k"],
    out: wl.Out["m", "n"],
    *,
    eps: float,
):
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
""",
        {"m": 100, "n": 72, "k": 136},
        scalars={"eps": 1e-05},
    ),
    "gemm_row_softmax": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m = wl.tile(out, whole="n")
    acc = wl.zeros(m, w.n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    p = wl.exp(acc - acc.max(axis=1))
    out[m] = p / p.sum(axis=1)
""",
        {"m": 100, "n": 64, "k": 136},
        whole="n",
    ),
    "top1_routing": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    w: wl.In["e", "k"],
    best: wl.Out["m", wl.f32],
    which: wl.Out["m", wl.f32],
):
    m = wl.tile(best)
    acc = wl.zeros(m, w.e)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    top = acc.max(axis=1)
    at = wl.where(acc == top, wl.index(w.e).to(wl.f32), 1.0e9).min(axis=1)
    best[m] = wl.sigmoid(top)
    which[m] = at
""",
        {"m": 100, "e": 64, "k": 136},
        whole="e",
    ),
    "rope_attention": Written(
        """
@wl.kernel
def kernel(q1: wl.In["s", "d"], q2: wl.In["s", "d"], k1: wl.In["t", "d"], k2: wl.In["t", "d"],
           cs: wl.In["s", "d"], sn: wl.In["s", "d"], ct: wl.In["t", "d"], st: wl.In["t", "d"],
           v: wl.In["t", "f"], out: wl.Out["s", "f"]):
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
""",
        {"s": 100, "t": 150, "d": 64, "f": 64},
        whole="df",
    ),
    "two_outputs": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    wq: wl.In["n", "k"],
    wk: wl.In["n", "k"],
    q: wl.Out["m", "n"],
    kk: wl.Out["m", "n", wl.f32],
):
    m, n = wl.tile(q)
    a, b = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k):
        xs = x[m, k]
        a += xs @ wq[n, k].T
        b += xs @ wk[n, k].T
    q[m, n] = a * 0.125
    kk[m, n] = wl.relu(b)
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "transposed_store": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"], t: wl.Out["n", "m"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc
    t[n, m] = acc.T
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "batched_small": Written(
        """
@wl.kernel
def kernel(x: wl.In["b", "m", "k"], w: wl.In["b", "k", "n"], out: wl.Out["b", "m", "n"]):
    b, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[b, m, k] @ w[b, k, n]
    out[b, m, n] = acc
""",
        {"b": 5, "m": 16, "n": 24, "k": 40},
    ),
    "conv_gather": Written(
        """
@wl.kernel
def kernel(x: wl.In["p", "k"], w: wl.In["f", "n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        for f in range(3):
            acc += x[wl.index(m) + f, k] @ w[f, n, k].T
    out[m, n] = acc
""",
        {"p": 102, "m": 100, "n": 72, "k": 64, "f": 3},
    ),
    "three_chained": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "k"], y: wl.In["m", "k"], w: wl.In["f", "n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[0, n, k].T
        acc += y[m, k] @ w[1, n, k].T
        acc += x[m, k] @ w[2, n, k].T
    out[m, n] = acc
""",
        {"m": 100, "n": 72, "k": 136, "f": 3},
    ),
    "bias_in_loop": Written(
        """
@wl.kernel
def kernel(
    q: wl.In["m", "d"],
    w: wl.In["k", "d"],
    b: wl.In["m", "k"],
    v: wl.In["k", "e"],
    out: wl.Out["m", "e"],
):
    m = wl.tile(out, whole="e")
    qs, acc = q[m], wl.zeros(m, v.e)
    for k in wl.steps(w.k):
        x = wl.tanh(b[m, k]) + qs @ w[k].T
        acc += x.to(q.dtype) @ v[k]
    out[m] = acc
""",
        {"m": 100, "k": 136, "d": 64, "e": 64},
        whole="de",
    ),
    "residual_gate": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    r: wl.In["m", "n"],
    g: wl.In["m", "n", wl.f32],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = r[m, n] + wl.tanh(g[m, n]) * acc
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "gram": Written(
        """
@wl.kernel
def kernel(x: wl.In["k", "m"], y: wl.In["k", "n"], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[k, m].T @ y[k, n]
    out[m, n] = acc
""",
        {"m": 104, "n": 72, "k": 136},
    ),
    "mlp": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "d"], up: wl.In["h", "d"], down: wl.In["e", "h"], out: wl.Out["m", "e"]):
    m = wl.tile(out, whole="e")
    xs = x[m]
    acc = wl.zeros(m, down.e)
    for h in wl.steps(up.h):
        y = wl.gelu(xs @ up[h].T)
        acc += y.to(x.dtype) @ down[:, h].T
    out[m] = acc
""",
        {"m": 100, "h": 136, "d": 64, "e": 64},
        whole="de",
    ),
    "dropout_mask": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    keep: wl.In["m", "n", wl.i8],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = wl.where(keep[m, n] > 0, acc, 0.0)
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "column_scaled_rhs": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["k", "n"], g: wl.In["k", wl.f32], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ (w[k, n] * g[k]).to(x.dtype)
    out[m, n] = acc
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "pointwise_loop": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "n"], y: wl.In["m", "n"], out: wl.Out["m", "n"], top: wl.Out["m", wl.f32]):
    m = wl.tile(top)
    t = wl.full(m, -8.0)
    for n in wl.steps(x.n):
        z = wl.silu(x[m, n]) * y[m, n]
        t = wl.maximum(t, z.max(axis=1))
        out[m, n] = z
    top[m] = t
""",
        {"m": 100, "n": 80},
    ),
}
for n, first in enumerate(
    ("wl.zeros(m, n) + 0.5", "wl.zeros(m, n) + side[m]", "wl.exp(side[m]) * bias[n]")
):
    WRITTEN[f"begins_{n}"] = Written(
        f"""
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], bias: wl.In["n", wl.f32],
           side: wl.In["m", wl.f32], out: wl.Out["m", "n"], most: wl.Out["m", wl.f32]):
    m, n = wl.tile(out)
    acc, s = {first}, side[m] * 2.0
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
        s += x[m, k].to(wl.f32).sum(axis=1)
    out[m, n] = acc + s
    most[m] += wl.exp(acc).sum(axis=1)  # columns that are not there do not count
""",
        {"m": 100, "n": 71, "k": 136},
    )
WRITTEN["bias_grad"] = Written(
    """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], y: wl.In["m", "n"], out: wl.Out["m", "n"],
           db: wl.Out["n", wl.f32]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    g = wl.exp(acc) * y[m, n]
    out[m, n] = g
    db[n] += g.sum(axis=0)  # rows that are not there do not count
""",
    {"m": 300, "n": 71, "k": 136},
)
WRITTEN["least"] = Written(
    """
@wl.kernel
def kernel(x: wl.In["m", "k"], out: wl.Out["m", wl.f32]):
    m = wl.tile(out)
    low = wl.full(m, 100.0)
    for k in wl.steps(x.k):
        low = wl.minimum(low, wl.exp(x[m, k]).min(axis=1))
    out[m] = low
""",
    {"m": 100, "k": 2},  # with more columns zeros past the end are seldom the least
)
WRITTEN["rounded_down"] = Written(
    """
@wl.kernel
def kernel(x: wl.In["m", "k"], q: wl.Out["m", wl.i32], s: wl.Out["m", wl.f32], *, by: int):
    m = wl.tile(q)
    i, acc = wl.index(m) - 50, wl.zeros(m)
    for k in wl.steps(x.k):
        j = wl.index(k) - 60  # quotients and remainders of negative numbers, too
        acc += wl.where(j // 8 == i // 8, x[m, k], 0.0).sum(axis=1)
        acc += ((j % 7) * x[m, k] + (j // by) * 0.01).sum(axis=1)
    q[m] = i // 7 + 3 * (i % 16) + i // by
    s[m] = acc
""",
    {"m": 100, "k": 136},
    scalars={"by": -3},
)
WRITTEN["complex_state"] = Written(
    """
@wl.kernel
def kernel(x: wl.In["m", "k"], angle: wl.In["m", wl.f32], a: wl.Out["m", wl.f32],
           b: wl.Out["m", wl.f32], c: wl.Out["m", wl.f32]):
    m = wl.tile(a)
    cos, sin = wl.cos(angle[m]), wl.sin(angle[m])
    re, im, last, sums = wl.zeros(m), wl.zeros(m), wl.zeros(m), wl.zeros(m)
    for k in wl.steps(x.k, 64):
        s = x[m, k].to(wl.f32).sum(axis=1)
        re, im = re * cos - im * sin + s, re * sin + im * cos
        sums += last * s
        last = s
    a[m] = re
    b[m] = im
    c[m] = sums
""",
    {"m": 100, "k": 300},
)
WRITTEN["swapped"] = Written(
    """
@wl.kernel
def kernel(x: wl.In["m", "k"], out: wl.Out["m", wl.f32], other: wl.Out["m", wl.f32]):
    m = wl.tile(out)
    a, b, c, d = wl.zeros(m), wl.full(m, 1.0), wl.zeros(m), wl.full(m, 2.0)
    for k in wl.steps(x.k, 64):
        s = x[m, k].to(wl.f32).sum(axis=1) + 0.25 * d
        a, b = b, 0.5 * a + s
        c, d = s, s
    out[m] = a + c
    other[m] = b - d
""",
    {"m": 100, "k": 300},
)
WRITTEN["turned_mlp"] = Written(
    """
@wl.kernel
def kernel(x: wl.In["m", "d"], w: wl.In["h", "d"], v: wl.In["h", "e"], out: wl.Out["e", "m"]):
    m = wl.tile("m")
    rows = x[m]
    acc = wl.zeros(v.e, m)
    for h in wl.steps(w.h):
        acc += v[h].T @ wl.relu(w[h] @ rows.T).to(x.dtype)  # an operand of 32 columns has no room
    out[:, m] = acc
""",
    {"m": 100, "d": 64, "h": 136, "e": 64},
    whole="de",
)
WRITTEN["embedded"] = Written(
    """
@wl.kernel
def kernel(x: wl.In["n", "k"], w: wl.In["j", "k"], label: wl.In["m", wl.i32],
           out: wl.Out["m", "j"]):
    m, j = wl.tile(out)
    acc = wl.zeros(m, j)
    for k in wl.steps(x.k):
        acc += x[label[m], k] @ w[j, k].T
    out[m, j] = acc
""",
    {"m": 128, "n": 40, "k": 128, "j": 72},  # all rows exist, in whole lines
)
CHEAP = (
    "embedded",
    "rounded_down",
    "complex_state",
    "swapped",
    "begins_1",
    "least",
    "two_chained",
    "into_used_twice",
    "row_sums_out",
    "cross_entropy",
    "argmax_i32",
)
REFUSED = {
    "top1_narrow": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    w: wl.In["e", "k"],
    best: wl.Out["m", wl.f32],
    which: wl.Out["m", wl.f32],
):
    m = wl.tile(best)
    acc = wl.zeros(m, w.e)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    top = acc.max(axis=1)
    at = wl.where(acc == top, wl.index(w.e).to(wl.f32), 1.0e9).min(axis=1)
    best[m] = wl.sigmoid(top)
    which[m] = at
""",
        {"m": 100, "e": 8, "k": 136},
        whole="e",
    ),
    "conv_1d": Written(
        """
@wl.kernel
def kernel(x: wl.In["b", "p", "k"], w: wl.In["f", "n", "k"], out: wl.Out["b", "m", "n"]):
    b, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        for f in range(3):
            acc += x[b, m + f, k] @ w[f, n, k].T
    out[b, m, n] = acc
""",
        {"b": 2, "p": 102, "m": 100, "n": 72, "k": 64, "f": 3},
    ),
    "columns_most": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    out: wl.Out["m", "n"],
    norm: wl.Out["n", wl.f32],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc
    norm[n] += (acc * acc).max(axis=0)
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "lora": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    a: wl.In["r", "k"],
    b: wl.In["n", "r"],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc, low = wl.zeros(m, n), wl.zeros(m, a.r)
    for k in wl.steps(x.k):
        xs = x[m, k]
        acc += xs @ w[n, k].T
        low += xs @ a[:, k].T
    out[m, n] = acc + low.to(x.dtype) @ b[n].T
""",
        {"m": 100, "n": 72, "k": 136, "r": 16},
        whole="r",
    ),
    "fp8_out": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc * 0.25
""",
        {"m": 100, "n": 80, "k": 136},
        types={"out": "e4m3"},
    ),
    "pointwise": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "n"], y: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = wl.silu(x[m, n]) * y[m, n]
""",
        {"m": 100, "n": 80},
    ),
    "loop_row_add": Written(
        """
@wl.kernel
def kernel(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    out: wl.Out["m", "n"],
    hits: wl.Out["k", wl.f32],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
        hits[k] += x[m, k].to(wl.f32).sum(axis=0)
    out[m, n] = acc
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "column_norms": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "k"], y: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc, yy = wl.zeros(m, n), wl.zeros(n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ y[n, k].T
        yy += (y[n, k].to(wl.f32) * y[n, k]).sum(axis=1)
    out[m, n] = yy - 2.0 * acc
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "turned_sum": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    a, b = wl.zeros(m, n), wl.zeros(n, m)
    for k in wl.steps(x.k):
        a += x[m, k] @ w[n, k].T
        b += w[n, k] @ x[m, k].T
    out[m, n] = a + b.T
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "swapped_tiles": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    a, b = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        a, b = b, 0.5 * a + x[m, k] @ w[n, k].T
    out[m, n] = a - b
""",
        {"m": 100, "n": 72, "k": 136},
    ),
    "from_before": Written(
        """
@wl.kernel
def kernel(x: wl.In["m", "k"], g: wl.In["m", wl.f32], out: wl.Out["m", wl.f32]):
    m = wl.tile(out)
    h, a, b = wl.exp(g[m]), wl.zeros(m), wl.zeros(m)
    for k in wl.steps(x.k, 64):
        b = b * 0.5 + x[m, k].to(wl.f32).sum(axis=1) * a
        a = h
    out[m] = b
""",
        {"m": 100, "k": 300},
    ),
}
SAID = {
    "column_norms": "a vector of 'n' that is computed here",
    "turned_sum": "a transposed tile that is computed here",
    "swapped_tiles": "are made of one another",
    "from_before": "becomes one from before the loop",
    "top1_narrow": "a product with 8 columns",
    "conv_1d": "wl.index",
    "columns_most": "over the rows of a tile",
    "lora": "a product outside of a loop",
    "fp8_out": "of type e4m3 is stored",
    "pointwise": "a tile without a loop",
    "loop_row_add": "stored inside the loop",
}


@NEEDS_COMPILER
@pytest.mark.parametrize(
    "name", [n if n in CHEAP else pytest.param(n, marks=pytest.mark.slow) for n in WRITTEN]
)
def test_what_authors_write_computes_its_meaning(name):
    assert check(case_of(WRITTEN[name])) is not None


def emitted(case):
    made = Lowered(case).compiled
    return emit_kernel(made.lower(made.choices[0].tiling))


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_is_refused_at_its_line(name):
    with pytest.raises(KernelError, match=SAID[name]) as found:
        emitted(case_of(REFUSED[name]))
    assert "<text" in str(found.value)
