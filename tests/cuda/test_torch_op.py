"""``warploom.torch`` without a GPU: the ops on the CPU and on fake tensors, checked by torch."""

from __future__ import annotations

import inspect
import logging

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
wt = pytest.importorskip("warploom.torch")
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.nn.attention.bias import causal_lower_right, causal_upper_left  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention as sdpa  # noqa: E402

from warploom.errors import BackendError  # noqa: E402
from warploom.torch import (  # noqa: E402
    autograd,
    schema,
    sdpa as ours,
)

from .gpu import TORCH_WARNINGS  # noqa: E402

pytestmark = TORCH_WARNINGS
MASKS = [(False, False), (True, False), (True, True)]
ACTIVATIONS = list(schema.ACTIVATIONS)


def matrices(m=16, n=24, k=32, grad=True):
    torch.manual_seed(0)
    make = lambda *s: torch.randn(*s, dtype=torch.float16, requires_grad=grad)  # noqa: E731
    return make(m, k), make(n, k), make(n)


def heads(queries=10, keys=20, grad=True, dim=64):
    torch.manual_seed(0)
    make = lambda *s: torch.randn(2, *s, dim, dtype=torch.float16, requires_grad=grad)  # noqa: E731
    return make(4, queries), make(2, keys), make(2, keys)


def far(found, exact):
    return ((found.double() - exact.double()).norm() / exact.double().norm()).item()


def doubled(*tensors):
    return [t.detach().double().requires_grad_() for t in tensors]


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
    assert not lse.requires_grad
    grad = torch.randn_like(out)
    found = torch.autograd.grad(out, inputs, grad)
    wide = doubled(*inputs)
    exact = autograd.torch_attention(*wide, causal=causal, scale=None, lower_right=lower_right)
    assert far(out, exact) < 1e-3
    for x, y in zip(found, torch.autograd.grad(exact, wide, grad.double()), strict=True):
        assert far(x, y) < 2e-3


def test_a_backward_kernel_is_taken_on_the_gpu(monkeypatch, hopper):
    seen = []

    def kernel(grad, q, k, v, out, lse, mask, scale):
        seen.append((mask, scale))
        return q, k, v

    monkeypatch.setattr(autograd, "attention_backward", kernel)
    q, wide = hopper(2, 8, 100, 64), hopper(2, 8, 100, 192)
    for lower_right in (False, True):
        autograd.attention_grads(q, q, q, q, q, q, True, 0.25, lower_right)
    assert seen == [(True, 0.25), ("lower_right", 0.25)]
    assert autograd.has_attention_backward(q)
    assert not autograd.has_attention_backward(wide)
    assert not autograd.has_attention_backward(q.float())


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
    assert not lse.requires_grad
    grad = torch.randn_like(out)
    found = torch.autograd.grad(out, (q, k, v), grad)
    for (q0, q1), (k0, k1) in (((0, 5), (0, 3)), ((5, 12), (9, 20))):
        part = [
            t.detach()[a:b].transpose(0, 1)[None].requires_grad_()
            for t, (a, b) in ((q, (q0, q1)), (k, (k0, k1)), (v, (k0, k1)))
        ]
        ours, _ = schema.cpu_attention(*part, causal, None, lower_right)
        exact = torch.autograd.grad(ours, part, grad[q0:q1].transpose(0, 1)[None])
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


@pytest.fixture
def hopper(monkeypatch):
    """Fake tensors on a GPU that claims to be a Hopper."""
    monkeypatch.setattr(ours, "_is_hopper", lambda device: True)
    with FakeTensorMode():
        yield lambda *s, **o: torch.empty(*s, device="cuda", **{"dtype": torch.bfloat16, **o})


def why(q, k, v, mask=None, dropout=0.0, scale=None, gqa=False):
    return ours.why_not(q, k, v, mask, dropout, scale, gqa)


