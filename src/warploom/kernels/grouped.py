"""Experts: rows of group e are multiplied by the weights of e; group sizes are on the device.

``grouped`` is the forward product, ``grouped_input`` the gradient of its rows (weights as they lie,
from the other side), ``grouped_weights`` that of its weights, ``grouped_swiglu`` two forward
products joined. ``grouped_gathered`` and ``gathered_swiglu`` pick their rows by number,
``picked_rows`` copies them beforehand,
``grouped_scattered`` adds weighed rows to those of the tokens they belong to, ``grouped_scaled`` is
fp8 with a scale for each 128 columns of a row and each 128 x 128 block of weights.
"""

from collections.abc import Mapping

from warploom.frontend import language as wl
from warploom.frontend.signature import Signature
from warploom.ir.tile import DType
from warploom.kernels.block_scaled import FUNCTION as SCALED, fp8_with_scales
from warploom.kernels.declaration import HALVES, Function, Shipped, halves
from warploom.kernels.measured import PRODUCTS, by_sizes


@wl.kernel
def grouped(
    x: wl.In["t", "k"], w: wl.In["e", "n", "k"], starts: wl.Starts["e"], out: wl.Out["t", "n"]
):
    """Mixture of experts: rows of group e times the weights of e."""
    e, t, n = wl.tile(out, groups=starts)
    acc = wl.zeros(t, n)
    for k in wl.steps(x.k):
        acc += x[t, k] @ w[e, n, k].T
    out[t, n] = acc


@wl.kernel
def grouped_gathered(
    x: wl.In["s", "k"],
    w: wl.In["e", "n", "k"],
    starts: wl.Starts["e"],
    tokens: wl.In["t", wl.i32],
    out: wl.Out["t", "n"],
):
    """Grouped product of gathered rows."""
    e, t, n = wl.tile(out, groups=starts)
    acc = wl.zeros(t, n)
    for k in wl.steps(x.k):
        acc += x[tokens[t], k] @ w[e, n, k].T
    out[t, n] = acc


@wl.kernel
def picked_rows(x: wl.In["s", "j", "u"], tokens: wl.In["t", wl.i32], out: wl.Out["t", "j", "u"]):
    t, j = wl.tile(out, whole="u")
    out[t, j] = x[tokens[t], j]


@wl.kernel
def grouped_input(
    x: wl.In["t", "k"], w: wl.In["e", "k", "n"], starts: wl.Starts["e"], out: wl.Out["t", "n"]
):
    """Gradient of the grouped product for its rows."""
    e, t, n = wl.tile(out, groups=starts)
    acc = wl.zeros(t, n)
    for k in wl.steps(x.k):
        acc += x[t, k] @ w[e, k, n]
    out[t, n] = acc


@wl.kernel
def grouped_weights(
    y: wl.In["t", "n"], x: wl.In["t", "k"], starts: wl.Starts["e"], out: wl.Out["e", "n", "k"]
):
    """Gradient of the grouped product for its weights."""
    e, n, k = wl.tile(out)
    acc = wl.zeros(n, k)
    for t in wl.steps(y.t, start=starts[e], until=starts[e + 1]):
        acc += y[t, n].T @ x[t, k]
    out[e, n, k] = acc


@wl.kernel
def grouped_scattered(
    x: wl.In["t", "k"],
    w: wl.In["e", "n", "k"],
    starts: wl.Starts["e"],
    rows: wl.In["t", wl.i32],
    out: wl.Out["s", "n"],
    weight: wl.In["t", wl.f32] = None,
):
    """Grouped product whose rows are added to where an index says."""
    e, t, n = wl.tile("t", "n", groups=starts)
    acc = wl.zeros(t, n)
    for k in wl.steps(x.k):
        acc += x[t, k] @ w[e, n, k].T
    if weight is not None:
        acc = acc * weight[t]
    out[rows[t], n] += acc


@wl.kernel
def grouped_swiglu(
    x: wl.In["t", "k"],
    gate: wl.In["e", "n", "k"],
    up: wl.In["e", "n", "k"],
    starts: wl.Starts["e"],
    out: wl.Out["t", "n"],
    *,
    activation=wl.silu,
):
    """Grouped SwiGLU: two products of each group, joined."""
    e, t, n = wl.tile(out, groups=starts)
    g, u = wl.zeros(t, n), wl.zeros(t, n)
    for k in wl.steps(x.k):
        a = x[t, k]
        g += a @ gate[e, n, k].T
        u += a @ up[e, n, k].T
    out[t, n] = activation(g) * u


