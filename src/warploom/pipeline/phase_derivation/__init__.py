"""Edges of a body, and its prologue, kernel and epilogue, from a program or from recipes."""

from warploom.pipeline.graph_builder.edges import (
    apply_edge_rules,
    derive_cross_stage_rotation_edges,
    derive_edges_from_ops,
    double_buffer_edge_rules,
    filter_spurious_cross_stage_flow,
    single_buffer_edge_rules,
)
from warploom.pipeline.graph_builder.partitions import (
    partition_edges,
    rotation_edges,
)
from warploom.pipeline.phase_derivation.program import (
    PhaseAction,
    PhaseStep,
    apply_phase_recipe,
    default_epilogue,
    default_kernel,
    default_kernel_deps_double_buffer,
    default_prologue,
    derive_epilogue_from_program,
    derive_prologue_from_program,
    single_buffer_epilogue_recipe,
    single_buffer_prologue_recipe,
)

__all__ = [
    "PhaseAction",
    "PhaseStep",
    "apply_edge_rules",
    "apply_phase_recipe",
    "default_epilogue",
    "default_kernel",
    "default_kernel_deps_double_buffer",
    "default_prologue",
    "derive_cross_stage_rotation_edges",
    "derive_edges_from_ops",
    "derive_epilogue_from_program",
    "derive_prologue_from_program",
    "double_buffer_edge_rules",
    "filter_spurious_cross_stage_flow",
    "partition_edges",
    "rotation_edges",
    "single_buffer_edge_rules",
    "single_buffer_epilogue_recipe",
    "single_buffer_prologue_recipe",
]
