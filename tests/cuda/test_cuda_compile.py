"""Emitted CUDA through nvcc: registers, spills, ptxas messages, and the order kept in SASS."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from warploom.emit.cuda import emit_gemm
from warploom.errors import BackendError
from warploom.hopper import Activation, Dtype, Epilogue, GemmKernel
from warploom.launch import build
from warploom.launch.shipped import SHIPPED, shipped_schedule

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")

FEW = (GemmKernel(), GemmKernel(tile_m=256, tile_n=208))
MORE = (
    *(k for k in SHIPPED if k not in FEW),
    GemmKernel(dtype=Dtype.E4M3),
    GemmKernel(tile_m=256, tile_n=192, dtype=Dtype.FP16, out=Dtype.FP32),
    GemmKernel(epilogue=Epilogue(scale=True, bias=True, activation=Activation.SILU)),
)


@pytest.fixture(autouse=True)
def nvcc_only(monkeypatch):
    monkeypatch.setenv("WARPLOOM_COMPILER", "nvcc")
    build.find_toolchain.cache_clear()
    yield
    build.find_toolchain.cache_clear()


def compiled(kernel, folder):
    return build.compile_source(emit_gemm(shipped_schedule(kernel.name), kernel), cache_dir=folder)


def check(kernel, folder):
    cubin = compiled(kernel, folder)
    assert cubin.report.spill_bytes == 0
    assert not cubin.report.messages
    assert cubin.report.registers == min(168, 65536 // kernel.threads // 8 * 8) or (
        kernel.consumers != 2 and cubin.report.registers <= 255
    )
    assert cubin.data[:4] == b"\x7fELF"


@needs_nvcc
@pytest.mark.parametrize("kernel", FEW, ids=lambda k: k.name)
def test_kernels_compile_without_spills_or_serialisation(kernel, tmp_path):
    check(kernel, tmp_path)


@needs_nvcc
@pytest.mark.slow
@pytest.mark.parametrize("kernel", MORE, ids=lambda k: f"{k.name}_{k.dtype}_{k.out}")
def test_every_shipped_kernel_compiles(kernel, tmp_path):
    check(kernel, tmp_path)


@needs_nvcc
def test_the_cache_is_keyed_by_source(tmp_path):
    tiny = 'extern "C" __global__ void f(int* p) { *p = 1; }'
    first = build.compile_source(tiny, cache_dir=tmp_path)
    assert len(list(tmp_path.glob("*.cubin"))) == 1
    assert build.compile_source(tiny, cache_dir=tmp_path).data == first.data
    build.compile_source(tiny.replace("= 1", "= 2"), cache_dir=tmp_path)
    assert len(list(tmp_path.glob("*.cubin"))) == 2


@needs_nvcc
def test_rejected_source_is_an_error_with_the_compilers_words(tmp_path):
    with pytest.raises(BackendError, match="nvcc rejects") as error:
        build.compile_source("nonsense", cache_dir=tmp_path)
    assert "nonsense" in error.value.why


def test_no_compiler_is_a_clear_error(monkeypatch):
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    with pytest.raises(BackendError, match="no CUDA compiler") as error:
        build.find_toolchain()
    assert "nvcc" in error.value.fix


@pytest.mark.parametrize("code", build.FATAL_MESSAGES)
def test_ptxas_messages_that_void_the_schedule_are_errors(code):
    report = build.read_log(f"ptxas info : ({code}) Potential Performance Loss")
    assert report.messages
    with pytest.raises(BackendError, match="did not keep the schedule"):
        build._judge(report)


def test_log_facts():
    log = "8 bytes stack frame, 12 bytes spill stores, 4 bytes spill loads\nUsed 168 registers"
    report = build.read_log(log)
    assert (report.registers, report.spill_bytes) == (168, 16)
    with pytest.raises(BackendError, match="did not keep the schedule"):
        build._judge(report)


def disassembler():
    """cuobjdump of the toolkit, or the one inside Triton's wheel."""
    found = shutil.which("cuobjdump")
    packaged = Path(sysconfig.get_paths()["purelib"]) / "triton/backends/nvidia/bin/cuobjdump"
    return found or (str(packaged) if packaged.exists() else None)


@needs_nvcc
@pytest.mark.skipif(disassembler() is None, reason="no cuobjdump (CUDA toolkit or Triton's wheel)")
def test_waits_and_barriers_keep_their_order_in_sass(tmp_path):
    """The consumer's loop: full wait, products, a wait that leaves one group, the release."""
    path = tmp_path / "kernel.cubin"
    path.write_bytes(compiled(GemmKernel(), tmp_path).data)
    done = subprocess.run(
        [disassembler(), "--dump-sass", str(path)], capture_output=True, text=True, check=True
    )
    names = r"SYNCS\.PHASECHK|HGMMA|WARPGROUP\.DEPBAR\.LE gsb0, 0x\d|SYNCS\.ARRIVE|UTMALDG"
    order = re.findall(names, done.stdout)
    loop = order.index("WARPGROUP.DEPBAR.LE gsb0, 0x1")
    assert order[loop - 4 : loop] == ["HGMMA"] * 4
    behind = order[loop + 1 :]
    assert behind[0].startswith("SYNCS.ARRIVE")
    assert "WARPGROUP.DEPBAR.LE gsb0, 0x0" in behind
    assert order.count("UTMALDG") == 2
