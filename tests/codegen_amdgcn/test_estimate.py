"""The static estimate counts what the assembly holds."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.codegen.amdgcn import ElementType, estimate_loop, gemm_tile, register_truth
from warploom.errors import BackendError


@pytest.mark.parametrize(
    ("name", "matrix", "flops"),
    [
        # 2 * 256 * 256 * 128 multiplications and additions, 4 SIMDs, 1024 a clock each
        ("pingpong", 4096, 2 * 256 * 256 * 128),
        ("fourwave", 4096, 2 * 256 * 256 * 128),
        # twice the K, twice the rate
        ("pingpong-fp8", 4096, 2 * 256 * 256 * 256),
        ("single-buffer", 512, 2 * 128 * 128 * 64),
    ],
)
def test_matrix_cycles(kernel, name, matrix, flops):
    emitted = kernel(name)
    estimate = estimate_loop(emitted.plan.tile, emitted.assembly)
    assert estimate.matrix == matrix
    assert estimate.flops == flops
    assert estimate.bound >= matrix


def test_traffic_of_the_ping_pong_loop(kernel):
    emitted = kernel("pingpong")
    estimate = estimate_loop(emitted.plan.tile, emitted.assembly)
    tile_bytes = 2 * (256 + 256) * 64 * 2  # two K-tiles of A and B
    assert estimate.memory == tile_bytes // 64
    reads = 8 * (4 * 8 + 4 * 4) * 1024  # 8 waves, fragments of 8 and 4 kilobytes
    assert estimate.lds == (reads + tile_bytes) // 128
    assert estimate.limited_by == "matrix"
    assert "cycles" in estimate.text()


def test_more_cycles_mean_fewer_flops(kernel):
    emitted = kernel("fourwave")
    estimate = estimate_loop(emitted.plan.tile, emitted.assembly)
    assert estimate.tflops() == pytest.approx(2516.6, abs=0.1)  # the chip's bf16 peak
    assert estimate.tflops(2 * estimate.bound) == pytest.approx(estimate.tflops() / 2)


def test_a_kernel_without_a_loop_is_refused(kernel):
    emitted = kernel("fourwave-small")
    lines = [s for s in emitted.assembly.splitlines() if "s_cbranch" not in s]
    with pytest.raises(BackendError, match="no loop"):
        estimate_loop(emitted.plan.tile, "\n".join(lines))


@pytest.mark.parametrize("row_bytes", [64, 128, 256])
@pytest.mark.parametrize("mma", [(16, 16, 32), (32, 32, 16)])
def test_the_swizzle_spreads_fragment_reads_over_the_banks(row_bytes, mma):
    """Lanes that are served together touch different 16-byte columns of the 128-byte bank row."""
    tile = gemm_tile(256, 256, row_bytes // 2, ElementType.BF16, mma=mma, waves=(2, 4))
    shift, mask = tile.swizzle
    lane = np.arange(64)
    row, part = lane % mma[0], lane // mma[0]
    for q in range(tile.k_steps * tile.reads_per_operand):
        chunk = (part + q * (64 // mma[0])) ^ ((row >> shift) & mask)
        column = (row * row_bytes + chunk * 16) // 16 % 8
        for first in range(0, 64, 8):
            assert len(set(column[first : first + 8])) == 8


def test_registers_of_each_fragment_load(kernel):
    emitted = kernel("pingpong")
    truth = register_truth(emitted.plan, emitted.gate.resources)
    assert {(name, real) for name, _, real in truth.fragment_loads} == {
        ("MMA_LOAD_A", 32),
        ("MMA_LOAD_B", 16),
    }
    assert "in the model and" in truth.text()
