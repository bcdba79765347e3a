"""Kernels beyond one pipelined loop: nested loops, wide heads, other element types; with cases."""

import itertools
from dataclasses import dataclass, field

import numpy as np

import tests.host_cuda as hc
import warploom as wl
from warploom.codegen.cuda.threads import emit_threads
from warploom.compiler.compiled import block_form
from warploom.compiler.described import described
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import Access, DType
from warploom.passes.block_module import build_block_module
from warploom.passes.block_plan import block_plans
from warploom.passes.kernel_config import config_of


@dataclass(frozen=True)
class BlockCase:
    """A kernel with types and sizes; inputs are drawn."""

    text: object
    types: dict
    sizes: dict
    scalars: dict = field(default_factory=dict)
    near: float = 2e-2
    integers: dict = field(default_factory=dict)  # tensors of whole numbers, given
    scale: float = 1.0

    @property
    def kernel(self):
        return self.text.specialise(self.types, sizes=self.sizes)

    def arrays(self):
        rng = np.random.default_rng(5)
        found = {}
        for t in self.kernel.tensors:
            if t.access is Access.OUT:
                continue
            shape = [-(-self.sizes[a.name] // a.per) for a in t.axes]
            if t.name in self.integers:
                found[t.name] = np.asarray(self.integers[t.name])
            elif t.dtype is DType.I8:
                found[t.name] = rng.integers(-128, 128, shape)
            elif t.dtype is DType.BOOL:
                found[t.name] = rng.integers(0, 2, shape).astype(bool)
            else:
                found[t.name] = rounded(rng.normal(size=shape) * self.scale, t.dtype)
        return found

    def wanted(self):
        made = self.kernel.reference(*self.arrays().values(), sizes=self.sizes, **self.scalars)
        return made if isinstance(made, tuple) else (made,)

    def require(self, found):
        for mine, given in zip(found, self.wanted(), strict=True):
            right = np.asarray(given, np.float64)
            most = max(1.0, np.abs(right[np.isfinite(right)]).max(initial=0.0))
            assert np.allclose(mine, right, atol=self.near * most, rtol=0, equal_nan=True)

    def module(self, *, nth=0, sizes=None):
        """The module of a plan."""
        known = self.sizes if sizes is None else sizes
        plans = list(itertools.islice(block_plans(block_form(self.kernel), known), nth + 1))
        return build_block_module(self.kernel, plans[-1], known)

    def on_host(self, *, nth=0, seed=0, sizes=None):
        """The outputs of the emitted CUDA, executed on the host."""
        form, module = block_form(self.kernel), self.module(nth=nth, sizes=sizes)
        source, extents = emit_threads(module), dict(module.threads.extents)
        arrays, memory = self.arrays(), []
        for t in form.tensors:
            shape = [-(-self.sizes[a.name] // a.per) for a in t.axes]
            memory.append(hc.Memory(t, shape, arrays.get(t.name)))
        binary = described(form, source, config_of(form, consumer_warpgroups=0, **extents), b"")
        fault = hc.execute(binary, source, memory, self.scalars, grid=2, seed=seed)
        assert fault is None, fault
        assert all(m.untouched() for m in memory)
        both = zip(form.tensors, memory, strict=True)
        return [m.values() for t, m in both if t.access is Access.OUT]

    def interpreted(self, target, **options):
        """The outputs of ``interpret``."""
        arrays = [
            x if x.dtype.kind == "b" else x.astype(np.float32 if x.dtype.kind == "f" else np.int32)
            for x in self.arrays().values()
        ]
        made = self.text.interpret(
            *arrays, types=self.types, target=target, sizes=self.sizes, **self.scalars, **options
        )
        return made if isinstance(made, tuple) else (made,)


@wl.kernel
def linear_cross_entropy(
    x: wl.In["m", "d"],
    w: wl.In["v", "d"],
    target: wl.In["m", wl.i32],
    loss: wl.Out["m", wl.f32],
):
    m = wl.tile(loss)
    top, total, picked = wl.full(m, -wl.inf), wl.zeros(m), wl.zeros(m)
    for v in wl.steps(w.v):
        logits = wl.zeros(m, v)
        for d in wl.steps(x.d):
            logits += x[m, d] @ w[v, d].T
        new = wl.maximum(top, logits.max(axis=1))
        total = total * wl.exp(top - new) + wl.exp(logits - new).sum(axis=1)
        picked += wl.where(wl.index(v) == target[m], logits, 0.0).sum(axis=1)
        top = new
    loss[m] = top + wl.log(total) - picked


@wl.kernel
def mla(
    q: wl.In["b", "h", "c"],
    qr: wl.In["b", "h", "r"],
    kv: wl.In["b", "t", "c"],
    kr: wl.In["b", "t", "r"],
    out: wl.Out["b", "h", "c"],
    *,
    scale: float,
):
    b, h = wl.tile(out, whole="c")
    qs, qrs = q[b, h], qr[b, h]
    o, l, top = wl.zeros(h, q.c), wl.zeros(h), wl.full(h, -1e30)
    for t in wl.steps(kv.t):
        c = kv[b, t]
        x = (qs @ c.T + qrs @ kr[b, t].T) * scale
        new = wl.maximum(top, x.max(axis=1))
        keep = wl.exp(top - new)
        p = wl.exp(x - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(kv.dtype) @ c
        top = new
    out[b, h] = o / l


@wl.kernel
def mlp(x: wl.In["m", "d"], up: wl.In["f", "d"], down: wl.In["n", "f"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for f in wl.steps(up.f):
        h = wl.zeros(m, f)
        for d in wl.steps(x.d):
            h += x[m, d] @ up[f, d].T
        acc += wl.gelu(h, approximate="tanh").to(x.dtype) @ down[n, f].T
    out[m, n] = acc


@wl.kernel
def conv(
    x: wl.In["b", "h", "w", "c"], f: wl.In["r", "s", "n", "c"], out: wl.Out["b", "h", "w", "n"]
):
    b, h, w, n = wl.tile(out)
    acc = wl.zeros(w, n)
    for r in wl.steps(f.r, 1):
        for s in wl.steps(f.s, 1):
            for c in wl.steps(x.c):
                acc += x[b, h + r - 1, wl.index(w) + s - 1, c] @ f[r, s, n, c].T
    out[b, h, w, n] = acc


@wl.kernel
def gemm(a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[n, k].T
    out[m, n] = acc


@wl.kernel
def integer_gemm(
    a: wl.In["m", "k", wl.i8], b: wl.In["n", "k", wl.i8], out: wl.Out["m", "n", wl.i32]
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n, dtype=wl.i32)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[n, k].T
    out[m, n] = acc


@wl.kernel
def attention(
    q: wl.In["s", "d"],
    k: wl.In["t", "d"],
    v: wl.In["t", "e"],
    out: wl.Out["s", "e", wl.bf16],
    *,
    scale: float,
):
    s = wl.tile(out, whole="e")
    qs = q[s]
    o, l, top = wl.zeros(s, v.e), wl.zeros(s), wl.full(s, -1e30)
    for t in wl.steps(k.t):
        x = (qs @ k[t].T) * scale
        new = wl.maximum(top, x.max(axis=1))
        keep = wl.exp(top - new)
        p = wl.exp(x - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(v.dtype) @ v[t]
        top = new
    out[s] = o / l


def bf16(*names, **more):
    return dict(dict.fromkeys(names, "bf16"), **more)


def attention_case(d, kind="bf16", e=None, **sizes):
    types = dict.fromkeys(("q", "k", "v"), kind) | {"out": "bf16"}
    sizes = {"s": 40, "t": 70, "d": d, "e": e or d} | sizes
    near = 2e-2 if kind == "bf16" else 8e-2
    return BlockCase(attention, types, sizes, {"scale": 0.1}, near)


@wl.kernel
def converging(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    out: wl.Out["m", "n"],
    used: wl.Out["m", wl.i32],
    *,
    limit: float,
):
    m = wl.tile(used, rows=64)
    total = wl.zeros(m, w.n)
    steps = 0
    for k in wl.steps(x.k, 16):
        more = x[m, k] @ w[:, k].T
        steps += 1
        if wl.abs(more).max(axis=1).max() > limit:
            break
        total += more
    out[m] = total
    used[m] = wl.index(m) * 0 + steps


@wl.kernel
def sought(x: wl.In["m", "n"], found: wl.Out["m", wl.i32], *, limit: float):
    m = wl.tile("m", unit="m")
    at = -1
    for n in wl.steps(x.n, 32):
        at = wl.maximum(at, wl.where(x[m, n] > limit, wl.index(n), -1).max())
        if at >= 0:
            break
    found[m] = at


@wl.kernel
def block_quantised(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    out: wl.Out["m", "n", wl.e4m3],
    scale: wl.Out["m", "n/64", wl.f32],
    most: wl.Out["one", wl.f32],
):
    m, n = wl.tile(out, cols=64)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    amax = wl.maximum(wl.abs(acc).max(axis=1), 1e-12)
    out[m, n] = acc * (448.0 / amax)
    scale[m, n] = amax / 448.0
    wl.atomic_max(most[0], amax.max())


@wl.kernel
def decayed(
    q: wl.In["s", "d"],
    k: wl.In["t", "d"],
    g: wl.In["s", wl.f32],
    out: wl.Out["s", "t", wl.f32],
    *,
    keep: float,
):
    s = wl.tile("s", "t", whole="t", rows=64)
    rows = wl.cumsum(g[s], axis=0)
    x = wl.zeros(s, k.t)
    for d in wl.steps(q.d):
        x += q[s, d] @ k[:, d].T
    if keep > 0.0:
        out[s] = wl.cumsum(x * rows, axis=1)


@wl.kernel
def fp4(
    x: wl.In["m", "k"],
    w: wl.In["n", "k/2", wl.i8],
    s: wl.In["n", "k/16", wl.e4m3],
    z: wl.In["k/32", "n", wl.i8],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        c = (w[n, k] >> (wl.index(k) % 2 * 4)) & 15
        e, f = (c >> 1) & 3, c & 1
        size = wl.where(e == 0, f * 0.5, (1.0 + f * 0.5) * wl.exp2(e - 1.0))
        v = wl.where(c >= 8, -size, size) * s[n, k] - z[k, n].T * 0.01
        acc += x[m, k] @ v.to(x.dtype).T
    out[m, n] = acc


@wl.kernel
def listed_parts(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    some: wl.In["m/64", "i", wl.i32],
    counts: wl.In["m/64", wl.i32],
    full: wl.In["m/64", "j", wl.i32],
    fulls: wl.In["m/64", wl.i32],
    out: wl.Out["p", "m", "n", wl.f32],
):
    p, m, n = wl.tile(out, rows=64)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 16, some=(some, counts), whole=(full, fulls), part=p):
        acc += wl.where(wl.is_whole(k), 2.0, 1.0) * (x[m, k] @ w[n, k].T)
    out[p, m, n] = acc


@wl.kernel
def bounded_parts(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    out: wl.Out["p", "m", "n", wl.f32],
    *,
    first: int,
    end: int,
):
    p, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 32, start=first, until=end, part=p):
        acc += x[m, k] @ w[n, k].T
    out[p, m, n] = acc


@wl.kernel
def attention_grad(
    q: wl.In["s", "d"],
    k: wl.In["t", "d"],
    v: wl.In["t", "d"],
    do: wl.In["s", "d"],
    lse: wl.In["s", wl.f32],
    delta: wl.In["s", wl.f32],
    dq: wl.Out["s", "d", wl.f32],
    dk: wl.Out["t", "d"],
    dv: wl.Out["t", "d"],
    *,
    scale: float,
):
    t = wl.tile(dk, whole="d")
    ks, vs = k[t], v[t]
    gk, gv = wl.zeros(t, k.d), wl.zeros(t, k.d)
    for s in wl.steps(q.s):
        p = wl.exp((ks @ q[s].T) * scale - lse[s])
        ds = (p * (vs @ do[s].T - delta[s])).to(q.dtype)
        gv += p.to(q.dtype) @ do[s]
        gk += ds @ q[s]
        dq[s] += (ds.T @ ks) * scale
    dk[t] = gk * scale
    dv[t] = gv


def grad_case(d):
    types = bf16("q", "k", "v", "do", "dk", "dv", lse="f32", delta="f32", dq="f32")
    return BlockCase(attention_grad, types, {"s": 40, "t": 50, "d": d}, {"scale": 0.1}, scale=0.5)


LISTS = {
    "some": [[0, 2, 4, 1, 9], [3, 1, 0, 0, 0]],
    "counts": [5, 2],
    "full": [[3, 5, 0], [2, 4, 5]],
    "fulls": [1, 3],
}


CASES = {
    "linear_cross_entropy": BlockCase(
        linear_cross_entropy,
        bf16("x", "w", target="i32", loss="f32"),
        {"m": 37, "v": 75, "d": 101},
        near=1e-3,
        integers={"target": np.arange(37) * 2},
    ),
    "mla": BlockCase(
        mla,
        bf16("q", "qr", "kv", "kr", "out"),
        {"b": 1, "h": 5, "t": 67, "c": 512, "r": 64},
        {"scale": 0.05},
    ),
    "mlp": BlockCase(
        mlp, bf16("x", "up", "down", "out"), {"m": 33, "d": 150, "f": 77, "n": 50}, scale=0.3
    ),
    "conv": BlockCase(
        conv,
        bf16("x", "f", "out"),
        {"b": 2, "h": 3, "w": 21, "c": 40, "r": 3, "s": 3, "n": 24},
    ),
    "f32": BlockCase(
        gemm, dict.fromkeys(("a", "b", "out"), "f32"), {"m": 40, "n": 30, "k": 70}, near=3e-5
    ),
    "i8": BlockCase(
        integer_gemm,
        {"a": "i8", "b": "i8", "out": "i32"},
        {"m": 40, "n": 30, "k": 170},
        near=0,
    ),
    "fp8": attention_case(80, "e4m3"),
    "block_quantised": BlockCase(
        block_quantised,
        bf16("x", "w", out="e4m3", scale="f32", most="f32"),
        {"m": 20, "n": 100, "k": 70, "one": 1},
        near=0.07,
    ),
    "fp4": BlockCase(fp4, bf16("x", "out", w="i8", s="e4m3", z="i8"), {"m": 20, "n": 40, "k": 128}),
    "scan": BlockCase(
        decayed, bf16("q", "k", g="f32", out="f32"), {"s": 30, "t": 20, "d": 40}, {"keep": 1.0}
    ),
    "listed_parts": BlockCase(
        listed_parts,
        bf16("x", "w", out="f32", **dict.fromkeys(LISTS, "i32")),
        {"m": 70, "n": 20, "k": 90, "p": 3, "i": 5, "j": 3},
        integers=LISTS,
    ),
    "bounded_parts": BlockCase(
        bounded_parts,
        bf16("x", "w", out="f32"),
        {"m": 20, "n": 20, "k": 200, "p": 3},
        {"first": 20, "end": 170},
    ),
    "break": BlockCase(
        converging, bf16("x", "w", "out", used="i32"), {"m": 16, "k": 100, "n": 24}, {"limit": 14.5}
    ),
}
