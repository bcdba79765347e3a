"""Experts: rows of group e are multiplied by the weights of e; group sizes are on the device."""

from warploom.kernel import language as wl


@wl.kernel
def grouped(
    x: wl.In["t", "k"], w: wl.In["e", "n", "k"], starts: wl.Starts["e"], out: wl.Out["t", "n"]
):
    e, t, n = wl.tile(out, groups=starts)
    acc = wl.zeros(t, n)
    for k in wl.steps(x.k):
        acc += x[t, k] @ w[e, n, k].T
    out[t, n] = acc
