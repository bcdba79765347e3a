"""Loops of tile kernels on gfx950 that are pipelined: proven, exactly in the code, and right.

Sizes take every phase of the schedule and leave steps over; rows and columns are ragged. Rows that
are no multiple of 16 bytes, and too few steps, take the plain loop of the same kernel.
"""

import numpy as np
import pytest

import warploom as wl
from tests.codegen_amdgcn import tile_kernels as own
from tests.codegen_amdgcn.tile_cases import made_for, random_arrays, try_kernel
from warploom.codegen.amdgcn.isa_check.regions import check_regions
from warploom.codegen.amdgcn.tile_ir.gate import gated_from, gated_loop, loop_sidecar
from warploom.compiler.amd_tiles import compile_tile_kernel
from warploom.frontend.simplify import simplify
from warploom.ir import read_schedule, write_schedule
from warploom.ir.format1 import counter_document_of
from warploom.kernels import attention, block_scaled, gemm, grouped, int4_gemm, rms_gemm, swiglu
from warploom.passes.amdgcn.loop_body import UnscheduledError, loop_body
from warploom.passes.amdgcn.plan import TilePlan
from warploom.verify import verify

pytest.importorskip("llvmlite")

SMALL = {"m": 64, "n": 64, "k": 32}
GEMM = {"m": 72, "n": 72, "k": 328}
HEADS = {"b": 1, "h": 2, "g": 1, "s": 72, "t": 392, "d": 64}
GROUPS = {"t": 150, "k": 328, "n": 40, "e": 4, "s": 60}
STARTS = {"starts": [0, 70, 70, 75, 150]}
SOME = np.random.default_rng(1).integers(0, 60, 150)
SCALED = {"m": 64, "n": 64, "k": 128}


def capped(x, b, h, s, t):
    return 20.0 * wl.tanh(x * 0.05) - 0.01 * wl.abs(s - t).to(wl.f32)


def window(b, h, s, t):
    return (t <= s) & (s - t < 70)


# text, types, sizes, constants, without, arrays, extents
CASES = {
    "gemm": (gemm.gemm, "bf16", GEMM, {}, ["bias", "residual"], {}, SMALL),
    "turned": (gemm.turned, "f16", GEMM, {}, ["bias", "residual"], {}, SMALL),
    "both_ways": (own.product_both_ways, "bf16", GEMM, {}, [], {}, SMALL),
    "swiglu": (swiglu.swiglu, "f16", GEMM, {}, [], {}, {"m": 64, "n": 32, "k": 32}),
    "rms_gemm": (rms_gemm.rms_gemm, "bf16", GEMM, {}, [], {}, SMALL),
    "batched": (own.batched, "bf16", GEMM | {"b": 2}, {}, [], {}, SMALL),
    "grouped": (grouped.grouped, "bf16", GROUPS, {}, [], STARTS, {"t": 64, "n": 64, "k": 32}),
    "gathered": (
        grouped.grouped_gathered, "bf16", GROUPS, {}, [], STARTS | {"tokens": SOME},
        {"t": 64, "n": 64, "k": 32},
    ),
    "grouped_input": (
        grouped.grouped_input, "bf16", GROUPS, {}, [], STARTS, {"t": 64, "n": 64, "k": 32},
    ),
    "grouped_weights": (
        grouped.grouped_weights, "bf16", GROUPS | {"t": 600, "k": 40}, {}, [],
        {"starts": [0, 216, 216, 224, 600]}, {"n": 64, "k": 64, "t": 32},
    ),
    "block_scaled": (
        block_scaled.block_scaled, {"a": "e4m3", "b": "e5m2", "out": "bf16"},
        {"m": 80, "n": 144, "k": 1040}, {}, [], {}, SCALED,
    ),
    "fp8_weights": (
        int4_gemm.fp8_gemm, {"x": "bf16", "w": "e4m3", "out": "bf16"},
        {"m": 72, "n": 72, "k": 1040}, {}, [], {}, SCALED,
    ),
    "int4": (int4_gemm.int4_gemm, "bf16", {"m": 72, "n": 72, "k": 1056}, {}, [], {}, SCALED),
    "attention": (
        attention.attention, "bf16", HEADS, {"causal": True}, [], {"lengths": [388]},
        {"s": 64, "t": 32},
    ),
    "attention_functions": (
        attention.attention, "f16", HEADS, {"score": capped, "visible": window},
        ["lengths", "lse"], {}, {"s": 64, "t": 32},
    ),
    "attention_256": (
        attention.attention, "bf16", HEADS | {"d": 256, "h": 1}, {}, ["lengths"], {},
        {"s": 64, "t": 32},
    ),
    "attention_128": (
        attention.attention, "bf16", HEADS | {"d": 128}, {}, ["lengths", "lse"], {},
        {"s": 64, "t": 32},
    ),
}  # fmt: skip
QUICK = ("gemm", "gathered")


def compiled(name):
    text, types, sizes, constants, without, given, extents = CASES[name]
    kernel = made_for(text, types, sizes, constants, without)
    program = compile_tile_kernel(kernel, extents=extents)
    arrays = random_arrays(kernel, sizes, given, scale=0.4)
    return kernel, program, arrays, sizes


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in CASES]
)
def test_right_and_proven(name):
    kernel, program, arrays, sizes = compiled(name)
    assert program.schedules, program.not_pipelined
    assert program.gate.exact, program.gate.text()
    for schedule in program.schedules:
        assert verify(schedule.document).clean
        assert min(schedule.copies.values()) >= 1
    scalars = {p.name: 0.5 for p in kernel.parameters}
    counts = []
    for padding, order in ((16, "forward"), (0, "random"), (3, "reverse")):
        done = try_kernel(
            kernel, arrays, scalars, sizes=sizes, program=program, padding=padding, order=order
        )
        assert not done.wrong, (padding, done.wrong)
        counts.append(padding)
    assert len(counts) == 3


