"""All steps from a declared schedule to a compiled one, in order.

declare and price ops (the schedule's body) -> dependence edges -> order -> group -> synchronise ->
expand -> verify. The verifier reads only the document that comes out, never how it was made.
"""

from collections.abc import Container
from dataclasses import field, fields, replace
from typing import Any, Literal, get_args

from warploom.dataclass import dataclass
from warploom.errors import ConfigError
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import DepEdge, OpDesc, ScheduleEntry
from warploom.ir.validation import boolean, instance, member, shown
from warploom.pipeline.compile.hooks import Hooks, model_name, own_machine
from warploom.pipeline.compile.modulo import modulo_schedule, priced_request
from warploom.pipeline.compile.phases import Observer, double_buffer_phases, single_buffer_phases
from warploom.pipeline.compile.result import CompiledSchedule
from warploom.pipeline.compile.sync import Guard
from warploom.pipeline.config.pipeline import (
    BlockSizing,
    FragOrder,
    LoopCarriedSpec,
    PipelineConfig,
    SchedulingStrategy as Strategy,
    WarpStaggerRule,
)
from warploom.pipeline.config.schedule import SchedulePolicy, warn_without_effect
from warploom.pipeline.graph_builder.loop_body import LoopBody
from warploom.pipeline.graph_builder.named import is_named
from warploom.pipeline.modulo.bridge import ModuloRequest
from warploom.pipeline.phase_derivation.program import warp_stagger_index
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.sync.marks import SyncPolicy

OnRace = Literal["raise", "report", "skip"]


def compile_schedule(
    schedule: PipelineSchedule,
    *,
    sync: SyncPolicy | None = None,
    on_race: OnRace = "raise",
    strengthen: bool = False,
    insist_on_registers: bool = False,
    observer: Observer | None = None,
    modulo: ModuloRequest | None = None,
) -> CompiledSchedule:
    """Compile a schedule and prove it free of races for every timing and trip count.

    ``sync`` says who decides waits and barriers, instead of the schedule's own
    ``sync_policy()``. What the author states is kept under every policy; ``strengthen`` allows a
    stated wait that is too weak to be tightened, with the reason. ``on_race`` says what happens
    with a schedule that can race: ``"raise"`` VerificationError, ``"report"`` keeps the findings
    on the result's ``report``, ``"skip"`` does not check at all. ``max_vgpr`` is a hint, and an
    order beyond it comes with a warning, unless ``insist_on_registers``. ``observer(step, value)``
    sees every intermediate value; the search of ``SchedulingStrategy.AUTO`` is heard as
    ``"search"`` with the scores so far and the best. ``modulo`` asks for
    ``SchedulingStrategy.MODULO`` whatever the schedule's own strategy, with its details.
    """
    hooks = Hooks(schedule)
    _check_arguments(sync, on_race, strengthen, insist_on_registers, observer)
    see = observer or (lambda step, value: None)
    sched, wanted = hooks.schedule_config(), sync or hooks.sync_policy()
    by_interval = modulo is not None or sched.scheduling in (Strategy.MODULO, Strategy.AUTO)
    body = hooks.build_body()
    see("body", body)
    edges = hooks.derive_edges(body)
    see("edges", edges)
    LoopBody.of(body, edges)  # refuses edges that join no two ops
    hooks.warn_of_unused(by_interval=by_interval)
    idle = warn_without_effect(
        hooks.config(),
        sched,
        body,
        sync=wanted,
        by_interval=by_interval,
        forced=hooks.forced_settings,
    )
    if is_named(body) and (by_interval or hooks.config().depth >= 2):
        raise _names_not_taken(hooks, by_interval=by_interval)
    machine = own_machine(hooks, body)
    if by_interval:
        request = priced_request(modulo, machine)
        wanted, machine = _proven(wanted), request.machine
        made = modulo_schedule(hooks, body, edges, request, see, insist=insist_on_registers)
    else:
        made = _by_rules(
            hooks, body, edges, wanted, machine, see, insist=insist_on_registers, idle=idle
        )
    made = replace(made, ordered_in=model_name(hooks, machine))
    guard = Guard(policy=wanted, on_race=on_race, strengthen=strengthen, machine=machine)
    done = guard.applied(made)
    see("phases", done)
    return done


