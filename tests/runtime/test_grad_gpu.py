"""On a Hopper GPU: gradients of attention against float64."""

from __future__ import annotations

import math

import pytest

import warploom
from warploom.frontend import language as wl

from .gpu import NEEDS_HOPPER, TORCH_WARNINGS

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = [*NEEDS_HOPPER, *TORCH_WARNINGS]
# batch, heads, kv heads, queries, keys, mask
CASES = [
    (1, 40, 40, 1008, 1008, False),
    (1, 40, 40, 1008, 1008, True),
    (2, 4, 2, 1000, 1000, False),
    (2, 4, 1, 1000, 1000, True),
    (1, 3, 3, 77, 300, False),
    (1, 3, 3, 300, 77, True),
    (1, 3, 3, 129, 515, "lower_right"),
    (1, 3, 3, 515, 129, "lower_right"),
    (1, 2, 2, 2049, 2, False),
]
SIZES = (64, 128, 256)


def drawn(b, h, g, s, t, d, dtype=torch.bfloat16):
    torch.manual_seed(s + t)
    q, do = (torch.randn(b, h, s, d, device="cuda", dtype=dtype) for _ in range(2))
    k, v = (torch.randn(b, g, t, d, device="cuda", dtype=dtype) for _ in range(2))
    return q, k, v, do


def exact(q, k, v, do, mask, score=None):
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    keys, values = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in wide[1:])
    x = wide[0] @ keys.transpose(-1, -2) / math.sqrt(q.shape[3])
    x = x if score is None else score(x)
    if mask:
        rows, columns = (torch.arange(n, device="cuda") for n in x.shape[-2:])
        ahead = len(columns) - len(rows) if mask == "lower_right" else 0
        x = x.masked_fill(columns > rows[:, None] + ahead, float("-inf"))
    lse = x.logsumexp(-1)
    p = torch.where(torch.isneginf(lse)[..., None], 0.0, (x - lse.clamp(-1e300)[..., None]).exp())
    out = p @ values
    grads = torch.autograd.grad(out, wide, do.double())
    return out.detach().to(q.dtype), lse.detach().float(), grads


def far(found, want):
    assert torch.isfinite(found).all()
    return ((found.double() - want).norm() / want.norm().clamp_min(1e-9)).item()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_right(case, size):
    *shape, mask = case
    q, k, v, do = drawn(*shape, size)
    out, lse, want = exact(q, k, v, do, mask)
    found = warploom.attention_backward(do, q, k, v, out, lse, mask)
    assert max(far(f, w) for f, w in zip(found, want, strict=True)) < 8e-3


@pytest.mark.parametrize("size", SIZES)
def test_a_fixed_order_gives_the_same_every_time(size):
    q, k, v, do = drawn(1, 8, 8, 1024, 1024, size)
    out, lse, want = exact(q, k, v, do, False)
    runs = [
        warploom.attention_backward(do, q, k, v, out, lse, deterministic=True) for _ in range(10)
    ]
    assert max(far(f, w) for f, w in zip(runs[0], want, strict=True)) < 8e-3
    assert all(torch.equal(x, y) for r in runs for x, y in zip(r, runs[0], strict=True))


def test_strided_heads_and_half_precision():
    q, k, v, do = (
        x.transpose(1, 2).contiguous().transpose(1, 2)
        for x in drawn(2, 4, 4, 300, 300, 64, torch.float16)
    )
    out, lse, want = exact(q, k, v, do, True)
    found = warploom.attention_backward(do, q, k, v, out, lse, True)
    assert max(far(f, w) for f, w in zip(found, want, strict=True)) < 1.5e-3


def test_torch_takes_it():
    from warploom import torch as wt

    q, k, v, do = drawn(1, 4, 2, 256, 256, 128)
    inputs = [x.requires_grad_() for x in (q, k, v)]
    found = torch.autograd.grad(wt.attention(*inputs, True)[0], inputs, do)
    *_, want = exact(q.detach(), k.detach(), v.detach(), do, True)
    assert max(far(f, w) for f, w in zip(found, want, strict=True)) < 1e-2


