# ruff: noqa: N803, N812, E741, F841 (kernels in another language)
"""Further TileLang kernels: other shapes, stages and passes; use as ``tilelang_kernels.py``."""

from __future__ import annotations

import tilelang.language as T
from tilelang_kernels import F16, F32, KERNELS, case, gemm, main

KERNELS.clear()
NO_WS = {"tl.disable_warp_specialized": True}
NO_TMA = {"tl.disable_tma_lower": True, "tl.disable_warp_specialized": True}
G = {"M": 128, "N": 128, "K": 320, "bM": 128, "bN": 128, "bK": 64, "threads": 128}
S = {"M": 128, "N": 64, "K": 256, "bM": 64, "bN": 64, "bK": 32, "threads": 128}

for _stages in (0, 1, 2, 3, 4):
    case(f"gemm_sm80_{_stages}s", arch="sm_80", stages=_stages, **S)(gemm)
    case(f"gemm_plain_{_stages}s", passes=NO_WS, stages=_stages, **G)(gemm)
case("gemm_bf16", stages=3, dtype="bfloat16", **{**G, "threads": 256})(gemm)
case("gemm_0s", stages=0, **G)(gemm)


@case("product_nt", stages=3, passes=None)
@case("product_nt_no_tma", stages=3, passes=NO_TMA)
@case("product_nt_sm80", stages=3, arch="sm_80")
def product_nt(stages, M=128, N=128, K=256, bM=64, bN=64, bK=64):
    @T.prim_func
    def main(a: T.Tensor((M, K), F16), b: T.Tensor((N, K), F16), c: T.Tensor((M, N), F32)):
        with T.Kernel(T.ceildiv(N, bN), T.ceildiv(M, bM), threads=128) as (bx, by):
            sa = T.alloc_shared((bM, bK), F16)
            sb = T.alloc_shared((bN, bK), F16)
            acc = T.alloc_fragment((bM, bN), F32)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(K, bK), num_stages=stages):
                T.copy(a[by * bM, ko * bK], sa)
                T.copy(b[bx * bN, ko * bK], sb)
                T.gemm(sa, sb, acc, transpose_B=True)
            T.copy(acc, c[by * bM, bx * bN])

    return main


