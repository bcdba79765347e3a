# ruff: noqa: C901, B007, PLR0912, PLR0915, SIM102, PLR0402 (kernels in another language)
"""Compile a spread of CuTe DSL kernels to PTX with launch files, where CUTLASS DSL is installed.

    python cute_kernels.py OUT [NAME...]

Tensors are fake and the architecture is given, so nothing needs a GPU.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")
os.environ["CUTE_DSL_KEEP"] = "ptx,ir"
os.environ["CUTE_DSL_DUMP_DIR"] = tempfile.mkdtemp()

import cutlass
import cutlass.pipeline as pipeline
import cutlass.utils.hopper_helpers as sm90
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup
from cutlass.cute.runtime import make_fake_compact_tensor
from cutlass.memory import SmemAllocator
from cutlass.tensor_utils import LayoutEnum

from warploom.check.adapters import cute_launch

KERNELS = {}
F32, F16, BF16, I32 = cutlass.Float32, cutlass.Float16, cutlass.BFloat16, cutlass.Int32
NAMES = {F32: "f32", F16: "f16", BF16: "bf16", I32: "i32"}


def case(*tensors, scalars=(), outputs=("c",)):
    """A host function: its tensors (name, type, shape), then its numbers."""

    def keep(fn):
        name = fn.__name__ if hasattr(fn, "__name__") else fn.func.__name__
        KERNELS[name.removesuffix("_host")] = (fn, tensors, scalars, outputs)
        return fn

    return keep


# -- element by element


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: cutlass.Int32):
    tx, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    i = bx * 128 + tx
    if i < n:
        c[i] = a[i] + b[i]


@case(("a", F32, (500,)), ("b", F32, (500,)), ("c", F32, (500,)), scalars=(500,))
@cute.jit
def add_host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: cutlass.Int32):
    add_kernel(a, b, c, n).launch(grid=[4, 1, 1], block=[128, 1, 1])


@cute.kernel
def scaled_kernel(a: cute.Tensor, c: cute.Tensor, tv: cute.Layout, tiler: cute.Shape):
    tx, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    ga, gc = cute.zipped_divide(a, tiler), cute.zipped_divide(c, tiler)
    blk = ((None, None), bx)
    ta = cute.composition(ga[blk], tv)[tx, None]
    tc = cute.composition(gc[blk], tv)[tx, None]
    x = ta.load().to(F32)
    tc.store((cute.math.exp(x) * 0.5).to(F16))


@case(("a", F16, (64, 256)), ("c", F16, (64, 256)))
@cute.jit
def scaled_host(a: cute.Tensor, c: cute.Tensor):
    thr = cute.make_layout((4, 32), stride=(32, 1))
    val = cute.make_layout((4, 8), stride=(8, 1))
    tiler, tv = cute.make_layout_tv(thr, val)
    scaled_kernel(a, c, tv, tiler).launch(grid=[4, 1, 1], block=[128, 1, 1])


# -- reductions


@cute.kernel
def row_sum_kernel(a: cute.Tensor, c: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    smem = SmemAllocator()
    part = smem.allocate_tensor(F32, cute.make_layout(4), 16)
    total = F32(0.0)
    for i in cutlass.range(4):
        total += a[bx, tx + 128 * i].to(F32)
    total = cute.arch.warp_reduction_sum(total)
    if tx % 32 == 0:
        part[tx // 32] = total
    cute.arch.sync_threads()
    if tx == 0:
        c[bx] = part[0] + part[1] + part[2] + part[3]


@case(("a", F16, (3, 512)), ("c", F32, (3,)))
@cute.jit
def row_sum_host(a: cute.Tensor, c: cute.Tensor):
    row_sum_kernel(a, c).launch(grid=[3, 1, 1], block=[128, 1, 1])


@cute.kernel
def layernorm_kernel(a: cute.Tensor, w: cute.Tensor, c: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    smem = SmemAllocator()
    part = smem.allocate_tensor(F32, cute.make_layout(4), 16)
    x = cute.make_rmem_tensor(4, F32)
    for i in cutlass.range_constexpr(4):
        x[i] = a[bx, tx + 128 * i].to(F32)
    total = cute.arch.warp_reduction_sum(x[0] + x[1] + x[2] + x[3])
    if tx % 32 == 0:
        part[tx // 32] = total
    cute.arch.sync_threads()
    mean = (part[0] + part[1] + part[2] + part[3]) / 512.0
    cute.arch.sync_threads()  # the same scratch again
    square = F32(0.0)
    for i in cutlass.range_constexpr(4):
        x[i] = x[i] - mean
        square += x[i] * x[i]
    square = cute.arch.warp_reduction_sum(square)
    if tx % 32 == 0:
        part[tx // 32] = square
    cute.arch.sync_threads()
    scale = cute.math.rsqrt((part[0] + part[1] + part[2] + part[3]) / 512.0 + 1e-5)
    for i in cutlass.range_constexpr(4):
        c[bx, tx + 128 * i] = (x[i] * scale * w[tx + 128 * i]).to(F16)


@case(("a", F16, (2, 512)), ("w", F32, (512,)), ("c", F16, (2, 512)))
@cute.jit
def layernorm_host(a: cute.Tensor, w: cute.Tensor, c: cute.Tensor):
    layernorm_kernel(a, w, c).launch(grid=[2, 1, 1], block=[128, 1, 1])


@cute.kernel
def softmax_kernel(a: cute.Tensor, c: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    row = bx * 4 + tx // 32
    lane = tx % 32
    x = cute.make_rmem_tensor(8, F32)
    for i in cutlass.range_constexpr(8):
        x[i] = a[row, lane + 32 * i]
    most = x.load().reduce(cute.ReductionOp.MAX, F32(-1e30), 0)
    most = cute.arch.warp_reduction_max(most)
    total = F32(0.0)
    for i in cutlass.range_constexpr(8):
        x[i] = cute.math.exp2((x[i] - most) * 1.4426950408889634, fastmath=True)
        total += x[i]
    total = cute.arch.warp_reduction_sum(total)
    for i in cutlass.range_constexpr(8):
        c[row, lane + 32 * i] = x[i] / total


@case(("a", F32, (8, 256)), ("c", F32, (8, 256)))
@cute.jit
def softmax_host(a: cute.Tensor, c: cute.Tensor):
    softmax_kernel(a, c).launch(grid=[2, 1, 1], block=[128, 1, 1])


@cute.kernel
def cluster_sum_kernel(a: cute.Tensor, c: cute.Tensor):
    """Every CTA of a cluster sends its sum to the first one's shared memory by st.async."""
    tx, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    rank = cute.arch.block_idx_in_cluster()
    smem = SmemAllocator()
    parts = smem.allocate_tensor(I32, cute.make_layout(4), 16)
    bar = smem.allocate_array(cutlass.Int64, 1)
    if tx == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(bar, 8)
    total = cute.arch.warp_reduction_sum(a[bx, tx])
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if tx == 0:
        cute.arch.store_async_dsmem(parts.iterator + rank, total, bar, I32(0))
    if rank == 0:
        cute.arch.mbarrier_wait(bar, 0)
        if tx == 0:
            c[bx // 2] = parts[0] + parts[1]
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@case(("a", I32, (4, 32)), ("c", I32, (2,)))
@cute.jit
def cluster_sum_host(a: cute.Tensor, c: cute.Tensor):
    cluster_sum_kernel(a, c).launch(grid=[4, 1, 1], block=[32, 1, 1], cluster=[2, 1, 1])


# -- shared memory


@cute.kernel
def transpose_kernel(a: cute.Tensor, c: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = SmemAllocator()
    tile = smem.allocate_tensor(F32, cute.make_layout((32, 32), stride=(33, 1)), 16)
    for i in cutlass.range_constexpr(4):
        tile[ty + 8 * i, tx] = a[by * 32 + ty + 8 * i, bx * 32 + tx]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(4):
        c[bx * 32 + ty + 8 * i, by * 32 + tx] = tile[tx, ty + 8 * i]


@case(("a", F32, (64, 64)), ("c", F32, (64, 64)))
@cute.jit
def transpose_host(a: cute.Tensor, c: cute.Tensor):
    transpose_kernel(a, c).launch(grid=[2, 2, 1], block=[32, 8, 1])


@cute.kernel
def handed_kernel(a: cute.Tensor, c: cute.Tensor):
    """Two halves of a CTA pass one buffer back and forth over named barriers."""
    tx, _, _ = cute.arch.thread_idx()
    smem = SmemAllocator()
    slot = smem.allocate_tensor(F32, cute.make_layout(64), 16)
    full = pipeline.NamedBarrier(barrier_id=1, num_threads=128)
    empty = pipeline.NamedBarrier(barrier_id=2, num_threads=128)
    if tx < 64:
        for i in cutlass.range(5):
            empty.arrive_and_wait()
            slot[tx] = a[i, tx] * 2.0
            full.arrive()
    else:
        for i in cutlass.range(5):
            empty.arrive()
            full.arrive_and_wait()
            c[i, tx - 64] = slot[tx - 64] + 1.0


@case(("a", F32, (5, 64)), ("c", F32, (5, 64)))
@cute.jit
def handed_host(a: cute.Tensor, c: cute.Tensor):
    handed_kernel(a, c).launch(grid=[1, 1, 1], block=[128, 1, 1])


@cute.kernel
def ring_kernel(a: cute.Tensor, c: cute.Tensor, stages: cutlass.Constexpr):
    """A warp writes slots with ordinary stores, another reads them: PipelineAsync."""
    tx, _, _ = cute.arch.thread_idx()
    smem = SmemAllocator()
    ring = smem.allocate_tensor(F32, cute.make_layout((32, stages)), 16)
    bars = smem.allocate_array(cutlass.Int64, 2 * stages)
    pipe = pipeline.PipelineAsync.create(
        barrier_storage=bars,
        num_stages=stages,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 32),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 32),
    )
    cute.arch.sync_threads()
    if tx < 32:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
        for i in cutlass.range(7):
            pipe.producer_acquire(state)
            ring[tx, state.index] = a[i, tx] * 3.0
            pipe.producer_commit(state)
            state.advance()
        pipe.producer_tail(state)
    else:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)
        for i in cutlass.range(7):
            pipe.consumer_wait(state)
            c[i, tx - 32] = ring[31 - (tx - 32), state.index]
            pipe.consumer_release(state)
            state.advance()


