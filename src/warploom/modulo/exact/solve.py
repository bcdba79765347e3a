"""Answer one request with CP-SAT: one worker, fixed seed, deterministic work limit."""

from ortools.sat.python import cp_model

from warploom.modulo.exact.model import CoreModel, Expr
from warploom.modulo.exact.plain import answer_of, plain_model
from warploom.modulo.exact.registers import add_file
from warploom.modulo.exact.request import CpAnswer, CpRequest, CpStatus
from warploom.modulo.exact.roles import RoleLayer
from warploom.modulo.model import Goal, RingKind

_STATUS = {
    cp_model.OPTIMAL: CpStatus.OPTIMAL,
    cp_model.FEASIBLE: CpStatus.FOUND,
    cp_model.INFEASIBLE: CpStatus.INFEASIBLE,
}


def solve_request(request: CpRequest) -> CpAnswer:
    """Build the model of the request and solve it."""
    if request.plain:
        model, times = plain_model(request)
        solver = _solver(request)
        status = _STATUS.get(solver.solve(model), CpStatus.UNKNOWN)
        found = status in (CpStatus.OPTIMAL, CpStatus.FOUND)
        values = [int(solver.value(t)) for t in times] if found else []
        return answer_of(request, values, status, float(solver.response_proto.deterministic_time))
    core = CoreModel(request)
    roles = RoleLayer(core) if core.system.relaxed else None
    core.add_rings()
    live = _add_layers(core, roles)
    goal = _add_goals(core, roles, live)
    if core.infeasible:
        return CpAnswer(status=CpStatus.INFEASIBLE)
    hint = core.hinted_times()
    if hint is not None:
        core.add_hints(hint)
    solver = _solver(request)
    try:
        code = solver.solve(core.m)
    except Exception:  # its presolve has raised (a key not found) on models that are valid
        solver.parameters.cp_model_presolve = False
        code = solver.solve(core.m)
    return _answer(core, roles, goal, solver, _STATUS.get(code, CpStatus.UNKNOWN))


def _solver(request: CpRequest) -> Expr:
    solver: Expr = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = request.seed
    solver.parameters.max_deterministic_time = request.work
    if request.seconds is not None:
        solver.parameters.max_time_in_seconds = max(request.seconds, 0.01)
    if request.light:
        solver.parameters.linearization_level = 0
    return solver


def _add_layers(core: CoreModel, roles: RoleLayer | None) -> Expr:
    if roles is not None:
        roles.add_arcs()
        roles.add_registers()
        return 0
    core.add_arcs()
    wanted = core.request.goal is Goal.REGISTERS or Goal.REGISTERS in dict(core.request.at_most)
    files = [f for f in core.system.files if wanted or f.budget is not None]
    return sum(add_file(core, f) for f in files)


def _add_goals(core: CoreModel, roles: RoleLayer | None, live: Expr) -> Expr:
    """Freeze earlier goals, minimise the asked one; returns its expression."""
    limits = core.limits()
    goal = core.request.goal
    wanted = set(limits) | ({goal} if goal is not None else set())
    values: dict[Goal, Expr] = {
        Goal.SMEM: core.stored(RingKind.SMEM),
        Goal.RING_REGISTERS: core.stored(RingKind.REG),
        Goal.REGISTERS: live,
        Goal.LENGTH: core.length() if Goal.LENGTH in wanted else 0,
        Goal.CUTS: roles.cuts() if roles is not None and Goal.CUTS in wanted else 0,
    }
    for name, most in limits.items():
        bound = most // core.g if name is Goal.LENGTH else most
        if isinstance(values[name], int):
            core.infeasible |= values[name] > bound
        else:
            core.m.add(values[name] <= bound)
    if goal is None or isinstance(values[goal], int):
        return None
    core.m.minimize(values[goal])
    return values[goal]


def _answer(
    core: CoreModel, roles: RoleLayer | None, goal: Expr, solver: Expr, status: CpStatus
) -> CpAnswer:
    work = float(solver.response_proto.deterministic_time)
    bound = None
    if goal is not None and status is not CpStatus.INFEASIBLE:
        bound = round(solver.best_objective_bound + 0.4999)
        bound *= core.g if core.request.goal is Goal.LENGTH else 1
    if status not in (CpStatus.OPTIMAL, CpStatus.FOUND):
        return CpAnswer(status=status, work=work, bound=bound)
    times = [int(solver.value(t)) * core.g for t in core.time]
    base = min(times) // core.request.ii * core.request.ii
    depths = [d if isinstance(d, int) else int(solver.value(d)) for d in core.depth]
    fixed = core.request.problem.fixed_roles() or ()
    chosen = (
        fixed
        if roles is None
        else tuple(next(r for r, x in on.items() if solver.value(x)) for on in roles.on)
    )
    return CpAnswer(
        status=status,
        times=tuple(t - base for t in times),
        depths=tuple(depths),
        roles=chosen,
        bound=bound,
        work=work,
    )
