"""Hopper kernels on the command line: by name, from a document, and what they cost.

Everything the commands know of the two hand-written kernels stands here.
"""

from __future__ import annotations

import re
from dataclasses import replace

from warploom.document.roles import RolesDocument
from warploom.emit.cuda import emit_attention, emit_gemm
from warploom.errors import ConfigError, CostModelError, GeometryError
from warploom.guard.mbarrier.release import Release
from warploom.hopper.attention import AttentionKernel, attention_problem
from warploom.hopper.attention_pricing import role_costs
from warploom.hopper.kernel import Dtype, GemmKernel
from warploom.hopper.pricing import gemm_costs
from warploom.launch.shipped import SHIPPED, SHIPPED_ATTENTION, schedule_for
from warploom.sim import RoleCosts
from warploom.target.h200 import HopperTarget, h200

HopperKernel = GemmKernel | AttentionKernel
SHORT_NAMES = ("gemm", "attention")
_GEMM = re.compile(
    r"gemm_(?P<m>\d+)x(?P<n>\d+)(?:_c(?P<cm>\d)x(?P<cn>\d))?_w(?P<w>\d)(?:_s(?P<s>\d+))?"
    r"(?:_o(?P<o>\d+))?(?P<fp32>_fp32)?(?P<drain>_drain)?"
)
_ATTENTION = re.compile(
    r"attention_(?P<d>\d+)x(?P<k>\d+)_w(?P<w>\d)_s(?P<s>\d+)_"
    r"(?:m(?P<margin>\d+)|p(?P<program>[0-9a-f]+))(?P<q>_q)?"
)


def kernel_names() -> tuple[str, ...]:
    """The short names and every shipped kernel."""
    return (*SHORT_NAMES, *(k.name for k in SHIPPED), *(k.name for k in SHIPPED_ATTENTION))


def kernel_named(name: str, tile: str | None = None, dtype: str = "bf16") -> HopperKernel | None:
    """The kernel of that name, or None when the name is of another kind."""
    if name == "gemm":
        return _with_tile(GemmKernel(dtype=_operands(dtype)), tile)
    if name == "attention":
        return _plain(SHIPPED_ATTENTION[0], tile, dtype)
    if found := _GEMM.fullmatch(name):
        return _plain(replace(_gemm(found), dtype=_operands(dtype)), tile, dtype)
    if found := _ATTENTION.fullmatch(name):
        return _plain(_attention(found), tile, dtype)
    return None


def _operands(dtype: str) -> Dtype:
    return Dtype.E4M3 if dtype == "fp8" else Dtype(dtype)


def _plain(kernel: HopperKernel, tile: str | None, dtype: str) -> HopperKernel:
    if tile is not None:
        raise ConfigError(f"{kernel.name} has its tile in its name", where="--tile", fix="drop it")
    if isinstance(kernel, AttentionKernel):
        if dtype == "fp8":
            raise ConfigError("attention in fp8", where="--dtype", fix="bf16 or fp16")
        return replace(kernel, dtype=Dtype(dtype))
    return kernel


def _with_tile(kernel: GemmKernel, tile: str | None) -> GemmKernel:
    if tile is None:
        return kernel
    parts = tile.lower().split("x")
    if len(parts) not in (2, 3) or not all(p.isdigit() for p in parts):
        raise ConfigError(f"{tile!r} is no tile", where="--tile", fix="write it as 128x256x64")
    m, n = int(parts[0]), int(parts[1])
    if len(parts) == 3 and int(parts[2]) != kernel.block_k:
        raise GeometryError(
            f"a stage of {parts[2]} along K",
            where=f"--tile {tile}",
            why=f"a stage row is 128 bytes, {kernel.block_k} elements of {kernel.dtype}",
            fix=f"{m}x{n}x{kernel.block_k}",
        )
    return replace(kernel, tile_m=m, tile_n=n, consumers=1 if m == 64 else 3 if m == 192 else 2)


def _gemm(found: re.Match[str]) -> GemmKernel:
    return GemmKernel(
        tile_m=int(found["m"]),
        tile_n=int(found["n"]),
        cluster=(int(found["cm"] or 1), int(found["cn"] or 1)),
        consumers=int(found["w"]),
        stages=int(found["s"]) if found["s"] else None,
        staging=int(found["o"] or 2),
        out=Dtype.FP32 if found["fp32"] else Dtype.BF16,
        release=Release.SAME_ITERATION if found["drain"] else Release.WHEN_RETIRED,
    )


def _attention(found: re.Match[str]) -> AttentionKernel:
    return AttentionKernel(
        head_dim=int(found["d"]),
        tile_k=int(found["k"]),
        consumers=int(found["w"]),
        stages=int(found["s"]),
        margin=int(found["margin"] or 512),
        program=found["program"] or "",
        q_registers=bool(found["q"]),
    )


def kernel_document(kernel: HopperKernel) -> RolesDocument:
    """The kernel's schedule: shipped, or solved now."""
    return schedule_for(kernel)


def kernel_costs(
    document: RolesDocument, kernel: HopperKernel | None, target: HopperTarget | None = None
) -> RoleCosts:
    """What the document's ops cost; a kernel is needed, since bytes alone do not tell products."""
    target = target or h200()
    if kernel is None:
        raise CostModelError(
            f"no prices for the ops of {document.name}",
            where="simulate",
            why="the name says neither gemm nor attention, so what its products are is not known",
            fix="name the kernel as the shipped ones are named, e.g. gemm_128x256_w2",
        )
    if isinstance(kernel, GemmKernel):
        return gemm_costs(kernel, target)
    costs = role_costs(attention_problem(kernel, target), kernel.op_names(), document, target)
    return replace(costs, name=target.name)


def kernel_source(document: RolesDocument, kernel: HopperKernel) -> str:
    """The kernel as one CUDA text."""
    if isinstance(kernel, GemmKernel):
        return emit_gemm(document, kernel)
    return emit_attention(document, kernel)
