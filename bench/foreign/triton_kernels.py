# ruff: noqa: N803 (kernels in another language)
"""Compile a spread of Triton kernels to PTX with launch files; run in an environment with Triton.

    python triton_kernels.py OUT [NAME...]

Each kernel becomes ``OUT/NAME/kernel.ptx`` and ``OUT/NAME/launch.json``. Nothing needs a GPU. The
kernels are written for this purpose; ``reference.py`` has the expected results.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from warploom.check.adapters import triton_launch

KERNELS = {}


def case(name, signature, constants=None, *, arch=90, grid=(1, 1, 1), arguments=None, **options):
    """Register one compilation of a kernel."""

    def keep(fn):
        KERNELS[name] = (fn, signature, constants or {}, arch, grid, arguments or {}, options)
        return fn

    return keep


def t(shape, dtype="f32", role="in", **more):
    return {"shape": list(shape), "dtype": dtype, "role": role, **more}


F, H, B16 = "*fp32", "*fp16", "*bf16"


@case(
    "add",
    {"x": F, "y": F, "o": F, "n": "i32"},
    {"BLOCK": 256},
    grid=(3, 1, 1),
    arguments={"x": t([600]), "y": t([600]), "o": t([600], role="out"), "n": 600},
    num_warps=4,
)
@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@case(
    "softmax",
    {"x": F, "o": F, "n": "i32", "rows": "i32"},
    {"BLOCK": 512, "STAGES": 3},
    grid=(2, 1, 1),
    arguments={"x": t([6, 400]), "o": t([6, 400], role="out"), "n": 400, "rows": 6},
    num_warps=4,
)
@triton.jit
def softmax(x, o, n, rows, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        i = tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, i < n, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(o + row * n + i, e / tl.sum(e, axis=0), i < n)


@case(
    "layernorm",
    {"x": H, "w": H, "b": H, "o": H, "mean": F, "rstd": F, "n": "i32", "eps": "fp32"},
    {"BLOCK": 256},
    grid=(2, 1, 1),
    arguments={
        "x": t([2, 600], "f16"),
        "w": t([600], "f16"),
        "b": t([600], "f16"),
        "o": t([2, 600], "f16", "out"),
        "mean": t([2], role="out"),
        "rstd": t([2], role="out"),
        "n": 600,
        "eps": 1e-5,
    },
    num_warps=8,
)
@triton.jit
def layernorm(x, w, b, o, mean, rstd, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * n
    o += row * n
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        total += tl.load(x + i, i < n, other=0.0).to(tl.float32)
    m = tl.sum(total, axis=0) / n
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        v = tl.where(i < n, tl.load(x + i, i < n, other=0.0).to(tl.float32) - m, 0.0)
        total += v * v
    r = 1 / tl.sqrt(tl.sum(total, axis=0) / n + eps)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        v = tl.load(x + i, i < n, other=0.0).to(tl.float32)
        s, t_ = tl.load(w + i, i < n), tl.load(b + i, i < n)
        tl.store(o + i, (v - m) * r * s + t_, i < n)


MATMUL = {"a": H, "b": H, "c": H, "m": "i32", "n": "i32", "k": "i32"}
MN = {"BM": 64, "BN": 64, "BK": 32}
MATMUL_ARGS = {
    "a": t([128, 160], "f16"),
    "b": t([160, 64], "f16"),
    "c": t([128, 64], "f16", "out"),
    "m": 128,
    "n": 64,
    "k": 160,
}


@case(
    "matmul_sm80",
    MATMUL,
    MN,
    arch=80,
    grid=(2, 1, 1),
    arguments=MATMUL_ARGS,
    num_warps=4,
    num_stages=4,
)
@case(
    "matmul_sm80_2stages",
    MATMUL,
    MN,
    arch=80,
    grid=(2, 1, 1),
    arguments=MATMUL_ARGS,
    num_warps=4,
    num_stages=2,
)
@case(
    "matmul_sm90",
    MATMUL,
    {"BM": 64, "BN": 64, "BK": 32},
    grid=(2, 1, 1),
    arguments=MATMUL_ARGS,
    num_warps=4,
    num_stages=3,
)
@case(
    "matmul_sm90_8w",
    MATMUL,
    {"BM": 128, "BN": 64, "BK": 32},
    grid=(1, 1, 1),
    arguments=MATMUL_ARGS,
    num_warps=8,
    num_stages=4,
)
@case(
    "matmul_sm90_1stage",
    MATMUL,
    {"BM": 64, "BN": 64, "BK": 32},
    grid=(2, 1, 1),
    arguments=MATMUL_ARGS,
    num_warps=4,
    num_stages=1,
)
@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    tiles = tl.cdiv(n, BN)
    pm, pn = pid // tiles, pid % tiles
    rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        x = tl.load(a + rm[:, None] * k + (at + rk)[None, :], (at + rk)[None, :] < k, other=0.0)
        y = tl.load(b + (at + rk)[:, None] * n + rn[None, :], (at + rk)[:, None] < k, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(
        c + rm[:, None] * n + rn[None, :], acc.to(tl.float16), (rm < m)[:, None] & (rn < n)[None, :]
    )


@case(
    "matmul_tf32",
    {"a": F, "b": F, "c": F, "m": "i32", "n": "i32", "k": "i32"},
    MN,
    arch=80,
    grid=(2, 1, 1),
    num_warps=4,
    num_stages=3,
    arguments={
        "a": t([128, 96]),
        "b": t([96, 64]),
        "c": t([128, 64], role="out"),
        "m": 128,
        "n": 64,
        "k": 96,
    },
)
@case(
    "matmul_tf32_sm90",
    {"a": F, "b": F, "c": F, "m": "i32", "n": "i32", "k": "i32"},
    MN,
    grid=(2, 1, 1),
    num_warps=4,
    num_stages=3,
    arguments={
        "a": t([128, 96]),
        "b": t([96, 64]),
        "c": t([128, 64], role="out"),
        "m": 128,
        "n": 64,
        "k": 96,
    },
)
@triton.jit
def matmul_tf32(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    rm, rn, rk = pid * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        x = tl.load(a + rm[:, None] * k + (at + rk)[None, :])
        y = tl.load(b + (at + rk)[:, None] * n + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * n + rn[None, :], acc)


@case(
    "matmul_int8",
    {"a": "*i8", "b": "*i8", "c": "*i32", "n": "i32", "k": "i32"},
    {"BM": 64, "BN": 64, "BK": 64},
    arch=80,
    num_warps=4,
    num_stages=3,
    arguments={
        "a": t([64, 192], "i8"),
        "b": t([192, 64], "i8"),
        "c": t([64, 64], "i32", "out"),
        "n": 64,
        "k": 192,
    },
)
@case(
    "matmul_int8_sm90",
    {"a": "*i8", "b": "*i8", "c": "*i32", "n": "i32", "k": "i32"},
    {"BM": 64, "BN": 64, "BK": 64},
    num_warps=4,
    num_stages=3,
    arguments={
        "a": t([64, 192], "i8"),
        "b": t([192, 64], "i8"),
        "c": t([64, 64], "i32", "out"),
        "n": 64,
        "k": 192,
    },
)
@triton.jit
def matmul_int8(a, b, c, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.int32)
    for at in range(0, k, BK):
        x = tl.load(a + rm[:, None] * k + (at + rk)[None, :])
        y = tl.load(b + (at + rk)[:, None] * n + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * n + rn[None, :], acc)


@case(
    "matmul_fp8",
    {"a": "*fp8e4nv", "b": "*fp8e4nv", "c": F, "n": "i32", "k": "i32"},
    {"BM": 64, "BN": 64, "BK": 64},
    num_warps=4,
    num_stages=3,
    arguments={
        "a": t([64, 192], "e4m3"),
        "b": t([64, 192], "e4m3"),
        "c": t([64, 64], role="out"),
        "n": 64,
        "k": 192,
    },
)
@triton.jit
def matmul_fp8(a, b, c, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        x = tl.load(a + rm[:, None] * k + (at + rk)[None, :])
        y = tl.load(b + rn[:, None] * k + (at + rk)[None, :])
        acc = tl.dot(x, y.T, acc)
    tl.store(c + rm[:, None] * n + rn[None, :], acc)


def desc(tensor, dtype, shape, block, role="in"):
    return {"descriptor": {"tensor": tensor, "block": block}, "of": t(shape, dtype, role)}


TMA = {
    "a": "tensordesc<fp16[128,64]>",
    "b": "tensordesc<fp16[64,64]>",
    "c": "tensordesc<fp16[128,64]>",
    "m": "i32",
    "n": "i32",
    "k": "i32",
}
TMA_ARGS = {
    "a": desc("a", "f16", [256, 320], [128, 64]),
    "b": desc("b", "f16", [320, 128], [64, 64]),
    "c": desc("c", "f16", [256, 128], [128, 64], "out"),
    "m": 256,
    "n": 128,
    "k": 320,
}


@case(
    "matmul_tma",
    TMA,
    {"BM": 128, "BN": 64, "BK": 64, "WS": False},
    grid=(2, 1, 1),
    num_warps=4,
    num_stages=3,
    arguments=TMA_ARGS,
)
@case(
    "matmul_tma_8w",
    TMA,
    {"BM": 128, "BN": 64, "BK": 64, "WS": False},
    grid=(4, 1, 1),
    num_warps=8,
    num_stages=4,
    arguments=TMA_ARGS,
)
@case(
    "matmul_tma_ws",
    {**TMA, "a": "tensordesc<fp16[64,64]>", "c": "tensordesc<fp16[64,64]>"},
    {"BM": 64, "BN": 64, "BK": 64, "WS": True},
    grid=(3, 1, 1),
    num_warps=4,
    num_stages=3,
    arguments={
        **TMA_ARGS,
        "a": desc("a", "f16", [256, 320], [64, 64]),
        "c": desc("c", "f16", [256, 128], [64, 64], "out"),
    },
)
@case(
    "matmul_tma_2ctas",
    TMA,
    {"BM": 128, "BN": 64, "BK": 64, "WS": False},
    grid=(2, 1, 1),
    num_warps=4,
    num_stages=3,
    num_ctas=2,
    arguments=TMA_ARGS,
)
@triton.jit
def matmul_tma(
    a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr
):
    tiles_n = tl.cdiv(n, BN)
    for tile in tl.range(
        tl.program_id(0),
        tl.cdiv(m, BM) * tiles_n,
        tl.num_programs(0),
        warp_specialize=WS,
        flatten=False,
    ):
        om, on = tile // tiles_n * BM, tile % tiles_n * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for at in range(0, k, BK):
            acc = tl.dot(a.load([om, at]), b.load([at, on]), acc)
        c.store([om, on], acc.to(tl.float16))


@case(
    "matmul_device_desc",
    {"a": H, "b": H, "c": H, "m": "i32", "n": "i32", "k": "i32"},
    {"BM": 64, "BN": 64, "BK": 64},
    grid=(2, 1, 1),
    num_warps=4,
    num_stages=3,
    arguments={
        "a": t([128, 256], "f16"),
        "b": t([256, 64], "f16"),
        "c": t([128, 64], "f16", "out"),
        "m": 128,
        "n": 64,
        "k": 256,
    },
)
@triton.jit
def matmul_device_desc(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [k, n], [n, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN])
    om = tl.program_id(0) * BM
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        acc = tl.dot(da.load([om, at]), db.load([at, 0]), acc)
    dc.store([om, 0], acc.to(tl.float16))


ATTN = {"q": H, "k": H, "v": H, "o": H, "n": "i32", "scale": "fp32"}
ATTN_ARGS = {
    "q": t([128, 64], "f16"),
    "k": t([256, 64], "f16"),
    "v": t([256, 64], "f16"),
    "o": t([128, 64], "f16", "out"),
    "n": 256,
    "scale": 0.18,
}


@case(
    "attention",
    ATTN,
    {"BM": 128, "BN": 64, "D": 64},
    num_warps=8,
    num_stages=2,
    arguments=ATTN_ARGS,
)
@case(
    "attention_4w_3s",
    ATTN,
    {"BM": 64, "BN": 64, "D": 64},
    grid=(2, 1, 1),
    num_warps=4,
    num_stages=3,
    arguments=ATTN_ARGS,
)
@case(
    "attention_sm80",
    ATTN,
    {"BM": 64, "BN": 32, "D": 64},
    arch=80,
    grid=(2, 1, 1),
    num_warps=4,
    num_stages=3,
    arguments=ATTN_ARGS,
)
@triton.jit
def attention(q, k, v, o, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rm, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + rm[:, None] * D + rd[None, :])
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for at in range(0, n, BN):
        rn = at + tl.arange(0, BN)
        y = tl.load(k + rn[:, None] * D + rd[None, :])
        s = tl.dot(x, y.T) * (scale * 1.44269504)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        f = tl.exp2(top - new)
        total = total * f + tl.sum(p, 1)
        z = tl.load(v + rn[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(tl.float16), z, acc * f[:, None])
        top = new
    tl.store(o + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(tl.float16))


@case(
    "attention_tma_ws",
    {
        "q": "tensordesc<fp16[128,64]>",
        "k": "tensordesc<fp16[64,64]>",
        "v": "tensordesc<fp16[64,64]>",
        "o": "tensordesc<fp16[128,64]>",
        "n": "i32",
        "scale": "fp32",
    },
    {"BM": 128, "BN": 64, "D": 64, "WS": True},
    num_warps=4,
    num_stages=2,
    arguments={
        "q": desc("q", "f16", [128, 64], [128, 64]),
        "k": desc("k", "f16", [256, 64], [64, 64]),
        "v": desc("v", "f16", [256, 64], [64, 64]),
        "o": desc("o", "f16", [128, 64], [128, 64], "out"),
        "n": 256,
        "scale": 0.18,
    },
)
@case(
    "attention_tma",
    {
        "q": "tensordesc<fp16[128,64]>",
        "k": "tensordesc<fp16[64,64]>",
        "v": "tensordesc<fp16[64,64]>",
        "o": "tensordesc<fp16[128,64]>",
        "n": "i32",
        "scale": "fp32",
    },
    {"BM": 128, "BN": 64, "D": 64, "WS": False},
    num_warps=8,
    num_stages=3,
    arguments={
        "q": desc("q", "f16", [128, 64], [128, 64]),
        "k": desc("k", "f16", [256, 64], [64, 64]),
        "v": desc("v", "f16", [256, 64], [64, 64]),
        "o": desc("o", "f16", [128, 64], [128, 64], "out"),
        "n": 256,
        "scale": 0.18,
    },
)
@triton.jit
def attention_tma(
    q, k, v, o, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, WS: tl.constexpr
):
    om = tl.program_id(0) * BM
    x = q.load([om, 0])
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for at in tl.range(0, n, BN, warp_specialize=WS):
        y = k.load([at, 0])
        s = tl.dot(x, y.T) * (scale * 1.44269504)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        f = tl.exp2(top - new)
        total = total * f + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v.load([at, 0]), acc * f[:, None])
        top = new
    o.store([om, 0], (acc / total[:, None]).to(tl.float16))


@case(
    "atomics",
    {"x": F, "o": F, "count": "*i32", "n": "i32"},
    {"BLOCK": 128},
    grid=(4, 1, 1),
    num_warps=4,
    arguments={
        "x": t([500]),
        "o": t([1], role="inout", init="zero"),
        "count": t([1], "i32", "inout", init="zero"),
        "n": 500,
    },
)
@triton.jit
def atomics(x, o, count, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    tl.atomic_add(o, tl.sum(v, axis=0))
    tl.atomic_add(count, 1)


@case(
    "spinlock",
    {"x": F, "o": F, "lock": "*i32", "n": "i32"},
    {"BLOCK": 64},
    grid=(4, 1, 1),
    num_warps=2,
    arguments={
        "x": t([4, 64]),
        "o": t([64], role="inout", init="zero"),
        "lock": t([1], "i32", "inout", init="zero"),
        "n": 64,
    },
)
@triton.jit
def spinlock(x, o, lock, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * n + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(o + i, tl.load(o + i) + v)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@case(
    "scan",
    {"x": F, "o": F, "n": "i32"},
    {"R": 4, "C": 256},
    num_warps=4,
    arguments={"x": t([4, 256]), "o": t([4, 256], role="out"), "n": 256},
)
@triton.jit
def scan(x, o, n, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * n + tl.arange(0, C)[None, :]
    tl.store(o + at, tl.cumsum(tl.load(x + at), 1))


@case(
    "histogram",
    {"x": "*i32", "o": "*i32"},
    {"N": 512, "BINS": 64},
    num_warps=4,
    arguments={"x": t([512], "i32", range=[0, 64]), "o": t([64], "i32", "out")},
)
@triton.jit
def histogram(x, o, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(o + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, N)), BINS))


@case(
    "argmax",
    {"x": F, "o": "*i32", "n": "i32"},
    {"R": 8, "C": 128},
    num_warps=4,
    arguments={"x": t([8, 128]), "o": t([8], "i32", "out"), "n": 128},
)
@triton.jit
def argmax(x, o, n, R: tl.constexpr, C: tl.constexpr):
    v = tl.load(x + tl.arange(0, R)[:, None] * n + tl.arange(0, C)[None, :])
    tl.store(o + tl.arange(0, R), tl.argmax(v, 1))


@case(
    "sort",
    {"x": F, "o": F},
    {"N": 256},
    num_warps=4,
    arguments={"x": t([256]), "o": t([256], role="out")},
)
@triton.jit
def sort(x, o, N: tl.constexpr):
    tl.store(o + tl.arange(0, N), tl.sort(tl.load(x + tl.arange(0, N))))


@case(
    "transpose",
    {"x": H, "o": H},
    {"N": 64},
    num_warps=4,
    arguments={"x": t([64, 64], "f16"), "o": t([64, 64], "f16", "out")},
)
@triton.jit
def transpose(x, o, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(o + i * N + j, tl.trans(tl.load(x + i * N + j)))


@case(
    "gather",
    {"x": F, "i": "*i32", "o": F},
    {"N": 128, "M": 64},
    num_warps=4,
    arguments={"x": t([128]), "i": t([64], "i32", range=[0, 128]), "o": t([64], role="out")},
)
@triton.jit
def gather(x, i, o, N: tl.constexpr, M: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(o + tl.arange(0, M), tl.gather(v, tl.load(i + tl.arange(0, M)), 0))


@case(
    "splitk_semaphore",
    {"a": H, "b": H, "c": F, "lock": "*i32", "n": "i32", "k": "i32"},
    {"BM": 64, "BN": 64, "BK": 32, "SPLIT": 2},
    grid=(1, 2, 1),
    num_warps=4,
    num_stages=3,
    arguments={
        "a": t([64, 128], "f16"),
        "b": t([128, 64], "f16"),
        "c": t([64, 64], role="inout", init="zero"),
        "lock": t([1], "i32", "inout", init="zero"),
        "n": 64,
        "k": 128,
    },
)
@triton.jit
def splitk(
    a, b, c, lock, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr
):
    part = tl.program_id(1)
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(part * BK, k, BK * SPLIT):
        x = tl.load(a + rm[:, None] * k + (at + rk)[None, :])
        y = tl.load(b + (at + rk)[:, None] * n + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.atomic_add(c + rm[:, None] * n + rn[None, :], acc, sem="relaxed")


@case(
    "dropout",
    {"x": F, "o": F, "n": "i32", "p": "fp32", "seed": "i32"},
    {"BLOCK": 256},
    grid=(2, 1, 1),
    num_warps=4,
    arguments={"x": t([500]), "o": t([500], role="out"), "n": 500, "p": 0.5, "seed": 7},
)
@triton.jit
def dropout(x, o, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, i) > p
    v = tl.load(x + i, i < n)
    tl.store(o + i, tl.where(keep, v / (1 - p), 0.0), i < n)


@case(
    "gelu_bf16",
    {"x": B16, "o": B16, "n": "i32"},
    {"BLOCK": 1024},
    grid=(1, 1, 1),
    num_warps=4,
    arguments={"x": t([1000], "bf16"), "o": t([1000], "bf16", "out"), "n": 1000},
)
@triton.jit
def gelu(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n).to(tl.float32)
    tl.store(o + i, (0.5 * v * (1 + tl.erf(v * 0.70710678))).to(tl.bfloat16), i < n)


@case(
    "fp8_cast",
    {"x": F, "o": "*fp8e5", "p": "*fp8e4nv", "n": "i32"},
    {"BLOCK": 512},
    grid=(1, 1, 1),
    num_warps=4,
    arguments={"x": t([512]), "o": t([512], "e5m2", "out"), "p": t([512], "e4m3", "out"), "n": 512},
)
@triton.jit
def fp8_cast(x, o, p, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(o + i, v.to(tl.float8e5))
    tl.store(p + i, v.to(tl.float8e4nv))


@case(
    "batched_dot3d",
    {"a": H, "b": H, "c": F},
    {"B": 2, "N": 32},
    num_warps=4,
    arguments={
        "a": t([2, 32, 32], "f16"),
        "b": t([2, 32, 32], "f16"),
        "c": t([2, 32, 32], role="out"),
    },
)
@triton.jit
def dot3d(a, b, c, B: tl.constexpr, N: tl.constexpr):
    i = (
        tl.arange(0, B)[:, None, None] * N * N
        + tl.arange(0, N)[None, :, None] * N
        + tl.arange(0, N)[None, None, :]
    )
    tl.store(c + i, tl.dot(tl.load(a + i), tl.load(b + i)))


@case(
    "matmul_fp64",
    {"a": "*fp64", "b": "*fp64", "c": "*fp64"},
    {"N": 16},
    arch=80,
    num_warps=1,
    arguments={"a": t([16, 16], "f64"), "b": t([16, 16], "f64"), "c": t([16, 16], "f64", "out")},
)
@triton.jit
def matmul_fp64(a, b, c, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(c + i, tl.dot(tl.load(a + i), tl.load(b + i)))


@case(
    "dot_registers",
    {"a": "*i8", "b": H, "c": F, "n": "i32", "k": "i32"},
    {"BM": 64, "BN": 64, "BK": 64},
    num_warps=4,
    num_stages=3,
    arguments={
        "a": t([64, 256], "i8"),
        "b": t([256, 64], "f16"),
        "c": t([64, 64], role="out"),
        "n": 64,
        "k": 256,
    },
)
@triton.jit
def dot_registers(a, b, c, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        x = tl.load(a + rm[:, None] * k + (at + rk)[None, :]).to(tl.float16)
        y = tl.load(b + (at + rk)[:, None] * n + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * n + rn[None, :], acc)


@case(
    "tma_reduce",
    {"x": F, "o": "tensordesc<fp32[32,64]>"},
    {"M": 32, "N": 64},
    grid=(2, 1, 1),
    num_warps=4,
    arguments={"x": t([32, 64]), "o": desc("o", "f32", [32, 64], [32, 64], "inout")},
)
@triton.jit
def tma_reduce(x, o, M: tl.constexpr, N: tl.constexpr):
    o.atomic_add([0, 0], tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]))


def build(name: str, out: Path) -> None:
    fn, signature, constants, arch, grid, arguments, options = KERNELS[name]
    whole = {**signature, **dict.fromkeys(constants, "constexpr")}
    order = {n: whole[n] for n in fn.arg_names}
    attrs = {
        (i,): [["tt.divisibility", 16]]
        for i, n in enumerate(fn.arg_names)
        if order[n].startswith("*") or (order[n] == "i32" and arguments.get(n, 1) % 16 == 0)
    }
    made = triton.compile(
        ASTSource(fn, order, constants, attrs), target=GPUTarget("cuda", arch, 32), options=options
    )
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.ptx").write_text(made.asm["ptx"])
    (folder / "launch.json").write_text(
        json.dumps(triton_launch(made, grid=grid, arguments=arguments), indent=1)
    )


def main() -> None:
    out, wanted = Path(sys.argv[1]), sys.argv[2:] or list(KERNELS)
    for name in wanted:
        try:
            build(name, out)
            print(f"{name}: compiled")
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error).strip()[:300]}")


if __name__ == "__main__":
    main()
