"""A kernel with two loops, the second with a product: imported, or written into a file."""

import warploom as wl


@wl.kernel
def two_loops(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    most = wl.full(m, -1e30)
    for k in wl.steps(x.k):
        most = wl.maximum(most, x[m, k].to(wl.f32).max(axis=1))
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc - most
