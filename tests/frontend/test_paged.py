"""Attention over pages, by its NumPy meaning: the same as over keys that lie together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from warploom.kernels.attention import attention, paged

DIM, PAGE = 64, 64


def kernel_of(text, without, causal, **sizes):
    types = dict.fromkeys(("q", "k", "v", "out"), "f32")
    kinds = types | {"lse": "f32", "lengths": "i32", "table": "i32"}
    return text.specialise(
        {n: kinds[n] for n in (t.name for t in text.signature.tensors) if n not in without},
        sizes=sizes,
        constants={"causal": causal},
        without=without,
    )


def gathered(pages, table, most):
    """[sequences, heads, keys, head dim] of pages [pages, heads, page, head dim]."""
    found = np.stack([np.concatenate([pages[p] for p in row], axis=1) for row in table])
    return found[:, :, :most]


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(0, 3 * PAGE), min_size=1, max_size=3),
    st.sampled_from([False, True, "end"]),
    st.sampled_from([1, 3]),
    st.integers(0, 2**32 - 1),
)
def test_pages_are_keys_in_another_order(lengths, causal, queries, seed):
    rng = np.random.default_rng(seed)
    batch, heads, groups, most = len(lengths), 4, 2, 3
    pages = rng.standard_normal((2, 10, groups, PAGE, DIM))
    table = rng.permutation(10)[: batch * most].reshape(batch, most).astype(np.int32)
    q = rng.standard_normal((batch, heads, queries, DIM))
    ends = np.array(lengths, np.int32)
    k, v = (gathered(x, table, most * PAGE) for x in pages)
    want = kernel_of(attention, {"lse"}, causal, d=DIM).reference(q, k, v, ends, scale=0.125)
    mine = kernel_of(paged, {"lse"}, causal, d=DIM, u=PAGE)
    found = mine.reference(q, *pages, table, ends, scale=0.125)
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-9)


def test_a_step_of_one_is_a_number_and_no_axis():
    listing = str(kernel_of(paged, {"lse"}, False, d=DIM, u=PAGE))
    assert "table[b, j]" in listing
    assert "f32[s, u]" in listing
    assert "position of j" in listing
    assert "[j" not in listing.replace("table[b, j]", "").replace("[b, j]", "")


@pytest.mark.parametrize("text", [paged])
def test_it_has_the_arguments_of_attention(text):
    names = [t.name for t in text.signature.tensors]
    assert names == ["q", "k", "v", "table", "lengths", "out", "lse"]
