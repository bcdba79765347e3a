"""Two products of one tile, joined: ``act(x @ gate.T) * (x @ up.T)``, SwiGLU with silu."""

from warploom.frontend import language as wl
from warploom.kernels.declaration import Function, Shipped, halves
from warploom.kernels.measured import PRODUCTS, by_sizes


@wl.kernel
def swiglu(
    x: wl.In["m", "k"],
    gate: wl.In["n", "k"],
    up: wl.In["n", "k"],
    out: wl.Out["m", "n"],
    *,
    activation=wl.silu,
):
    m, n = wl.tile(out)
    g, u = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k):
        a = x[m, k]
        g += a @ gate[n, k].T
        u += a @ up[n, k].T
    out[m, n] = activation(g) * u


SHIPPED = (
    Shipped(
        kernel=swiglu,
        function=Function(name="swiglu", module="warploom.runtime.fused"),
        element_types=halves,
        summed="k",
        measured=by_sizes(PRODUCTS["swiglu"]),
    ),
)
