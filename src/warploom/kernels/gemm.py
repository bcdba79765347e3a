"""``activation(alpha * a @ b.T + bias) + residual``, each part only where it is asked for.

``turned`` is the same with the roles of the operands exchanged: rows of products are columns of the
result. For few rows it wastes nothing: products have 64 rows at least, but 16 columns.
"""

from warploom.frontend import language as wl
from warploom.kernels.declaration import Function, Shipped


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
    """activation(alpha * a @ b.T + bias) + residual, each part where it is asked for."""
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


@wl.kernel
def turned(
    a: wl.In["m", "k"],
    b: wl.In["n", "k"],
    out: wl.Out["m", "n"],
    bias: wl.In["n"] = None,
    residual: wl.In["m", "n"] = None,
    *,
    alpha: float = 1.0,
    activation=None,
):
    """The same product with its output tile transposed: few rows fill the tensor cores."""
    m, n = wl.tile(out)
    acc = wl.zeros(n, m)
    for k in wl.steps(a.k):
        acc += b[n, k] @ a[m, k].T
    x = acc * alpha
    if bias is not None:
        x = x + bias[n]
    if activation is not None:
        x = activation(x)
    if residual is not None:
        x = x + residual[m, n].T
    out[m, n] = x.T


FUNCTION = Function(name="gemm", module="warploom.runtime.gemm")
SHIPPED = (
    Shipped(kernel=gemm, function=FUNCTION, caller_axes={"b": ("k", "n")}, summed="k"),
    Shipped(kernel=turned, function=FUNCTION),
)
