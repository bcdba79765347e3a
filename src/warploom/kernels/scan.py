"""A chunked scan with a carried matrix: gated linear attention, the state-space form of Mamba-2.

``state[t] = exp(gate[t]) * state[t - 1] + k[t]^T v[t]``, ``out[t] = q[t] @ state[t]``, by chunks:
inside one, products of all its steps with one another under their decay; the chunks before it count
through the state they left. Steps of a chunk are two axes, ``t`` as queries and ``j`` as keys.

``grown`` sums a chunk's gates up to each step (as ``seen`` by key), ``all`` those of the chunk.

Few heads leave SMs idle, so the chunks are cut into parts ``p`` that are scanned side by side:
``scan_parts`` gives what each part adds to the state (``left``) and the sum of its gates
(``gone``), and ``scan`` begins each with what the parts before it left, in their order.
"""

from warploom.frontend import language as wl
from warploom.kernels.declaration import Function, Shipped, halves
from warploom.kernels.measured import scan_parts as measured_parts, scans


@wl.kernel
def scan(
    q: wl.In["b", "g", "c", "t", "d"],
    k: wl.In["b", "g", "c", "j", "d"],
    v: wl.In["b", "h", "c", "j", "e"],
    grown: wl.In["b", "h", "c", "t", wl.f32],
    seen: wl.In["b", "h", "c", "j", wl.f32],
    all: wl.In["b", "h", "c", wl.f32],
    out: wl.Out["b", "h", "c", "t", "e"],
    state: wl.Out["b", "h", "p", "d", "e", wl.f32],
    left: wl.In["b", "h", "r", "d", "e", wl.f32] = None,
    gone: wl.In["b", "h", "r", "e", wl.f32] = None,
):
    """Chunked scan with a carried matrix: gated linear attention, Mamba-2."""
    b, h, p, e = wl.tile(state, whole="d")
    g = h // (v.h // k.g)
    s = wl.zeros(q.d, e)
    if left is not None:
        for r in wl.steps(left.r, 1, until=p):
            s = s * wl.exp(gone[b, h, r, e]) + left[b, h, r, :, e]
    for c in wl.steps(q.c, 1, part=p):
        qs, ks, vs = q[b, g, c], k[b, g, c], v[b, h, c, :, e]
        now, then, end = grown[b, h, c], seen[b, h, c], all[b, h, c]
        x = (qs @ ks.T) * wl.exp(now - then)
        x = wl.where(wl.index(k.j) <= wl.index(q.t), x, 0.0)
        old = (qs @ s.to(q.dtype)) * wl.exp(now)
        out[b, h, c, :, e] = x.to(q.dtype) @ vs + old
        s = s * wl.exp(end) + ks.T @ (vs * wl.exp(end - then)).to(q.dtype)
    state[b, h, p, :, e] = s


@wl.kernel
def scan_parts(
    k: wl.In["b", "g", "c", "j", "d"],
    v: wl.In["b", "h", "c", "j", "e"],
    seen: wl.In["b", "h", "c", "j", wl.f32],
    all: wl.In["b", "h", "c", wl.f32],
    left: wl.Out["b", "h", "r", "d", "e", wl.f32],
    gone: wl.Out["b", "h", "r", "e", wl.f32],
):
    """The scan with the sequence split over CTAs."""
    b, h, r, e = wl.tile(left, whole="d")
    g = h // (v.h // k.g)
    s, sum = wl.zeros(k.d, e), wl.zeros(e)
    for c in wl.steps(k.c, 1, part=r):
        then, end = seen[b, h, c], all[b, h, c]
        sum += end
        s = s * wl.exp(end) + k[b, g, c].T @ (v[b, h, c, :, e] * wl.exp(end - then)).to(k.dtype)
    left[b, h, r, :, e] = s
    gone[b, h, r, e] = sum


FUNCTION = Function(name="scan", module="warploom.runtime.fused")
SHIPPED = (
    Shipped(
        kernel=scan,
        function=FUNCTION,
        sizes={"t": 64, "j": 64, "d": 128, "e": 64, "p": 1},
        decays=frozenset({"grown", "seen", "all"}),
        element_types=halves,
        summed="k",
        measured=scans,
    ),
    Shipped(
        kernel=scan_parts,
        function=FUNCTION,
        sizes={"j": 64, "d": 128, "e": 64, "r": 2},
        decays=frozenset({"grown", "seen", "all"}),
        element_types=halves,
        summed="k",
        measured=measured_parts,
    ),
)
