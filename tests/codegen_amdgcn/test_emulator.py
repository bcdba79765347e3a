"""The emulator runs what was emitted, under every timing, and sees what is broken."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from warploom.check.amdgcn.matrix import make_mfma
from warploom.check.amdgcn.reader import Instruction
from warploom.check.amdgcn.state import Wave
from warploom.codegen.amdgcn.emulate import (
    EARLY,
    FP8,
    LATE,
    STARVED,
    TRAMPLED,
    EmulationError,
    Order,
    emulate_gemm,
    encode,
    integer_matrix,
    normal_matrix,
    random_timing,
    timing_named,
)

from .conftest import _emitted

TIMINGS = [LATE, EARLY, STARVED, TRAMPLED, random_timing(1), random_timing(2)]


def run(
    emitted, trips, timing, order=Order.FORWARD, m=None, n=None, matrix=integer_matrix, **limits
):
    tile, protocol = emitted.plan.tile, emitted.plan.document.protocol
    tiles = protocol.kernel_k_base + trips * protocol.k_tiles_per_iteration
    k = tiles * tile.block_k
    return emulate_gemm(
        emitted.assembly,
        matrix(m or tile.block_m, k, 1),
        matrix(n or tile.block_n, k, 2),
        dtype=tile.element.value,
        block=(tile.block_m, tile.block_n),
        timing=timing,
        order=order,
        **limits,
    )


MAIN = ["pingpong", "pingpong-fp8", "fourwave", "fourwave-fp8", "fourwave-16x16", "single-buffer"]
# One by default; all timings, orders and trip counts in the slow run, and of a small kernel below.


@pytest.mark.parametrize("name", MAIN)
def test_the_kernel_is_numpy(kernel, name):
    result = run(kernel(name), 1, TRAMPLED)
    assert result.tolerance == 0.0  # whole numbers: exact in fp32
    assert result.correct


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MAIN, "pingpong-proven", "fourwave-fewest"])
@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("timing", TIMINGS, ids=lambda t: t.name)
def test_the_kernel_is_numpy_under_every_timing_and_order(kernel, name, trips, timing):
    for order in Order:
        assert run(kernel(name), trips, timing, order).correct, order


@pytest.mark.parametrize("timing", TIMINGS, ids=lambda t: t.name)
@pytest.mark.parametrize("order", list(Order))
def test_a_small_kernel_under_every_timing_and_order(kernel, timing, order):
    for trips in (0, 1, 2) if order is not Order.MIXED else (1, 5):
        assert run(kernel("fourwave-small"), trips, timing, order).correct


@pytest.mark.parametrize(("m", "n"), [(64, 1), (1, 64), (33, 47), (65, 130), (127, 63)])
def test_ragged_sizes(kernel, m, n):
    assert run(kernel("fourwave-small"), 1, random_timing(3), m=m, n=n).correct


@settings(max_examples=12, deadline=None)
@given(
    m=st.integers(1, 140),
    n=st.integers(1, 140),
    trips=st.integers(0, 3),
    seed=st.integers(0, 1000),
    order=st.sampled_from(list(Order)),
)
def test_any_size_trip_count_and_random_timing(m, n, trips, seed, order):
    assert run(_emitted("fourwave-small"), trips, random_timing(seed), order, m=m, n=n).correct


def test_the_proof_does_not_lean_on_full_queues(kernel):
    """Without stalls at a counter's capacity more timings are possible; none goes wrong."""
    for timing in (STARVED, TRAMPLED, LATE):
        unbounded = dataclasses.replace(timing, stalls=False)
        assert run(kernel("fourwave-small"), 2, unbounded).correct
    assert run(kernel("fourwave"), 1, dataclasses.replace(TRAMPLED, stalls=False)).correct


@pytest.mark.parametrize("name", MAIN)
def test_a_ragged_edge_of_every_kernel(kernel, name):
    result = run(kernel(name), 0, LATE, m=130, n=77)
    assert result.c.shape == (130, 77)
    assert result.correct


@pytest.mark.parametrize("name", ["fourwave-small", "pingpong-fp8"])
def test_normal_data_within_fp32_accumulation_error(kernel, name):
    result = run(kernel(name), 1, LATE, matrix=normal_matrix)
    assert 0 < result.tolerance < 0.1
    assert 0 < result.error <= result.tolerance


def test_the_reference_four_wave_waits_race(kernel):
    emitted = kernel("fourwave-reference")
    assert not run(emitted, 0, STARVED).correct  # no iteration: reads run ahead of the loads
    assert not run(emitted, 1, TRAMPLED).correct  # a slot overwritten under another wave's read
    assert run(emitted, 0, EARLY).correct  # and a lucky timing hides it


def mutate(text: str, pattern: str, into: str, which: int) -> str:
    found = list(re.finditer(pattern, text))
    m = found[which]
    return text[: m.start()] + m.expand(into) + text[m.end() :]


@pytest.mark.parametrize(
    ("pattern", "into", "which"),
    [
        (r"vmcnt\(16\)", "vmcnt(20)", 0),
        (r"lgkmcnt\(8\)", "lgkmcnt(12)", 0),
        (r"(s_waitcnt vmcnt\(16\)) lgkmcnt\(0\)\n\ts_barrier", r"\1\n\ts_barrier", 1),
        (r"s_waitcnt vmcnt\(16\) lgkmcnt\(0\)\n\ts_barrier", r"s_waitcnt vmcnt(16) lgkmcnt(0)", 0),
        (r"s_waitcnt vmcnt\(0\)\n\ts_barrier", "s_waitcnt vmcnt(0)", 0),
    ],
)
def test_a_weaker_kernel_fails_under_some_timing(kernel, pattern, into, which):
    emitted = kernel("fourwave")
    text = mutate(emitted.assembly, pattern, into, which)
    broken = dataclasses.replace(emitted, assembly=text)
    assert any(
        not run(broken, trips, timing, order).correct
        for trips in (1, 0)
        for timing in (STARVED, TRAMPLED, LATE)
        for order in (Order.FORWARD, Order.REVERSE)
    )


