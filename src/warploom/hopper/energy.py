"""Joules of a GEMM: what its products and the bytes it moves cost, by tile shape."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.hopper.kernel import Dtype, GemmKernel, L2Hints
from warploom.target.h200 import HopperTarget

GROUP_ROWS = 2048  # rows of A visited together: their panel stays in the L2


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """M, N, K of a product, and its operand type."""

    m: int
    n: int
    k: int
    dtype: Dtype = Dtype.BF16


def joules_of(kernel: GemmKernel, shape: Shape, target: HopperTarget) -> float:
    """Products, operand reads from shared memory, bytes landed in it, and bytes from DRAM."""
    e = target.energy
    tiles_m, tiles_n = -(-shape.m // kernel.tile_m), -(-shape.n // kernel.tile_n)
    flop = e.joules_per_flop_fp8 if shape.dtype is Dtype.E4M3 else e.joules_per_flop_bf16
    row = shape.k * shape.dtype.bytes
    operands = -(-shape.m // 64) * tiles_n * (64 + kernel.tile_n) * row
    landed = (shape.m * tiles_n + shape.n * tiles_m) * row
    dram = _dram_bytes(kernel, shape, row)
    return (
        2.0 * shape.m * shape.n * shape.k * flop
        + operands * e.joules_per_operand_byte
        + landed * e.joules_per_landed_byte
        + dram * e.joules_per_dram_byte
    )


def _dram_bytes(kernel: GemmKernel, shape: Shape, row: int) -> float:
    """A is read once, B once for every group of tile rows that passes over it.

    With multicast the hint that lets B stream by throws it out before the next cluster comes:
    the profiler shows about twice the bytes.
    """
    passes = -(-shape.m // GROUP_ROWS)
    again = 2 if kernel.cluster != (1, 1) and kernel.hints is L2Hints.KEEP_A else 1
    loads = (shape.m + shape.n * passes) * row * again
    return float(loads + shape.m * shape.n * kernel.out.bytes)
