"""Order and group: a body's order by strategy, and the blocks made from it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from warploom.document.kinds import OpRole, ResourceKind
from warploom.document.ops import DepEdge, OpDesc
from warploom.errors import ConfigError, InfeasibleError, ProgramError
from warploom.seed.blocks.group import balance_loads, build_blocks, group_into_blocks, keeps_reads
from warploom.seed.blocks.program import PipelineProgram
from warploom.seed.blocks.spec import MMABlockSpec
from warploom.seed.blocks.structure import verify_schedule
from warploom.seed.config.parts import SchedulingStrategy as Strategy
from warploom.seed.config.pipeline import PipelineConfig
from warploom.seed.config.policy import SchedulePolicy
from warploom.seed.config.schedule import ScheduleConfig
from warploom.seed.graph.edges import derive_edges_from_ops
from warploom.seed.graph.loop_body import LoopBody
from warploom.seed.graph.partitions import edge_choices
from warploom.seed.sched.csp import first_block_order, optimal_block_order
from warploom.seed.sched.greedy import greedy_schedule
from warploom.seed.sched.result import OrderResult
from warploom.seed.sync.rules import (
    apply_derived_waits,
    derive_waits_from_blocks,
    guard_blocks,
    lgkm_units,
)


def derive_order(
    body: Sequence[OpDesc], edges: Sequence[DepEdge], config: PipelineConfig, policy: SchedulePolicy
) -> OrderResult:
    """The body's order by strategy, with its makespan and what is proven about it.

    Where the derived edges leave no order that fits the blocks, dependences through LDS are looked
    at slot by slot. A refusal is proven: no order exists.
    """
    strategy = policy.flags.scheduling
    if strategy in (Strategy.MODULO, Strategy.AUTO):
        raise ConfigError(
            f"SchedulingStrategy.{strategy.name} does not order ops within blocks",
            where="ScheduleConfig.scheduling",
            why="its order spans iterations and comes with its own phases",
            fix="compile the whole schedule with compile_schedule",
        )
    if strategy is Strategy.IDENTITY:
        return OrderResult.given(LoopBody.of(body, edges), tuple(range(len(body))))
    refusal: InfeasibleError | None = None
    for kept in edge_choices(body, edges, config):
        try:
            return _searched(body, kept, config, policy)
        except InfeasibleError as error:
            refusal = error
    assert refusal is not None
    raise refusal


def _searched(
    body: Sequence[OpDesc], edges: Sequence[DepEdge], config: PipelineConfig, policy: SchedulePolicy
) -> OrderResult:
    partitions, cap = max(config.num_partitions, 1), config.block_sizing.max_globals
    graph = LoopBody.of(_timed(body, config), edges)

    def blocks(order: Sequence[int]) -> bool:
        try:
            groups = balance_loads(group_into_blocks(body, order, config), body, config, edges)
        except InfeasibleError:
            return False
        except ProgramError:
            # Left-over ops may find a place in another order; a wrong number of MMAs does not.
            if _mmas(body) != config.total_blocks():
                raise
            return False
        return keeps_reads(groups, edges)

    if policy.flags.scheduling is Strategy.CSP:
        return optimal_block_order(
            graph,
            cap,
            policy.flags.lds_contention_penalty,
            policy.register_budget,
            partitions=partitions,
            blocks=blocks,
            insist=policy.insist_on_registers,
        )
    order = greedy_schedule(graph, partitions)
    if blocks(order):
        return OrderResult.given(graph, order)
    return first_block_order(graph, cap, partitions=partitions)


def _mmas(body: Sequence[OpDesc]) -> int:
    return sum(op.role is OpRole.COMPUTE for op in body)


def _timed(body: Sequence[OpDesc], config: PipelineConfig) -> list[OpDesc]:
    """The ops as the order's model sees them: matrix units that overlap serve any number."""
    if config.mma_serial:
        return list(body)
    return [
        replace(op, resource=ResourceKind.NONE) if op.resource is ResourceKind.MMA_UNIT else op
        for op in body
    ]


def build_double_buffer_program(
    body: Sequence[OpDesc],
    order: Sequence[int],
    config: PipelineConfig,
    policy: SchedulePolicy,
    edges: Sequence[DepEdge] = (),
    *,
    to_the_letter: bool = True,
) -> PipelineProgram:
    """Blocks of an ordered body, balanced, guarded by the reference's rules and checked.

    Unless ``to_the_letter``, checks that only guess at races are left to the proof.
    """
    blocks = _blocks(body, order, config, edges)
    blocks = guard_blocks(blocks, body, config, policy)
    if policy.flags.auto_waits:
        derived = derive_waits_from_blocks(blocks, config, policy.lgkm_fallback)
        blocks = apply_derived_waits(blocks, config, policy, derived)
    units = lgkm_units(config, policy.lgkm_fallback) if policy.flags.auto_waits else (0, 0)
    verify_schedule(blocks, config, units, guesses=to_the_letter)
    return PipelineProgram.of(blocks, to_the_letter=to_the_letter)


def _blocks(
    body: Sequence[OpDesc], order: Sequence[int], config: PipelineConfig, edges: Sequence[DepEdge]
) -> list[MMABlockSpec]:
    choices = edge_choices(body, edges, config)
    for kept in choices[:-1]:
        with suppress(InfeasibleError):
            return build_blocks(body, order, config, kept)
    return build_blocks(body, order, config, choices[-1])


def build_kernel_program(
    body: Sequence[OpDesc],
    config: PipelineConfig,
    sched: ScheduleConfig | None = None,
    edges: Sequence[DepEdge] = (),
) -> PipelineProgram:
    """Order a body and build its program; edges are derived when none are given."""
    policy = SchedulePolicy(sched or ScheduleConfig())
    edges = edges or derive_edges_from_ops(body, config)
    order = derive_order(body, edges, config, policy)
    return build_double_buffer_program(body, order.order, config, policy, edges)
