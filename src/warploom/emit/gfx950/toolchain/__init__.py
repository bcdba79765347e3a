"""LLVM in a subprocess, linkers, and what is installed of either."""

from warploom.emit.gfx950.toolchain.compiler import compile_ir, compile_object
from warploom.emit.gfx950.toolchain.linker import find_linker, link_code_object
