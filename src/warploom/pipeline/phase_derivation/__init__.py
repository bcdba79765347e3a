"""Prologue, kernel and epilogue as entries, from a program or from recipes."""

from warploom.pipeline.graph_builder.partitions import partition_edges, rotation_edges
from warploom.pipeline.phase_derivation.program import (
    apply_phase_recipe,
    derive_epilogue_from_program,
    derive_prologue_from_program,
)
from warploom.pipeline.sync.rules import derive_drain_mask

__all__ = [
    "apply_phase_recipe",
    "derive_drain_mask",
    "derive_epilogue_from_program",
    "derive_prologue_from_program",
    "partition_edges",
    "rotation_edges",
]
