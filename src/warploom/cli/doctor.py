"""``warploom doctor``: which extras, compilers and GPUs are here, and what that enables."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Annotated, Any

import typer

from warploom import __version__
from warploom.cli.screen import Answer, columns, wrapped
from warploom.codegen.amdgcn.toolchain import find_assembler, working_linkers
from warploom.errors import BackendError
from warploom.runtime.hip import VARIABLE, device_count, device_name
from warploom.runtime.rocm import self_benchmark, why_no_rocm


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked for."""

    what: str
    found: str | None
    enables: str
    fix: str


PACKAGES = (
    ("numpy", "numeric executor, simulator", "pip install numpy"),
    ("ortools", "exact modulo scheduling", "pip install ortools"),
    ("llvmlite", "gfx950 code", "pip install llvmlite"),
    ("cuda-bindings", "running CUDA kernels", "pip install cuda-bindings"),
    ("nvidia-cuda-nvrtc", "compiling CUDA kernels on first use", "pip install nvidia-cuda-nvrtc"),
    ("torch", "torch tensors and custom ops on a GPU", "pip install torch"),
    ("distributed", "explore on a Dask cluster", "pip install distributed"),
)
PROGRAMS = (
    ("nvcc", "CUDA kernels compiled ahead of time", "install the CUDA toolkit"),
    ("cuobjdump", "SASS checks of CUDA kernels", "install the CUDA toolkit"),
    ("chromium", "browser tests of the HTML timeline", "install chromium"),
)


def doctor_command(
    gpu: Annotated[
        bool,
        typer.Option("--gpu", help="Measure kernels on the GPU at hand against torch's."),
    ] = False,
) -> Answer:
    """Say what is installed here, what it enables, and how to get the rest."""
    checks = [*map(_package, PACKAGES), *map(_program, PROGRAMS), *_amd_tools(), _gpu(), _hip()]
    measured = _measured() if gpu else ()
    found: dict[str, Any] = {"warploom": __version__, "checks": [asdict(c) for c in checks]}
    found |= {"measured": [asdict(m) for m in measured]} if gpu else {}
    return Answer(lambda: "\n".join(_lines(checks, measured)), lambda: found)


def _measured() -> Sequence[Any]:
    """Kernels on the GPU at hand: Hopper's through torch, an AMD GPU's through HIP."""
    if why_no_rocm():
        result: Sequence[Any] = import_module("warploom.torch.self_benchmark").standing()
        return result
    return self_benchmark()


def _lines(checks: Iterable[Check], measured: Iterable[Any]) -> Iterator[str]:
    yield f"warploom {__version__}, Python {platform.python_version()}"
    for check in checks:
        mark = "yes" if check.found else "no "
        tail = check.found or f"missing: {check.fix}"
        line = f"{check.enables:<42} {tail}"
        if len(line) > columns() - 25:
            line = f"{check.enables}: {tail}"
        yield from wrapped(f"  {mark}  {check.what:<17} ", line)
    for row in measured:
        mark = {True: "yes", False: "no ", None: "   "}[row.good]
        beside = f"torch {row.torch:.4g}" if row.torch is not None else ""
        yield f"  {mark}  {row.what:<32} {row.ours:>10.4g} {row.unit:<7} {beside}"


def _package(row: tuple[str, str, str]) -> Check:
    name, enables, fix = row
    try:
        found: str | None = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found = "present" if importlib.util.find_spec(name.replace("-", "_")) else None
    return Check(name, found, enables, fix)


def _program(row: tuple[str, str, str]) -> Check:
    name, enables, fix = row
    return Check(name, shutil.which(name), enables, fix)


def _amd_tools() -> Iterator[Check]:
    """What links and assembles for gfx950, each tried: every linker, the assembler in use."""
    fix = "install lld, or pip install ziglang"
    found: list[str | None] = [tool.name for tool in working_linkers()]
    for name in found or [None]:
        yield Check("lld", name, "loadable gfx950 code objects", fix)
    clang = find_assembler()
    enables = "gfx950 kernels with all AGPRs in use"
    fix = "pip install ziglang"
    yield Check("gfx950 assembler", clang.name if clang else None, enables, fix)


def _hip() -> Check:
    """Whether a HIP runtime answers, and how many devices it has."""
    fix = f"install ROCm, or set {VARIABLE} to the path of libamdhip64.so"
    try:
        count = device_count()
        found: str | None = f"{count} device(s)" + (f", {device_name()}" if count else "")
    except BackendError:
        found = None
    return Check("HIP", found, "running MI355X kernels (gfx950)", fix)


def _gpu() -> Check:
    found = None
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
        done = subprocess.run(query, capture_output=True, text=True, check=False, timeout=20)
        found = done.stdout.strip().splitlines()[0] if done.returncode == 0 else None
    return Check("GPU", found, "running Hopper kernels (capability 9.0)", "use such a machine")