@case(("a", F32, (7, 32)), ("c", F32, (7, 32)))
@cute.jit
def ring_host(a: cute.Tensor, c: cute.Tensor):
    ring_kernel(a, c, 3).launch(grid=[1, 1, 1], block=[64, 1, 1])


# -- bulk copies


@cute.kernel
def tma_copy_kernel(
    load: cute.CopyAtom,
    ta: cute.Tensor,
    store: cute.CopyAtom,
    tc: cute.Tensor,
    layout: cute.ComposedLayout,
):
    tx, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    smem = SmemAllocator()
    tile = smem.allocate_tensor(F16, layout.outer, 1024, swizzle=layout.inner)
    bar = smem.allocate_array(cutlass.Int64, 1)
    if tx == 0:
        cute.arch.mbarrier_init(bar, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    one = cute.make_layout(1)
    inside = cute.group_modes(tile, 0, 2)
    sa, ga = cpasync.tma_partition(
        load, 0, one, inside, cute.group_modes(cute.local_tile(ta, (64, 64), (bx, 0)), 0, 2)
    )
    sc, gc = cpasync.tma_partition(
        store, 0, one, inside, cute.group_modes(cute.local_tile(tc, (64, 64), (bx, 0)), 0, 2)
    )
    if tx < 32:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(bar, 64 * 64 * 2)
        cute.copy(load, ga, sa, tma_bar_ptr=bar)
    cute.arch.mbarrier_wait(bar, 0)
    for i in cutlass.range_constexpr(32):
        tile[tx % 64, tx // 64 + 2 * i] = (tile[tx % 64, tx // 64 + 2 * i].to(F32) + 1.0).to(F16)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if tx < 32:
        cute.copy(store, sc, gc)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@case(("a", F16, (128, 64)), ("c", F16, (128, 64)))
@cute.jit
def tma_copy_host(a: cute.Tensor, c: cute.Tensor):
    layout = cute.make_composed_layout(
        cute.make_swizzle(3, 4, 3), 0, cute.make_layout((64, 64), stride=(64, 1))
    )
    load, ta = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, layout, (64, 64))
    store, tc = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), c, layout, (64, 64))
    tma_copy_kernel(load, ta, store, tc, layout).launch(grid=[2, 1, 1], block=[128, 1, 1])


