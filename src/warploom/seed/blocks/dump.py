"""A program's blocks as text, partition by partition: the documented debug dump."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.seed.blocks.program import PipelineProgram
from warploom.seed.blocks.spec import MMABlockSpec
from warploom.seed.config.pipeline import PipelineConfig


def format_program_blocks(program: PipelineProgram, config: PipelineConfig) -> str:
    """Every block with its fragments, loads, MMA and drain."""
    size = max(config.blocks_per_partition(), 1)
    lines = []
    for b, block in enumerate(program.blocks):
        if b % size == 0:
            lines.append(f"=== Half {b // size} ===")
        lines.append(f"  Block {b} :")
        lines += [f"    {line}" for line in _block_lines(block, b // size)]
    return "\n".join(lines)


def dump_program_blocks(program: PipelineProgram, config: PipelineConfig) -> None:
    """Print every block."""
    print(format_program_blocks(program, config))


def _block_lines(block: MMABlockSpec, half: int) -> Iterator[str]:
    for i, op in enumerate(block.fragments):
        yield f"pre_op_{i}: tag= {int(op.tag)} stage= {op.stage} ch= {op.channel}"
    for i, (op, _) in enumerate(block.loads):
        slot = "global_load" if i == 0 else f"global_load_{i}"
        purpose = "prefetch" if op.stage == half else "completion"
        yield f"{slot}: tag= {int(op.tag)} stage= {op.stage} ch= {op.channel}  [{purpose}]"
    mma = block.mma
    yield f"mma: tag= {int(mma.tag)} stage= {mma.stage} sub= {mma.subtile}"
    if block.drain_lgkm_before_loads:
        yield "[drain_lgkm_before_loads]"
