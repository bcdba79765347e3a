"""From a schedule to CUDA source: its kernel module, and what code generation prints of it."""

from __future__ import annotations

from warploom.codegen.cuda.tile.source import Source, emit_pipelined
from warploom.passes.driver import Lowered
from warploom.passes.stated_module import stated_module
from warploom.targets.h200 import HopperTarget


def emit_kernel(
    lowered: Lowered,
    target: HopperTarget | None = None,
    *,
    stamps: bool = False,
    marks: bool = False,
) -> Source:
    """The CUDA source of a scheduled kernel, by way of its module."""
    module = stated_module(lowered.kernel, lowered)
    return emit_pipelined(module, target, stamps=stamps, marks=marks)
