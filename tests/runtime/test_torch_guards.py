"""When kernels are taken under torch, and which calls are refused and why."""

from __future__ import annotations

import inspect

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
wt = pytest.importorskip("warploom.torch")
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.nn.attention.bias import causal_lower_right, causal_upper_left  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention as sdpa  # noqa: E402

from warploom.errors import BackendError  # noqa: E402
from warploom.torch import (  # noqa: E402
    autograd,
    sdpa as ours,
)

from .gpu import TORCH_WARNINGS  # noqa: E402
from .torch_inputs import heads  # noqa: E402

pytestmark = TORCH_WARNINGS


@pytest.fixture
def hopper(monkeypatch):
    """Fake tensors on a GPU that claims to be a Hopper."""
    monkeypatch.setattr(ours, "_is_hopper", lambda device: True)
    with FakeTensorMode():
        yield lambda *s, **o: torch.empty(*s, device="cuda", **{"dtype": torch.bfloat16, **o})


def test_a_backward_kernel_is_taken_on_the_gpu(monkeypatch, hopper):
    seen = []

    def kernel(grad, q, k, v, out, lse, mask, scale, *, deterministic):
        seen.append((mask, scale, deterministic))
        return q, k, v

    monkeypatch.setattr(autograd, "attention_backward", kernel)
    q, wide = hopper(2, 8, 100, 64), hopper(2, 8, 100, 192)
    for lower_right in (False, True):
        autograd.attention_grads(q, q, q, q, q, q, True, 0.25, lower_right)
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: True)
    autograd.attention_grads(q, q, q, q, q, q)
    assert seen == [(True, 0.25, False), ("lower_right", 0.25, False), (False, None, True)]
    assert autograd.has_attention_backward(q)
    assert not autograd.has_attention_backward(wide)
    assert not autograd.has_attention_backward(q.float())


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

    from warploom.runtime.tensors import guard_of_unseen, unwatched

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

    from warploom.runtime import runner as module

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
        words=(("Q", 0, 2, 0), ("Q", 1, 0, 0), ("Q", 2, 1, 0)),
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

    from warploom.runtime.block_mask import block_lists

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
