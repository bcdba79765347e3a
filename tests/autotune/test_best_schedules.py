"""Schedules the search found: clean, as fast as they were when found, and real kernels."""

from pathlib import Path

import pytest

from warploom import SearchOptions, read_schedule, search, simulate, verify
from warploom.cli.kernels import built_in
from warploom.sim.chip import chip_costs

HERE = Path(__file__).parent
# Simulated cycles of two K-tiles, of at least 4096; the documents carry tile and instruction.
FOUND = {"best_4wave_fine.json": 4100, "best_8wave.json": 4096}


def document(name):
    return read_schedule((HERE / name).read_bytes())


@pytest.mark.parametrize("name", FOUND)
def test_found_schedules_are_clean_and_fast(name):
    found = document(name)
    assert found.shape.tile == (256, 256, 64)
    assert found.shape.mma == (32, 32, 16)
    assert verify(found).verdict == "clean"
    run = simulate(found, chip_costs(found), trips=12)
    assert run.steady
    assert run.ii * 2 / found.protocol.k_tiles_per_iteration == FOUND[name]


WAVES = {
    "best_4wave_fine.json": ((2, 2), (32, 32, 16)),
    "best_8wave.json": ((2, 4), (32, 32, 16)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WAVES)
def test_found_schedules_pass_the_gate_and_compute_the_product(name):
    pytest.importorskip("llvmlite")
    from warploom.codegen.amdgcn import ElementType, emit_kernel, gemm_tile
    from warploom.codegen.amdgcn.emulate import EARLY, LATE, emulate_gemm, integer_matrix

    found, (waves, mma) = document(name), WAVES[name]
    tile = gemm_tile(256, 256, 64, ElementType.BF16, mma=mma, waves=waves)
    kernel = emit_kernel(found, tile)
    protocol = found.protocol
    for trips, timing in ((0, LATE), (1, EARLY), (2, LATE)):
        k = 64 * (protocol.kernel_k_base + trips * protocol.k_tiles_per_iteration)
        a, b = integer_matrix(256, k, 1), integer_matrix(256, k, 2)
        done = emulate_gemm(kernel.assembly, a, b, dtype="bf16", block=(256, 256), timing=timing)
        assert done.correct


@pytest.mark.slow
@pytest.mark.parametrize(("name", "goal"), [("pingpong", 4200), ("fourwave", 4500)])
def test_the_public_search_finds_one_from_the_declaration(name, goal):
    pytest.importorskip("llvmlite")
    options = SearchOptions(evaluations=200, build=True, goal=goal)
    found = search(built_in(name, {}, "256x256x64", "bf16", "32x32x16"), options=options)
    assert found.score <= goal
    assert found.best.report.verdict == "clean"
    best = found.best.document()
    assert simulate(best, chip_costs(best), trips=12).ii == found.score
