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


def functions(x):
    x = x.astype(np.float64)
    v = np.sin(x) + np.cos(3 * x) + np.log(1 + x * x) + np.sqrt(np.abs(x))
    return v + 1 / np.sqrt(1 + v * v) + np.floor(v * 4) + np.ceil(v) + np.exp2(v)


def wide_integers(x):
    v = x.astype(np.int64)
    return (v * 1000003 + 12345678901) // (v + 7) % 1000 + (v // 3) % 5


def bin_counts(x):
    return np.bincount(x.astype(np.int64), minlength=32)


def locked_sum(x, out, lock):
    return {"out": out + x.sum(0, dtype=np.float64)}


def running_maximum(x):
    return np.maximum.accumulate(x, axis=1)


def chained(a, b, c):
    return (a.astype(np.float64) @ b * 0.125) @ c


# The kernels of clang_amd/kernels.c.

_MASK = (1 << 32) - 1


def _u32(values):
    return np.asarray([int(v) & _MASK for v in values], np.float64)


def c_tree_sum(x):
    return x.reshape(2, 256).sum(1, dtype=np.float64)


def c_reverse_block(x):
    return x[::-1]


def c_transpose16(x):
    return x.reshape(16, 16).T.ravel()


def c_histogram(x, out):
    return out + np.bincount(x.astype(np.int64) & 63, minlength=64)


def c_block_scan(x):
    return np.cumsum(x, dtype=np.float64)


def c_collatz(x):
    def steps(v):
        n = 0
        while v != 1:
            v, n = (3 * v + 1 if v & 1 else v // 2), n + 1
        return n

    return _u32(steps(int(v) + 1) for v in x)


def c_choose(x):
    def one(v):
        return [
            lambda: v * 3, lambda: v // 7, lambda: v % 11, lambda: v << (v & 15),
            v.bit_count, lambda: 32 - v.bit_length(),
            lambda: int(f"{v:032b}"[::-1], 2),
            lambda: int.from_bytes(v.to_bytes(4, "little"), "big"),
        ][v & 7]()  # fmt: skip

    return _u32(one(int(v)) for v in x)


def c_wide(x):
    x = [int(v) for v in x]
    found = []
    for t in range(256):
        a, b = (x[t] << 32) | x[t ^ 1], x[t ^ 2] + 3
        p = (a * b + (a >> 7) - (b << 9)) & ((1 << 64) - 1)
        found += [a // b, (a // b) >> 32, a % b, p ^ (p >> 32)]
    return _u32(found)


def c_divisions(x):
    other = x[np.arange(256) ^ 5].astype(np.float64)
    return x / (other * other + 1) + np.abs(x)


def c_doubles(x):
    a, b = x.astype(np.float64), x[np.arange(256) ^ 3].astype(np.float64)
    c = a * b + a / (b * b + 2) + np.floor(a * 8) * 0.125
    return np.where(c > 0.5, np.sqrt(np.abs(c)), c + np.trunc(b * 100))


def c_halves(x):
    a = x.astype(np.float16).reshape(256, 2)
    b = a[np.arange(256) ^ 1]
    return np.maximum(a * b + a, b - a).ravel()


def c_private_array(x):
    x = [int(v) for v in x]
    found = []
    for t in range(256):
        held = [0] * 16
        for i in range(16):
            held[(i * 5 + x[t]) & 15] = x[(t + i) & 255]
        s = 0
        for i in range(16):
            s = (s * 31 + held[(x[t ^ i] + i) & 15]) & _MASK
        found.append(s)
    return _u32(found)


def c_calls(x):
    x = [int(v) for v in x]
    found = []
    for t in range(256):
        v = x[t]
        for i in range((x[0] & 7) + 2):
            b = x[(t + i) & 255]
            v = ((v ^ (b >> 3)) * 2654435761 + b) & _MASK
        found.append(v)
    return _u32(found)


def c_table(x):
    primes = np.array([2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53])
    return primes[x.astype(np.int64) & 15] * 2


def _waves(x):
    return x.astype(np.int64).reshape(-1, 64)


def c_bpermute(x):
    lane = np.arange(64)
    v = _waves(x)
    a = v[:, (lane * 7 + 3) & 63]
    b = np.zeros_like(v)
    b[:, (lane + 5) & 63] = v
    c = v[:, lane ^ 1]
    return _u32((a + 3 * b + 5 * c).ravel())


def c_dpp_sum(x):
    return _u32(np.cumsum(_waves(x), axis=1).ravel())


def c_ballot(x):
    v = _waves(x)
    odd = v & 1
    before = np.cumsum(odd, axis=1) - odd
    return _u32((odd.sum(1, keepdims=True) + before * 100 + v[:, :1] * 7 + v[:, 17:18]).ravel())


def c_bits(x):
    x = [int(v) for v in x]
    found = []
    for t in range(256):
        a, b, c = x[t], x[t ^ 1], x[t ^ 2]
        both = (a << 32) | b
        pick = [both >> 8 * s & 255 for s in (0, 5, 2, 7)]
        r = sum(p << 8 * i for i, p in enumerate(pick)) + (both >> (c & 31) & _MASK)
        field = (b >> 3) & 127
        field = field - 128 if field & 64 else field
        lerp = 0
        for i in range(4):
            s = (a >> 8 * i & 255) + (b >> 8 * i & 255) + (c >> 8 * i & 1)
            lerp |= (s >> 1 & 255) << 8 * i
        r = (r & _MASK) ^ ((a >> 5 & 511) + field + lerp & _MASK)
        sad = sum(abs((a >> 8 * i & 255) - (b >> 8 * i & 255)) for i in range(4)) + c
        r += sad + (a & b | c) + (a ^ b ^ c) + ((a << 4) + b) + (a + b + c)
        found.append(r)
    return _u32(found)


def c_mfma_chain(x):
    a, b = x.reshape(2, 4, 4, 16).astype(np.float64)  # [step, k, row]
    return np.einsum("ikm,ikn->mn", a, b).ravel()


def c_to_lds(x):
    return x[np.arange(256) ^ 21][::-1]


def c_bytes(x):
    x = x.astype(np.int64)
    signed = np.where(x > 127, x - 256, x)
    third = np.sign(signed) * (np.abs(signed) // 3)
    return (np.abs(x * 3 - 200) + third) & 255


def c_last_group(x, part, count):
    return {"out": x.sum(dtype=np.float64)}


def c_early_exit(x):
    return x[np.arange(128) ^ 64]


c_fp8 = None  # the rounding has a test of its own
