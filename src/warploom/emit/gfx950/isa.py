"""Assembly text of a gfx950 kernel as values: its instructions, and what its metadata says."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from warploom.errors import BackendError

_COMMENT = re.compile(r"(;|//).*")
_COUNTER = re.compile(r"(\w+)\((\d+)\)")
VM_CAPACITY = 63
LGKM_CAPACITY = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction; ``line`` is its number in the assembly text, from 1."""

    mnemonic: str
    operands: tuple[str, ...]
    modifiers: tuple[str, ...]
    line: int
    text: str

    def waits(self) -> tuple[int, int]:
        """``(vmcnt, lgkmcnt)`` of an ``s_waitcnt``; a counter not named waits for nothing."""
        named = {name: int(count) for name, count in _COUNTER.findall(self.text)}
        return named.get("vmcnt", VM_CAPACITY), named.get("lgkmcnt", LGKM_CAPACITY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A kernel's instructions in text order and the index each label stands for."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]

    def branch_target(self, instruction: Instruction) -> int:
        """Where a branch jumps to."""
        label = instruction.operands[0]
        if label not in self.labels:
            raise BackendError(
                f"a branch to the unknown label {label!r}", where=f"line {instruction.line}"
            )
        return self.labels[label]


def kernel_names(text: str) -> tuple[str, ...]:
    """Names of the kernels an assembly file defines."""
    return tuple(re.findall(r"^\s*\.amdhsa_kernel\s+(\S+)", text, re.MULTILINE))


def parse_assembly(text: str) -> Assembly:
    """Parse the one kernel that the file defines."""
    names = kernel_names(text)
    if len(names) != 1:
        raise BackendError(
            f"the assembly defines {len(names)} kernels", fix="a file with one gfx950 kernel"
        )
    name = names[0]
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    inside = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub("", raw).strip()
        if line == f"{name}:":
            inside = True
            continue
        if not inside or not line:
            continue
        if line.startswith((".section", ".Lfunc_end")):
            break
        if line.endswith(":"):
            labels[line[:-1]] = len(instructions)
        elif not line.startswith("."):
            instructions.append(_instruction(line, number))
    if not instructions:
        raise BackendError(f"no code for kernel {name!r}")
    return Assembly(name=name, instructions=tuple(instructions), labels=labels)


def _instruction(line: str, number: int) -> Instruction:
    mnemonic, _, rest = line.partition(" ")
    mnemonic, rest = mnemonic.strip(), " ".join(rest.split())
    if "\t" in mnemonic:
        mnemonic, _, rest = line.partition("\t")
    if mnemonic == "s_waitcnt":
        return Instruction(
            mnemonic=mnemonic, operands=(), modifiers=(), line=number, text=f"{mnemonic} {rest}"
        )
    parts = _split(rest)
    modifiers: tuple[str, ...] = ()
    if parts:
        last, *more = parts[-1].split()
        parts[-1] = last
        modifiers = tuple(more)
    return Instruction(
        mnemonic=mnemonic,
        operands=tuple(parts),
        modifiers=modifiers,
        line=number,
        text=f"{mnemonic} {rest}".strip(),
    )


def _split(rest: str) -> list[str]:
    """Operands; commas inside brackets (``op_sel:[0,1]``) do not separate."""
    if not rest:
        return []
    parts, depth, current = [], 0, ""
    for char in rest:
        depth += (char == "[") - (char == "]")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [*parts, current.strip()]


_FIELDS = {
    "vgprs": "vgpr_count",
    "agprs": "agpr_count",
    "sgprs": "sgpr_count",
    "vgpr_spills": "vgpr_spill_count",
    "sgpr_spills": "sgpr_spill_count",
    "lds_bytes": "group_segment_fixed_size",
    "scratch_bytes": "private_segment_fixed_size",
    "kernarg_bytes": "kernarg_segment_size",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What the compiled kernel really takes. ``vgprs`` counts AGPRs in, as the hardware does."""

    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int

    @property
    def spills(self) -> int:
        """Spilled registers of both kinds."""
        return self.vgpr_spills + self.sgpr_spills


def read_resources(text: str) -> Resources:
    """Read the metadata of an assembly file with one kernel."""
    found: dict[str, int] = {}
    for field, key in _FIELDS.items():
        match = re.search(rf"\.{key}:\s+(\d+)", text)
        if match is None:
            raise BackendError(
                f"the assembly has no .{key}",
                fix="give the whole file LLVM wrote, with its .amdgpu_metadata section",
            )
        found[field] = int(match[1])
    return Resources(**found)
