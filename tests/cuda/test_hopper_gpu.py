"""On a Hopper GPU: results against float64, epilogues, repeatability, the torch op."""

from __future__ import annotations

import pytest

import warploom
from warploom.launch.launch import Choice
from warploom.launch.shipped import SHIPPED

from .gpu import NEEDS_HOPPER

torch = pytest.importorskip("torch", reason="torch is not installed")


pytestmark = NEEDS_HOPPER
SHAPES = ((1000, 1496, 776), (129, 256, 72), (1, 8, 8), (512, 768, 1024))


def operands(m, n, k):
    make = lambda *s: torch.randn(*s, device="cuda", dtype=torch.bfloat16)  # noqa: E731
    return make(m, k), make(n, k)


def error(found, exact):
    return ((found.double() - exact).norm() / exact.norm()).item()


@pytest.mark.parametrize("kernel", SHIPPED, ids=lambda k: k.name)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_kernel_on_odd_shapes(kernel, shape):
    a, b = operands(*shape)
    out = torch.full((shape[0], shape[1]), float("nan"), device="cuda").to(
        torch.float32 if kernel.out == "fp32" else torch.bfloat16
    )
    found = warploom.gemm(a, b.T, out=out, choice=Choice(kernel=kernel))
    assert error(found, a.double() @ b.double().T) < 4e-3


def test_repeated_runs_are_bitwise_equal():
    a, b = operands(2048, 2048, 2048)
    first = warploom.gemm(a, b.T)
    assert all(torch.equal(first, warploom.gemm(a, b.T)) for _ in range(50))


@pytest.mark.parametrize("activation", ["none", "relu", "gelu", "silu"])
def test_epilogues(activation):
    a, b = operands(256, 512, 384)
    bias = torch.randn(512, device="cuda", dtype=torch.bfloat16)
    exact = 0.5 * (a.double() @ b.double().T) + bias.double()
    if activation != "none":
        exact = getattr(torch.nn.functional, activation)(exact)
    found = warploom.gemm(a, b.T, bias=bias, alpha=0.5, activation=activation)
    assert error(found, exact) < 4e-3
