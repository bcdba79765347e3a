"""Normalisations of rows, forward and backward."""

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def softmax(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m = wl.tile(out, whole="n")
    v = x[m]
    e = wl.exp(v - v.max(axis=1))
    out[m] = e / e.sum(axis=1)


def softmax_wanted(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@wl.kernel
def softmax_grad(y: wl.In["m", "n"], dy: wl.In["m", "n"], dx: wl.Out["m", "n"]):
    m = wl.tile(dx, whole="n")
    p, g = y[m], dy[m]
    dx[m] = p * (g - (p * g).sum(axis=1))


@wl.kernel
def rms_norm(x: wl.In["m", "n"], weight: wl.In["n"], out: wl.Out["m", "n"], *, eps: float):
    m = wl.tile(out, whole="n")
    v = x[m]
    out[m] = v * wl.rsqrt((v * v).sum(axis=1) / x.n + eps) * weight[:]


@wl.kernel
def rms_norm_residual(
    x: wl.In["m", "n"],
    residual: wl.In["m", "n"],
    weight: wl.In["n"],
    out: wl.Out["m", "n"],
    new_residual: wl.Out["m", "n"],
    *,
    eps: float,
):
    m = wl.tile(out, whole="n")
    v = (x[m] + residual[m]).to(x.dtype)
    new_residual[m] = v
    out[m] = v * wl.rsqrt((v * v).sum(axis=1) / x.n + eps) * weight[:]


@wl.kernel
def rms_norm_grad(
    dy: wl.In["m", "n"],
    x: wl.In["m", "n"],
    weight: wl.In["n"],
    dx: wl.Out["m", "n"],
    dw: wl.Out["n", wl.f32],
    *,
    eps: float,
):
    m = wl.tile(dx, whole="n")
    v, g = x[m], dy[m] * weight[:]
    r = wl.rsqrt((v * v).sum(axis=1) / x.n + eps)
    dx[m] = r * (g - v * (r * r / x.n * (g * v).sum(axis=1)))
    dw[:] += (dy[m] * v * r).sum(axis=0)


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


def layer_norm_wanted(x, weight, bias, eps):
    mu, r = x.mean(1), 1 / np.sqrt(x.var(1) + eps)
    return (x - mu[:, None]) * r[:, None] * weight + bias, mu, r


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
    dx[m] = (g - h * ((g * h).sum(axis=1) / x.n) - g.sum(axis=1) / x.n) * rstd[m]
    dw[:] += (dy[m] * h).sum(axis=0)
    db[:] += dy[m].sum(axis=0)


def layer_norm_grad_wanted(dy, x, weight, mean, rstd):
    g, h = dy * weight, (x - mean[:, None]) * rstd[:, None]
    dx = g - h * (g * h).mean(1, keepdims=True) - g.mean(1, keepdims=True)
    return dx * rstd[:, None], (dy * h).sum(0), dy.sum(0)


@wl.kernel
def group_norm(
    x: wl.In["b", "g", "c", "s"],
    weight: wl.In["g", "c"],
    bias: wl.In["g", "c"],
    out: wl.Out["b", "g", "c", "s"],
    *,
    eps: float,
):
    b, g = wl.tile("b", "g", "c", "s", whole=("c", "s"))
    v = x[b, g]
    d = v - v.sum() / (x.c * x.s)
    out[b, g] = d * wl.rsqrt((d * d).sum() / (x.c * x.s) + eps) * weight[g] + bias[g]


def group_norm_wanted(x, weight, bias, eps):
    d = x - x.mean((2, 3), keepdims=True)
    y = d / np.sqrt((d * d).mean((2, 3), keepdims=True) + eps)
    return y * weight[..., None] + bias[..., None]


@wl.kernel
def l2_norm(x: wl.In["m", "n"], out: wl.Out["m", "n"], *, eps: float):
    m = wl.tile(out, whole="n")
    v = x[m]
    out[m] = v / wl.sqrt((v * v).sum(axis=1) + eps)


def rms(x, eps):
    return x / np.sqrt((x * x).mean(1, keepdims=True) + eps)


def rms_norm_grad_wanted(dy, x, weight, eps):
    g, n = dy * weight, x.shape[1]
    r = 1 / np.sqrt((x * x).mean(1, keepdims=True) + eps)
    return r * (g - x * r * r / n * (g * x).sum(1, keepdims=True)), (dy * x * r).sum(0)


EPS = {"eps": 1e-5}
CASES = (
    Case(
        kernel=softmax,
        make=lambda rng: {"x": normal(rng, 7, 1000)},
        wanted=softmax_wanted,
        memory_bound=True,
        trial=10,
    ),
    Case(
        kernel=softmax_grad,
        make=lambda rng: {"y": softmax_wanted(normal(rng, 5, 333)), "dy": normal(rng, 5, 333)},
        wanted=lambda y, dy: y * (dy - (y * dy).sum(1, keepdims=True)),
        types="f32",
        memory_bound=True,
    ),
    Case(
        kernel=rms_norm,
        make=lambda rng: {"x": normal(rng, 7, 776), "weight": normal(rng, 776)},
        wanted=lambda x, weight, eps: rms(x, eps) * weight,
        scalars=EPS,
        memory_bound=True,
        trial=10,
    ),
    Case(
        kernel=rms_norm_residual,
        make=lambda rng: {
            "x": normal(rng, 5, 264),
            "residual": normal(rng, 5, 264),
            "weight": normal(rng, 264),
        },
        wanted=lambda x, residual, weight, eps: (rms(x + residual, eps) * weight, x + residual),
        scalars=EPS,
        memory_bound=True,
    ),
    Case(
        kernel=rms_norm_grad,
        make=lambda rng: {
            "dy": normal(rng, 9, 200),
            "x": normal(rng, 9, 200),
            "weight": normal(rng, 200),
        },
        wanted=rms_norm_grad_wanted,
        scalars=EPS,
        initial={"dw": 0.0},
        memory_bound=True,
    ),
    Case(
        kernel=layer_norm,
        make=lambda rng: {
            "x": normal(rng, 5, 1032),
            "weight": normal(rng, 1032),
            "bias": normal(rng, 1032),
        },
        wanted=layer_norm_wanted,
        scalars=EPS,
        memory_bound=True,
    ),
    Case(
        kernel=layer_norm_grad,
        make=lambda rng: {
            "dy": normal(rng, 9, 136),
            "x": normal(rng, 9, 136),
            "weight": normal(rng, 136),
            "mean": normal(rng, 9) * 0.1,
            "rstd": np.abs(normal(rng, 9)) + 0.5,
        },
        wanted=layer_norm_grad_wanted,
        initial={"dw": 0.0, "db": 0.0},
        memory_bound=True,
    ),
    Case(
        kernel=group_norm,
        make=lambda rng: {
            "x": normal(rng, 2, 3, 5, 40),
            "weight": normal(rng, 3, 5),
            "bias": normal(rng, 3, 5),
        },
        wanted=group_norm_wanted,
        scalars=EPS,
        memory_bound=True,
    ),
    Case(
        kernel=l2_norm,
        make=lambda rng: {"x": normal(rng, 33, 72)},
        wanted=lambda x, eps: x / np.sqrt((x * x).sum(1, keepdims=True) + eps),
        scalars=EPS,
        memory_bound=True,
    ),
)
