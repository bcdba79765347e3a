"""The module of a kernel with products that no pipeline takes: one program that all threads run."""

from __future__ import annotations

from collections.abc import Mapping

from warploom.ir.module import KernelModule
from warploom.ir.tile import Kernel
from warploom.passes.block_plan import BlockPlan
from warploom.passes.block_program import build_block_program
from warploom.passes.thread_module import program_module


def build_block_module(
    source: Kernel,
    plan: BlockPlan,
    sizes: Mapping[str, int],
    pins: Mapping[str, object] | None = None,
) -> KernelModule:
    """The module; ``source``: the kernel as it was written, the plan is of its block form."""
    program = build_block_program(plan)
    return program_module(source, plan.kernel, program, plan.shared_bytes, sizes, pins or {})
