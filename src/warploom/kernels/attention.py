"""Attention forward: softmax by the running maximum, one pass over the keys.

``packed`` is the same for sequences of different lengths that lie one after the other, ``paged``
for keys and values that lie in pages, which a table lists for every sequence, ``blocked`` for
masks of which lists say where something is seen, and where everything.
"""

from warploom.frontend import language as wl
from warploom.kernels import measured
from warploom.kernels.declaration import Function, Shipped

# The maximum before any key is seen: finite, so that a row that sees no key yet never computes
# inf - inf, and far below every score. Such a row gives 0, and -inf as its log-sum-exp.
LOWEST = -1.0e30
# Below all scores that a function of the caller may give, the least number included.
LEAST = -3.4028234663852886e38
LOG2_E = 1.4426950408889634


def _lowest(score):
    """The maximum before any key is seen."""
    return LOWEST if score is None else LEAST


def _weigh(x, top, new, score=None):
    """How much is left of what was summed under the old maximum, and the new weights.

    Scores of a function may have any size: their difference is taken before they are scaled.
    """
    if score is None:
        return wl.exp(top - new), wl.exp(x - new)
    return wl.exp2((top - new) * LOG2_E), wl.exp2((x - new) * LOG2_E)


@wl.kernel
def attention(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "g", "t", "d"],
    v: wl.In["b", "g", "t", "d"],
    out: wl.Out["b", "h", "s", "d"],
    lse: wl.Out["b", "h", "s", wl.f32] = None,
    lengths: wl.In["b", wl.i32] = None,
    *,
    scale: float,
    causal=False,
    score=None,
    visible=None,
    sink=None,
):
    """Attention forward in one pass over the keys, by the running maximum."""
    b, h, s = wl.tile(out, whole="d")
    g = h // (q.h // k.g)
    qs = q[b, h, s]
    o, l, top = wl.zeros(s, q.d), wl.zeros(s), wl.full(s, _lowest(score))
    if sink is not None:
        top = wl.full(s, sink(h))
    end = k.t if lengths is None else wl.minimum(lengths[b], k.t)
    for t in wl.steps(k.t, until=end):
        x = (qs @ k[b, g, t].T) * scale
        if score is not None:
            x = score(x, b, h, wl.index(s), wl.index(t))
        if causal:
            x = wl.where(
                wl.index(t) <= wl.index(s) + (end - q.s if causal == "end" else 0), x, -wl.inf
            )
        if visible is not None:
            x = wl.where(visible(b, h, wl.index(s), wl.index(t)), x, -wl.inf)
        new = wl.maximum(top, x.max(axis=1))
        keep, p = _weigh(x, top, new, score)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(v.dtype) @ v[b, g, t]
        top = new
    if sink is not None:  # a key that all queries see, with a score of its own and no value
        l = l + wl.exp(sink(h) - top)
    out[b, h, s] = o / wl.where(l > 0, l, 1.0)
    lse[b, h, s] = top + wl.log(l)


@wl.kernel
def packed(
    q: wl.In["h", "s", "d"],
    k: wl.In["g", "t", "d"],
    v: wl.In["g", "t", "d"],
    q_starts: wl.Starts["i"],
    k_starts: wl.Starts["i"],
    out: wl.Out["h", "s", "d"],
    lse: wl.Out["h", "s", wl.f32] = None,
    *,
    scale: float,
    causal=False,
    score=None,
    visible=None,
    sink=None,
):
    """Attention of packed sequences of different lengths."""
    i, h, s = wl.tile(out, whole="d", groups=q_starts)
    g = h // (q.h // k.g)
    qs = q[h, s]
    o, l, top = wl.zeros(s, q.d), wl.zeros(s), wl.full(s, _lowest(score))
    if sink is not None:
        top = wl.full(s, sink(h))
    first, end = k_starts[i], k_starts[i + 1]
    ahead = first - q_starts[i]
    if causal == "end":
        ahead = end - q_starts[i + 1]
    for t in wl.steps(k.t, start=first, until=end):
        x = (qs @ k[g, t].T) * scale
        if score is not None:  # indices are those in the sequence
            x = score(x, i, h, wl.index(s) - q_starts[i], wl.index(t) - first)
        if causal:
            x = wl.where(wl.index(t) <= wl.index(s) + ahead, x, -wl.inf)
        if visible is not None:
            seen = visible(i, h, wl.index(s) - q_starts[i], wl.index(t) - first)
            x = wl.where(seen, x, -wl.inf)
        new = wl.maximum(top, x.max(axis=1))
        keep, p = _weigh(x, top, new, score)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(v.dtype) @ v[g, t]
        top = new
    if sink is not None:
        l = l + wl.exp(sink(h) - top)
    out[h, s] = o / wl.where(l > 0, l, 1.0)
    lse[h, s] = top + wl.log(l)


