"""Reductions: losses, sums over columns and over everything, routing."""

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def column_sum(x: wl.In["m", "n"], out: wl.Out["n", wl.f32]):
    n = wl.tile(out)
    acc = wl.zeros(n)
    for m in wl.steps(x.m):
        acc += x[m, n].sum(axis=0)
    out[n] = acc


@wl.kernel
def sum_of_squares(x: wl.In["m", "n"], out: wl.Out["one", wl.f32]):
    m, n = wl.tile("m", "n")
    out[0] += (x[m, n] * x[m, n]).sum()


@wl.kernel
def greatest(x: wl.In["m", "n"], out: wl.Out["one", wl.f32]):
    m, n = wl.tile("m", "n")
    wl.atomic_max(out[0], wl.abs(x[m, n]).max())


@wl.kernel
def cross_entropy(
    x: wl.In["m", "n"],
    label: wl.In["m", wl.i32],
    loss: wl.Out["m", wl.f32],
    dx: wl.Out["m", "n"],
    *,
    scale: float,
):
    m = wl.tile(loss)
    v = x[m, :]
    top = v.max(axis=1)
    e = wl.exp(v - top)
    total = e.sum(axis=1)
    seen = label[m] >= 0
    loss[m] = wl.where(seen, wl.log(total) + top - x[m, label[m]], 0.0)
    hit = wl.where(wl.index(x.n) == label[m], 1.0, 0.0)
    dx[m, :] = wl.where(seen, (e / total - hit) * scale, 0.0)


def cross_entropy_wanted(x, label, scale):
    rows = np.arange(len(x))
    lse = np.log(np.exp(x).sum(1))
    p = np.exp(x - lse[:, None])
    p[rows, label] -= 1
    seen = label >= 0
    return np.where(seen, lse - x[rows, label], 0), np.where(seen[:, None], p * scale, 0)


@wl.kernel
def kl_divergence(p: wl.In["m", "n"], log_q: wl.In["m", "n"], loss: wl.Out["m", wl.f32]):
    m = wl.tile(loss)
    acc = wl.zeros(m)
    for n in wl.steps(p.n):
        y = p[m, n]
        acc += (y * (wl.log(wl.maximum(y, 1e-10)) - log_q[m, n])).sum(axis=1)
    loss[m] = acc


@wl.kernel
def jensen_shannon(
    x: wl.In["m", "n"], y: wl.In["m", "n"], loss: wl.Out["one", wl.f32], dx: wl.Out["m", "n"]
):
    m, n = wl.tile(dx)
    a, b = x[m, n], y[m, n]
    p, q = wl.exp(a), wl.exp(b)
    mid = wl.log(0.5 * (p + q))
    loss[0] += (0.5 * (p * (a - mid) + q * (b - mid))).sum()
    dx[m, n] = 0.5 * p * (a - mid)


def jensen_shannon_wanted(x, y):
    p, q = np.exp(x), np.exp(y)
    mid = np.log(0.5 * (p + q))
    return np.array([(0.5 * (p * (x - mid) + q * (y - mid))).sum()]), 0.5 * p * (x - mid)


@wl.kernel
def total_variation(p: wl.In["m", "n"], q: wl.In["m", "n"], loss: wl.Out["m", wl.f32]):
    m = wl.tile(loss)
    loss[m] = 0.5 * wl.abs(p[m, :] - q[m, :]).sum(axis=1)


@wl.kernel
def welford(x: wl.In["m", "n"], mean: wl.Out["m", wl.f32], variance: wl.Out["m", wl.f32]):
    m = wl.tile(mean)
    count, mu, s = wl.zeros(m), wl.zeros(m), wl.zeros(m)
    for n in wl.steps(x.n, 128):
        v = x[m, n]
        here = wl.where(wl.index(n) >= 0, 1.0, 0.0).sum()
        new = v.sum(axis=1) / here
        apart = new - mu
        s += ((v - new) * (v - new)).sum(axis=1) + apart * apart * count * here / (count + here)
        mu += apart * here / (count + here)
        count += here
    mean[m] = mu
    variance[m] = s / count


@wl.kernel
def route(x: wl.In["t", "e"], weight: wl.Out["t", "k", wl.f32], expert: wl.Out["t", "k", wl.i32]):
    t = wl.tile("t")
    v = x[t, :]
    p = wl.exp(v - v.max(axis=1))
    values, experts = wl.topk(p / p.sum(axis=1), 2)
    total = values[0] + values[1]
    for i in range(2):
        weight[t, i] = values[i] / total
        expert[t, i] = experts[i]


