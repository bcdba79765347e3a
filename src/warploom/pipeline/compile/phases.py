"""From order to phases: a body's order and blocks; one buffer, two, or the least interval."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, InfeasibleError, ProgramError, WarploomError
from warploom.ir.dataflow import Flow
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole, Phase, ResourceKind, ScheduleEntry
from warploom.ir.validation import instance
from warploom.pipeline.block_expand.group import (
    balance_loads,
    build_blocks,
    group_into_blocks,
    keeps_reads,
)
from warploom.pipeline.block_expand.program import PipelineProgram, verify_schedule
from warploom.pipeline.block_expand.spec import MMABlockSpec
from warploom.pipeline.compile.hooks import Hooks, in_cycles_of
from warploom.pipeline.config.pipeline import PipelineConfig, SchedulingStrategy as Strategy
from warploom.pipeline.config.schedule import ScheduleConfig, SchedulePolicy, warn_no_effect
from warploom.pipeline.graph_builder.edges import derive_edges_from_ops
from warploom.pipeline.graph_builder.loop_body import LoopBody
from warploom.pipeline.graph_builder.named import (
    check_names,
    is_named,
    named_flow,
    named_phases,
    needs_names,
    require_names,
    with_names,
)
from warploom.pipeline.graph_builder.partitions import edge_choices
from warploom.pipeline.phase_derivation.program import (
    default_epilogue,
    default_kernel,
    default_kernel_deps_double_buffer,
    default_prologue,
    derive_epilogue_from_program,
    derive_prologue_from_program,
)
from warploom.pipeline.scheduling.csp import first_block_order, optimal_block_order
from warploom.pipeline.scheduling.greedy import greedy_schedule
from warploom.pipeline.scheduling.result import OrderResult
from warploom.pipeline.sync import rules
from warploom.pipeline.sync.marks import is_stated, is_wait


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
            if sum(op.role is OpRole.COMPUTE for op in body) != config.total_blocks():
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


def _timed(body: Sequence[OpDesc], config: PipelineConfig) -> list[OpDesc]:
    """The ops as the order's model sees them: matrix units that overlap serve any number."""
    if config.mma_serial:
        return list(body)
    return [
        replace(op, resource=ResourceKind.NONE) if op.resource is ResourceKind.MMA_UNIT else op
        for op in body
    ]


def build_double_buffer_program(
    body: LoopBody,
    order: Sequence[int],
    config: PipelineConfig,
    sched: ScheduleConfig | None = None,
) -> PipelineProgram:
    """Blocks of an ordered body with waits and barriers by the documented rules, checked."""
    instance(body, LoopBody, "body", "build_double_buffer_program")
    ops = [node.op for node in body.ops]
    policy = SchedulePolicy(sched or ScheduleConfig())
    return program_of_order(ops, order, config, policy, body.edges)


def program_of_order(
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
    blocks = rules.guard_blocks(blocks, body, config, policy)
    if policy.flags.auto_waits:
        derived = rules.derive_waits_from_blocks(blocks, config, *policy.lgkm_fallback)
        blocks = rules.apply_derived_waits(blocks, config, policy, derived)
    units = rules.lgkm_units(config, policy.lgkm_fallback) if policy.flags.auto_waits else (0, 0)
    verify_schedule(blocks, config, *units, guesses=to_the_letter)
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
    return program_of_order(body, order.order, config, policy, edges)


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
    flow: Flow | None = None
    tiles_ahead: int | None = None


def single_buffer_phases(
    schedule: Hooks,
    body: Sequence[OpDesc],
    edges: Sequence[DepEdge],
    config: PipelineConfig,
    *,
    to_the_letter: bool,
) -> Phases:
    """Phases by recipe around the two barriers of the one buffer, or from the names of values.

    ``to_the_letter``: of several loads or stores the recipe keeps the first.
    """
    if is_named(body) or (needs_names(body) and not to_the_letter):
        return _named_phases(schedule, body, edges)
    if not to_the_letter:
        require_names(body)
    return Phases(
        prologue=default_prologue(body, config, first_only=to_the_letter),
        kernel=schedule.transform_kernel(default_kernel(body), body),
        epilogue=default_epilogue(body, config, first_only=to_the_letter),
        kernel_deps=edges,
    )


def _named_phases(schedule: Hooks, body: Sequence[OpDesc], edges: Sequence[DepEdge]) -> Phases:
    named = body if is_named(body) else with_names(body)
    check_names(named)
    prologue, epilogue, tiles = named_phases(named)
    return Phases(
        prologue=prologue,
        kernel=schedule.transform_kernel(default_kernel(named), named),
        epilogue=epilogue,
        kernel_deps=edges,
        flow=named_flow(named),
        tiles_ahead=tiles,
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
    proves: bool = False,
    machine: MachineCosts | None = None,
) -> Phases:
    """Order in the machine's cycles, blocks, waits by the reference's rules, phases from blocks."""
    order = derive_order(in_cycles_of(machine, schedule, body), edges, config, policy)
    see("order", order)

    def made(policy: SchedulePolicy, see: Observer = lambda step, value: None) -> Phases:
        return _of_blocks(
            schedule, body, edges, config, policy, order, see, to_the_letter=to_the_letter
        )

    phases = made(policy, see)
    for name in _without_effect(phases, made, policy, proves=proves):
        warn_no_effect(f"ScheduleConfig.{name}", "the schedule's blocks come out the same without")
    return phases


# Settings that decide about the layout of blocks and phases, once the order is known.
_LAYOUT = (
    "auto_drain", "wait_lgkm_first", "sched_barrier_mask", "drain_lgkm_mask", "lgkm_after_last",
    "minimal_barriers", "omit_mma_set_prio", "global_before_frag", "barrier_before_pre_ops",
    "inter_block_lgkm_drain", "partial_prologue_drain", "wrap_waits_with_sched_barrier",
)  # fmt: skip


def _without_effect(
    phases: Phases,
    made: Callable[[SchedulePolicy], Phases],
    policy: SchedulePolicy,
    *,
    proves: bool,
) -> Iterator[str]:
    """The layout's settings that were stated and change nothing: tried without each of them.

    Where waits are derived by proof, those that a rule placed do not count.
    """
    usual, known = ScheduleConfig(), policy.idle
    seen = _entries_kept(phases, proves=proves)
    for name in _LAYOUT:
        value = getattr(policy.flags, name)
        stated = value and value != getattr(usual, name)  # what is switched off asks for nothing
        if not stated or name in policy.forced or name in known:
            continue
        other = replace(policy.flags, **{name: getattr(usual, name)})
        try:
            without = made(replace(policy, flags=other))
        except WarploomError:
            continue
        if _entries_kept(without, proves=proves) == seen:
            yield name


def _entries_kept(phases: Phases, *, proves: bool) -> list[list[OpDesc]]:
    parts = (phases.prologue, phases.kernel, phases.epilogue)
    return [
        [e.op for e in part if not (proves and is_wait(e) and not is_stated(e))] for part in parts
    ]


def _of_blocks(
    schedule: Hooks,
    body: Sequence[OpDesc],
    edges: Sequence[DepEdge],
    config: PipelineConfig,
    policy: SchedulePolicy,
    order: OrderResult,
    see: Observer,
    *,
    to_the_letter: bool,
) -> Phases:
    """Blocks of an ordered body, and the phases they expand to."""
    program = program_of_order(
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
            policy.flags,
            schedule.bootstrap_frags(),
        ),
        kernel=kernel,
        epilogue=derive_epilogue_from_program(program, config),
        kernel_deps=default_kernel_deps_double_buffer(kernel, config),
        program=program,
        order=order,
    )
