"""Derivatives through the ops: right, or refused by name; never silently zero."""

from __future__ import annotations

import pytest
import torch
from torch import func
from torch.autograd import forward_ad
from torch.nn import functional
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

import warploom.torch as ours
from warploom.errors import BackendError

pytestmark = [  # what torch says of its own decompositions
    pytest.mark.filterwarnings("ignore:.*torch.jit.script:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning"),
]
OPS = torch.ops.warploom
F64 = torch.float64
STARTS = torch.tensor([0, 3, 3, 8], dtype=torch.int32)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def wide(*shape):
    return torch.randn(*shape, dtype=F64)


def math(q, k, v):
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return functional.scaled_dot_product_attention(q, k, v)


CALLS = {
    "gemm": (OPS.gemm, lambda a, b: a @ b, (wide(5, 8), wide(8, 16))),
    "attention": (lambda *x: OPS.attention(*x)[0], math, [wide(1, 2, 5, 8) for _ in "qkv"]),
    "packed": (
        lambda *x: OPS.attention_packed(*x, STARTS, STARTS, 5, 5)[0],
        lambda q, k, v: torch.cat(
            [
                math(*(x[a:b].transpose(0, 1)[None] for x in (q, k, v)))[0].transpose(0, 1)
                for a, b in ((0, 3), (3, 8))
            ]
        ),
        [wide(8, 2, 4) for _ in "qkv"],
    ),
    "grouped": (
        lambda x, w: OPS.grouped_gemm(x, w, STARTS),
        lambda x, w: torch.cat([x[:3] @ w[0].T, x[3:] @ w[2].T]),
        (wide(8, 4), wide(3, 6, 4)),
    ),
}


def test_calls_with_a_tangent_do_not_go_past_the_dispatcher():
    from warploom.torch.ops import is_open

    x = wide(2, 2)
    assert is_open(x)
    with forward_ad.dual_level():
        assert not is_open(forward_ad.make_dual(x, x))


@pytest.mark.parametrize("name", CALLS)
def test_derivatives_taken_forward(name):
    call, by_torch, given = CALLS[name]
    tangents = tuple(torch.randn_like(x) for x in given)
    wanted = func.jvp(by_torch, tuple(given), tangents)
    found = func.jvp(call, tuple(given), tangents)
    for x, y in zip(found, wanted, strict=True):
        torch.testing.assert_close(x, y, atol=1e-9, rtol=1e-9)
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(given, tangents, strict=True)]
        tangent = forward_ad.unpack_dual(call(*duals)).tangent
    torch.testing.assert_close(tangent, wanted[1], atol=1e-9, rtol=1e-9)


def twice(call, which):
    return func.grad(lambda *given: func.grad(call)(*given).sum(), which)


@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_functions(name):
    call, by_torch, given = CALLS[name]
    which = tuple(range(len(given)))
    for transform in (func.grad, twice):
        found, wanted = (
            transform(lambda *x, f=f: f(*x).square().sum(), which)(*given) for f in (call, by_torch)
        )
        for x, y in zip(found, wanted, strict=True):
            torch.testing.assert_close(x, y, atol=1e-8, rtol=1e-8)


