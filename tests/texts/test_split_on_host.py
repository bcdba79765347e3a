"""Emitted kernels in parts, in clusters or at one pace, executed on the host, against NumPy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tests.host_cuda import NEEDS_COMPILER, run_case
from warploom.emit.cuda.tile.source import emit_kernel
from warploom.kernels.attention import attention
from warploom.kernels.gemm import gemm, turned
from warploom.launch.compiled import Compiled

pytestmark = NEEDS_COMPILER
ONE = {"m": 64, "n": 32, "consumers": 1}
FEW = {"m": 16, "n": 64, "consumers": 1}
PRODUCTS = [
    (gemm, (72, 40, 200), ONE),  # the second tile is pulled inside
    (gemm, (72, 40, 200), {**ONE, "split": 3}),
    (gemm, (100, 100, 300), {"m": 128, "n": 64, "consumers": 2, "split": 2}),
    (turned, (9, 100, 200), {**FEW, "split": 2}),
    (gemm, (300, 40, 300), {**ONE, "cluster": 2}),  # an odd number of rows of tiles
    (gemm, (260, 72, 200), {"m": 64, "n": 64, "consumers": 1, "cluster": 4}),
    (gemm, (200, 40, 520), {**ONE, "cluster": 2, "split": 2}),
    (gemm, (300, 40, 300), {**ONE, "pace": 2}),
    (gemm, (300, 40, 300), {**ONE, "cluster": 2, "pace": 3}),
    (gemm, (200, 40, 200), {**ONE, "split": 2, "near": True}),  # several tiles a cluster
    (gemm, (140, 100, 300), {"m": 128, "n": 64, "consumers": 2, "split": 2, "near": True}),
    (gemm, (72, 40, 600), {**ONE, "split": 4, "near": True}),
]


def numbers(rng, *shape):
    """Values of bf16."""
    wide = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
    return (wide & 0xFFFF0000).view(np.float32).astype(np.float64)


def executed(made, sizes, scalars, arrays, seed):
    lowered = made.lower(made.choices[0].tiling)
    case = SimpleNamespace(sizes=sizes, scalars=scalars, arrays=lambda: arrays)
    return run_case(case, lowered.kernel, emit_kernel(lowered), lowered.tiling, grid=2, seed=seed)


@pytest.mark.parametrize(("text", "shape", "pins"), PRODUCTS)
def test_products(text, shape, pins):
    rng = np.random.default_rng(0)
    sizes = dict(zip("mnk", shape, strict=True))
    a, b = numbers(rng, sizes["m"], sizes["k"]), numbers(rng, sizes["n"], sizes["k"])
    types = dict.fromkeys(("a", "b", "out"), "bf16")
    kernel = text.compile(types, without={"bias", "residual"}).kernel
    made = Compiled(kernel, sizes=sizes, pins=pins)
    found = [executed(made, sizes, {"alpha": 1.0}, [a, b], seed) for seed in (0, 1)]
    for (out,), fault in found:
        assert fault is None
        assert np.linalg.norm(out - a @ b.T) / np.linalg.norm(a @ b.T) < 4e-3
    assert np.array_equal(found[0][0][0], found[1][0][0])  # whoever comes last


def test_attention_of_few_queries():
    rng = np.random.default_rng(0)
    q, k, v = (numbers(rng, 1, 1, n, 64) for n in (9, 300, 300))
    types = dict.fromkeys(("q", "k", "v", "out"), "bf16")
    rest = {t.name for t in attention.signature.tensors} - set(types)
    kernel = attention.compile(types, sizes={"d": 64}, without=rest).kernel
    sizes = {"b": 1, "h": 1, "g": 1, "s": 9, "t": 300, "d": 64}
    pins = {"s": 64, "t": 64, "consumers": 1, "split": 3}
    made = Compiled(kernel, sizes=sizes, pins=pins, positive={"scale"})
    (out,), fault = executed(made, sizes, {"scale": 0.125}, [q, k, v], 1)
    weights = np.exp(q[0, 0] @ k[0, 0].T * 0.125)
    want = weights / weights.sum(1, keepdims=True) @ v[0, 0]
    assert fault is None
    assert np.linalg.norm(out[0, 0] - want) / np.linalg.norm(want) < 5e-3
