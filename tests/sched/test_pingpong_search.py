"""The ping-pong body under every kind of pressure: the searches that enumeration never ends."""

from dataclasses import replace

import pytest

from warploom import DeclarativeSchedule
from warploom.errors import InfeasibleError
from warploom.ir.schedule_ops import OpRole, ResourceKind
from warploom.pipeline.amd_target.cost import mi355x_target
from warploom.pipeline.graph_builder.loop_body import LoopBody
from warploom.pipeline.scheduling.csp import optimal_block_order, optimal_schedule_with_halves
from warploom.pipeline.scheduling.greedy import ends_in_compute, greedy_schedule
from warploom.pipeline.scheduling.result import evaluate_schedule

from .test_csp import most_loads_between_computes

HALF = [0] * 12 + [1] * 12


def pingpong(max_globals, kills=None):
    schedule = DeclarativeSchedule(target=mi355x_target(4, 4, max_globals))
    ops = schedule.build_body()
    edges = schedule.derive_edges(ops)
    if kills:
        ops = [replace(op, vgpr_kill=kills.get(op.role, 0)) for op in ops]
    return LoopBody.of(ops, edges)


def check(body, got, max_globals, penalty):
    assert sorted(got.order) == list(range(24))
    assert [HALF[i] for i in got.order] == HALF
    at = {i: p for p, i in enumerate(got.order)}
    assert all(at[e.producer_idx] < at[e.consumer_idx] for e in body.edges if e.loop_distance == 0)
    seed = greedy_schedule(body)
    cost = evaluate_schedule(body, got.order, penalty)
    assert (cost.makespan, cost.vgpr_peak) == (got.makespan, got.vgpr_peak)
    assert got.lower_bound <= got.makespan <= evaluate_schedule(body, seed, penalty).makespan
    if max_globals and got.order != seed:
        assert most_loads_between_computes(body, got.order, HALF) <= max_globals


def test_the_seed_answers_without_a_search():
    for max_globals in (0, 1, 2):
        body = pingpong(max_globals)
        got = optimal_schedule_with_halves(body, max_globals)
        assert (got.order, got.work) == (greedy_schedule(body), 0)
        assert (got.makespan, got.lower_bound, got.vgpr_peak) == (420, 420, 96)


@pytest.mark.parametrize("max_globals", [0, 1, 2])
@pytest.mark.parametrize("penalty", [1, 4, 7, 10, 15, 22, 40, 60])
def test_every_penalty_is_answered_exactly(max_globals, penalty):
    body = pingpong(max_globals)
    got = optimal_schedule_with_halves(body, max_globals, penalty, work_limit=20_000)
    assert got.exact
    assert got.proven
    check(body, got, max_globals, penalty)
    blocks = optimal_block_order(body, max_globals, penalty)
    assert ends_in_compute(body, blocks.order, 2)
    assert blocks.makespan == got.makespan
    check(body, blocks, max_globals, penalty)


@pytest.mark.parametrize("penalty", [0, 10, 40])
@pytest.mark.parametrize("budget", [0, 24, 60, 95])
def test_a_hopeless_budget_is_refused_at_once(budget, penalty):
    with pytest.raises(InfeasibleError) as caught:
        optimal_schedule_with_halves(
            pingpong(1), 1, penalty, budget, work_limit=20_000, insist=True
        )
    assert caught.value.smallest_feasible == 96


@pytest.mark.parametrize("penalty", [0, 10, 40])
@pytest.mark.parametrize("kill", [8, 12, 20])
def test_budgets_with_a_model_that_frees_registers(kill, penalty):
    body = pingpong(1, {OpRole.COMPUTE: kill})
    loose = optimal_schedule_with_halves(body, 1, penalty, work_limit=20_000)
    with pytest.raises(InfeasibleError) as caught:
        optimal_schedule_with_halves(body, 1, penalty, 8, work_limit=20_000, insist=True)
    least = caught.value.smallest_feasible
    tight = optimal_schedule_with_halves(body, 1, penalty, least, work_limit=20_000)
    assert tight.exact
    assert tight.vgpr_peak == least
    assert tight.makespan >= loose.lower_bound
    with pytest.raises(InfeasibleError):
        optimal_schedule_with_halves(body, 1, penalty, least - 1, work_limit=20_000, insist=True)


@pytest.mark.slow
@pytest.mark.parametrize("max_globals", [0, 1, 2])
@pytest.mark.parametrize("penalty", [1, 4, 10, 15, 22, 40])
def test_the_makespan_is_that_of_a_constraint_solver(max_globals, penalty):
    """An independent model: start times, positions and pairwise precedence in CP-SAT."""
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    body = pingpong(max_globals)
    n, lat = len(body), [node.latency for node in body.ops]
    unit = [
        "port" if node.resource in (ResourceKind.LDS, ResourceKind.GLOBAL_MEM) else "mma"
        for node in body.ops
    ]
    hold = [penalty if u == "port" else latency for u, latency in zip(unit, lat, strict=True)]
    model = cp_model.CpModel()
    start = [model.new_int_var(0, 4000, f"s{i}") for i in range(n)]
    position = [model.new_int_var(0, n - 1, f"p{i}") for i in range(n)]
    model.add_all_different(position)
    before = {}
    for i in range(n):
        for j in range(i + 1, n):
            b = model.new_bool_var(f"b{i}_{j}")
            before[i, j], before[j, i] = b, ~b
            model.add(position[i] < position[j]).only_enforce_if(b)
            model.add(position[j] < position[i]).only_enforce_if(~b)
            if HALF[i] != HALF[j]:
                model.add(b == 1)
            if unit[i] == unit[j]:
                model.add(start[j] >= start[i] + hold[i]).only_enforce_if(b)
                model.add(start[i] >= start[j] + hold[j]).only_enforce_if(~b)
    for name in ("port", "mma"):  # says nothing new, but lets the solver reason about the unit
        model.add_no_overlap(
            model.new_fixed_size_interval_var(start[i], hold[i], f"i{i}")
            for i in range(n)
            if unit[i] == name
        )
    for e in body.edges:
        if e.loop_distance == 0:
            p, c = e.producer_idx, e.consumer_idx
            model.add(before[p, c] == 1)
            model.add(start[c] >= start[p] + lat[p])
    for half in (0, 1) if max_globals else ():
        mine = [i for i in range(n) if HALF[i] == half]
        loads = [i for i in mine if body.ops[i].op.role is OpRole.GLOBAL_LOAD]
        computes = [i for i in mine if body.ops[i].op.role is OpRole.COMPUTE]
        for block in range(len(computes) + 1):
            inside = []
            for load in loads:
                is_here = model.new_bool_var(f"in{load}_{block}")
                passed = sum(before[c, load] for c in computes)
                model.add(passed == block).only_enforce_if(is_here)
                model.add(passed != block).only_enforce_if(~is_here)
                inside.append(is_here)
            model.add(sum(inside) <= max_globals)
    end = model.new_int_var(0, 5000, "end")
    model.add_max_equality(end, [s + latency for s, latency in zip(start, lat, strict=True)])
    model.minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = 120
    status = solver.solve(model)
    got = optimal_schedule_with_halves(body, max_globals, penalty)
    seed = evaluate_schedule(body, greedy_schedule(body), penalty).makespan
    assert status == cp_model.OPTIMAL
    assert got.makespan == min(seed, round(solver.objective_value))
