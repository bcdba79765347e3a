"""The one straight line through the rooms: from a ``PipelineSchedule`` to a compiled schedule.

declare and price (the schedule's body) -> relate (edges) -> order -> group -> guard -> expand ->
judge. The judge reads only the document that comes out, never how it was made.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from warploom.errors import VerificationError
from warploom.seed.compile.phases import (
    Observer,
    double_buffer_phases,
    single_buffer_phases,
)
from warploom.seed.compile.result import CompiledSchedule
from warploom.seed.config.parts import SchedulingStrategy as Strategy
from warploom.seed.config.schedule import warn_without_effect
from warploom.seed.graph.loop_body import LoopBody
from warploom.seed.phases.program import (
    warp_stagger_index,
)
from warploom.seed.schedule import PipelineSchedule
from warploom.seed.sync.policy import SyncPolicy

if TYPE_CHECKING:
    from warploom.guard.counters import Synthesis
    from warploom.seed.modulo.bridge import ModuloRequest
    from warploom.sim import MachineCosts
    from warploom.verify import Report

OnRace = Literal["raise", "report", "skip"]


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
        by_interval = import_module("warploom.seed.compile.modulo").modulo_schedule
        shifted: CompiledSchedule = by_interval(schedule, body, edges, modulo, see)
        machine = modulo.machine if modulo is not None else None
        guarded = _synchronised(shifted, _proven(sync or schedule.sync_policy()), machine)
        see("phases", guarded)
        return _judged(guarded, on_race)
    if config.depth >= 2:
        phases = double_buffer_phases(schedule, body, edges, config, sched, see)
    else:
        phases = single_buffer_phases(schedule, body, edges, config)
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
    report: Report = import_module("warploom.verify").verify(compiled.document())
    races = [f for f in report.findings if f.severity.value == "race"]
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


_MODE = {SyncPolicy.PROVEN_WEAKEST: "weakest", SyncPolicy.PROVEN_FEWEST: "fewest"}


def _synchronised(
    ruled: CompiledSchedule, policy: SyncPolicy, machine: MachineCosts | None = None
) -> CompiledSchedule:
    """The schedule with its waits replaced by proven ones, if the policy asks for it."""
    if policy is SyncPolicy.REFERENCE:
        return ruled
    synthesise = import_module("warploom.guard.counters").synthesise
    cost = None if machine is None else import_module("warploom.sim").interval_cost(machine)
    proven: Synthesis = synthesise(ruled.document(), mode=_MODE[policy], cost=cost)
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
