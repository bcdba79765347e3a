"""What shared memory a kernel has, and how many slots its rings get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.errors import GeometryError
from warploom.ir.tile import DType, Store
from warploom.passes.layout import Layout
from warploom.passes.smem_layout import LINE_BYTES, SlotRing
from warploom.passes.split_k import inbox_bytes
from warploom.passes.tile_order import takes_turns
from warploom.targets.h200 import WGMMA_ROWS, HopperTarget

BARRIER_BYTES = 16
ALIGNMENT = 1024
MOST_STAGES = 12
STAGING_BYTES = WGMMA_ROWS * LINE_BYTES  # one store chunk of a consumer: 64 rows of 128 bytes
COPIED = (DType.BF16, DType.F16, DType.F32)  # others are written element by element


def staged_stores(layout: Layout) -> tuple[Store, ...]:
    """Stores of whole tiles: they leave through shared memory."""
    tail = () if layout.config.store_from_registers else layout.body.tail
    return tuple(
        op
        for op in (*layout.body.loop.body, *tail)
        if isinstance(op, Store) and len(layout.body.values[op.value].dims) == 2
        if not is_straight(layout, op) and not is_turned(layout, op)
        if scattered(layout, op) is None
        if layout.body.kernel.tensor(op.tensor).dtype in COPIED
    )


def is_straight(layout: Layout, op: Store) -> bool:
    """Whether a tile of the loop leaves from registers, as all do that are added in turn; vectors
    always do, by a way of their own.
    """
    if len(layout.body.values[op.value].vars) < 2:
        return False
    if not op.add:
        return layout.config.store_from_registers and op in layout.body.loop.body
    return layout.config.reduce_from_registers or takes_turns(layout.body.kernel)


def is_turned(layout: Layout, op: Store) -> bool:
    """Whether columns of a stored tile lie apart: as rows, or before the tensor's last axis."""
    walked = layout.body.values[op.value].vars
    if op.at[-1].var != walked[-1]:
        return True
    return tuple(a.var for a in op.at if a.var in walked) != walked and not scattered(layout, op)


def scattered(layout: Layout, op: Store) -> str | None:
    """The numbers of the rows a tile is stored to, where it is scattered."""
    lists = (a.value for a in op.at if a.value is not None)
    return next((v for v in lists if layout.body.values[v].dims), None)


def staging_bytes(layout: Layout) -> int:
    """Shared memory of the stores' staging copies."""
    if not staged_stores(layout):
        return 0
    return layout.config.warpgroups * layout.config.epilogue_stages * STAGING_BYTES


def ring_depth(layout: Layout, ring: SlotRing, target: HopperTarget) -> int:
    """Slots of a ring that is filled every iteration: all rings get the same number."""
    if ring.filled:
        return layout.config.computed_tile_stages
    every = [r for r in layout.rings if not r.per_tile and not r.filled]
    once = sum(r.bytes + BARRIER_BYTES for r in layout.rings if r.per_tile)
    once *= layout.config.tile_prefetch
    once += sum(
        layout.config.computed_tile_stages * (r.bytes + BARRIER_BYTES)
        for r in layout.rings
        if r.filled
    )
    left = target.limits.smem_per_block - once - staging_bytes(layout) - ALIGNMENT
    left -= inbox_bytes(layout)
    fit = left // sum(r.bytes + BARRIER_BYTES for r in every)
    wanted = layout.config.stages
    if fit < 1 or (wanted is not None and wanted > fit):
        need = sum(r.bytes for r in every) * (wanted or 1)
        line = layout.body.loop.line
        once = max(0, target.limits.smem_per_block - left)
        raise GeometryError(
            f"{need} bytes of shared memory for {wanted or 1} step(s) of a loop do not fit",
            where=f"{f'{line}: {line.text.strip()}, ' if line else ''}config {layout.config.name}",
            why=f"a CTA has {target.limits.smem_per_block} bytes, and what a tile keeps beside "
            f"them takes {once}",
            fix="fewer elements of whole axes, smaller extents (.with_config), or fewer stages",
        )
    return min(wanted or fit, MOST_STAGES)


def less_memory(target: HopperTarget, rings: Sequence[tuple[SlotRing, Layout]]) -> HopperTarget:
    """The chip without the shared memory that rings of other layouts take."""
    if not rings:
        return target
    taken = 0
    for ring, layout in rings:
        depth = layout.config.tile_prefetch if ring.per_tile else ring_depth(layout, ring, target)
        taken += depth * (-(-ring.bytes // ALIGNMENT) * ALIGNMENT + BARRIER_BYTES)
    limits = replace(target.limits, smem_per_block=target.limits.smem_per_block - taken)
    return replace(target, limits=limits)
