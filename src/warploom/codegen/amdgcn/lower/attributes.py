"""What every gfx950 kernel's LLVM module says beside its instructions: attributes and metadata."""

METADATA = """
!llvm.module.flags = !{!9}
!9 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!7 = !{}
!0 = distinct !{!0, !"lds"}
!1 = distinct !{!1, !0, !"written by dma"}
!2 = distinct !{!2, !0, !"read as fragments"}
!3 = !{!1}
!4 = !{!2}
"""
# Implicit arguments the kernels do not use.
ABSENT = (
    "dispatch-ptr", "queue-ptr", "dispatch-id", "implicitarg-ptr", "workitem-id-y",
    "workitem-id-z", "lds-kernel-id", "hostcall-ptr", "multigrid-sync-arg", "heap-ptr",
    "default-queue", "completion-action", "flat-scratch-init",
)  # fmt: skip


def attributes(threads: int, waves: int, *, agprs: bool, grid: int) -> str:
    """The attributes of a kernel: ``waves`` of it on a SIMD, ``grid``: dimensions of its grid.

    Without ``agprs`` everything fits the lower half of the register file: AGPRs would only bring
    copies.
    """
    unused = [f"workgroup-id-{axis}" for axis in "xyz"[grid:]]
    words = [
        "nounwind",
        f'"amdgpu-flat-work-group-size"="{threads},{threads}"',
        f'"amdgpu-waves-per-eu"="{waves},{waves}"',
        '"uniform-work-group-size"="true"',
        *(f'"amdgpu-no-{name}"' for name in (*ABSENT, *unused)),
        *(() if agprs else ('"amdgpu-agpr-alloc"="0"',)),
    ]
    return f"attributes #0 = {{ {' '.join(words)} }}"
