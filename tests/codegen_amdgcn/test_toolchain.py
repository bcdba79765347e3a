"""Linkers and assemblers: every one that works is found, and what does not work is not offered."""

import stat
import struct
from dataclasses import replace

import pytest

from tests.cli.runner import warploom
from warploom.codegen.amdgcn import toolchain
from warploom.codegen.amdgcn.toolchain import (
    Tool,
    _empty_object,
    find_linker,
    linkers,
    working_linkers,
)

LINKS = '#!/bin/sh\nwhile [ "$1" != "-o" ]; do shift; done\nprintf linked > "$2"\n'
REFUSES = "#!/bin/sh\necho unknown architecture >&2\nexit 1\n"


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with nothing but what a test puts there."""
    for name in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin") + ":/usr/bin:/bin")
    monkeypatch.setenv("RUSTUP_HOME", str(tmp_path / "rust"))
    monkeypatch.setattr(toolchain, "find_zig", lambda: None)
    toolchain._links.cache_clear()
    yield tmp_path
    toolchain._links.cache_clear()


def found_by(folder):
    return [tool for tool in working_linkers() if str(folder) in tool.command[0]]


def test_every_linker_that_works_is_found(machine, monkeypatch):
    on_path = program(machine / "bin" / "ld.lld", LINKS)
    program(machine / "bin" / "ld.lld-19", REFUSES)
    generic = program(machine / "bin" / "lld", LINKS)
    rocm = program(machine / "rocm" / "llvm" / "bin" / "ld.lld", LINKS)
    triple = "toolchains/stable/lib/rustlib/x86_64/bin"
    rust = program(machine / "rust" / triple / "rust-lld", LINKS)
    monkeypatch.setenv("ROCM_PATH", str(machine / "rocm"))
    assert found_by(machine) == [
        Tool((str(on_path),), str(on_path)),
        Tool((str(rocm),), str(rocm)),
        Tool((str(generic), "-flavor", "gnu"), str(generic)),
        Tool((str(rust), "-flavor", "gnu"), str(rust)),
    ]
    assert find_linker().command == (str(on_path),)


def test_a_linker_that_refuses_is_not_offered(machine):
    program(machine / "bin" / "ld.lld", REFUSES)
    assert any(str(machine) in tool.command[0] for tool in linkers())
    assert found_by(machine) == []


def test_the_doctor_lists_all_of_them(machine):
    first = program(machine / "bin" / "ld.lld", LINKS)
    second = program(machine / "bin" / "lld", LINKS)
    program(machine / "bin" / "ld.lld-20", REFUSES)
    shown = "".join(warploom("doctor").stdout.split())
    assert str(first) in shown
    assert str(second) in shown
    assert "ld.lld-20" not in shown


def test_the_empty_object_is_one_of_gfx950():
    data = _empty_object()
    assert data[:4] == b"\x7fELF"
    kind, machine, _, _, _, sections, flags = struct.unpack_from("<HHIQQQI", data, 16)
    assert (kind, machine, flags & 0xFF) == (1, 224, 0x4F)
    assert len(data) == sections + 2 * 64


def sections_of(data):
    """Contents of the sections of an ELF file by name."""
    start, count, names = (
        struct.unpack_from("<Q", data, 0x28)[0],
        *struct.unpack_from("<HH", data, 0x3C),
    )
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, start + 64 * i) for i in range(count)]
    found = {}
    for row in rows:
        at = rows[names][4] + row[0]
        found[data[at : data.index(b"\0", at)].decode()] = data[row[4] : row[4] + row[5]]
    return found


def small_program(machine="mi355x"):
    from tests.codegen_amdgcn import tile_kernels as own

    return own.add.compile("f32", target=machine).program


@pytest.mark.parametrize("machine", ["mi355x", "mi300x"])
def test_an_assembled_object_has_the_code_that_was_checked(machine, monkeypatch):
    """Code, descriptors and metadata are those of LLVM's own object, byte for byte."""
    program = small_program(machine)
    if toolchain.find_assembler(program.plan.machine.cpu) is None:
        pytest.skip("no clang for this chip here")
    made = program.object()
    monkeypatch.setattr(toolchain, "assemblers", lambda: iter(()))
    again = sections_of(replace(program).object())  # made anew
    for name in (".text", ".rodata", ".note"):
        assert sections_of(made)[name] == again[name]


def test_a_linked_object_is_made_of_the_one_that_is_written(monkeypatch):
    program, asked = small_program(), []
    worker = toolchain._worker
    monkeypatch.setattr(toolchain, "assemblers", lambda: iter(()))
    monkeypatch.setattr(toolchain, "_worker", lambda *a: asked.append(a[1]) or worker(*a))
    assert program.object() is program.object()
    assert asked == ["object"]


def test_integer_arithmetic_has_no_flags_that_make_poison():
    """LLVM is told not to look for it, which would take most of its time."""
    from tests.codegen_amdgcn import tile_kernels as own
    from warploom.codegen.amdgcn.emit import ready_kernel
    from warploom.codegen.amdgcn.lower.function import kernel_ir
    from warploom.codegen.amdgcn.plan import plan_kernel
    from warploom.codegen.amdgcn.tile import ElementType

    ready = ready_kernel("fourwave", (128, 128, 64), ElementType.BF16)
    texts = [kernel_ir(plan_kernel(ready.document, ready.tile))]
    for kernel in (own.add, own.product_both_ways):
        texts.append(kernel.compile("bf16", target="mi355x").llvm_ir)
    for line in "\n".join(texts).splitlines():
        assert not {"nsw", "nuw", "exact", "disjoint", "nneg", "samesign"} & set(line.split()), line
        assert "inbounds" not in line or "@lds" in line or "addrspace(3)" in line, line


def test_an_assembler_is_given_the_text_that_was_checked(monkeypatch):
    """Where one is at hand LLVM generates code once; without one it does so again."""
    program, given = small_program(), []
    assert program.assembly
    tool = Tool(("clang-of-a-test",), "clang of a test")
    monkeypatch.setattr(toolchain, "find_assembler", lambda cpu="gfx950": tool)
    monkeypatch.setattr(toolchain, "assemble", lambda text, cpu: given.append((text, cpu)) or b"x")
    monkeypatch.setattr(toolchain, "_worker", lambda *_: pytest.fail("LLVM ran again"))
    assert program.object() == b"x"
    assert given == [(program.assembly, "gfx950")]
