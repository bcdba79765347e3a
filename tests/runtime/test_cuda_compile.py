"""Emitted CUDA through nvcc: registers, spills, ptxas messages, and the order kept in SASS."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from tests.mbarrier.samples import MEASURED, SHIPPED, compiled as of_sample, lowered
from warploom.compiler import cubin as build
from warploom.compiler.disk_cache import DiskCache
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import BackendError

SOURCE = emit_kernel(lowered("gemm", m=128, n=256))
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")


@pytest.fixture(autouse=True)
def nvcc_only(monkeypatch):
    monkeypatch.setenv("WARPLOOM_COMPILER", "nvcc")
    forget = build.find_toolchain.cache_clear
    forget()
    yield
    forget()


def compiled(folder):
    return build.compile_source(SOURCE.text, cache_dir=folder)


@needs_nvcc
def test_the_cache_is_keyed_by_source(tmp_path):
    tiny = 'extern "C" __global__ void f(int* p) { *p = 1; }'
    first = build.compile_source(tiny, cache_dir=tmp_path)
    assert len(list(DiskCache(tmp_path).entries(["cubin"]))) == 1
    assert build.compile_source(tiny, cache_dir=tmp_path).data == first.data
    build.compile_source(tiny.replace("= 1", "= 2"), cache_dir=tmp_path)
    assert len(list(DiskCache(tmp_path).entries(["cubin"]))) == 2


@needs_nvcc
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [n for n in SHIPPED | MEASURED if n != "split_gemm"]
)  # pinned wide
def test_every_shipped_text_builds(name, monkeypatch, tmp_path):
    """No GPU needed: ptxas keeps the schedule, spills nothing, and says how many registers."""
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    report = of_sample(name).built.cubin.report
    assert (report.messages, report.spill_bytes) == ((), 0)
    assert 0 < report.registers <= 255


@needs_nvcc
def test_rejected_source_is_an_error_with_the_compilers_words(tmp_path):
    with pytest.raises(BackendError, match="nvcc rejects") as error:
        build.compile_source("nonsense", cache_dir=tmp_path)
    assert "nonsense" in error.value.why


TINY = 'extern "C" __global__ void f(int* p) { *p = 1; }'


@pytest.fixture
def nvrtc(monkeypatch):
    pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")
    monkeypatch.setenv("WARPLOOM_COMPILER", "nvrtc")
    build.find_toolchain.cache_clear()
    try:
        build.find_toolchain()
    except BackendError:
        pytest.skip("NVRTC is not installed")


def test_nvrtc_needs_no_toolkit_and_no_gpu(nvrtc, monkeypatch, tmp_path):
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    cubin = compiled(tmp_path)
    assert cubin.toolchain.startswith("nvrtc")
    assert cubin.data[:4] == b"\x7fELF"
    assert (cubin.report.registers, cubin.report.spill_bytes) == (168, 0)
    assert cubin.report.kept


def test_nvrtc_says_what_is_wrong(nvrtc, tmp_path):
    with pytest.raises(BackendError, match="NVRTC rejects") as error:
        build.compile_source("nonsense", cache_dir=tmp_path)
    assert "nonsense" in error.value.why


def test_a_verdict_is_a_value_where_it_is_asked_for(nvrtc, tmp_path):
    """Too few registers for what is live: spills, which are an error only when judged."""
    lines = "".join(f"float x{i} = p[{i} * n];" for i in range(200))
    total = "+".join(f"x{i} * x{(7 * i) % 200}" for i in range(200))
    source = (
        'extern "C" __global__ __launch_bounds__(1024, 2) void f(float* p, int n) {'
        f"{lines} __syncthreads(); p[0] = {total}; }}"
    )
    found = build.compile_source(source, cache_dir=tmp_path, checked=False)
    assert found.report.spill_bytes > 0
    assert not found.report.kept
    with pytest.raises(BackendError, match="did not keep the schedule"):
        build.compile_source(source, cache_dir=tmp_path)


def test_options_reach_the_compiler(nvrtc, tmp_path):
    source = TINY.replace("= 1", "= VALUE")
    one = build.compile_source(source, cache_dir=tmp_path, options=("-DVALUE=1",))
    two = build.compile_source(source, cache_dir=tmp_path, options=("-DVALUE=2",))
    assert one.data != two.data


def no_compiler(monkeypatch, data=b"cubin"):
    """Compilations are counted and give ``data``."""
    calls = []

    def run(source, options):
        calls.append(source)
        return data, "Used 40 registers"

    for name in ("_nvcc", "_nvrtc"):
        monkeypatch.setattr(build, name, run)
    monkeypatch.setattr(build, "find_toolchain", lambda: "nvcc 1.2.3")
    return calls


def test_a_damaged_cache_entry_is_compiled_again(monkeypatch, tmp_path):
    calls = no_compiler(monkeypatch)
    build.compile_source(TINY, cache_dir=tmp_path)
    (path,) = tmp_path.glob("cubin/??/*")
    for harm in (b"", path.read_bytes()[:-1], path.read_bytes().replace(b"cubin", b"cabin")):
        path.write_bytes(harm)
        assert build.compile_source(TINY, cache_dir=tmp_path).data == b"cubin"
    assert len(calls) == 4
    build.compile_source(TINY, cache_dir=tmp_path)
    assert len(calls) == 4


def test_a_cache_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    no_compiler(monkeypatch)
    (tmp_path / "file").write_text("")
    found = build.compile_source(TINY, cache_dir=tmp_path / "file" / "below")
    assert (found.data, found.report.registers) == (b"cubin", 40)


def test_processes_share_a_cache(tmp_path):
    """Several at once fill one folder; every one reads whole entries."""
    code = (
        "import sys; from pathlib import Path; from warploom.compiler import cubin as build\n"
        "build.find_toolchain = lambda: 'nvcc 1'\n"
        "build._nvcc = lambda s, o: (s.encode() * 50_000, 'Used 40 registers')\n"
        "for i in range(60):\n"
        "    s = f'kernel {i % 6}'\n"
        "    found = build.compile_source(s, cache_dir=Path(sys.argv[1]))\n"
        "    assert found.data == s.encode() * 50_000, i"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(3)]
    assert [p.wait() for p in running] == [0, 0, 0]
    assert len(list(tmp_path.glob("cubin/??/*"))) == 6, "no temporary file is left"


def test_slow_compilations_are_announced(monkeypatch, tmp_path, capsys):
    no_compiler(monkeypatch)
    monkeypatch.delenv("WARPLOOM_QUIET", raising=False)
    monkeypatch.setattr(build, "SLOW_SECONDS", 0.01)
    real = build._nvcc

    def slow(source, options):
        time.sleep(0.2)
        return real(source, options)

    monkeypatch.setattr(build, "_nvcc", slow)
    build.compile_source(TINY, cache_dir=tmp_path, name="gemm_128x256")
    said = capsys.readouterr().err
    assert "compiling gemm_128x256 (first use" in said
    assert "compiling gemm_128x256: done in 0." in said
    build.compile_source(TINY, cache_dir=tmp_path, name="gemm_128x256")
    assert not capsys.readouterr().err
    monkeypatch.setenv("WARPLOOM_QUIET", "1")
    build.compile_source("other", cache_dir=tmp_path)
    assert not capsys.readouterr().err


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
        build._require_schedule(report)


def test_log_facts():
    log = "8 bytes stack frame, 12 bytes spill stores, 4 bytes spill loads\nUsed 168 registers"
    report = build.read_log(log)
    assert (report.registers, report.spill_bytes) == (168, 16)
    with pytest.raises(BackendError, match="did not keep the schedule"):
        build._require_schedule(report)


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
    path.write_bytes(compiled(tmp_path).data)
    done = subprocess.run(
        [disassembler(), "--dump-sass", str(path)], capture_output=True, text=True, check=True
    )
    names = r"SYNCS\.PHASECHK|HGMMA|WARPGROUP\.DEPBAR\.LE gsb0, 0x\d|SYNCS\.ARRIVE|UTMALDG"
    order = re.findall(names, done.stdout)
    loop = order.index("WARPGROUP.DEPBAR.LE gsb0, 0x1")
    assert order[loop - 4 : loop] == ["HGMMA"] * 4
    after = order[loop + 1 :]
    assert after[0].startswith("SYNCS.ARRIVE")
    assert "WARPGROUP.DEPBAR.LE gsb0, 0x0" in after
    assert order.count("UTMALDG") == 2
