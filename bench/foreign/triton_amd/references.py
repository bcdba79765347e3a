"""What the kernels should compute, in NumPy."""

import numpy as np


def add(x, y):
    return x + y


def identity(x):
    return x


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layernorm(x, weight, bias):
    x = x.astype(np.float64)
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * weight + bias


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def product_transposed(a, b):
    return a.astype(np.float64) @ b.astype(np.float64).T


def split_product(a, b, c):
    return c + product(a, b)


def _scale(codes):
    return np.exp2(codes.astype(np.float64) - 127).repeat(32, axis=1)


def scaled_product(a, sa, b, sb):
    return (a * _scale(sa)) @ (b * _scale(sb)).T


def _nibbles(codes):
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    table = np.concatenate([table, -table])
    codes = codes.astype(np.uint8)
    return table[np.stack([codes & 15, codes >> 4], axis=-1).reshape(codes.shape[0], -1)]


def scaled_product4(a, sa, b, sb):
    return (_nibbles(a) * _scale(sa)) @ (_nibbles(b) * _scale(sb)).T


def attention(q, k, v, *, causal=False):
    score = q.astype(np.float64) @ k.astype(np.float64).T * q.shape[1] ** -0.5
    if causal:
        score = np.where(np.tril(np.ones_like(score)) > 0, score, -np.inf)
    return softmax(score) @ v


def attention_causal(q, k, v):
    return attention(q, k, v, causal=True)


def row_sum(x):
    return x.sum(1, dtype=np.float64)


def column_sum(x):
    return x.sum(0, dtype=np.float64)


def argmax(x):
    return x.argmax(1)


def scan(x):
    return np.cumsum(x.astype(np.float64), axis=1)


def histogram(x, out):
    return out + np.bincount(x.astype(np.int64), minlength=out.size)


def total(x, out):
    return out + x.sum(dtype=np.float64)


def largest(x, out):
    return np.maximum(out, x.max())


def ticket(x, partial, count):
    return {"out": x.sum(dtype=np.float64)}


def transpose(x):
    return x.T


def sort(x):
    return np.sort(x, axis=1)


def gelu(x):
    from math import erf

    return 0.5 * x * (1 + np.vectorize(erf)(x * 0.70710678))


def gather(x, index):
    return x[index.astype(np.int64)]
