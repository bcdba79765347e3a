"""Simple Triton kernels compiled for Hopper without a GPU: what the same products take there.

PYTHON-WITH-TRITON bench/lib/triton_compile.py GEMM|SwiGLU|attention
"""

from __future__ import annotations

import json
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # noqa: N803
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (at + k)[None, :])
        y = tl.load(b + n[None, :] * K + (at + k)[:, None])
        acc = tl.dot(x, y, acc)
    inside = (m < M)[:, None] & (n < N)[None, :]
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.bfloat16), mask=inside)


@triton.jit
def swiglu(a, b, u, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # noqa: N803
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    gate, up = tl.zeros((BM, BN), dtype=tl.float32), tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (at + k)[None, :])
        gate = tl.dot(x, tl.load(b + n[None, :] * K + (at + k)[:, None]), gate)
        up = tl.dot(x, tl.load(u + n[None, :] * K + (at + k)[:, None]), up)
    out = gate * tl.sigmoid(gate) * up
    inside = (m < M)[:, None] & (n < N)[None, :]
    tl.store(c + m[:, None] * N + n[None, :], out.to(tl.bfloat16), mask=inside)


@triton.jit
def attention(q, k, v, o, S, T, scale, BS: tl.constexpr, BT: tl.constexpr, D: tl.constexpr):  # noqa: N803
    s, d = tl.program_id(0) * BS + tl.arange(0, BS), tl.arange(0, D)
    t = tl.arange(0, BT)
    x = tl.load(q + s[:, None] * D + d[None, :])
    top = tl.full((BS,), -1.0e30, dtype=tl.float32)
    total = tl.zeros((BS,), dtype=tl.float32)
    acc = tl.zeros((BS, D), dtype=tl.float32)
    for at in range(0, T, BT):
        score = tl.dot(x, tl.load(k + (at + t)[None, :] * D + d[:, None])) * scale
        new = tl.maximum(top, tl.max(score, 1))
        e = tl.exp2(score - new[:, None])
        keep = tl.exp2(top - new)
        total = total * keep + tl.sum(e, 1)
        values = tl.load(v + (at + t)[:, None] * D + d[None, :])
        acc = tl.dot(e.to(tl.bfloat16), values, acc * keep[:, None])
        top = new
    tl.store(o + s[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.bfloat16))


HALF, INT = "*bf16", "i32"
KERNELS = {
    "GEMM": (gemm, [HALF] * 3 + [INT] * 3, {"BM": 128, "BN": 256, "BK": 64}, 8),
    "SwiGLU": (swiglu, [HALF] * 4 + [INT] * 3, {"BM": 128, "BN": 128, "BK": 64}, 8),
    "attention": (
        attention,
        [HALF] * 4 + [INT] * 2 + ["fp32"],
        {"BS": 128, "BT": 128, "D": 128},
        8,
    ),
}


def main():
    kernel, types, constants, warps = KERNELS[sys.argv[1]]
    names = [*types, *(["constexpr"] * len(constants))]
    signature = dict(zip(kernel.arg_names, names, strict=True))
    aligned = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(types) if t in (HALF, INT)}
    source = ASTSource(kernel, signature, constexprs=constants, attrs=aligned)
    made = triton.compile(
        source,
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": warps, "num_stages": 3},
    )
    print(json.dumps({"cubin_bytes": len(made.asm["cubin"]), "triton": triton.__version__}))


if __name__ == "__main__":
    main()
