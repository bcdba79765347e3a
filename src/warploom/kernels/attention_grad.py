"""Attention backward: one tile of keys, a loop over the queries; ``dq`` is added to in memory.

``lse`` is what the forward pass gave, ``delta`` the row sums of ``do * o``. ``dq`` is left in fp32
and unscaled, and ``dk`` and ``dv`` are those of each query head: ``converted`` and ``summed`` make
them ready. Where registers hold the sums of one gradient only, ``dv`` has a kernel of its own.
With ``turns``, tiles of keys add to ``dq`` one after the other: the same bits every time.
``packed_grad`` and ``packed_values`` are the same for sequences that lie one after the other,
``blocked_grad`` and ``blocked_values`` for masks of which lists say, for every 128 keys, which
queries see something, and which everything.
"""

from warploom.frontend import language as wl
from warploom.kernels.attention import FUNCTIONS, KEYS, MASKS, ROWS
from warploom.kernels.declaration import Function, Shipped
from warploom.kernels.measured import GRADS, gradients

LOG2_E = 1.4426950408889634


def _weights(y, lse, score):
    """The weights of scores; those of a function may have any size, or be -inf for all keys."""
    if score is None:
        return wl.exp(y - lse)
    return wl.where(y > -wl.inf, wl.exp2((y - lse) * LOG2_E), 0.0)


def _seen(p, b, h, s, t, ahead, causal, visible, listed=False):
    """The weights of what queries see."""
    if causal:
        p = wl.where(wl.index(t) <= wl.index(s) + ahead, p, 0.0)
    if visible is not None:
        seen = visible(b, h, wl.index(s), wl.index(t))
        p = wl.where(wl.is_whole(s) | seen if listed else seen, p, 0.0)
    return p


@wl.kernel
def attention_grad(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "g", "t", "d"],
    v: wl.In["b", "g", "t", "d"],
    do: wl.In["b", "h", "s", "d"],
    lse: wl.In["b", "h", "s", wl.f32],
    delta: wl.In["b", "h", "s", wl.f32],
    dk: wl.Out["b", "h", "t", "d"],
    dq: wl.Out["b", "h", "s", "d", wl.f32, wl.blocked] = None,
    dv: wl.Out["b", "h", "t", "d"] = None,
    lengths: wl.In["b", wl.i32] = None,
    turns: wl.Turns["b", "h", "s"] = None,
    *,
    scale: float,
    causal=False,
    score=None,
    visible=None,
):
    b, h, t = wl.tile(dk, whole="d")
    g = h // (q.h // k.g)
    ks, vs = k[b, g, t], v[b, g, t]
    gk, gv = wl.zeros(t, k.d), wl.zeros(t, k.d)
    end = k.t if lengths is None else wl.minimum(lengths[b], k.t)
    if lengths is not None:  # 0 times what lies past the end is not 0 where that is NaN
        ks = wl.where(wl.index(t) < end, ks, 0).to(k.dtype)
        vs = wl.where(wl.index(t) < end, vs, 0).to(v.dtype)
    for s in wl.steps(q.s):
        qs, dos = q[b, h, s], do[b, h, s]
        x = (ks @ qs.T) * scale
        y = x if score is None else score(x, b, h, wl.index(s), wl.index(t))
        p = _weights(y, lse[b, h, s], score)
        p = _seen(p, b, h, s, t, end - q.s if causal == "end" else 0, causal, visible)
        if lengths is not None:
            p = wl.where(wl.index(t) < end, p, 0.0)
        w = p if score is None else p * wl.grad(y, x)  # one tile of registers, not two
        ds = (w * (vs @ dos.T - delta[b, h, s])).to(q.dtype)
        gv += p.to(q.dtype) @ dos
        gk += ds @ qs
        dq[b, h, s] += ds.T @ ks
    dv[b, h, t] = gv
    dk[b, h, t] = gk * scale


