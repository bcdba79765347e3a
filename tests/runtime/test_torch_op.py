"""``warploom.torch`` without a GPU: the ops on the CPU and on fake tensors, checked by torch."""

from __future__ import annotations

import logging

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
wt = pytest.importorskip("warploom.torch")
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention as sdpa  # noqa: E402

from warploom.torch import (  # noqa: E402
    autograd,
    schema,
)

from .gpu import TORCH_WARNINGS  # noqa: E402
from .torch_inputs import doubled, far, heads, matrices  # noqa: E402

pytestmark = TORCH_WARNINGS
MASKS = [(False, False), (True, False), (True, True)]
ACTIVATIONS = list(schema.ACTIVATIONS)


def test_the_ops_are_there_on_import():
    for name in ("gemm", "attention", "attention_packed", "attention_backward"):
        assert hasattr(torch.ops.warploom, name)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_product_and_its_gradients(activation):
    a, w, bias = matrices()
    out = wt.gemm(a, w.T, bias, 0.5, activation)
    grad = torch.randn_like(out)
    found = torch.autograd.grad(out, (a, w, bias), grad)
    wide = doubled(a, w, bias)
    exact = schema.ACTIVATIONS[activation](0.5 * wide[0] @ wide[1].T + wide[2])
    assert far(out, exact) < 1e-3
    for x, y in zip(found, torch.autograd.grad(exact, wide, grad.double()), strict=True):
        assert far(x, y) < 2e-3


def test_gradients_of_sizes_that_no_copy_reads_fall_back():
    a, w, _ = matrices(m=13, n=7, k=9)
    grads = torch.autograd.grad(wt.gemm(a, w.T).sum(), (a, w))
    wide = doubled(a, w)
    for x, y in zip(grads, torch.autograd.grad((wide[0] @ wide[1].T).sum(), wide), strict=True):
        assert far(x, y) < 2e-3


def test_only_wanted_gradients_are_computed(monkeypatch):
    calls = []
    real = autograd.product
    monkeypatch.setattr(autograd, "product", lambda *a: calls.append(1) or real(*a))
    a, w, _ = matrices()
    wt.gemm(a.detach(), w.T).sum().backward()
    assert len(calls) == 1


def test_float8_has_no_gradient():
    a = torch.zeros(16, 16).to(torch.float8_e4m3fn).requires_grad_()
    with pytest.raises(TypeError, match="float8"):
        wt.gemm(a, a.T)


@pytest.mark.parametrize(("causal", "lower_right"), MASKS)
def test_attention_and_its_gradients(causal, lower_right):
    inputs = heads()
    out, lse = wt.attention(*inputs, causal, None, lower_right)
    grad = torch.randn_like(out)
    found = torch.autograd.grad(out, inputs, grad, retain_graph=True)
    wide = doubled(*inputs)
    exact = autograd.torch_attention(*wide, causal=causal, scale=None, lower_right=lower_right)
    assert far(out, exact) < 1e-3
    for x, y in zip(found, torch.autograd.grad(exact, wide, grad.double()), strict=True):
        assert far(x, y) < 2e-3
    sums = scores(*wide[:2], causal, lower_right).logsumexp(-1)
    grad = torch.where(sums.isneginf(), 0.0, torch.randn_like(sums))
    found = torch.autograd.grad(lse, inputs[:2], grad.float())
    for x, y in zip(found, torch.autograd.grad(sums, wide[:2], grad), strict=True):
        assert far(x, y) < 2e-3


def scores(q, k, causal, lower_right):
    """What attention takes the softmax of; queries of a group share their keys."""
    products = q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT * q.shape[-1] ** -0.5
    seen = torch.ones(products.shape[-2:], dtype=torch.bool)
    first = k.shape[2] - q.shape[2] if lower_right else 0
    return products.masked_fill(~seen.tril(first), float("-inf")) if causal else products


