"""Products of fp8 tiles with a scale for each block of 128 columns (and rows, for the weights)."""

from warploom.kernel import language as wl


@wl.kernel
def block_scaled(
    a: wl.In["m", "k"],
    sa: wl.In["k/128", "m", wl.f32],
    b: wl.In["n", "k"],
    sb: wl.In["n/128", "k/128", wl.f32],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k, 128):
        acc += (a[m, k] @ b[n, k].T) * (sa[k, m] * sb[n, k])
    out[m, n] = acc
