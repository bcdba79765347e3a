"""One program for several roles, each a share of the interval, or of a step, after the other."""

import pytest

from warploom.modulo import (
    ModuloEdge,
    ModuloOp,
    ModuloOptions,
    ModuloProblem,
    Role,
    check_result,
    symmetry as alike,
)
from warploom.modulo.symmetry import solve_alike

ROLES = ("one", "two")


def two_steps(roles=ROLES):
    """Two steps an iteration: a product, and work on it before the next product of the role."""
    ops, edges = [], []
    for role in roles:
        at = len(ops)
        for step in (0, 1):
            ops.append(ModuloOp(name=f"dot{step}@{role}", unit="tensor", occupancy=4, role=role))
            ops.append(ModuloOp(name=f"add{step}@{role}", unit=role, occupancy=2, role=role))
        for i, distance in enumerate((0, 0, 0, 1)):
            latency = (2, 5)[i % 2 == 0]
            edges.append(
                ModuloEdge(src=at + i, dst=at + (i + 1) % 4, latency=latency, distance=distance)
            )
    return ModuloProblem(
        name="two steps",
        ops=tuple(ops),
        edges=tuple(edges),
        roles=tuple(Role(name=r) for r in roles),
    )


@pytest.mark.parametrize(("steps", "least"), [(1, 22), (2, 16)])
def test_roles_may_be_a_share_of_a_step_apart(steps, least):
    problem = two_steps()
    names = {op.name: op.name.partition("@")[0] for op in problem.ops}
    found = solve_alike(problem, ROLES, names, ModuloOptions(goals=()), steps)
    check_result(found)
    assert (found.ii, found.proven) == (least, least == 16)
    shifts = {b - a for a, b in zip(found.times[:4], found.times[4:], strict=True)}
    assert shifts == {least // (2 * steps)}


def test_a_share_that_keeps_the_least_interval_is_taken_before_others_are_searched(monkeypatch):
    problem, solves = two_steps(), []
    names = {op.name: op.name.partition("@")[0] for op in problem.ops}
    real = alike.solve_modulo

    def counted(*given):
        solves.append(given)
        return real(*given)

    monkeypatch.setattr(alike, "solve_modulo", counted)
    assert solve_alike(problem, ROLES, names, ModuloOptions(goals=()), 2).proven
    assert len(solves) == 2  # without the roles alike, and with