def test_reasons_not_to_take_the_kernel(hopper, monkeypatch):
    monkeypatch.setattr(ours, "_why_not_memory", lambda *_: None)  # fake tensors have no address
    q, k = hopper(2, 8, 100, 64), hopper(2, 4, 300, 64)
    full = hopper(2, 8, 300, 64)
    assert why(q, full, full) is None
    assert why(q, k, k, gqa=True) is None
    assert "heads" in why(q, k, k)
    assert "mask" in why(q, full, full, mask=q)
    assert "dropout" in why(q, full, full, dropout=0.1)
    assert "scale" in why(q, full, full, scale=-1.0)
    assert "types" in why(q.float(), full.float(), full.float())
    assert "head dim" in why(*[hopper(2, 8, 100, 96)] * 3)
    assert "batch, heads" in why(*[hopper(8, 100, 64)] * 3)
    assert "empty" in why(hopper(2, 8, 0, 64), full, full)
    assert "Hopper" in why(*[torch.empty(2, 8, 9, 64, dtype=torch.float16)] * 3)
    wide = hopper(2, 8, 300, 192)
    assert why(q.clone().requires_grad_(), full, full) is None
    assert "gradients" in why(wide.clone().requires_grad_(), wide, wide)


def test_memory_that_copies_cannot_walk():
    good = torch.empty(2, 8, 100, 64, dtype=torch.float16)
    assert ours._why_not_memory(good, good.transpose(1, 2)) is None
    assert "strides" in ours._why_not_memory(good.transpose(2, 3))
    assert "strides" in ours._why_not_memory(good[:1].expand(3, 8, 100, 64))
    shifted = torch.empty(2 * 8 * 100 * 64 + 1, dtype=torch.float16)[1:].view(2, 8, 100, 64)
    assert "address" in ours._why_not_memory(shifted)


@pytest.mark.parametrize("bias", [causal_upper_left, causal_lower_right])
def test_causal_biases_are_masks_the_kernel_knows(bias, monkeypatch):
    monkeypatch.setattr(ours, "why_not", lambda *a: None if a[3] is None else "a mask")
    q, k, v = heads(grad=False)
    k, v = (t.repeat_interleave(2, 1) for t in (k, v))
    found = wt.scaled_dot_product_attention(q, k, v, attn_mask=bias(10, 20))
    torch.testing.assert_close(found, sdpa(q, k, v, attn_mask=bias(10, 20)), rtol=1e-2, atol=1e-2)


def test_guards_tell_who_looks():
    """What lets calls go past the dispatcher: made while nobody looks, they fail where one does."""
    from torch.utils._python_dispatch import TorchDispatchMode

    from warploom.launch.tensors import guard_of_unseen, unwatched

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    def made(*given):
        return guard_of_unseen(list(given))

    a, b = (torch.randn(8, 16) for _ in "ab")
    graded = a.clone().requires_grad_()
    known, told = made(a, b), []
    assert known(b, a)
    assert not known(a, b.T.contiguous().T)
    assert not known(graded, b)
    assert made(graded, b) is None
    with torch.no_grad():
        assert known(a, b)
        without = made(graded, b)
        assert without(graded, b)
    assert not without(graded, b)
    with Mode():
        assert not known(a, b)
        assert made(a, b) is None
    with torch.autocast("cpu"):
        assert not known(a, b)

    def looked_at(x, y):
        told.append((known(a, b), known(x, y), unwatched()))
        return x + y

    torch.vmap(looked_at)(a, b)
    torch.func.grad(lambda x: looked_at(x, b).sum())(a)
    torch.jit.trace(looked_at, (a, b), check_trace=False)
    assert told
    assert not any(any(t) for t in told)


def test_calls_that_are_known_are_refused_while_torch_looks_on(monkeypatch):
    """What is kept for ops serves plain tensors alone; others take the usual way."""
    from types import SimpleNamespace

    from warploom.launch import runner as module

    launched = []
    block = SimpleNamespace(pointer=None, views={"Q": [0, 0, 0]}, now=())
    plan = SimpleNamespace(
        several=False,
        go=lambda *_: launched.append(list(block.views["Q"])) or 0,
        again=None,
        launch_there=None,
        function=None,
        configs={0: (None, None)},
        new_config=None,
        block=None,
        free=[block],
        scalars=0,
        aligned=(0, 1, 2),
        words=(("Q", 0, 2), ("Q", 1, 0), ("Q", 2, 1)),
        moved=(),
        launch=lambda stream, values: launched.append(values),
    )
    run = module.Runner(("a", "b", "out"), lambda *_: None)
    a, b = torch.randn(8, 16), torch.randn(16, 4)
    tensors, options = (a, b, None), ("options",)
    entry = module.Entry(
        plan, (0, 1), ((2, lambda: torch.zeros(8, 4)),), lambda: 0, options=options
    )
    run._entries[run._key(options, tensors)] = entry
    run.by_key(tensors, (), options, known=run.unseen)

    def call(*given):
        return run.unseen.launch((*given, None), (), options)

    done = call(a, b)
    assert done[2].shape == (8, 4)
    assert launched[-1] == [done[2].data_ptr(), a.data_ptr(), b.data_ptr()]
    assert call(a.clone(), b.clone()) is not None
    assert call(a, b.T.contiguous().T) is None
    assert call(a.requires_grad_(), b) is None
    a.requires_grad_(False)
    with torch.autocast("cpu"):
        assert call(a, b) is None
    assert call(a, b) is not None
    assert len(launched) == 4
    assert not run.seen._guesses