@wl.kernel
def paged(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["p", "g", "u", "d"],
    v: wl.In["p", "g", "u", "d"],
    table: wl.In["b", "j", wl.i32],
    lengths: wl.In["b", wl.i32],
    out: wl.Out["b", "h", "s", "d"],
    lse: wl.Out["b", "h", "s", wl.f32] = None,
    *,
    scale: float,
    causal=False,
):
    """Attention over a paged key-value cache."""
    b, h, s = wl.tile(out, whole="d")
    g = h // (q.h // k.g)
    qs = q[b, h, s]
    o, l, top = wl.zeros(s, q.d), wl.zeros(s), wl.full(s, LOWEST)
    end = wl.minimum(lengths[b], table.j * k.u)
    for j in wl.steps(table.j, 1, until=(end + k.u - 1) // k.u):
        t = j * k.u + wl.index(k.u)
        x = (qs @ k[table[b, j], g].T) * scale
        x = wl.where(t < end, x, -wl.inf)
        if causal:
            x = wl.where(t <= wl.index(s) + (end - q.s if causal == "end" else 0), x, -wl.inf)
        new = wl.maximum(top, x.max(axis=1))
        keep, p = _weigh(x, top, new)
        l = l * keep + p.sum(axis=1)
        vs = wl.where(wl.index(k.u) < end - j * k.u, v[table[b, j], g], 0).to(v.dtype)
        o = o * keep + p.to(v.dtype) @ vs
        top = new
    out[b, h, s] = o / wl.where(l > 0, l, 1.0)
    lse[b, h, s] = top + wl.log(l)


@wl.kernel
def blocked(
    q: wl.In["b", "h", "s", "d"],
    k: wl.In["b", "g", "t", "d"],
    v: wl.In["b", "g", "t", "d"],
    out: wl.Out["b", "h", "s", "d"],
    lse: wl.Out["b", "h", "s", wl.f32] = None,
    lengths: wl.In["b", wl.i32] = None,
    order: wl.In["n", wl.i32] = None,
    some: wl.In["b", "h", "s/128", "c", wl.i32] = None,
    some_count: wl.In["b", "h", "s/128", wl.i32] = None,
    full: wl.In["b", "h", "s/128", "c", wl.i32] = None,
    full_count: wl.In["b", "h", "s/128", wl.i32] = None,
    *,
    scale: float,
    causal=False,
    score=None,
    visible=None,
    sink=None,
    wide=128,
):
    b, h, s = wl.tile(out, whole="d", rows=128, order=order)
    g = h // (q.h // k.g)
    qs = q[b, h, s]
    o, l, top = wl.zeros(s, q.d), wl.zeros(s), wl.full(s, _lowest(score))
    if sink is not None:
        top = wl.full(s, sink(h))
    end = k.t if lengths is None else wl.minimum(lengths[b], k.t)
    whole = None if full is None else (full, full_count)
    for t in wl.steps(k.t, wide, some=(some, some_count), whole=whole):
        x = (qs @ k[b, g, t].T) * scale
        if score is not None:
            x = score(x, b, h, wl.index(s), wl.index(t))
        if lengths is not None:
            x = wl.where(wl.index(t) < end, x, -wl.inf)
        if causal:
            x = wl.where(
                wl.index(t) <= wl.index(s) + (end - q.s if causal == "end" else 0), x, -wl.inf
            )
        if visible is not None:
            seen = wl.is_whole(t) | visible(b, h, wl.index(s), wl.index(t))
            x = wl.where(seen, x, -wl.inf)
        new = wl.maximum(top, x.max(axis=1))
        keep, p = _weigh(x, top, new, score)
        l = l * keep + p.sum(axis=1)
        vs = v[b, g, t]
        if lengths is not None:  # 0 times what lies past the end is not 0 where that is NaN
            vs = wl.where(wl.index(t) < end, vs, 0).to(v.dtype)
        o = o * keep + p.to(v.dtype) @ vs
        top = new
    if sink is not None:
        l = l + wl.exp(sink(h) - top)
    out[b, h, s] = o / wl.where(l > 0, l, 1.0)
    lse[b, h, s] = top + wl.log(l)


def _any_score(x, batch, head, query, key):
    """Stands for a caller's score function: it depends on all that one may depend on."""
    return x * 3.0 + batch * 5 + head * 7 + query * 11 + key * 13


def _any_mask(batch, head, query, key):
    """Stands for a caller's mask."""
    return batch * 5 + head * 7 + query * 11 >= key * 13


def _any_sink(head):
    """Stands for a caller's score of the key without a value."""
    return head * 3.0


FUNCTIONS = {"score": _any_score, "visible": _any_mask, "sink": _any_sink}
FUNCTION = Function(name="attention", module="warploom.runtime.attention")
ROWS, KEYS = ("s", "h", "d"), ("t", "g", "d")  # packed tensors as callers have them
MASKS = {"causal": (False, True)}
SHIPPED = (
    Shipped(
        kernel=attention,
        function=FUNCTION,
        summed="t",
        counted="lengths",
        measured=measured.attention,
        measured_choices=MASKS,
        functions=FUNCTIONS,
    ),
    Shipped(
        kernel=packed,
        function=Function(name="attention_packed", module="warploom.runtime.attention"),
        caller_axes={"q": ROWS, "k": KEYS, "v": KEYS, "out": ROWS},
        summed="t",
    ),
    Shipped(kernel=paged, function=FUNCTION),
    Shipped(
        kernel=blocked,
        function=FUNCTION,
        listed=False,
        measured=measured.blocked,
        measured_choices=MASKS,
        functions=FUNCTIONS,
    ),
)
