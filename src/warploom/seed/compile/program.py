"""Order and group: a body's order by strategy, and the blocks made from it."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.document.ops import DepEdge, OpDesc
from warploom.errors import ConfigError
from warploom.seed.blocks.group import build_blocks
from warploom.seed.blocks.program import PipelineProgram
from warploom.seed.blocks.structure import verify_schedule
from warploom.seed.config.parts import SchedulingStrategy as Strategy
from warploom.seed.config.pipeline import PipelineConfig
from warploom.seed.config.policy import OrderPolicy, SchedulePolicy
from warploom.seed.config.schedule import ScheduleConfig
from warploom.seed.graph.edges import derive_edges_from_ops
from warploom.seed.graph.loop_body import LoopBody
from warploom.seed.graph.partitions import search_edges
from warploom.seed.sched.csp import OrderResult, optimal_block_order
from warploom.seed.sched.greedy import greedy_schedule
from warploom.seed.sync.rules import apply_derived_waits, derive_waits_from_blocks, guard_blocks


def derive_order(
    body: Sequence[OpDesc],
    edges: Sequence[DepEdge],
    config: PipelineConfig,
    policy: OrderPolicy,
) -> OrderResult:
    """The body's order by strategy, with its makespan and what is proven about it."""
    partitions = max(config.num_partitions, 1)
    if policy.strategy is Strategy.IDENTITY:
        return OrderResult.given(LoopBody.of(body, edges), tuple(range(len(body))))
    graph = LoopBody.of(body, search_edges(body, edges, config))
    match policy.strategy:
        case Strategy.CSP:
            return optimal_block_order(
                graph,
                config.block_sizing.max_globals,
                policy.port_interval,
                policy.register_budget,
                partitions=partitions,
            )
        case Strategy.GREEDY:
            return OrderResult.given(graph, greedy_schedule(graph, partitions))
        case Strategy.MODULO:
            raise ConfigError(
                "SchedulingStrategy.MODULO does not order ops within blocks",
                where="ScheduleConfig.scheduling",
                why="its order spans iterations and comes with its own phases",
                fix="compile the whole schedule with compile_schedule",
            )


def build_double_buffer_program(
    body: Sequence[OpDesc],
    order: Sequence[int],
    config: PipelineConfig,
    policy: SchedulePolicy,
    edges: Sequence[DepEdge] = (),
) -> PipelineProgram:
    """Blocks of an ordered body, balanced, guarded by the reference's rules and checked."""
    blocks = build_blocks(body, order, config, edges)
    blocks = guard_blocks(blocks, body, config, policy)
    if policy.waits.derive:
        derived = derive_waits_from_blocks(blocks, config, policy.lgkm_fallback)
        blocks = apply_derived_waits(blocks, config, policy, derived)
    verify_schedule(blocks, config, policy.lgkm_fallback if policy.waits.derive else (0, 0))
    return PipelineProgram.of(blocks)


def build_kernel_program(
    body: Sequence[OpDesc],
    config: PipelineConfig,
    sched: ScheduleConfig | None = None,
    edges: Sequence[DepEdge] = (),
) -> PipelineProgram:
    """Order a body and build its program; edges are derived when none are given."""
    policy = SchedulePolicy.of(sched or ScheduleConfig())
    edges = edges or derive_edges_from_ops(body, config)
    order = derive_order(body, edges, config, policy.order)
    return build_double_buffer_program(body, order.order, config, policy, edges)
