"""The plain model of one II: cycles, lags, edges, units on a circle. Nothing is pinned.

What loses no solution is not always quicker to solve: on some bodies the search is done with this
before the model of ``CoreModel`` is. It is part of the portfolio for that reason, for bodies that
are nothing but edges and units of one op at a time, with every ring at a fixed depth.
"""

from ortools.sat.python import cp_model

from warploom.modulo.bounds.system import build_system
from warploom.modulo.exact.model import Expr
from warploom.modulo.exact.request import CpAnswer, CpRequest, CpStatus


def plain_model(request: CpRequest) -> tuple[Expr, list[Expr]]:
    """The model and the times of its ops. The order of variables and constraints is part of it: it
    decides what the search tries first.
    """
    system, ii = build_system(request.problem), request.ii
    model: Expr = cp_model.CpModel()
    cycles = [model.new_int_var(0, ii - 1, f"p{v}") for v in range(system.n)]
    lags = [model.new_int_var(0, request.max_lag, f"k{v}") for v in range(system.n)]
    times = [p + ii * k for p, k in zip(cycles, lags, strict=True)]
    for a in system.all_arcs(request.most_depths or system.max_depths()):
        model.add(times[a.dst] + a.distance * ii >= times[a.src] + a.latency)
    for unit in system.units:
        held = []
        for v, length in unit.ops:
            for shift in (0, -ii):
                start = cycles[v] + shift
                held.append(model.new_interval_var(start, length, start + length, ""))
        model.add_no_overlap(held)
    return model, times


def answer_of(request: CpRequest, times: list[int], status: CpStatus, work: float) -> CpAnswer:
    """What was found; that nothing was proves nothing of other depths."""
    if status not in (CpStatus.OPTIMAL, CpStatus.FOUND):
        return CpAnswer(status=status, work=work)
    base = min(times) // request.ii * request.ii
    return CpAnswer(
        status=status,
        times=tuple(t - base for t in times),
        depths=request.most_depths or (),
        roles=request.problem.fixed_roles() or (),
        work=work,
    )
