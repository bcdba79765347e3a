"""CUDA source to cubin: NVRTC or nvcc, ptxas messages judged, results kept on disk.

The cache key is the source and the toolchain, so an edited kernel or a new compiler never meets an
old binary. ``WARPLOOM_CACHE`` moves the cache, ``WARPLOOM_COMPILER`` (``nvcc`` or ``nvrtc``) picks
the compiler; otherwise NVRTC is taken where its library loads, else nvcc.
"""

from __future__ import annotations

import ctypes as c
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warploom.errors import BackendError

ARCHITECTURE = "sm_90a"
NVCC_FLAGS = ("-std=c++17", "-O3", "-cubin", "-gencode=arch=compute_90a,code=sm_90a")
NVRTC_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")
FATAL_MESSAGES = {
    "C7508": "setmaxnreg is ignored",
    "C7510": "the products are serialised: a function call in the pipeline",
    "C7511": "the products are serialised: too few registers for the pipeline",
    "C7512": "the products are serialised: too few registers for the function",
    "C7514": "the products are serialised: accumulators indexed at run time",
    "C7517": "a wait was injected: accumulators are touched in flight",
    "C7602": "too few registers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What ptxas said: registers at entry, spilled bytes, and messages that void the schedule."""

    registers: int | None
    spill_bytes: int
    messages: tuple[str, ...]
    log: str


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


def compile_source(source: str, *, cache_dir: Path | None = None) -> Cubin:
    """The cubin of a source, cached or compiled now; raises when ptxas voids the schedule."""
    toolchain = find_toolchain()
    folder = cache_dir or default_cache()
    key = hashlib.sha256(f"{toolchain}\0{NVCC_FLAGS}\0{source}".encode()).hexdigest()[:32]
    binary, log = folder / f"{key}.cubin", folder / f"{key}.log"
    if binary.exists() and log.exists():
        return Cubin(
            data=binary.read_bytes(), toolchain=toolchain, report=read_log(log.read_text())
        )
    data, text = _nvrtc(source) if toolchain.startswith("nvrtc") else _nvcc(source)
    report = read_log(text)
    _judge(report)
    folder.mkdir(parents=True, exist_ok=True)
    _write(log, text.encode())
    _write(binary, data)
    return Cubin(data=data, toolchain=toolchain, report=report)


def default_cache() -> Path:
    """Where compiled kernels and tuning results are kept."""
    chosen = os.environ.get("WARPLOOM_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "warploom"


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all: another process may read the cache meanwhile."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    Path(file.name).replace(path)


def _judge(report: BuildReport) -> None:
    if report.messages or report.spill_bytes:
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
    library = None if os.environ.get("WARPLOOM_COMPILER") == "nvcc" else _nvrtc_library()
    if library is not None:
        major, minor = c.c_int(), c.c_int()
        library.nvrtcVersion(c.byref(major), c.byref(minor))
        return f"nvrtc {major.value}.{minor.value}"
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise BackendError(
            "no CUDA compiler found",
            why="kernels are compiled on first use",
            fix="install the CUDA toolkit (nvcc on PATH) or NVRTC (libnvrtc.so)",
        )
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"V(\d+\.\d+\.\d+)", text)
    return f"nvcc {version.group(1) if version else 'unknown'}"


@cache
def _nvrtc_library() -> c.CDLL | None:
    for name in NVRTC_NAMES:
        try:
            return c.CDLL(name)
        except OSError:
            continue
    return None


def _nvcc(source: str) -> tuple[bytes, str]:
    nvcc = shutil.which("nvcc")
    assert nvcc is not None
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder) / "kernel.cu", Path(folder) / "kernel.cubin"
        text.write_text(source)
        command = [nvcc, *NVCC_FLAGS, "-Xptxas", "-v", "-o", str(out), str(text)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        log = done.stdout + done.stderr
        if done.returncode or not out.exists():
            raise BackendError("nvcc rejects the kernel", where=" ".join(command), why=log[-2000:])
        return out.read_bytes(), log


def _nvrtc(source: str) -> tuple[bytes, str]:
    library = _nvrtc_library()
    assert library is not None
    program = c.c_void_p()
    code = library.nvrtcCreateProgram(
        c.byref(program), source.encode(), b"warploom.cu", 0, None, None
    )
    if code:
        raise BackendError(f"NVRTC does not start (error {code})")
    flags = [f"--gpu-architecture={ARCHITECTURE}", "--std=c++17", "--ptxas-options=-v"]
    options = (c.c_char_p * len(flags))(*[f.encode() for f in flags])
    code = library.nvrtcCompileProgram(program, len(flags), options)
    log = _nvrtc_text(library, program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").decode()
    if code:
        raise BackendError("NVRTC rejects the kernel", where=" ".join(flags), why=log[-2000:])
    data = _nvrtc_text(library, program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
    library.nvrtcDestroyProgram(c.byref(program))
    return data, log.rstrip("\0")


def _nvrtc_text(library: c.CDLL, program: c.c_void_p, size_of: str, read: str) -> bytes:
    size = c.c_size_t()
    getattr(library, size_of)(program, c.byref(size))
    buffer = c.create_string_buffer(size.value)
    getattr(library, read)(program, buffer)
    return buffer.raw
