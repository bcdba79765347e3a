"""``(x / rms(x)) @ w.T``: the row statistic is made of the tiles the product loads anyway."""

from warploom.frontend import language as wl
from warploom.kernels.declaration import Function, Shipped, halves


@wl.kernel
def rms_gemm(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"], *, eps: float):
    m, n = wl.tile(out)
    acc, squares = wl.zeros(m, n), wl.zeros(m)
    for k in wl.steps(x.k):
        a = x[m, k]
        acc += a @ w[n, k].T
        squares += (a.to(wl.f32) * a).sum(axis=1)
    out[m, n] = acc * wl.rsqrt(squares / x.k + eps)


SHIPPED = (Shipped(kernel=rms_gemm, function=Function(name="rms_gemm"), element_types=halves),)
