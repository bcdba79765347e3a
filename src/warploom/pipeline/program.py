"""``PipelineProgram`` and its blocks, as documented."""

from warploom.pipeline.block_expand.program import (
    PipelineProgram,
)
from warploom.pipeline.block_expand.spec import (
    MMABlockSpec,
    emit_minimal_barrier_block,
)

__all__ = [
    "MMABlockSpec",
    "PipelineProgram",
    "emit_minimal_barrier_block",
]
