"""Hard bodies for the modulo scheduler, and a plain CP-SAT model to compare with."""

from __future__ import annotations

from functools import partial

from tests.modulo.random_bodies import RandomShape, random_body


def hard_body(ops, seed):
    """One recurrence at 97 % of the busiest unit, and odd occupancies."""
    shape = RandomShape(
        ops=ops, rings=ops // 8, ring_depth=8, occupancies=(3, 5, 8, 16), tight=0.97
    )
    return random_body(shape, seed)


BODIES = {
    "hard24": partial(hard_body, 24, 1),
    "hard96a": partial(hard_body, 96, 1),
    "hard96b": partial(hard_body, 96, 2),
    "hard192": partial(hard_body, 192, 1),
}


def body_named(name):
    """A body by its name, or by ops and seed, as ``96:7``."""
    if name in BODIES:
        return BODIES[name]()
    ops, seed = name.split(":")
    return hard_body(int(ops), int(seed))


def plain_model(problem, work=60.0):
    """The least II with a proof, interval by interval from the plain bound on: no heuristic, no
    bounds beside it, one worker. Units are intervals and their copies an interval earlier.
    """
    from ortools.sat.python import cp_model

    from warploom.modulo.bounds.plain import plain_bound
    from warploom.modulo.bounds.system import build_system

    system = build_system(problem)
    first = plain_bound(system)[0]
    arcs = system.all_arcs(system.max_depths())
    for ii in range(first, 4 * first):
        model, n = cp_model.CpModel(), system.n
        phases = [model.new_int_var(0, ii - 1, f"p{v}") for v in range(n)]
        stages = [model.new_int_var(0, n, f"k{v}") for v in range(n)]
        times = [phases[v] + ii * stages[v] for v in range(n)]
        for a in arcs:
            model.add(times[a.dst] + a.distance * ii >= times[a.src] + a.latency)
        for unit in system.units:
            both = []
            for v, cycles in unit.ops:
                for shift in (0, -ii):
                    start = phases[v] + shift
                    both.append(model.new_interval_var(start, cycles, start + cycles, ""))
            model.add_no_overlap(both)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = work
        status = solver.solve(model)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return {"ii": ii, "bound": ii, "proven": True}
        if status != cp_model.INFEASIBLE:
            return {"ii": None, "bound": ii, "proven": False}
    return {"ii": None, "bound": ii, "proven": False}
