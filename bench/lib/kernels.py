"""Which shapes and kernels the H200 GEMM benchmark looks at (needs no GPU and no torch).

cd bench && python -m lib.kernels [--dtype D]     compile them all into the kernel cache
"""

from __future__ import annotations

import sys
from dataclasses import replace

from warploom.emit.cuda import emit_gemm
from warploom.hopper import Dtype, Epilogue, GemmKernel, L2Hints
from warploom.hopper.energy import Shape
from warploom.launch.build import compile_source
from warploom.launch.choose import candidates, choose, estimate, group_for
from warploom.launch.launch import Choice
from warploom.launch.shipped import SHIPPED, is_shipped, shipped_schedule

SHAPES = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (16384, 16384, 16384),
    (4096, 14336, 4096),
    (8192, 5120, 8192),
    (2048, 4096, 7168),
    (512, 8192, 8192),
)
LARGE = (
    (4096, 8192, 8192),
    (8192, 8192, 4096),
    (16384, 4096, 4096),
    (4096, 28672, 8192),
    (8192, 7168, 2048),
    (6144, 6144, 6144),
    (3072, 12288, 4096),
    (16384, 8192, 1024),
    (5120, 5120, 13824),
)
SKINNY = (
    (16, 8192, 8192),
    (64, 8192, 8192),
    (128, 4096, 4096),
    (128, 7168, 16384),
    (256, 4096, 7168),
    (512, 4096, 4096),
    (1024, 1024, 16384),
    (1000, 3000, 5000),
    (1536, 1536, 8192),
)
GROUPS = {"main": SHAPES, "large": LARGE, "skinny": SKINNY}
ODD = (
    (1000, 1496, 776),
    (129, 256, 72),
    (4096, 4104, 8200),
    (17, 4096, 4096),
    (1, 8, 8),
    (3000, 5000, 1000),
    (128, 11008, 4096),
    (2049, 2056, 2056),
)


def screened(m, n, k, dtype):
    """The kernels worth trying on a shape: the best few by estimate, with variations."""
    shape = Shape(m=m, n=n, k=k, dtype=Dtype(dtype))
    pool = candidates(Dtype(dtype), Dtype.BF16, Epilogue())
    ranked = sorted(pool, key=lambda x: estimate(x, shape).seconds)[:3]
    base = GemmKernel(dtype=Dtype(dtype))
    for kernel in dict.fromkeys((*ranked, base)):
        yield from variations(kernel, kernel in (base, ranked[0]))


def variations(kernel, thorough):
    """A kernel with other tile orders, walks of K, cache hints and staging."""
    group = group_for(kernel)
    yield f"{kernel.name}/g{group}", Choice(kernel=kernel, group=group)
    staged = replace(kernel, staging=4 if kernel.tile_m == 128 else 3)
    if is_shipped(staged):
        yield f"{staged.name}/g{group}", Choice(kernel=staged, group=group)
    if not thorough:
        return
    serpentine = replace(kernel, serpentine=True)
    yield f"{kernel.name}/serp", Choice(kernel=serpentine, group=group)
    if is_shipped(staged):
        both = replace(staged, serpentine=True)
        yield f"{staged.name}/serp", Choice(kernel=both, group=group)
    yield f"{kernel.name}/g{group // 2}", Choice(kernel=kernel, group=max(1, group // 2))
    plain = replace(kernel, hints=L2Hints.NONE)
    yield f"{kernel.name}/nohint", Choice(kernel=plain, group=group)


def kernels_needed():
    """Every kernel the benchmark may load, once."""
    found = {}
    for dtype in ("bf16", "fp16", "e4m3"):
        for kernel in SHIPPED if dtype == "bf16" else SHIPPED[::4]:
            found[replace(kernel, dtype=Dtype(dtype))] = None
        for m, n, k in (*SHAPES, *ODD):
            shape = Shape(m=m, n=n, k=k, dtype=Dtype(dtype))
            found[choose(shape).kernel] = None
            if dtype != "fp16" and (m, n, k) in SHAPES:
                for _, choice in screened(m, n, k, dtype):
                    found[choice.kernel] = None
    return list(found)


def main():
    needed = kernels_needed()
    for i, kernel in enumerate(needed):
        cubin = compile_source(emit_gemm(shipped_schedule(kernel.name), kernel))
        report = cubin.report
        print(
            f"{i + 1}/{len(needed)} {kernel.name} {kernel.dtype} {report.registers} registers,",
            f"{report.spill_bytes} bytes spilled",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
