"""``compile_ir``: LLVM IR to gfx950 assembly or object, with LLVM's failures as typed errors."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

from warploom.errors import BackendError, MissingExtraError

TIMEOUT = 300
_WORKER = "warploom.emit.gfx950.toolchain.worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledText:
    """Assembly text and the versions that made it."""

    assembly: str
    llvm: str
    llvmlite: str


def compile_ir(ir: str, *, timeout: float = TIMEOUT) -> CompiledText:
    """Compile to assembly in a subprocess. Raises ``BackendError`` with LLVM's own message."""
    result = _worker(ir, "assembly", timeout)
    _refuse_calls(result["assembly"])
    return CompiledText(**result)


def compile_object(ir: str, *, timeout: float = TIMEOUT) -> bytes:
    """Compile to a relocatable object, the same way."""
    return base64.b64decode(_worker(ir, "object", timeout)["object"])


def _worker(ir: str, form: str, timeout: float) -> dict[str, str]:
    if importlib.util.find_spec("llvmlite") is None:
        raise MissingExtraError("llvmlite", "amdgpu", "emitting gfx950 code")
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", _WORKER, form],  # -P: not the user's own modules
            input=ir.encode(),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BackendError(
            f"LLVM did not finish within {timeout:g} s", fix="emit a smaller tile"
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


def _refuse_calls(assembly: str) -> None:
    """An intrinsic LLVM does not know becomes a call to an external function."""
    match = re.search(r"([\w.]+)@gotpcrel", assembly)
    if match:
        raise BackendError(
            f"LLVM does not know the intrinsic {match[1]!r}; it emitted a call",
            fix="install a newer llvmlite",
        )
