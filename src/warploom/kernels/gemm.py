"""``activation(alpha * a @ b.T + bias) + residual``, each part only where it is asked for."""

from warploom.kernel import language as wl


@wl.kernel
def gemm(
    a: wl.In["m", "k"],
    b: wl.In["n", "k"],
    out: wl.Out["m", "n"],
    bias: wl.In["n"] = None,
    residual: wl.In["m", "n"] = None,
    *,
    alpha: float = 1.0,
    activation=None,
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[n, k].T
    x = acc * alpha
    if bias is not None:
        x = x + bias[n]
    if activation is not None:
        x = activation(x)
    if residual is not None:
        x = x + residual[m, n]
    out[m, n] = x
