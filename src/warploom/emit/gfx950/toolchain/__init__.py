"""LLVM in a subprocess with its failures as typed errors, and linking where an lld is at hand."""

import base64
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from warploom.errors import BackendError, MissingExtraError

TIMEOUT = 300
_WORKER = "warploom.emit.gfx950.toolchain.worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledText:
    """Assembly text and the versions that made it."""

    assembly: str
    llvm: str
    llvmlite: str


def compile_ir(ir: str) -> CompiledText:
    """Compile to assembly in a subprocess. Raises ``BackendError`` with LLVM's own message."""
    result = _worker(ir, "assembly")
    match = re.search(r"([\w.]+)@gotpcrel", result["assembly"])
    if match:
        raise BackendError(
            f"LLVM does not know the intrinsic {match[1]!r}; it emitted a call",
            fix="install a newer llvmlite",
        )
    return CompiledText(**result)


def compile_object(ir: str) -> bytes:
    """Compile to a relocatable object, the same way."""
    return base64.b64decode(_worker(ir, "object")["object"])


def _worker(ir: str, form: str) -> dict[str, str]:
    if importlib.util.find_spec("llvmlite") is None:
        raise MissingExtraError("llvmlite", "amdgpu", "emitting gfx950 code")
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", _WORKER, form],  # -P: not the user's own modules
            input=ir.encode(),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BackendError(
            f"LLVM did not finish within {TIMEOUT:g} s", fix="emit a smaller tile"
        ) from None
    if done.returncode != 0:
        raise BackendError(
            f"LLVM refused the kernel: {_reason(done.stderr.decode(errors='replace'))}",
            why=f"the compiler process ended with code {done.returncode}",
        )
    result: dict[str, str] = json.loads(done.stdout)
    return result


def _reason(stderr: str) -> str:
    """The telling line of LLVM's output: its error, else the first line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for line in lines:
        if re.search(r"LLVM ERROR|error:|Assertion|not |invalid", line):
            return line[:400]
    return lines[0][:400] if lines else "no message"


_NAMES = ("ld.lld", *(f"ld.lld-{v}" for v in range(22, 14, -1)))


@dataclass(frozen=True, slots=True)
class Linker:
    """A command that behaves like ``ld.lld``."""

    command: tuple[str, ...]
    name: str


def find_linker() -> Linker | None:
    """The first lld found: on the path, ROCm's, or the one inside the ziglang package."""
    for name in _NAMES:
        path = shutil.which(name) or shutil.which(f"/opt/rocm/llvm/bin/{name}")
        if path:
            return Linker((path,), name)
    zig = find_zig()
    return Linker((str(zig), "ld.lld"), "zig ld.lld") if zig else None


def find_zig() -> Path | None:
    """The zig executable of the ziglang package, which carries clang and lld."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / "zig"
    return path if path.exists() else None


def link_code_object(code: bytes, linker: Linker | None = None) -> bytes:
    """Link a relocatable object to the shared object a runtime loads."""
    linker = linker or find_linker()
    if linker is None:
        raise BackendError(
            "no linker for a loadable code object was found",
            fix="install lld (Debian package lld), or the Python package ziglang",
        )
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernel.o"), Path(folder, "kernel.hsaco")
        source.write_bytes(code)
        command = [*linker.command, "-shared", "-o", str(target), str(source)]
        done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        if done.returncode or not target.exists():
            reason = done.stderr.decode(errors="replace").strip()[:400]
            raise BackendError(f"{linker.name} failed: {reason or 'no message'}")
        return target.read_bytes()
