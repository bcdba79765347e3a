"""Products of fp8 tiles with a scale for each block of 128 columns (and rows, for the weights)."""

from collections.abc import Mapping

from warploom.frontend import language as wl
from warploom.frontend.signature import Signature
from warploom.ir.tile import DType
from warploom.kernels.declaration import Function, Shipped
from warploom.kernels.measured import PRODUCTS, by_sizes


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


def fp8_with_scales(signature: Signature, given: Mapping[str, DType]) -> str:
    """Operands of fp8, each followed by its float32 scales."""
    kinds = list(given.values())
    fits = kinds[0] == kinds[2] == DType.E4M3 and kinds[1] == kinds[3] == DType.F32
    return "" if fits else "fp8 (e4m3) operands with float32 scales"


FUNCTION = Function(name="gemm_block_scaled", module="warploom.runtime.fused")
CALLED = {"sa": "scale_a", "sb": "scale_b"}
SHIPPED = (
    Shipped(
        kernel=block_scaled,
        function=FUNCTION,
        dtype="fp8",
        element_types=fp8_with_scales,
        caller_axes={"sa": ("m", "k")},
        called=CALLED,
        summed="k",
        measured=by_sizes(PRODUCTS["block_scaled"]),
    ),
    Shipped(
        kernel=block_scaled_pair,
        function=FUNCTION,
        dtype="fp8",
        sizes={"half": 2},
        element_types=fp8_with_scales,
        caller_axes={"sa": ("m", "k")},
        called=CALLED,
        summed="k",
        measured=by_sizes(PRODUCTS["block_scaled_pair"]),
    ),
)
