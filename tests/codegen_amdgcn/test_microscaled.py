"""MXFP8, MXFP6 and MXFP4: scaled matrix instructions from the schedule to results, and back."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.check_amdgcn.own import judge, launch_for
from tests.cli.runner import warploom
from warploom import KernelGeometry, read_schedule, simulate
from warploom.codegen.amdgcn import ElementType, check_isa, emit_kernel, read_sidecar, write_kernel
from warploom.codegen.amdgcn.emit import ready_kernel
from warploom.codegen.amdgcn.emulate import (
    MX_FORMATS,
    STARVED,
    TRAMPLED,
    emulate_gemm,
    encode_mx,
    integer_matrix,
    random_timing,
)
from warploom.codegen.amdgcn.hip import hip_source
from warploom.codegen.amdgcn.plan import plan_kernel
from warploom.codegen.amdgcn.sidecar import plan_of_sidecar
from warploom.codegen.amdgcn.tile import gemm_tile
from warploom.codegen.amdgcn.tile_ir.execute import run_launch
from warploom.errors import BackendError, GeometryError

SMALL = (64, 64, 128)
MADE = {}


def made(schedule, block, name, mma=(16, 16, 128)):
    key = schedule, block, name, mma
    if key not in MADE:
        ready = ready_kernel(schedule, block, ElementType(name), mma=mma)
        MADE[key] = emit_kernel(ready.document, ready.tile)
    return MADE[key]


def emulated(kernel, timing, m, n, trips=2):
    rule, tile = kernel.sidecar["k"], kernel.sidecar["tile"]
    k = rule["minimum"] + trips * rule["multiple"]
    return emulate_gemm(
        kernel.assembly, integer_matrix(m, k, 1), integer_matrix(n, k, 2), dtype=tile["dtype"],
        block=tuple(tile["block"][:2]), timing=timing,
    )  # fmt: skip


@pytest.mark.parametrize("name", MX_FORMATS)
def test_products_are_exact(name):
    """Scales differ from block to block, so a scale of a neighbour would show."""
    kernel = made("fourwave", SMALL, name)
    assert kernel.gate.exact
    assert "v_mfma_scale_f32_16x16x128_f8f6f4" in kernel.assembly
    assert emulated(kernel, STARVED, 61, 70).correct
    assert emulated(kernel, TRAMPLED, 1, 64, trips=0).correct


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mxfp8", "mxfp6", "mxfp4"])
@pytest.mark.parametrize(
    ("schedule", "block", "mma"),
    [
        ("fourwave", (128, 128, 128), (32, 32, 64)),
        ("pingpong", (128, 128, 128), (16, 16, 128)),
        ("fourwave", (256, 256, 128), (32, 32, 64)),
        ("pingpong", (256, 256, 128), (16, 16, 128)),
        ("fourwave", (64, 64, 256), (16, 16, 128)),
    ],
)
def test_schedules_tiles_and_instructions(schedule, block, mma, name):
    kernel = made(schedule, block, name, mma)
    assert kernel.gate.exact
    assert emulated(kernel, random_timing(2), block[0] - 3, block[1] + 1).correct


def test_one_scale_too_far_is_seen():
    """The emulator tells scales apart: the same code on shifted scales is wrong."""
    kernel = made("fourwave", SMALL, "mxfp8")
    lines = kernel.assembly.splitlines()
    at = next(i for i, line in enumerate(lines) if "ds_read_u8" in line)
    head, _, number = lines[at].partition(" offset:")
    lines[at] = f"{head} offset:{int(number or 0) + 1}"
    assert not emulated(replace(kernel, assembly="\n".join(lines)), STARVED, 64, 64).correct


@pytest.mark.parametrize("name", ["mxfp8", "mxfp6_e3m2", "mxfp4"])
def test_the_checker_agrees(name):
    """An independent machine: values, and every timing of the launch."""
    kernel = made("fourwave", SMALL, name)
    k = kernel.sidecar["k"]["minimum"] + kernel.sidecar["k"]["multiple"]
    a, scale_a, left = encode_mx(integer_matrix(64, k, 3), name, seed=1)
    b, scale_b, right = encode_mx(integer_matrix(64, k, 4), name, seed=2)
    given = {"mat_a": a, "mat_b": b, "scale_a": scale_a, "scale_b": scale_b}
    tensors = {n: (x.shape, "u8", "in") for n, x in given.items()}
    tensors["mat_c"] = ((64, 64), "f32", "out")
    sizes = {"dim_m": 64, "dim_n": 64, "dim_k": k}
    launch = launch_for(kernel.assembly, tensors, sizes, (1, 1, 1))
    report = judge(kernel.assembly, launch)
    assert report.clean, str(report)
    assert any(x.startswith("vm_order") for x in report.assumes)
    after, _ = run_launch(kernel.assembly, replace(launch, contents=given))
    found = np.asarray(after["mat_c"]).view(np.float32).reshape(64, 64)
    assert np.array_equal(found, left.astype(np.float64) @ right.astype(np.float64).T)


def test_a_wait_that_is_too_weak_for_the_scales_is_found():
    """Scales are the last of a load: one unit more in flight, and a wave reads old ones."""
    kernel = made("fourwave", SMALL, "mxfp4")
    first = next(x for x in kernel.assembly.splitlines() if "s_waitcnt vmcnt(" in x)
    count = int(first.partition("vmcnt(")[2].partition(")")[0])
    weak = kernel.assembly.replace(f"vmcnt({count})", f"vmcnt({count + 1})")
    plan = kernel.plan
    assert not check_isa(plan, weak).exact


def test_written_and_read_again(tmp_path):
    kernel = made("fourwave", SMALL, "mxfp6")
    write_kernel(kernel, tmp_path)
    sidecar = read_sidecar((tmp_path / "kernel.json").read_text())
    document = read_schedule((tmp_path / "kernel.schedule.json").read_text())
    assert check_isa(plan_of_sidecar(document, sidecar), (tmp_path / "kernel.s").read_text()).exact
    assert [a["name"] for a in sidecar["arguments"]][2:4] == ["scale_a", "scale_b"]
    assert document.shape.dtype == "mxfp6"
    assert document.shape.tile == SMALL


def test_command_line(tmp_path):
    out = tmp_path / "k"
    done = warploom("emit", "gfx950", "fourwave", "--tile", "64x64x128", "--dtype", "mxfp4",
                    "--mma", "16x16x128", "-o", str(out))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert warploom("check-isa", str(out / "kernel.s")).returncode == 0
    done = warploom("emulate", str(out / "kernel.s"), "--m", "50", "--json")
    assert done.returncode == 0, done.stdout
    assert all(run["right"] for run in json.loads(done.stdout)["runs"])
    assert warploom("verify", str(out / "kernel.schedule.json")).returncode == 0
    assert warploom("verify", "fourwave", "--dtype", "mxfp4").returncode in (0, 2)


@pytest.mark.parametrize("kernel", ["gemm", "swiglu", "attention"])
def test_tile_kernels_have_no_microscaled_types(kernel, tmp_path):
    done = warploom("emit", "gfx950", kernel, "--dtype", "mxfp8", "-o", str(tmp_path))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "mxfp8" in done.stderr


def test_refusals():
    with pytest.raises(GeometryError, match="multiple of 128"):
        ready_kernel("fourwave", (64, 64, 64), ElementType.MXFP4, mma=(32, 32, 64))
    staged = ready_kernel("single_buffer", (64, 64, 128), ElementType.MXFP8)
    with pytest.raises(BackendError, match="goes through registers"):
        emit_kernel(staged.document, staged.tile)
    ready = ready_kernel("fourwave", SMALL, ElementType.MXFP8, mma=(16, 16, 128))
    with pytest.raises(BackendError, match="takes any K"):
        emit_kernel(ready.document, ready.tile, ragged_k=True)
    with pytest.raises(BackendError, match="HIP export"):
        hip_source(plan_kernel(ready.document, ready.tile))
    with pytest.raises(GeometryError, match="no microscaling type"):
        KernelGeometry.microscaled("mxfp5", SMALL)


def test_geometry_and_cycles():
    geometry = KernelGeometry.microscaled("mxfp4", (256, 256, 128))
    assert geometry.shape.tile == (256, 256, 128)
    assert geometry.shape.mma == (16, 16, 128)
    eight, four = (gemm_tile(64, 64, 128, ElementType(t), waves=(2, 2)) for t in ("mxfp8", "mxfp4"))
    assert eight.mfma.cycles == 2 * four.mfma.cycles  # 10 against 5 PFLOP/s
    assert simulate(made("fourwave", SMALL, "mxfp4").plan.document).ii > 0


def test_encoding_rounds_to_nearest():
    values = np.array([[0.5, 1.0, 6.0, -6.0, 5.1, 100.0] + [0.0] * 26], np.float32)
    packed, scales, meant = encode_mx(values, "mxfp4")
    assert packed.shape == (1, 16)
    assert scales.tolist() == [[127 + 4]]  # 100 / 16 is in the top binade of e2m1
    assert meant[0, :6].tolist() == [0.0, 0.0, 8.0, -8.0, 8.0, 96.0]


def test_waits_beyond_the_counter_are_derived_anew():
    """The documented rules would wait for lgkm(16) here, which no instruction can say."""
    ready = ready_kernel("pingpong", (256, 256, 128), ElementType.MXFP6)
    waits = [e.op.wait_value for e in ready.document.kernel if e.op.label().startswith("WAIT_LGKM")]
    assert max(waits) <= 14
    plan_kernel(ready.document, ready.tile)
