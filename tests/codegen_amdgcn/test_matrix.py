"""Schedules x tiles x element types x matrix instructions x kernels, all the way to disk and back.

Every combination that the schedule's geometry accepts is emitted, gated, written with its object,
emulated against NumPy and checked again from the files; or it is refused by type before anything
is written, with the reason. Nothing else may happen.
"""

from itertools import product

import pytest

pytest.importorskip("llvmlite")

from warploom import read_schedule
from warploom.codegen.amdgcn import ElementType, check_isa, emit_kernel, read_sidecar, write_kernel
from warploom.codegen.amdgcn.emit import ready_kernel
from warploom.codegen.amdgcn.emulate import emulate_gemm, integer_matrix, random_timing
from warploom.codegen.amdgcn.lower.state import writes_out
from warploom.codegen.amdgcn.plan import plan_kernel
from warploom.codegen.amdgcn.sidecar import plan_of_sidecar
from warploom.codegen.amdgcn.tile_kernel import gemm_tile_kernel
from warploom.codegen.amdgcn.toolchain import find_assembler
from warploom.codegen.amdgcn.trial import try_product
from warploom.errors import BackendError, ConfigError, GeometryError
from warploom.kernels.gemm import gemm

SCHEDULES = ("pingpong", "fourwave", "single_buffer")
TILES = ((64, 64), (128, 128), (128, 256), (256, 128), (192, 256), (256, 256), (96, 96), (256, 320))
MMAS = {
    "bf16": ((16, 16, 32), (32, 32, 16)),
    "fp16": ((16, 16, 32), (32, 32, 16)),
    "fp8": ((16, 16, 128), (32, 32, 64)),
}
DEPTHS = {"bf16": (32, 64), "fp16": (64,), "fp8": (64, 128)}
WORDS = {"bf16": "bf16", "fp16": "f16", "fp8": "e4m3"}
KERNELS = ("product", "tail")
SMALL = {  # what runs by default, and whether it is emitted
    ("fourwave", "bf16", (16, 16, 32), (64, 64, 32)): True,
    ("fourwave", "fp8", (16, 16, 128), (64, 64, 128)): True,
    ("fourwave", "fp16", (32, 32, 16), (128, 128, 64)): True,
    ("pingpong", "bf16", (16, 16, 32), (128, 128, 64)): True,
    ("pingpong", "bf16", (16, 16, 32), (192, 256, 64)): False,
    ("single_buffer", "bf16", (16, 16, 32), (128, 128, 32)): True,
    ("single_buffer", "fp8", (32, 32, 64), (128, 128, 128)): True,
}


def cases():
    for schedule, dtype in product(SCHEDULES, MMAS):
        for mma, (m, n), k in product(MMAS[dtype], TILES, DEPTHS[dtype]):
            for kernel in KERNELS:
                case = (schedule, dtype, mma, (m, n, k))
                slow = () if case in SMALL else (pytest.mark.slow,)
                name = f"{schedule}-{dtype}-{mma[0]}x{mma[1]}-{m}x{n}x{k}-{kernel}"
                yield pytest.param(*case, kernel, id=name, marks=slow)


def the_tail(dtype):
    types = {"a": WORDS[dtype], "b": WORDS[dtype], "out": "bf16", "bias": "f32"}
    return gemm_tile_kernel(gemm.specialise(types, without={"residual"}))


def emulated(kernel, text, dtype, block):
    """Whether the assembly computes what it should, for an odd last tile."""
    m, n = block[0] - 3, block[1] + 1
    rule = kernel.sidecar["k"]
    if text is not None:
        sizes = (m, n, rule["base"] + rule["per"] + rule["multiple"])
        scalars = dict.fromkeys(text.scalars, 0.5)
        done = try_product(
            text, kernel.assembly, kernel.sidecar, sizes, scalars, timing=random_timing(5)
        )
        return done.right
    k = rule["minimum"] + 2 * rule["multiple"]
    return emulate_gemm(
        kernel.assembly,
        integer_matrix(m, k, 1),
        integer_matrix(n, k, 2),
        dtype=dtype,
        block=block[:2],
        timing=random_timing(5),
    ).correct


