"""Assembly text of a gfx950 kernel as values: its instructions, and what its metadata says.

The text is read by the reader of ``check``, the only one of the project; here stand the shapes that
the gate works with.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from warploom.check.amdgcn.reader import (
    LGKM_CAPACITY,  # noqa: F401 (offered to the gate)
    VM_CAPACITY,  # noqa: F401
    Instruction as ReadInstruction,
    Kernel,
    kernel_names,
    read_kernel,
    read_waits,
)
from warploom.errors import BackendError, CheckError


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
        body = self.text.partition(" ")[2]
        read = ReadInstruction(
            mnemonic="s_waitcnt", operands=(body,), modifiers={}, line=self.line, text=self.text
        )
        try:
            waits = read_waits(read)
        except CheckError as error:
            raise _as_backend(error) from None
        return waits.vm, waits.lgkm


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


@lru_cache(maxsize=4)  # the gate asks the same text for its code, wait states and resources
def the_kernel(text: str) -> Kernel:
    """The one kernel that the file defines, as ``check`` reads it."""
    names = kernel_names(text)
    if len(names) != 1:
        raise BackendError(
            f"the assembly defines {len(names)} kernels", fix="a file with one gfx950 kernel"
        )
    try:
        return read_kernel(text, names[0])
    except CheckError as error:
        raise _as_backend(error) from None


def parse_assembly(text: str) -> Assembly:
    """Parse the one kernel that the file defines."""
    kernel = the_kernel(text)
    return Assembly(
        name=kernel.name,
        instructions=tuple(_instruction(i) for i in kernel.instructions),
        labels=kernel.labels,
    )


def _as_backend(error: CheckError) -> BackendError:
    return BackendError(error.what, where=error.where, why=error.why, fix=error.fix)


def _instruction(read: ReadInstruction) -> Instruction:
    """The whole mnemonic, and modifiers as they are written."""
    return Instruction(
        mnemonic=read.text.split(None, 1)[0],
        operands=() if read.mnemonic == "s_waitcnt" else read.operands,
        modifiers=tuple(f"{n}:{v}" if v else n for n, v in read.modifiers.items()),
        line=read.line,
        text=read.text,
    )


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
    metadata = the_kernel(text).metadata
    found: dict[str, int] = {}
    for field, key in _FIELDS.items():
        number = metadata.get(f".{key}")
        if not isinstance(number, int):
            raise BackendError(
                f"the assembly has no .{key}",
                fix="give the whole file LLVM wrote, with its .amdgpu_metadata section",
            )
        found[field] = number
    return Resources(**found)
