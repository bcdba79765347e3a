"""Linking the object into a loadable code object, when an lld is at hand."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from warploom.errors import BackendError

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
