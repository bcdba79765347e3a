"""CUDA source to cubin: NVRTC or nvcc, ptxas messages as a value, results kept on disk.

Needs no GPU. The cache key is the source, the options and the toolchain, so an edited kernel or a
new compiler never meets an old binary; processes may share a cache. ``WARPLOOM_CACHE`` moves it,
``WARPLOOM_COMPILER`` (``nvcc`` or ``nvrtc``) picks the compiler; otherwise NVRTC is taken where its
library loads, else nvcc. ``WARPLOOM_QUIET`` silences the line that announces a slow compilation.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from warploom.compiler.cuda_driver import bindings
from warploom.compiler.disk_cache import DiskCache, digest, disk_cache
from warploom.dataclass import dataclass
from warploom.errors import BackendError, MissingExtraError

ARCHITECTURE = "sm_90a"
NVCC_FLAGS = ("-std=c++17", "-O3", "-cubin", "-gencode=arch=compute_90a,code=sm_90a")
# Without the last, a lambda with an ``auto`` argument counts as a host function.
NVRTC_FLAGS = (
    f"--gpu-architecture={ARCHITECTURE}",
    "--std=c++17",
    "--ptxas-options=-v",
    "--device-as-default-execution-space",
)
SLOW_SECONDS = 2.0
FATAL_MESSAGES = {
    "C7508": "setmaxnreg is ignored",
    "C7510": "the products are serialised: a function call in the pipeline",
    "C7511": "the products are serialised: too few registers for the pipeline",
    "C7512": "the products are serialised: too few registers for the function",
    "C7514": "the products are serialised: accumulators indexed at run time",
    "C7517": "a wait was injected: accumulators are touched in flight",
    "C7518": "the products are serialised: accumulators may be touched in flight",
    "C7519": "a fence was injected: registers of products are written after the fence",
    "C7520": "the products are serialised: registers of products are written after the fence",
    "C7602": "too few registers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What ptxas said: registers at entry, spilled bytes, and messages that void the schedule."""

    registers: int | None
    spill_bytes: int
    messages: tuple[str, ...]
    log: str

    @property
    def kept(self) -> bool:
        """True when ptxas kept the schedule: nothing spilled, no product serialised."""
        return not self.messages and not self.spill_bytes

    @property
    def serialised(self) -> bool:
        """True when products wait for one another; a fence more is only a little time."""
        return any(not m.startswith("C7519") for m in self.messages)


