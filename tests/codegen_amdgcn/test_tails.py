"""Tails of products on gfx950, executed by the emulator: they read what the author meant."""

import numpy as np
import pytest

import warploom as wl
from warploom.codegen.amdgcn import ElementType, emit_kernel
from warploom.codegen.amdgcn.emit import ready_kernel
from warploom.codegen.amdgcn.emulate import STARVED, emulate_launch, encode
from warploom.codegen.amdgcn.sidecar import launch_plan
from warploom.codegen.amdgcn.tile_kernel import gemm_tile_kernel
from warploom.errors import BackendError


@wl.kernel
def scaled(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    rs: wl.In["m/4", wl.f32],
    cs: wl.In["n/16", wl.f32],
    b: wl.In["m/8", "n/32", wl.f32],
    out: wl.Out["m", "n", wl.f32],
    *,
    s: int,
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    y = acc * rs[m] * cs[n] + b[m, n]
    h = (wl.index(m) * 40503 + wl.index(n) * 2654435769) >> 3
    out[m, n] = wl.where(wl.index(m) - wl.index(n) >= s, y, 0.0) + (h & 4095)


def hashed(m, n):
    with np.errstate(over="ignore"):
        h = np.arange(m, dtype=np.int32)[:, None] * np.int32(40503)
        return (h + np.arange(n, dtype=np.int32) * np.int32(2654435769 - 2**32)) >> 3


@pytest.mark.parametrize("sizes", [(64, 64, 64), (127, 33, 72), (1, 1, 8), (65, 129, 40)])
def test_blocks_whole_scalars_and_operands_names(sizes):
    m, n, k = sizes
    kernel = scaled.specialise({"x": "bf16", "w": "bf16"})
    ready = ready_kernel("fourwave", (64, 64, 32), ElementType.BF16, mma=(16, 16, 32))
    made = emit_kernel(ready.document, ready.tile, text=gemm_tile_kernel(kernel), ragged_k=True)
    assert made.gate.exact
    rng = np.random.default_rng(m)
    x, w = (rng.integers(-2, 3, s).astype(np.float32) for s in ((m, k), (n, k)))
    rs, cs, b = (
        rng.integers(1, 5, s).astype(np.float32)
        for s in ((-(-m // 4),), (-(-n // 16),), (-(-m // 8), -(-n // 32)))
    )
    nan = np.full(64, np.nan, np.float32)  # what lies after them

    def before_nan(a):
        return np.concatenate([a.ravel(), nan]).view(np.uint8)

    tensors = {
        "mat_a": encode(x, "bf16")[0].ravel(),
        "mat_b": encode(w, "bf16")[0].ravel(),
        "mat_rs": before_nan(rs),
        "mat_cs": before_nan(cs),
        "mat_b_tensor": before_nan(b),
        "mat_out": np.zeros(m * n * 4, np.uint8),
    }
    numbers = {"dim_m": m, "dim_n": n, "dim_k": k, "scalar_s": -3 % 2**32}
    grid = launch_plan(made.sidecar, m, n, k).grid[:2]
    after = emulate_launch(made.assembly, tensors, numbers, grid=grid, timing=STARVED)
    got = after["mat_out"].view(np.float32).reshape(m, n)
    rows, cols = np.arange(m), np.arange(n)
    want = (x @ w.T) * rs[rows // 4][:, None] * cs[cols // 16] + b[rows // 8][:, cols // 32]
    want = np.where(rows[:, None] - cols >= -3, want, 0.0) + (hashed(m, n) & 4095)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(kernel.reference(x, w, rs, cs, b, s=-3), want)


@wl.kernel
def sparse(
    x: wl.In["m", "k"],
    w: wl.In["n", "k"],
    cols: wl.In["m/128", "c", wl.i32],
    counts: wl.In["m/128", wl.i32],
    out: wl.Out["m", "n"],
):
    m, n = wl.tile(out, rows=128)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64, some=(cols, counts)):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc


def test_lists_of_tiles_are_refused_at_their_loop():
    with pytest.raises(BackendError, match="a list of tiles") as found:
        gemm_tile_kernel(sparse.specialise(dict.fromkeys(("x", "w", "out"), "bf16")))
    assert "for k in wl.steps" in str(found.value)
