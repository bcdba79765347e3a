"""Compilation by the schedule of least interval: phases, depths and expansion derived from it.

Loaded only when asked for, since the solver's room needs numpy.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib import import_module

from warploom.document.counters import Protocol
from warploom.document.fields import instance
from warploom.document.ops import DepEdge, OpDesc
from warploom.errors import InfeasibleError, OverBudgetWarning
from warploom.order import ModuloResult, solve_modulo
from warploom.seed.compile.hooks import Hooks
from warploom.seed.compile.phases import Observer
from warploom.seed.compile.result import CompiledSchedule, counters
from warploom.seed.config.parts import SchedulingStrategy as Strategy
from warploom.seed.config.policy import SchedulePolicy
from warploom.seed.modulo.bridge import (
    BodyProblem,
    ModuloRequest,
    body_problem,
    check_match_fields,
)
from warploom.seed.modulo.entries import modulo_phases


def modulo_schedule(
    schedule: Hooks,
    body: tuple[OpDesc, ...],
    edges: tuple[DepEdge, ...],
    request: ModuloRequest | None,
    see: Observer,
    *,
    insist: bool = False,
) -> CompiledSchedule:
    """Phases from the schedule of least II; one wave group, no synchronisation yet.

    A register budget that no schedule keeps is left out with a warning, unless ``insist``.
    """
    instance(request or ModuloRequest(), ModuloRequest, "modulo", "compile_schedule")
    request = request or ModuloRequest()
    config, sched = schedule.config(), schedule.schedule_config()
    check_match_fields(config.ch0_match_field, config.ch1_match_field)
    budget = SchedulePolicy.of(sched).order.register_budget
    problem = body_problem(body, edges, name=schedule.name, request=request, register_budget=budget)
    see("problem", problem)
    if sched.scheduling is Strategy.AUTO:
        auto = import_module("warploom.seed.modulo.auto")
        problem, result = auto.auto_order(schedule, body, edges, request, budget)
        see("modulo", result)
        return scheduled(schedule, body, edges, problem, result, request)
    try:
        result = solve_modulo(problem.problem, request.options)
    except InfeasibleError as error:
        if insist or budget is None:
            raise
        warnings.warn(
            f"max_vgpr = {budget} is kept by no schedule: {error.what}",
            OverBudgetWarning,
            stacklevel=4,
        )
        problem = body_problem(body, edges, name=schedule.name, request=request)
        result = solve_modulo(problem.problem, request.options)
    see("modulo", result)
    return scheduled(schedule, body, edges, problem, result, request)


def scheduled(
    schedule: Hooks,
    body: tuple[OpDesc, ...],
    edges: tuple[DepEdge, ...],
    problem: BodyProblem,
    result: ModuloResult,
    request: ModuloRequest,
) -> CompiledSchedule:
    """The compiled schedule of a known order, not synchronised yet."""
    config, sched = schedule.config(), schedule.schedule_config()
    strategy = Strategy.AUTO if sched.scheduling is Strategy.AUTO else Strategy.MODULO
    units = counters(config, sched)
    phases = modulo_phases(problem, result, peeled=request.peeled, vm_costs=units.vm_per_load)
    waves = schedule.protocol(0)
    return CompiledSchedule(
        name=schedule.name,
        target=schedule.target_name,
        shape=schedule.shape,
        machine=schedule.machine,
        config=config,
        schedule_config=replace(sched, scheduling=strategy),
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