class SpillWarning(UserWarning):
    """A configuration whose registers do not suffice: values go through local memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cubin:
    """A compiled kernel and how it was built."""

    data: bytes
    toolchain: str
    report: BuildReport


def read_log(log: str) -> BuildReport:
    """The facts of a ptxas log."""
    registers = re.findall(r"Used (\d+) registers", log)
    spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", log)
    found = [f"{code}: {what}" for code, what in FATAL_MESSAGES.items() if code in log]
    return BuildReport(
        registers=max(map(int, registers)) if registers else None,
        spill_bytes=sum(map(int, spills)),
        messages=tuple(found),
        log=log,
    )


def compile_source(
    source: str,
    *,
    cache_dir: Path | None = None,
    name: str = "kernel",
    options: tuple[str, ...] = (),
    checked: bool = True,
) -> Cubin:
    """The cubin of a source, cached or compiled now.

    ``checked``: raises when ptxas voids the schedule; without it the verdict is left to the caller
    (``Cubin.report``). ``name`` is for the progress line. ``options`` go to the compiler, such as
    ``-DNAME=1`` or ``-lineinfo``: what NVRTC and nvcc spell alike.
    """
    toolchain = find_toolchain()
    kept = disk_cache(cache_dir)
    key = cubin_key(source, options)
    result = recall_cubin(key, kept)
    if result is None:
        run = _nvrtc if toolchain.startswith("nvrtc") else _nvcc
        with announced(f"compiling {name}"):
            data, log = run(source, options)
        result = Cubin(data=data, toolchain=toolchain, report=read_log(log))
        kept.put("cubin", key, json.dumps({"log": log}).encode() + b"\n" + data)
    if checked:
        _require_schedule(result.report)
    return result


def cubin_key(source: str, options: tuple[str, ...] = ()) -> str:
    """The key of a cubin: its source, the compiler with its version, and what it is told."""
    toolchain = find_toolchain()
    flags = NVRTC_FLAGS if toolchain.startswith("nvrtc") else NVCC_FLAGS
    return digest(toolchain, flags, options, source)


def ptx_of(source: str, *, options: tuple[str, ...] = ()) -> str:
    """The PTX of a source, as the compiler makes it before the assembler.

    ``options`` go to the compiler, such as ``-lineinfo``.
    """
    return _ptx(source, options, find_toolchain())


@lru_cache(maxsize=64)
def _ptx(source: str, options: tuple[str, ...], toolchain: str) -> str:
    if toolchain.startswith("nvrtc"):
        flags = tuple(f.replace("=sm_", "=compute_") for f in NVRTC_FLAGS if "ptxas" not in f)
        return _nvrtc(source, options, flags, ptx=True)[0].rstrip(b"\0").decode()
    nvcc = shutil.which("nvcc")
    assert nvcc is not None
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder) / "kernel.cu", Path(folder) / "kernel.ptx"
        text.write_text(source)
        words = [nvcc, "-std=c++17", "-O3", "-ptx", "-arch=compute_90a", *options]
        words += ["-o", str(out), str(text)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode or not out.exists():
            raise BackendError(
                "nvcc rejects the kernel", where=" ".join(words), why=done.stderr[-2000:]
            )
        return out.read_text()


def find_nvdisasm() -> str | None:
    """The disassembler: of a CUDA toolkit on the PATH, or of the package on PyPI."""
    if (result := shutil.which("nvdisasm")) is not None:
        return result
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 (slow)

    try:
        files = distribution("nvidia-cuda-nvdisasm").files or ()
    except PackageNotFoundError:
        return None
    places = (Path(str(f.locate())) for f in files if f.stem == "nvdisasm")
    return next((str(p) for p in places if p.is_file()), None)


def sass_of(cubin: bytes, *, lines: bool = False) -> str:
    """The machine code of a cubin as text; needs ``nvdisasm``. ``lines``: with those of CUDA."""
    tool = find_nvdisasm()
    if tool is None:
        raise BackendError(
            "the machine code cannot be shown",
            why="there is no nvdisasm, on the PATH or from PyPI",
            fix="pip install nvidia-cuda-nvdisasm, or read .ptx, which needs none",
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        words = [tool, *(["-gi"] if lines else []), "-c", str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BackendError("nvdisasm rejects the kernel", why=done.stderr[-2000:])
    return done.stdout


def recall_cubin(key: str, kept: DiskCache | None = None) -> Cubin | None:
    """The cubin kept under a key."""
    data = (kept or disk_cache()).get("cubin", key)
    if data is None:
        return None
    about, _, cubin = data.partition(b"\n")
    try:
        report = read_log(json.loads(about)["log"])
    except (ValueError, KeyError, TypeError):
        return None
    return Cubin(data=cubin, toolchain=find_toolchain(), report=report)


@contextmanager
def announced(what: str) -> Iterator[None]:
    """A line on stderr when the work inside takes long, and one when it is done."""
    said = threading.Event()

    def say() -> None:
        said.set()
        print(f"warploom: {what} (first use; kept for later) ...", file=sys.stderr)

    timer = threading.Timer(SLOW_SECONDS, say)
    timer.daemon = True
    start = time.perf_counter()
    if not os.environ.get("WARPLOOM_QUIET"):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
    if said.is_set():
        took = time.perf_counter() - start
        print(f"warploom: {what}: done in {took:.1f} s", file=sys.stderr)


def _require_schedule(report: BuildReport) -> None:
    if not report.kept:
        spilled = [f"{report.spill_bytes} bytes of registers spilled"] if report.spill_bytes else []
        raise BackendError(
            "ptxas did not keep the schedule",
            where="compile_source",
            why="; ".join([*report.messages, *spilled]),
            fix="a smaller tile, or fewer consumers",
        )


@cache
def find_toolchain() -> str:
    """The compiler in use, with its version; ``BackendError`` when there is none."""
    wanted = os.environ.get("WARPLOOM_COMPILER")
    version = None if wanted == "nvcc" else _nvrtc_version()
    if version is not None:
        return f"nvrtc {version}"
    nvcc = shutil.which("nvcc")
    if nvcc is None or wanted == "nvrtc":
        raise BackendError(
            "no CUDA compiler found",
            why="kernels are compiled on first use",
            fix="pip install cuda-bindings nvidia-cuda-nvrtc, or put nvcc on the PATH",
        )
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"V(\d+\.\d+\.\d+)", text)
    return f"nvcc {found.group(1) if found else 'unknown'}"


def _nvrtc_version() -> str | None:
    """None where the bindings or the library are missing."""
    try:
        code, major, minor = bindings("nvrtc").nvrtcVersion()
    except (MissingExtraError, RuntimeError):  # the loader's own error is a RuntimeError
        return None
    return None if code else f"{major}.{minor}"


def _nvcc(source: str, options: tuple[str, ...]) -> tuple[bytes, str]:
    nvcc = shutil.which("nvcc")
    assert nvcc is not None
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder) / "kernel.cu", Path(folder) / "kernel.cubin"
        text.write_text(source)
        command = [nvcc, *NVCC_FLAGS, *options, "-Xptxas", "-v", "-o", str(out), str(text)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        log = done.stdout + done.stderr
        if done.returncode or not out.exists():
            raise BackendError("nvcc rejects the kernel", where=" ".join(command), why=log[-2000:])
        return out.read_bytes(), log


def _nvrtc(
    source: str,
    options: tuple[str, ...],
    always: tuple[str, ...] = NVRTC_FLAGS,
    *,
    ptx: bool = False,
) -> tuple[bytes, str]:
    nvrtc = bindings("nvrtc")
    code, program = nvrtc.nvrtcCreateProgram(source.encode(), b"warploom.cu", 0, [], [])
    if code:
        raise BackendError(f"NVRTC does not start (error {int(code)})")
    try:
        flags = [*always, *options]
        (code,) = nvrtc.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
        log = _fetch(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        text = log.rstrip(b"\0").decode(errors="replace")
        if code:
            raise BackendError("NVRTC rejects the kernel", where=" ".join(flags), why=text[-2000:])
        if ptx:
            return _fetch(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program), text
        return _fetch(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program), text
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _fetch(size_of: Any, read: Any, program: object) -> bytes:  # noqa: ANN401 (untyped bindings)
    """What NVRTC writes into a buffer of a size it says."""
    code, size = size_of(program)
    held = bytearray(size)
    if code or read(program, held)[0]:
        raise BackendError("NVRTC gives no result", where=str(read))
    return bytes(held)
