"""Implicit-GEMM convolution: rows of the product are pixels, gathered for each tap of the filter.

Pictures lie pixel by pixel (NHWC), filters as ``[outputs, taps, channels]``. For MI355X; Hopper
gathers rows by indices that are known before the loop only.
"""

from warploom.frontend import language as wl
from warploom.kernels.declaration import Function, Shipped


@wl.kernel
def conv2d(
    x: wl.In["p", "c"],
    w: wl.In["o", "t", "c"],
    out: wl.Out["q", "o"],
    residual: wl.In["q", "o"] = None,
    *,
    height: int,
    width: int,
    rows: int,
    columns: int,
    across: int,
    stride: int,
    dilation: int,
    padding: int,
):
    """NHWC convolution: pixels are rows, taps of the filter are steps.

    ``height`` x ``width`` pixels in, ``rows`` x ``columns`` out, ``across`` taps in a filter's row.
    A tap outside of the picture has row -1, which reads as 0.
    """
    q, o = wl.tile(out)
    acc = wl.zeros(q, o)
    picture = wl.index(q) // (rows * columns)
    y = wl.index(q) // columns % rows * stride - padding
    z = wl.index(q) % columns * stride - padding
    for t in wl.steps(w.t, 1):
        down = y + t // across * dilation
        right = z + t % across * dilation
        seen = (down >= 0) & (down < height) & (right >= 0) & (right < width)
        place = wl.where(seen, (picture * height + down) * width + right, -1)
        acc += x[place, :] @ w[o, t, :].T
    if residual is not None:
        acc = acc + residual[q, o]
    out[q, o] = acc


SHIPPED = (
    Shipped(
        kernel=conv2d,
        function=Function(name="conv2d", module="warploom.gfx950"),
        target="mi355x",
    ),
)
