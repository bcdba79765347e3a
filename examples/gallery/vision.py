"""Images: convolutions, pooling, resampling."""

import numpy as np
from examples.gallery.case import Case, normal

import warploom as wl


@wl.kernel
def upsample(x: wl.In["c", "h", "w"], out: wl.Out["c", "y", "z"]):
    c, y, z = wl.tile(out)
    fy = wl.maximum((wl.index(y) + 0.5) * (x.h / out.y) - 0.5, 0.0)
    fx = wl.maximum((wl.index(z) + 0.5) * (x.w / out.z) - 0.5, 0.0)
    y0, x0 = fy.to(wl.i32), fx.to(wl.i32)
    y1, x1 = wl.minimum(y0 + 1, x.h - 1), wl.minimum(x0 + 1, x.w - 1)
    ay, ax = fy - y0, fx - x0
    top = x[c, y0, x0] * (1.0 - ax) + x[c, y0, x1] * ax
    low = x[c, y1, x0] * (1.0 - ax) + x[c, y1, x1] * ax
    out[c, y, z] = top * (1.0 - ay) + low * ay


def upsample_wanted(x):
    h, w = x.shape[1:]
    height, width = 2 * h + 1, 2 * w - 1
    fy = np.maximum((np.arange(height) + 0.5) * (h / height) - 0.5, 0)
    fx = np.maximum((np.arange(width) + 0.5) * (w / width) - 0.5, 0)
    y0, x0 = fy.astype(int), fx.astype(int)
    y1, x1 = np.minimum(y0 + 1, h - 1), np.minimum(x0 + 1, w - 1)
    ay, ax = (fy - y0)[:, None], fx - x0
    return (x[:, y0][:, :, x0] * (1 - ax) + x[:, y0][:, :, x1] * ax) * (1 - ay) + (
        x[:, y1][:, :, x0] * (1 - ax) + x[:, y1][:, :, x1] * ax
    ) * ay


@wl.kernel
def depthwise(
    x: wl.In["b", "h", "w", "c"],
    k: wl.In["r", "s", "c"],
    bias: wl.In["c"],
    out: wl.Out["b", "p", "q", "c"],
    *,
    stride=2,
    pad=1,
):
    b, p, q, c = wl.tile(out)
    acc = wl.zeros(q, c) + bias[c]
    for r in range(3):
        for s in range(3):
            acc += x[b, p * stride + r - pad, wl.index(q) * stride + s - pad, c] * k[r, s, c]
    out[b, p, q, c] = wl.silu(acc)


def depthwise_wanted(x, k, bias):
    b, h, w, c = x.shape
    rows, columns = (h + 1) // 2, (w + 1) // 2
    xp = np.zeros((b, h + 4, w + 4, c))
    xp[:, 1 : h + 1, 1 : w + 1] = x
    o = np.zeros((b, rows, columns, c)) + bias
    for r in range(3):
        for s in range(3):
            o += xp[:, r : r + 2 * rows : 2, s : s + 2 * columns : 2] * k[r, s]
    return o / (1 + np.exp(-o))


@wl.kernel
def max_pool(
    x: wl.In["c", "h", "w"], out: wl.Out["c", "p", "q"], where: wl.Out["c", "p", "q", wl.i32]
):
    c, p, q = wl.tile(out)
    best, at = wl.full((p, q), -wl.inf), wl.zeros(p, q, dtype=wl.i32)
    for r in range(2):
        for s in range(2):
            i, j = wl.index(p) * 2 + r, wl.index(q) * 2 + s
            v = x[c, i, j]
            at = wl.where(v > best, i * x.w + j, at)
            best = wl.maximum(best, v)
    out[c, p, q] = best
    where[c, p, q] = at


def max_pool_wanted(x):
    c, h, w = x.shape
    rows, columns = h // 2, w // 2
    o = (
        x[:, : 2 * rows, : 2 * columns]
        .reshape(c, rows, 2, columns, 2)
        .transpose(0, 1, 3, 2, 4)
        .reshape(c, rows, columns, 4)
    )
    a = o.argmax(-1)
    i = np.arange(rows)[:, None] * 2 + a // 2
    j = np.arange(columns) * 2 + a % 2
    return o.max(-1), i * w + j


@wl.kernel
def im2col(
    x: wl.In["b", "h", "w", "c"], out: wl.Out["b", "p", "q", "t", "c"], *, kernel=3, stride=2, pad=1
):
    b, p, q, t, c = wl.tile(out)
    i = wl.index(t)
    out[b, p, q, t, c] = x[b, p * stride + i // kernel - pad, q * stride + i % kernel - pad, c]


def im2col_wanted(x):
    b, h, w, c = x.shape
    rows, columns = (h + 1) // 2, (w + 1) // 2
    xp = np.zeros((b, h + 4, w + 4, c))
    xp[:, 1 : h + 1, 1 : w + 1] = x
    return np.stack(
        [xp[:, r : r + 2 * rows : 2, s : s + 2 * columns : 2] for r in range(3) for s in range(3)],
        3,
    )


@wl.kernel
def conv3x3_stride2(
    x: wl.In["b", "h", "w", "c"],
    f: wl.In["r", "s", "o", "c"],
    bias: wl.In["o"],
    out: wl.Out["b", "p", "q", "o"],
):
    b, p, q, o = wl.tile(out)
    acc = wl.zeros(q, o)
    for c in wl.steps(x.c):
        for r in range(3):
            for s in range(3):
                acc += x[b, p * 2 + r - 1, wl.index(q) * 2 + s - 1, c] @ f[r, s, o, c].T
    out[b, p, q, o] = wl.relu(acc + bias[o])


def conv3x3_stride2_wanted(x, f, bias):
    b, h, w, c = x.shape
    rows, columns = (h + 1) // 2, (w + 1) // 2
    xp = np.zeros((b, h + 4, w + 4, c))
    xp[:, 1 : h + 1, 1 : w + 1] = x
    o = np.zeros((b, rows, columns, f.shape[2]))
    for r in range(3):
        for s in range(3):
            o += xp[:, r : r + 2 * rows : 2, s : s + 2 * columns : 2] @ f[r, s].T
    return np.maximum(o + bias, 0)


CASES = (
    Case(
        kernel=upsample,
        make=lambda rng: {"x": normal(rng, 3, 9, 14)},
        wanted=upsample_wanted,
        sizes={"y": 19, "z": 27},
        types="f32",
    ),
    Case(
        kernel=depthwise,
        make=lambda rng: {
            "x": normal(rng, 2, 9, 7, 20),
            "k": normal(rng, 3, 3, 20),
            "bias": normal(rng, 20),
        },
        wanted=depthwise_wanted,
        sizes={"p": 5, "q": 4},
    ),
    Case(
        kernel=max_pool,
        make=lambda rng: {"x": normal(rng, 3, 9, 14)},
        wanted=max_pool_wanted,
        sizes={"p": 4, "q": 7},
        types="f32",
        tolerance=0,
    ),
    Case(
        kernel=im2col,
        make=lambda rng: {"x": normal(rng, 2, 9, 7, 20)},
        wanted=im2col_wanted,
        sizes={"p": 5, "q": 4, "t": 9},
        tolerance=0,
    ),
    Case(
        kernel=conv3x3_stride2,
        make=lambda rng: {
            "x": normal(rng, 2, 9, 11, 40),
            "f": normal(rng, 3, 3, 24, 40, scale=0.2),
            "bias": normal(rng, 24),
        },
        wanted=conv3x3_stride2_wanted,
        sizes={"p": 5, "q": 6},
    ),
)
