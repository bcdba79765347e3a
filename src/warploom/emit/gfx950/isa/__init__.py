"""gfx950 assembly text as data: instructions, labels, control flow and the kernel's metadata."""

from warploom.emit.gfx950.isa.assembly import Assembly, Instruction, parse_assembly
from warploom.emit.gfx950.isa.metadata import Resources, read_resources
