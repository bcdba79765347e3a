"""The Hopper GEMM as a loop body, and its schedule derived from it.

One iteration of the body is one stage of K: ``load`` copies A and B into a ring slot, ``mma``
multiplies it. ``mma`` stands for all consumers: they run the same program and share the tensor
cores, so together they hold the unit for the sum of their instructions and each must expect its
own group to take that long.
"""

from __future__ import annotations

from tests.mbarrier.gemm_kernel import STAGING_BYTES, GemmKernel
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.rings import Part, SlotRead, StagingBuffer
from warploom.modulo import (
    ModuloEdge,
    ModuloOp,
    ModuloProblem,
    ModuloResult,
    Read,
    Ring,
    RingKind,
    Role,
)
from warploom.sync.mbarrier import Copy, Plan, Product, RingPlan, RolePlan, Store, derive_roles
from warploom.targets.h200 import HopperTarget, h200

PRODUCER, CONSUMER = "producer", "consumer"
RING = "ab"
ISSUE = 16  # cycles a group of wgmma takes on the warp's own instruction stream


def gemm_problem(kernel: GemmKernel, target: HopperTarget) -> ModuloProblem:
    """The body with its costs on the target."""
    busy = kernel.consumers * kernel.blocks_m * kernel.k_steps
    tensor = busy * target.wgmma_interval(kernel.tile_n)
    box = max(kernel.a_bytes, kernel.b_bytes)
    shared = kernel.stage_bytes / target.l2_bytes_per_cycle
    depth = kernel.stages or kernel.stages_that_fit(target)
    return ModuloProblem(
        name=kernel.name,
        ops=(
            ModuloOp(
                name="load",
                unit="copy engine",
                occupancy=int(shared),
                role=PRODUCER,
                issue=2 * target.sync.tma_issue,
            ),
            ModuloOp(name="mma", unit="tensor", occupancy=tensor, role=CONSUMER, issue=ISSUE),
        ),
        edges=(ModuloEdge(src=0, dst=1, latency=target.load_latency(box), why="stage landed"),),
        rings=(
            Ring(
                name=RING,
                kind=RingKind.SMEM,
                size=kernel.stage_bytes,
                writers=(0,),
                readers=((Read(op=1, hold=tensor + h200().tensor_drain),),),
                max_depth=depth,
            ),
        ),
        roles=(Role(name=PRODUCER), Role(name=CONSUMER)),
        smem_budget=depth * kernel.stage_bytes,
        handoff=target.sync.mbarrier_handoff,
        release=target.sync.mbarrier_handoff,
    )


def gemm_plan(kernel: GemmKernel, target: HopperTarget) -> Plan:
    """What ``load`` and ``mma`` do, and the store of a finished tile."""
    cm, cn = kernel.cluster
    copies = (
        Copy(ring=RING, part="A", bytes=kernel.a_bytes // cn, multicast=cn),
        Copy(ring=RING, part="B", bytes=kernel.b_bytes // cm, multicast=cm),
    )
    parts = (
        Part(name="A", offset=0, bytes=kernel.a_bytes),
        Part(name="B", offset=kernel.a_bytes, bytes=kernel.b_bytes),
    )
    both = (SlotRead(ring=RING, part="A"), SlotRead(ring=RING, part="B"))
    return Plan(
        name=kernel.name,
        target=target.name,
        actions={"load": copies, "mma": Product(slots=both, accumulator="acc")},
        rings=(
            RingPlan(
                name=RING,
                parts=parts,
                depth=kernel.stages or kernel.stages_that_fit(target),
            ),
        ),
        roles=(
            RolePlan(name=PRODUCER, instances=1, threads=1),
            RolePlan(
                name=CONSUMER,
                instances=kernel.consumers,
                threads=128,
                registers=(("acc", kernel.accumulators),),
                tail=_stores(kernel),
            ),
        ),
        buffers=(
            StagingBuffer(name="c", role=CONSUMER, copies=kernel.staging, bytes=STAGING_BYTES),
        ),
        cluster=cm * cn,
        release=kernel.release,
    )


def _stores(kernel: GemmKernel) -> tuple[tuple[str, Store], ...]:
    return tuple(
        (
            "store_c",
            Store(
                fill="convert_c",
                reads=("acc",),
                buffer="c",
                copy=i % kernel.staging,
                args=(block, column),
            ),
        )
        for i, (block, column) in enumerate(kernel.chunks())
    )


def roles_of(
    result: ModuloResult, kernel: GemmKernel, target: HopperTarget | None = None
) -> RolesDocument:
    """The synchronised programs of producer and consumers, from a solved body."""
    return derive_roles(result, gemm_plan(kernel, target or h200()))
