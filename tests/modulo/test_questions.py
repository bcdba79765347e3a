"""How many questions a solve asks: what is known, hopeless or not wanted is not asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("ortools", reason="OR-tools is not installed")

from tests.modulo.random_bodies import RandomShape, random_body
from warploom.errors import InfeasibleError
from warploom.modulo import ModuloEdge, ModuloOp, ModuloOptions, ModuloProblem, Role, solve_modulo
from warploom.modulo.attempt import Attempter
from warploom.modulo.bounds.plain import plain_bound
from warploom.modulo.bounds.system import build_system
from warploom.modulo.exact.process import ChildSolver
from warploom.modulo.model import Read, Value

TIGHT = RandomShape(ops=10, rings=2, ring_depth=3, occupancies=(3, 5, 8, 16), tight=0.97)


class Counted(ChildSolver):
    """The solver with a list of what reached its process."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def _answer(self, request):
        self.asked.append(request)
        return super()._answer(request)


@pytest.fixture
def solver():
    made = Counted()
    yield made
    made.close()


def crowded(size, budget=20, late=0):
    """A value that another op reads while a second one lives."""
    return ModuloProblem(
        name="crowded",
        ops=tuple(ModuloOp(name=n, unit="alu", occupancy=4) for n in ("a", "b", "c")),
        edges=(
            ModuloEdge(src=0, dst=1, latency=4),
            ModuloEdge(src=0, dst=2, latency=4),
            ModuloEdge(src=1, dst=2, latency=4),
        ),
        values=(
            Value(name="x", size=size, src=0, uses=(Read(op=1, hold=4), Read(op=2, hold=4))),
            Value(name="y", size=8, src=1, uses=(Read(op=2, hold=4),), late=late),
        ),
        roles=(Role(name="main", register_budget=budget, static_registers=4),),
    )


def searched():
    """A body whose least interval only a search refutes the one below of."""
    for seed in range(40):
        problem = random_body(TIGHT, seed)
        result = solve_modulo(problem, ModuloOptions(goals=()))
        if result.ii > plain_bound(build_system(problem))[0]:
            return problem, result
    raise AssertionError("no such body")


def test_the_same_body_asks_nothing_twice(solver):
    problem, result = searched()
    again = [solve_modulo(problem, ModuloOptions(goals=()), solver=solver) for _ in range(2)]
    assert solver.asked
    assert len(solver.asked) == len(set(solver.asked))
    assert [x.times for x in again] == [result.times] * 2


def test_an_explanation_is_asked_for_only_where_it_is_wanted(solver):
    problem, result = searched()
    brief = solve_modulo(problem, ModuloOptions(goals=(), explain=False), solver=solver)
    without = len(solver.asked)
    whole = solve_modulo(problem, ModuloOptions(goals=()), solver=solver)
    assert len(solver.asked) > without
    assert (brief.ii, brief.times, brief.proven) == (whole.ii, whole.times, result.proven)


def test_what_lives_at_once_refuses_a_budget_before_any_question(solver):
    assert solve_modulo(crowded(8), solver=solver).proven
    asked = len(solver.asked)
    with pytest.raises(InfeasibleError, match="fits its budgets at no II"):
        solve_modulo(crowded(9), solver=solver)
    assert len(solver.asked) == asked
    # what begins to live after the op has begun is not there when it begins
    assert solve_modulo(crowded(12, budget=24, late=9), solver=solver).ii >= 12


def test_a_refusal_needs_no_heuristic(monkeypatch, solver):
    problem, _ = searched()
    tried = []
    honest = Attempter._heuristic
    monkeypatch.setattr(
        Attempter,
        "_heuristic",
        lambda self, ii, *given: tried.append(ii) or honest(self, ii, *given),
    )
    result = solve_modulo(problem, ModuloOptions(goals=(), explain=False), solver=solver)
    assert tried.count(result.ii - 1) <= 1  # once at the bound, before the first question


def test_where_a_gap_is_allowed_no_hopeless_proof_is_begun(solver):
    """A budget and a value that begins late: no interval says anything of others."""
    problem = crowded(8, budget=20, late=3)
    wide = tuple(replace(op, occupancy=40) for op in problem.ops)
    edges = tuple(replace(e, latency=120) for e in problem.edges)
    problem = replace(problem, ops=wide, edges=edges)
    options = ModuloOptions(goals=(), gap=0.01, gap_work=0.5, explain=False)
    result = solve_modulo(problem, options, solver=solver)
    assert len(solver.asked) <= 20
    exact = solve_modulo(problem, ModuloOptions(goals=()), solver=solver)
    assert exact.ii <= result.ii
    assert result.lower_bound <= exact.ii
