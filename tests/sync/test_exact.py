"""Barrier counts against CP-SAT: barriers and waits of all phases decided at once, exactly."""

import pytest

from warploom.ir.schedule_ops import Phase
from warploom.sync.counters import Queue, synthesise
from warploom.sync.counters.order import checked_trips
from warploom.sync.counters.program import unroll
from warploom.sync.counters.reasons import PHASES, Act, read_text

from .golden_documents import fourwave, pingpong

pytestmark = pytest.mark.slow


def joint_optimum(text, trips, objectives):
    """Lexicographic minimum of the objectives over every placement of barriers and waits.

    A gap holds any number of derived barriers, a wait in front of them and one after them.
    """
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    model = cp_model.CpModel()
    most = max(1, text.protocol.groups)
    sites = [(p, i) for p in PHASES for i in range(len(text.phase(p)) + (p is Phase.PROLOGUE))]
    data = {s for s in sites if _is_data(text, s) or s[0] is Phase.PROLOGUE}
    bars = {s: model.NewIntVar(0, most, "") for s in data}
    keys = [(s, side, q) for s in sites for side in (0, 1) for q in Queue]
    used = {k: model.NewBoolVar("") for k in keys}
    count = {k: model.NewIntVar(0, k[2].largest_wait, "") for k in keys}
    for program, need in _instances(text, trips):
        options = []
        for t in range(need.producer + 1, need.consumer + 1):
            site = program.site(t)
            for side in (0, 1) if site is not None else ():
                key = (site, side, need.queue)
                pick = model.NewBoolVar("")
                model.AddImplication(pick, used[key])
                young = program.younger(need.queue, need.producer, t)
                model.Add(count[key] <= young).OnlyEnforceIf(pick)
                if need.cross:
                    after = [
                        bars[program.site(u)]
                        for u in range(t + side, need.consumer + 1)
                        if program.site(u) in bars
                    ]
                    have = program.barriers[need.consumer] - program.barriers[t]
                    model.Add(sum(after) + have >= program.demand(t)).OnlyEnforceIf(pick)
                options.append(pick)
        model.AddBoolOr(options)
    terms = {
        "kernel barriers": sum(v for s, v in bars.items() if s[0] is Phase.KERNEL),
        "barriers": sum(bars.values()),
        "kernel waits": sum(v for k, v in used.items() if k[0][0] is Phase.KERNEL),
    }
    return [_minimise(cp_model, model, terms[name]) for name in objectives]


def _is_data(text, site):
    items = text.phase(site[0])
    return site[1] < len(items) and items[site[1]].act in (Act.LOAD, Act.READ, Act.MMA)


def _instances(text, trips):
    seen = {}
    for n in trips:
        program = unroll(text, n)
        for need in program.needs():
            path = tuple(program.site(t) for t in range(need.producer, need.consumer + 1))
            seen.setdefault((need.queue, need.cross, path), (program, need))
    return seen.values()


def _minimise(cp_model, model, term):
    model.Minimize(term)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = 120
    solver.parameters.num_workers = 2
    assert solver.Solve(model) == cp_model.OPTIMAL
    value = round(solver.ObjectiveValue())
    model.Add(term <= value)
    return value


CASES = [
    (fourwave("geom0_default"), True),
    (fourwave("geom0_default"), False),
    (pingpong("strategy2_mg1"), True),
    (pingpong("strategy2_mg1"), False),
    (pingpong("strategy0_mg0"), False),
    (fourwave("vm_unequal_a"), False),
]


@pytest.mark.parametrize(("document", "keep"), CASES)
def test_barriers_are_jointly_optimal(document, keep):
    text = read_text(document, keep_barriers=PHASES if keep else ())
    exact = joint_optimum(text, checked_trips(text), ["kernel barriers", "barriers"])
    result = synthesise(document, keep_barriers=keep, barriers="fewest")
    derived = result.derived_barriers
    kernel = [d for d in derived if d[0] is Phase.KERNEL]
    assert [len(kernel), len(derived)] == exact
    assert len(kernel) == result.kernel_barriers


@pytest.mark.parametrize(("document", "keep"), CASES)
def test_fewest_kernel_waits_are_optimal_for_the_barriers_chosen(document, keep):
    result = synthesise(document, keep_barriers=keep, mode="fewest")
    text = read_text(result.document)
    exact = joint_optimum(text, checked_trips(text), ["barriers", "kernel waits"])
    counts = result.counts(Phase.KERNEL)
    assert [0, counts.vm + counts.lgkm] == exact
