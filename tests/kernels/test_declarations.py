"""One declaration a kernel: public function, checks, names of commands and rows follow from it."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import warploom
from warploom import kernels
from warploom.cli.kernels import kernel_named, kernel_names
from warploom.errors import BackendError
from warploom.frontend.tile_kernel import TileKernel
from warploom.ir.tile import DType
from warploom.kernels.declaration import halves
from warploom.kernels.grouped import grouped_gathered
from warploom.kernels.registry import declaration_of, functions, is_shipped, shipped
from warploom.kernels.rms_gemm import rms_gemm


def written():
    """Every kernel of the package, with the module it stands in."""
    for found in pkgutil.iter_modules(kernels.__path__):
        module = importlib.import_module(f"warploom.kernels.{found.name}")
        for value in vars(module).values():
            if isinstance(value, TileKernel) and value.function.__module__ == module.__name__:
                yield module, value


def test_every_kernel_is_declared_once_where_it_is_written():
    declared = [one.kernel for one in shipped().values()]
    assert {id(k) for k in declared} == {id(k) for _, k in written()}
    assert len(declared) == len({id(k) for k in declared})
    for module, kernel in written():
        assert declaration_of(kernel) in module.SHIPPED


def test_declarations_name_what_their_kernels_have():
    for one in shipped().values():
        tensors = {t.name: t for t in one.kernel.signature.tensors}
        axes = {a.name for t in tensors.values() for a in t.axes}
        assert set(one.types) | set(one.outputs) | set(one.called) <= set(tensors), one.name
        assert set(one.sizes) <= axes, one.name
        assert {one.summed, one.counted} - {None} <= axes | set(tensors) | {"k"}, one.name
        for name, order in one.caller_axes.items():
            assert sorted(order) == sorted(a.name for a in tensors[name].axes), one.name


def test_public_functions_are_where_declarations_say():
    for name, (function, launched) in functions().items():
        assert launched
        home = importlib.import_module(function.module or "warploom.runtime.functions")
        assert callable(getattr(home, name))
        if home.__name__ != "warploom.gfx950":
            assert getattr(warploom, name) is getattr(home, name)
            assert name in warploom.__all__


def test_commands_know_what_is_listed():
    listed = [n for n, one in shipped().items() if one.listed and one.target == "h200"]
    assert list(kernel_names()) == listed
    for name, one in shipped().items():
        if one.listed:
            assert kernel_named(name).tile_kernel is one.kernel


def test_a_pinned_copy_is_the_shipped_kernel_and_one_of_the_same_name_is_not():
    assert is_shipped(rms_gemm.with_config(stages=2))
    scope = {}
    exec("def rms_gemm(): pass", scope)
    other = TileKernel.__new__(TileKernel)
    other.function, other.name = scope["rms_gemm"], "rms_gemm"
    other.function.__module__ = "somebody"
    assert not is_shipped(other)


def test_the_signature_of_a_derived_function_is_the_kernels():
    found = inspect.signature(warploom.rms_gemm)
    assert (
        str(found) == "(x: Any, w: Any, *, eps: float, out: Any = None, stream: int | None = None)"
    )
    assert "[m, k]" in warploom.rms_gemm.__doc__


def test_a_derived_function_computes_and_checks(monkeypatch):
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=shape).astype(np.float16) for shape in ((5, 72), (9, 72)))
    with warploom.interpreting():
        made = warploom.rms_gemm(x, w, eps=1e-5)
        wide = x.astype(np.float64)
        want = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) @ w.astype(np.float64).T
        np.testing.assert_allclose(made.astype(np.float64), want, rtol=5e-3, atol=5e-3)
        with pytest.raises(BackendError, match="x f16, w i32"):
            warploom.rms_gemm(x, w.astype(np.int32), eps=1e-5)
        with pytest.raises(warploom.KernelCallError, match="'eps' is not given"):
            warploom.rms_gemm(x, w)


def test_the_rule_for_operands_of_16_bits():
    signature = grouped_gathered.signature
    good = {"x": DType.F16, "w": DType.F16, "starts": DType.I32, "tokens": DType.I32}
    assert halves(signature, good) == ""
    for change in ({"w": DType.BF16}, {"x": DType.F32, "w": DType.F32}, {"tokens": DType.I8}):
        wrong = halves(signature, good | change)
        assert wrong == "all operands bf16, or all fp16; tokens int32", change
