"""K best."""

import pytest

from tests.modulo.bodies.gemm import gemm_body
from warploom.errors import ConfigError
from warploom.modulo import ModuloOp, ModuloOptions, ModuloProblem, check_result, solve_modulo
from warploom.modulo.kbest import FewerSchedulesWarning, digest, k_best, signature

II_ONLY = ModuloOptions(goals=())


@pytest.fixture(scope="module")
def candidates():
    best = solve_modulo(gemm_body(2, 2), II_ONLY)
    return k_best(best, 6, slack=0.1)


def test_candidates_are_distinct_valid_and_near_the_optimum(candidates):
    assert len(candidates) == 6
    assert len({signature(r) for r in candidates}) == 6
    assert len({digest(r) for r in candidates}) == 6
    for r in candidates:
        check_result(r)
        assert 128 <= r.ii <= 140
    assert len({r.ii for r in candidates}) > 1
    assert len({r.depths for r in candidates}) > 1


def test_candidates_are_deterministic(candidates):
    again = k_best(solve_modulo(gemm_body(2, 2), II_ONLY), 6, slack=0.1)
    assert [digest(r) for r in again] == [digest(r) for r in candidates]


def test_fewer_than_asked_for_is_said():
    body = ModuloProblem(name="one", ops=(ModuloOp(name="a", unit="u"),))
    with pytest.warns(FewerSchedulesWarning, match="1 distinct"):
        assert len(k_best(solve_modulo(body, II_ONLY), 3)) == 1
    assert len(k_best(solve_modulo(body, II_ONLY), 3, quiet=True)) == 1


def test_k_best_refuses_nonsense(candidates):
    with pytest.raises(ConfigError):
        k_best(candidates[0], 0)