# -- matrix products


@cute.kernel
def gemm_cp_async_kernel(
    a: cute.Tensor,
    b: cute.Tensor,
    c: cute.Tensor,
    sa_layout: cute.ComposedLayout,
    sb_layout: cute.ComposedLayout,
    copy: cute.TiledCopy,
    mma: cute.TiledMma,
    stages: cutlass.Constexpr,
):
    """Ampere's: a ring of cp.async groups, ldmatrix, mma.sync."""
    tx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = SmemAllocator()
    sa = smem.allocate_tensor(F16, sa_layout.outer, 128, swizzle=sa_layout.inner)
    sb = smem.allocate_tensor(F16, sb_layout.outer, 128, swizzle=sb_layout.inner)
    ga = cute.local_tile(a, (64, 32), (by, None))
    gb = cute.local_tile(b, (64, 32), (bx, None))
    gc = cute.local_tile(c, (64, 64), (by, bx))
    thr = copy.get_slice(tx)
    tga, tsa = thr.partition_S(ga), thr.partition_D(sa)
    tgb, tsb = thr.partition_S(gb), thr.partition_D(sb)
    steps = cute.size(tga, mode=[3])
    for s in cutlass.range_constexpr(stages - 1):
        cute.copy(copy, tga[None, None, None, s], tsa[None, None, None, s])
        cute.copy(copy, tgb[None, None, None, s], tsb[None, None, None, s])
        cute.arch.cp_async_commit_group()
    part = mma.get_slice(tx)
    acc = mma.make_fragment_C(part.partition_shape_C((64, 64)))
    acc.fill(0.0)
    ra = mma.make_fragment_A(part.partition_A(sa)[None, None, None, 0])
    rb = mma.make_fragment_B(part.partition_B(sb)[None, None, None, 0])
    op = warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4)
    lda = cute.make_tiled_copy_A(cute.make_copy_atom(op, F16), mma)
    ldb = cute.make_tiled_copy_B(cute.make_copy_atom(op, F16), mma)
    la, lb = lda.get_slice(tx), ldb.get_slice(tx)
    fa, va = la.partition_S(sa), la.retile(ra)
    fb, vb = lb.partition_S(sb), lb.retile(rb)
    for k in cutlass.range(steps):
        cute.arch.cp_async_wait_group(stages - 2)
        cute.arch.sync_threads()
        slot = k % stages
        ahead = k + stages - 1
        if ahead < steps:
            cute.copy(copy, tga[None, None, None, ahead], tsa[None, None, None, ahead % stages])
            cute.copy(copy, tgb[None, None, None, ahead], tsb[None, None, None, ahead % stages])
        cute.arch.cp_async_commit_group()
        cute.copy(lda, fa[None, None, None, slot], va)
        cute.copy(ldb, fb[None, None, None, slot], vb)
        cute.gemm(mma, acc, ra, rb, acc)
    out = cute.make_fragment_like(acc, F32)
    out.store(acc.load())
    cute.autovec_copy(out, part.partition_C(gc))


