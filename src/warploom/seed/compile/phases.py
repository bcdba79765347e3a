"""The three ways to phases: one buffer, two buffers, or the schedule of least interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from warploom.document.kinds import Phase
from warploom.document.machine import MachineCosts
from warploom.document.ops import DepEdge, OpDesc, ScheduleEntry
from warploom.seed.blocks.program import PipelineProgram
from warploom.seed.compile.hooks import Hooks
from warploom.seed.compile.prices import in_cycles_of
from warploom.seed.compile.program import build_double_buffer_program, derive_order
from warploom.seed.config.pipeline import PipelineConfig
from warploom.seed.config.policy import SchedulePolicy
from warploom.seed.phases.program import (
    default_kernel_deps_double_buffer,
    derive_epilogue_from_program,
    derive_prologue_from_program,
)
from warploom.seed.phases.recipes import default_epilogue, default_kernel, default_prologue
from warploom.seed.sched.result import OrderResult

Observer = Callable[[str, Any], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Prologue, kernel and epilogue, and what they were made from."""

    prologue: Sequence[ScheduleEntry]
    kernel: Sequence[ScheduleEntry]
    epilogue: Sequence[ScheduleEntry]
    kernel_deps: Sequence[DepEdge]
    program: PipelineProgram | None = None
    order: OrderResult | None = None


def single_buffer_phases(
    schedule: Hooks, body: Sequence[OpDesc], edges: Sequence[DepEdge], config: PipelineConfig
) -> Phases:
    """Phases by recipe around the two barriers of the one buffer."""
    return Phases(
        prologue=default_prologue(body, config),
        kernel=schedule.transform_kernel(default_kernel(body), body),
        epilogue=default_epilogue(body, config),
        kernel_deps=edges,
    )


def double_buffer_phases(
    schedule: Hooks,
    body: Sequence[OpDesc],
    edges: Sequence[DepEdge],
    config: PipelineConfig,
    policy: SchedulePolicy,
    see: Observer,
    *,
    to_the_letter: bool,
    machine: MachineCosts | None = None,
) -> Phases:
    """Order in the machine's cycles, blocks, waits by the reference's rules, phases from blocks."""
    order = derive_order(in_cycles_of(machine, schedule, body), edges, config, policy)
    see("order", order)
    program = build_double_buffer_program(
        body, order.order, config, policy, edges, to_the_letter=to_the_letter
    )
    see("blocks", program)
    explicit = schedule.build_explicit_blocks(body, program)
    if explicit:
        program = program.with_explicit(explicit)
    kernel = program.expand_to_list(Phase.KERNEL)
    return Phases(
        prologue=derive_prologue_from_program(
            program,
            config,
            partial_drain=policy.flags.partial_prologue_drain,
            bootstrap=schedule.bootstrap_frags(),
        ),
        kernel=kernel,
        epilogue=derive_epilogue_from_program(program, config),
        kernel_deps=default_kernel_deps_double_buffer(kernel, config),
        program=program,
        order=order,
    )
