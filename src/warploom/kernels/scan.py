"""A chunked scan with a carried matrix: gated linear attention, the state-space form of Mamba-2.

``state[t] = exp(gate[t]) * state[t - 1] + k[t]^T v[t]``, ``out[t] = q[t] @ state[t]``, by chunks:
inside one, products of all its steps with one another under their decay; the chunks before it count
through the state they left. Steps of a chunk are two axes, ``t`` as queries and ``j`` as keys.

``grown`` sums a chunk's gates up to each step (as ``seen`` by key), ``all`` those of the chunk.
"""

from warploom.kernel import language as wl


@wl.kernel
def scan(
    q: wl.In["b", "g", "c", "t", "d"],
    k: wl.In["b", "g", "c", "j", "d"],
    v: wl.In["b", "h", "c", "j", "e"],
    grown: wl.In["b", "h", "c", "t", wl.f32],
    seen: wl.In["b", "h", "c", "j", wl.f32],
    all: wl.In["b", "h", "c", wl.f32],
    out: wl.Out["b", "h", "c", "t", "e"],
    state: wl.Out["b", "h", "d", "e", wl.f32],
):
    b, h, e = wl.tile(state, whole="d")
    g = h // (v.h // k.g)
    s = wl.zeros(q.d, e)
    for c in wl.steps(q.c, 1):
        qs, ks, vs = q[b, g, c], k[b, g, c], v[b, h, c, :, e]
        now, then, end = grown[b, h, c], seen[b, h, c], all[b, h, c]
        p = (qs @ ks.T) * wl.exp(now - then)
        p = wl.where(wl.index(k.j) <= wl.index(q.t), p, 0.0)
        old = (qs @ s.to(q.dtype)) * wl.exp(now)
        out[b, h, c, :, e] = p.to(q.dtype) @ vs + old
        s = s * wl.exp(end) + ks.T @ (vs * wl.exp(end - then)).to(q.dtype)
    state[b, h, :, e] = s
