"""The one straight line through the rooms: from a ``PipelineSchedule`` to a compiled schedule.

declare and price (the schedule's body) -> relate (edges) -> order -> group -> guard -> expand ->
judge. The judge reads only the document that comes out, never how it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal

from warploom.blocks.group import build_blocks
from warploom.blocks.program import PipelineProgram
from warploom.blocks.structure import verify_schedule
from warploom.config.parts import BlockSizing, FragOrder, LoopCarriedSpec, WarpStaggerRule
from warploom.config.parts import SchedulingStrategy as Strategy
from warploom.config.pipeline import PipelineConfig
from warploom.config.policy import OrderPolicy, SchedulePolicy
from warploom.config.schedule import ScheduleConfig, warn_without_effect
from warploom.errors import ConfigError, VerificationError
from warploom.graph.edges import derive_edges_from_ops
from warploom.graph.loop_body import LoopBody
from warploom.graph.partitions import search_edges
from warploom.interchange.document import Counters, Protocol, ScheduleDocument
from warploom.listing import phase_listing
from warploom.modulo import ModuloResult, solve_modulo
from warploom.modulo.bridge import ModuloRequest, body_problem, check_match_fields
from warploom.modulo.entries import modulo_phases
from warploom.ops.desc import DepEdge, OpDesc, ScheduleEntry
from warploom.ops.kinds import Phase
from warploom.phases.program import (
    default_kernel_deps_double_buffer,
    derive_epilogue_from_program,
    derive_prologue_from_program,
    warp_stagger_index,
)
from warploom.phases.recipes import default_epilogue, default_kernel, default_prologue
from warploom.sched.csp import OrderResult, optimal_block_order
from warploom.sched.greedy import greedy_schedule
from warploom.schedule import PipelineSchedule
from warploom.sync.policy import SyncPolicy
from warploom.sync.proven import Mode, Reason, synthesise
from warploom.sync.rules import apply_derived_waits, derive_waits_from_blocks, guard_blocks
from warploom.verify import Report, Severity, verify

Observer = Callable[[str, Any], None]
OnRace = Literal["raise", "report", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledSchedule:
    """What compilation returns: the three phases and everything they were derived from.

    ``order`` is the body's order with makespan, bound and proof when a search made it;
    ``program`` the block structure of a double-buffered kernel as the reference's rules guard it.
    ``reasons`` says of every wait and barrier that was derived why it is there; empty under
    ``SyncPolicy.REFERENCE``. ``report`` is the verifier's, unless verification was skipped.
    ``modulo`` is the schedule behind the phases under ``SchedulingStrategy.MODULO``.
    """

    name: str
    target: str
    config: PipelineConfig
    schedule_config: ScheduleConfig
    protocol: Protocol
    body: tuple[OpDesc, ...]
    edges: tuple[DepEdge, ...]
    prologue: tuple[ScheduleEntry, ...]
    kernel: tuple[ScheduleEntry, ...]
    epilogue: tuple[ScheduleEntry, ...]
    kernel_deps: tuple[DepEdge, ...]
    warp_stagger_index: int
    lgkm_per_load_a: int = 0
    lgkm_per_load_b: int = 0
    program: PipelineProgram | None = None
    order: OrderResult | None = None
    sync: SyncPolicy = SyncPolicy.REFERENCE
    reasons: tuple[Reason, ...] = ()
    report: Report | None = None
    modulo: ModuloResult | None = None

    def notes(self, phase: Phase) -> dict[int, str]:
        """The reasons of one phase by entry index, for listings."""
        return {r.index: r.text for r in self.reasons if r.phase is phase}

    def listing(self) -> str:
        """All phases, one entry a line, each derived wait and barrier with its reason."""
        parts = [
            phase_listing(phase.name, entries, notes=self.notes(phase))
            for phase, entries in (
                (Phase.PROLOGUE, self.prologue),
                (Phase.KERNEL, self.kernel),
                (Phase.EPILOGUE, self.epilogue),
            )
        ]
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        # Pictures live above this room; looked up only when a notebook asks for one.
        reasons = {(r.phase.name, r.index): r.text for r in self.reasons}
        show = import_module("warploom.view.notebook").schedule_html
        return str(show(self.document(), reasons))

    def document(self) -> ScheduleDocument:
        """This schedule as a ``warploom.schedule/1`` document."""
        return ScheduleDocument(
            name=self.name,
            target=self.target,
            strategy=self.schedule_config.scheduling.name,
            protocol=self.protocol,
            counters=counters(self.config, self.schedule_config),
            body=self.body,
            edges=self.edges,
            prologue=self.prologue,
            kernel=self.kernel,
            epilogue=self.epilogue,
            kernel_deps=self.kernel_deps,
            warp_stagger_index=self.warp_stagger_index,
        )


def counters(config: PipelineConfig, sched: ScheduleConfig) -> Counters:
    """Counter units per load: the pipeline's, or the schedule config's where it has none."""
    return Counters(
        vm_per_load=(config.vm_per_load_a, config.vm_per_load_b),
        lgkm_per_load=(
            config.lgkm_per_load_a or sched.lgkm_per_load_a,
            config.lgkm_per_load_b or sched.lgkm_per_load_b,
        ),
    )


def compile_schedule(
    schedule: PipelineSchedule,
    *,
    sync: SyncPolicy | None = None,
    on_race: OnRace = "raise",
    observer: Observer | None = None,
    modulo: ModuloRequest | None = None,
) -> CompiledSchedule:
    """Compile a schedule and prove it free of races for every timing and trip count.

    ``sync`` says who decides waits and barriers, instead of the schedule's own
    ``sync_policy()``. ``on_race`` says what happens with a schedule that can race: ``"raise"``
    VerificationError, ``"report"`` keeps the findings on the result's ``report``, ``"skip"``
    does not judge at all. ``observer(step, value)`` sees every intermediate value. ``modulo``
    asks for ``SchedulingStrategy.MODULO`` whatever the schedule's own strategy, with its details.
    """
    see = observer or (lambda step, value: None)
    config, sched = schedule.config(), schedule.schedule_config()
    warn_without_effect(sched)
    body = tuple(schedule.build_body())
    see("body", body)
    edges = tuple(schedule.derive_edges(body))
    see("edges", edges)
    LoopBody.of(body, edges)  # refuses edges that join no two ops
    if modulo is not None or sched.scheduling is Strategy.MODULO:
        shifted = _modulo(schedule, body, edges, modulo or ModuloRequest(), see)
        guarded = _synchronised(shifted, _proven(sync or schedule.sync_policy()))
        see("phases", guarded)
        return _judged(guarded, on_race)
    if config.depth >= 2:
        phases = _double_buffer(schedule, body, edges, config, sched, see)
    else:
        phases = _single_buffer(schedule, body, edges, config)
    stagger = warp_stagger_index(config, body, phases.prologue)
    ruled = CompiledSchedule(
        name=schedule.name,
        target=schedule.target_name,
        config=config,
        schedule_config=sched,
        protocol=schedule.protocol(stagger),
        body=body,
        edges=edges,
        prologue=tuple(phases.prologue),
        kernel=tuple(phases.kernel),
        epilogue=tuple(phases.epilogue),
        kernel_deps=tuple(phases.kernel_deps),
        warp_stagger_index=stagger,
        program=phases.program,
        order=phases.order,
    )
    guarded = _synchronised(ruled, sync or schedule.sync_policy())
    see("phases", guarded)
    return _judged(guarded, on_race)


def _judged(compiled: CompiledSchedule, on_race: OnRace) -> CompiledSchedule:
    """The schedule with the verifier's report; races raise unless they are only to be reported."""
    if on_race == "skip":
        return compiled
    report = verify(compiled.document())
    races = [f for f in report.findings if f.severity is Severity.RACE]
    if races and on_race == "raise":
        first = races[0]
        raise VerificationError(
            f"{compiled.name} can race: {len(races)} finding(s), first {first.code.value}",
            report=report,
            where=" and ".join(str(event) for event in first.where),
            why=first.why,
            fix=f"{first.fix}; or compile with sync=SyncPolicy.PROVEN_WEAKEST, "
            'or on_race="report" to look at all findings',
        )
    return replace(compiled, report=report)


