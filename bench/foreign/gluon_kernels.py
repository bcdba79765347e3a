# ruff: noqa: N803, RUF005 (kernels in another language)
"""Gluon kernels (Triton's lower-level language) with explicit barriers, TMA and wgmma."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from warploom.check.adapters import triton_launch


@gluon.jit
def loader(a, b, sa, sb, ready, empty, m, n, k, BK: gl.constexpr, STAGES: gl.constexpr):
    for i in range(k // BK):
        s = i % STAGES
        mbarrier.wait(empty.index(s), ((i // STAGES) & 1) ^ 1)
        mbarrier.expect(ready.index(s), a.block_type.nbytes + b.block_type.nbytes)
        tma.async_load(a, [m, i * BK], ready.index(s), sa.index(s))
        tma.async_load(b, [i * BK, n], ready.index(s), sb.index(s))


@gluon.jit
def consumer(
    c,
    sa,
    sb,
    ready,
    empty,
    m,
    n,
    k,
    BK: gl.constexpr,
    STAGES: gl.constexpr,
    BM: gl.constexpr,
    BN: gl.constexpr,
):
    layout: gl.constexpr = gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, BN, 16]
    )
    acc = gl.zeros((BM, BN), gl.float32, layout)
    for i in range(k // BK):
        s = i % STAGES
        mbarrier.wait(ready.index(s), (i // STAGES) & 1)
        acc = warpgroup_mma(sa.index(s), sb.index(s), acc, is_async=True)
        acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
        mbarrier.arrive(empty.index(s), count=1)
    out = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    out.store(acc.to(c.dtype))
    fence_async_shared()
    tma.async_store(c, [m, n], out)
    tma.store_wait(pendings=0)


@gluon.jit
def matmul_ws(
    a, b, c, k, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr
):
    sa = gl.allocate_shared_memory(a.dtype, [STAGES] + a.block_type.shape, a.layout)
    sb = gl.allocate_shared_memory(b.dtype, [STAGES] + b.block_type.shape, b.layout)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(ready.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    m, n = gl.program_id(0) * BM, 0
    gl.warp_specialize(
        [
            (consumer, (c, sa, sb, ready, empty, m, n, k, BK, STAGES, BM, BN)),
            (loader, (a, b, sa, sb, ready, empty, m, n, k, BK, STAGES)),
        ],
        [4],
        [24],
    )


@gluon.jit
def matmul_pipelined(
    a, b, c, k, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr
):
    layout: gl.constexpr = gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, BN, 16]
    )
    sa = gl.allocate_shared_memory(a.dtype, [STAGES] + a.block_type.shape, a.layout)
    sb = gl.allocate_shared_memory(b.dtype, [STAGES] + b.block_type.shape, b.layout)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(ready.index(i), count=1)
    m, n = gl.program_id(0) * BM, 0
    for i in gl.static_range(STAGES - 1):
        mbarrier.expect(ready.index(i), a.block_type.nbytes + b.block_type.nbytes)
        tma.async_load(a, [m, i * BK], ready.index(i), sa.index(i))
        tma.async_load(b, [i * BK, n], ready.index(i), sb.index(i))
    acc = gl.zeros((BM, BN), gl.float32, layout)
    for i in range(k // BK):
        s = i % STAGES
        mbarrier.wait(ready.index(s), (i // STAGES) & 1)
        acc = warpgroup_mma(sa.index(s), sb.index(s), acc, is_async=True)
        acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
        j = i + STAGES - 1
        if j < k // BK:
            t = j % STAGES
            mbarrier.expect(ready.index(t), a.block_type.nbytes + b.block_type.nbytes)
            tma.async_load(a, [m, j * BK], ready.index(t), sa.index(t))
            tma.async_load(b, [j * BK, n], ready.index(t), sb.index(t))
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(ready.index(i))
    out = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    out.store(acc.to(c.dtype))
    fence_async_shared()
    tma.async_store(c, [m, n], out)
    tma.store_wait(pendings=0)


def desc(name, shape, block, role="in"):
    return {
        "descriptor": {"tensor": name, "block": block},
        "of": {"shape": shape, "dtype": "f16", "role": role},
    }


KERNELS = {
    "gluon_matmul_ws": (matmul_ws, 3),
    "gluon_matmul_ws_1stage": (matmul_ws, 1),
    "gluon_matmul_pipelined": (matmul_pipelined, 3),
}


def build(name: str, out: Path) -> None:
    fn, stages = KERNELS[name]
    layout = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    kind = f"tensordesc<fp16[64,64],{layout!r}>"
    signature = {
        "a": kind,
        "b": kind,
        "c": kind,
        "k": "i32",
        "BM": "constexpr",
        "BN": "constexpr",
        "BK": "constexpr",
        "STAGES": "constexpr",
    }
    made = triton.compile(
        GluonASTSource(fn, signature, {"BM": 64, "BN": 64, "BK": 64, "STAGES": stages}),
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": 4},
    )
    arguments = {
        "a": desc("a", [128, 512], [64, 64]),
        "b": desc("b", [512, 64], [64, 64]),
        "c": desc("c", [128, 64], [64, 64], "out"),
        "k": 512,
    }
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.ptx").write_text(made.asm["ptx"])
    (folder / "launch.json").write_text(
        json.dumps(triton_launch(made, grid=(2, 1, 1), arguments=arguments), indent=1)
    )


def main() -> None:
    out, wanted = Path(sys.argv[1]), sys.argv[2:] or list(KERNELS)
    for name in wanted:
        try:
            build(name, out)
            print(f"{name}: compiled")
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error).strip()[-500:]}")


if __name__ == "__main__":
    main()
