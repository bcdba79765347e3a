"""The solver against an independent judge: no wrong interval, no wrong proof, no hang."""

import pytest

from tests.modulo.full_oracle import least_ii, least_registers
from tests.modulo.mixed_bodies import mixed_body
from tests.modulo.odd_bodies import odd_body
from warploom.errors import CycleError, InfeasibleError
from warploom.modulo import Goal, ModuloOptions, check_result, solve_modulo

SAMPLE = range(110)
WHOLE = range(1000, 3000)


def highest(problem):
    """How far the judge can afford to look."""
    return 7 if len(problem.ops) < 4 else 5


def judge(seed, body=mixed_body):
    """What the comparison was about: the sort of answer, or None for a body that means nothing."""
    problem = body(seed)
    top = highest(problem)
    one_role = len(problem.roles) <= 1
    free = not any(r.register_budget is not None for r in problem.roles)
    goals = (Goal.REGISTERS,) if problem.values and one_role and free else ()
    try:
        result = solve_modulo(problem, ModuloOptions(goals=goals))
    except CycleError:
        return None
    except InfeasibleError:
        assert least_ii(problem, top) is None, seed
        return "infeasible"
    check_result(result)
    expected = least_ii(problem, top)
    if expected is None:
        assert result.ii > top, seed
        return "high"
    assert result.lower_bound <= expected <= result.ii, seed
    assert result.proven, seed
    assert result.ii == expected, seed
    live = result.goal(Goal.REGISTERS)
    if live is not None:
        found = least_registers(problem, expected, live.value)
        assert live.bound <= found <= live.value, seed
        assert live.proven, seed
    return "above" if expected > max(result.res_mii, result.rec_mii) else "plain"


def test_a_sample_agrees():
    kinds = [judge(seed) for seed in SAMPLE]
    assert kinds.count("above") >= 8
    assert kinds.count("infeasible") >= 3
    assert kinds.count("plain") >= 50


def test_odd_shapes_agree():
    """Among them 306: more than 64 ways to give out roles, values under a budget."""
    kinds = [judge(seed, odd_body) for seed in [306, *range(40)]]
    assert kinds.count("plain") >= 20
    assert kinds.count("infeasible") >= 3


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_thousand_odd_shapes_agree():
    kinds = [judge(seed, odd_body) for seed in WHOLE]
    assert kinds.count("above") >= 50
    assert kinds.count("infeasible") >= 100


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_thousand_agree():
    kinds = [judge(seed) for seed in WHOLE]
    assert kinds.count("above") >= 100
    assert kinds.count("infeasible") >= 40
