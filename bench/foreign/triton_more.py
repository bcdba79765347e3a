# ruff: noqa: N803 (kernels in another language)
"""Further Triton kernels in the shapes of its tutorials; use as ``triton_kernels.py``."""

from __future__ import annotations

import triton
import triton.language as tl
from triton_kernels import B16, KERNELS, F, H, case, desc, main, t

KERNELS.clear()
I32 = "*i32"


# -- products of many shapes

MM = {"a": H, "b": H, "c": H, "m": "i32", "n": "i32", "k": "i32"}


def mm_args(m, n, k, dtype="f16"):
    return {
        "a": t([m, k], dtype),
        "b": t([k, n], dtype),
        "c": t([m, n], dtype, "out"),
        "m": m,
        "n": n,
        "k": k,
    }


for _name, _bm, _bn, _bk, _warps, _stages, _arch in [
    ("more_mm_1w", 16, 16, 32, 1, 3, 80),
    ("more_mm_2w_5s", 32, 32, 32, 2, 5, 80),
    ("more_mm_8w_4s", 128, 64, 32, 8, 4, 80),
    ("more_mm_sm90_4s", 64, 128, 64, 4, 4, 90),
    ("more_mm_sm90_8w_1s", 128, 128, 64, 8, 1, 90),
    ("more_mm_sm90_bk128", 64, 64, 128, 4, 2, 90),
    ("more_mm_sm90_2w", 32, 32, 64, 2, 3, 90),
]:

    @case(
        _name,
        MM,
        {"BM": _bm, "BN": _bn, "BK": _bk, "GROUP": 2},
        arch=_arch,
        grid=(4, 1, 1),
        num_warps=_warps,
        num_stages=_stages,
        arguments=mm_args(2 * _bm - 5, 2 * _bn, 5 * _bk),
    )
    @triton.jit
    def grouped_order(
        a,
        b,
        c,
        m,
        n,
        k,
        BM: tl.constexpr,
        BN: tl.constexpr,
        BK: tl.constexpr,
        GROUP: tl.constexpr,
    ):
        """Tiles in groups of rows, ragged rows masked by a remainder, leaky ReLU at the end."""
        pid = tl.program_id(0)
        rows, cols = tl.cdiv(m, BM), tl.cdiv(n, BN)
        first = pid // (GROUP * cols) * GROUP
        size = min(rows - first, GROUP)
        pm, pn = first + pid % (GROUP * cols) % size, pid % (GROUP * cols) // size
        rm, rn = (pm * BM + tl.arange(0, BM)) % m, (pn * BN + tl.arange(0, BN)) % n
        rk = tl.arange(0, BK)
        pa, pb = a + rm[:, None] * k + rk[None, :], b + rk[:, None] * n + rn[None, :]
        acc = tl.zeros((BM, BN), tl.float32)
        for at in range(tl.cdiv(k, BK)):
            x = tl.load(pa, rk[None, :] < k - at * BK, other=0.0)
            y = tl.load(pb, rk[:, None] < k - at * BK, other=0.0)
            acc = tl.dot(x, y, acc)
            pa += BK
            pb += BK * n
        acc = tl.where(acc >= 0, acc, 0.01 * acc)
        om, on = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
        tl.store(
            c + om[:, None] * n + on[None, :],
            acc.to(tl.float16),
            (om[:, None] < m) & (on[None, :] < n),
        )


