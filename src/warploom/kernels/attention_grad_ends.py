"""What surrounds attention backward: row sums of ``do * o`` before, sums made ready after it."""

from warploom.frontend import language as wl
from warploom.kernels.declaration import Shipped


@wl.kernel
def prepared(
    do: wl.In["b", "h", "s", "d"],
    o: wl.In["b", "h", "s", "d"],
    delta: wl.Out["b", "h", "s", wl.f32],
    dq: wl.Out["b", "h", "s", "d", wl.f32, wl.blocked],
    turns: wl.Out["b", "h", "s", wl.f32] = None,
):
    """Row sums of ``do * o``; ``dq`` is cleared, so that it can be added to (in turn)."""
    b, h, s = wl.tile(dq, whole="d")
    delta[b, h, s] = (do[b, h, s].to(wl.f32) * o[b, h, s].to(wl.f32)).sum(axis=1)
    dq[b, h, s] = wl.zeros(s, do.d)
    turns[b, h, s] = wl.zeros(s)


def _over_heads(x, b, first, t, each):
    """The sum over ``each`` heads from ``first`` on."""
    if each == 1:
        return x[b, first, t]
    return _over_heads(x, b, first, t, each - 1) + x[b, first + (each - 1), t]


@wl.kernel
def converted(
    x: wl.In["b", "h", "s", "d", wl.f32, wl.blocked],
    out: wl.Out["b", "h", "s", "d"],
    *,
    scale: float,
):
    b, h, s = wl.tile(out, whole="d")
    out[b, h, s] = x[b, h, s] * scale


@wl.kernel
def summed(
    x: wl.In["b", "h", "t", "d", wl.f32],
    out: wl.Out["b", "g", "t", "d"],
    *,
    scale: float,
    each=1,
):
    """``scale`` times the sums over the ``each`` query heads that share a head of keys."""
    b, g, t = wl.tile(out, whole="d")
    out[b, g, t] = _over_heads(x, b, g * each, t, each) * scale


SHIPPED = tuple(Shipped(kernel=k, listed=False) for k in (prepared, converted, summed))