def test_barriers_that_do_not_match_are_a_fault(kernel):
    emitted = kernel("pingpong")
    # The tail barrier only one group executes.
    cut = emitted.assembly.rindex("\ts_barrier\n")
    text = emitted.assembly[:cut] + emitted.assembly[cut + len("\ts_barrier\n") :]
    broken = dataclasses.replace(emitted, assembly=text)
    with pytest.raises(EmulationError, match="different numbers of barriers"):
        run(broken, 0, LATE)


def test_a_wild_store_is_a_fault(kernel):
    emitted = kernel("fourwave-small")
    text = emitted.assembly.replace("v_cndmask_b32", "v_or_b32_e32 v1, v1, v1\n\tv_cndmask_b32")
    assert text != emitted.assembly
    # Widen the buffer: columns after N now land in memory that is not C's.
    text = re.sub(r"s_mul_i32 (s\d+), s\d+, s\d+\n", r"s_mov_b32 \1, -1\n", emitted.assembly)
    broken = dataclasses.replace(emitted, assembly=text)
    with pytest.raises(EmulationError):
        run(broken, 0, LATE, m=64, n=63)


def test_an_unknown_instruction_is_named(kernel):
    text = kernel("fourwave-small").assembly.replace("s_endpgm", "s_dance", 1)
    with pytest.raises(EmulationError, match="s_dance"):
        emulate_gemm(
            text,
            integer_matrix(64, 64, 1),
            integer_matrix(64, 64, 2),
            dtype="bf16",
            block=(64, 64),
            timing=LATE,
        )


def test_an_endless_loop_is_stopped(kernel):
    emitted = kernel("fourwave-small")
    text = emitted.assembly.replace("s_endpgm", "s_branch .Lend\n.Lend:\n\ts_branch .Lend", 1)
    broken = dataclasses.replace(emitted, assembly=text)
    with pytest.raises(EmulationError, match="does not end"):
        run(broken, 0, LATE, max_steps=5000)


def test_queues_never_exceed_the_counters(kernel):
    statistics = run(kernel("fourwave"), 1, LATE).statistics
    assert statistics.deepest_vm <= 63
    assert statistics.deepest_lgkm <= 15


def test_fp8_is_ocp_e4m3():
    assert FP8[0x38] == 1.0
    assert FP8[0x7E] == 448.0
    assert FP8[0x01] == 2.0**-9
    assert FP8[0xB8] == -1.0
    assert np.isnan(FP8[0x7F])
    values = np.array([[0.0, 1.0, -8.0, 448.0, 0.3, 1000.0]], np.float32)
    assert encode(values, "fp8")[1].tolist() == [[0.0, 1.0, -8.0, 448.0, 0.3125, 448.0]]


@pytest.mark.parametrize(
    ("name", "m", "k", "words"),
    [
        ("v_mfma_f32_16x16x32_bf16", 16, 32, 4),
        ("v_mfma_f32_32x32x16_bf16", 32, 16, 4),
        ("v_mfma_f32_16x16x32_f16", 16, 32, 4),
    ],
)
def test_matrix_layouts_against_the_lane_formulas(name, m, k, words):
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-4, 5, (m, k)).astype(np.float32) for _ in range(2))
    c = rng.integers(-4, 5, (m, m)).astype(np.float32)
    wave = Wave(0, 0, 1)
    dtype = "fp16" if name.endswith("_f16") else "bf16"
    for at, matrix in ((0, a), (words, b)):
        halves = encode(np.ascontiguousarray(matrix), dtype)[0].view(np.uint16).reshape(m, k)
        for lane in range(64):
            row, first = lane % m, 8 * (lane // m)
            wave.v[at : at + words, lane] = halves[row, first : first + 8].copy().view(np.uint32)
    registers = m * m // 64
    first = 16
    for lane in range(64):
        for r in range(registers):
            row = 8 * (r // 4) + 4 * (lane // m) + r % 4 if m == 32 else 4 * (lane // m) + r
            wave.v[first + r, lane] = c[row, lane % m : lane % m + 1].view(np.uint32)[0]
    tile = f"v[{first}:{first + registers - 1}]"
    operands = (tile, f"v[0:{words - 1}]", f"v[{words}:{2 * words - 1}]", tile)
    text = f"{name} {', '.join(operands)}"
    instruction = Instruction(mnemonic=name, operands=operands, modifiers={}, line=1, text=text)
    make_mfma(instruction, "gfx950")(wave)
    expected = a @ b.T + c
    got = wave.v[first : first + registers].view(np.float32)
    for lane in range(64):
        for r in range(registers):
            row = 8 * (r // 4) + 4 * (lane // m) + r % 4 if m == 32 else 4 * (lane // m) + r
            assert got[r, lane] == expected[row, lane % m]


@pytest.mark.parametrize("name", ["late", "early", "starved", "trampled", "random", "random-7"])
def test_timings_have_names(name):
    assert timing_named(name) is not None
    assert timing_named(f"{name}x") is None
