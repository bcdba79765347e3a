"""Registration and fake implementations of the torch ops: against a stand-in for torch, and
against torch itself (without a GPU) where it is installed.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest

from warploom.errors import MissingExtraError
from warploom.launch import torch_op


class Matrix:
    """A tensor of no numbers."""

    def __init__(self, *shape, dtype="bf16"):
        self.shape, self.dtype = shape, dtype

    def dim(self):
        return len(self.shape)

    def new_empty(self, shape, dtype=None):
        return Matrix(*shape, dtype=dtype or self.dtype)


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
    torch = SimpleNamespace(
        library=library,
        ops=SimpleNamespace(warploom="the ops"),
        _check=check,
        bfloat16="bf16",
        float8_e4m3fn="fp8",
        float32="fp32",
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
    ops, seen = registered
    assert ops == "the ops"
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


def test_attention_has_a_fake_with_a_log_sum_exp(registered):
    _, seen = registered
    assert seen["warploom::attention"].endswith("-> (Tensor out, Tensor lse)")
    fake = seen["warploom::attention fake"]
    q, k = Matrix(2, 8, 100, 64), Matrix(2, 4, 300, 64)
    out, lse = fake(q, k, k, True, None)
    assert (out.shape, out.dtype) == ((2, 8, 100, 64), "bf16")
    assert (lse.shape, lse.dtype) == ((2, 8, 100), "fp32")


@pytest.mark.parametrize(
    ("q", "k", "v", "says"),
    [
        (Matrix(8, 100, 64), Matrix(2, 4, 300, 64), Matrix(2, 4, 300, 64), "batch, heads, length"),
        (Matrix(2, 8, 100, 64), Matrix(2, 4, 300, 64), Matrix(2, 4, 200, 64), "dimension 2"),
        (Matrix(2, 8, 100, 64), Matrix(1, 4, 300, 64), Matrix(1, 4, 300, 64), "batches"),
        (Matrix(2, 8, 100, 64), Matrix(2, 3, 300, 64), Matrix(2, 3, 300, 64), "divide"),
        (Matrix(2, 8, 100, 64), Matrix(2, 4, 300, 32), Matrix(2, 4, 300, 32), "head dimensions"),
        (
            Matrix(2, 8, 100, 64),
            Matrix(2, 4, 300, 64, dtype="fp16"),
            Matrix(2, 4, 300, 64),
            "dtype",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_attention_checks_shapes_while_tracing(registered, q, k, v, says):
    _, seen = registered
    with pytest.raises(ValueError, match=says):
        seen["warploom::attention fake"](q, k, v)


def test_the_implementation_calls_attention(registered, monkeypatch):
    _, seen = registered
    calls = []
    monkeypatch.setattr(torch_op, "attention", lambda *a, **k: calls.append((a, k)))
    seen["warploom::attention CUDA"]("q", "k", "v", True, 0.5)
    assert calls == [(("q", "k", "v", True, 0.5), {"return_lse": True})]


@pytest.fixture
def real():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch_op.register()
    return torch


def test_torch_traces_attention_without_a_gpu(real):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        q = real.empty_strided(
            (2, 8, 100, 64), (51200, 64, 512, 1), dtype=real.bfloat16, device="cuda"
        )
        k = real.empty(2, 4, 300, 64, dtype=real.bfloat16, device="cuda")
        out, lse = real.ops.warploom.attention(q, k, k, True)
        assert (out.shape, out.dtype) == (q.shape, q.dtype)
        assert out.is_contiguous()
        assert (tuple(lse.shape), lse.dtype) == ((2, 8, 100), real.float32)
        v = real.empty(2, 4, 200, 64, dtype=real.bfloat16, device="cuda")
        with pytest.raises(RuntimeError, match="dimension 2"):
            real.ops.warploom.attention(q, k, v)


def test_torch_exports_graphs_of_any_length(real):
    meta = {"dtype": real.bfloat16, "device": "meta"}
    q, k = real.empty(2, 8, 100, 64, **meta), real.empty(2, 4, 300, 64, **meta)

    class Layer(real.nn.Module):
        def forward(self, q, k, v):
            out, lse = real.ops.warploom.attention(q, k, v, True, 0.25)
            return out * 2, lse

    length = real.export.Dim("length", min=2)
    keys = {2: real.export.Dim("keys", min=2)}
    program = real.export.export(Layer(), (q, k, k), dynamic_shapes=({2: length}, keys, keys))
    called = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    assert "warploom.attention.default" in called
