"""From an order of ops to a program of MMA blocks, and its structural check, as documented."""

from warploom.pipeline.block_expand.program import verify_schedule
from warploom.pipeline.compile.phases import build_kernel_program

__all__ = ["build_kernel_program", "verify_schedule"]