def refusal(schedule, dtype, mma, block):
    """Why a schedule does not take a geometry; None if it does."""
    try:
        ready_kernel(schedule, block, ElementType(dtype), mma=mma)
    except (GeometryError, ConfigError, BackendError) as error:
        return error
    return None


def written(ready, text, folder):
    """The kernel, written to a folder; or why it was not."""
    try:
        made = emit_kernel(
            ready.document, ready.tile, text=text, ragged_k=text is not None, to_object=True
        )
        write_kernel(made, folder)
    except (BackendError, GeometryError) as error:
        return error
    return made


@pytest.mark.parametrize(("schedule", "dtype", "mma", "block", "kernel"), list(cases()))
def test_every_geometry_goes_all_the_way(
    schedule, dtype, mma, block, kernel, tmp_path, record_property
):
    case = (schedule, dtype, mma, block)
    refused = refusal(*case)
    if refused is not None:
        record_property("outcome", f"no schedule: {refused.what}")
        assert refused.why or refused.fix
        assert not SMALL.get(case, False)
        return
    ready = ready_kernel(schedule, block, ElementType(dtype), mma=mma)
    text = the_tail(dtype) if kernel == "tail" else None
    folder = tmp_path / "out"
    made = written(ready, text, folder)
    if isinstance(made, BackendError | GeometryError):
        record_property("outcome", f"no kernel: {made.what}")
        assert "register" in str(made) or isinstance(made, GeometryError)
        assert made.fix
        assert not folder.exists()
        assert not SMALL.get(case, False)
        return
    assert SMALL.get(case, True)
    assert made.gate.exact
    assert made.gate.resources.spills == 0
    assert (folder / "kernel.o").read_bytes()[:4] == b"\x7fELF"
    document = read_schedule((folder / "kernel.schedule.json").read_text())
    values = read_sidecar((folder / "kernel.json").read_text())
    assembly = (folder / "kernel.s").read_text()
    assert check_isa(plan_of_sidecar(document, values), assembly).exact
    assert emulated(made, text, dtype, block)
    record_property("outcome", "emitted")


@pytest.mark.parametrize(("block", "written"), [((128, 256, 64), False), ((256, 256, 64), True)])
def test_matrix_instructions_are_written_out_only_where_no_agpr_is_left(block, written):
    ready = ready_kernel("fourwave", block, ElementType.BF16, mma=(16, 16, 32))
    assert writes_out(plan_kernel(ready.document, ready.tile)) is written
    if not written:
        made = emit_kernel(ready.document, ready.tile, to_object=True)
        assert made.gate.exact
        assert not made.written_out


def test_a_kernel_that_needs_an_assembler_is_refused_before_it_is_emitted(monkeypatch, tmp_path):
    monkeypatch.setattr("warploom.codegen.amdgcn.toolchain.assemblers", lambda: iter(()))
    compiled = []
    monkeypatch.setattr("warploom.codegen.amdgcn.emit.compile_ir", compiled.append)
    ready = ready_kernel("fourwave", (256, 256, 64), ElementType.BF16, mma=(16, 16, 32))
    with pytest.raises(BackendError, match="assembler") as caught:
        emit_kernel(ready.document, ready.tile, to_object=True)
    assert "32x32x16" in caught.value.fix
    assert not compiled


@pytest.mark.skipif(find_assembler() is None, reason="no clang for gfx950 here")
def test_written_out_instructions_are_assembled(tmp_path):
    ready = ready_kernel("fourwave", (256, 256, 64), ElementType.BF16, mma=(16, 16, 32))
    made = emit_kernel(ready.document, ready.tile, to_object=True)
    assert made.written_out
    write_kernel(made, tmp_path)
    assert (tmp_path / "kernel.o").read_bytes()[:4] == b"\x7fELF"


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
def test_a_full_register_file_takes_the_instruction_that_needs_no_assembler(dtype):
    """By default: the 32x32 instruction updates its accumulator in place."""
    block = (256, 256, 64 if dtype == "bf16" else 128)
    ready = ready_kernel("single_buffer", block, ElementType(dtype))
    assert ready.tile.mfma.m == 32
    assert not writes_out(plan_kernel(ready.document, ready.tile))
