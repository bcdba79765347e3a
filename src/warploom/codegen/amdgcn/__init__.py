"""gfx950 (MI355X): schedules become real kernels, checked instruction by instruction.

``emit_kernel(document, tile)`` lowers a schedule document to LLVM IR, compiles it in a subprocess,
and passes the result through the ISA gate; what comes back carries exactly the schedule's order,
waits and barriers. Needs the extra ``amdgpu``; gate and emulation need nothing but the text.
"""

from warploom.codegen.amdgcn.emit import EmittedKernel, emit_kernel, estimate_loop, write_kernel
from warploom.codegen.amdgcn.isa_check import check_isa
from warploom.codegen.amdgcn.plan import KernelPlan, plan_kernel
from warploom.codegen.amdgcn.sidecar import (
    launch_plan,
    read_sidecar,
    register_truth,
    tile_of_sidecar,
)
from warploom.codegen.amdgcn.tile import ElementType, GemmTile, gemm_tile
