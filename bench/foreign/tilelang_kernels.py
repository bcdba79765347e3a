# ruff: noqa: N803, N812, E741, F841 (kernels in another language)
"""Compile a spread of TileLang kernels to PTX with launch files; run where TileLang is installed.

    python tilelang_kernels.py OUT [NAME...]

TileLang emits CUDA source; nvcc (or the one named by ``NVCC``) makes the PTX. Nothing needs a GPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import tilelang
import tilelang.language as T
from tilelang import tvm

from warploom.check.adapters import tilelang_launch

KERNELS = {}
F16, F32 = "float16", "float32"


def case(name, arch="sm_90a", passes=None, **sizes):
    def keep(fn):
        KERNELS[name] = (fn, arch, passes or {}, sizes)
        return fn

    return keep


G = {"M": 128, "N": 128, "K": 320, "bM": 128, "bN": 128, "bK": 64, "threads": 128}


@case("gemm", stages=3, **G)
@case("gemm_2stages", stages=2, **G)
@case("gemm_1stage", stages=1, **G)
@case("gemm_4stages_256", stages=4, **{**G, "threads": 256})
@case(
    "gemm_sm80",
    arch="sm_80",
    stages=3,
    **{**G, "bK": 32, "K": 160, "M": 64, "bM": 64, "N": 64, "bN": 64},
)
@case("gemm_no_ws", passes={"tl.disable_warp_specialized": True}, stages=3, **G)
@case(
    "gemm_no_tma",
    passes={"tl.disable_tma_lower": True, "tl.disable_warp_specialized": True},
    stages=3,
    **G,
)
def gemm(M, N, K, bM, bN, bK, stages, threads, dtype=F16):
    @T.prim_func
    def main(a: T.Tensor((M, K), dtype), b: T.Tensor((K, N), dtype), c: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, bN), T.ceildiv(M, bM), threads=threads) as (bx, by):
            sa = T.alloc_shared((bM, bK), dtype)
            sb = T.alloc_shared((bK, bN), dtype)
            acc = T.alloc_fragment((bM, bN), F32)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(K, bK), num_stages=stages):
                T.copy(a[by * bM, ko * bK], sa)
                T.copy(b[ko * bK, bx * bN], sb)
                T.gemm(sa, sb, acc)
            T.copy(acc, c[by * bM, bx * bN])

    return main


@case("gemm_staged_store", stages=3, **G)
def gemm_staged(M, N, K, bM, bN, bK, stages, threads, dtype=F16):
    @T.prim_func
    def main(a: T.Tensor((M, K), dtype), b: T.Tensor((K, N), dtype), c: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, bN), T.ceildiv(M, bM), threads=threads) as (bx, by):
            sa = T.alloc_shared((bM, bK), dtype)
            sb = T.alloc_shared((bK, bN), dtype)
            sc = T.alloc_shared((bM, bN), dtype)
            acc = T.alloc_fragment((bM, bN), F32)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(K, bK), num_stages=stages):
                T.copy(a[by * bM, ko * bK], sa)
                T.copy(b[ko * bK, bx * bN], sb)
                T.gemm(sa, sb, acc)
            T.copy(acc, sc)
            T.copy(sc, c[by * bM, bx * bN])

    return main


@case("attention", n=128, keys=256, D=64, bM=128, bN=64, stages=2, threads=256)
@case("attention_128", n=64, keys=256, D=64, bM=64, bN=64, stages=2, threads=128)
@case("attention_1stage", n=64, keys=256, D=64, bM=64, bN=64, stages=1, threads=128)
@case("attention_sm80", arch="sm_80", n=64, keys=128, D=64, bM=64, bN=32, stages=2, threads=128)
def attention(n, keys, D, bM, bN, stages, threads, dtype=F16):
    scale = 0.18 * 1.44269504

    @T.prim_func
    def main(
        q: T.Tensor((n, D), dtype),
        k: T.Tensor((keys, D), dtype),
        v: T.Tensor((keys, D), dtype),
        o: T.Tensor((n, D), dtype),
    ):
        with T.Kernel(T.ceildiv(n, bM), threads=threads) as bx:
            sq = T.alloc_shared([bM, D], dtype)
            sk = T.alloc_shared([bN, D], dtype)
            sv = T.alloc_shared([bN, D], dtype)
            s = T.alloc_fragment([bM, bN], F32)
            p = T.alloc_fragment([bM, bN], dtype)
            acc = T.alloc_fragment([bM, D], F32)
            top = T.alloc_fragment([bM], F32)
            last = T.alloc_fragment([bM], F32)
            factor = T.alloc_fragment([bM], F32)
            part = T.alloc_fragment([bM], F32)
            total = T.alloc_fragment([bM], F32)
            T.copy(q[bx * bM : (bx + 1) * bM, :], sq)
            T.fill(acc, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity(F32))
            for j in T.Pipelined(T.ceildiv(keys, bN), num_stages=stages):
                T.copy(k[j * bN : (j + 1) * bN, :], sk)
                T.clear(s)
                T.gemm(sq, sk, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, last)
                T.fill(top, -T.infinity(F32))
                T.reduce_max(s, top, dim=1, clear=False)
                for i in T.Parallel(bM):
                    top[i] = T.max(top[i], last[i])
                    factor[i] = T.exp2(last[i] * scale - top[i] * scale)
                for i, l in T.Parallel(bM, bN):
                    s[i, l] = T.exp2(s[i, l] * scale - top[i] * scale)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(bM):
                    total[i] = total[i] * factor[i] + part[i]
                T.copy(s, p)
                for i, l in T.Parallel(bM, D):
                    acc[i, l] *= factor[i]
                T.copy(v[j * bN : (j + 1) * bN, :], sv)
                T.gemm(p, sv, acc, policy=T.GemmWarpPolicy.FullRow)
            for i, l in T.Parallel(bM, D):
                acc[i, l] /= total[i]
            T.copy(acc, o[bx * bM : (bx + 1) * bM, :])

    return main


@case("add", n=1024)
def add(n):
    @T.prim_func
    def main(x: T.Tensor((n,), F32), y: T.Tensor((n,), F32), o: T.Tensor((n,), F32)):
        with T.Kernel(T.ceildiv(n, 256), threads=128) as bx:
            for i in T.Parallel(256):
                o[bx * 256 + i] = x[bx * 256 + i] + y[bx * 256 + i]

    return main


@case("softmax", rows=4, n=512)
def softmax(rows, n):
    @T.prim_func
    def main(x: T.Tensor((rows, n), F32), o: T.Tensor((rows, n), F32)):
        with T.Kernel(rows, threads=128) as bx:
            v = T.alloc_fragment([1, n], F32)
            top = T.alloc_fragment([1], F32)
            total = T.alloc_fragment([1], F32)
            T.copy(x[bx : bx + 1, :], v)
            T.reduce_max(v, top, dim=1)
            for i, j in T.Parallel(1, n):
                v[i, j] = T.exp(v[i, j] - top[i])
            T.reduce_sum(v, total, dim=1)
            for i, j in T.Parallel(1, n):
                v[i, j] = v[i, j] / total[i]
            T.copy(v, o[bx : bx + 1, :])

    return main


@case("scan", rows=64, n=64)
def scan(rows, n):
    @T.prim_func
    def main(x: T.Tensor((rows, n), F32), o: T.Tensor((rows, n), F32)):
        with T.Kernel(1, threads=128) as bx:
            v = T.alloc_shared([rows, n], F32)
            T.copy(x, v)
            T.cumsum(v, dim=1)
            T.copy(v, o)

    return main


def build(name: str, out: Path) -> None:
    fn, arch, passes, sizes = KERNELS[name]
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    made = fn(**sizes)
    with tvm.transform.PassContext(opt_level=3, config=passes), target:
        artifact = tilelang.lower(made, target=target)
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.cu").write_text(artifact.kernel_source)
    home = Path(tilelang.__file__).parent
    command = [
        os.environ.get("NVCC", "nvcc"),
        "-ptx",
        "-std=c++17",
        "-O3",
        "-lineinfo",
        f"-arch={arch}",
        "--expt-relaxed-constexpr",
        f"-I{home / 'src'}",
        f"-I{home / '3rdparty/cutlass/include'}",
        "-o",
        str(folder / "kernel.ptx"),
        str(folder / "kernel.cu"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-600:])
    names = [str(b.name) for b in made.buffer_map.values()]
    outputs = {"c", "o"} & set(names)
    launch = tilelang_launch(artifact, names=names, outputs=outputs)
    (folder / "launch.json").write_text(json.dumps(launch, indent=1))


def main() -> None:
    out, wanted = Path(sys.argv[1]), sys.argv[2:] or list(KERNELS)
    for name in wanted:
        try:
            build(name, out)
            print(f"{name}: compiled", flush=True)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error).strip()[-300:]}", flush=True)


if __name__ == "__main__":
    main()