def test_packed_sequences_are_attended_one_by_one():
    starts = [torch.tensor(s, dtype=torch.int32) for s in ([0, 5, 5, 12], [0, 3, 9, 20])]
    q, k = torch.randn(12, 4, 64), torch.randn(20, 2, 64)
    out, lse = wt.attention_packed(q, k, k, *starts, 7, 11, True)
    for (q0, q1), (k0, k1) in (((0, 5), (0, 3)), ((5, 12), (9, 20))):
        part = [t.transpose(0, 1)[None] for t in (q[q0:q1], k[k0:k1])]
        want, sums = wt.attention(part[0], part[1], part[1], True)
        assert torch.equal(out[q0:q1], want[0].transpose(0, 1))
        assert torch.equal(lse[:, q0:q1], sums[0])


@pytest.mark.parametrize(("causal", "lower_right"), MASKS)
def test_packed_sequences_have_gradients(causal, lower_right):
    """Some have no queries, some no keys, some queries that see none."""
    starts = [torch.tensor(s, dtype=torch.int32) for s in ([0, 5, 5, 12, 14], [0, 3, 9, 20, 20])]
    q = torch.randn(14, 4, 64, requires_grad=True)
    k, v = (torch.randn(20, 2, 64, requires_grad=True) for _ in "kv")
    out, lse = wt.attention_packed(q, k, v, *starts, 7, 11, causal, None, lower_right)
    grad, of_sums = torch.randn_like(out), torch.randn_like(lse)
    of_sums[lse.isneginf()] = 0.0
    found = torch.autograd.grad((out, lse), (q, k, v), (grad, of_sums))
    for (q0, q1), (k0, k1) in (((0, 5), (0, 3)), ((5, 12), (9, 20))):
        part = [
            t.detach()[a:b].transpose(0, 1)[None].requires_grad_()
            for t, (a, b) in ((q, (q0, q1)), (k, (k0, k1)), (v, (k0, k1)))
        ]
        ours, _ = schema.cpu_attention(*part, causal, None, lower_right)
        sums = scores(*part[:2], causal, lower_right).logsumexp(-1)
        given = grad[q0:q1].transpose(0, 1)[None], of_sums[None, :, q0:q1]
        exact = torch.autograd.grad((ours, sums), part, given)
        for x, y, a, b in zip(found, exact, (q0, k0, k0), (q1, k1, k1), strict=True):
            torch.testing.assert_close(x[a:b], y[0].transpose(0, 1))
    assert not found[0][12:].any()  # no keys
    assert not found[1][3:9].any()  # no queries
    assert all(torch.isfinite(t).all() for t in found)


@pytest.mark.parametrize("form", ["swiglu", "scaled", "scaled groups"])
def test_fused_products_by_torch(form):
    starts = torch.tensor([0, 3, 3, 10], dtype=torch.int32)
    x, w, up = torch.randn(10, 256), torch.randn(3, 128, 256), torch.randn(3, 128, 256)
    ops, parts = torch.ops.warploom, (slice(0, 3), slice(3, 3), slice(3, 10))
    if form == "swiglu":
        args = (x, w, up, starts)
        g, u = (torch.cat([x[r] @ m[e].T for e, r in enumerate(parts)]) for m in (w, up))
        found, wanted = ops.grouped_swiglu(*args), torch.nn.functional.silu(g) * u
    else:
        sa, sb, b = torch.rand(10, 2), torch.rand(3, 1, 2), w.to(torch.float8_e4m3fn)
        a, wide = x.to(torch.float8_e4m3fn), b.float() * sb.repeat_interleave(128, -1)
        left = a.float() * sa.repeat_interleave(128, -1)
        one = form == "scaled"
        args = (a, sa, b[0], sb[0]) if one else (a, sa, b, sb, starts)
        by_group = torch.cat([left[r] @ wide[e].T for e, r in enumerate(parts)])
        found, wanted = ops.gemm_block_scaled(*args), left @ wide[0].T if one else by_group
    torch.testing.assert_close(found.float(), wanted, rtol=1e-2, atol=1e-2)
    if form == "swiglu":  # torch cannot compare fp8 tensors
        torch.library.opcheck(ops.grouped_swiglu.default, args, test_utils="test_faketensor")


