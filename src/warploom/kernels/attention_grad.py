"""Attention backward: one tile of keys, a loop over the queries; ``dq`` is added to in memory.

``lse`` is what the forward pass gave, ``delta`` the row sums of ``do * o``. ``dq`` is left in fp32
and unscaled, and ``dk`` and ``dv`` are those of each query head: ``converted`` makes them ready.
"""

from warploom.kernel import language as wl


@wl.kernel
def attention_grad(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "g", "t", "d"],
    v: wl.In["b", "g", "t", "d"],
    do: wl.In["b", "h", "s", "d"],
    lse: wl.In["b", "h", "s", wl.f32],
    delta: wl.In["b", "h", "s", wl.f32],
    dq: wl.Out["b", "h", "s", "d", wl.f32, wl.blocked],
    dk: wl.Out["b", "h", "t", "d"],
    dv: wl.Out["b", "h", "t", "d"],
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
    for s in wl.steps(q.s):
        qs, dos = q[b, h, s], do[b, h, s]
        x = (ks @ qs.T) * scale
        y = x if score is None else score(x, b, h, wl.index(s), wl.index(t))
        p = wl.exp(y - lse[b, h, s])
        if causal:
            p = wl.where(wl.index(t) <= wl.index(s) + (k.t - q.s if causal == "end" else 0), p, 0.0)
        if visible is not None:
            p = wl.where(visible(b, h, wl.index(s), wl.index(t)), p, 0.0)
        dp = p * (vs @ dos.T - delta[b, h, s])
        ds = (dp if score is None else dp * wl.slope(y, x)).to(q.dtype)
        gv += p.to(q.dtype) @ dos
        gk += ds @ qs
        dq[b, h, s] += ds.T @ ks
    dv[b, h, t] = gv
    dk[b, h, t] = gk * scale
