"""Element by element: activations, rotations, dropout, quantisation, lookups."""

import math

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def add(x: wl.In["b", "m", "n"], y: wl.In["b", "m", "n"], out: wl.Out["b", "m", "n"]):
    b, m, n = wl.tile(out)
    out[b, m, n] = x[b, m, n] + y[b, m, n]


@wl.kernel
def swiglu(gate: wl.In["m", "n"], up: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = wl.silu(gate[m, n]) * up[m, n]


@wl.kernel
def geglu_grad(
    dy: wl.In["m", "n"],
    gate: wl.In["m", "n"],
    up: wl.In["m", "n"],
    dgate: wl.Out["m", "n"],
    dup: wl.Out["m", "n"],
):
    m, n = wl.tile(dgate)
    g = gate[m, n].to(wl.f32)
    a = wl.gelu(g, approximate="tanh")
    dup[m, n] = dy[m, n] * a
    dgate[m, n] = dy[m, n] * up[m, n] * wl.grad(a, g)


def geglu_grad_wanted(dy, gate, up):
    c = math.sqrt(2 / math.pi)
    inner = np.tanh(c * (gate + 0.044715 * gate**3))
    slope = 0.5 * (1 + inner) + 0.5 * gate * (1 - inner**2) * c * (1 + 3 * 0.044715 * gate**2)
    return dy * up * slope, dy * 0.5 * gate * (1 + inner)


@wl.kernel
def rope_halves(
    x: wl.In["s", "h", "d"], cos: wl.In["s", "d"], sin: wl.In["s", "d"], out: wl.Out["s", "h", "d"]
):
    s, h = wl.tile(out, whole="d")
    i = wl.index(x.d)
    other = x[s, h, (i + x.d // 2) % x.d]
    out[s, h] = x[s, h] * cos[s] + wl.where(i < x.d // 2, -other, other) * sin[s]


@wl.kernel
def rope_pairs(
    x: wl.In["s", "h", "d"], cos: wl.In["s", "d"], sin: wl.In["s", "d"], out: wl.Out["s", "h", "d"]
):
    s, h = wl.tile(out, whole="d")
    i = wl.index(x.d)
    other = x[s, h, i ^ 1]
    out[s, h] = x[s, h] * cos[s] + wl.where(i % 2 == 0, -other, other) * sin[s]


def rope_wanted(x, cos, sin, *, pairs):
    d = x.shape[-1]
    i = np.arange(d)
    other = x[..., i ^ 1] if pairs else x[..., (i + d // 2) % d]
    first = i % 2 == 0 if pairs else i < d // 2
    return x * cos[:, None] + np.where(first, -other, other) * sin[:, None]


@wl.kernel
def dropout(x: wl.In["n"], out: wl.Out["n"], *, keep: float, seed: int):
    n = wl.tile(out)
    kept = wl.uniform(seed, wl.index(n)) < keep
    out[n] = wl.where(kept, x[n] / keep, 0.0)


def philox(seed, counters):
    """Philox4x32-10 of the counters (n, 0, 0, 0): the first of its four words."""
    word = np.uint64(0xFFFFFFFF)
    c = [counters.astype(np.uint64), *(np.zeros(len(counters), np.uint64) for _ in range(3))]
    k = [np.uint64(seed), np.uint64(0)]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ k[0], b & word, (a >> np.uint64(32)) ^ c[3] ^ k[1],
             a & word]  # fmt: skip
        k = [(k[0] + np.uint64(0x9E3779B9)) & word, (k[1] + np.uint64(0xBB67AE85)) & word]
    return c[0]


def dropout_wanted(x, keep, seed):
    u = (philox(seed, np.arange(len(x))) >> np.uint64(8)).astype(np.float64) * 2.0**-24
    return np.where(u < keep, x / keep, 0)


@wl.kernel
def quantise_rows(x: wl.In["m", "n"], q: wl.Out["m", "n", wl.e4m3], scale: wl.Out["m", wl.f32]):
    m = wl.tile(q, whole="n")
    v = x[m]
    s = wl.maximum(wl.abs(v).max(axis=1), 1e-12) / 448.0
    q[m] = v / s
    scale[m] = s


@wl.kernel
def quantise_int8(x: wl.In["m", "n"], q: wl.Out["m", "n", wl.i8], scale: wl.Out["m", wl.f32]):
    m = wl.tile(q, whole="n")
    v = x[m]
    s = wl.maximum(wl.abs(v).max(axis=1), 1e-12) / 127.0
    q[m] = wl.floor(v / s + 0.5)
    scale[m] = s


def quantise_int8_wanted(x):
    s = np.maximum(np.abs(x).max(1), 1e-12) / 127
    return np.clip(np.floor(x / s[:, None] + 0.5), -128, 127), s


@wl.kernel
def transpose(x: wl.In["n", "m"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = x[n, m].T


@wl.kernel
def embedding(ids: wl.In["t", wl.i32], table: wl.In["v", "d"], out: wl.Out["t", "d"]):
    t, d = wl.tile(out)
    out[t, d] = table[ids[t], d]


@wl.kernel
def embedding_grad(ids: wl.In["t", wl.i32], dy: wl.In["t", "d"], dtable: wl.Out["v", "d", wl.f32]):
    t, d = wl.tile("t", "d")
    dtable[ids[t], d] += dy[t, d]


def embedding_grad_wanted(ids, dy):
    out = np.zeros((19, dy.shape[1]))
    np.add.at(out, ids, dy)
    return out


@wl.kernel
def append_cache(
    new: wl.In["t", "h", "d"], place: wl.In["t", wl.i32], cache: wl.Out["page", "h", "d"]
):
    t, h = wl.tile("t", "h", "d", whole="d")
    cache[place[t], h, :] = new[t, h, :]


def append_cache_wanted(new, place):
    cache = np.full((23, *new.shape[1:]), np.nan)
    cache[place] = new
    return cache


@wl.kernel
def token_shift(x: wl.In["b", "t", "d"], mix: wl.In["d"], out: wl.Out["b", "t", "d"]):
    b, t, d = wl.tile(out)
    before = x[b, wl.index(t) - 1, d]
    out[b, t, d] = x[b, t, d] + (before - x[b, t, d]) * mix[d]


def token_shift_wanted(x, mix):
    before = np.concatenate([np.zeros_like(x[:, :1]), x[:, :-1]], axis=1)
    return x + (before - x) * mix


@wl.kernel
def causal_conv(
    x: wl.In["b", "t", "d"], w: wl.In["k", "d"], bias: wl.In["d"], out: wl.Out["b", "t", "d"]
):
    b, t, d = wl.tile(out)
    acc = wl.zeros(t, d) + bias[d]
    for i in range(4):
        acc += x[b, wl.index(t) + (i - 3), d] * w[i, d]
    out[b, t, d] = wl.silu(acc)


def causal_conv_wanted(x, w, bias):
    padded = np.pad(x, ((0, 0), (3, 0), (0, 0)))
    y = sum(padded[:, i : i + x.shape[1]] * w[i] for i in range(4)) + bias
    return y / (1 + np.exp(-y))


def turns(rng, s, d):
    angle = rng.uniform(0, 6, (s, d))
    return {"cos": np.cos(angle), "sin": np.sin(angle)}


CASES = (
    Case(
        kernel=add,
        make=lambda rng: {"x": normal(rng, 2, 33, 77), "y": normal(rng, 2, 33, 77)},
        wanted=lambda x, y: x + y,
        memory_bound=True,
        trial=10,
    ),
    Case(
        kernel=swiglu,
        make=lambda rng: {"gate": normal(rng, 33, 200), "up": normal(rng, 33, 200)},
        wanted=lambda gate, up: gate / (1 + np.exp(-gate)) * up,
        memory_bound=True,
    ),
    Case(
        kernel=geglu_grad,
        make=lambda rng: {n: normal(rng, 17, 136) for n in ("dy", "gate", "up")},
        wanted=geglu_grad_wanted,
        memory_bound=True,
    ),
    Case(
        kernel=rope_halves,
        make=lambda rng: {"x": normal(rng, 7, 3, 72), **turns(rng, 7, 72)},
        wanted=lambda x, cos, sin: rope_wanted(x, cos, sin, pairs=False),
        types="f32",
        memory_bound=True,
        trial=18,
    ),
    Case(
        kernel=rope_pairs,
        make=lambda rng: {"x": normal(rng, 7, 3, 40), **turns(rng, 7, 40)},
        wanted=lambda x, cos, sin: rope_wanted(x, cos, sin, pairs=True),
        types="f32",
        memory_bound=True,
        trial=18,
    ),
    Case(
        kernel=dropout,
        make=lambda rng: {"x": normal(rng, 1003)},
        wanted=dropout_wanted,
        scalars={"keep": 0.75, "seed": 1234},
        memory_bound=True,
        trial=19,
    ),
    Case(
        kernel=quantise_rows,
        make=lambda rng: {"x": normal(rng, 9, 200)},
        wanted=lambda x: (
            x / np.maximum(np.abs(x).max(1, keepdims=True), 1e-12) * 448,
            np.abs(x).max(1) / 448,
        ),
        tolerance=4e-2,
        memory_bound=True,
        trial=11,
    ),
    Case(
        kernel=quantise_int8,
        make=lambda rng: {"x": normal(rng, 9, 77)},
        wanted=quantise_int8_wanted,
        memory_bound=True,
    ),
    Case(
        kernel=transpose,
        make=lambda rng: {"x": normal(rng, 70, 136)},
        wanted=lambda x: x.T,
        tolerance=0,
        memory_bound=True,
        trial=10,
    ),
    Case(
        kernel=embedding,
        make=lambda rng: {"ids": rng.integers(0, 19, 33), "table": normal(rng, 19, 72)},
        wanted=lambda ids, table: table[ids],
        tolerance=0,
        memory_bound=True,
    ),
    Case(
        kernel=embedding_grad,
        make=lambda rng: {"ids": rng.integers(0, 19, 33), "dy": normal(rng, 33, 40)},
        wanted=embedding_grad_wanted,
        sizes={"v": 19},
        initial={"dtable": 0.0},
        memory_bound=True,
    ),
    Case(
        kernel=append_cache,
        make=lambda rng: {"new": normal(rng, 9, 2, 40), "place": rng.permutation(23)[:9]},
        wanted=append_cache_wanted,
        sizes={"page": 23},
        tolerance=0,
        memory_bound=True,
    ),
    Case(
        kernel=token_shift,
        make=lambda rng: {"x": normal(rng, 2, 33, 72), "mix": normal(rng, 72)},
        wanted=token_shift_wanted,
        memory_bound=True,
    ),
    Case(
        kernel=causal_conv,
        make=lambda rng: {
            "x": normal(rng, 2, 33, 72),
            "w": normal(rng, 4, 72),
            "bias": normal(rng, 72),
        },
        wanted=causal_conv_wanted,
        memory_bound=True,
    ),
)