@pytest.mark.slow
@pytest.mark.parametrize("grad", [False, True])
def test_torch_accepts_the_ops(grad):
    a, w, bias = matrices(grad=grad)
    ops = torch.ops.warploom
    torch.library.opcheck(ops.gemm.default, (a, w.T.detach().requires_grad_(grad), bias, 0.5))
    torch.library.opcheck(ops.attention.default, (*heads(grad=grad), True, None, True))
    starts = torch.tensor([0, 5, 12], dtype=torch.int32)
    packed = [torch.randn(12, n, 64, requires_grad=grad) for n in (4, 2, 2)]
    torch.library.opcheck(ops.attention_packed.default, (*packed, starts, starts, 7, 7, True))


@pytest.mark.slow
def test_compiled_graphs_hold_the_ops_whole():
    def layer(x, w, bias, q, k, v):
        y = wt.gemm(x * 2.0, w.T, bias, 1.0, "gelu")
        z, _ = wt.attention(q, k, v, True)
        return y.sum() + wt.scaled_dot_product_attention(z, k, v, enable_gqa=True).sum()

    inputs = (*matrices(), *heads(20))
    want = torch.autograd.grad(layer(*inputs), inputs)
    compiled = torch.compile(layer, fullgraph=True)
    for x, y in zip(torch.autograd.grad(compiled(*inputs), inputs), want, strict=True):
        torch.testing.assert_close(x, y, rtol=2e-2, atol=2e-2)


def test_fake_tensors_have_the_results_shapes():
    with FakeTensorMode():
        q = torch.empty_strided(
            (2, 8, 100, 64), (51200, 64, 512, 1), dtype=torch.bfloat16, device="cuda"
        )
        k = torch.empty(2, 4, 300, 64, dtype=torch.bfloat16, device="cuda")
        out, lse = torch.ops.warploom.attention(q, k, k, True)
        assert (out.shape, out.dtype) == (q.shape, q.dtype)
        assert out.is_contiguous()
        assert (tuple(lse.shape), lse.dtype) == ((2, 8, 100), torch.float32)
        a = torch.empty(3, 16, device="cuda").to(torch.float8_e4m3fn)
        assert torch.ops.warploom.gemm(a, a.T).dtype == torch.bfloat16


BAD = [
    ((8, 100, 64), (2, 4, 300, 64), "batch, heads, length"),
    ((2, 8, 100, 64), (1, 4, 300, 64), "batches"),
    ((2, 8, 100, 64), (2, 3, 300, 64), "divide"),
    ((2, 8, 100, 64), (2, 4, 300, 32), "head dimensions"),
]


@pytest.mark.parametrize(("q", "k", "says"), BAD, ids=[b[2] for b in BAD])
def test_shapes_are_checked_while_tracing(q, k, says):
    with FakeTensorMode():
        x, y = torch.empty(*q, device="cuda"), torch.empty(*k, device="cuda")
        with pytest.raises(RuntimeError, match=says):
            torch.ops.warploom.attention(x, y, y)


def test_products_are_checked_while_tracing():
    with FakeTensorMode():
        x, y = torch.empty(3, 4, device="cuda"), torch.empty(5, 5, device="cuda")
        with pytest.raises(RuntimeError, match="inner sizes differ"):
            torch.ops.warploom.gemm(x, y)
        with pytest.raises(RuntimeError, match="unknown activation"):
            torch.ops.warploom.gemm(x, x.T, None, 1.0, "swish")


@pytest.mark.slow
def test_a_layer_exports_with_lengths_of_any_size():
    class Layer(torch.nn.Module):
        def forward(self, q, k, v):
            return torch.ops.warploom.attention(q, k, v, True)[0]

    q, k, _ = heads(grad=False)
    length, keys = torch.export.Dim("length", min=2), {2: torch.export.Dim("keys", min=2)}
    program = torch.export.export(Layer(), (q, k, k), dynamic_shapes=({2: length}, keys, keys))
    called = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    assert "warploom.attention.default" in called


def test_the_drop_in_computes_what_torch_does_and_says_why(caplog):
    autograd._SAID.clear()
    q, k, v = heads(grad=False)
    with caplog.at_level(logging.INFO, "warploom.torch"):
        found = wt.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        wt.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    assert torch.equal(found, sdpa(q, k, v, is_causal=True, enable_gqa=True))
    assert [r.message for r in caplog.records] == [
        "scaled_dot_product_attention: torch's own, because the tensors are not on a Hopper GPU"
    ]