@case("dequant_int4", stages=2)
@case("dequant_int4_plain", stages=2, passes=NO_TMA)
@case("dequant_int4_sm80", stages=2, arch="sm_80")
def dequant(stages, M=64, N=64, K=256, bM=64, bN=64, bK=64):
    """Weights of four bits, two a byte, widened through registers into shared memory."""

    @T.prim_func
    def main(a: T.Tensor((M, K), F16), b: T.Tensor((N, K // 2), "uint8"), c: T.Tensor((M, N), F16)):
        with T.Kernel(T.ceildiv(N, bN), T.ceildiv(M, bM), threads=128) as (bx, by):
            sa = T.alloc_shared((bM, bK), F16)
            sp = T.alloc_shared((bN, bK // 2), "uint8")
            sb = T.alloc_shared((bN, bK), F16)
            packed = T.alloc_fragment((bN, bK // 2), "uint8")
            wide = T.alloc_fragment((bN, bK), F16)
            acc = T.alloc_fragment((bM, bN), F32)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(K, bK), num_stages=stages):
                T.copy(a[by * bM, ko * bK], sa)
                T.copy(b[bx * bN, ko * bK // 2], sp)
                T.copy(sp, packed)
                for i, j in T.Parallel(bN, bK):
                    wide[i, j] = T.Cast(
                        F16,
                        T.Cast("int32", packed[i, j // 2] >> T.Cast("uint8", (j % 2) * 4)) & 15,
                    )
                T.copy(wide, sb)
                T.gemm(sa, sb, acc, transpose_B=True)
            T.copy(acc, c[by * bM, bx * bN])

    return main


@case("splitk_atomic", stages=2)
@case("splitk_atomic_plain", stages=2, passes=NO_WS)
@case("splitk_atomic_sm80", stages=2, arch="sm_80")
def splitk(stages, M=64, N=64, K=512, bM=64, bN=64, bK=64, parts=4):
    @T.prim_func
    def main(a: T.Tensor((M, K), F16), b: T.Tensor((K, N), F16), c: T.Tensor((M, N), F32)):
        with T.Kernel(T.ceildiv(N, bN), T.ceildiv(M, bM), parts, threads=128) as (bx, by, bz):
            sa = T.alloc_shared((bM, bK), F16)
            sb = T.alloc_shared((bK, bN), F16)
            acc = T.alloc_fragment((bM, bN), F32)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(K // parts, bK), num_stages=stages):
                T.copy(a[by * bM, bz * (K // parts) + ko * bK], sa)
                T.copy(b[bz * (K // parts) + ko * bK, bx * bN], sb)
                T.gemm(sa, sb, acc)
            for i, j in T.Parallel(bM, bN):
                T.atomic_add(c[by * bM + i, bx * bN + j], acc[i, j])

    return main


@case("causal_attention", stages=2)
@case("causal_attention_plain", stages=2, passes=NO_WS)
@case("causal_attention_sm80", stages=1, arch="sm_80")
def causal(stages, n=128, D=64, bM=64, bN=64, threads=128):
    scale = 0.18

    @T.prim_func
    def main(
        q: T.Tensor((n, D), F16),
        k: T.Tensor((n, D), F16),
        v: T.Tensor((n, D), F16),
        o: T.Tensor((n, D), F16),
    ):
        with T.Kernel(T.ceildiv(n, bM), threads=threads) as bx:
            sq = T.alloc_shared([bM, D], F16)
            sk = T.alloc_shared([bN, D], F16)
            sv = T.alloc_shared([bN, D], F16)
            so = T.alloc_shared([bM, D], F16)
            s = T.alloc_fragment([bM, bN], F32)
            p = T.alloc_fragment([bM, bN], F16)
            acc = T.alloc_fragment([bM, D], F32)
            top = T.alloc_fragment([bM], F32)
            last = T.alloc_fragment([bM], F32)
            part = T.alloc_fragment([bM], F32)
            total = T.alloc_fragment([bM], F32)
            T.copy(q[bx * bM : (bx + 1) * bM, :], sq)
            T.fill(acc, 0)
            T.fill(total, 0)
            T.fill(top, -1.0e30)
            for j in T.Pipelined(T.ceildiv((bx + 1) * bM, bN), num_stages=stages):
                T.copy(k[j * bN : (j + 1) * bN, :], sk)
                for i, l in T.Parallel(bM, bN):
                    s[i, l] = T.if_then_else(bx * bM + i >= j * bN + l, 0.0, -1.0e30)
                T.gemm(sq, sk, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, last)
                T.reduce_max(s, top, dim=1, clear=False)
                for i, l in T.Parallel(bM, bN):
                    s[i, l] = T.exp2((s[i, l] - top[i]) * scale)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(bM):
                    total[i] = total[i] * T.exp2((last[i] - top[i]) * scale) + part[i]
                for i, l in T.Parallel(bM, D):
                    acc[i, l] *= T.exp2((last[i] - top[i]) * scale)
                T.copy(s, p)
                T.copy(v[j * bN : (j + 1) * bN, :], sv)
                T.gemm(p, sv, acc, policy=T.GemmWarpPolicy.FullRow)
            for i, l in T.Parallel(bM, D):
                acc[i, l] /= total[i]
            T.copy(acc, so)
            T.copy(so, o[bx * bM : (bx + 1) * bM, :])

    return main


@case("mla_decode", stages=1, passes=NO_WS)
@case("mla_decode_ws", stages=2)
@case("mla_decode_sm80", stages=1, arch="sm_80")
def mla(stages, heads=64, keys=128, D=128, R=64, bN=64, threads=128):
    """Many query heads on one latent key, which is the value too; scores through shared memory."""

    @T.prim_func
    def main(
        q: T.Tensor((heads, D), F16),
        r: T.Tensor((heads, R), F16),
        k: T.Tensor((keys, D), F16),
        e: T.Tensor((keys, R), F16),
        o: T.Tensor((heads, D), F16),
    ):
        with T.Kernel(1, threads=threads) as bx:
            sq = T.alloc_shared([heads, D], F16)
            sr = T.alloc_shared([heads, R], F16)
            sk = T.alloc_shared([bN, D], F16)
            se = T.alloc_shared([bN, R], F16)
            sp = T.alloc_shared([heads, bN], F16)
            s = T.alloc_fragment([heads, bN], F32)
            acc = T.alloc_fragment([heads, D], F32)
            top = T.alloc_fragment([heads], F32)
            last = T.alloc_fragment([heads], F32)
            part = T.alloc_fragment([heads], F32)
            total = T.alloc_fragment([heads], F32)
            T.copy(q, sq)
            T.copy(r, sr)
            T.fill(acc, 0)
            T.fill(total, 0)
            T.fill(top, -1.0e30)
            for j in T.Pipelined(T.ceildiv(keys, bN), num_stages=stages):
                T.copy(k[j * bN : (j + 1) * bN, :], sk)
                T.copy(e[j * bN : (j + 1) * bN, :], se)
                T.clear(s)
                T.gemm(sq, sk, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.gemm(sr, se, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, last)
                T.reduce_max(s, top, dim=1, clear=False)
                for i, l in T.Parallel(heads, bN):
                    s[i, l] = T.exp2((s[i, l] - top[i]) * 0.1)
                T.reduce_sum(s, part, dim=1)
                T.copy(s, sp)
                for i in T.Parallel(heads):
                    total[i] = total[i] * T.exp2((last[i] - top[i]) * 0.1) + part[i]
                for i, l in T.Parallel(heads, D):
                    acc[i, l] *= T.exp2((last[i] - top[i]) * 0.1)
                T.gemm(sp, sk, acc, policy=T.GemmWarpPolicy.FullRow)
            for i, l in T.Parallel(heads, D):
                acc[i, l] /= total[i]
            T.copy(acc, o)

    return main


@case("conv1d", stages=2)
@case("conv1d_plain", stages=2, passes=NO_TMA)
@case("conv1d_sm80", stages=2, arch="sm_80")
def conv1d(stages, n=128, CI=64, CO=64, taps=3, bT=64):
    @T.prim_func
    def main(
        x: T.Tensor((n + taps - 1, CI), F16),
        w: T.Tensor((taps * CI, CO), F16),
        o: T.Tensor((n, CO), F16),
    ):
        with T.Kernel(T.ceildiv(n, bT), threads=128) as bx:
            sx = T.alloc_shared((bT, CI), F16)
            sw = T.alloc_shared((CI, CO), F16)
            acc = T.alloc_fragment((bT, CO), F32)
            T.clear(acc)
            for tap in T.Pipelined(taps, num_stages=stages):
                for i, j in T.Parallel(bT, CI):
                    sx[i, j] = x[bx * bT + i + tap, j]
                T.copy(w[tap * CI, 0], sw)
                T.gemm(sx, sw, acc)
            T.copy(acc, o[bx * bT, 0])

    return main


@case("rmsnorm", rows=8, n=512)
@case("rmsnorm_sm80", rows=8, n=512, arch="sm_80")
def rmsnorm(rows, n, bM=4):
    @T.prim_func
    def main(x: T.Tensor((rows, n), F32), o: T.Tensor((rows, n), F32)):
        with T.Kernel(T.ceildiv(rows, bM), threads=128) as bx:
            sx = T.alloc_shared((bM, n), F32)
            v = T.alloc_fragment((bM, n), F32)
            square = T.alloc_fragment((bM, n), F32)
            total = T.alloc_fragment((bM,), F32)
            T.copy(x[bx * bM : (bx + 1) * bM, :], sx)
            T.copy(sx, v)
            for i, j in T.Parallel(bM, n):
                square[i, j] = v[i, j] * v[i, j]
            T.reduce_sum(square, total, dim=1)
            for i in T.Parallel(bM):
                total[i] = T.rsqrt(total[i] / n + 1e-6)
            for i, j in T.Parallel(bM, n):
                v[i, j] *= total[i]
            T.copy(v, o[bx * bM : (bx + 1) * bM, :])

    return main


@case("transpose", n=64)
@case("transpose_sm80", n=64, arch="sm_80")
def transpose(n, b=32):
    @T.prim_func
    def main(x: T.Tensor((n, n), F32), o: T.Tensor((n, n), F32)):
        with T.Kernel(T.ceildiv(n, b), T.ceildiv(n, b), threads=128) as (bx, by):
            sx = T.alloc_shared((b, b), F32)
            T.copy(x[by * b, bx * b], sx)
            for i, j in T.Parallel(b, b):
                o[bx * b + i, by * b + j] = sx[j, i]

    return main


if __name__ == "__main__":
    main()
