"""From an order of ops to a program of MMA blocks, and its structural check, as documented."""

from warploom.pipeline.amd_target.geometry import (
    derive_safe_max_globals,
)
from warploom.pipeline.block_expand.program import (
    dump_program_blocks,
    verify_schedule,
)
from warploom.pipeline.compile.phases import (
    build_double_buffer_program,
    build_kernel_program,
)
from warploom.pipeline.scheduling.csp import (
    optimize_within_barriers,
)
from warploom.pipeline.scheduling.greedy import (
    double_buffer_reorder,
    mma_block_interleave,
    mma_block_interleave_list,
    partition_reorder,
    single_buffer_reorder,
)
from warploom.pipeline.sync.rules import (
    derive_drain_mask,
    derive_wait_counts,
    derive_waits_from_blocks,
)

__all__ = [
    "build_double_buffer_program",
    "build_kernel_program",
    "derive_drain_mask",
    "derive_safe_max_globals",
    "derive_wait_counts",
    "derive_waits_from_blocks",
    "double_buffer_reorder",
    "dump_program_blocks",
    "mma_block_interleave",
    "mma_block_interleave_list",
    "optimize_within_barriers",
    "partition_reorder",
    "single_buffer_reorder",
    "verify_schedule",
]
