"""Rare arithmetic and matrix kinds against a second statement; masks; asynchronous stores."""

from __future__ import annotations

import numpy as np
import pytest

from tests.check.code import LOADS, compute, kernel, launch
from warploom.check import check
from warploom.report import Verdict

RNG = np.random.default_rng(5)
WORDS = RNG.integers(0, 1 << 32, 96, dtype=np.uint32)
A, B, C = ([int(v) for v in WORDS[i : i + 32]] for i in (0, 32, 64))


def part(v: int, i: int, bits: int, signed: bool) -> int:
    found = v >> i * bits & (1 << bits) - 1
    return found - (1 << bits) if signed and found >> bits - 1 else found


def parts(v: int, n: int, signed: bool = False) -> list[int]:
    return [part(v, i, 32 // n, signed) for i in range(n)]


def packed(values: list[int]) -> int:
    bits = 32 // len(values)
    return sum((v & (1 << bits) - 1) << i * bits for i, v in enumerate(values))


def small(v: int) -> int:
    return part(v, 0, 24, True)


CASES = {
    "vadd4.u32.u32.u32.sat %r10, %r2, %r3, %r4;": lambda a, b, c: packed(
        [min(x + y, 255) for x, y in zip(parts(a, 4), parts(b, 4), strict=True)]
    ),
    "vabsdiff4.u32.u32.u32.add %r10, %r2, %r3, %r4;": lambda a, b, c: (
        c + sum(abs(x - y) for x, y in zip(parts(a, 4), parts(b, 4), strict=True))
    ),
    "vmin2.s32.s32.s32 %r10, %r2, %r3, %r4;": lambda a, b, c: packed(
        [min(p) for p in zip(parts(a, 2, True), parts(b, 2, True), strict=True)]
    ),
    "vset4.u32.u32.lt %r10, %r2, %r3, %r4;": lambda a, b, c: packed(
        [int(x < y) for x, y in zip(parts(a, 4), parts(b, 4), strict=True)]
    ),
    "vmax.s32.s32.s32.add %r10, %r2, %r3, %r4;": lambda a, b, c: (
        max(part(a, 0, 32, True), part(b, 0, 32, True)) + c
    ),
    "dp2a.lo.s32.u32 %r10, %r2, %r3, %r4;": lambda a, b, c: (
        c + sum(x * y for x, y in zip(parts(a, 2, True), parts(b, 4)[:2], strict=True))
    ),
    "dp2a.hi.u32.s32 %r10, %r2, %r3, %r4;": lambda a, b, c: (
        c + sum(x * y for x, y in zip(parts(a, 2), parts(b, 4, True)[2:], strict=True))
    ),
    "mad24.lo.s32 %r10, %r2, %r3, %r4;": lambda a, b, c: small(a) * small(b) + c,
    "mad24.hi.s32 %r10, %r2, %r3, %r4;": lambda a, b, c: (small(a) * small(b) >> 16) + c,
    "fns.b32 %r10, %r2, 3, 2;": lambda a, b, c: [i for i in range(3, 32) if a >> i & 1][1],
    "cvt.pack.sat.u4.s32.b32 %r10, %r2, %r3, %r4;": lambda a, b, c: (
        min(max(part(b, 0, 32, True), 0), 15) | min(max(part(a, 0, 32, True), 0), 15) << 4 | c << 8
    ),
}


@pytest.mark.parametrize("text", CASES)
def test_rare_integers(text):
    expected = [CASES[text](a, b, c) & 0xFFFFFFFF for a, b, c in zip(A, B, C, strict=True)]
    assert compute(f" {text}\n", WORDS).tolist() == expected


def test_a_logical_operation_with_a_predicate():
    body = """ setp.lt.u32 %p1, %r1, 8;
 lop3.and.b32 %r9|%p2, %r2, %r3, %r4, 0x80, %p1;
 selp.u32 %r10, %r9, 0, %p2;
"""
    expected = [a & b & c if i < 8 else 0 for i, (a, b, c) in enumerate(zip(A, B, C, strict=True))]
    assert compute(body, WORDS).tolist() == expected


def test_a_comparison_with_a_predicate():
    body = " setp.lt.u32 %p1, %r1, 8;\n set.gt.or.u32.u32 %r10, %r2, %r3, %p1;\n"
    expected = [0xFFFFFFFF if i < 8 or A[i] > B[i] else 0 for i in range(32)]
    assert compute(body, WORDS).tolist() == expected


@pytest.mark.parametrize(
    ("kind", "bits", "signed", "k", "rows"),
    [("s4", 4, True, 32, 8), ("u4", 4, False, 32, 8), ("s8", 8, True, 16, 8),
     ("s4", 4, True, 32, 16), ("b1", 1, False, 128, 8)],
)  # fmt: skip
@pytest.mark.parametrize("how", ["xor", "and"])
def test_small_integer_products(kind, bits, signed, k, rows, how):
    if kind != "b1" and how == "xor":
        return
    tail = f".{how}.popc" if kind == "b1" else ""
    a = "{%r2, %r3}" if rows == 16 else "{%r2}"
    d = ", ".join(f"%r{20 + i}" for i in range(rows // 4))
    zeros = "".join(f" mov.u32 %r{20 + i}, 0;\n" for i in range(rows // 4))
    each = 32 // bits
    left = np.array([[part(A[4 * r + i // each], i % each, bits, signed) for i in range(k)]
                     for r in range(8)])  # fmt: skip
    right = np.array([[part(C[4 * r + i // each], i % each, bits, signed) for i in range(k)]
                      for r in range(8)])  # fmt: skip
    for which in range(rows // 4):
        body = zeros + (
            f" mma.sync.aligned.m{rows}n8k{k}.row.col.s32.{kind}.{kind}.s32{tail} {{{d}}}, {a}, "
            f"{{%r4}}, {{{d}}};\n mov.u32 %r10, %r{20 + which};\n"
        )
        mine = left
        if which >= 2:
            mine = np.array([[part(B[4 * r + i // each], i % each, bits, signed)
                              for i in range(k)] for r in range(8)])  # fmt: skip
        total = mine @ right.T
        if how == "xor":
            total = mine.sum(1)[:, None] + right.sum(1)[None, :] - 2 * total
        expected = [int(total[t // 4, 2 * (t % 4) + which % 2]) & 0xFFFFFFFF for t in range(32)]
        assert compute(body, WORDS).tolist() == expected


SPARSE = """ mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3},
   {%r2, %r3, %r4, %r2}, {%r2, %r3, %r4, %r2}, {%f0, %f1, %f2, %f3}, %r2, 0x0;
 st.global.f32 [%d5], %f0;
"""


def test_the_order_of_sparse_products_is_checked_and_their_values_are_not():
    text = kernel(LOADS + SPARSE)
    report = check(text, launch(y={"dtype": "f32"}))
    assert report.clean
    assert any("values are not computed" in line for line in report.assumes)
    compared = check(text, launch(y={"dtype": "f32"}), against=lambda x: x.astype(np.float32))
    assert compared.verdict is Verdict.UNSUPPORTED


def test_a_lane_outside_of_its_member_mask():
    report = check(kernel(LOADS + " shfl.sync.idx.b32 %r5, %r2, 0, 31, 0x0000ffff;\n"), launch())
    assert report.verdict is Verdict.INVALID
    assert report.findings[0].code == "MASK"


def test_masks_that_overlap_and_differ():
    body = """ setp.lt.u32 %p1, %r1, 4;
 selp.b32 %r5, 0xffffffff, 0xfffffff0, %p1;
 redux.sync.add.s32 %r6, %r2, %r5;
"""
    report = check(kernel(LOADS + body), launch())
    assert {f.code for f in report.findings} == {"MASK"}


def test_lanes_of_disjoint_masks_act_apart():
    body = """ and.b32 %r5, %r1, 3;
 match.any.sync.b32 %r6, %r5, 0xffffffff;
 redux.sync.add.s32 %r10, %r1, %r6;
"""
    expected = [sum(i for i in range(32) if i % 4 == t % 4) for t in range(32)]
    assert compute(body, WORDS).tolist() == expected


def test_a_shuffle_that_lanes_of_its_mask_do_not_reach():
    body = """ setp.ge.u32 %p1, %r1, 16;
 @%p1 bra OUT;
 shfl.sync.bfly.b32 %r5, %r2, 16, 31, 0xffffffff;
 st.global.u32 [%d5], %r5;
OUT:
"""
    report = check(kernel(LOADS + body), launch())
    assert report.verdict is Verdict.INVALID
    assert "SHUFFLE" in {f.code for f in report.findings}


def test_a_shuffle_that_reads_lanes_that_do_not_exist_is_a_note():
    body = """ shfl.sync.down.b32 %r5, %r2, 8, 31, 0xffffffff;
 st.global.u32 [%d5], %r5;
"""
    report = check(kernel(LOADS + body), launch(block=16))
    assert report.clean
    assert {f.code for f in report.findings} == {"SHUFFLE"}


SPIN = """ ld.param.u64 %d2, [y];
 mov.u32 %r1, %tid.x;
 setp.lt.u32 %p1, %r1, 32;
 @%p1 bra WAIT;
 st.release.gpu.global.u32 [%d2], 1;
 bra OUT;
WAIT:
 ld.acquire.gpu.global.u32 %r2, [%d2];
 setp.eq.u32 %p2, %r2, 0;
 @%p2 bra WAIT;
OUT:
"""


def test_who_polls_does_not_hold_up_a_starved_warp_for_ever():
    flag = {"role": "inout", "init": "zero"}
    report = check(kernel(SPIN), launch(block=64, y=flag), orders=("forward", "starve1"))
    assert report.clean, report.text()


REMOTE = """ .shared .align 16 .b8 s[16];
 .shared .align 8 .b8 b[8];
 mov.u32 %r1, %tid.x;
 mov.u32 %r2, s;
 mov.u32 %r3, b;
 setp.ne.u32 %p1, %r1, 0;
 @%p1 bra MEET;
 mbarrier.init.shared.b64 [%r3], 1;
 fence.mbarrier_init.release.cluster;
 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 128;
 st.shared.u32 [%r2], 0;
MEET:
 barrier.cluster.arrive.aligned;
 barrier.cluster.wait.aligned;
 mov.u32 %r4, %cluster_ctarank;
 xor.b32 %r4, %r4, 1;
 mapa.shared::cluster.u32 %r5, %r2, %r4;
 mapa.shared::cluster.u32 %r6, %r3, %r4;
 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], %r1, [%r6];
LOOP:
 mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
 @!%p2 bra LOOP;
 ld.shared.u32 %r7, [%r2];
 ld.param.u64 %d2, [y];
 mov.u32 %r8, %ctaid.x;
 mul.wide.u32 %d3, %r8, 128;
 add.s64 %d2, %d2, %d3;
 mul.wide.u32 %d3, %r1, 4;
 add.s64 %d2, %d2, %d3;
 st.global.u32 [%d2], %r7;
 barrier.cluster.arrive.aligned;
 barrier.cluster.wait.aligned;
"""


def test_asynchronous_additions_need_no_proxy_fence():
    out: dict[str, np.ndarray] = {}
    shape = {"grid": [2, 1, 1], "cluster": [2, 1, 1]}
    report = check(kernel(REMOTE), launch(y={"shape": [64]}, **shape), outputs=out)
    assert report.clean, report.text()
    assert set(out["y"].tolist()) == {sum(range(32))}
    early = check(kernel(REMOTE.replace("[%r3], 128", "[%r3], 64")), launch(**shape))
    assert early.verdict is Verdict.RACE