@wl.kernel
def values_grad(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "g", "t", "d"],
    do: wl.In["b", "h", "s", "d"],
    lse: wl.In["b", "h", "s", wl.f32],
    dv: wl.Out["b", "h", "t", "d"],
    lengths: wl.In["b", wl.i32] = None,
    *,
    scale: float,
    causal=False,
    score=None,
    visible=None,
):
    """``dv`` alone."""
    b, h, t = wl.tile(dv, whole="d")
    ks = k[b, h // (q.h // k.g), t]
    gv = wl.zeros(t, k.d)
    end = k.t if lengths is None else wl.minimum(lengths[b], k.t)
    for s in wl.steps(q.s):
        x = (ks @ q[b, h, s].T) * scale
        y = x if score is None else score(x, b, h, wl.index(s), wl.index(t))
        p = _weights(y, lse[b, h, s], score)
        p = _seen(p, b, h, s, t, end - q.s if causal == "end" else 0, causal, visible)
        if lengths is not None:
            p = wl.where(wl.index(t) < end, p, 0.0)
        gv += p.to(q.dtype) @ do[b, h, s]
    dv[b, h, t] = gv


@wl.kernel
def packed_grad(
    q: wl.In["h", "s", "d"],
    k: wl.In["g", "t", "d"],
    v: wl.In["g", "t", "d"],
    do: wl.In["h", "s", "d"],
    lse: wl.In["h", "s", wl.f32],
    delta: wl.In["h", "s", wl.f32],
    q_starts: wl.Starts["i"],
    k_starts: wl.Starts["i"],
    dk: wl.Out["h", "t", "d"],
    dq: wl.Out["h", "s", "d", wl.f32],
    dv: wl.Out["h", "t", "d"] = None,
    *,
    scale: float,
    causal=False,
):
    """Sequences of different lengths that lie one after the other; ``dq`` lies row by row."""
    i, h, t = wl.tile(dk, whole="d", groups=k_starts)
    g = h // (q.h // k.g)
    ks, vs = k[g, t], v[g, t]
    gk, gv = wl.zeros(t, k.d), wl.zeros(t, k.d)
    first, end = q_starts[i], q_starts[i + 1]
    ahead = k_starts[i] - first
    if causal == "end":
        ahead = k_starts[i + 1] - end
    for s in wl.steps(q.s, start=first, until=end):
        qs, dos = q[h, s], do[h, s]
        p = wl.exp((ks @ qs.T) * scale - lse[h, s])
        p = _seen(p, i, h, s, t, ahead, causal, None)
        ds = (p * (vs @ dos.T - delta[h, s])).to(q.dtype)
        gv += p.to(q.dtype) @ dos
        gk += ds @ qs
        dq[h, s] += ds.T @ ks
    dv[h, t] = gv
    dk[h, t] = gk * scale


@wl.kernel
def packed_values(
    q: wl.In["h", "s", "d"],
    k: wl.In["g", "t", "d"],
    do: wl.In["h", "s", "d"],
    lse: wl.In["h", "s", wl.f32],
    q_starts: wl.Starts["i"],
    k_starts: wl.Starts["i"],
    dv: wl.Out["h", "t", "d"],
    *,
    scale: float,
    causal=False,
):
    """``dv`` alone, of packed sequences."""
    i, h, t = wl.tile(dv, whole="d", groups=k_starts)
    ks = k[h // (q.h // k.g), t]
    gv = wl.zeros(t, k.d)
    first, end = q_starts[i], q_starts[i + 1]
    ahead = k_starts[i] - first
    if causal == "end":
        ahead = k_starts[i + 1] - end
    for s in wl.steps(q.s, start=first, until=end):
        p = wl.exp((ks @ q[h, s].T) * scale - lse[h, s])
        gv += _seen(p, i, h, s, t, ahead, causal, None).to(q.dtype) @ do[h, s]
    dv[h, t] = gv


@wl.kernel
def blocked_grad(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "g", "t", "d"],
    v: wl.In["b", "g", "t", "d"],
    do: wl.In["b", "h", "s", "d"],
    lse: wl.In["b", "h", "s", wl.f32],
    delta: wl.In["b", "h", "s", wl.f32],
    dk: wl.Out["b", "h", "t", "d"],
    dq: wl.Out["b", "h", "s", "d", wl.f32, wl.blocked],
    dv: wl.Out["b", "h", "t", "d"] = None,
    lengths: wl.In["b", wl.i32] = None,
    order: wl.In["n", wl.i32] = None,
    some: wl.In["b", "h", "t/128", "c", wl.i32] = None,
    some_count: wl.In["b", "h", "t/128", wl.i32] = None,
    full: wl.In["b", "h", "t/128", "c", wl.i32] = None,
    full_count: wl.In["b", "h", "t/128", wl.i32] = None,
    *,
    scale: float,
    causal=False,
    score=None,
    visible=None,
):
    """``attention_grad`` of listed tiles of 64 queries."""
    b, h, t = wl.tile(dk, whole="d", rows=128, order=order)
    g = h // (q.h // k.g)
    ks, vs = k[b, g, t], v[b, g, t]
    gk, gv = wl.zeros(t, k.d), wl.zeros(t, k.d)
    end = k.t if lengths is None else wl.minimum(lengths[b], k.t)
    if lengths is not None:  # 0 times what lies past the end is not 0 where that is NaN
        ks = wl.where(wl.index(t) < end, ks, 0).to(k.dtype)
        vs = wl.where(wl.index(t) < end, vs, 0).to(v.dtype)
    whole = None if full is None else (full, full_count)
    for s in wl.steps(q.s, 64, some=(some, some_count), whole=whole):
        qs, dos = q[b, h, s], do[b, h, s]
        x = (ks @ qs.T) * scale
        y = x if score is None else score(x, b, h, wl.index(s), wl.index(t))
        p = _weights(y, lse[b, h, s], score)
        ahead = end - q.s if causal == "end" else 0
        p = _seen(p, b, h, s, t, ahead, causal, visible, listed=True)
        if lengths is not None:
            p = wl.where(wl.index(t) < end, p, 0.0)
        w = p if score is None else p * wl.grad(y, x)
        ds = (w * (vs @ dos.T - delta[b, h, s])).to(q.dtype)
        gv += p.to(q.dtype) @ dos
        gk += ds @ qs
        dq[b, h, s] += ds.T @ ks
    dv[b, h, t] = gv
    dk[b, h, t] = gk * scale


@wl.kernel
def blocked_values(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "g", "t", "d"],
    do: wl.In["b", "h", "s", "d"],
    lse: wl.In["b", "h", "s", wl.f32],
    dv: wl.Out["b", "h", "t", "d"],
    lengths: wl.In["b", wl.i32] = None,
    order: wl.In["n", wl.i32] = None,
    some: wl.In["b", "h", "t/128", "c", wl.i32] = None,
    some_count: wl.In["b", "h", "t/128", wl.i32] = None,
    full: wl.In["b", "h", "t/128", "c", wl.i32] = None,
    full_count: wl.In["b", "h", "t/128", wl.i32] = None,
    *,
    scale: float,
    causal=False,
    score=None,
    visible=None,
):
    """``dv`` alone, of listed tiles of 64 queries."""
    b, h, t = wl.tile(dv, whole="d", rows=128, order=order)
    ks = k[b, h // (q.h // k.g), t]
    gv = wl.zeros(t, k.d)
    end = k.t if lengths is None else wl.minimum(lengths[b], k.t)
    whole = None if full is None else (full, full_count)
    for s in wl.steps(q.s, 64, some=(some, some_count), whole=whole):
        x = (ks @ q[b, h, s].T) * scale
        y = x if score is None else score(x, b, h, wl.index(s), wl.index(t))
        p = _weights(y, lse[b, h, s], score)
        ahead = end - q.s if causal == "end" else 0
        p = _seen(p, b, h, s, t, ahead, causal, visible, listed=True)
        if lengths is not None:
            p = wl.where(wl.index(t) < end, p, 0.0)
        gv += p.to(q.dtype) @ do[b, h, s]
    dv[b, h, t] = gv


FUNCTION = Function(name="attention_backward", module="warploom.runtime.attention_grad")
PACKED = Function(name="attention_packed_backward", module="warploom.runtime.attention_grad")
PLACES = {"q": ROWS, "do": ROWS, "k": KEYS, "dv": ("t", "h", "d")}
WITH_FUNCTIONS = {name: FUNCTIONS[name] for name in ("score", "visible")}
SHIPPED = (
    Shipped(
        kernel=attention_grad,
        function=FUNCTION,
        outputs=frozenset({"dq", "dv"}),
        measured=gradients(GRADS["attention_grad"]),
        measured_choices=MASKS,
        functions=WITH_FUNCTIONS,
    ),
    Shipped(
        kernel=values_grad,
        function=FUNCTION,
        measured=gradients(GRADS["values_grad"]),
        measured_choices=MASKS,
        functions=WITH_FUNCTIONS,
    ),
    Shipped(
        kernel=packed_grad,
        function=PACKED,
        outputs=frozenset({"dv"}),
        caller_axes=PLACES | {"v": KEYS, "dk": ("t", "h", "d")},
        measured=gradients(GRADS["packed_grad"]),
        measured_choices=MASKS,
        functions=WITH_FUNCTIONS,
    ),
    Shipped(
        kernel=packed_values,
        function=PACKED,
        caller_axes=PLACES,
        measured=gradients(GRADS["packed_values"]),
        measured_choices=MASKS,
        functions=WITH_FUNCTIONS,
    ),
    Shipped(
        kernel=blocked_grad,
        function=FUNCTION,
        listed=False,
        measured=gradients(GRADS["blocked_grad"], listed=True),
        measured_choices=MASKS,
        functions=WITH_FUNCTIONS,
    ),
    Shipped(
        kernel=blocked_values,
        function=FUNCTION,
        listed=False,
        measured=gradients(GRADS["blocked_values"], listed=True),
        measured_choices=MASKS,
        functions=WITH_FUNCTIONS,
    ),
)
