"""CUDA C++ for Hopper: emitted from role programs through a lowering table.

In: a ``RolesDocument`` and a kernel description. Out: one self-contained CUDA source whose loops,
waits and barriers are the document's entries, each wait with its reason, to read, keep and edit.
"""

from warploom.emit.cuda.attention import ATTENTION_ENTRY, attention_table, emit_attention
from warploom.emit.cuda.gemm import ENTRY, emit_gemm, gemm_table
from warploom.emit.cuda.layout import Layout, layout_of
from warploom.emit.cuda.lowering import Lowering, LoweringTable, Site, base_table

__all__ = [
    "ATTENTION_ENTRY",
    "ENTRY",
    "Layout",
    "Lowering",
    "LoweringTable",
    "Site",
    "attention_table",
    "base_table",
    "emit_attention",
    "emit_gemm",
    "gemm_table",
    "layout_of",
]
