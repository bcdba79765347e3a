"""Public calls on the CPU: addresses, overlaps, sizes of 0, NaN and numbers of any size."""

from __future__ import annotations

import pytest
import torch

import warploom
from tests.calls.executing import NAN, executing
from tests.calls.test_memory_that_does_not_count import F64, attended, error, halves, ints
from tests.host_cuda import NEEDS_COMPILER
from tests.runtime.fake_driver import FakeTensor, fake_compiler, install
from warploom.errors import BackendError
from warploom.runtime.overlap import OverlapError

pytestmark = NEEDS_COMPILER


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def test_addresses_that_copies_cannot_take_at_first_and_later():
    x, w = halves(128, 136), halves(64, 128)
    with executing() as driver:
        for a in (x[:, 1:129], x[:, :128], x[:, 1:129], x[:, 3:131]):
            assert error(warploom.gemm(a, w.T), a.to(F64) @ w.T.to(F64)) < 5e-3
        assert not driver.refused


def test_the_driver_refuses_what_the_real_one_does():
    with executing() as driver:
        given = ["TYPE_BFLOAT16", 2, 4096, [64, 8], [128], [64, 8], [1, 1], 0, 3]
        assert driver.cuTensorMapEncodeTiled(*given)[0] == 0
        for at, other in ((2, 4104), (4, [120]), (5, [128, 8]), (5, [64, 257]), (3, [64, 0])):
            wrong = [other if i == at else x for i, x in enumerate(given)]
            assert driver.cuTensorMapEncodeTiled(*wrong)[0] != 0


def test_outputs_that_overlap_are_refused_where_it_matters():
    a, b, buffer = halves(256, 256), halves(256, 256).T, halves(256, 520)
    wanted = a.to(F64) @ b.to(F64)
    with executing():
        left, right = buffer[:, :256], buffer[:, 256:512]
        left.copy_(a)
        for _ in range(3):  # rows in turn: no element is shared
            assert error(warploom.gemm(left, b, out=right), wanted) < 5e-3
        own = torch.empty_like(a)
        for _ in range(2):
            assert error(warploom.gemm(a, b, out=own), wanted) < 5e-3
        for out in (a, b.T):
            with pytest.raises(OverlapError, match="out overlaps"):
                warploom.gemm(a, b, out=out)
        with pytest.raises(OverlapError, match="out overlaps a"):
            warploom.gemm(left, b, out=buffer[:, 8:264])
        with pytest.raises(OverlapError, match="strides"):
            warploom.gemm(a, b, out=halves(1, 256).expand(256, 256))
        for _ in range(3):  # read by the tile that writes it
            residual = halves(256, 256)
            both = wanted + residual.to(F64)
            found = warploom.gemm(a, b, residual=residual, out=residual)
            assert error(found, both) < 5e-3


def test_queries_may_be_written_over_and_keys_may_not():
    q, k, v = halves(1, 1, 200, 64), halves(1, 1, 200, 64), halves(1, 1, 200, 64)
    wanted = attended(q, k, v, [200])
    with executing():
        with pytest.raises(OverlapError, match="out overlaps k"):
            warploom.attention(q, k, v, out=k)
        assert error(warploom.attention(q, k, v, out=q), wanted) < 5e-3


@pytest.mark.parametrize(("heads", "groups", "queries"), [(28, 4, 1), (12, 4, 2), (14, 2, 1)])
def test_sums_of_few_queries_that_share_keys(heads, groups, queries):
    q = halves(2, heads, queries, 64)
    k, v = halves(2, groups, 100, 64), halves(2, groups, 100, 64)
    with executing():
        for _ in range(2):
            out, lse = warploom.attention(q, k, v, return_lse=True)
            assert error(out, attended(q, k, v, [100, 100])) < 5e-3
            assert lse.shape == (2, heads, queries)
    wide = k.to(F64).repeat_interleave(heads // groups, 1)
    assert error(lse, (q.to(F64) @ wide.mT / 8).logsumexp(-1)) < 1e-3


def test_relu_keeps_nan():
    a, b = halves(40, 72), halves(48, 72).T
    a[3, 5] = NAN
    with executing():
        found = warploom.gemm(a, b, activation="relu")
    assert found[3].isnan().all()
    assert int(found.isnan().sum()) == 48
    assert not (found < 0).any()


LEAST = torch.finfo(torch.float32).min


def far_below(x, b, h, i, j):
    return x - 1e31


def least(x, b, h, i, j):
    return x + LEAST


def test_scores_of_any_size():
    q, k, v = halves(1, 1, 70, 64), halves(1, 1, 100, 64), halves(1, 1, 100, 64)
    mean = v.to(F64).mean(2, keepdim=True).expand(1, 1, 70, 64)
    with executing():
        for score, number in ((far_below, -1e31), (least, LEAST)):
            out, lse = warploom.attention(q, k, v, score=score, return_lse=True)
            assert error(out, mean) < 5e-3
            assert bool(torch.isclose(lse, torch.tensor(number)).all())


def test_calls_without_elements():
    with executing() as driver:
        assert warploom.gemm(halves(0, 64), halves(40, 64).T).shape == (0, 40)
        assert warploom.attention(halves(1, 2, 0, 64), *[halves(1, 2, 9, 64)] * 2).numel() == 0
        assert warploom.grouped_gemm(halves(0, 64), halves(2, 40, 64), ints(0, 0, 0)).numel() == 0
        assert not driver.kernels
        bias = halves(40)
        found = warploom.gemm(halves(64, 0), halves(40, 0).T, bias=bias)
        assert torch.equal(found, bias.expand(64, 40))
        none = halves(2, 1, 0, 64)
        for more in ({}, {"lengths": ints(3, 4)}):
            q = halves(2, 2, 7, 64)
            out, lse = warploom.attention(q, none, none, return_lse=True, **more)
            assert not out.any()
            assert bool((lse == -torch.inf).all())
        found = warploom.grouped_gemm_weights(halves(0, 64), halves(0, 64), ints(0, 0, 0))
        assert found.shape == (2, 64, 64)
        assert not found.any()


def test_axes_that_indices_cannot_count_are_refused(monkeypatch):
    install(monkeypatch)
    fake_compiler(monkeypatch)
    for rows in (1 << 31, (1 << 32) + 5):
        a = FakeTensor((rows, 64), pointer=1 << 20)
        b = FakeTensor((64, 64), strides=(1, 64), pointer=1 << 12)
        with pytest.raises(BackendError, match=r"a has shape|out has shape") as told:
            warploom.gemm(a, b)
        assert "elements" in str(told.value)