@pytest.fixture(scope="module")
def product():
    kernel = gemm.gemm.specialise(
        {"a": "bf16", "b": "bf16", "out": "f32"}, without=["bias", "residual"]
    )
    return kernel, compile_tile_kernel(kernel, extents=SMALL)


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
@pytest.mark.parametrize("more", [0, 8, 5])
def test_every_number_of_steps(product, steps, more):
    """Prologue, loop and epilogue together take so many steps; the plain loop takes the rest."""
    kernel, program = product
    k = 32 * steps + more
    rng = np.random.default_rng(k)
    arrays = {"a": rng.integers(-3, 4, (66, k)), "b": rng.integers(-3, 4, (40, k))}
    done = try_kernel(kernel, arrays, {"alpha": 2.0}, program=program, padding=-k % 8 + 8)
    assert np.array_equal(done.outputs["out"], 2.0 * arrays["a"] @ arrays["b"].T)


def test_rows_that_count_for_nothing_stay_out(product):
    """NaN past the last row, and between rows, reaches no result (execute fills with NaN)."""
    kernel, program = product
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (1, 320)), rng.integers(-3, 4, (65, 320))
    done = try_kernel(kernel, {"a": a, "b": b}, {"alpha": 1.0}, program=program, padding=8)
    assert np.array_equal(done.outputs["out"], a @ b.T)


def test_gathered_rows_that_do_not_exist():
    """Indices outside of the tensor read 0: such a tile takes the plain loop."""
    kernel, program, arrays, sizes = compiled("gathered")
    tokens = SOME.copy()
    tokens[[3, 80]] = -1, 60
    done = try_kernel(kernel, arrays | {"tokens": tokens}, sizes=sizes, program=program, padding=16)
    assert not done.wrong


def test_the_pipelined_loop_is_taken(product):
    """Aligned rows run the scheduled loop: fewer instructions than odd rows."""
    from warploom.codegen.amdgcn.tile_ir.execute import execute

    program = product[1]
    arrays = {"a": np.ones((64, 640)), "b": np.ones((64, 640))}

    def steps(padding):
        return execute(
            program.assembly, program.sidecar(), arrays, {"alpha": 1.0}, padding=padding
        ).instructions

    assert steps(8) < steps(1)
    assert "buffer_load_dwordx4" in program.assembly


def test_steps_that_a_condition_hides_are_left_out():
    from warploom.codegen.amdgcn.tile_ir.execute import execute

    sizes = {"b": 1, "h": 1, "g": 1, "s": 64, "t": 512, "d": 64}
    counts = []
    for causal in (True, False):
        kernel = made_for(
            attention.attention, "bf16", sizes, {"causal": causal}, ["lengths", "lse"]
        )
        program = compile_tile_kernel(kernel, extents={"s": 64, "t": 32}, pipelined=False)
        arrays = random_arrays(kernel, sizes)
        done = execute(program.assembly, program.sidecar(), arrays, {"scale": 0.5})
        counts.append(done.instructions)
    assert counts[0] < counts[1] / 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\ts_barrier\n", ""),
        ("vmcnt(", "vmcnt(1"),
        ("offen lds\n", "offen lds\n\ts_waitcnt vmcnt(0)\n"),
    ],
)
def test_the_gate_sees_changed_code(product, old, new):
    program = product[1]
    region = program.assembly.index("offen lds")
    text = program.assembly[:region] + program.assembly[region:].replace(old, new, 1)
    assert text != program.assembly
    report = check_regions([gated_loop(loop, "mi355x") for loop in program.code.loops], text)
    assert not report.exact
    assert report.differences


def test_files_are_enough_for_the_gate(product):
    program = product[1]
    plans = []
    for schedule, loop in zip(program.schedules, program.code.loops, strict=True):
        read = counter_document_of(read_schedule(write_schedule(schedule.document)))
        plans.append(gated_from(read, loop_sidecar(loop)))
    assert check_regions(plans, program.assembly).exact


def test_why_a_loop_is_not_pipelined():
    kernel = simplify(made_for(own.listed, "bf16", {}))
    plan = TilePlan(kernel=kernel, extents={v.name: 64 for v in kernel.vars})
    with pytest.raises(UnscheduledError, match="list of tiles"):
        loop_body(plan, kernel.loops[0])
    program = compile_tile_kernel(made_for(own.listed, "bf16", {}))
    assert any("list of tiles" in why for why in program.not_pipelined)
    assert "not pipelined: " in program.listing()


@pytest.mark.slow
def test_a_pipelined_loop_inside_of_a_loop():
    """Addresses that are computed anew after it are not used outside of the loop around it."""
    sizes = {"m": 72, "n": 40, "d": 392, "f": 136}
    kernel = made_for(own.fused_mlp, "bf16", sizes)
    program = compile_tile_kernel(kernel, extents={"m": 64, "n": 32, "f": 64, "d": 32})
    assert len(program.schedules) == 1, program.not_pipelined
    assert program.gate.exact
    arrays = random_arrays(kernel, sizes, scale=0.3)
    for padding, order in ((16, "random"), (3, "forward")):
        done = try_kernel(
            kernel, arrays, sizes=sizes, program=program, padding=padding, order=order
        )
        assert not done.wrong, (padding, done.wrong)
