"""Groups, jagged rows and lists of tiles."""

import itertools

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def grouped_gemm(
    x: wl.In["t", "k"], w: wl.In["e", "n", "k"], starts: wl.Starts["e"], out: wl.Out["t", "n"]
):
    e, t, n = wl.tile(out, groups=starts)
    acc = wl.zeros(t, n)
    for k in wl.steps(x.k):
        acc += x[t, k] @ w[e, n, k].T
    out[t, n] = acc


def grouped_gemm_wanted(x, w, starts):
    out = np.zeros((x.shape[0], w.shape[1]))
    for e in range(len(w)):
        rows = slice(starts[e], starts[e + 1])
        out[rows] = x[rows] @ w[e].T
    return out


@wl.kernel
def jagged_softmax(x: wl.In["t", "n"], starts: wl.Starts["b"], out: wl.Out["t", "n"]):
    """Along the rows of each group, column by column: three walks over them."""
    b, n = wl.tile("b", "n", unit="b")
    first, end = starts[b], starts[b + 1]
    top, total = wl.full(n, -wl.inf), wl.zeros(n)
    for t in wl.steps(x.t, start=first, until=end):
        v = x[t, n]
        new = wl.maximum(top, v.max(axis=0))
        total = total * wl.exp(top - new) + wl.exp(v - new).sum(axis=0)
        top = new
    for t in wl.steps(x.t, start=first, until=end):
        out[t, n] = wl.exp(x[t, n] - top) / total


def jagged_softmax_wanted(x, starts):
    out = np.zeros_like(x)
    for a, z in itertools.pairwise(starts):
        e = np.exp(x[a:z])
        out[a:z] = e / e.sum(0)
    return out


@wl.kernel
def jagged_mean(x: wl.In["t", "n"], starts: wl.Starts["b"], out: wl.Out["b", "n"]):
    b, n = wl.tile(out, unit="b")
    first, end = starts[b], starts[b + 1]
    acc = wl.zeros(n)
    for t in wl.steps(x.t, start=first, until=end):
        acc += x[t, n].sum(axis=0)
    out[b, n] = acc / wl.maximum(end - first, 1)


def jagged_mean_wanted(x, starts):
    pairs = itertools.pairwise(starts)
    return np.stack([x[a:z].sum(0) / max(1, z - a) for a, z in pairs])


@wl.kernel
def segment_sum(x: wl.In["t", "n"], segment: wl.In["t", wl.i32], out: wl.Out["s", "n", wl.f32]):
    t, n = wl.tile("t", "n")
    out[segment[t], n] += x[t, n]


@wl.kernel
def block_sparse(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    tiles: wl.In["m/64", "l", wl.i32],
    counts: wl.In["m/64", wl.i32],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out, rows=64)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64, some=(tiles, counts)):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc


def block_sparse_wanted(x, w, tiles, counts):
    out = np.zeros((len(x), len(w)))
    for i, count in enumerate(counts):
        rows = slice(64 * i, 64 * i + 64)
        for j in tiles[i, :count]:
            cols = slice(64 * j, 64 * j + 64)
            out[rows] += x[rows, cols] @ w[:, cols].T
    return out


@wl.kernel
def moe(
    x: wl.In["t", "k"],
    w: wl.In["e", "n", "k"],
    rows: wl.In["r", wl.i32],
    weight: wl.In["r", wl.f32],
    starts: wl.Starts["e"],
    out: wl.Out["t", "n", wl.f32],
):
    """Rows gathered by a list sorted by expert, results added back to their tokens."""
    e, r, n = wl.tile("r", "n", groups=starts)
    acc = wl.zeros(r, n)
    for k in wl.steps(x.k):
        acc += x[rows[r], k] @ w[e, n, k].T
    out[rows[r], n] += acc * weight[r]


def moe_wanted(x, w, rows, weight, starts):
    out = np.zeros((x.shape[0], w.shape[1]))
    for e in range(len(w)):
        mine = slice(starts[e], starts[e + 1])
        np.add.at(out, rows[mine], (x[rows[mine]] @ w[e].T) * weight[mine, None])
    return out


def segments(x, segment):
    out = np.zeros((7, x.shape[1]))
    np.add.at(out, segment, x)
    return out


STARTS = np.array([0, 40, 40, 141])
CASES = (
    Case(
        kernel=grouped_gemm,
        make=lambda rng: {
            "x": normal(rng, 141, 136),
            "w": normal(rng, 3, 72, 136, scale=0.2),
            "starts": STARTS,
        },
        wanted=grouped_gemm_wanted,
    ),
    Case(
        kernel=jagged_softmax,
        make=lambda rng: {"x": normal(rng, 141, 77), "starts": STARTS},
        wanted=jagged_softmax_wanted,
        types="f32",
        memory_bound=True,
    ),
    Case(
        kernel=jagged_mean,
        make=lambda rng: {"x": normal(rng, 141, 77), "starts": STARTS},
        wanted=jagged_mean_wanted,
        types="f32",
        memory_bound=True,
    ),
    Case(
        kernel=segment_sum,
        make=lambda rng: {"x": normal(rng, 65, 77), "segment": rng.integers(0, 7, 65)},
        wanted=segments,
        sizes={"s": 7},
        initial={"out": 0.0},
        memory_bound=True,
    ),
    Case(
        kernel=block_sparse,
        make=lambda rng: {
            "x": normal(rng, 150, 264),
            "w": normal(rng, 72, 264, scale=0.2),
            "tiles": np.array([[0, 2, 4], [3, 1, 0], [4, 0, 0]]),
            "counts": np.array([3, 2, 1]),
        },
        wanted=block_sparse_wanted,
        trial=17,
    ),
    Case(
        kernel=moe,
        make=lambda rng: {
            "x": normal(rng, 60, 136),
            "w": normal(rng, 3, 72, 136, scale=0.2),
            "rows": rng.integers(0, 60, 141),
            "weight": rng.uniform(size=141),
            "starts": STARTS,
        },
        wanted=moe_wanted,
        initial={"out": 0.0},
    ),
)
