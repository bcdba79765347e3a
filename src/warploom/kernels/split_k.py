"""Split-K: parts of K for workgroups of their own, added in a fixed order by a second kernel.

A product with few tiles and a long K leaves a chip idle. ``split_product`` gives one sum for each
part of ``share`` elements of K, ``summed_parts`` their sum in the order of their numbers: the
result does not depend on timing. For MI355X; on Hopper calls split K by themselves, and
``split_product`` is refused there, since its copies cannot end inside a row.
"""

from warploom.frontend import language as wl
from warploom.kernels.declaration import Function, Shipped


@wl.kernel
def split_product(
    a: wl.In["m", "k"],
    b: wl.In["n", "k"],
    parts: wl.Out["p", "m", "n", wl.f32],
    *,
    share: int,
):
    """One part of K for each p, from p * share on."""
    p, m, n = wl.tile(parts)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k, start=p * share, until=(p + 1) * share):
        acc += a[m, k] @ b[n, k].T
    parts[p, m, n] = acc


@wl.kernel
def summed_parts(parts: wl.In["p", "m", "n", wl.f32], out: wl.Out["m", "n"]):
    """The parts of a product, added in the order of their numbers."""
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for p in wl.steps(parts.p, 1):
        acc += parts[p, m, n]
    out[m, n] = acc


FUNCTION = Function(name="split_k_gemm", module="warploom.gfx950")
SHIPPED = (
    Shipped(kernel=split_product, function=FUNCTION, target="mi355x"),
    Shipped(kernel=summed_parts, function=FUNCTION, target="mi355x"),
)
