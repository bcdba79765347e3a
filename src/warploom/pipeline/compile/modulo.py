"""Compilation by the schedule of least interval: phases, depths and expansion derived from it."""

import warnings
from dataclasses import replace

from warploom.errors import InfeasibleError, OverBudgetWarning
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import DepEdge, OpDesc
from warploom.ir.validation import instance
from warploom.modulo import ModuloOptions, ModuloResult, solve_modulo
from warploom.modulo.sequence import Program
from warploom.pipeline.compile.hooks import Hooks, waves_of
from warploom.pipeline.compile.phases import Observer
from warploom.pipeline.compile.result import CompiledSchedule, counters
from warploom.pipeline.config.pipeline import SchedulingStrategy as Strategy
from warploom.pipeline.config.schedule import SchedulePolicy
from warploom.pipeline.modulo.auto import auto_order, body_order, workbench
from warploom.pipeline.modulo.bridge import (
    BodyProblem,
    ModuloRequest,
    body_problem,
    check_match_fields,
)
from warploom.pipeline.modulo.entries import modulo_phases

# A chip's cycles are many, and its storage bounds the slots: walking from order to order finds
# what the exact solver would look for long. Storage is no goal; what fits is free.
CHIP_OPTIONS = ModuloOptions(goals=(), tries=2, find_work=1.0, prove_work=1.0)


def priced_request(request: ModuloRequest | None, machine: MachineCosts | None) -> ModuloRequest:
    """The request with the machine every other command prices this schedule by, unless it names
    its own prices."""
    request = request or ModuloRequest()
    instance(request, ModuloRequest, "modulo", "compile_schedule")
    if request.machine is not None or request.occupancies is not None:
        return request
    return replace(request, machine=machine)


def _problem(
    schedule: Hooks,
    body: tuple[OpDesc, ...],
    edges: tuple[DepEdge, ...],
    request: ModuloRequest,
    budget: int | None,
) -> tuple[BodyProblem, list[Program]]:
    """The body's problem, and orders it is known to have."""
    if request.machine is None:
        return body_problem(
            body, edges, name=schedule.name, request=request, register_budget=budget
        ), []
    bench, parts = workbench(schedule, body, edges, request=request, register_budget=budget)
    own = body_order(bench, [i for group in parts for i in group], "identity")[1]
    return bench.parts, [own]


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
    budget = SchedulePolicy(sched).register_budget
    problem, starts = _problem(schedule, body, edges, request, budget)
    see("problem", problem)
    if sched.scheduling is Strategy.AUTO:
        problem, result = auto_order(
            schedule, body, edges, request, budget, progress=lambda step: see("search", step)
        )
        see("modulo", result)
        return scheduled(schedule, body, edges, problem, result, request)
    options = request.options or (None if request.machine is None else CHIP_OPTIONS)
    try:
        result = solve_modulo(problem.problem, options, starts=starts)
    except InfeasibleError as error:
        if insist or budget is None:
            raise
        warnings.warn(
            f"max_vgpr = {budget} is kept by no schedule: {error.what}",
            OverBudgetWarning,
            stacklevel=4,
        )
        problem, starts = _problem(schedule, body, edges, request, None)
        result = solve_modulo(problem.problem, options, starts=starts)
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
    return CompiledSchedule(
        name=schedule.name,
        target=schedule.target_name,
        shape=schedule.shape,
        machine=schedule.machine,
        config=config,
        schedule_config=replace(sched, scheduling=strategy),
        protocol=phases.protocol(waves_of(schedule)),
        body=body,
        edges=edges,
        prologue=phases.prologue,
        kernel=phases.kernel,
        epilogue=phases.epilogue,
        kernel_deps=(),
        warp_stagger_index=0,
        modulo=result,
    )
