"""Attention's run-time arithmetic on the host: tile ranges by brute force, results in numbers."""

from __future__ import annotations

import ctypes as c
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warploom.emit.cuda.attention_tiles import TILES
from warploom.launch.attention_launch import visits_of_head
from warploom.launch.shipped import attention_kernel

from .call_struct import Call, Divisor
from .host_attention import build, host_of

VISIT = ("batch", "head", "q_first", "queries", "keys", "diagonal", "count", "masked", "cta")
RANGES = r"""
#include <cstdint>
#define DEVICE static inline
static int TILE_Q, TILE_K;
static bool CAUSAL;
%s
extern "C" int visits(const Call* call, int tile_q, int tile_k, int causal, int ctas, int* out) {
  TILE_Q = tile_q; TILE_K = tile_k; CAUSAL = causal;
  int n = 0;
  for (int cta = 0; cta < ctas; ++cta)
    for (int visit = first_visit(cta); visit < visits_of(*call); visit = next_visit(visit, ctas)) {
      const Tile t = tile_of(*call, visit);
      if (t.skip) continue;
      const KeyRange r = keys_of(t);
      const int row[] = {t.batch, t.head, t.q_first, t.queries, t.keys, t.diagonal,
                         r.count, r.masked, cta};
      for (int x : row) out[n++] = x;
    }
  return n / 9;
}
"""


@cache
def ranges():
    return build(RANGES % TILES)


def visits(call, tile_q, tile_k, causal, ctas, most):
    call.visits_of_head = Divisor.of(visits_of_head(call.queries, tile_q, causal=causal))
    out = np.zeros(len(VISIT) * most, dtype=np.int32)
    pointer = out.ctypes.data_as(c.c_void_p)
    n = ranges().visits(c.byref(call), tile_q, tile_k, int(causal), ctas, pointer)
    assert n <= most
    return [dict(zip(VISIT, map(int, row), strict=True)) for row in out.reshape(-1, 9)[:n]]


def call_of(lengths, heads, align_end, packed):
    """A call on sequences of (queries, keys), and what must stay alive beside it."""
    starts = [np.cumsum([0, *column], dtype=np.int32) for column in zip(*lengths, strict=True)]
    where = [s.ctypes.data for s in starts] if packed else [None, None]
    call = Call(
        q_starts=where[0],
        k_starts=where[1],
        batches=len(lengths),
        heads=Divisor.of(heads),
        share=1,
        queries=max(n for n, _ in lengths),
        keys=max(n for _, n in lengths),
        align_end=int(align_end),
    )
    return call, starts


