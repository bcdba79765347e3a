"""The module around the kernel body: LDS arrays, declarations, attributes, metadata."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.emit.gfx950.lower.pointwise import DECLARATIONS as POINTWISE
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
declare i32 @llvm.amdgcn.workgroup.id.z()
declare <4 x bfloat> @llvm.amdgcn.ds.read.tr16.b64.v4bf16(ptr addrspace(3))
declare <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3))
declare { i32, i32 } @llvm.amdgcn.permlane32.swap(i32, i32, i1 immarg, i1 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.store.v4f32(<4 x float>, ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32>, ptr addrspace(8), i32, i32, i32 immarg)
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
    "lds-kernel-id",
    "hostcall-ptr",
    "multigrid-sync-arg",
    "heap-ptr",
    "default-queue",
    "completion-action",
    "flat-scratch-init",
)


def module_text(
    arguments: Sequence[tuple[str, str]],
    lds: Sequence[int],
    tile: GemmTile,
    body: list[str],
    *,
    agprs: bool,
    grid: int = 2,
    name: str = KERNEL_NAME,
) -> str:
    """The module with ``body`` as the kernel's instructions, and LDS of each channel's bytes.

    ``agprs``: the upper half of the register file is used; ``grid``: its dimensions.
    """
    parts = ['target triple = "amdgcn-amd-amdhsa"']
    for size, letter in zip(lds, "abc", strict=False):
        parts.append(
            f"@lds_{letter} = internal addrspace(3) global [{size} x i8] poison, align 1024"
        )
    given = ", ".join(f"{_KINDS[kind]} %{argument}" for argument, kind in arguments)
    parts.append(f"define amdgpu_kernel void @{name}({given}) #0 {{")
    parts.append("entry:")
    parts += body
    parts.append("}")
    parts.append(_attributes(tile, agprs=agprs, grid=grid))
    declared = _DECLARATIONS + POINTWISE + _mfma_declaration(tile)
    return "\n".join(parts) + declared + _METADATA


def _attributes(tile: GemmTile, *, agprs: bool, grid: int) -> str:
    absent = (*_ABSENT, *(() if grid == 3 else ("workgroup-id-z",)))
    waves = waves_per_simd(tile)
    words = [
        "nounwind",
        f'"amdgpu-flat-work-group-size"="{tile.threads},{tile.threads}"',
        f'"amdgpu-waves-per-eu"="{waves},{waves}"',
        '"uniform-work-group-size"="true"',
        *(f'"amdgpu-no-{name}"' for name in absent),
    ]
    if not agprs:
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
