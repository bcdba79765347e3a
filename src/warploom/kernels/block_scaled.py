"""Products of fp8 tiles with a scale for each block of 128 columns (and rows, for the weights)."""

from warploom.frontend import language as wl


@wl.kernel
def block_scaled(
    a: wl.In["m", "k"],
    sa: wl.In["k/128", "m", wl.f32],
    b: wl.In["n", "k"],
    sb: wl.In["n/128", "k/128", wl.f32],
    out: wl.Out["m", "n"],
):
    """fp8 product with a scale for each block of 128 columns."""
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k, 128):
        acc += (a[m, k] @ b[n, k].T) * (sa[k, m] * sb[n, k])
    out[m, n] = acc


# Columns of both halves of the weights in one tile: rows are fetched once for both.
@wl.kernel
def block_scaled_pair(
    a: wl.In["m", "k"],
    sa: wl.In["k/128", "m", wl.f32],
    b: wl.In["half", "n", "k"],
    sb: wl.In["half", "n/128", "k/128", wl.f32],
    out: wl.Out["m", "half", "n"],
):
    """The same; a tile lies in both halves of the weights' columns."""
    m, n = wl.tile("m", "n")
    left, right = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(a.k, 128):
        x, s = a[m, k], sa[k, m]
        left += (x @ b[0, n, k].T) * (s * sb[0, n, k])
        right += (x @ b[1, n, k].T) * (s * sb[1, n, k])
    out[m, 0, n] = left
    out[m, 1, n] = right