def check_range(v, tile_q, tile_k, causal):
    """The key tiles of one visit against what its queries see, key by key."""
    rows = np.arange(v["q_first"], min(v["q_first"] + tile_q, v["queries"]))
    assert len(rows)
    keys = np.arange(-(-max(v["keys"], 1) // tile_k) * tile_k)
    sees = np.broadcast_to(keys < v["keys"], (len(rows), len(keys)))
    if causal:
        sees = sees & (keys < rows[:, None] + 1 + v["diagonal"])
    tiles = sees.reshape(len(rows), -1, tile_k)
    some, whole = tiles.any((0, 2)), tiles.all((0, 2))
    needed = int(np.nonzero(some)[0].max()) + 1 if some.any() else 1
    assert v["count"] == needed
    assert v["masked"] == v["count"] - int(whole[: v["count"]].sum())
    assert whole[: v["count"] - v["masked"]].all()  # tiles are visited from the last to the first


@settings(max_examples=500, deadline=None)
@given(n=st.integers(0, 2**31 - 1), value=st.integers(1, 2**31 - 1), near=st.booleans())
def test_divisions_without_dividing_are_exact(n, value, near):
    if near:  # next to a multiple, where rounding would show
        n = max(0, n // value * value - 1)
    d = Divisor.of(value)
    assert d.multiplier * value >= 1 << d.shift  # not cut to 32 bits
    assert n * d.multiplier >> d.shift == n // value


SEQUENCES = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1, max_size=4
).filter(lambda s: any(n for n, _ in s))


@settings(max_examples=300, deadline=None)
@given(
    lengths=SEQUENCES,
    heads=st.integers(1, 3),
    tile_q=st.integers(1, 200),
    tile_k=st.integers(1, 130),
    causal=st.booleans(),
    align_end=st.booleans(),
    packed=st.booleans(),
    ctas=st.integers(1, 40),
)
def test_every_query_tile_is_visited_once_and_sees_the_right_key_tiles(
    lengths, heads, tile_q, tile_k, causal, align_end, packed, ctas
):
    if not packed:
        lengths = [(max(lengths[0][0], 1), lengths[0][1])] * len(lengths)
    call, starts = call_of(lengths, heads, align_end, packed)
    wanted = Counter(
        (batch, head, first)
        for batch, (queries, _) in enumerate(lengths)
        for head in range(heads)
        for first in range(0, queries, tile_q)
    )
    found = visits(call, tile_q, tile_k, causal, ctas, most=sum(wanted.values()) + 8)
    assert Counter((v["batch"], v["head"], v["q_first"]) for v in found) == wanted
    assert len(starts) == 2
    for v in found:
        queries, keys = lengths[v["batch"]]
        assert (v["queries"], v["keys"]) == (queries, keys)
        assert v["diagonal"] == (keys - queries if align_end else 0)
        check_range(v, tile_q, tile_k, causal)


@settings(max_examples=60, deadline=None)
@given(q_tiles=st.integers(1, 40), heads=st.integers(1, 6), ctas=st.integers(1, 140))
def test_causal_pairs_are_equal(q_tiles, heads, ctas):
    """Every CTA visits pairs of a long and a short tile; a middle tile stands alone."""
    call, _ = call_of([(q_tiles * 128, q_tiles * 128)], heads, False, False)
    found = visits(call, 128, 128, True, ctas, most=q_tiles * heads)
    loads = Counter()
    for v in found:
        loads[v["cta"]] += v["count"]
    pairs = -(-q_tiles // 2) * heads
    most = -(-pairs // ctas) * (q_tiles + 1)
    assert max(loads.values()) <= most
    assert sum(loads.values()) == heads * q_tiles * (q_tiles + 1) // 2


def exact(q, k, v, causal, diagonal):
    """float64 attention of [heads, rows, head dim] and its log-sum-exp; zeros where nothing is
    seen."""
    k, v = (np.repeat(t, q.shape[0] // t.shape[0], 0) for t in (k, v))
    scores = q @ k.transpose(0, 2, 1) * q.shape[-1] ** -0.5
    if causal:
        sees = np.arange(k.shape[1]) < np.arange(q.shape[1])[:, None] + 1 + diagonal
        scores = np.where(sees, scores, -np.inf)
    top = scores.max(-1, initial=-np.inf, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (np.log(total) + top)[..., 0]
    return weights @ v / np.where(total > 0, total, 1.0), lse


def compare(found, lse, wanted, sums):
    np.testing.assert_allclose(found, wanted, atol=2e-2, rtol=2e-2)
    np.testing.assert_allclose(lse, sums, atol=2e-4, rtol=2e-5)


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


LENGTH = st.one_of(st.integers(1, 40), st.integers(60, 330))
SPREAD = st.sampled_from((1.0, 6.0, 40.0))  # wide scores move the running maximum
FEW = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
KERNELS = [
    pytest.param(d, causal, id=f"{d}{'-causal' if causal else ''}", marks=marks)
    for d, marks in ((64, ()), (128, ()), (256, pytest.mark.slow))
    for causal in (False, True)
]


def kernel_of(head_dim, causal):
    return replace(attention_kernel(head_dim, causal=causal), causal=causal)


@pytest.mark.parametrize(("head_dim", "causal"), KERNELS)
@FEW
@given(
    queries=LENGTH,
    keys=LENGTH,
    share=st.integers(1, 2),
    align_end=st.booleans(),
    spread=SPREAD,
    ctas=st.integers(1, 4),
)
def test_the_emitted_consumer_computes_attention(
    head_dim, causal, queries, keys, share, align_end, spread, ctas
):
    q = normal(1, 2, share, queries, head_dim) * np.float32(spread)
    k, v = (normal(n, 2, 1, keys, head_dim) for n in (2, 3))
    host = host_of(kernel_of(head_dim, causal))
    found, lse = host.run(q, k, v, kv_heads=1, align_end=align_end, ctas=ctas)
    for batch in range(2):
        diagonal = keys - queries if align_end else 0
        wanted, sums = exact(*(t[batch].astype(np.float64) for t in (q, k, v)), causal, diagonal)
        compare(found[batch], lse[batch], wanted, sums)


@pytest.mark.parametrize(("head_dim", "causal"), KERNELS)
@FEW
@given(
    lengths=st.lists(
        st.tuples(st.integers(0, 150), st.integers(0, 200)), min_size=1, max_size=3
    ).filter(lambda s: any(a for a, _ in s) and any(b for _, b in s)),
    align_end=st.booleans(),
    ctas=st.integers(1, 3),
)
def test_packed_sequences_do_not_see_their_neighbours(head_dim, causal, lengths, align_end, ctas):
    starts = [np.cumsum([0, *column]) for column in zip(*lengths, strict=True)]
    q = normal(1, 1, 2, starts[0][-1], head_dim)
    k, v = (normal(n, 1, 1, starts[1][-1], head_dim) * 3 for n in (2, 3))
    most = tuple(max(column) for column in zip(*lengths, strict=True))
    host = host_of(kernel_of(head_dim, causal))
    found, lse = host.run(
        q, k, v, kv_heads=1, align_end=align_end, starts=starts, most=most, ctas=ctas
    )
    for i, (queries, keys) in enumerate(lengths):
        rows, cols = (slice(s[i], s[i + 1]) for s in starts)
        parts = (q[0, :, rows], k[0, :, cols], v[0, :, cols])
        diagonal = keys - queries if align_end else 0
        wanted, sums = exact(*(t.astype(np.float64) for t in parts), causal, diagonal)
        compare(found[0, :, rows], lse[:, rows], wanted, sums)


def test_a_wrong_mask_is_seen(monkeypatch):
    """The comparison can fail: one key too many at the diagonal changes the log-sum-exp."""
    kernel = kernel_of(64, True)
    wrong = TILES.replace("diagonal = call.align_end ? t.keys - t.queries : 0", "diagonal = 1")
    assert wrong != TILES
    monkeypatch.setattr("tests.cuda.host_attention.TILES", wrong)
    host_of.cache_clear()
    q, k, v = (normal(n, 1, 1, 100, 64) for n in (1, 2, 3))
    found, lse = host_of(kernel).run(q, k, v, kv_heads=1)
    host_of.cache_clear()
    wanted, sums = exact(*(t[0].astype(np.float64) for t in (q, k, v)), True, 0)
    with pytest.raises(AssertionError):
        compare(found[0], lse[0], wanted, sums)
