"""AMDGCN (gfx942, gfx950): reader, interpreter with values, order of accesses, ISA rules."""

from warploom.check.amdgcn.check import check_amdgcn
from warploom.check.amdgcn.reader import AssemblyError, Instruction, Kernel, read_kernel

__all__ = ["AssemblyError", "Instruction", "Kernel", "check_amdgcn", "read_kernel"]
