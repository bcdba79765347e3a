"""What surrounds attention backward: row sums of ``do * o`` before, the scaled ``dq`` after it.

Rows are those of all batches and heads, one after the other.
"""

from warploom.kernel import language as wl


@wl.kernel
def row_products(x: wl.In["r", "d"], y: wl.In["r", "d"], out: wl.Out["r", wl.f32]):
    r = wl.tile(out)
    out[r] = (x[r].to(wl.f32) * y[r].to(wl.f32)).sum(axis=1)


@wl.kernel
def converted(x: wl.In["r", "d", wl.f32], out: wl.Out["r", "d"], *, scale: float):
    r = wl.tile(out, whole="d")
    out[r] = x[r] * scale
