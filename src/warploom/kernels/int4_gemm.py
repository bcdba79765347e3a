"""Weights of 4 or 8 bits times activations of 16: converted on the way to the tensor cores.

Weights are rows of the products, so that they need not pass through shared memory again, and few
activations waste nothing: products have 64 rows at least, but 16 columns. Scales belong to 128
neighbours of a row and are applied to sums of that many products.
"""

from warploom.frontend import language as wl


@wl.kernel
def int4_gemm(
    x: wl.In["m", "k"],
    w: wl.In["n", "k/2", wl.i8],
    scale: wl.In["k/128", "n", wl.f32],
    out: wl.Out["m", "n"],
):
    """Activations of 16 bits times weights of 4 bits with group scales."""
    m, n = wl.tile(out)
    acc = wl.zeros(n, m)
    for k in wl.steps(x.k, 128):
        number = (w[n, k] >> 4 * (wl.index(k) % 2)) & 15  # two in a byte, the first in its low half
        acc += ((number - 8).to(x.dtype) @ x[m, k].T) * scale[k, n]
    out[m, n] = acc.T


@wl.kernel
def fp8_gemm(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    scale: wl.In["k/128", "n", wl.f32],
    out: wl.Out["m", "n"],
):
    """Activations of 16 bits times weights of 8 bits."""
    m, n = wl.tile(out)
    acc = wl.zeros(n, m)
    for k in wl.steps(x.k, 128):
        acc += (w[n, k].to(x.dtype) @ x[m, k].T) * scale[k, n]
    out[m, n] = acc.T
