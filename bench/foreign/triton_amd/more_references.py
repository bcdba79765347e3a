"""What the kernels of ``more_kernels.py`` should compute, in NumPy."""

import numpy as np
from references import _nibbles, _scale, softmax


def rmsnorm_residual(x, residual, weight):
    kept = x.astype(np.float64) + residual
    return {
        "kept": kept,
        "out": kept / np.sqrt((kept**2).mean(1, keepdims=True) + 1e-5) * weight,
    }


def layernorm_backward(x, weight, dout, dw, lock):
    x = x.astype(np.float64)
    scale = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    normal = (x - x.mean(1, keepdims=True)) * scale
    g = dout * weight
    dx = (g - normal * (normal * g).mean(1, keepdims=True) - g.mean(1, keepdims=True)) * scale
    return {"dx": dx, "dw": dw + (normal * dout).sum(0)}


def _scores(q, k):
    return q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) * q.shape[-1] ** -0.5


def attention_with_lse(q, k, v):
    k, v = (np.repeat(x, q.shape[0] // k.shape[0], axis=0) for x in (k, v))
    score = _scores(q, k)
    top = score.max(-1, keepdims=True)
    total = np.exp(score - top).sum(-1, keepdims=True)
    return {
        "out": np.exp(score - top) / total @ v.astype(np.float64),
        "lse": (top + np.log(total))[..., 0],
    }


def _backward(q, k, v, dout, lse, delta):
    p = np.exp(_scores(q, k) - lse[:, None])
    ds = p * (dout.astype(np.float64) @ v.astype(np.float64).T - delta[:, None])
    return p, ds * q.shape[1] ** -0.5


def attention_dkdv(q, k, v, dout, lse, delta):
    p, ds = _backward(q, k, v, dout, lse, delta)
    return {"dk": ds.T @ q, "dv": p.T @ dout}


def attention_dq(q, k, v, dout, lse, delta):
    return _backward(q, k, v, dout, lse, delta)[1] @ k


def decode_paged(q, k, v, pages):
    at = (pages[:, None] * 32 + np.arange(32)).ravel()[:80].astype(int)
    return softmax(_scores(q, k[at])) @ v[at]


def split_k_semaphore(a, b, partial, count):
    return {"c": a.astype(np.float64) @ b.astype(np.float64)}


def grid_turns(x, out, turn):
    total = out.astype(np.float64)
    for row in x.reshape(-1, out.size):
        total = total * 2 + row
    return {"out": total}


def look_back(x, sums, flags):
    return {"out": np.cumsum(x.astype(np.float64))}


def grouped_gemm(a, b, starts):
    starts = starts.astype(int)
    parts = [a[starts[g] : starts[g + 1]].astype(np.float64) @ b[g] for g in range(b.shape[0])]
    return np.concatenate(parts)


def int4_gemm(a, b, scale):
    b = b.astype(np.uint8)
    both = np.stack([b & 15, b >> 4], 1).reshape(-1, b.shape[1]).astype(np.float64) - 8
    return a.astype(np.float64) @ (both * np.repeat(scale, 64, axis=0))


def gemm_bias_gelu(a, b, bias):
    from math import erf

    x = a.astype(np.float64) @ b.astype(np.float64) + bias
    return x * 0.5 * (1 + np.vectorize(erf)(x * 2**-0.5))


def swiglu(x):
    half = x.shape[1] // 2
    gate, up = x[:, :half].astype(np.float64), x[:, half:]
    return gate / (1 + np.exp(-gate)) * up


def rope(x, cos, sin):
    a, b = x[:, 0::2], x[:, 1::2]
    return np.stack([a * cos - b * sin, a * sin + b * cos], 2).reshape(x.shape)


def cross_entropy(x, target):
    x = x.astype(np.float64)
    top = x.max(1)
    picked = x[np.arange(x.shape[0]), target.astype(int)]
    return top + np.log(np.exp(x - top[:, None]).sum(1)) - picked


def quantize_rows(x):
    s = np.abs(x).max(1, keepdims=True).astype(np.float64) / 127
    return {"scale": s[:, 0]}


def welford(x):
    x = x.astype(np.float64)
    return {"mean": x.mean(1), "variance": x.var(1)}


def recurrence(a, b):
    y = np.zeros_like(b, np.float64)
    state = np.zeros(b.shape[0])
    for i in range(b.shape[1]):
        state = state * a[:, i] + b[:, i]
        y[:, i] = state
    return y


def recurrence_back(a, b):
    return recurrence(a[:, ::-1], b[:, ::-1])[:, ::-1]


def scan_columns(x):
    return np.cumsum(x.astype(np.float64), 0)


def top_four(x):
    return -np.sort(-x, 1)[:, :4]


def smallest(x):
    return x.argmin(1)


def shuffled(x, index):
    return np.take_along_axis(x, index.astype(int), 1)


def reversed_rows(x):
    return x[:, ::-1]


def batched_dot(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def depthwise(x, weight):
    taps = weight.shape[1]
    wide = np.pad(x.astype(np.float64), ((0, 0), (taps - 1, 0)))
    return sum(wide[:, t : t + x.shape[1]] * weight[:, t : t + 1] for t in range(taps))


def escape(x):
    z, steps = np.zeros_like(x), np.zeros(x.shape, int)
    for _ in range(20):
        alive = np.abs(z) < 2
        z = np.where(alive, z * z + x, z)
        steps += alive
    return steps


def histogram_private(x, out):
    return out + np.bincount(x.astype(int), minlength=out.size)


def scatter_add(x, index, out):
    total = out.astype(np.float64)
    np.add.at(total, index.astype(int), x)
    return total


def extremes(x, low, high):
    least, most = low.copy(), high.copy()
    np.minimum.at(least, np.arange(x.size) % 16, x)
    np.maximum.at(most, np.arange(x.size) % 16, x)
    return {"low": least, "high": most}


def scaled_mixed(a, sa, b):
    return (_nibbles(a) * _scale(sa)) @ b.astype(np.float64)


def variance_two_pass(x):
    return x.astype(np.float64).var(1)


def xor_rows(x):
    return np.bitwise_xor.reduce(x.astype(np.int64), axis=1)
