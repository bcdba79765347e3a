"""What must hold for every body: bounds, proofs, determinism, monotone answers."""

import sys
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.modulo.random_bodies import RandomShape, random_body
from warploom.modulo import ExactUse, Goal, ModuloOptions, Progress, check_result, solve_modulo
from warploom.modulo.bounds.energy import closure
from warploom.modulo.bounds.system import build_system
from warploom.modulo.exact.process import ChildSolver
from warploom.modulo.exact.request import CpRequest
from warploom.modulo.placement import table as bitset

RELAXED = settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)

SHAPES = st.builds(
    RandomShape,
    ops=st.integers(2, 14),
    units=st.integers(1, 3),
    occupancies=st.sampled_from([(1, 2, 3), (4, 8, 16), (3, 5, 8)]),
    latencies=st.sampled_from([(0, 6), (4, 40)]),
    rings=st.integers(0, 3),
    two_writer_rings=st.integers(0, 1),
    capacity=st.integers(1, 2),
)


@RELAXED
@given(SHAPES, st.integers(0, 10_000))
def test_ii_respects_its_bounds_and_the_checker_agrees(shape, seed):
    result = solve_modulo(random_body(shape, seed), ModuloOptions(goals=(Goal.SMEM,)))
    assert result.ii >= result.lower_bound >= max(result.res_mii, result.rec_mii)
    assert result.rec_mii <= result.rec_mii_at_depths <= result.ii
    assert result.proven == (result.lower_bound == result.ii)
    check_result(result)
    for goal in result.goals:
        assert goal.bound <= goal.value


@RELAXED
@given(SHAPES, st.integers(0, 10_000))
def test_heuristic_alone_is_sound(shape, seed):
    exact = solve_modulo(random_body(shape, seed), ModuloOptions(goals=()))
    alone = solve_modulo(random_body(shape, seed), ModuloOptions(goals=(), exact=ExactUse.NEVER))
    assert alone.ii >= exact.ii
    assert alone.lower_bound <= exact.ii
    if alone.proven:
        assert alone.ii == exact.ii


@RELAXED
@given(SHAPES, st.integers(0, 10_000))
def test_the_closure_never_refutes_a_feasible_ii(shape, seed):
    result = solve_modulo(random_body(shape, seed), ModuloOptions(goals=()))
    system = build_system(result.problem)
    assert closure(system, result.ii, system.max_depths()) is not None


@RELAXED
@given(st.integers(1, 70), st.integers(0, 2**70), st.integers(1, 70))
def test_free_starts_is_what_it_says(ii, bits, cycles):
    bits, cycles = bits & ((1 << ii) - 1), min(cycles, ii)
    expected = [all(bits >> ((p + c) % ii) & 1 for c in range(cycles)) for p in range(ii)]
    found = bitset.free_starts(bits, cycles, ii)
    assert [bool(found >> p & 1) for p in range(ii)] == expected


@given(st.integers(1, 40), st.integers(0, 2**40), st.integers(0, 99), st.integers(0, 60))
def test_first_in_finds_the_ends_of_a_window(ii, bits, low, width):
    bits &= (1 << ii) - 1
    inside = [t for t in range(low, low + min(width, ii - 1) + 1) if bits >> (t % ii) & 1]
    high = low + min(width, ii - 1)
    assert bitset.first_in(bits, low, high, ii, late=False) == (inside[0] if inside else None)
    assert bitset.first_in(bits, low, high, ii, late=True) == (inside[-1] if inside else None)


def test_two_runs_give_the_same_result():
    body = random_body(RandomShape(ops=30, rings=3, tight=0.95, occupancies=(3, 5, 8)), 4)
    first, second = solve_modulo(body), solve_modulo(body)
    assert first == second
    assert first.log == second.log


def test_a_larger_ii_is_feasible_too():
    for seed in range(20):
        body = random_body(RandomShape(ops=8, rings=2, two_writer_rings=1), seed)
        result = solve_modulo(body, ModuloOptions(goals=()))
        report_at = [t // result.ii * (result.ii + 3) + t % result.ii for t in result.times]
        check_result(
            replace(
                result,
                ii=result.ii + 3,
                lower_bound=result.ii + 3,
                times=tuple(report_at),
            )
        )


def test_progress_is_reported():
    seen: list[Progress] = []
    body = random_body(RandomShape(ops=10), 3)
    result = solve_modulo(body, progress=seen.append)
    assert [p.step for p in seen] == list(result.log)
    assert all(p.low <= (p.high or p.low) for p in seen)


def test_a_dying_solver_is_an_unknown_not_a_crash():
    body = random_body(RandomShape(ops=12, tight=1.0, occupancies=(3, 5, 8)), 3)
    broken = ChildSolver(("false",))
    result = solve_modulo(body, solver=broken)
    check_result(result)
    if not result.proven:
        assert result.limit.kind == "work limit"
    else:
        assert result.ii == solve_modulo(body).ii


RAISING = """
import warploom.modulo.exact.solve as room
from warploom.modulo.exact.process import serve

def solve_request(request):
    raise IndexError("raw_hash_map::at")

room.solve_request = solve_request
serve()
"""


def test_a_solver_that_raises_says_so_and_goes_on(capfd):
    pytest.importorskip("ortools")
    child = ChildSolver((sys.executable, "-c", RAISING))
    request = CpRequest(problem=random_body(RandomShape(ops=3), 1), ii=9, max_lag=2, work=1.0)
    answers = [child.solve(request) for _ in range(2)]
    child.close()
    assert [a.note for a in answers] == ["the solver failed: IndexError: raw_hash_map::at"] * 2
    assert not any(a.solved for a in answers)
    assert "Traceback" not in capfd.readouterr().err


def test_zero_work_reports_bound_and_no_proof():
    body = random_body(RandomShape(ops=16, tight=1.0, occupancies=(3, 5, 8, 16)), 2)
    idle = ModuloOptions(find_work=0, prove_work=0, optimise_work=0, tries=1)
    result = solve_modulo(body, idle)
    full = solve_modulo(body)
    assert result.lower_bound <= full.ii <= result.ii
    assert result.proven == (result.lower_bound == result.ii)
