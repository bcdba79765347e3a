"""The torch op's registration and fake implementation, against a stand-in for torch."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest

from warploom.errors import MissingExtraError
from warploom.runtime import torch_op


class Matrix:
    def __init__(self, *shape, dtype="bf16"):
        self.shape, self.dtype = shape, dtype

    def dim(self):
        return len(self.shape)

    def new_empty(self, shape, dtype):
        return Matrix(*shape, dtype=dtype)


def stand_in():
    seen = {}

    def check(condition, message):
        if not condition:
            raise ValueError(message())

    def keep(name):
        def decorate(function):
            seen[name] = function
            return function

        return decorate

    library = SimpleNamespace(
        define=lambda name, schema: seen.update({name: schema}),
        impl=lambda name, where: keep(f"{name} {where}"),
        register_fake=lambda name: keep(f"{name} fake"),
    )
    ops = SimpleNamespace(warploom=SimpleNamespace(gemm="the op"))
    torch = SimpleNamespace(
        library=library, ops=ops, _check=check, bfloat16="bf16", float8_e4m3fn="fp8"
    )
    return torch, seen


@pytest.fixture
def registered(monkeypatch):
    torch, seen = stand_in()
    monkeypatch.setattr(importlib, "import_module", lambda name: torch)
    torch_op.register.cache_clear()
    yield torch_op.register(), seen
    torch_op.register.cache_clear()


def test_the_op_is_defined_with_a_fake(registered):
    op, seen = registered
    assert op == "the op"
    assert seen["warploom::gemm"].startswith("(Tensor a, Tensor b, Tensor? bias")
    fake = seen["warploom::gemm fake"]
    made = fake(Matrix(3, 4), Matrix(4, 5), None, 1.0, "none")
    assert (made.shape, made.dtype) == ((3, 5), "bf16")
    assert fake(Matrix(3, 4, dtype="fp8"), Matrix(4, 5), None, 1.0, "none").dtype == "bf16"
    with pytest.raises(ValueError, match="inner sizes differ"):
        fake(Matrix(3, 4), Matrix(5, 5), None, 1.0, "none")
    with pytest.raises(ValueError, match="takes matrices"):
        fake(Matrix(3, 4, 1), Matrix(4, 5), None, 1.0, "none")


def test_the_implementation_calls_gemm(registered, monkeypatch):
    _, seen = registered
    calls = []
    monkeypatch.setattr(torch_op, "gemm", lambda *a, **k: calls.append((a, k)))
    seen["warploom::gemm CUDA"]("a", "b", None, 1.0, "relu")
    seen["warploom::gemm CUDA"]("a", "b", "bias", 0.5, "none")
    assert calls[0] == (("a", "b"), {"bias": None, "alpha": None, "activation": "relu"})
    assert calls[1] == (("a", "b"), {"bias": "bias", "alpha": 0.5, "activation": "none"})


def test_without_torch_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    torch_op.register.cache_clear()
    with pytest.raises(MissingExtraError, match=r"warploom\[torch\]"):
        torch_op.register()
