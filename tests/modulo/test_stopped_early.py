"""What a solve returns that is stopped before its first answer, and what it asks twice."""

import subprocess
import sys

import pytest

from tests.modulo.random_bodies import RandomShape, random_body
from warploom.errors import ConfigError
from warploom.modulo import ModuloOptions, check_result, solve_modulo
from warploom.modulo.bounds.system import build_system
from warploom.modulo.exact.request import UNKNOWN, CpAnswer


def hard_body(ops, seed=1):
    shape = RandomShape(
        ops=ops, rings=ops // 8, ring_depth=8, occupancies=(3, 5, 8, 16), tight=0.97
    )
    return random_body(shape, seed)


class Interrupted:
    """A solver during whose first question the user presses Ctrl-C."""

    def solve(self, request):
        raise KeyboardInterrupt


class Silent:
    """A solver that never finds an answer, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def solve(self, request):
        self.asked.append(request)
        return CpAnswer(status=UNKNOWN.status, work=request.work)


@pytest.mark.parametrize("ops", [48, 96, 192])
def test_an_interrupt_before_any_answer_returns_a_schedule_with_its_bound(ops):
    result = solve_modulo(hard_body(ops), solver=Interrupted())
    check_result(result)
    assert result.stopped == "interrupt"
    assert result.lower_bound <= result.ii <= 1.1 * result.lower_bound


def test_under_a_time_limit_a_schedule_comes_before_the_first_question():
    options = ModuloOptions(seconds=60.0)
    result = solve_modulo(hard_body(192), options, solver=Interrupted())
    assert result.ii <= 1.1 * 547  # the best that is known


def test_no_question_is_asked_twice():
    solver = Silent()
    solve_modulo(hard_body(48), ModuloOptions(find_work=1, prove_work=1, tries=1), solver=solver)
    assert solver.asked
    assert len(solver.asked) == len(set(solver.asked))


def test_the_solver_process_does_not_load_pandas():
    script = (
        "import sys\n"
        "from warploom.modulo.exact.process import _load_solver\n"
        "solve = _load_solver()\n"
        "print(solve.__name__, 'pandas.core' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["solve_request", "False"]


def test_a_schedule_within_the_gap_is_taken_after_a_fixed_amount_of_work():
    few, many, found = Silent(), Silent(), []
    for gap, solver in ((0.2, few), (0.0, many)):
        options = ModuloOptions(goals=(), gap=gap, gap_work=0.5, find_work=2, prove_work=2, tries=1)
        found.append(solve_modulo(hard_body(32), options, solver=solver))
    near, far = found
    assert near.ii <= 1.2 * near.lower_bound
    assert any("within 20%" in step for step in near.log)
    assert far.ii <= near.ii
    work = [sum(r.work for r in solver.asked) for solver in (few, many)]
    assert work[0] < work[1]


def test_the_deepest_rings_are_tried_before_much_work_goes_into_the_least():
    solver = Silent()
    solve_modulo(
        hard_body(28), ModuloOptions(find_work=1, prove_work=1, tries=1, goals=()), solver=solver
    )
    first = solver.asked[0]
    assert first.least_depths == first.most_depths == build_system(first.problem).max_depths()
    assert first.work <= 1


@pytest.mark.parametrize("gap", [-0.1, 1.0, float("nan")])
def test_a_gap_is_a_share(gap):
    with pytest.raises(ConfigError, match="gap"):
        ModuloOptions(gap=gap)