def lse_of(q, k, causal=False, lower_right=False):
    x = q @ k.repeat_interleave(q.shape[-3] // k.shape[-3], -3).mT * q.shape[-1] ** -0.5
    if causal:
        seen = torch.ones(x.shape[-2:], dtype=torch.bool)
        x = x.masked_fill(~seen.tril(x.shape[-1] - x.shape[-2] if lower_right else 0), -torch.inf)
    return x.logsumexp(-1)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("how", [(False, False), (True, False), (True, True)])
def test_gradients_of_the_log_sum_exp_are_not_left_out(how, both):
    """Of it alone, and added to those of the result; heads share keys."""
    q, k, v = wide(1, 4, 5, 8), wide(1, 2, 7, 8), wide(1, 2, 7, 8)
    causal, lower_right = how

    def loss(out, lse):
        return lse.double().square().sum() + (out.square().sum() if both else 0.0)

    def mine(*x):
        return loss(*OPS.attention(*x, causal, None, lower_right))

    def theirs(q, k, v):
        x = lse_of(q, k, causal, lower_right)
        p = (q @ k.repeat_interleave(2, 1).mT * 8**-0.5).masked_fill(
            ~torch.ones(5, 7, dtype=torch.bool).tril(2 if lower_right else 0)
            if causal
            else torch.zeros(5, 7, dtype=torch.bool),
            -torch.inf,
        )
        return loss((p - x[..., None]).exp() @ v.repeat_interleave(2, 1), x)

    found, wanted = (
        torch.autograd.grad(f(*given), given, allow_unused=True)
        for f in (mine, theirs)
        for given in [[x.clone().requires_grad_() for x in (q, k, v)]]
    )
    for x, y in zip(found, wanted, strict=True):
        torch.testing.assert_close(x, torch.zeros_like(x) if y is None else y, atol=1e-6, rtol=1e-6)


def test_gradients_of_the_log_sum_exp_of_packed_sequences():
    q, k, v = (wide(8, 2, 4).requires_grad_() for _ in "qkv")
    lse = OPS.attention_packed(q, k, v, STARTS, STARTS, 5, 5)[1].double()
    wanted = torch.cat(
        [lse_of(*(x[a:b].transpose(0, 1) for x in (q, k))) for a, b in ((0, 3), (3, 8))], 1
    )
    for x, y in zip(
        torch.autograd.grad(lse.square().sum(), (q, k)),
        torch.autograd.grad(wanted.square().sum(), (q, k)),
        strict=True,
    ):
        torch.testing.assert_close(x, y, atol=1e-6, rtol=1e-6)


def second(call, given):
    given = [x.clone().requires_grad_() for x in given]
    first = torch.autograd.grad(call(*given).square().sum(), given, create_graph=True)
    return torch.autograd.grad(sum(x.square().sum() for x in first), given)


def test_second_derivatives_of_products():
    for name in ("none", "silu", "gelu"):
        act = {"none": lambda x: x, "silu": functional.silu, "gelu": functional.gelu}[name]
        given = (wide(5, 8), wide(8, 16), wide(16))
        found = second(lambda a, b, c, n=name: OPS.gemm(a, b, c, 0.5, n), given)
        wanted = second(lambda a, b, c, f=act: f(0.5 * (a @ b) + c), given)
        for x, y in zip(found, wanted, strict=True):
            torch.testing.assert_close(x, y, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("name", ["attention", "packed", "grouped"])
def test_second_derivatives_are_refused(name):
    call, _, given = CALLS[name]
    with pytest.raises(BackendError, match=r"derivative of warploom|gradient of warploom"):
        second(call, given)


def test_ops_without_a_gradient_refuse_every_kind_of_derivative():
    x, w = wide(4, 8), wide(6, 8)
    for take in (
        lambda f: func.jvp(f, (x,), (x,)),
        lambda f: func.grad(lambda y: f(y).sum())(x),
    ):
        with pytest.raises(BackendError, match=r"gradient of warploom\.swiglu"):
            take(lambda y: OPS.swiglu(y, w, w))


def test_gradients_in_float64():
    """Numbers of 64 bits are computed with 64: torch's own check of gradients needs it."""
    for name in ("gemm", "attention", "grouped"):
        call, by_torch, given = CALLS[name]
        torch.testing.assert_close(call(*given), by_torch(*given), atol=1e-12, rtol=1e-12)
        inputs = [x.clone().requires_grad_() for x in given]
        assert torch.autograd.gradcheck(call, inputs, fast_mode=True)
    out, lse = OPS.attention(*CALLS["attention"][2])
    assert (out.dtype, lse.dtype) == (F64, torch.float32)


def fake(call, *given):
    return call(*(x.to("meta") if isinstance(x, torch.Tensor) else x for x in given))


def test_fake_kernels_equal_real_ones():
    x, w, starts = torch.randn(8, 8), torch.randn(2, 16, 8), torch.tensor([1, 3, 6]).int()
    found = OPS.grouped_gemm(x, w, starts)
    assert found.shape == fake(OPS.grouped_gemm, x, w, starts).shape == (8, 16)
    assert not found[[0, 6, 7]].any()  # rows of no group
    q, none = torch.randn(1, 2, 3, 64), torch.randn(1, 2, 0, 64)
    out, lse = OPS.attention(q, none, none)
    assert not out.any()
    assert (lse == -torch.inf).all()
    wrong = [
        (OPS.gemm, x, x, torch.randn(8, 8)),
        (OPS.gemm, x, x, torch.randn(7)),
        (OPS.attention, q, q, q, False, 0.0),
        (OPS.attention, q, q, q, False, -1.0),
        (OPS.attention_packed, q[0], q[0], q[0, :, :2], starts, starts, 3, 3),
        (OPS.attention_packed, q[0], q[0], q[0], starts.long(), starts, 3, 3),
    ]
    for call, *given in wrong:
        told = []
        for run in (call, lambda *g, f=call: fake(f, *g)):
            with pytest.raises((RuntimeError, BackendError)) as error:
                run(*given)
            told.append(str(error.value))
        assert told[0] == told[1]


def test_the_same_bits_are_honoured(monkeypatch):
    """The kernel that adds in turn, torch where there is none, and a refusal where neither is."""
    from warploom.torch import autograd, fused

    taken = []
    monkeypatch.setattr(autograd, "has_attention_backward", lambda q: True)
    for name in ("attention_backward", "attention_packed_backward"):
        monkeypatch.setattr(autograd, name, lambda *g, n=name, **k: taken.append((n, k)) or g[1:4])

    class OnGpu(torch.Tensor):
        is_cuda = True

    q = torch.randn(1, 2, 5, 8).as_subclass(OnGpu)
    rows = torch.randn(8, 2, 4).as_subclass(OnGpu)
    for same in (False, True):
        monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda s=same: s)
        autograd.attention_grads(q, q, q, q, q, q)
        autograd.packed_grads(rows, rows, rows, rows, rows, rows, STARTS, STARTS)
    assert taken == [
        ("attention_backward", {"deterministic": False}),
        ("attention_packed_backward", {}),
        ("attention_backward", {"deterministic": True}),
    ]
    with pytest.raises(BackendError, match="the same bits of warploom"):
        fused._run_added(x=q)


MASKS = {
    "none": {},
    "causal": {"is_causal": True},
    "bool": {"attn_mask": torch.ones(6, 6, dtype=torch.bool).tril()},
    "float": {"attn_mask": torch.zeros(6, 6)},
    "upper left": {"attn_mask": causal_upper_left(6, 6)},
    "lower right": {"attn_mask": causal_lower_right(6, 6)},
    "dropout": {"dropout_p": 0.5},
    "scale": {"scale": 0.3},
    "negative scale": {"scale": -0.3},
    "gqa": {"enable_gqa": True},
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, F64])
def test_ours_in_place_of_torchs_does_not_call_itself(name, dtype, monkeypatch):
    torchs, given = functional.scaled_dot_product_attention, dict(MASKS[name])
    if name == "float":
        given["attn_mask"] = given["attn_mask"].to(dtype)
    heads = 1 if name == "gqa" else 2
    q = torch.randn(2, 2, 6, 8, dtype=dtype)
    k, v = (torch.randn(2, heads, 6, 8, dtype=dtype) for _ in "kv")
    torch.manual_seed(1)
    wanted = torchs(q, k, v, **given)
    mine = ours.scaled_dot_product_attention
    monkeypatch.setattr(functional, "scaled_dot_product_attention", mine)
    torch.manual_seed(1)
    torch.testing.assert_close(functional.scaled_dot_product_attention(q, k, v, **given), wanted)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_a_transformer_layer_with_ours_in_place(train, causal, monkeypatch):
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    layer.train(train)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(7) if causal else None
    padding = torch.zeros(3, 7, dtype=torch.bool)
    padding[1, 5:] = True

    def run():
        x = torch.linspace(-1, 1, 3 * 7 * 16).reshape(3, 7, 16).requires_grad_()
        made = layer(x, src_mask=mask, is_causal=causal)
        made = made + layer(x, src_key_padding_mask=padding)
        return made, *torch.autograd.grad(made.square().sum(), [x, *layer.parameters()])

    wanted = run()
    calls = []

    def counted(*given, **more):
        calls.append(given)
        return ours.scaled_dot_product_attention(*given, **more)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", counted)
    for x, y in zip(run(), wanted, strict=True):
        torch.testing.assert_close(x, y)
    assert calls
    assert len(calls) < 10