_MODE = {SyncPolicy.PROVEN_WEAKEST: Mode.WEAKEST, SyncPolicy.PROVEN_FEWEST: Mode.FEWEST}


def _synchronised(ruled: CompiledSchedule, policy: SyncPolicy) -> CompiledSchedule:
    """The schedule with its waits replaced by proven ones, if the policy asks for it."""
    if policy is SyncPolicy.REFERENCE:
        return ruled
    proven = synthesise(ruled.document(), mode=_MODE[policy])
    document = proven.document
    return replace(
        ruled,
        protocol=document.protocol,
        prologue=document.prologue,
        kernel=document.kernel,
        epilogue=document.epilogue,
        kernel_deps=document.kernel_deps,
        warp_stagger_index=document.warp_stagger_index,
        sync=policy,
        reasons=proven.reasons,
    )


def _proven(policy: SyncPolicy) -> SyncPolicy:
    """The reference has no rules for derived phases; they are always guarded by proof."""
    return SyncPolicy.PROVEN_WEAKEST if policy is SyncPolicy.REFERENCE else policy


def _modulo(
    schedule: PipelineSchedule,
    body: tuple[OpDesc, ...],
    edges: tuple[DepEdge, ...],
    request: ModuloRequest,
    see: Observer,
) -> CompiledSchedule:
    """Phases from the schedule of least II; one wave group, no synchronisation yet."""
    config, sched = schedule.config(), schedule.schedule_config()
    check_match_fields(config.ch0_match_field, config.ch1_match_field)
    budget = SchedulePolicy.of(sched).order.register_budget
    problem = body_problem(body, edges, name=schedule.name, request=request, register_budget=budget)
    see("problem", problem)
    result = solve_modulo(problem.problem, request.options)
    see("modulo", result)
    units = counters(config, sched)
    phases = modulo_phases(problem, result, peeled=request.peeled, vm_costs=units.vm_per_load)
    waves = schedule.protocol(0)
    return CompiledSchedule(
        name=schedule.name,
        target=schedule.target_name,
        config=config,
        schedule_config=replace(sched, scheduling=Strategy.MODULO),
        protocol=Protocol(
            waves_per_group=waves.groups * waves.waves_per_group,
            k_tiles_per_iteration=phases.k_tiles_per_iteration,
            kernel_k_base=phases.kernel_k_base,
        ),
        body=body,
        edges=edges,
        prologue=phases.prologue,
        kernel=phases.kernel,
        epilogue=phases.epilogue,
        kernel_deps=(),
        warp_stagger_index=0,
        modulo=result,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phases:
    prologue: Sequence[ScheduleEntry]
    kernel: Sequence[ScheduleEntry]
    epilogue: Sequence[ScheduleEntry]
    kernel_deps: Sequence[DepEdge]
    program: PipelineProgram | None = None
    order: OrderResult | None = None


def _single_buffer(
    schedule: PipelineSchedule,
    body: Sequence[OpDesc],
    edges: Sequence[DepEdge],
    config: PipelineConfig,
) -> _Phases:
    return _Phases(
        prologue=default_prologue(body, config),
        kernel=schedule.transform_kernel(default_kernel(body), body),
        epilogue=default_epilogue(body, config),
        kernel_deps=edges,
    )


def _double_buffer(
    schedule: PipelineSchedule,
    body: Sequence[OpDesc],
    edges: Sequence[DepEdge],
    config: PipelineConfig,
    sched: ScheduleConfig,
    see: Observer,
) -> _Phases:
    policy = SchedulePolicy.of(sched)
    order = derive_order(body, edges, config, policy.order)
    see("order", order)
    program = build_double_buffer_program(body, order.order, config, policy, edges)
    see("blocks", program)
    explicit = schedule.build_explicit_blocks(body, program)
    if explicit:
        program = program.with_explicit(explicit)
    kernel = program.expand_to_list(Phase.KERNEL)
    return _Phases(
        prologue=derive_prologue_from_program(
            program,
            config,
            partial_drain=policy.partial_prologue,
            bootstrap=schedule.bootstrap_frags(),
        ),
        kernel=kernel,
        epilogue=derive_epilogue_from_program(program, config),
        kernel_deps=default_kernel_deps_double_buffer(kernel, config),
        program=program,
        order=order,
    )


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
    derived = (0, 0)
    if policy.waits.derive:
        derived = derive_waits_from_blocks(blocks, config, policy.lgkm_fallback)
        blocks = apply_derived_waits(blocks, config, policy, derived)
    verify_schedule(blocks, config, policy.lgkm_fallback, derived)
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


def _blank_config() -> PipelineConfig:
    return PipelineConfig(
        depth=0,
        prefetch=0,
        drain_passes=0,
        prologue_fill=0,
        loop_carried=LoopCarriedSpec.none(),
        block_sizing=BlockSizing.uniform(0),
        frag_order=FragOrder.a_first(),
        m_mmas=0,
        n_mmas=0,
        num_partitions=0,
        mma_serial=False,
        mma_latency=0,
        vm_per_load_a=0,
        vm_per_load_b=0,
        ch0_match_field=0,
        ch1_match_field=0,
        warp_stagger=WarpStaggerRule.none(),
    )


@dataclass(slots=True)
class ScheduleCompiler:
    """The documented compiler object: empty until ``compile`` fills it."""

    config: PipelineConfig = field(default_factory=_blank_config)
    body: list[OpDesc] = field(default_factory=list)
    edges: list[DepEdge] = field(default_factory=list)
    prologue: list[ScheduleEntry] = field(default_factory=list)
    kernel: list[ScheduleEntry] = field(default_factory=list)
    epilogue: list[ScheduleEntry] = field(default_factory=list)
    kernel_deps: list[DepEdge] = field(default_factory=list)
    warp_stagger_index: int = 0
    lgkm_per_load_a: int = 0
    lgkm_per_load_b: int = 0
    result: CompiledSchedule | None = None

    def compile(self, schedule: PipelineSchedule, *, on_race: OnRace = "raise") -> CompiledSchedule:
        """Compile a schedule into this object's fields; also returns the immutable result."""
        done = compile_schedule(schedule, on_race=on_race)
        self.config = done.config
        self.body, self.edges = list(done.body), list(done.edges)
        self.prologue, self.kernel = list(done.prologue), list(done.kernel)
        self.epilogue, self.kernel_deps = list(done.epilogue), list(done.kernel_deps)
        self.warp_stagger_index = done.warp_stagger_index
        self.result = done
        return done
