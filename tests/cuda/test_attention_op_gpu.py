"""On a Hopper GPU: attention as a torch op, checked by torch itself and inside a compiled graph."""

from __future__ import annotations

import pytest

from warploom.launch import torch_op

from .gpu import NEEDS_HOPPER

torch = pytest.importorskip("torch", reason="torch is not installed")


pytestmark = NEEDS_HOPPER


@pytest.fixture(scope="module")
def op():
    return torch_op.register().attention


def inputs(heads=4, kv_heads=2, queries=200, keys=328, dim=128, dtype=torch.bfloat16):
    make = lambda *s: torch.randn(2, *s, dim, device="cuda", dtype=dtype)  # noqa: E731
    return make(heads, queries), make(kv_heads, keys), make(kv_heads, keys)


def exact(q, k, v, causal, scale):
    """float64 attention and its log-sum-exp; causal: query i sees keys 0..i."""
    share = q.shape[1] // k.shape[1]
    k, v = (t.double().repeat_interleave(share, 1) for t in (k, v))
    scores = q.double() @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~seen, float("-inf"))
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.2])
def test_torch_accepts_the_op(op, causal, scale):
    torch.library.opcheck(op, (*inputs(), causal, scale))


@pytest.mark.parametrize("dim", [64, 128, 256])
@pytest.mark.parametrize("causal", [False, True])
def test_a_compiled_graph_computes_attention(op, dim, causal):
    def layer(q, k, v):
        out, lse = op(q * 0.5, k, v, causal)
        return out + 1.0, lse

    q, k, v = inputs(dim=dim)
    out, lse = torch.compile(layer, fullgraph=True)(q, k, v)
    want, sums = exact(q * 0.5, k, v, causal, None)
    assert ((out.double() - 1.0 - want).norm() / want.norm()).item() < 2e-2
    torch.testing.assert_close(lse.double(), sums, rtol=1e-3, atol=1e-2)


def test_a_compiled_graph_serves_several_lengths(op):
    compiled = torch.compile(lambda q, k, v: op(q, k, v, True)[0], dynamic=True, fullgraph=True)
    for queries in (128, 200, 333):
        q, k, v = inputs(queries=queries, keys=queries)
        want, _ = exact(q, k, v, True, None)
        assert ((compiled(q, k, v).double() - want).norm() / want.norm()).item() < 1e-2
