"""Kernels are emitted once a session: LLVM takes a second or more for each."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("llvmlite")

from warploom.codegen.amdgpu import ElementType, EmittedKernel, emit_kernel, gemm_tile
from warploom.codegen.amdgpu.kernels import ready_kernel

from . import listing

BF16, FP16, FP8 = ElementType.BF16, ElementType.FP16, ElementType.FP8
WAVES4 = {"waves": (2, 2)}


def _source(name: str):
    match name:
        case "pingpong":
            return ready_kernel("pingpong", (256, 256, 64), BF16)
        case "pingpong-fp16":
            return ready_kernel("pingpong", (256, 256, 64), FP16)
        case "pingpong-fp8":
            return ready_kernel("pingpong", (256, 256, 128), FP8)
        case "fourwave":
            tile = gemm_tile(256, 256, 64, BF16, mma=(32, 32, 16), waves=(2, 2))
            return listing.fourwave_proven(), tile
        case "fourwave-fp8":
            tile = gemm_tile(256, 256, 128, FP8, mma=(32, 32, 64), waves=(2, 2))
            return listing.fourwave_proven(), tile
        case "fourwave-16x16":
            return listing.fourwave_proven(), gemm_tile(256, 256, 64, BF16, waves=(2, 2))
        case "fourwave-reference":
            return ready_kernel("fourwave", (256, 256, 64), BF16)
        case "single-buffer":
            return ready_kernel("single-buffer", (128, 128, 64), BF16)
    raise KeyError(name)


@cache
def _emitted(name: str) -> EmittedKernel:
    return emit_kernel(*_source(name), insist=name != "fourwave-reference")


@pytest.fixture(scope="session")
def kernel():
    """``kernel(name)``: an emitted kernel by name."""
    return _emitted
