"""MI355X code: emit a schedule as a gfx950 kernel, and emulate it. Public; its package is not."""

from warploom.codegen.amdgcn import ElementType, EmittedKernel, emit_kernel
from warploom.codegen.amdgcn.emulator import emulate_gemm, integer_matrix, random_timing
from warploom.codegen.amdgcn.tile import GemmTile, tile_of_geometry

__all__ = [
    "ElementType",
    "EmittedKernel",
    "GemmTile",
    "emit_kernel",
    "emulate_gemm",
    "integer_matrix",
    "random_timing",
    "tile_of_geometry",
]
