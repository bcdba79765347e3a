"""Values of rare instructions: sparse products, broadcasts, conversions, against plain NumPy."""

import numpy as np
import pytest

from warploom.check.amdgcn import read_kernel
from warploom.check.amdgcn.formats import TABLES, encode_small, to_bf16
from warploom.check.amdgcn.matrix import make_mfma
from warploom.check.amdgcn.scalar import SCALAR
from warploom.check.amdgcn.state import Wave
from warploom.check.amdgcn.vector import make_vector

from .small import assembled

LANES = np.arange(64)


def run(line, registers, target="gfx950"):
    """Registers of a wave after one instruction."""
    kernel = read_kernel(assembled(f"\t{line}\n", target=target, setup=""))
    wave = Wave(0, 0, 1)
    for row, value in registers.items():
        wave.v[row] = value
    instruction = kernel.instructions[0]
    effect = make_mfma(instruction, target) or make_vector(instruction, target, {})
    with np.errstate(all="ignore"):
        effect(wave)
    return wave


def halves(values):
    """Registers of fp16 values ``[element, lane]``."""
    bits = values.astype(np.float16).view(np.uint16).astype(np.uint32)
    return bits[0::2] | bits[1::2] << np.uint32(16)


def put(at, words):
    return {at + i: row for i, row in enumerate(words)}


def accumulators(wave, at, m):
    """The product matrix that accumulator registers hold."""
    groups = 64 // m
    count = m * m // 64
    rows = np.zeros((m, m), np.float32)
    for register in range(count):
        for lane in range(64):
            row = register // 4 * 4 * groups + lane // m * 4 + register % 4
            rows[row, lane % m] = wave.f[at + register, lane]
    return rows


