"""K best and re-ranking."""

import json

import pytest

from tests.modulo.bodies.gemm import gemm_body
from tests.modulo.samples import document, matmul_ops
from warploom.errors import ConfigError, DocumentError
from warploom.guard.counters import synthesise
from warploom.order import ModuloOp, ModuloOptions, ModuloProblem, check_result, solve_modulo
from warploom.order.kbest import (
    FewerSchedulesWarning,
    digest,
    emitted_ii,
    k_best,
    read_measurements,
    rerank,
    rerank_by_file,
    signature,
    write_measurements,
)
from warploom.seed.modulo.bridge import ModuloRequest, body_problem
from warploom.seed.modulo.entries import modulo_phases
from warploom.sim import simulate

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
        assert emitted_ii(r) <= r.ii
    assert len({r.ii for r in candidates}) > 1
    assert len({r.depths for r in candidates}) > 1


def test_candidates_are_deterministic(candidates):
    again = k_best(solve_modulo(gemm_body(2, 2), II_ONLY), 6, slack=0.1)
    assert [digest(r) for r in again] == [digest(r) for r in candidates]


def test_rerank_by_score_and_by_measured_times(candidates, tmp_path):
    backwards = rerank(candidates, lambda r: -candidates.index(r))
    assert backwards == tuple(reversed(candidates))
    path = tmp_path / "times.json"
    path.write_text(write_measurements([(candidates[4], 100.0), (candidates[2], 90.5)]))
    ranked = rerank_by_file(candidates, path)
    assert ranked[:3] == (candidates[2], candidates[4], candidates[0])


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"schema": "other"}',
        json.dumps({"schema": "warploom.measured/1", "measurements": 3}),
        json.dumps({"schema": "warploom.measured/1", "measurements": [{"cycles": 1}]}),
        json.dumps(
            {"schema": "warploom.measured/1", "measurements": [{"schedule": "x", "cycles": -1}]}
        ),
    ],
)
def test_malformed_measurements_are_refused(text):
    with pytest.raises(DocumentError):
        read_measurements(text)


def test_fewer_than_asked_for_is_said():
    body = ModuloProblem(name="one", ops=(ModuloOp(name="a", unit="u"),))
    with pytest.warns(FewerSchedulesWarning, match="1 distinct"):
        assert len(k_best(solve_modulo(body, II_ONLY), 3)) == 1
    assert len(k_best(solve_modulo(body, II_ONLY), 3, quiet=True)) == 1


def test_k_best_refuses_nonsense(candidates):
    with pytest.raises(ConfigError):
        k_best(candidates[0], 0)


def test_candidates_are_re_ranked_by_the_simulator():
    body = body_problem(matmul_ops(1, 1, 1), request=ModuloRequest(max_depth=2))
    found = k_best(solve_modulo(body.problem, II_ONLY), 3, slack=0.2)

    def simulated(result):
        done = synthesise(document(modulo_phases(body, result))).document
        interval = simulate(done, trips=12, waves=1).ii
        return interval / done.protocol.k_tiles_per_iteration

    ranked = rerank(found, simulated)
    scores = [simulated(r) for r in ranked]
    assert scores == sorted(scores)
    assert set(map(digest, ranked)) == set(map(digest, found))
