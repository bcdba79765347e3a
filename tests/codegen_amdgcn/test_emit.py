"""What is emitted beside the code, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import subprocess

import pytest

from warploom.codegen.amdgcn import (
    ElementType,
    emit_kernel,
    gemm_tile,
    launch_plan,
    plan_kernel,
    register_truth,
    write_kernel,
)
from warploom.codegen.amdgcn.emit import ready_kernel
from warploom.codegen.amdgcn.lower.table import encode_wait
from warploom.codegen.amdgcn.sidecar import require_registers
from warploom.codegen.amdgcn.toolchain import compile_ir, find_linker
from warploom.errors import BackendError, ConfigError, GeometryError
from warploom.ir.schedule_ops import OpDesc

from . import listing

BF16 = ElementType.BF16


@pytest.mark.parametrize(
    ("vm", "lgkm", "code"),
    [
        (0, None, 0x0F70),
        (4, None, 0x0F74),
        (None, 0, 0xC07F),
        (20, 7, 0x4774),
        (0, 0, 0x0070),
        (62, 14, 0xCE7E),
    ],
)
def test_wait_operands(vm, lgkm, code):
    assert encode_wait(vm=vm, lgkm=lgkm) == code


@pytest.mark.parametrize("counts", [{"vm": 63}, {"lgkm": 15}, {"vm": -1}])
def test_a_count_that_would_not_wait_is_refused(counts):
    with pytest.raises(BackendError):
        encode_wait(**counts)


def test_sidecar(kernel):
    values = kernel("pingpong").sidecar
    assert [a["name"] for a in values["arguments"]] == [
        "mat_a", "mat_b", "mat_c", "dim_m", "dim_n", "dim_k",
    ]  # fmt: skip
    assert values["block_size"] == [512, 1, 1]
    assert values["lds_bytes"] == 131072
    assert values["spills"] == {"vgpr": 0, "sgpr": 0}
    assert values["k"]["minimum"] == values["k"]["multiple"] == 128
    assert json.loads(json.dumps(values)) == values


def test_launch_plan(kernel):
    values = kernel("pingpong").sidecar
    plan = launch_plan(values, 257, 100, 128 * 6)
    assert plan.grid == (2, 1, 1)
    assert plan.block == (512, 1, 1)
    assert plan.trips == 5


@pytest.mark.parametrize(("k", "fix"), [(64, "128"), (129, "256"), (320, "384")])
def test_a_k_that_is_no_whole_iteration_is_refused(kernel, k, fix):
    with pytest.raises(BackendError, match="no whole number of loop iterations") as caught:
        launch_plan(kernel("pingpong").sidecar, 256, 256, k)
    assert fix in caught.value.fix


def test_offsets_beyond_32_bits_are_refused(kernel):
    with pytest.raises(BackendError, match="exceed"):
        launch_plan(kernel("pingpong").sidecar, 256, 256, 128 << 20)


def test_all_forms_are_written(kernel, tmp_path):
    names = {p.name for p in write_kernel(kernel("single-buffer"), tmp_path)}
    assert {"kernel.s", "kernel.o", "kernel.ll", "kernel.json", "kernel.schedule.json"} <= names
    assert (tmp_path / "kernel.o").read_bytes()[:4] == b"\x7fELF"


@pytest.mark.skipif(find_linker() is None, reason="no lld here")
def test_the_code_object_is_a_shared_object(kernel, tmp_path):
    write_kernel(kernel("single-buffer"), tmp_path)
    data = (tmp_path / "kernel.hsaco").read_bytes()
    assert data[:4] == b"\x7fELF"
    assert data[16] == 3  # ET_DYN
    assert b"warploom_gemm.kd" in data


def test_llvm_errors_are_typed():
    with pytest.raises(BackendError, match="LLVM refused"):
        compile_ir("define void @f( {")


def test_an_llvm_abort_costs_one_worker():
    # A DMA of 8 bytes ends the compiler process.
    ir = """target triple = "amdgcn-amd-amdhsa"
declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8), ptr addrspace(3), i32, i32, i32, i32, i32)
define amdgpu_kernel void @f(ptr addrspace(8) %r, ptr addrspace(3) %l) {
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %r, ptr addrspace(3) %l, i32 8, i32 0, i32 0, i32 0, i32 0)
  ret void
}"""  # noqa: E501
    with pytest.raises(BackendError, match="LLVM"):
        compile_ir(ir)


def test_an_unknown_intrinsic_is_named():
    ir = """target triple = "amdgcn-amd-amdhsa"
