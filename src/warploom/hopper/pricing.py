"""What the timing simulator needs to know of a Hopper GEMM: costs of its role programs.

Copies and products are priced from the target's measured figures. The store of a finished tile
is a model: conversion at the vector rate plus the write to staging memory, and a bulk store at
the rate and latency of a load of the same size.
"""

from __future__ import annotations

from warploom.hopper.gemm import ISSUE
from warploom.hopper.kernel import STAGING_BYTES, GemmKernel
from warploom.sim import OpTiming, RoleCosts, RoleOpCost
from warploom.target.h200 import SMEM_BYTES_PER_CYCLE, TENSOR_DRAIN, HopperTarget, h200

ROWS = 64


def gemm_costs(
    kernel: GemmKernel, target: HopperTarget | None = None, *, from_dram: bool = False
) -> RoleCosts:
    """Prices of the ops ``load.A``, ``load.B``, ``mma``, ``convert_c`` and ``store_c``."""
    target = target or h200()
    cm, cn = kernel.cluster

    def copy(size: int) -> RoleOpCost:
        busy = int(size / target.l2_bytes_per_cycle)
        latency = target.load_latency(size, from_dram=from_dram)
        issue = target.sync.tma_issue
        return RoleOpCost(
            unit="copy engine", timing=OpTiming(issue=issue, occupancy=busy, latency=latency)
        )

    tensor = kernel.blocks_m * kernel.k_steps * target.wgmma_interval(kernel.tile_n)
    product = OpTiming(issue=ISSUE, occupancy=tensor, latency=tensor + TENSOR_DRAIN)
    values = ROWS * kernel.chunk_columns
    convert = int(values / 2 / target.vector.cvt_bf16x2) + STAGING_BYTES // SMEM_BYTES_PER_CYCLE
    working = OpTiming(issue=convert, occupancy=convert, latency=convert)
    return RoleCosts(
        name=target.name,
        ops=(
            ("load.A", copy(kernel.a_bytes // cn)),
            ("load.B", copy(kernel.b_bytes // cm)),
            ("mma", RoleOpCost(unit="tensor", timing=product)),
            ("convert_c", RoleOpCost(unit="vector", timing=working)),
            ("store_c", copy(STAGING_BYTES)),
        ),
        handoff=target.sync.mbarrier_handoff,
        arrive=target.sync.mbarrier_arrive,
        barrier_handoff=target.sync.named_barrier_handoff,
        waiting=("vector",),
    )