@case(("a", F16, (64, 160)), ("b", F16, (128, 160)), ("c", F32, (64, 128)))
@cute.jit
def gemm_cp_async_host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    stages = 3
    atom = cute.make_composed_layout(
        cute.make_swizzle(2, 4, 3),
        0,
        cute.make_layout((8, 32), stride=(32, 1)),  # of bytes
    )
    layout = cute.tile_to_shape(atom, (64, 32, stages), (0, 1, 2))
    copy = cute.make_tiled_copy_tv(
        cute.make_copy_atom(cpasync.CopyG2SOp(), F16, num_bits_per_copy=128),
        cute.make_layout((32, 4), stride=(4, 1)),
        cute.make_layout((1, 8)),
    )
    mma = cute.make_tiled_mma(
        warp.MmaF16BF16Op(F16, F32, (16, 8, 16)),
        cute.make_layout((2, 2, 1)),
        permutation_mnk=(32, 32, 16),
    )
    gemm_cp_async_kernel(a, b, c, layout, layout, copy, mma, stages).launch(
        grid=[2, 1, 1], block=[128, 1, 1]
    )


@cute.kernel
def gemm_wgmma_kernel(
    mma: cute.TiledMma,
    load_a: cute.CopyAtom,
    ta: cute.Tensor,
    load_b: cute.CopyAtom,
    tb: cute.Tensor,
    c: cute.Tensor,
    la: cute.ComposedLayout,
    lb: cute.ComposedLayout,
    cta: cute.Layout,
    stages: cutlass.Constexpr,
    tile: cutlass.Constexpr,
    ctas: cutlass.Constexpr,
    special: cutlass.Constexpr,
):
    """TMA fills a ring, wgmma reads it; ``special``: a warp of its own issues the copies."""
    tx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    bm, bn, bk = tile
    warp_index = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = SmemAllocator()
    bars = smem.allocate_array(cutlass.Int64, 2 * stages)
    sa = smem.allocate_tensor(F16, la.outer, 1024, swizzle=la.inner)
    sb = smem.allocate_tensor(F16, lb.outer, 1024, swizzle=lb.inner)
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    pipe = pipeline.PipelineTmaAsync.create(
        barrier_storage=bars,
        num_stages=stages,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 4 * ctas),
        tx_count=(bm + bn) * bk * 2,
        cta_layout_vmnk=cute.make_layout((1, *cta.shape)),
    )
    if cutlass.const_expr(ctas > 1):
        cute.arch.cluster_arrive_relaxed()
        cute.arch.cluster_wait()
    else:
        cute.arch.sync_threads()
    ga = cute.local_tile(ta, (bm, bk), (bx, None))
    gb = cute.local_tile(tb, (bn, bk), (by, None))
    gc = cute.local_tile(c, (bm, bn), (bx, by))
    coord = cta.get_flat_coord(rank)
    share_a = cute.make_layout(cute.slice_(cta, (0, None, 0)).shape)
    tsa, tga = cpasync.tma_partition(
        load_a, coord[1], share_a, cute.group_modes(sa, 0, 2), cute.group_modes(ga, 0, 2)
    )
    share_b = cute.make_layout(cute.slice_(cta, (None, 0, 0)).shape)
    tsb, tgb = cpasync.tma_partition(
        load_b, coord[0], share_b, cute.group_modes(sb, 0, 2), cute.group_modes(gb, 0, 2)
    )
    mask_b = cute.make_layout_image_mask(cta, coord, mode=0) if ctas > 1 else 0
    steps = cute.size(ga, mode=[2])
    part = mma.get_slice(tx % 128)
    ra = mma.make_fragment_A(part.partition_A(sa))
    rb = mma.make_fragment_B(part.partition_B(sb))
    acc = cute.make_rmem_tensor(part.partition_C(gc).shape, F32)
    if cutlass.const_expr(special):
        if warp_index == 4:
            state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
            for k in cutlass.range(steps, unroll=1):
                pipe.producer_acquire(state)
                bar = pipe.producer_get_barrier(state)
                cute.copy(load_a, tga[None, k], tsa[None, state.index], tma_bar_ptr=bar)
                cute.copy(
                    load_b, tgb[None, k], tsb[None, state.index], tma_bar_ptr=bar, mcast_mask=mask_b
                )
                pipe.producer_commit(state)
                state.advance()
            pipe.producer_tail(state)
        elif warp_index < 4:
            state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)
            mma.set(warpgroup.Field.ACCUMULATE, False)
            for k in cutlass.range(steps, unroll=1):
                pipe.consumer_wait(state)
                warpgroup.fence()
                for i in cutlass.range_constexpr(cute.size(ra, mode=[2])):
                    at = (None, None, i, state.index)
                    cute.gemm(mma, acc, ra[at], rb[at], acc)
                    mma.set(warpgroup.Field.ACCUMULATE, True)
                warpgroup.commit_group()
                warpgroup.wait_group(0)
                pipe.consumer_release(state)
                state.advance()
            cute.autovec_copy(acc, part.partition_C(gc))
    else:
        fill = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
        if warp_index == 0:
            for k in cutlass.range(min(stages, steps), unroll=1):
                pipe.producer_acquire(fill)
                bar = pipe.producer_get_barrier(fill)
                cute.copy(load_a, tga[None, k], tsa[None, fill.index], tma_bar_ptr=bar)
                cute.copy(load_b, tgb[None, k], tsb[None, fill.index], tma_bar_ptr=bar)
                pipe.producer_commit(fill)
                fill.advance()
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)
        free = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)
        mma.set(warpgroup.Field.ACCUMULATE, False)
        for k in cutlass.range(steps, unroll=1):
            pipe.consumer_wait(state)
            warpgroup.fence()
            for i in cutlass.range_constexpr(cute.size(ra, mode=[2])):
                at = (None, None, i, state.index)
                cute.gemm(mma, acc, ra[at], rb[at], acc)
                mma.set(warpgroup.Field.ACCUMULATE, True)
            warpgroup.commit_group()
            warpgroup.wait_group(1)
            if k > 0:
                pipe.consumer_release(free)
                free.advance()
                if warp_index == 0:
                    if k + stages - 1 < steps:
                        pipe.producer_acquire(fill)
                        bar = pipe.producer_get_barrier(fill)
                        n = k + stages - 1
                        cute.copy(load_a, tga[None, n], tsa[None, fill.index], tma_bar_ptr=bar)
                        cute.copy(load_b, tgb[None, n], tsb[None, fill.index], tma_bar_ptr=bar)
                        pipe.producer_commit(fill)
                        fill.advance()
            state.advance()
        warpgroup.wait_group(0)
        cute.autovec_copy(acc, part.partition_C(gc))


