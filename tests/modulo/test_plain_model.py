"""The portfolio's plain model answers as the pinned one does, and is asked in growing slices."""

from __future__ import annotations

import pytest

pytest.importorskip("ortools", reason="OR-tools is not installed")

from tests.modulo.random_bodies import RandomShape, random_body
from warploom.modulo import ModuloOptions, solve_modulo
from warploom.modulo.attempt import SLICES, is_plain
from warploom.modulo.bounds.plain import plain_bound
from warploom.modulo.bounds.system import build_system
from warploom.modulo.check import check_schedule
from warploom.modulo.exact.process import shared_solver
from warploom.modulo.exact.request import CpRequest, CpStatus

TIGHT = RandomShape(ops=10, rings=2, ring_depth=3, occupancies=(3, 5, 8, 16), tight=0.97)


@pytest.mark.parametrize("seed", range(8))
def test_both_models_agree(seed):
    problem = random_body(TIGHT, seed)
    system = build_system(problem)
    assert is_plain(system)
    least, most = plain_bound(system)[0], system.max_depths()
    for ii in (least - 1, least, least + 3):
        answers = [
            shared_solver().solve(
                CpRequest(
                    problem=problem,
                    ii=ii,
                    max_lag=system.n,
                    work=20.0,
                    least_depths=most,
                    most_depths=most,
                    plain=plain,
                )
            )
            for plain in (False, True)
        ]
        assert answers[0].solved == answers[1].solved
        for found in answers:
            if found.solved:
                assert not check_schedule(problem, ii, found.times, found.depths).errors
            else:
                assert found.status is CpStatus.INFEASIBLE


class Counted:
    """The solver with a list of what it was asked."""

    def __init__(self):
        self.asked = []

    def solve(self, request):
        self.asked.append((request.plain, request.work))
        return shared_solver().solve(request)


def test_a_hard_body_is_found_in_the_slices():
    problem = random_body(
        RandomShape(ops=96, rings=12, ring_depth=8, occupancies=(3, 5, 8, 16), tight=0.97), 4
    )
    asked = Counted()
    result = solve_modulo(problem, ModuloOptions(goals=()), solver=asked)
    assert result.proven
    assert asked.asked == list(SLICES[: len(asked.asked)])
    assert len(asked.asked) <= 2  # the plain model has it where the other does not
