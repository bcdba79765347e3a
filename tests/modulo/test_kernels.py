"""Modulo schedules as real gfx950 kernels: the ISA gate and the emulator agree with them."""

import pytest

from warploom.codegen.amdgcn import ElementType, emit_kernel, gemm_tile
from warploom.codegen.amdgcn.emulate import EARLY, LATE, emulate_gemm, integer_matrix
from warploom.pipeline.amd_target.cost import mi355x_target
from warploom.pipeline.amd_target.geometry import KernelGeometry
from warploom.pipeline.compile import compile_schedule
from warploom.pipeline.modulo.bridge import ModuloRequest
from warploom.pipeline.schedules.fourwave import Pipeline4Wave

pytest.importorskip("llvmlite")


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("budget", "ii", "tiles_a_trip"), [(8, 1412, 2), (None, 1404, 4)])
def test_the_emitted_kernel_computes_the_product(budget, ii, tiles_a_trip):
    geometry = KernelGeometry.four_wave((128, 128, 64))
    target = mi355x_target(geometry.vm_per_load_a, geometry.vm_per_load_b)
    compiled = compile_schedule(
        Pipeline4Wave(geometry, target=target), modulo=ModuloRequest(smem_budget=budget)
    )
    protocol = compiled.protocol
    assert compiled.modulo.ii <= ii  # in cycles of the chip
    assert protocol.k_tiles_per_iteration == tiles_a_trip
    kernel = emit_kernel(
        compiled.document(), gemm_tile(128, 128, 64, ElementType.BF16, waves=(2, 2))
    )
    for trips, timing in ((0, LATE), (1, EARLY), (2, LATE)):
        k = 64 * (protocol.kernel_k_base + trips * protocol.k_tiles_per_iteration)
        result = emulate_gemm(
            kernel.assembly,
            integer_matrix(128, k, 1),
            integer_matrix(128, k, 2),
            dtype="bf16",
            block=(128, 128),
            timing=timing,
        )
        assert result.correct