def _by_rules(
    hooks: Hooks,
    body: tuple[OpDesc, ...],
    edges: tuple[DepEdge, ...],
    wanted: SyncPolicy,
    machine: MachineCosts | None,
    see: Observer,
    *,
    insist: bool,
    idle: Container[str] = (),
) -> CompiledSchedule:
    """Phases from an order of the body and the reference's rules."""
    config, sched = hooks.config(), hooks.schedule_config()
    letter = wanted is SyncPolicy.REFERENCE
    if config.depth >= 2:
        policy = SchedulePolicy(
            sched,
            barrier_at_top=not letter,
            forced=hooks.forced_settings,
            insist_on_registers=insist,
            idle=idle,
        )
        phases = double_buffer_phases(
            hooks,
            body,
            edges,
            config,
            policy,
            see,
            to_the_letter=letter,
            proves=wanted.proves,
            machine=machine,
        )
    else:
        phases = single_buffer_phases(hooks, body, edges, config, to_the_letter=letter)
    stagger = warp_stagger_index(config, body, phases.prologue)
    protocol = hooks.protocol(stagger)
    if phases.tiles_ahead is not None:
        protocol = replace(protocol, kernel_k_base=phases.tiles_ahead)
    return CompiledSchedule(
        name=hooks.name,
        target=hooks.target_name,
        shape=hooks.shape,
        machine=hooks.machine,
        config=config,
        schedule_config=sched,
        protocol=protocol,
        body=body,
        edges=edges,
        prologue=tuple(phases.prologue),
        kernel=tuple(phases.kernel),
        epilogue=tuple(phases.epilogue),
        kernel_deps=tuple(phases.kernel_deps),
        warp_stagger_index=stagger,
        program=phases.program,
        order=phases.order,
        flow=phases.flow,
    )


def _names_not_taken(hooks: Hooks, *, by_interval: bool) -> ConfigError:
    what = "SchedulingStrategy.MODULO and AUTO" if by_interval else "a ring of two or more buffers"
    return ConfigError(
        f"{what} derive what ops compute from roles and channels, not from names",
        where=f"{hooks.name}: build_body()",
        why="ops of this body name the values they take and make",
        fix="a single buffer (depth=1, IDENTITY), or a body without takes= and makes=",
    )


def _proven(policy: SyncPolicy) -> SyncPolicy:
    """The reference has no rules for derived phases; they are always guarded by proof."""
    return policy if policy.proves else SyncPolicy.PROVEN_WEAKEST


def _check_arguments(
    sync: object, on_race: object, strengthen: object, insist: object, observer: object
) -> None:
    owner = "compile_schedule"
    if sync is not None:
        member(sync, SyncPolicy, "sync", owner)
    if not isinstance(on_race, str) or on_race not in get_args(OnRace):
        raise ConfigError(
            f"on_race = {shown(on_race)} is no way to treat races",
            where=f"{owner}.on_race",
            why="a misspelt word must not let a racing schedule through",
            fix=f"one of {', '.join(repr(w) for w in get_args(OnRace))}",
        )
    boolean(strengthen, "strengthen", owner)
    boolean(insist, "insist_on_registers", owner)
    if observer is not None and not callable(observer):
        instance(observer, type(_proven), "observer", owner)


def _blank_config() -> PipelineConfig:
    counts: dict[str, Any] = {f.name: 0 for f in fields(PipelineConfig) if f.type == "int"}
    return PipelineConfig(
        **counts,
        loop_carried=LoopCarriedSpec.none(),
        block_sizing=BlockSizing.uniform(0),
        frag_order=FragOrder.a_first(),
        mma_serial=False,
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
