"""The solver against exhaustive search on hundreds of small bodies."""

import pytest

from tests.modulo import oracle
from tests.modulo.random_bodies import RandomShape, random_body
from warploom.errors import InfeasibleError
from warploom.modulo import Goal, ModuloOptions, check_result, solve_modulo

OPTIONS = ModuloOptions(goals=(Goal.SMEM,))
MAX_II = 9


def compare(problem, max_ii=MAX_II):
    """1 when II lies above the plain bound (so that search decided), else 0; None: skipped."""
    expected = oracle.least(problem, max_ii)
    try:
        result = solve_modulo(problem, OPTIONS)
    except InfeasibleError:
        assert expected is None
        return None
    if expected is None:
        assert result.lower_bound > max_ii or result.ii > max_ii
        return None
    assert (result.ii, result.proven) == (expected[0], True), problem
    check_result(result)
    smem = result.goal(Goal.SMEM)
    if smem is not None:
        assert (smem.value, smem.bound) == (expected[1], expected[1]), problem
    return int(result.ii > max(result.res_mii, result.rec_mii))


def small(seed, **shape):
    fields = {"ops": 4 + seed % 2, "units": 2, "occupancies": (1, 2, 3), "latencies": (0, 5)}
    return random_body(RandomShape(**{**fields, **shape}), seed)


def test_plain_bodies_agree():
    bodies = [small(seed, density=0.8, carried=0.5) for seed in range(45)]
    assert sum(compare(body) or 0 for body in bodies) > 0


def test_bodies_with_rings_agree():
    above = 0
    for seed in range(35):
        body = small(seed, rings=1, two_writer_rings=seed % 2, density=0.8, carried=0.4)
        above += compare(body) or 0
    assert above > 0


def test_bodies_under_a_shared_memory_budget_agree():
    for seed in range(30):
        compare(small(seed, rings=2, two_writer_rings=1, smem_budget=3 + seed % 3))


def test_units_of_capacity_two_agree():
    for seed in range(30):
        compare(small(seed, capacity=2, occupancies=(1, 2, 5)))


def test_register_budgets_agree():
    decided = 0
    for seed in range(36):
        shape = RandomShape(
            ops=4,
            units=2,
            occupancies=(1, 2),
            latencies=(0, 3),
            density=0.9,
            values=3,
            register_budget=2 + seed % 2,
        )
        problem = random_body(shape, seed)
        if not problem.values:
            continue
        expected = oracle.least_with_registers(problem, 5)
        if expected is None:
            continue
        result = solve_modulo(problem, ModuloOptions(goals=()))
        assert (result.ii, result.proven) == (expected, True)
        decided += 1
    assert decided >= 6


@pytest.mark.slow
def test_hundreds_more_agree():
    above = 0
    for seed in range(100, 340):
        problem = small(
            seed,
            ops=4 + seed % 3,
            rings=seed % 3,
            two_writer_rings=seed % 2,
            density=0.8,
            carried=0.5,
        )
        above += compare(problem) or 0
    assert above > 10