def test_gradients_by_torch_do_not_call_ours(monkeypatch):
    """The backward pass that torch computes calls torch's own, whatever lies in its place."""
    q = torch.randn(1, 2, 5, 8, requires_grad=True)
    k = torch.randn(1, 2, 7, 8, requires_grad=True)

    def grads():
        out = OPS.attention(q, k, k, True, None, True)[0]
        return torch.autograd.grad(out.square().sum(), (q, k))

    wanted = grads()
    monkeypatch.setattr(functional, "scaled_dot_product_attention", None)
    for x, y in zip(grads(), wanted, strict=True):
        torch.testing.assert_close(x, y)


@pytest.mark.parametrize("name", ["attention", "packed", "grouped", "gemm"])
def test_gradients_through_checkpoints(name):
    from torch.utils.checkpoint import checkpoint

    call, by_torch, given = CALLS[name]
    found, wanted = (
        torch.autograd.grad(checkpoint(f, *x, use_reentrant=False).square().sum(), x)
        for f in (call, by_torch)
        for x in [[y.clone().requires_grad_() for y in given]]
    )
    for x, y in zip(found, wanted, strict=True):
        torch.testing.assert_close(x, y, atol=1e-8, rtol=1e-8)


def test_flex_attention_refuses_a_gradient_of_its_log_sum_exp(monkeypatch):
    from warploom.torch import flex

    monkeypatch.setattr(flex, "attention", lambda q, k, v, **_: (q * 1.0, q.sum(-1)))
    monkeypatch.setattr(flex, "attention_backward", lambda g, q, *_, **__: (g, g, g))
    q = wide(1, 2, 5, 8).requires_grad_()
    out, lse = flex._Flexible.apply(q, q, q, None, None, None)
    (grad,) = torch.autograd.grad(out.sum(), q, retain_graph=True)
    assert (grad == 3).all()
    for loss in (lse.sum(), out.sum() + lse.sum()):
        with pytest.raises(BackendError, match="log-sum-exp"):
            torch.autograd.grad(loss, q, retain_graph=True)
