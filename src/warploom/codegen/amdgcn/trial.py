"""``try_product``: an emitted tile kernel, emulated on random tensors beside the text's meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.codegen.amdgcn.emulate import (
    FP8,
    Floats,
    Order,
    Timing,
    emulate_launch,
    encode,
)
from warploom.codegen.amdgcn.plan import argument_name
from warploom.codegen.amdgcn.sidecar import launch_plan
from warploom.codegen.amdgcn.tile_kernel import GemmTileKernel
from warploom.errors import ConfigError
from warploom.ir.tile import Access, DType, Tensor

_ENCODED = {DType.BF16: "bf16", DType.F16: "fp16", DType.E4M3: "fp8"}
_ROUNDING = {DType.F32: 2.0**-20, DType.BF16: 2.0**-8, DType.F16: 2.0**-11, DType.E4M3: 2.0**-4}
FILL = 0x7F  # a number no kernel computes, in every type


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductTrial:
    """Results of one emulated launch by tensor, the largest error, and what rounding allows."""

    results: dict[str, Floats]
    error: float
    allowed: float

    @property
    def right(self) -> bool:
        """Within the rounding of the results."""
        return self.error <= self.allowed


def try_product(
    text: GemmTileKernel,
    assembly: str,
    sidecar: Mapping[str, Any],
    sizes: tuple[int, int, int],
    scalars: Mapping[str, float],
    *,
    timing: Timing,
    order: Order = Order.FORWARD,
    seed: int = 0,
) -> ProductTrial:
    """Run a product with its tail for M, N, K and compare all outputs with NumPy.

    Inputs are scaled so that sums stay near one, within the range of every element type.
    """
    rng = np.random.default_rng(seed)
    m, n, k = sizes
    plan = launch_plan(dict(sidecar), m, n, k)
    known = {"dim_m": m, "dim_n": n, "dim_k": k}
    spelled = {text.a: "mat_a", text.b: "mat_b"}
    shapes = {t.name: _shape(text, t, known) for t in text.kernel.tensors}
    inputs, tensors = [], {}
    for tensor in text.kernel.tensors:
        argument = spelled.get(tensor.name) or argument_name(tensor.name)
        shape = shapes[tensor.name]
        if tensor.access is Access.IN:
            scale = k**-0.25 if tensor.name in spelled else 1.0
            values = (rng.standard_normal(shape) * scale).astype(np.float32)
            data, rounded = _stored(values, tensor)
            inputs.append(rounded)
        else:
            data = np.full(prod(shape) * tensor.dtype.bits // 8, FILL, np.uint8)
        tensors[argument] = data
    asked = {a["name"] for a in sidecar["arguments"]}
    numbers: dict[str, int | float] = dict(known)
    numbers |= {argument_name(name, scalar=True): value for name, value in scalars.items()}
    after = emulate_launch(
        assembly,
        {name: data for name, data in tensors.items() if name in asked},
        {name: value for name, value in numbers.items() if name in asked},
        grid=plan.grid[:2],
        timing=timing,
        order=order,
    )
    want = text.kernel.reference(*inputs, **scalars)
    outputs = [t for t in text.kernel.tensors if t.access is not Access.IN]
    results, worst, allowed = {}, 0.0, 1.0
    for tensor, expected in zip(outputs, want if len(outputs) > 1 else (want,), strict=True):
        got = _loaded(after[argument_name(tensor.name)], tensor, shapes[tensor.name])
        results[tensor.name] = got
        right = np.asarray(expected, np.float64)
        largest = float(np.abs(right[np.isfinite(right)]).max(initial=1.0))
        bound = (2 * _ROUNDING[tensor.dtype] + 1e-5) * largest
        error = _difference(got, right)
        if error / bound >= worst / allowed:
            worst, allowed = error, bound
    return ProductTrial(results=results, error=worst, allowed=allowed)


def _shape(text: GemmTileKernel, tensor: Tensor, known: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(a.size or known[text.dimension(a.name)] for a in tensor.axes)


def _stored(values: Floats, tensor: Tensor) -> tuple[NDArray[np.uint8], Floats]:
    """Bytes of an array in memory, and the values they stand for."""
    if tensor.dtype is DType.F32:
        return np.ascontiguousarray(values).view(np.uint8).ravel(), values
    if tensor.dtype not in _ENCODED:
        raise ConfigError(
            f"tensor {tensor.name} of {tensor.dtype.value} cannot be emulated",
            fix="f32, bf16, f16 or e4m3",
        )
    data, rounded = encode(values, _ENCODED[tensor.dtype])
    return data.ravel(), rounded


def _loaded(data: NDArray[np.uint8], tensor: Tensor, shape: tuple[int, ...]) -> Floats:
    if tensor.dtype is DType.F32:
        return data.view(np.float32).reshape(shape)
    if tensor.dtype is DType.E4M3:
        return FP8[data].reshape(shape)
    if tensor.dtype is DType.F16:
        return data.view(np.float16).astype(np.float32).reshape(shape)
    return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)


def _difference(got: Floats, want: NDArray[np.float64]) -> float:
    """The largest difference; infinities must stand where they are wanted."""
    same = got.astype(np.float64) == want
    with np.errstate(invalid="ignore"):
        apart = np.abs(got.astype(np.float64) - want)
    return float(np.where(same, 0.0, np.where(np.isfinite(apart), apart, np.inf)).max())
