"""Whole axes of any width beside products: padded and masked inside, executed among NaN."""

import numpy as np
import pytest

import tests.host_cuda as hc
import warploom as wl
from tests.kernels.written import NAN, close, drawn
from warploom.compiler.described import described
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import KernelError
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import Access, DType

pytestmark = hc.NEEDS_COMPILER


@pytest.fixture(autouse=True)
def _nan_around(monkeypatch):
    monkeypatch.setattr(hc, "POISON", NAN)


def executed(text, types, sizes, arrays, scalars=None, **pins):
    """The outputs of the first choice of tiles, or of the one that is pinned."""
    made = text.with_config(**pins).compile(types, sizes=sizes, positive=set(scalars or {}))
    config = made.choices[0].config
    kernel, source, memory = made.rewritten, emit_kernel(made.lower(config)), []
    for t in kernel.tensors:
        shape = [sizes[a.name] for a in t.axes]
        memory.append(hc.Memory(t, shape, None if t.access is Access.OUT else arrays[t.name]))
    binary = described(kernel, source, config, b"")
    assert hc.execute(binary, source, memory, scalars or {}, grid=2, seed=0) is None
    assert all(m.untouched() for m in memory)
    both = zip(kernel.tensors, memory, strict=True)
    return [m.values() for t, m in both if t.access is Access.OUT]


@wl.kernel
def attention(
    q: wl.In["b", "s", "d"],
    k: wl.In["b", "t", "d"],
    v: wl.In["b", "t", "d"],
    out: wl.Out["b", "s", "d"],
    *,
    scale: float,
):
    b, s = wl.tile(out, whole="d")
    qs = q[b, s]
    o, l, top = wl.zeros(s, q.d), wl.zeros(s), wl.full(s, -1e30)
    for t in wl.steps(k.t):
        x = (qs @ k[b, t].T) * scale
        new = wl.maximum(top, x.max(axis=1))
        keep = wl.exp(top - new)
        p = wl.exp(x - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(v.dtype) @ v[b, t]
        top = new
    out[b, s] = o / l


@wl.kernel
def low_rank(x: wl.In["m", "k"], a: wl.In["r", "k"], b: wl.In["n", "r"], out: wl.Out["m", "n"]):
    m = wl.tile("m")
    low = wl.zeros(m, a.r)
    for k in wl.steps(x.k):
        low += x[m, k] @ a[:, k].T
    for n in wl.steps(b.n):
        out[m, n] = wl.exp(low * 0.02).to(x.dtype) @ b[n].T


@wl.kernel
def experts(
    x: wl.In["m", "k"],
    w: wl.In["e", "k"],
    bias: wl.In["e", wl.f32],
    best: wl.Out["m", wl.i32],
    least: wl.Out["m", wl.f32],
    share: wl.Out["m", "e"],
):
    m = wl.tile(best)
    acc = wl.zeros(m, w.e)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    acc = acc + bias[:]
    e = wl.exp(acc - acc.max(axis=1))
    best[m] = acc.argmax(axis=1)
    least[m] = acc.min(axis=1)
    share[m] = e / e.sum(axis=1)


def check_attention(d, **pins):
    q, k, v = drawn(2, 70, d), drawn(2, 90, d, seed=1), drawn(2, 90, d, seed=2)
    sizes = {"b": 2, "s": 70, "t": 90, "d": d}
    arrays = {"q": q, "k": k, "v": v}
    (out,) = executed(attention, "bf16", sizes, arrays, {"scale": 0.1}, **pins)
    x = np.einsum("bsd,btd->bst", q, k) * 0.1
    p = np.exp(x - x.max(-1, keepdims=True))
    close(out, np.einsum("bst,btd->bsd", p / p.sum(-1, keepdims=True), v))


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "d", [80, *(pytest.param(d, marks=SLOW) for d in (8, 40, 72, 96, 160, 192))]
)
def test_heads_of_any_width(d):
    check_attention(d, schedule="source", t=64, consumer_warpgroups=1, s=64)


@pytest.mark.parametrize("r", [24, *(pytest.param(r, marks=SLOW) for r in (8, 60, 72, 96))])
def test_ranks_of_any_width_are_contracted_without_their_padding(r):
    """What is computed past the end of the axis is e^0: it must not meet the other operand."""
    x, a, b = drawn(70, 136), drawn(r, 136, seed=1), drawn(100, r, seed=2)
    sizes = {"m": 70, "k": 136, "n": 100, "r": r}
    (out,) = executed(low_rank, "bf16", sizes, {"x": x, "a": a, "b": b})
    low = rounded(np.exp(x @ a.T * 0.02), DType.BF16)
    close(out / np.sqrt(r), low @ b.T / np.sqrt(r))


@pytest.mark.parametrize("e", [60, *(pytest.param(e, marks=SLOW) for e in (5, 72))])
def test_experts_of_any_number(e):
    x, w, bias = drawn(70, 136), drawn(e, 136, seed=1), drawn(e, seed=2)
    sizes = {"m": 70, "k": 136, "e": e}
    types = {"x": "bf16", "w": "bf16", "share": "bf16"}
    arrays = {"x": x, "w": w, "bias": bias}
    best, least, share = executed(experts, types, sizes, arrays, pingpong=1)
    z = x @ w.T + bias
    p = np.exp(z - z.max(1, keepdims=True))
    assert (best == z.argmax(1)).all()
    close(least, z.min(1))
    close(share, p / p.sum(1, keepdims=True))


def test_the_listing_shows_the_padding():
    made = attention.compile("bf16", sizes={"s": 70, "t": 90, "d": 80})
    assert "d whole 80" in made.after("read")
    assert "d whole 128" in made.after("rewrite")


def test_axes_above_256_elements_are_refused_with_their_reason():
    with pytest.raises(KernelError, match="512 columns"):
        attention.compile("bf16", sizes={"s": 70, "t": 90, "d": 512}).choices  # noqa: B018