@pytest.mark.parametrize(("m", "depth", "chosen"), [(16, 32, 0), (16, 32, 2), (32, 16, 3)])
def test_a_sparse_product_is_the_product_with_zeros_put_in(m, depth, chosen):
    random = np.random.default_rng(m + chosen)
    groups, held = 64 // m, depth * m // 128
    kept = random.integers(-3, 4, (held, 64)).astype(np.float32)
    other = random.integers(-3, 4, (2 * held, 64)).astype(np.float32)
    index = np.zeros(64, np.uint32)
    dense = np.zeros((m, depth))
    right = np.zeros((depth, m))
    for lane in range(64):
        group, row = lane // m, lane % m
        for four in range(held // 2):
            first, second = sorted(random.choice(4, 2, replace=False))
            index[lane] |= np.uint32((first | second << 2) << (8 * chosen + 4 * four))
            start = group * 2 * held + 4 * four
            dense[row, start + first] = kept[2 * four, lane]
            dense[row, start + second] = kept[2 * four + 1, lane]
        for element in range(2 * held):
            right[group * 2 * held + element, row] = other[element, lane]
    count = m * m // 64
    assert groups * 2 * held == depth
    start = random.integers(-3, 4, (count, 64)).astype(np.float32)
    line = (
        f"v_smfmac_f32_{m}x{m}x{depth}_f16 v[0:{count - 1}], v[20:{20 + held // 2 - 1}], "
        f"v[30:{30 + held - 1}], v40 abid:{chosen}"
    )
    registers = {
        **put(0, start.view(np.uint32)), **put(20, halves(kept)), **put(30, halves(other)),
        40: index,
    }  # fmt: skip
    before = Wave(0, 0, 1)
    for row, value in put(0, start.view(np.uint32)).items():
        before.v[row] = value
    wave = run(line, registers, "gfx942")
    want = accumulators(before, 0, m) + dense @ right
    assert np.array_equal(accumulators(wave, 0, m), want.astype(np.float32))


def test_blocks_of_a_are_given_to_their_neighbours():
    """Sixteen blocks of 4x4: with cbsz 2 and abid 1, block 1 of every four serves all four."""
    a, b = (np.random.default_rng(i).integers(-4, 5, 64).astype(np.float32) for i in (1, 2))
    registers = {8: a.view(np.uint32), 9: b.view(np.uint32)}
    wave = run("v_mfma_f32_4x4x1_16b_f32 v[0:3], v8, v9, 0 cbsz:2 abid:1", registers)
    for block in range(16):
        left = a[4 * (block // 4 * 4 + 1) :][:4]
        for row in range(4):
            got = wave.f[row, 4 * block : 4 * block + 4]
            assert np.array_equal(got, left[row] * b[4 * block : 4 * block + 4])


def test_small_products_in_double_precision():
    """Lane 16 k + 4 block + row holds A; lane 16 row + 4 block + column the result."""
    a, b, c = (np.random.default_rng(i).integers(-4, 5, 64).astype(np.float64) for i in (1, 2, 3))
    registers = {}
    for row, value in ((8, a), (10, b), (12, c)):
        words = value.view(np.uint32).reshape(64, 2)
        registers |= {row: words[:, 0], row + 1: words[:, 1]}
    wave = run("v_mfma_f64_4x4x4_4b_f64 v[0:1], v[8:9], v[10:11], v[12:13]", registers)
    got = np.ascontiguousarray(wave.v[0:2].T).view(np.float64)[:, 0].reshape(4, 4, 4)
    for block in range(4):
        left = a.reshape(4, 4, 4)[:, block].T
        right = b.reshape(4, 4, 4)[:, block]
        assert np.array_equal(got[:, block], left @ right + c.reshape(4, 4, 4)[:, block])


PATTERNS = (
    LANES, LANES % 32, 32 + LANES % 32, (LANES + 16) % 64, LANES % 16, 16 + LANES % 16,
    32 + LANES % 16, 48 + LANES % 16,
)  # fmt: skip


@pytest.mark.parametrize("pattern", range(8))
def test_lanes_of_b_are_moved(pattern):
    a, b = (np.random.default_rng(i).integers(-4, 5, 64).astype(np.float32) for i in (1, 2))
    line = "v_mfma_f32_32x32x2_f32 v[16:31], v8, v9, 0"
    moved = b[PATTERNS[pattern]]
    want = run(line, {8: a.view(np.uint32), 9: moved.view(np.uint32)})
    got = run(f"{line} blgp:{pattern}", {8: a.view(np.uint32), 9: b.view(np.uint32)})
    assert np.array_equal(got.v[16:32], want.v[16:32])


def test_stochastic_rounding_ends_at_one_of_the_two_neighbours():
    values = np.linspace(-300, 300, 64, dtype=np.float32)
    table = TABLES["e4m3"].astype(np.float64)
    levels = np.unique(table[np.isfinite(table)])
    seen = set()
    for seed in (0, 0x40000000, 0x80000000, 0xFFFFFFFF):
        registers = {8: values.view(np.uint32), 9: np.uint32(seed), 0: np.uint32(0x11223344)}
        wave = run("v_cvt_sr_fp8_f32 v0, v8, v9 op_sel:[0,0,1,0]", registers)
        assert (wave.v[0] & np.uint32(0xFFFF00FF) == np.uint32(0x11220044)).all()
        got = table[wave.v[0] >> np.uint32(8) & np.uint32(0xFF)]
        below = levels[np.searchsorted(levels, values, "right") - 1]
        above = levels[np.searchsorted(levels, values, "left")]
        assert ((got == below) | (got == above)).all()
        seen.add(got.tobytes())
    assert len(seen) > 2


def test_the_generator_of_random_numbers_is_a_shift_register():
    wave = run("v_prng_b32 v0, v8", {8: np.where(LANES % 2, np.uint32(0x80000001), np.uint32(3))})
    assert wave.v[0, 0] == 6
    assert wave.v[0, 1] == 2 ^ 0xC5


def test_values_of_six_bits_go_there_and_back():
    codes = np.random.default_rng(3).integers(0, 64, (32, 64))
    values = TABLES["e2m3"][codes]
    words = to_bf16(values[0::2]) | to_bf16(values[1::2]) << np.uint32(16)
    one = np.float32(2).view(np.uint32)
    packed = run("v_cvt_scalef32_pk32_fp6_bf16 v[0:5], v[8:23], v30", {**put(8, words), 30: one})
    registers = {**put(0, packed.v[0:6]), 30: one}
    back = run("v_cvt_scalef32_pk32_f32_fp6 v[40:71], v[0:5], v30", registers)
    half = encode_small((values / 2).astype(np.float32), "e2m3")
    assert np.array_equal(back.f[40:72], 2 * TABLES["e2m3"][half])


@pytest.mark.parametrize(
    ("line", "a", "b", "c", "want"),
    [
        ("v_dot8_i32_i4 v0, v8, v9, v10", 0xF1, 0x21, 5, 1 - 2 + 5),
        ("v_dot8_u32_u4 v0, v8, v9, v10", 0xF1, 0x21, 5, 1 + 30 + 5),
        ("v_dot2_u32_u16 v0, v8, v9, v10", 0x0002FFFF, 0x00030002, 1, 6 + 2 * 0xFFFF + 1),
        ("v_dot2_i32_i16 v0, v8, v9, v10", 0x0002FFFF, 0x00030002, 1, 6 - 2 + 1),
        ("v_dot4_i32_i8 v0, v8, v9, v10", 0xFF010203, 0x01020304, 0, -1 + 2 + 6 + 12),
        ("v_cvt_pk_u8_f32 v0, v8, v9, v10", 0x42280000, 2, 0x11223344, 0x112A3344),
    ],
)
def test_small_products_and_bytes(line, a, b, c, want):
    wave = run(line, {8: np.uint32(a), 9: np.uint32(b), 10: np.uint32(c)})
    assert int(wave.i[0, 0]) == want


def test_scalar_instructions_that_are_rare():
    kernel = read_kernel(
        assembled(
            "\ts_bitreplicate_b64_b32 s[2:3], s8\n\ts_quadmask_b32 s4, s8\n"
            "\ts_flbit_i32_i64 s5, s[8:9]\n\ts_cmovk_i32 s6, 0xffff\n", setup="",
        )
    )  # fmt: skip
    wave = Wave(0, 0, 1)
    wave.s[8:10] = [0x80000011, 0]
    wave.scc = 1
    for instruction in kernel.instructions[:3]:
        SCALAR[instruction.mnemonic](instruction, {})(wave)
    wave.scc = 1
    SCALAR["s_cmovk_i32"](kernel.instructions[3], {})(wave)
    assert wave.s[2:7] == [0x303, 0xC0000000, 0x83, 32, 0xFFFFFFFF]
