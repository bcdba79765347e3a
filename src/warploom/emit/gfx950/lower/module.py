"""The module around the kernel body: LDS arrays, attributes, metadata."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.emit.gfx950.tile import GemmTile, waves_per_simd

KERNEL_NAME = "warploom_gemm"
_KINDS = {"pointer": "ptr addrspace(1) noalias", "i32": "i32", "f32": "float"}

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
    return "\n".join(parts) + _METADATA  # LLVM declares the intrinsics it knows by itself


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
