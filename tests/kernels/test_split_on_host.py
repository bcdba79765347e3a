"""Emitted kernels in parts, in clusters or at one pace, executed on the host, against NumPy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tests.host_cuda import NEEDS_COMPILER, run_case
from warploom.compiler.compiled import Compiled
from warploom.compiler.emit_cuda import emit_kernel
from warploom.kernels.attention import attention
from warploom.kernels.gemm import gemm, turned

pytestmark = NEEDS_COMPILER
ONE = {"m": 64, "n": 32, "consumer_warpgroups": 1}
FEW = {"m": 16, "n": 64, "consumer_warpgroups": 1}
PRODUCTS = [
    (gemm, (72, 40, 200), ONE),  # the second tile is pulled inside
    (gemm, (72, 40, 200), {**ONE, "split_k": 3}),
    (gemm, (100, 100, 300), {"m": 128, "n": 64, "consumer_warpgroups": 2, "split_k": 2}),
    (gemm, (200, 104, 200), {**ONE, "serpentine": True, "raster_group": 2, "cluster": 2}),
    (gemm, (288, 104, 192), {**ONE, "serpentine": True, "cluster": 2}),  # only some rows pulled
    (
        gemm,
        (416, 200, 192),
        {"m": 64, "n": 64, "consumer_warpgroups": 1, "serpentine": True, "cluster": 4},
    ),
    (turned, (9, 100, 200), {**FEW, "split_k": 2}),
    (gemm, (300, 40, 300), {**ONE, "cluster": 2}),  # an odd number of rows of tiles
    (gemm, (260, 72, 200), {"m": 64, "n": 64, "consumer_warpgroups": 1, "cluster": 4}),
    (gemm, (200, 40, 520), {**ONE, "cluster": 2, "split_k": 2}),
    (gemm, (300, 40, 300), {**ONE, "cta_sync_interval": 2}),
    (
        gemm,
        (300, 104, 200),
        {
            "m": 64,
            "n": 64,
            "consumer_warpgroups": 1,
            "cta_sync_interval": 2,
            "l2_evict_last": "a",
            "store_from_registers": False,
        },
    ),
    (gemm, (300, 40, 300), {**ONE, "cluster": 2, "cta_sync_interval": 3}),
    (
        gemm,
        (200, 40, 200),
        {**ONE, "split_k": 2, "split_k_in_cluster": True},
    ),  # several tiles a cluster
    (
        gemm,
        (140, 100, 300),
        {"m": 128, "n": 64, "consumer_warpgroups": 2, "split_k": 2, "split_k_in_cluster": True},
    ),
    (gemm, (72, 40, 600), {**ONE, "split_k": 4, "split_k_in_cluster": True}),
    (
        gemm,
        (72, 200, 300),
        {"m": 64, "n": 128, "consumer_warpgroups": 1, "split_k": 3},
    ),  # many registers
    (
        gemm,
        (72, 200, 200),
        {"m": 64, "n": 160, "consumer_warpgroups": 1, "split_k": 2, "split_k_in_cluster": True},
    ),
    (
        gemm,
        (72, 200, 600),
        {"m": 64, "n": 128, "consumer_warpgroups": 1, "split_k": 4, "split_k_in_cluster": True},
    ),
]


def numbers(rng, *shape):
    """Values of bf16."""
    wide = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
    return (wide & 0xFFFF0000).view(np.float32).astype(np.float64)


def executed(made, sizes, scalars, arrays, seed, grid=2):
    lowered = made.lower(made.choices[0].config)
    case = SimpleNamespace(sizes=sizes, scalars=scalars, arrays=lambda: arrays)
    return run_case(
        case, lowered.kernel, emit_kernel(lowered), lowered.config, grid=grid, seed=seed
    )


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


def test_tiles_that_share_elements_walk_alike():
    """Every other tile goes backwards, where the sum is finite; the pulled ones and their
    neighbours forwards, so that elements stored twice are the same.
    """
    m, n, k = 264, 104, 192
    sizes = {"m": m, "n": n, "k": k}
    a, b = np.zeros((m, k)), np.zeros((n, k))
    a[:, ::64], b[:, ::64] = (2.0**63, 2.0**63, -(2.0**63)), 2.0**64
    kernel = gemm.compile(dict.fromkeys(("a", "b", "out"), "bf16"), without={"bias", "residual"})
    made = Compiled(kernel.kernel, sizes=sizes, pins={**ONE, "serpentine": True})
    (out,), fault = executed(made, sizes, {"alpha": 1.0}, [a, b], 0)
    assert fault is None
    assert np.isinf(out[192:]).all()
    assert np.isinf(out[:, 64:]).all()
    assert set(np.unique(out[:192, :64])) == {2.0**127, np.inf}


def test_neighbours_take_squares_of_tiles():
    """32 of 34 CTAs take 4 x 4 tiles each 16 of them, the rest what is left; two take another."""
    sizes, rng = {"m": 512, "n": 144, "k": 16}, np.random.default_rng(0)
    a, b = numbers(rng, 512, 16), numbers(rng, 144, 16)
    kernel = gemm.compile(dict.fromkeys(("a", "b", "out"), "bf16"), without={"bias", "residual"})
    pins = {**ONE, "serpentine": True, "raster_group": 8}
    made = Compiled(kernel.kernel, sizes=sizes, pins=pins)
    assert "first_tile" in emit_kernel(made.lower(made.choices[0].config)).text
    (out,), fault = executed(made, sizes, {"alpha": 1.0}, [a, b], 0, grid=34)
    assert fault is None
    assert np.linalg.norm(out - a @ b.T) / np.linalg.norm(a @ b.T) < 4e-3


def test_attention_of_few_queries():
    rng = np.random.default_rng(0)
    q, k, v = (numbers(rng, 1, 1, n, 64) for n in (9, 300, 300))
    types = dict.fromkeys(("q", "k", "v", "out"), "bf16")
    rest = {t.name for t in attention.signature.tensors} - set(types)
    kernel = attention.compile(types, sizes={"d": 64}, without=rest).kernel
    sizes = {"b": 1, "h": 1, "g": 1, "s": 9, "t": 300, "d": 64}
    pins = {"s": 64, "t": 64, "consumer_warpgroups": 1, "split_k": 3}
    made = Compiled(kernel, sizes=sizes, pins=pins, positive={"scale"})
    (out,), fault = executed(made, sizes, {"scale": 0.125}, [q, k, v], 1)
    weights = np.exp(q[0, 0] @ k[0, 0].T * 0.125)
    want = weights / weights.sum(1, keepdims=True) @ v[0, 0]
    assert fault is None
    assert np.linalg.norm(out[0, 0] - want) / np.linalg.norm(want) < 5e-3
