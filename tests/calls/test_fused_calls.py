"""Grouped products and scans of odd sizes, as the driver with all its SMs chooses them."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import warploom.torch.fused as ops  # noqa: E402
from tests.calls.executing import executing  # noqa: E402
from tests.host_cuda import NEEDS_COMPILER  # noqa: E402
from warploom.runtime import fused  # noqa: E402

pytestmark = NEEDS_COMPILER
SIZES, N, K, S, SMS = (37, 0, 130, 1), 200, 136, 90, 132
T = sum(SIZES)


def halves(*shape):
    return torch.randn(*shape, dtype=torch.bfloat16)


def close(found, wanted):
    assert (found.double() - wanted.double()).norm() < 6e-3 * wanted.double().norm()


def test_rows_of_many_columns_are_added():
    torch.manual_seed(0)
    starts = torch.tensor([0, *SIZES]).cumsum(0).int()
    x, w, weight = halves(T, K), halves(len(SIZES), N, K), torch.rand(T) + 0.5
    rows = torch.randint(-1, S + 1, (T,)).int()
    out = torch.randn(S, N)
    wanted = out.clone()
    torch.ops.warploom.grouped_gemm_add(wanted, x, w, starts, rows, weight)
    with executing(sms=SMS):
        fused.grouped_gemm(x, w, starts, rows=rows, weight=weight, out=out)
    close(out, wanted)


def test_a_scan_in_parts():
    torch.manual_seed(0)
    q, v = halves(1, 2, 9, 64, 64) * 0.1, halves(1, 4, 9, 64, 64)
    given = q, q.clone(), v, -torch.rand(1, 4, 9, 64).cumsum(-1) * 0.1
    wanted = torch.ops.warploom.scan(*given)
    call = next(c for text, c, _, _ in ops.KERNELS if text.startswith("scan("))
    with executing(sms=SMS):
        found = call(*given)
    for mine, right in zip(found, wanted, strict=True):
        close(mine, right)
