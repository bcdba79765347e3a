"""Kernels without matrix products, and how they are executed: emitted CUDA on the host."""

import numpy as np

import warploom as wl
from tests.host_cuda import Memory, execute
from warploom.codegen.cuda.threads import emit_threads
from warploom.compiler.described import described
from warploom.frontend.pointwise import rounded
from warploom.frontend.simplify import simplify
from warploom.ir.tile import Access, DType
from warploom.passes.kernel_config import config_of
from warploom.passes.thread_module import build_thread_module


def of_type(array, dtype):
    """The nearest values of a type."""
    return rounded(np.asarray(array), DType(dtype))


def emitted(text, types, sizes, *, constants=None, without=(), pins=None, steer=True):
    """The kernel, its source and its config; without ``steer`` for sizes nobody knows."""
    kernel = simplify(
        text.value_for(text.spell(types, without), sizes, constants or {}, set(without))
    )
    module = build_thread_module(kernel, kernel, sizes if steer else {}, pins)
    extents = dict(module.threads.extents)
    return kernel, emit_threads(module), config_of(kernel, consumer_warpgroups=0, **extents)


def executed(text, types, sizes, arrays, *, scalars=None, initial=None, grid=3, seed=1, **how):
    """What the emitted kernel leaves in its outputs, run thread by thread on the host.

    Bytes around and between tensors are checked; outputs hold NaN (or ``initial``) before.
    """
    kernel, source, config = emitted(text, types, sizes, **how)
    memories = []
    for t in kernel.tensors:
        shape = [-(-sizes[a.name] // a.per) for a in t.axes]
        shape[0] += t.access is Access.STARTS
        if t.access is Access.OUT:
            first = (initial or {}).get(t.name)
            memory = Memory(t, shape, None)
            if first is not None:
                memory.raw[...] = Memory(t, shape, np.broadcast_to(first, shape)).raw
            else:
                memory.raw[...] = np.iinfo(memory.raw.dtype).max  # NaN, or -1
        else:
            memory = Memory(t, shape, arrays[t.name])
        memories.append(memory)
    binary = described(kernel, source, config, b"")
    fault = execute(binary, source, memories, scalars or {}, grid=grid, seed=seed)
    assert fault is None, fault
    assert all(m.untouched() for m in memories), "bytes outside the tensors were written"
    outs = [
        m.values() for t, m in zip(kernel.tensors, memories, strict=True) if t.access is Access.OUT
    ]
    return outs[0] if len(outs) == 1 else tuple(outs)


@wl.kernel
def softmax(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m = wl.tile(out, whole="n")
    v = x[m]
    e = wl.exp(v - v.max(axis=1))
    out[m] = e / e.sum(axis=1)


@wl.kernel
def layer_norm(
    x: wl.In["m", "n"],
    weight: wl.In["n"],
    bias: wl.In["n"],
    out: wl.Out["m", "n"],
    mean: wl.Out["m", wl.f32],
    rstd: wl.Out["m", wl.f32],
    *,
    eps: float,
):
    m = wl.tile(out, whole="n")
    v = x[m]
    mu = v.sum(axis=1) / x.n
    d = v - mu
    r = wl.rsqrt((d * d).sum(axis=1) / x.n + eps)
    out[m] = d * r * weight[:] + bias[:]
    mean[m] = mu
    rstd[m] = r


@wl.kernel
def layer_norm_grad(
    dy: wl.In["m", "n"],
    x: wl.In["m", "n"],
    weight: wl.In["n"],
    mean: wl.In["m", wl.f32],
    rstd: wl.In["m", wl.f32],
    dx: wl.Out["m", "n"],
    dw: wl.Out["n", wl.f32],
    db: wl.Out["n", wl.f32],
):
    m = wl.tile(dx, whole="n")
    g = dy[m] * weight[:]
    h = (x[m] - mean[m]) * rstd[m]
    a = (g * h).sum(axis=1) / x.n
    b = g.sum(axis=1) / x.n
    dx[m] = (g - h * a - b) * rstd[m]
    dw[:] += (dy[m] * h).sum(axis=0)
    db[:] += dy[m].sum(axis=0)


@wl.kernel
def rms_norm(x: wl.In["m", "n"], weight: wl.In["n"], out: wl.Out["m", "n"], *, eps: float):
    m = wl.tile(out, whole="n")
    v = x[m]
    out[m] = v * wl.rsqrt((v * v).sum(axis=1) / x.n + eps) * weight[:]


@wl.kernel
def add(
    x: wl.In["b", "h", "m", "n"], y: wl.In["b", "h", "m", "n"], out: wl.Out["b", "h", "m", "n"]
):
    b, h, m, n = wl.tile(out)
    out[b, h, m, n] = x[b, h, m, n] * 2.0 + wl.gelu(y[b, h, m, n])


@wl.kernel
def scale(x: wl.In["n"], out: wl.Out["n"], *, alpha: float):
    n = wl.tile(out)
    out[n] = x[n] * alpha


@wl.kernel
def transpose(x: wl.In["n", "m"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = x[n, m].T


@wl.kernel
def both_ways(x: wl.In["m", "n"], out: wl.Out["m", "n"], turned: wl.Out["n", "m"]):
    m, n = wl.tile(out)
    v = x[m, n] * 2.0
    out[m, n] = v
    turned[n, m] = v.T


@wl.kernel
def column_sums(x: wl.In["m", "n"], out: wl.Out["n", wl.f32]):
    n = wl.tile("n")
    acc = wl.zeros(n)
    for m in wl.steps(x.m):
        acc += x[m, n].sum(axis=0)
    out[n] = acc


@wl.kernel
def total(x: wl.In["m", "n"], out: wl.Out["one", wl.f32]):
    m, n = wl.tile("m", "n")
    out[0] += (x[m, n] * x[m, n]).sum(axis=1).sum(axis=0)


@wl.kernel
def rope_halves(
    x: wl.In["b", "s", "h", "d"],
    cos: wl.In["s", "d"],
    sin: wl.In["s", "d"],
    out: wl.Out["b", "s", "h", "d"],
):
    b, s, h = wl.tile(out, whole="d")
    i = wl.index(x.d)
    other = x[b, s, h, (i + x.d // 2) % x.d]
    out[b, s, h] = x[b, s, h] * cos[s] + wl.where(i < x.d // 2, -other, other) * sin[s]


@wl.kernel
def rope_pairs(
    x: wl.In["s", "h", "d"], cos: wl.In["s", "d"], sin: wl.In["s", "d"], out: wl.Out["s", "h", "d"]
):
    s, h = wl.tile(out, whole="d")
    i = wl.index(x.d)
    other = x[s, h, i + 1 - 2 * (i % 2)]
    out[s, h] = x[s, h] * cos[s] + wl.where(i % 2 == 0, -other, other) * sin[s]


@wl.kernel
def quantise(x: wl.In["m", "n"], q: wl.Out["m", "n"], s: wl.Out["m", wl.f32], *, most: float):
    m = wl.tile(q, whole="n")
    v = x[m]
    top = wl.maximum(wl.abs(v).max(axis=1), 1e-12) / most
    q[m] = v / top
    s[m] = top


@wl.kernel
def embedding(ids: wl.In["t", wl.i32], table: wl.In["v", "d"], out: wl.Out["t", "d"]):
    t, d = wl.tile(out)
    out[t, d] = table[ids[t], d]


@wl.kernel
def embedding_grad(ids: wl.In["t", wl.i32], dy: wl.In["t", "d"], dtable: wl.Out["v", "d", wl.f32]):
    t, d = wl.tile("t", "d")
    dtable[ids[t], d] += dy[t, d]


@wl.kernel
def cross_entropy(
    x: wl.In["m", "v"],
    target: wl.In["m", wl.i32],
    loss: wl.Out["m", wl.f32],
    grad: wl.Out["m", "v"],
):
    m = wl.tile(loss)
    v = x[m]
    top = v.max(axis=1)
    e = wl.exp(v - top)
    l = e.sum(axis=1)
    loss[m] = top + wl.log(l) - x[m, target[m]]
    grad[m] = e / l - wl.where(wl.index(x.v) == target[m], 1.0, 0.0)


@wl.kernel
def online_softmax(x: wl.In["m", "n"], lse: wl.Out["m", wl.f32], most: wl.Out["m", wl.f32]):
    m = wl.tile(lse)
    top, l = wl.full(m, -wl.inf), wl.zeros(m)
    for n in wl.steps(x.n):
        v = x[m, n]
        new = wl.maximum(top, v.max(axis=1))
        l = l * wl.exp(top - new) + wl.exp(v - new).sum(axis=1)
        top = new
    lse[m] = top + wl.log(l)
    most[m] = top


@wl.kernel
def row_statistics(x: wl.In["m", "n"], sums: wl.Out["m", wl.f32], least: wl.Out["m", wl.f32]):
    m = wl.tile(sums)
    s, low = wl.zeros(m), wl.full(m, wl.inf)
    for n in wl.steps(x.n):
        s += x[m, n].sum(axis=1)
        low = wl.minimum(low, x[m, n].min(axis=1))
    sums[m] = s
    least[m] = low


@wl.kernel
def group_scale(
    x: wl.In["t", "d"], w: wl.In["e", "d"], starts: wl.Starts["e"], out: wl.Out["t", "d"]
):
    e, t, d = wl.tile(out, groups=starts)
    out[t, d] = x[t, d] * w[e, d] + e


@wl.kernel
def block_scaled(x: wl.In["m", "n"], s: wl.In["m", "n/32", wl.f32], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = x[m, n] * s[m, n]


@wl.kernel
def nested(x: wl.In["b", "m", "n"], w: wl.In["m", wl.f32], out: wl.Out["b", wl.f32]):
    b = wl.tile(out)
    acc = wl.zeros(b)
    for m in wl.steps(x.m, 1):
        row = wl.zeros(b)
        for n in wl.steps(x.n):
            row += x[b, m, n].sum(axis=1)
        acc = acc * 0.5 + row * w[m]
    out[b] = acc


@wl.kernel
def windows(x: wl.In["m", "n"], taps: wl.In["k", wl.f32], out: wl.Out["m", "n"]):
    """A convolution along rows: its taps are a loop inside the loop over columns."""
    m = wl.tile("m")
    for n in wl.steps(x.n):
        acc = wl.zeros(m, n)
        for k in wl.steps(taps.k, 1):
            acc += x[m, wl.index(n) + k - 1] * taps[k]
        out[m, n] = acc


@wl.kernel
def histogram(x: wl.In["n", wl.i32], counts: wl.Out["bins", wl.i32]):
    n = wl.tile("n")
    counts[x[n]] += wl.full(n, 1, dtype=wl.i32)


@wl.kernel
def nested_exponentials(x: wl.In["b", "m", "n"], out: wl.Out["b", wl.f32], *, scale: float):
    """The sum over m of log-sum-exps along n, each of them online."""
    b = wl.tile(out)
    acc = wl.zeros(b)
    for m in wl.steps(x.m, 1):
        top, l = wl.full(b, -1e30), wl.zeros(b)
        for n in wl.steps(x.n):
            v = x[b, m, n] * scale
            new = wl.maximum(top, v.max(axis=1))
            l = l * wl.exp(top - new) + wl.exp(v - new).sum(axis=1)
            top = new
        acc += top + wl.log(l)
    out[b] = acc


@wl.kernel
def masked(
    x: wl.In["m", "n"],
    mask: wl.In["m", "n", wl.bool_],
    out: wl.Out["m", "n"],
    positive: wl.Out["m", "n", wl.bool_],
):
    m, n = wl.tile(out)
    v = wl.where(mask[m, n], x[m, n], -1.0)
    out[m, n] = v
    positive[m, n] = v > 0
