"""LLVM in a subprocess with its failures as typed errors; assembling and linking where possible.

llvmlite has no assembly parser for AMDGPU, so it writes no object of a kernel with instructions
that are written out. A clang assembles its text: ROCm's, or the one inside
the ziglang package.
"""

import base64
import importlib.util
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warploom.errors import BackendError, MissingExtraError

TIMEOUT = 300
_WORKER = Path(__file__).with_name("worker.py")
_NEWEST = {  # an instruction that an assembler of this chip knows
    "gfx950": "v_mfma_f32_16x16x32_bf16 a[0:3], v[0:3], v[4:7], a[0:3]",
    "gfx942": "v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3]",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledKernel:
    """Assembly text and the versions that made it; with it the object, where it was asked for."""

    assembly: str
    llvm: str
    llvmlite: str
    code: bytes | None = None


def compile_ir(ir: str, cpu: str = "gfx950", *, to_object: bool = False) -> CompiledKernel:
    """Compile to assembly in a subprocess. Raises ``BackendError`` with LLVM's own message.

    ``to_object``: LLVM writes the object in the same process, where no assembler is at hand.
    """
    both = to_object and find_assembler(cpu) is None
    result = _worker(ir, "assembly+object" if both else "assembly", cpu)
    code = base64.b64decode(result.pop("object")) if both else None
    match = re.search(r"([\w.]+)@gotpcrel", result["assembly"])
    if match:
        raise BackendError(
            f"LLVM does not know the intrinsic {match[1]!r}; it emitted a call",
            fix="install a newer llvmlite",
        )
    return CompiledKernel(**result, code=code)


def _target(cpu: str) -> tuple[str, ...]:
    return "--target=amdgcn-amd-amdhsa", f"-mcpu={cpu}"


def compile_object(
    ir: str, assembly: str | None = None, cpu: str = "gfx950", *, written_out: bool = False
) -> bytes:
    """A relocatable object: of ``assembly``, the module's text that was checked, where an assembler
    is at hand. Else LLVM generates the same code a second time, which takes as long as the first;
    for instructions that are written out as assembly (``written_out``) it cannot.
    """
    if written_out:
        require_assembler(cpu)
        return assemble(assembly if assembly is not None else compile_ir(ir, cpu).assembly, cpu)
    if assembly is not None and find_assembler(cpu) is not None:
        return assemble(assembly, cpu)
    return base64.b64decode(_worker(ir, "object", cpu)["object"])


@dataclass(frozen=True, slots=True)
class Tool:
    """A command, and how reports call it."""

    command: tuple[str, ...]
    name: str


def find_assembler(cpu: str = "gfx950") -> Tool | None:
    """The first clang that assembles for a chip: ROCm's, one on the path, or ziglang's."""
    return next((tool for tool in assemblers() if _assembles(tool, cpu)), None)


def assemblers() -> Iterator[Tool]:
    """All clangs found, whether they know the target or not."""
    for name in ("amdclang", "clang", *(f"clang-{v}" for v in _VERSIONS)):
        yield from (Tool((path,), path) for path in _everywhere(name))
    zig = find_zig()
    if zig is not None:
        yield Tool((str(zig), "clang"), "zig clang")


@cache
def _assembles(tool: Tool, cpu: str) -> bool:
    line = _NEWEST.get(cpu, "s_endpgm") + "\n"
    command = [*tool.command, *_target(cpu), "-c", "-x", "assembler", "-", "-o", os.devnull]
    try:
        done = subprocess.run(
            command, input=line.encode(), capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def require_assembler(cpu: str = "gfx950") -> Tool:
    """The assembler; ``BackendError`` with what to do where there is none."""
    result = find_assembler(cpu)
    if result is None:
        raise BackendError(
            "this kernel needs an assembler for gfx950, and none was found",
            why="it has instructions that are written out, which llvmlite cannot assemble: inline "
            "functions of its author, or matrix instructions whose accumulators fill a register "
            "file",
            fix="pip install ziglang (the clang of ziglang); without inline functions use the "
            "32x32 matrix instruction: mma 32x32x16, for fp8 32x32x64",
        )
    return result


def assemble(assembly: str, cpu: str = "gfx950") -> bytes:
    """Assemble a kernel's source to a relocatable object."""
    tool = require_assembler(cpu)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernel.s"), Path(folder, "kernel.o")
        source.write_text(assembly)
        command = [*tool.command, *_target(cpu), "-c", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
        if done.returncode or not target.exists():
            reason = _reason(done.stderr.decode(errors="replace"))
            raise BackendError(f"{tool.name} refused the kernel: {reason}")
        return target.read_bytes()


def _worker(ir: str, form: str, cpu: str) -> dict[str, str]:
    if importlib.util.find_spec("llvmlite") is None:
        raise MissingExtraError("llvmlite", "amdgpu", "emitting gfx950 code")
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(_WORKER), form, cpu],  # -P: not the user's own modules
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


_VERSIONS = range(24, 14, -1)


def find_linker() -> Tool | None:
    """The first lld that links for gfx950."""
    return next(iter(working_linkers()), None)


def working_linkers() -> Iterator[Tool]:
    """Every lld at hand that links a code object: tried with an empty one."""
    return (tool for tool in linkers() if _links(tool))


def linkers() -> Iterator[Tool]:
    """All llds found: on the path, beside LLVM, ROCm and Rust installations, inside ziglang.

    ``lld`` and ``rust-lld`` behave like ``ld.lld`` when asked to.
    """
    for name in ("ld.lld", *(f"ld.lld-{v}" for v in _VERSIONS)):
        yield from (Tool((path,), path) for path in _everywhere(name))
    for name in ("lld", *(f"lld-{v}" for v in _VERSIONS), "rust-lld"):
        yield from (Tool((path, "-flavor", "gnu"), path) for path in _everywhere(name))
    zig = find_zig()
    if zig is not None:
        yield Tool((str(zig), "ld.lld"), "zig ld.lld")


def _everywhere(name: str) -> Iterator[str]:
    """The paths of a program, each once: on the path, then in the folders of toolchains."""
    rust = Path(os.environ.get("RUSTUP_HOME", Path.home() / ".rustup"), "toolchains")
    rocm = [Path(os.environ[n]) for n in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH") if n in os.environ]
    folders = [r / "llvm" / "bin" for r in (*rocm, *sorted(Path("/opt").glob("rocm*")))]
    folders += sorted(Path("/usr/lib").glob("llvm-*/bin"), reverse=True)
    folders += [Path(p, "lib", "llvm", "bin") for p in sys.path if p.endswith("_rocm_sdk_core")]
    folders += sorted(rust.glob("*/lib/rustlib/*/bin"))
    found = [shutil.which(name), *(shutil.which(str(folder / name)) for folder in folders)]
    yield from dict.fromkeys(os.path.realpath(path) for path in found if path)


@cache
def _links(tool: Tool) -> bool:
    try:
        link_code_object(_empty_object(), tool)
    except (BackendError, OSError, subprocess.TimeoutExpired):
        return False
    return True


def _empty_object() -> bytes:
    """A relocatable ELF object for AMDGPU with no section but that of names."""
    names = b"\0.shstrtab\0".ljust(16, b"\0")
    header, section, machine, gfx950 = 64, 64, 224, 0x54F
    ident = b"\x7fELF" + bytes([2, 1, 1, 64, 4]) + bytes(7)
    rest = (1, machine, 1, 0, 0, header + len(names), gfx950, header, 0, 0, section, 2, 1)
    table = bytes(section) + struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, header, 11, 0, 0, 1, 0)
    return ident + struct.pack("<HHIQQQIHHHHHH", *rest) + names + table


def find_zig() -> Path | None:
    """The zig executable of the ziglang package, which carries clang and lld."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / "zig"
    return path if path.exists() else None


def link_code_object(code: bytes, linker: Tool | None = None) -> bytes:
    """Link a relocatable object to the shared object a runtime loads."""
    linker = linker or find_linker()
    if linker is None:
        raise BackendError(
            "no linker for a loadable code object was found",
            fix="install lld (Debian package lld), or pip install ziglang",
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