@wl.kernel
def gathered_swiglu(
    x: wl.In["s", "k"],
    gate: wl.In["e", "n", "k"],
    up: wl.In["e", "n", "k"],
    starts: wl.Starts["e"],
    tokens: wl.In["t", wl.i32],
    out: wl.Out["t", "n"],
    *,
    activation=wl.silu,
):
    """Grouped SwiGLU of gathered rows."""
    e, t, n = wl.tile(out, groups=starts)
    g, u = wl.zeros(t, n), wl.zeros(t, n)
    for k in wl.steps(x.k):
        a = x[tokens[t], k]
        g += a @ gate[e, n, k].T
        u += a @ up[e, n, k].T
    out[t, n] = activation(g) * u


@wl.kernel
def grouped_scaled(
    x: wl.In["t", "k"],
    sx: wl.In["k/128", "t", wl.f32],
    w: wl.In["e", "n", "k"],
    sw: wl.In["e", "n/128", "k/128", wl.f32],
    starts: wl.Starts["e"],
    out: wl.Out["t", "n"],
):
    """Grouped fp8 product with block scales."""
    e, t, n = wl.tile(out, groups=starts)
    acc = wl.zeros(t, n)
    for k in wl.steps(x.k, 128):
        acc += (x[t, k] @ w[e, n, k].T) * (sx[k, t] * sw[e, n, k])
    out[t, n] = acc


def scattered(signature: Signature, given: Mapping[str, DType]) -> str:
    """Operands of 16 bits; what is added to is float32 or of their type."""
    kinds = (given["rows"], given.get("weight", DType.F32))
    sums = given["out"] in (DType.F32, given["x"])
    if kinds == (DType.I32, DType.F32) and sums and given["x"] is given["w"]:
        return "" if given["x"] in HALVES else "x and w bf16 or fp16"
    return "x and w of one type, rows int32, weight float32, out float32 or the type of x"


FUNCTION = Function(name="grouped_gemm", module="warploom.runtime.fused")
GATED = {"gate": "w"}  # callers give the gate's weights as those of the product
SHIPPED = (
    Shipped(
        kernel=grouped,
        function=FUNCTION,
        element_types=halves,
        summed="k",
        measured=by_sizes(PRODUCTS["grouped"]),
    ),
    Shipped(
        kernel=grouped_gathered,
        function=FUNCTION,
        element_types=halves,
        summed="k",
        measured=by_sizes(PRODUCTS["grouped_gathered"]),
    ),
    Shipped(kernel=picked_rows, function=FUNCTION, listed=False, element_types=halves, summed="k"),
    Shipped(
        kernel=grouped_input,
        function=FUNCTION,
        element_types=halves,
        summed="k",
        measured=by_sizes(PRODUCTS["grouped_input"]),
    ),
    Shipped(
        kernel=grouped_weights,
        function=Function(name="grouped_gemm_weights", module="warploom.runtime.fused"),
        element_types=halves,
        summed="t",
        measured=by_sizes(PRODUCTS["grouped_weights"]),
    ),
    Shipped(
        kernel=grouped_scattered,
        function=FUNCTION,
        element_types=scattered,
        summed="k",
        measured=by_sizes(PRODUCTS["grouped_scattered"]),
    ),
    Shipped(
        kernel=grouped_swiglu, function=FUNCTION, element_types=halves, called=GATED, summed="k"
    ),
    Shipped(
        kernel=gathered_swiglu, function=FUNCTION, element_types=halves, called=GATED, summed="k"
    ),
    Shipped(
        kernel=grouped_scaled,
        function=SCALED,
        dtype="fp8",
        element_types=fp8_with_scales,
        caller_axes={"sx": ("t", "k")},
        called={"x": "a", "sx": "scale_a", "w": "b", "sw": "scale_b"},
        summed="k",
        measured=by_sizes(PRODUCTS["grouped_scaled"]),
    ),
)