@case(
    "more_mm_transposed_a",
    MM,
    {"BM": 64, "BN": 64, "BK": 64},
    grid=(1, 1, 1),
    num_warps=4,
    num_stages=3,
    arguments={**mm_args(64, 64, 256), "a": t([256, 64], "f16"), "b": t([64, 256], "f16")},
)
@triton.jit
def transposed(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        x = tl.load(a + (at + rk)[:, None] * m + rm[None, :])
        y = tl.load(b + rn[:, None] * k + (at + rk)[None, :])
        acc = tl.dot(x.T, y.T, acc)
    tl.store(c + rm[:, None] * n + rn[None, :], acc.to(tl.float16))


@case(
    "more_mm_persistent",
    MM,
    {"BM": 64, "BN": 64, "BK": 64},
    grid=(2, 1, 1),
    num_warps=4,
    num_stages=3,
    arguments=mm_args(128, 128, 192),
)
@triton.jit
def persistent(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles, cols = tl.cdiv(m, BM) * tl.cdiv(n, BN), tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        pm, pn = tile // cols, tile % cols
        rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
        acc = tl.zeros((BM, BN), tl.float32)
        for at in range(0, k, BK):
            x = tl.load(a + rm[:, None] * k + (at + rk)[None, :])
            y = tl.load(b + (at + rk)[:, None] * n + rn[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(c + rm[:, None] * n + rn[None, :], acc.to(tl.float16))


TD = {
    "a": "tensordesc<bf16[64,64]>",
    "b": "tensordesc<bf16[64,64]>",
    "c": "tensordesc<bf16[64,64]>",
}
for _name, _warps, _stages, _flat, _ws in [
    ("more_tma_flat", 4, 3, True, False),
    ("more_tma_2s", 4, 2, False, False),
    ("more_tma_1s", 8, 1, False, False),
    ("more_tma_ws_2s", 4, 2, False, True),
    ("more_tma_ws_flat", 4, 3, True, True),
]:

    @case(
        _name,
        {**TD, "m": "i32", "n": "i32", "k": "i32"},
        {"B": 64, "FLAT": _flat, "WS": _ws},
        grid=(2, 1, 1),
        num_warps=_warps,
        num_stages=_stages,
        arguments={
            "a": desc("a", "bf16", [128, 256], [64, 64]),
            "b": desc("b", "bf16", [128, 256], [64, 64]),
            "c": desc("c", "bf16", [128, 128], [64, 64], "out"),
            "m": 128,
            "n": 128,
            "k": 256,
        },
    )
    @triton.jit
    def tma_persistent(a, b, c, m, n, k, B: tl.constexpr, FLAT: tl.constexpr, WS: tl.constexpr):
        cols = tl.cdiv(n, B)
        for tile in tl.range(
            tl.program_id(0),
            tl.cdiv(m, B) * cols,
            tl.num_programs(0),
            flatten=FLAT,
            warp_specialize=WS,
        ):
            om, on = tile // cols * B, tile % cols * B
            acc = tl.zeros((B, B), tl.float32)
            for at in range(0, k, B):
                acc = tl.dot(a.load([om, at]), b.load([on, at]).T, acc)
            c.store([om, on], acc.to(tl.bfloat16))


@case(
    "more_grouped_gemm",
    {"a": H, "b": H, "c": H, "sizes": I32, "k": "i32", "n": "i32", "groups": "i32"},
    {"BM": 32, "BN": 32, "BK": 32},
    grid=(3, 1, 1),
    num_warps=4,
    num_stages=3,
    arguments={
        "a": t([192, 128], "f16"),
        "b": t([3, 128, 64], "f16"),
        "c": t([192, 64], "f16", "out"),
        "sizes": t([3], "i32", values=[64, 32, 96]),
        "k": 128,
        "n": 64,
        "groups": 3,
    },
)
@triton.jit
def grouped_gemm(
    a, b, c, sizes, k, n, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Persistent CTAs walk the tiles of several products, sizes read from memory."""
    tile, last, base = tl.program_id(0), 0, 0
    for g in range(groups):
        rows = tl.load(sizes + g)
        cols = tl.cdiv(n, BN)
        count = tl.cdiv(rows, BM) * cols
        while tile >= last and tile < last + count:
            at = tile - last
            rm = base + at // cols * BM + tl.arange(0, BM)
            rn, rk = at % cols * BN + tl.arange(0, BN), tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for ko in range(0, k, BK):
                x = tl.load(a + rm[:, None] * k + (ko + rk)[None, :])
                y = tl.load(b + g * k * n + (ko + rk)[:, None] * n + rn[None, :])
                acc = tl.dot(x, y, acc)
            tl.store(c + rm[:, None] * n + rn[None, :], acc.to(tl.float16))
            tile += tl.num_programs(0)
        last += count
        base += rows


@case(
    "more_dot_scaled",
    {"a": "*u8", "sa": "*u8", "b": "*u8", "sb": "*u8", "c": F},
    {"M": 64, "N": 64, "K": 128},
    num_warps=4,
    arguments={
        "a": t([64, 128], "u8", range=[0, 60]),
        "sa": t([64, 4], "u8", range=[125, 129]),
        "b": t([128, 64], "u8", range=[0, 60]),
        "sb": t([64, 4], "u8", range=[125, 129]),
        "c": t([64, 64], "f32", "out"),
    },
)
@triton.jit
def scaled(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rm, rn, rk, rs = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    x = tl.load(a + rm[:, None] * K + rk[None, :])
    y = tl.load(b + rk[:, None] * N + rn[None, :])
    p = tl.load(sa + rm[:, None] * (K // 32) + rs[None, :])
    q = tl.load(sb + rn[:, None] * (K // 32) + rs[None, :])
    acc = tl.dot_scaled(x, p, "e4m3", y, q, "e4m3")
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


# -- attention


@case(
    "more_attention_causal",
    {"q": B16, "k": B16, "v": B16, "o": B16, "lse": F, "n": "i32", "scale": "fp32"},
    {"BM": 64, "BN": 32, "D": 64},
    grid=(3, 1, 1),
    num_warps=4,
    num_stages=3,
    arguments={
        **{x: t([192, 64], "bf16") for x in "qkv"},
        "o": t([192, 64], "bf16", "out"),
        "lse": t([192], "f32", "out"),
        "n": 192,
        "scale": 0.125,
    },
)
@triton.jit
def causal(q, k, v, o, lse, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    pid = tl.program_id(0)
    rm, rd = pid * BM + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + rm[:, None] * D + rd[None, :])
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for part in tl.static_range(2):
        low = 0 if part == 0 else pid * BM
        high = pid * BM if part == 0 else (pid + 1) * BM
        for at in range(low, high, BN):
            rn = at + tl.arange(0, BN)
            s = tl.dot(x, tl.load(k + rn[None, :] * D + rd[:, None])) * scale
            if part == 1:
                s = tl.where(rm[:, None] >= rn[None, :], s, -1.0e6)
            new = tl.maximum(top, tl.max(s, 1))
            p = tl.exp(s - new[:, None])
            f = tl.exp(top - new)
            total = total * f + tl.sum(p, 1)
            acc = tl.dot(
                p.to(tl.bfloat16), tl.load(v + rn[:, None] * D + rd[None, :]), acc * f[:, None]
            )
            top = new
    tl.store(o + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(tl.bfloat16))
    tl.store(lse + rm, top + tl.log(total))


BWD = dict.fromkeys(("q", "k", "v", "do"), H) | {"dq": F, "dk": H, "dv": H, "lse": F, "delta": F}
for _name, _warps, _stages in [("more_attention_bwd", 4, 2), ("more_attention_bwd_8w", 8, 3)]:

    @case(
        _name,
        {**BWD, "n": "i32", "scale": "fp32"},
        {"BM": 32, "BN": 64, "D": 64},
        grid=(2, 1, 1),
        num_warps=_warps,
        num_stages=_stages,
        arguments={
            **{x: t([128, 64], "f16") for x in ("q", "k", "v", "do")},
            "dq": t([128, 64], "f32", "inout", init="zero"),
            **{x: t([128, 64], "f16", "out") for x in ("dk", "dv")},
            "lse": t([128]),
            "delta": t([128]),
            "n": 128,
            "scale": 0.125,
        },
    )
    @triton.jit
    def backward(
        q,
        k,
        v,
        do,
        dq,
        dk,
        dv,
        lse,
        delta,
        n,
        scale,
        BM: tl.constexpr,
        BN: tl.constexpr,
        D: tl.constexpr,
    ):
        """A tile of keys: dk and dv in registers, dq by atomic additions."""
        rn, rd = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
        x = tl.load(k + rn[:, None] * D + rd[None, :])
        y = tl.load(v + rn[:, None] * D + rd[None, :])
        gk, gv = tl.zeros([BN, D], tl.float32), tl.zeros([BN, D], tl.float32)
        for at in range(0, n, BM):
            rm = at + tl.arange(0, BM)
            z = tl.load(q + rm[:, None] * D + rd[None, :])
            p = tl.exp(tl.dot(x, z.T) * scale - tl.load(lse + rm)[None, :])
            g = tl.load(do + rm[:, None] * D + rd[None, :])
            gv = tl.dot(p.to(tl.float16), g, gv)
            ds = p * (tl.dot(y, g.T) - tl.load(delta + rm)[None, :])
            ds = ds.to(tl.float16)
            gk = tl.dot(ds, z, gk)
            tl.atomic_add(
                dq + rm[:, None] * D + rd[None, :], tl.dot(ds.T, x) * scale, sem="relaxed"
            )
        tl.store(dk + rn[:, None] * D + rd[None, :], (gk * scale).to(tl.float16))
        tl.store(dv + rn[:, None] * D + rd[None, :], gv.to(tl.float16))


# -- locks, reductions, rows


@case(
    "more_layernorm_bwd_locks",
    {"dy": F, "x": F, "w": F, "dx": F, "dw": F, "lock": I32, "n": "i32"},
    {"GROUP": 2, "BLOCK": 128},
    grid=(6, 1, 1),
    num_warps=4,
    arguments={
        "dy": t([6, 100]),
        "x": t([6, 100]),
        "w": t([100]),
        "dx": t([6, 100], "f32", "out"),
        "dw": t([2, 100], "f32", "inout", init="zero"),
        "lock": t([4], "i32", "inout", init="zero"),
        "n": 100,
    },
)
@triton.jit
def layernorm_bwd(dy, x, w, dx, dw, lock, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    """Partial sums of several rows under a lock; the first one stores, the others add."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    keep = i < n
    v = tl.load(x + row * n + i, keep, other=0.0)
    g = tl.load(dy + row * n + i, keep, other=0.0)
    k = tl.load(w + i, keep, other=0.0)
    m = tl.sum(v) / n
    h = tl.where(keep, v - m, 0.0)
    c1, c2 = tl.sum(h * k * g) / n, tl.sum(k * g) / n
    tl.store(dx + row * n + i, k * g - (h * c1 + c2), keep)
    slot = row % GROUP
    while tl.atomic_cas(lock + slot, 0, 1) == 1:
        pass
    part = g * h
    if tl.load(lock + GROUP + slot) == 0:
        tl.atomic_xchg(lock + GROUP + slot, 1)
    else:
        part += tl.load(dw + slot * n + i, keep, other=0.0)
    tl.store(dw + slot * n + i, part, keep)
    tl.debug_barrier()
    tl.atomic_xchg(lock + slot, 0)


@case(
    "more_welford",
    {"x": F, "mean": F, "var": F, "n": "i32"},
    {"R": 8, "C": 256},
    num_warps=8,
    arguments={
        "x": t([8, 256]),
        "mean": t([8], "f32", "out"),
        "var": t([8], "f32", "out"),
        "n": 256,
    },
)
@triton.jit
def welford(x, mean, var, n, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + r[:, None] * n + c[None, :])
    one, zero = tl.full([R, C], 1.0, tl.float32), tl.zeros([R, C], tl.float32)
    m, s, k = tl.reduce((v, zero, one), 1, merge)
    tl.store(mean + r, m)
    tl.store(var + r, s / k)


@triton.jit
def merge(m1, s1, k1, m2, s2, k2):
    k = k1 + k2
    d = m2 - m1
    return m1 + d * k2 / k, s1 + s2 + d * d * k1 * k2 / k, k


@case(
    "more_assoc_scan",
    {"a": F, "b": F, "o": F},
    {"T": 256, "D": 8},
    num_warps=4,
    arguments={"a": t([256, 8]), "b": t([256, 8]), "o": t([256, 8], "f32", "out")},
)
@triton.jit
def assoc(a, b, o, T: tl.constexpr, D: tl.constexpr):
    i = tl.arange(0, T)[:, None] * D + tl.arange(0, D)[None, :]
    _, h = tl.associative_scan((tl.load(a + i), tl.load(b + i)), 0, step)
    tl.store(o + i, h)


@triton.jit
def step(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@case(
    "more_cross_entropy",
    {"x": B16, "label": I32, "loss": F, "n": "i32"},
    {"BLOCK": 256},
    grid=(4, 1, 1),
    num_warps=8,
    arguments={
        "x": t([4, 1000], "bf16"),
        "label": t([4], "i32", range=[0, 1000]),
        "loss": t([4], "f32", "out"),
        "n": 1000,
    },
)
@triton.jit
def cross_entropy(x, label, loss, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top, total = -float("inf"), 0.0
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, i < n, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, tl.max(v))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(v - new))
        top = new
    mine = tl.load(x + row * n + tl.load(label + row)).to(tl.float32)
    tl.store(loss + row, top + tl.log(total) - mine)


@case(
    "more_last_block",
    {"x": F, "part": F, "o": F, "count": I32, "n": "i32"},
    {"BLOCK": 256, "BLOCKS": 4},
    grid=(4, 1, 1),
    num_warps=4,
    arguments={
        "x": t([1024]),
        "part": t([4], "f32", "inout", init="zero"),
        "o": t([1], "f32", "out"),
        "count": t([1], "i32", "inout", init="zero"),
        "n": 1024,
    },
)
@triton.jit
def last_block(x, part, o, count, n, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(part + pid, tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK))))
    tl.debug_barrier()
    if tl.atomic_add(count, 1, sem="acq_rel") == BLOCKS - 1:
        tl.store(o, tl.sum(tl.load(part + tl.arange(0, BLOCKS))))


@case(
    "more_quantise_rows",
    {"x": H, "o": "*i8", "s": F, "n": "i32"},
    {"R": 4, "C": 128},
    grid=(2, 1, 1),
    num_warps=2,
    arguments={
        "x": t([8, 128], "f16"),
        "o": t([8, 128], "i8", "out"),
        "s": t([8], "f32", "out"),
        "n": 128,
    },
)
@triton.jit
def quantise(x, o, s, n, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + r[:, None] * n + c[None, :]).to(tl.float32)
    top = tl.maximum(tl.max(tl.abs(v), 1) / 127.0, 1e-6)
    tl.store(o + r[:, None] * n + c[None, :], (v / top[:, None]).to(tl.int8))
    tl.store(s + r, top)


@case(
    "more_split_join",
    {"x": F, "o": F},
    {"N": 256},
    num_warps=4,
    arguments={"x": t([64, 256]), "o": t([64, 256], "f32", "out")},
)
@triton.jit
def split_join(x, o, N: tl.constexpr):
    i = tl.arange(0, 64)[:, None] * N + tl.arange(0, N)[None, :]
    even, odd = tl.split(tl.reshape(tl.load(x + i), [64, N // 2, 2]))
    v = tl.join(odd, -even)
    v = tl.trans(tl.trans(tl.reshape(v, [64, N])))
    tl.store(o + i, tl.flip(v, 1))


@case(
    "more_conv1d",
    {"x": H, "w": H, "o": H, "n": "i32"},
    {"BT": 64, "CI": 64, "CO": 32, "TAPS": 3},
    grid=(2, 1, 1),
    num_warps=4,
    num_stages=2,
    arguments={
        "x": t([130, 64], "f16"),
        "w": t([3, 64, 32], "f16"),
        "o": t([128, 32], "f16", "out"),
        "n": 128,
    },
)
@triton.jit
def conv1d(x, w, o, n, BT: tl.constexpr, CI: tl.constexpr, CO: tl.constexpr, TAPS: tl.constexpr):
    rt, rc = tl.program_id(0) * BT + tl.arange(0, BT), tl.arange(0, CI)
    ro = tl.arange(0, CO)
    acc = tl.zeros((BT, CO), tl.float32)
    for tap in range(TAPS):
        v = tl.load(x + (rt + tap)[:, None] * CI + rc[None, :])
        acc = tl.dot(v, tl.load(w + tap * CI * CO + rc[:, None] * CO + ro[None, :]), acc)
    tl.store(o + rt[:, None] * CO + ro[None, :], acc.to(tl.float16))


@case(
    "more_mixed_int8_weights",
    {"a": H, "b": "*i8", "s": F, "c": H},
    {"M": 64, "N": 64, "K": 64, "STEPS": 4},
    num_warps=4,
    num_stages=3,
    arguments={
        "a": t([64, 256], "f16"),
        "b": t([256, 64], "i8"),
        "s": t([64]),
        "c": t([64, 64], "f16", "out"),
    },
)
@triton.jit
def mixed(a, b, s, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEPS: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for at in range(STEPS):
        x = tl.load(a + rm[:, None] * (K * STEPS) + (at * K + rk)[None, :])
        y = tl.load(b + (at * K + rk)[:, None] * N + rn[None, :]).to(tl.float16)
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], (acc * tl.load(s + rn)[None, :]).to(tl.float16))


@case(
    "more_chunked_state",
    {"q": H, "k": H, "v": H, "o": F, "n": "i32"},
    {"C": 32, "D": 64},
    num_warps=4,
    num_stages=2,
    arguments={
        **{x: t([128, 64], "f16") for x in "qkv"},
        "o": t([128, 64], "f32", "out"),
        "n": 128,
    },
)
@triton.jit
def chunked(q, k, v, o, n, C: tl.constexpr, D: tl.constexpr):
    """Linear attention by chunks: a state carried in registers and used as an operand."""
    rc, rd = tl.arange(0, C), tl.arange(0, D)
    state = tl.zeros([D, D], tl.float32)
    for at in range(0, n, C):
        i = (at + rc)[:, None] * D + rd[None, :]
        x, y, z = tl.load(q + i), tl.load(k + i), tl.load(v + i)
        s = tl.where(rc[:, None] >= rc[None, :], tl.dot(x, y.T), 0.0)
        out = tl.dot(s.to(tl.float16), z) + tl.dot(x, state.to(tl.float16))
        tl.store(o + i, out)
        state = tl.dot(y.T, z, state)


if __name__ == "__main__":
    main()