declare void @llvm.amdgcn.no.such.thing()
define amdgpu_kernel void @f() {
  call void @llvm.amdgcn.no.such.thing()
  ret void
}"""
    with pytest.raises(BackendError):
        compile_ir(ir)


def test_a_hanging_compiler_is_stopped(monkeypatch):
    def run(*_args, **_kwargs):
        raise subprocess.TimeoutExpired("x", 1)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(BackendError, match="did not finish"):
        compile_ir("")


def test_counters_must_be_those_of_the_tile():
    with pytest.raises(BackendError, match="counts") as caught:
        plan_kernel(listing.pingpong(vm=4), gemm_tile(256, 256, 64, BF16))
    assert "vm_per_load_a=2" in caught.value.fix


def test_waves_must_be_those_of_the_tile():
    with pytest.raises(BackendError, match="8 waves, the tile for 4"):
        plan_kernel(listing.pingpong(), gemm_tile(256, 256, 64, BF16, waves=(2, 2)))


def test_an_unencodable_wait_is_refused():
    document = listing.fourwave_proven()
    entry = dataclasses.replace(document.kernel[1], op=OpDesc.wait_lgkm(15))
    broken = dataclasses.replace(document, kernel=(entry, *document.kernel[1:]))
    with pytest.raises(BackendError, match="cannot be encoded"):
        plan_kernel(broken, gemm_tile(256, 256, 64, BF16, waves=(2, 2)))


def test_an_op_without_a_role_is_refused():
    document = listing.fourwave_proven()
    entry = dataclasses.replace(document.kernel[0], op=OpDesc(tag=7))
    broken = dataclasses.replace(document, kernel=(entry, *document.kernel[1:]))
    with pytest.raises(BackendError, match="no lowering for role"):
        plan_kernel(broken, gemm_tile(256, 256, 64, BF16, waves=(2, 2)))


def test_data_never_loaded_is_refused():
    document = listing.fourwave_proven()
    broken = dataclasses.replace(document, prologue=document.prologue[:-1])
    tile = gemm_tile(256, 256, 64, BF16, waves=(2, 2))
    with pytest.raises(BackendError, match="reads fragment B0 before its load"):
        emit_kernel(broken, tile)


@pytest.mark.parametrize(
    ("block", "kwargs"),
    [
        ((256, 256, 48), {}),
        ((256, 256, 256), {}),
        ((100, 256, 64), {}),
        ((256, 256, 64), {"waves": (8, 4)}),
        ((256, 256, 64), {"mma": (16, 16, 16)}),
        ((0, 256, 64), {}),
        ((512, 512, 64), {}),
    ],
)
def test_impossible_tiles_are_refused(block, kwargs):
    with pytest.raises(GeometryError):
        plan_kernel(listing.pingpong(), gemm_tile(*block, BF16, **kwargs))


def test_an_unknown_schedule_is_named():
    with pytest.raises(ConfigError, match="known schedules"):
        ready_kernel("pinpong", (256, 256, 64), BF16)


def test_register_truth(kernel):
    truth = register_truth(kernel("fourwave").plan, kernel("fourwave").gate.resources)
    assert truth.accumulators == 256
    assert truth.fragments == 128
    assert truth.budget == 512
    assert truth.real <= truth.budget
    ping = register_truth(kernel("pingpong").plan, kernel("pingpong").gate.resources)
    assert (ping.accumulators, ping.budget) == (128, 256)
    assert ping.modelled_peak == 96  # the cost model prices A and B alike


def test_a_spilling_kernel_is_refused_with_what_to_change(kernel):
    emitted = kernel("fourwave")
    spilled = dataclasses.replace(emitted.gate.resources, vgpr_spills=7, scratch_bytes=28)
    with pytest.raises(BackendError, match="spills 7 vector") as caught:
        require_registers(emitted.plan, spilled)
    assert "smaller block" in caught.value.fix
    assert "256 accumulators, 128 fragments" in caught.value.why


@pytest.mark.slow
def test_a_tile_too_large_for_the_registers_is_refused():
    ready = ready_kernel("single_buffer", (256, 256, 64), BF16)
    with pytest.raises(BackendError, match="spills"):
        emit_kernel(ready.document, gemm_tile(512, 256, 64, BF16, waves=(1, 4)))


@pytest.mark.slow
def test_any_k_leaves_no_hazard_where_accumulators_stay_in_place():
    ready = ready_kernel("fourwave", (256, 256, 64), BF16, mma=(16, 16, 32))
    assert emit_kernel(ready.document, ready.tile, ragged_k=True).gate.exact
