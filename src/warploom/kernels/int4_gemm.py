"""Weights of 4 or 8 bits times activations of 16: converted on the way to the tensor cores.

Weights are rows of the products, so that they need not pass through shared memory again, and few
activations waste nothing: products have 64 rows at least, but 16 columns. Scales belong to 128
neighbours of a row and are applied to sums of that many products.
"""

from collections.abc import Mapping

from warploom.frontend import language as wl
from warploom.frontend.signature import Signature
from warploom.ir.tile import DType
from warploom.kernels.declaration import HALVES, Function, Shipped
from warploom.kernels.measured import PRODUCTS, by_sizes


@wl.kernel
def int4_gemm(
    x: wl.In["m", "k"],
    w: wl.In["n", "k/2", wl.i8],
    scale: wl.In["k/128", "n", wl.f32],
    out: wl.Out["m", "n"],
):
    """Activations of 16 bits times weights of 4 bits with group scales."""
    m, n = wl.tile(out)
    acc = wl.zeros(n, m)
    for k in wl.steps(x.k, 128):
        number = (w[n, k] >> 4 * (wl.index(k) % 2)) & 15  # two in a byte, the first in its low half
        acc += ((number - 8).to(x.dtype) @ x[m, k].T) * scale[k, n]
    out[m, n] = acc.T


@wl.kernel
def fp8_gemm(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    scale: wl.In["k/128", "n", wl.f32],
    out: wl.Out["m", "n"],
):
    """Activations of 16 bits times weights of 8 bits."""
    m, n = wl.tile(out)
    acc = wl.zeros(n, m)
    for k in wl.steps(x.k, 128):
        acc += (w[n, k].to(x.dtype) @ x[m, k].T) * scale[k, n]
    out[m, n] = acc.T


def quantised(signature: Signature, given: Mapping[str, DType]) -> str:
    """Activations of 16 bits, weights of 4 or 8, scales of 32."""
    fits = given["x"] in HALVES and given["scale"] is DType.F32
    fits = fits and given["w"] in (DType.I8, DType.E4M3, DType.E5M2)
    return "" if fits else "x bf16 or fp16, w int8 (two numbers a byte) or fp8, scale float32"


FUNCTION = Function(name="gemm_quantised", module="warploom.runtime.fused")
SHIPPED = (
    Shipped(
        kernel=int4_gemm,
        function=FUNCTION,
        element_types=quantised,
        caller_axes={"scale": ("n", "k")},
        summed="k",
        measured=by_sizes(PRODUCTS["int4_gemm"]),
    ),
    Shipped(
        kernel=fp8_gemm,
        function=FUNCTION,
        types={"w": DType.E4M3},
        element_types=quantised,
        caller_axes={"scale": ("n", "k")},
        summed="k",
        measured=by_sizes(PRODUCTS["fp8_gemm"]),
    ),
)
