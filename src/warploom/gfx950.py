"""MI355X: schedules as gfx950 kernels, emulation, functions. Public; its package is not."""

from warploom.codegen.amdgcn import ElementType, EmittedKernel, emit_kernel
from warploom.codegen.amdgcn.emulate import emulate_gemm, integer_matrix, random_timing
from warploom.codegen.amdgcn.tile import GemmTile, tile_of_geometry
from warploom.runtime.amd_functions import conv2d, split_k_gemm

__all__ = [
    "ElementType",
    "EmittedKernel",
    "GemmTile",
    "conv2d",
    "emit_kernel",
    "emulate_gemm",
    "integer_matrix",
    "random_timing",
    "split_k_gemm",
    "tile_of_geometry",
]
