"""Compiling the exported source, where a gfx950-capable clang is found, and gating the result."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from warploom.emit.gfx950.gate import GateReport, check_isa
from warploom.emit.gfx950.plan import KernelPlan
from warploom.emit.gfx950.toolchain.linker import find_zig
from warploom.errors import BackendError

FLAGS = (
    "-x",
    "hip",
    "--cuda-device-only",
    "--offload-arch=gfx950",
    "-nogpulib",
    "-nogpuinc",
    "-std=c++17",
    "-fno-discard-value-names",  # so that the metadata names the arguments
    "-O3",
    "-S",
)


@dataclass(frozen=True, slots=True)
class HipCompiler:
    """A clang that can compile HIP for gfx950."""

    command: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HipCheck:
    """What the compiler made of the source, and whether it kept the schedule."""

    compiler: str
    assembly: str
    gate: GateReport


def find_hip_compiler() -> HipCompiler | None:
    """ROCm's clang, or the one inside the ziglang package."""
    for path in ("/opt/rocm/llvm/bin/clang++", "amdclang++"):
        found = shutil.which(path)
        if found:
            return HipCompiler((found,), path)
    zig = find_zig()
    return HipCompiler((str(zig), "clang"), "zig clang") if zig else None


def check_hip(plan: KernelPlan, source: str, compiler: HipCompiler | None = None) -> HipCheck:
    """Compile and gate. Raises ``BackendError`` when the source does not compile."""
    compiler = compiler or find_hip_compiler()
    if compiler is None:
        raise BackendError(
            "no clang for gfx950 was found",
            fix="install ROCm, or the Python package ziglang, whose clang can compile HIP",
        )
    with tempfile.TemporaryDirectory() as folder:
        text, assembly = Path(folder, "kernel.hip"), Path(folder, "kernel.s")
        text.write_text(source)
        command = [*compiler.command, *FLAGS, str(text), "-o", str(assembly)]
        done = subprocess.run(command, capture_output=True, timeout=300, check=False)
        if done.returncode or not assembly.exists():
            message = done.stderr.decode(errors="replace").strip()
            raise BackendError(f"{compiler.name} refused the source: {message[:1500]}")
        result = assembly.read_text()
    return HipCheck(compiler=compiler.name, assembly=result, gate=check_isa(plan, result))
