"""Inputs that tests of the torch ops share."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")


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
