"""On a Hopper GPU: the torch ops checked by torch, inside compiled graphs, with gradients."""

from __future__ import annotations

import pytest

from .gpu import NEEDS_HOPPER, TORCH_WARNINGS

torch = pytest.importorskip("torch", reason="torch is not installed")


wt = pytest.importorskip("warploom.torch")
pytestmark = [*NEEDS_HOPPER, *TORCH_WARNINGS]


@pytest.fixture(scope="module")
def op():
    return torch.ops.warploom.attention


def inputs_of(heads=4, kv_heads=2, queries=200, keys=328, dim=128, dtype=torch.bfloat16):
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
    torch.library.opcheck(op.default, (*inputs_of(), causal, scale))


@pytest.mark.parametrize("dim", [64, 128, 256])
@pytest.mark.parametrize("causal", [False, True])
def test_a_compiled_graph_computes_attention(op, dim, causal):
    def layer(q, k, v):
        out, lse = op(q * 0.5, k, v, causal)
        return out * 2.0, lse

    q, k, v = inputs_of(dim=dim)
    out, lse = torch.compile(layer, fullgraph=True)(q, k, v)
    want, sums = exact(q * 0.5, k, v, causal, None)
    assert ((out.double() / 2.0 - want).norm() / want.norm()).item() < 1e-2
    torch.testing.assert_close(lse.double(), sums, rtol=1e-3, atol=1e-2)


def test_a_compiled_graph_serves_several_lengths(op):
    compiled = torch.compile(lambda q, k, v: op(q, k, v, True)[0], dynamic=True, fullgraph=True)
    for queries in (128, 200, 333):
        q, k, v = inputs_of(queries=queries, keys=queries)
        want, _ = exact(q, k, v, True, None)
        assert ((compiled(q, k, v).double() - want).norm() / want.norm()).item() < 1e-2


def matrices(m=256, n=512, k=384, grad=False):
    make = lambda *s: torch.randn(*s, device="cuda", dtype=torch.bfloat16)  # noqa: E731
    return [t.requires_grad_(grad) for t in (make(m, k), make(n, k), make(n))]


def far(found, want):
    return ((found.double() - want.double()).norm() / want.double().norm()).item()


@pytest.mark.parametrize("grad", [False, True])
def test_torch_accepts_the_product(grad):
    a, w, bias = matrices(grad=grad)
    b = w.detach().T.requires_grad_(grad)
    torch.library.opcheck(torch.ops.warploom.gemm.default, (a, b, bias, 0.5, "silu"))


@pytest.mark.parametrize("activation", ["none", "relu", "gelu", "silu"])
@pytest.mark.parametrize("compiled", [False, True])
def test_products_have_gradients(activation, compiled):
    def layer(a, w, bias):
        return wt.gemm(a, w.T, bias, 0.5, activation)

    inputs = matrices(grad=True)
    run = torch.compile(layer, fullgraph=True) if compiled else layer
    out = run(*inputs)
    grad = torch.randn_like(out)
    wide = [t.detach().double().requires_grad_() for t in inputs]
    exact = 0.5 * wide[0] @ wide[1].T + wide[2]
    if activation != "none":
        exact = getattr(torch.nn.functional, activation)(exact)
    assert far(out, exact) < 5e-3
    found = torch.autograd.grad(out, inputs, grad)
    for x, y in zip(found, torch.autograd.grad(exact, wide, grad.double()), strict=True):
        assert far(x, y) < 2e-2


def test_operands_of_other_strides_are_copied():
    a, w, _ = matrices()
    for x, y in ((a.T.contiguous().T, w.T), (a, w.T.contiguous())):
        assert torch.equal(wt.gemm(x, y), wt.gemm(a, w.T))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_has_gradients(causal):
    inputs = [t.requires_grad_() for t in inputs_of()]
    out, _ = wt.attention(*inputs, causal)
    grad = torch.randn_like(out)
    wide = [t.detach().double().requires_grad_() for t in inputs]
    want, _ = exact(*wide, causal, None)
    assert far(out, want) < 1e-2
    found = torch.autograd.grad(out, inputs, grad)
    for x, y in zip(found, torch.autograd.grad(want, wide, grad.double()), strict=True):
        assert far(x, y) < 2e-2


@pytest.mark.parametrize("compiled", [False, True])
def test_the_drop_in_takes_the_kernel(compiled, monkeypatch):
    def layer(q, k, v):
        return wt.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    q, k, v = inputs_of()
    want, _ = exact(q, k, v, True, None)
    ours = wt.attention(q, k, v, True)[0]
    run = torch.compile(layer, fullgraph=True) if compiled else layer
    assert torch.equal(run(q, k, v), ours)
    assert far(ours, want) < 1e-2
    masked = wt.scaled_dot_product_attention(
        q, k, v, attn_mask=torch.zeros(200, 328, device="cuda", dtype=q.dtype), enable_gqa=True
    )
    assert far(masked, exact(q, k, v, False, None)[0]) < 1e-2


def test_packed_sequences_as_an_op():
    starts = [
        torch.tensor(s, dtype=torch.int32, device="cuda") for s in ([0, 50, 120], [0, 80, 100])
    ]
    make = lambda *s: torch.randn(*s, 64, device="cuda", dtype=torch.float16)  # noqa: E731
    heads = make(120, 4), make(100, 2), make(100, 2)
    here, there = ([t.to(d).requires_grad_() for t in heads] for d in ("cuda", "cpu"))
    out, lse = torch.ops.warploom.attention_packed(*here, *starts, 70, 80, True)
    others = [t.cpu() for t in starts]
    want, sums = torch.ops.warploom.attention_packed(*there, *others, 70, 80, True)
    assert far(out.cpu(), want) < 5e-3
    torch.testing.assert_close(lse.cpu(), sums, rtol=1e-3, atol=1e-2)
    grad = torch.randn_like(out)
    found = torch.autograd.grad(out, here, grad)
    for x, y in zip(found, torch.autograd.grad(want, there, grad.cpu()), strict=True):
        assert far(x.cpu(), y) < 2e-2


def test_whoever_looks_sees_the_op():
    """Eager calls go past the dispatcher only where nobody would see them there."""
    from warploom import gemm as launch_gemm

    a, b = (torch.randn(256, 256, device="cuda", dtype=torch.bfloat16) for _ in "ab")
    want, seen = [torch.ops.warploom.gemm(a, b.T) for _ in range(4)][-1], []

    class Functions(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    class Dispatch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    for mode in (Functions, Dispatch):
        seen.clear()
        with mode():
            for _ in range(4):
                torch.testing.assert_close(torch.ops.warploom.gemm(a, b.T), want)
        assert sum("warploom.gemm" in name for name in seen) == 4, mode
    with torch.profiler.profile() as profiled:
        torch.ops.warploom.gemm(a, b.T)
    assert any(e.name == "warploom::gemm" for e in profiled.events())
    traced = torch.jit.trace(lambda x, y: torch.ops.warploom.gemm(x, y.T), (a, b))
    assert "warploom::gemm" in str(traced.graph)
    x = a.clone().requires_grad_()
    for _ in range(4):
        launch_gemm(x, b.T)
        assert torch.ops.warploom.gemm(x, b.T).grad_fn is not None
    with torch.no_grad():
        assert torch.ops.warploom.gemm(x, b.T).grad_fn is None
    assert torch.ops.warploom.gemm(x, b.T).grad_fn is not None