def softcap(x, b, h, i, j):
    return 2.0 * wl.tanh(x / 2.0)


def slanted(x, b, h, i, j):
    return x - 0.01 * (i - j)


def near(b, h, i, j):
    return (i - j < 100) & (j - i < 30)


def _places(x):
    return (torch.arange(n, device="cuda") for n in x.shape[-2:])


def _slanted(x):
    rows, columns = _places(x)
    return x - 0.01 * (rows[:, None] - columns)


def _near(x):
    rows, columns = _places(x)
    apart = rows[:, None] - columns
    return x.masked_fill((apart >= 100) | (apart <= -30), float("-inf"))


FORMS = {
    "softcap": ({"score": softcap}, lambda x: 2 * torch.tanh(x / 2)),
    "slanted": ({"score": slanted}, _slanted),
    "near": ({"visible": near}, _near),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_functions_of_scores(size, mask, form):
    given, same = FORMS[form]
    q, k, v, do = drawn(1, 4, 2, 300, 333, size)
    out, lse, want = exact(q, k, v, do, mask, same)
    found = warploom.attention_backward(do, q, k, v, out, lse, mask, **given)
    assert max(far(f, w) for f, w in zip(found, want, strict=True)) < 8e-3


def steep(x, b, h, i, j):
    return x + 0.1 * (j - i)


@pytest.mark.parametrize("size", SIZES)
def test_scores_of_queries_past_the_end_leave_no_trace(size):
    """Their exponentials are infinite, their gradients 0."""
    q, k, v, do = drawn(1, 2, 1, 167, 2157, size)
    rows, columns = (torch.arange(n, device="cuda") for n in (167, 2157))
    out, lse, want = exact(q, k, v, do, False, lambda x: x + 0.1 * (columns - rows[:, None]))
    found = warploom.attention_backward(do, q, k, v, out, lse, score=steep)
    assert max(far(f, w) for f, w in zip(found, want, strict=True)) < 8e-3


@pytest.mark.parametrize("mask", [False, True, "lower_right"])
@pytest.mark.parametrize("size", SIZES)
def test_lengths_of_keys(size, mask):
    q, k, v, do = drawn(3, 4, 2, 200, 300, size)
    ends = [300, 129, 1]
    rows = [exact(*(x[n : n + 1] for x in (q, k[:, :, :e], v[:, :, :e], do)), mask)
            for n, e in enumerate(ends)]  # fmt: skip
    want = [torch.zeros_like(x).double() for x in (q, k, v)]
    for n, (e, (_, _, grads)) in enumerate(zip(ends, rows, strict=True)):
        want[0][n], want[1][n, :, :e], want[2][n, :, :e] = (g[0] for g in grads)
    out, lse = (torch.cat([r[i] for r in rows]) for i in (0, 1))
    lengths = torch.tensor(ends, dtype=torch.int32, device="cuda")
    found = warploom.attention_backward(do, q, k, v, out, lse, mask, lengths=lengths)
    assert max(far(f, w) for f, w in zip(found, want, strict=True)) < 8e-3


@pytest.mark.parametrize("mask", [False, True, "lower_right"])
@pytest.mark.parametrize("size", SIZES)
def test_packed_sequences(mask, size):
    lengths = [(5, 9), (300, 300), (128, 1), (1, 700), (260, 129)]
    starts = [torch.tensor([0, *x]).cumsum(0).int().cuda() for x in zip(*lengths, strict=True)]
    rows = [sum(x) for x in zip(*lengths, strict=True)]
    q, k, v, do = (x[0].transpose(0, 1) for x in drawn(1, 4, 2, *rows, size))
    want, outs, sums = [torch.zeros_like(x).double() for x in (q, k, v)], [], []
    for i in range(len(lengths)):
        a, b = slice(*starts[0][i : i + 2]), slice(*starts[1][i : i + 2])
        parts = [x[s].transpose(0, 1)[None] for x, s in ((q, a), (k, b), (v, b), (do, a))]
        out, lse, grads = exact(*parts, mask)
        outs.append(out[0].transpose(0, 1))
        sums.append(lse[0])
        for whole, place, grad in zip(want, (a, b, b), grads, strict=True):
            whole[place] = grad[0].transpose(0, 1)
    found = warploom.attention_packed_backward(
        do, q, k, v, torch.cat(outs), torch.cat(sums, 1).contiguous(), *starts, mask
    )
    assert max(far(f, w) for f, w in zip(found, want, strict=True)) < 8e-3


def capped(x, b, h, i, j):
    return 5.0 * torch.tanh(x / 5.0)


def causal(b, h, i, j):
    return i >= j


@pytest.mark.parametrize("masked", [False, True])
def test_flex_attention_has_gradients(masked):
    from torch.nn.attention.flex_attention import create_block_mask

    from warploom import torch as wt

    q, k, v, do = drawn(1, 4, 2, 256, 256, 64)
    inputs = [x.requires_grad_() for x in (q, k, v)]
    mask = create_block_mask(causal, None, None, 256, 256, device="cuda") if masked else None
    for _ in range(2):
        out = wt.flex_attention(*inputs, score_mod=capped, block_mask=mask, enable_gqa=True)
        found = torch.autograd.grad(out, inputs, do)
    given = (x.detach() for x in (q, k, v, do))
    *_, want = exact(*given, masked, lambda x: 5 * torch.tanh(x / 5))
    assert max(far(f, w) for f, w in zip(found, want, strict=True)) < 1e-2
    bias = torch.zeros(4, device="cuda", requires_grad=True)
    with pytest.raises(warploom.errors.BackendError, match="a captured tensor needs a gradient"):
        wt.flex_attention(*inputs, score_mod=lambda x, b, h, i, j: x + bias[h], enable_gqa=True)


def same(b, h, i, j):
    return (i // 150 == j // 150 + h % 2) | (i == 2 * j)


@pytest.mark.parametrize("form", [None, "softcap"])
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lengths", [(768, 512), (333, 900)])
def test_the_blocks_of_a_mask_are_walked(lengths, size, mask, form):
    """Rows and columns of which nothing is seen among them; sums in turn go by the function."""
    from torch.nn.attention.flex_attention import create_block_mask

    q, k, v, do = drawn(2, 4, 2, *lengths, size)
    heads = torch.arange(4, device="cuda")[:, None, None]
    given, changed = FORMS[form] if form else ({}, lambda x: x)

    def hidden(x):
        rows, columns = _places(x)
        seen = same(0, heads, rows[:, None], columns)
        return changed(x).masked_fill(~seen, float("-inf"))

    out, lse, want = exact(q, k, v, do, mask, hidden)
    block = create_block_mask(same, None, 4, *lengths, device="cuda")
    for fixed in (False, True):
        found = warploom.attention_backward(
            do, q, k, v, out, lse, mask, visible=block, deterministic=fixed, **given
        )
        assert max(far(f, w) for f, w in zip(found, want, strict=True)) < 8e-3


def test_blocks_say_what_is_seen():
    """Blocks that are not those of their function: the first of keys, for all queries."""
    from torch.nn.attention.flex_attention import BlockMask

    from warploom import torch as wt

    q, k, v, do = drawn(1, 4, 2, 256, 256, 64)
    inputs = [x.requires_grad_() for x in (q, k, v)]
    counts = torch.ones(1, 1, 2, dtype=torch.int32, device="cuda")
    where = torch.zeros(1, 1, 2, 2, dtype=torch.int32, device="cuda")
    other = BlockMask.from_kv_blocks(counts, where, mask_mod=causal)
    out = wt.flex_attention(*inputs, block_mask=other, enable_gqa=True)
    found = torch.autograd.grad(out, inputs, do)

    def first(x):
        rows, columns = _places(x)
        return x.masked_fill((columns >= 128) & (rows[:, None] >= 0), float("-inf"))

    *_, want = exact(*(x.detach() for x in (q, k, v, do)), True, first)
    assert max(far(f, w) for f, w in zip(found, want, strict=True)) < 1e-2
