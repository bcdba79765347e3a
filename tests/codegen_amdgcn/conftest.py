"""Kernels are emitted once a session: LLVM takes a second or more for each."""

from __future__ import annotations

import os
from functools import cache

import pytest

pytest.importorskip("llvmlite")

from tests.codegen_amdgcn.hip_standin import StandIn
from warploom.codegen.amdgcn import ElementType, EmittedKernel, emit_kernel
from warploom.codegen.amdgcn.emit import ready_kernel
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.runtime import hip

BF16, FP16, FP8 = ElementType.BF16, ElementType.FP16, ElementType.FP8


# schedule, block, element type, matrix instruction, who synchronises
KERNELS = {
    "pingpong": ("pingpong", (256, 256, 64), BF16, None, None),
    "pingpong-fp16": ("pingpong", (256, 256, 64), FP16, None, None),
    "pingpong-fp8": ("pingpong", (256, 256, 128), FP8, None, None),
    "pingpong-proven": ("pingpong", (256, 256, 64), BF16, None, SyncPolicy.PROVEN_WEAKEST),
    "fourwave": ("fourwave", (256, 256, 64), BF16, None, None),
    "fourwave-fewest": ("fourwave", (256, 256, 64), BF16, None, SyncPolicy.PROVEN_FEWEST),
    "fourwave-fp8": ("fourwave", (256, 256, 128), FP8, None, None),
    "fourwave-reference": ("fourwave", (256, 256, 64), BF16, None, SyncPolicy.REFERENCE),
    "fourwave-16x16": ("fourwave", (256, 256, 64), BF16, (16, 16, 32), None),
    "fourwave-small": ("fourwave", (64, 64, 32), BF16, (16, 16, 32), None),
    "single-buffer": ("single_buffer", (128, 128, 64), BF16, None, None),
    "single-buffer-small": ("single_buffer", (64, 64, 64), BF16, None, None),
    "single-buffer-256": ("single_buffer", (256, 256, 64), BF16, (32, 32, 16), None),
}


def ready(name: str):
    schedule, block, element, mma, sync = KERNELS[name]
    return ready_kernel(schedule, block, element, mma=mma, sync=sync, on_race="skip")


@cache
def _emitted(name: str) -> EmittedKernel:
    source = ready(name)
    return emit_kernel(source.document, source.tile, insist=name != "fourwave-reference")


@pytest.fixture(scope="session")
def kernel():
    """``kernel(name)``: an emitted kernel by name."""
    return _emitted


@pytest.fixture(scope="session")
def hip_library(tmp_path_factory):
    """One stand-in for a process: its symbols are global, and the first library's would win."""
    return StandIn(tmp_path_factory.mktemp("hip"))


@pytest.fixture(scope="module")
def hip_standin(hip_library):
    """The stand-in as the HIP runtime of this machine."""
    before = os.environ.get(hip.VARIABLE)
    os.environ[hip.VARIABLE] = str(hip_library.path)
    hip.library.cache_clear()
    yield hip_library
    hip.library.cache_clear()
    if before is None:
        del os.environ[hip.VARIABLE]
    else:
        os.environ[hip.VARIABLE] = before
