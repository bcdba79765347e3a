"""The module around the kernel body: LDS arrays, declarations, attributes, metadata."""

from __future__ import annotations

from warploom.emit.gfx950.lower.pointwise import DECLARATIONS as POINTWISE
from warploom.emit.gfx950.lower.zeroing import wants_agprs
from warploom.emit.gfx950.plan import KernelPlan
from warploom.emit.gfx950.tile import GemmTile, waves_per_simd

KERNEL_NAME = "warploom_gemm"
_KINDS = {"pointer": "ptr addrspace(1) noalias", "i32": "i32", "f32": "float"}

_DECLARATIONS = """
declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8), ptr addrspace(3), i32 immarg, i32, i32, i32 immarg, i32 immarg)
declare <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.store.f32(float, ptr addrspace(8), i32, i32, i32 immarg)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare i32 @llvm.umin.i32(i32, i32)
declare void @llvm.amdgcn.s.waitcnt(i32 immarg)
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.amdgcn.s.setprio(i16 immarg)
declare void @llvm.amdgcn.sched.barrier(i32 immarg)
"""  # noqa: E501

_METADATA = """
!llvm.module.flags = !{!9}
!9 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!0 = distinct !{!0, !"lds"}
!1 = distinct !{!1, !0, !"written by dma"}
!2 = distinct !{!2, !0, !"read as fragments"}
!3 = !{!1}
!4 = !{!2}
"""

# Implicit arguments the kernel does not use.
_ABSENT = (
    "dispatch-ptr",
    "queue-ptr",
    "dispatch-id",
    "implicitarg-ptr",
    "workitem-id-y",
    "workitem-id-z",
    "workgroup-id-z",
    "lds-kernel-id",
    "hostcall-ptr",
    "multigrid-sync-arg",
    "heap-ptr",
    "default-queue",
    "completion-action",
    "flat-scratch-init",
)


def module_text(plan: KernelPlan, body: list[str]) -> str:
    """The module with ``body`` as the kernel's instructions."""
    parts = ['target triple = "amdgcn-amd-amdhsa"']
    for channel, name in enumerate("ab"):
        size = plan.channel_lds_bytes(channel)
        parts.append(f"@lds_{name} = internal addrspace(3) global [{size} x i8] poison, align 1024")
    arguments = ", ".join(f"{_KINDS[kind]} %{name}" for name, kind in plan.arguments)
    parts.append(f"define amdgpu_kernel void @{KERNEL_NAME}({arguments}) #0 {{")
    parts.append("entry:")
    parts += body
    parts.append("}")
    parts.append(_attributes(plan))
    declared = _DECLARATIONS + POINTWISE + _mfma_declaration(plan.tile)
    return "\n".join(parts) + declared + _METADATA


def _attributes(plan: KernelPlan) -> str:
    tile = plan.tile
    waves = waves_per_simd(tile)
    words = [
        "nounwind",
        f'"amdgpu-flat-work-group-size"="{tile.threads},{tile.threads}"',
        f'"amdgpu-waves-per-eu"="{waves},{waves}"',
        '"uniform-work-group-size"="true"',
        *(f'"amdgpu-no-{name}"' for name in _ABSENT),
    ]
    if not wants_agprs(plan):
        # Everything fits the lower half of the file: AGPRs would only bring copies.
        words.append('"amdgpu-agpr-alloc"="0"')
    return f"attributes #0 = {{ {' '.join(words)} }}"


def _mfma_declaration(tile: GemmTile) -> str:
    mfma = tile.mfma
    accumulator = f"<{mfma.accumulator_registers} x float>"
    count = mfma.tail_ir.count("i32")
    scaled = count == 6
    kinds = ["i32 immarg", "i32 immarg", "i32 immarg"]
    if scaled:
        kinds = ["i32 immarg", "i32 immarg", "i32 immarg", "i32", "i32 immarg", "i32"]
    return (
        f"declare {accumulator} @{mfma.intrinsic}({mfma.operand_ir}, {mfma.operand_ir}, "
        f"{accumulator}, {', '.join(kinds)})\n"
    )