def test_gradients_that_flexible_attention_cannot_give_are_refused():
    q, k, v = heads()
    bias = torch.zeros(4, requires_grad=True)
    with pytest.raises(BackendError, match="a captured tensor needs a gradient"):
        wt.flex_attention(q, k, v, lambda x, b, h, i, j: x + bias[h], enable_gqa=True)
    with pytest.raises(BackendError, match="heads of 96"):
        wt.flex_attention(*heads(dim=96), enable_gqa=True)
    with pytest.raises(BackendError, match="4 heads of queries, 2 of keys"):
        wt.flex_attention(q, k, v)


def test_the_call_of_flexible_attention_is_torchs(monkeypatch):
    from torch.nn.attention.flex_attention import AuxRequest, flex_attention as theirs

    from warploom.torch import flex

    names = list(inspect.signature(theirs).parameters)
    assert set(names) <= set(inspect.signature(wt.flex_attention).parameters)
    q, k, v = heads(grad=False)
    given = []
    monkeypatch.setattr(flex, "attention", lambda *_, **more: given.append(more) or (q, q[..., 0]))
    out, aux = wt.flex_attention(
        q, k, v, enable_gqa=True, kernel_options={"BLOCK_M": 64}, return_aux=AuxRequest(lse=True)
    )
    assert out is q
    assert aux.lse.shape == q.shape[:3]
    assert aux.max_scores is None
    assert given[0]["return_lse"]
    with pytest.raises(BackendError, match="largest scores"):
        wt.flex_attention(q, k, v, return_aux=AuxRequest(max_scores=True))


@pytest.mark.parametrize("heads", [None, 3])
@pytest.mark.parametrize("lengths", [(512, 768), (300, 900), (1, 130)])
@pytest.mark.parametrize("size", [128, (256, 128), (128, 384)])
def test_lists_of_keys_name_the_queries_of_the_same_blocks(size, lengths, heads):
    from torch.nn.attention.flex_attention import create_block_mask

    from warploom.launch.blocks import block_lists

    def near(b, h, i, j):
        return (i - j < 200 + 50 * h) & (j - i < 300)

    (queries, keys), shape = lengths, (2, 3)
    mask = create_block_mask(near, None, heads, queries, keys, device="cpu", BLOCK_SIZE=size)
    q, k = (torch.zeros(*shape, n, 64, dtype=torch.bfloat16) for n in lengths)
    for turned, tile in ((False, (128, 128)), (True, (64, 128))):
        order, *lists = block_lists(mask, q, k, turned=turned)
        assert block_lists(mask, q, k, turned=turned)[0] is order
        assert sorted(order.tolist()) == list(range(len(order)))
        across = [-(-n // m) for n, m in zip(lengths, tile, strict=True)]
        seen = torch.zeros(2, *shape, *across, dtype=torch.bool)
        for kind, (tiles, counts) in enumerate((lists[:2], lists[2:])):
            for *unit, row in torch.cartesian_prod(*map(torch.arange, counts.shape)).tolist():
                named = tiles[(*unit, row)][: counts[(*unit, row)]].long()
                at = (named, row) if turned else (row, named)
                seen[(kind, *unit)][at] = True
        assert not (seen[0] & seen[1]).any()
        i, j, h = torch.arange(queries)[:, None], torch.arange(keys), torch.arange(3)[:, None, None]
        want = near(0, h if heads else torch.zeros(3, 1, 1), i, j).expand(*shape, -1, -1)
        any_, all_ = (
            s[..., i // tile[0], j // tile[1]].reshape(*shape, queries, keys)
            for s in (seen[0] | seen[1], seen[1])
        )
        assert not (want & ~any_).any()
        assert not (all_ & ~want).any()
