"""Arithmetic of the PTX interpreter against a second statement of each operation."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from tests.check.code import compute

RNG = np.random.default_rng(3)
WORDS = RNG.integers(0, 1 << 32, 96, dtype=np.uint32)
WORDS[:6] = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x00FF00FF)
A, B, C = ([int(v) for v in WORDS[i : i + 32]] for i in (0, 32, 64))
MASK = 0xFFFFFFFF


def signed(v: int) -> int:
    return v - (1 << 32) if v >> 31 else v


def f32(v: int) -> float:
    return struct.unpack("<f", struct.pack("<I", v))[0]


def quotient(a: int, b: int) -> int:
    return int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


def permute(a: int, b: int, c: int) -> int:
    whole, out = a | b << 32, 0
    for i in range(4):
        pick = c >> 4 * i & 15
        byte = whole >> 8 * (pick & 7) & 255
        out |= (byte if pick < 8 else 255 * (byte >> 7)) << 8 * i
    return out


def field(a: int, at: int, size: int) -> int:
    return a >> at & (1 << size) - 1


CASES = {
    "add.s32 %r10, %r2, %r3;": lambda a, b, c: a + b,
    "{.reg.b32 own; add.s32 own, %r2, %r3; mov.b32 %r10, own;}": lambda a, b, c: a + b,
    "sub.s32 %r10, %r2, %r3;": lambda a, b, c: a - b,
    "mul.lo.s32 %r10, %r2, %r3;": lambda a, b, c: a * b,
    "mul.hi.u32 %r10, %r2, %r3;": lambda a, b, c: a * b >> 32,
    "mul.hi.s32 %r10, %r2, %r3;": lambda a, b, c: signed(a) * signed(b) >> 32,
    "mad.lo.s32 %r10, %r2, %r3, %r4;": lambda a, b, c: a * b + c,
    "min.s32 %r10, %r2, %r3;": lambda a, b, c: min(signed(a), signed(b)),
    "max.u32 %r10, %r2, %r3;": lambda a, b, c: max(a, b),
    "div.s32 %r10, %r2, 7;": lambda a, b, c: quotient(signed(a), 7),
    "rem.s32 %r10, %r2, -13;": lambda a, b, c: signed(a) - quotient(signed(a), -13) * -13,
    "div.u32 %r10, %r2, 10;": lambda a, b, c: a // 10,
    "shl.b32 %r10, %r2, %r5;": lambda a, b, c: a << (b & 63) if (b & 63) < 32 else 0,
    "shr.u32 %r10, %r2, %r5;": lambda a, b, c: a >> (b & 63) if (b & 63) < 32 else 0,
    "shr.s32 %r10, %r2, %r5;": lambda a, b, c: signed(a) >> min(b & 63, 31),
    "shf.l.wrap.b32 %r10, %r2, %r3, 9;": lambda a, b, c: (b << 32 | a) << 9 >> 32,
    "shf.r.clamp.b32 %r10, %r2, %r3, 40;": lambda a, b, c: b,
    "lop3.b32 %r10, %r2, %r3, %r4, 0xCA;": lambda a, b, c: (a & b) | (~a & c),
    "prmt.b32 %r10, %r2, %r3, %r4;": permute,
    "prmt.b32 %r10, %r2, %r3, 0x5410;": lambda a, b, c: (a & 0xFFFF) | (b & 0xFFFF) << 16,
    "bfe.u32 %r10, %r2, 5, 11;": lambda a, b, c: field(a, 5, 11),
    "bfi.b32 %r10, %r2, %r3, 8, 12;": lambda a, b, c: (b & ~0xFFF00) | (a & 0xFFF) << 8,
    "popc.b32 %r10, %r2;": lambda a, b, c: bin(a).count("1"),
    "clz.b32 %r10, %r2;": lambda a, b, c: 32 - a.bit_length(),
    "brev.b32 %r10, %r2;": lambda a, b, c: int(f"{a:032b}"[::-1], 2),
    "not.b32 %r10, %r2;": lambda a, b, c: ~a,
    "neg.s32 %r10, %r2;": lambda a, b, c: -a,
    "abs.s32 %r10, %r2;": lambda a, b, c: abs(signed(a)),
    "setp.lt.s32 %p1, %r2, %r3; selp.b32 %r10, %r2, %r4, %p1;": (
        lambda a, b, c: a if signed(a) < signed(b) else c
    ),
    "dp4a.s32.s32 %r10, %r2, %r3, %r4;": lambda a, b, c: (
        c
        + sum(
            struct.unpack("<b", bytes([a >> 8 * i & 255]))[0]
            * struct.unpack("<b", bytes([b >> 8 * i & 255]))[0]
            for i in range(4)
        )
    ),
    "add.cc.u32 %r6, %r2, %r3; addc.u32 %r10, 0, 0;": lambda a, b, c: a + b >> 32,
    "cvt.s32.s8 %r10, %r2;": lambda a, b, c: struct.unpack("<b", bytes([a & 255]))[0],
    "cvt.sat.u8.s32 %r10, %r2;": lambda a, b, c: min(max(signed(a), 0), 255),
}


@pytest.mark.parametrize("text", CASES)
def test_integers(text):
    found = compute("and.b32 %r5, %r3, 63;" + text, WORDS)
    wanted = [CASES[text](a, b, c) & MASK for a, b, c in zip(A, B, C, strict=True)]
    assert found.tolist() == wanted


FLOATS = np.concatenate([
    RNG.standard_normal(90).astype(np.float32) * 4,
    np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30], np.float32),
])  # fmt: skip
X, Y, Z = FLOATS[:32], FLOATS[32:64], FLOATS[64:]
FLOAT_CASES = {
    "add.f32 %r10, %r2, %r3;": lambda: X + Y,
    "mul.rn.f32 %r10, %r2, %r4;": lambda: X * Z,
    "fma.rn.f32 %r10, %r2, %r3, %r4;": lambda: (
        X.astype(np.float64) * Y.astype(np.float64) + Z.astype(np.float64)
    ).astype(np.float32),
    "max.f32 %r10, %r2, %r4;": lambda: np.fmax(X, Z),
    "min.NaN.f32 %r10, %r2, %r4;": lambda: np.minimum(X, Z),
    "ex2.approx.ftz.f32 %r10, %r2;": lambda: np.exp2(X),
    "rcp.approx.f32 %r10, %r2;": lambda: 1 / X,
    "neg.f32 %r10, %r4;": lambda: -Z,
    "abs.f32 %r10, %r4;": lambda: np.abs(Z),
}


@pytest.mark.parametrize("text", FLOAT_CASES)
def test_floats(text):
    text = text.replace("%r10", "%f10").replace("%r2", "%f2").replace("%r3", "%f3")
    text = text.replace("%r4", "%f4")
    body = "mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b32 %f4, %r4;" + text + "mov.b32 %r10, %f10;"
    found = compute(body, FLOATS).view(np.float32)
    key = text.replace("%f10", "%r10").replace("%f2", "%r2")
    key = key.replace("%f3", "%r3").replace("%f4", "%r4")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, FLOAT_CASES[key]())


def test_packed_halves_and_their_conversions():
    body = """mov.b32 %f2, %r2; mov.b32 %f3, %r3;
    cvt.rn.bf16x2.f32 %r6, %f2, %f3;
    cvt.rn.f16x2.f32 %r7, %f2, %f3;
    mov.b32 {%h1, %h2}, %r7;
    cvt.f32.f16 %f5, %h2;
    mov.b32 %r10, %r6;
    """
    found = compute(body, FLOATS)
    high = (found & np.uint32(0xFFFF0000)).view(np.float32)
    low = (found << np.uint32(16)).view(np.float32)
    finite = np.isfinite(X)
    assert np.all(np.abs(high[finite] - X[finite]) <= np.abs(X[finite]) / 128)
    assert np.all(np.abs(low - Y) <= np.abs(Y) / 128)


@pytest.mark.parametrize(("kind", "top", "step"), [("e4m3x2", 448.0, 8), ("e5m2x2", 57344.0, 4)])
def test_fp8_there_and_back(kind, top, step):
    body = f"""mov.b32 %f2, %r2; mov.b32 %f3, %r3;
    cvt.rn.satfinite.{kind}.f32 %h1, %f2, %f3;
    cvt.rn.f16x2.{kind} %r6, %h1;
    mov.b32 {{%h2, %h3}}, %r6;
    cvt.f32.f16 %f6, %h3;
    mov.b32 %r10, %f6;"""
    given = np.clip(FLOATS, -1e6, 1e6)
    given[np.isnan(given)] = 1e6
    found = compute(body, given).view(np.float32)
    wanted = np.clip(given[:32], -top, top)
    assert np.all(np.abs(found - wanted) <= np.abs(wanted) / step + 2**-9)


def test_shuffles_votes_and_elections():
    body = """shfl.sync.bfly.b32 %r5, %r2, 16, 31, -1;
    shfl.sync.up.b32 %r6, %r2, 1, 0, -1;
    setp.gt.s32 %p1, %r1, 15;
    vote.sync.ballot.b32 %r7, %p1, -1;
    elect.sync %r8|%p2, -1;
    selp.b32 %r9, 1, 0, %p2;
    add.s32 %r10, %r5, %r6; add.s32 %r10, %r10, %r7; add.s32 %r10, %r10, %r9;"""
    found = compute(body, WORDS)
    wanted = [(A[i ^ 16] + A[max(i - 1, 0)] + 0xFFFF0000 + (i == 0)) & MASK for i in range(32)]
    assert found.tolist() == wanted