def route_wanted(x):
    p = np.exp(x - x.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    order = np.argsort(-p, axis=1, kind="stable")[:, :2]
    values = np.take_along_axis(p, order, 1)
    return values / values.sum(1, keepdims=True), order


@wl.kernel
def merge_states(
    a: wl.In["t", "h", "d"],
    lse_a: wl.In["t", "h", wl.f32],
    b: wl.In["t", "h", "d"],
    lse_b: wl.In["t", "h", wl.f32],
    out: wl.Out["t", "h", "d"],
    lse: wl.Out["t", "h", wl.f32],
):
    t, h = wl.tile(out, whole="d")
    x, y = lse_a[t, h], lse_b[t, h]
    top = wl.maximum(x, y)
    u, v = wl.exp(x - top), wl.exp(y - top)
    out[t, h] = (a[t, h] * u + b[t, h] * v) / (u + v)
    lse[t, h] = top + wl.log(u + v)


def merge_states_wanted(a, lse_a, b, lse_b):
    u, v = np.exp(lse_a)[..., None], np.exp(lse_b)[..., None]
    return (a * u + b * v) / (u + v), np.log(np.exp(lse_a) + np.exp(lse_b))


@wl.kernel
def sample(p: wl.In["m", "n"], u: wl.In["m", wl.f32], token: wl.Out["m", wl.i32]):
    m = wl.tile(token)
    reached = wl.cumsum(p[m, :], axis=1) > u[m]
    token[m] = wl.where(reached, wl.index(p.n), p.n - 1).min(axis=1)


def sample_wanted(p, u):
    return np.minimum((np.cumsum(p, axis=1) <= u[:, None]).sum(1), p.shape[1] - 1)


@wl.kernel
def top_p(p: wl.In["m", "n"], out: wl.Out["m", "n"], *, share: float):
    """The least threshold by bisection whose larger elements hold ``share``, renormalised."""
    m = wl.tile(out, whole="n")
    v = p[m]
    low, high = wl.zeros(m), v.max(axis=1)
    for _ in range(24):
        mid = 0.5 * (low + high)
        enough = wl.where(v >= mid, v, 0.0).sum(axis=1) >= share
        low, high = wl.where(enough, mid, low), wl.where(enough, high, mid)
    kept = wl.where(v >= low, v, 0.0)
    out[m] = kept / kept.sum(axis=1)


def top_p_wanted(p, share):
    out = np.zeros_like(p)
    for row, o in zip(p, out, strict=True):
        order = np.argsort(-row, kind="stable")
        count = int(np.searchsorted(np.cumsum(row[order]), share)) + 1
        o[order[:count]] = row[order[:count]] / row[order[:count]].sum()
    return out


def probabilities(rng, m, n):
    p = np.exp(rng.normal(size=(m, n)))
    return (p / p.sum(1, keepdims=True)).astype(np.float32).astype(np.float64)


def kl_wanted(p, log_q):
    return (p * (np.log(np.maximum(p, 1e-10)) - log_q)).sum(1)


CASES = (
    Case(
        kernel=column_sum,
        make=lambda rng: {"x": normal(rng, 333, 77)},
        wanted=lambda x: x.sum(0),
        memory_bound=True,
        trial=10,
    ),
    Case(
        kernel=sum_of_squares,
        make=lambda rng: {"x": normal(rng, 65, 77)},
        wanted=lambda x: np.array([(x * x).sum()]),
        sizes={"one": 1},
        initial={"out": 0.0},
        memory_bound=True,
    ),
    Case(
        kernel=greatest,
        make=lambda rng: {"x": normal(rng, 65, 77)},
        wanted=lambda x: np.array([np.abs(x).max()]),
        sizes={"one": 1},
        initial={"out": 0.0},
        memory_bound=True,
    ),
    Case(
        kernel=cross_entropy,
        make=lambda rng: {
            "x": normal(rng, 9, 1003),
            "label": np.array([5, -100, 1002, 0, 7, 8, -100, 3, 1]),
        },
        wanted=cross_entropy_wanted,
        scalars={"scale": 0.25},
        types="f32",
        memory_bound=True,
    ),
    Case(
        kernel=kl_divergence,
        make=lambda rng: {
            "p": probabilities(rng, 9, 333),
            "log_q": np.log(probabilities(rng, 9, 333)),
        },
        wanted=kl_wanted,
        types="f32",
        memory_bound=True,
    ),
    Case(
        kernel=jensen_shannon,
        make=lambda rng: {n: np.log(probabilities(rng, 9, 77)) for n in ("x", "y")},
        wanted=jensen_shannon_wanted,
        types="f32",
        sizes={"one": 1},
        initial={"loss": 0.0},
        memory_bound=True,
    ),
    Case(
        kernel=total_variation,
        make=lambda rng: {n: probabilities(rng, 9, 200) for n in ("p", "q")},
        wanted=lambda p, q: 0.5 * np.abs(p - q).sum(1),
        types="f32",
        memory_bound=True,
    ),
    Case(
        kernel=welford,
        make=lambda rng: {"x": normal(rng, 33, 300)},
        wanted=lambda x: (x.mean(1), x.var(1)),
        memory_bound=True,
    ),
    Case(
        kernel=route,
        make=lambda rng: {"x": normal(rng, 33, 60)},
        wanted=route_wanted,
        types="f32",
        sizes={"k": 2},
        memory_bound=True,
        trial=6,
    ),
    Case(
        kernel=merge_states,
        make=lambda rng: {
            "a": normal(rng, 9, 3, 72),
            "lse_a": normal(rng, 9, 3),
            "b": normal(rng, 9, 3, 72),
            "lse_b": normal(rng, 9, 3),
        },
        wanted=merge_states_wanted,
        memory_bound=True,
    ),
    Case(
        kernel=sample,
        make=lambda rng: {"p": probabilities(rng, 9, 333), "u": rng.uniform(size=9)},
        wanted=sample_wanted,
        types="f32",
        memory_bound=True,
    ),
    Case(
        kernel=top_p,
        make=lambda rng: {"p": probabilities(rng, 5, 200)},
        wanted=top_p_wanted,
        types="f32",
        scalars={"share": 0.7},
        memory_bound=True,
    ),
)