def _gemm(a, b, c, tile, stages, ctas, special):
    bm, bn, _ = tile
    mma = sm90.make_trivial_tiled_mma(
        F16, F16, OperandMajorMode.K, OperandMajorMode.K, F32, (1, 1, 1), (64, bn)
    )
    la = sm90.make_smem_layout_a(LayoutEnum.ROW_MAJOR, tile, F16, stages)
    lb = sm90.make_smem_layout_b(LayoutEnum.ROW_MAJOR, tile, F16, stages)
    one = cpasync.CopyBulkTensorTileG2SOp()
    many = cpasync.CopyBulkTensorTileG2SMulticastOp() if ctas > 1 else one
    load_a, ta = cpasync.make_tiled_tma_atom(
        one, a, cute.slice_(la, (None, None, 0)), (bm, tile[2])
    )
    load_b, tb = cpasync.make_tiled_tma_atom(
        many, b, cute.slice_(lb, (None, None, 0)), (bn, tile[2]), num_multicast=ctas
    )
    cta = cute.make_layout((ctas, 1, 1))
    grid = [cute.size(a, mode=[0]) // bm, cute.size(b, mode=[0]) // bn, 1]
    gemm_wgmma_kernel(
        mma, load_a, ta, load_b, tb, c, la, lb, cta, stages, tile, ctas, special
    ).launch(grid=grid, block=[160 if special else 128, 1, 1], cluster=[ctas, 1, 1])


@case(("a", F16, (64, 448)), ("b", F16, (64, 448)), ("c", F32, (64, 64)))
@cute.jit
def gemm_tma_host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    _gemm(a, b, c, (64, 64, 64), 3, 1, False)


@case(("a", F16, (64, 448)), ("b", F16, (128, 448)), ("c", F32, (64, 128)))
@cute.jit
def gemm_special_host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    _gemm(a, b, c, (64, 128, 64), 3, 1, True)


@case(("a", F16, (128, 448)), ("b", F16, (64, 448)), ("c", F32, (128, 64)))
@cute.jit
def gemm_cluster_host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    _gemm(a, b, c, (64, 64, 64), 3, 2, True)


def main() -> None:
    """Compile the named kernels, or all."""
    out = Path(sys.argv[1])
    for name, (host, tensors, scalars, outputs) in KERNELS.items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        fakes = [
            make_fake_compact_tensor(
                kind, shape, stride_order=tuple(range(len(shape)))[::-1], assumed_align=16
            )
            for _, kind, shape in tensors
        ]
        try:
            compiled = cute.compile(host, *fakes, *(cutlass.Int32(s) for s in scalars))
            launch = cute_launch(
                compiled,
                arguments=[
                    *(
                        {
                            "name": n,
                            "shape": list(shape),
                            "dtype": NAMES[kind],
                            "role": "out" if n in outputs else "in",
                        }
                        for n, kind, shape in tensors
                    ),
                    *scalars,
                ],
            )
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:2000]}", flush=True)
            continue
        folder = out / f"cute_{name}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernel.ptx").write_text(compiled.artifacts.PTX)
        (folder / "launch.json").write_text(json.dumps(launch, indent=1) + "\n")
        print(folder, flush=True)


if __name__ == "__main__":
    main()
