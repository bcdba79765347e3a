"""Solved schedules that ship with the package, with their proof records: no solver at run time.

A schedule does not depend on the operand type (a stage row is 128 bytes for all), so one document
serves bf16, fp16 and fp8 kernels of the same tile; fp32 results have documents of their own.
``scripts/ship_hopper.py`` derives them anew; with ``--check`` it says whether they are the same.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.resources import files

from warploom.document.roles import RolesDocument
from warploom.document.roles_json import read_roles
from warploom.errors import BackendError
from warploom.guard.mbarrier.release import Release
from warploom.hopper.attention import AttentionKernel
from warploom.hopper.kernel import Dtype, GemmKernel

SHIPPED: tuple[GemmKernel, ...] = (
    GemmKernel(tile_m=128, tile_n=256),
    GemmKernel(tile_m=128, tile_n=256, cluster=(2, 1)),
    GemmKernel(tile_m=128, tile_n=256, cluster=(1, 2)),
    GemmKernel(tile_m=128, tile_n=256, stages=3),
    GemmKernel(tile_m=128, tile_n=256, release=Release.SAME_ITERATION),
    GemmKernel(tile_m=128, tile_n=192),
    GemmKernel(tile_m=128, tile_n=128),
    GemmKernel(tile_m=128, tile_n=128, stages=4),
    GemmKernel(tile_m=128, tile_n=64, stages=6),
    GemmKernel(tile_m=256, tile_n=128),
    *(GemmKernel(tile_m=256, tile_n=n) for n in (160, 168, 176, 184, 192, 200, 208)),
    GemmKernel(tile_m=256, tile_n=176, cluster=(2, 1)),
    GemmKernel(tile_m=256, tile_n=192, cluster=(2, 1)),
    GemmKernel(tile_m=256, tile_n=192, cluster=(1, 2)),
    GemmKernel(tile_m=64, tile_n=256, consumers=1),
    GemmKernel(tile_m=64, tile_n=128, consumers=1, stages=6),
    GemmKernel(tile_m=192, tile_n=160, consumers=3),
    GemmKernel(tile_m=128, tile_n=256, staging=4),
    GemmKernel(tile_m=128, tile_n=128, staging=3),
    *(GemmKernel(tile_m=256, tile_n=n, staging=3) for n in (176, 184, 192, 200)),
    *(
        GemmKernel(tile_m=m, tile_n=n, consumers=c, out=Dtype.FP32, stages=s)
        for m, n, c, s in (
            (128, 256, 2, None),
            (128, 128, 2, None),
            (256, 192, 2, None),
            (64, 128, 1, 6),
        )
    ),
)

# The solver's own schedules by margin, and the programs that measured best among all there are.
SHIPPED_ATTENTION: tuple[AttentionKernel, ...] = (
    AttentionKernel(program="3da270337c"),
    AttentionKernel(),
    AttentionKernel(q_registers=False),
    AttentionKernel(head_dim=64, consumers=3, stages=4, program="c65b7b640a", q_registers=False),
    AttentionKernel(head_dim=64, consumers=3, stages=4, margin=256, q_registers=False),
    AttentionKernel(head_dim=256, tile_k=80, program="3ed2ae24bd", q_registers=False),
    AttentionKernel(head_dim=256, tile_k=80, margin=1024, q_registers=False),
)
FASTEST_CAUSAL = {128: AttentionKernel()}  # where another one than without a mask


def attention_kernel(head_dim: int, *, causal: bool) -> AttentionKernel:
    """The attention kernel that measured best for a head dimension and mask."""
    first = next((k for k in SHIPPED_ATTENTION if k.head_dim == head_dim), None)
    found = FASTEST_CAUSAL.get(head_dim, first) if causal else first
    return replace(found or AttentionKernel(head_dim=head_dim), causal=causal)


@cache
def shipped_schedule(name: str) -> RolesDocument:
    """The document of that name."""
    if f"{name}.json" not in _files():
        known = sorted({*(k.name for k in SHIPPED), *(k.name for k in SHIPPED_ATTENTION)})
        raise BackendError(
            f"no solved schedule {name!r} ships with the package",
            where="shipped_schedule",
            fix=f"derive it with solved_schedule(kernel); shipped: {known}",
        )
    return read_roles((files("warploom.launch") / "data" / f"{name}.json").read_text())


def solved_schedule(kernel: GemmKernel | AttentionKernel) -> RolesDocument:
    """Solve, derive and verify the kernel's schedule now; needs the package's solver.

    For tiles that do not ship, and to re-solve one that does.
    """
    solve = import_module("warploom.hopper.solve")
    judge = import_module("warploom.verify.roles")
    attention = isinstance(kernel, AttentionKernel)
    derive = solve.derive_attention if attention else solve.derive_gemm
    document: RolesDocument = derive(kernel)
    judge.require_clean(document)
    return document


def schedule_for(kernel: GemmKernel | AttentionKernel) -> RolesDocument:
    """The shipped schedule of the kernel's structure, or one solved now."""
    return shipped_schedule(kernel.name) if is_shipped(kernel) else solved_schedule(kernel)


def is_shipped(kernel: GemmKernel | AttentionKernel) -> bool:
    """True when a solved schedule of the kernel's structure ships."""
    return f"{kernel.name}.json" in _files()


@cache
def _files() -> frozenset[str]:
    return frozenset(p.name for p in (files("warploom.launch") / "data").iterdir())
