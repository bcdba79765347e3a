"""Compilation by the schedule of least interval: phases, depths and expansion derived from it.

Loaded only when asked for, since the solver's room needs numpy.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib import import_module

from warploom.document.counters import Protocol
from warploom.document.fields import instance
from warploom.document.machine import MachineCosts
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
from warploom.seed.target.chip import body_costs, is_chip


def priced_request(
    schedule: Hooks, body: tuple[OpDesc, ...], request: ModuloRequest | None
) -> ModuloRequest:
    """For AUTO the request with the machine every other command prices this schedule by.

    A kernel of known shape on a chip is priced in its cycles; without a shape nobody knows what an
    op stands for, and the latencies of the schedule's own cost model count. MODULO answers in the
    schedule's own model, whose intervals can be proven, unless it is given a machine.
    """
    request = request or ModuloRequest()
    instance(request, ModuloRequest, "modulo", "compile_schedule")
    given = request.machine is not None or request.occupancies is not None
    if given or schedule.schedule_config().scheduling is not Strategy.AUTO:
        return request
    return replace(request, machine=own_machine(schedule, body))


def own_machine(schedule: Hooks, body: tuple[OpDesc, ...]) -> MachineCosts | None:
    """The target's machine; the chip's costs for a kernel of known shape on it; else None."""
    if schedule.machine is not None:
        return schedule.machine
    if schedule.shape is None or not is_chip(schedule.target_name):
        return None
    config, waves = schedule.config(), schedule.protocol(0)
    return body_costs(
        schedule.shape,
        body,
        max(1, config.num_partitions),
        waves.groups * waves.waves_per_group,
        counters(config, schedule.schedule_config()),
    )


def _problem(
    schedule: Hooks,
    body: tuple[OpDesc, ...],
    edges: tuple[DepEdge, ...],
    request: ModuloRequest,
    budget: int | None,
) -> BodyProblem:
    if request.machine is None:
        return body_problem(
            body, edges, name=schedule.name, request=request, register_budget=budget
        )
    auto = import_module("warploom.seed.modulo.auto")
    bench, _ = auto.workbench(schedule, body, edges, request=request, register_budget=budget)
    found: BodyProblem = bench.parts
    return found


def modulo_schedule(
    schedule: Hooks,
    body: tuple[OpDesc, ...],
    edges: tuple[DepEdge, ...],
    request: ModuloRequest,
    see: Observer,
    *,
    insist: bool = False,
) -> CompiledSchedule:
    """Phases from the schedule of least II; one wave group, no synchronisation yet.

    A register budget that no schedule keeps is left out with a warning, unless ``insist``.
    """
    config, sched = schedule.config(), schedule.schedule_config()
    check_match_fields(config.ch0_match_field, config.ch1_match_field)
    budget = SchedulePolicy.of(sched).order.register_budget
    problem = _problem(schedule, body, edges, request, budget)
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
        problem = _problem(schedule, body, edges, request, None)
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
