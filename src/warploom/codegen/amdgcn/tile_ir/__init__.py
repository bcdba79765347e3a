"""Any tile kernel on gfx950: tile IR to LLVM IR, one lowering for all of them."""

from warploom.codegen.amdgcn.tile_ir.program import (
    TileProgram,
    compile_tile_kernel,
    grid_of,
    is_tile_sidecar,
)

__all__ = ["TileProgram", "compile_tile_kernel", "grid_of", "is_tile_sidecar"]
