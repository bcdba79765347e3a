"""Whatever lies past lengths, in other sequences and groups, never reaches a result: same bits."""

from __future__ import annotations

import pytest
import torch

import warploom
from tests.calls.executing import NAN, executing
from tests.host_cuda import NEEDS_COMPILER

pytestmark = NEEDS_COMPILER
F64 = torch.float64


def ints(*numbers):
    return torch.tensor(numbers, dtype=torch.int32)


def halves(*shape):
    return torch.randn(*shape).bfloat16()


def error(found, wanted):
    return ((found.to(F64) - wanted).norm() / wanted.norm().clamp_min(1e-30)).item()


def attended(q, k, v, lengths):
    """Float64: every query sees the first keys of its batch."""
    share = q.shape[1] // k.shape[1]
    k, v = (x.to(F64).repeat_interleave(share, 1) for x in (k, v))
    out = torch.zeros(q.shape, dtype=F64)
    for i, length in enumerate(lengths):
        n = min(length, k.shape[2])
        if n > 0:
            x = q[i].to(F64) @ k[i, :, :n].mT / q.shape[3] ** 0.5
            out[i] = x.softmax(-1) @ v[i, :, :n]
    return out


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("lengths", [(77, 130), (0, 200), (201, 1 << 30)])
def test_attention_of_lengths(lengths):
    q, k, v = halves(2, 2, 70, 64), halves(2, 1, 200, 64), halves(2, 1, 200, 64)
    dirty = k.clone(), v.clone()
    for i, n in enumerate(lengths):
        for x in dirty:
            x[i, :, max(n, 0) :] = NAN
    with executing():
        clean, lse = warploom.attention(q, k, v, lengths=ints(*lengths), return_lse=True)
        for _ in range(2):
            found = warploom.attention(q, *dirty, lengths=ints(*lengths), return_lse=True)
            assert torch.equal(found[0], clean)
            assert torch.equal(found[1], lse)
    assert error(clean, attended(q, k, v, lengths)) < 5e-3
    assert all(bool((lse[i] == -torch.inf).all()) for i, n in enumerate(lengths) if n == 0)


def test_gradients_of_attention_of_lengths():
    q, k, v = halves(1, 1, 70, 64), halves(1, 1, 200, 64), halves(1, 1, 200, 64)
    grad, n = halves(1, 1, 70, 64), 77
    given = [x.to(F64).requires_grad_() for x in (q, k[:, :, :n], v[:, :, :n])]
    x = given[0] @ given[1].mT / 8
    out = x.softmax(-1) @ given[2]
    wanted = torch.autograd.grad(out, given, grad.to(F64))
    k[:, :, n:] = v[:, :, n:] = NAN
    with executing():
        found = warploom.attention_backward(
            grad, q, k, v, out.detach().bfloat16(), x.logsumexp(-1).float(), lengths=ints(n)
        )
    assert error(found[0], wanted[0]) < 1e-2
    for x, w in zip(found[1:], wanted[1:], strict=True):
        assert error(x[:, :, :n], w) < 1e-2
        assert not x[:, :, n:].any()


def test_pages():
    """Rows of pages past the length, pages of nobody, and entries of the table past it."""
    q, k, v = halves(2, 2, 3, 64), halves(5, 1, 64, 64), halves(5, 1, 64, 64)
    table, lengths = ints(3, 1, 4, 0, -7, 1 << 30).reshape(2, 3), ints(150, 10)
    pages = torch.tensor([[3, 1, 4], [0, 0, 0]])
    wanted = attended(q, *(x[pages, 0].reshape(2, 1, 192, 64) for x in (k, v)), lengths.tolist())
    for x in (k, v):
        x[2] = x[4, :, 22:] = x[0, :, 10:] = NAN
    with executing():
        out = warploom.attention(q, k, v, pages=table, lengths=lengths)
        beyond = warploom.attention(q[:1], k, v, pages=table[:1], lengths=ints(1 << 20))
    assert error(out, wanted) < 5e-3
    assert beyond.isnan().all()  # all of its last page counts


def packed_inputs():
    starts = ints(0, 37, 70, 140), ints(0, 61, 67, 150)
    return starts, halves(140, 1, 64), halves(150, 1, 64), halves(150, 1, 64)


@pytest.mark.parametrize("which", ["k", "v"])
def test_packed_sequences(which):
    (qs, ks), q, k, v = packed_inputs()
    with executing():
        clean = warploom.attention_packed(q, k, v, qs, ks, 70, 83)
        {"k": k, "v": v}[which][61:67] = NAN
        found = warploom.attention_packed(q, k, v, qs, ks, 70, 83)
    assert torch.equal(found[:37], clean[:37])
    assert torch.equal(found[70:], clean[70:])
    assert found[37:70].isnan().all()


def test_gradients_of_packed_sequences():
    (qs, ks), q, k, v = packed_inputs()
    grad = halves(140, 1, 64)
    rows = [*range(37), *range(70, 140)]
    keys = [*range(61), *range(67, 150)]
    with executing():
        out, lse = warploom.attention_packed(q, k, v, qs, ks, 70, 83, return_lse=True)
        clean = warploom.attention_packed_backward(grad, q, k, v, out, lse, qs, ks)
        for which, spoilt in enumerate([slice(37, 70)] * 2 + [slice(61, 67)] * 2):
            given = [x.clone() for x in (grad, q, k, v)]
            given[which][spoilt] = NAN
            found = warploom.attention_packed_backward(*given, out, lse, qs, ks)
            assert torch.equal(found[0][rows], clean[0][rows])
            for x, y in zip(found[1:], clean[1:], strict=True):
                assert torch.equal(x[keys], y[keys])
