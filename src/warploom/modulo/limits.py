"""Why II - 1 is impossible, when a plain bound does not say it: find the constraint that blocks."""

from dataclasses import replace

from warploom.modulo.attempt import Attempter
from warploom.modulo.bounds.energy import closure
from warploom.modulo.bounds.system import System, build_system
from warploom.modulo.exact.request import Incumbent
from warploom.modulo.model import ModuloProblem
from warploom.modulo.options import ModuloOptions
from warploom.modulo.result import Limit, LimitKind


def explain_energy(system: System, ii: int) -> Limit:
    """Name the unit whose ops, with the recurrences, already refute ``ii``."""
    for unit in system.units:
        alone = replace(system, units=(unit,))
        if unit.capacity == 1 and closure(alone, ii, system.max_depths()) is None:
            return Limit(
                kind=LimitKind.ENERGY,
                text=f"recurrences through unit {unit.name!r} (energetic bound): II {ii} leaves "
                "no cycles for its ops between their predecessors and successors",
                culprits=(unit.name,),
            )
    return Limit(
        kind=LimitKind.ENERGY,
        text=f"recurrences through several units together (energetic bound) forbid II {ii}",
        culprits=tuple(u.name for u in system.units if u.capacity == 1),
    )


def explain_refusal(attempter: Attempter, ii: int) -> Limit:
    """Relax one thing at a time at an II that search refuted; what makes it feasible blocks it."""
    problem = attempter.system.problem
    brief = replace(attempter, options=_brief(attempter.options), say=_silent)
    for kind, text, culprits, relaxed in _relaxations(problem):
        trial = replace(brief, system=build_system(relaxed))
        if isinstance(trial.full(ii), Incumbent):
            return Limit(kind=kind, text=f"{text} blocks II {ii}", culprits=culprits)
    blocking = [u.name for u in attempter.system.units if _needed(brief, u.name, ii)]
    if blocking:
        names = ", ".join(repr(b) for b in blocking)
        return Limit(
            kind=LimitKind.UNIT,
            text=f"units {names} with the recurrences: search refuted II {ii}; without any one "
            "of these units it is feasible",
            culprits=tuple(blocking),
        )
    return Limit(
        kind=LimitKind.SEARCH,
        text=f"units and recurrences together: search refuted II {ii}",
        culprits=tuple(u.name for u in attempter.system.units),
    )


def _needed(attempter: Attempter, unit: str, ii: int) -> bool:
    """True when II is feasible as soon as one unit is taken away."""
    problem = attempter.system.problem
    uses = [u for u in attempter.system.units if u.name == unit and u.stream]
    streamed = {v for u in uses for v, _ in u.ops}
    ops = tuple(
        replace(
            op,
            unit=None if op.unit == unit else op.unit,
            also=tuple(h for h in op.also if h.unit != unit),
            issue=0 if v in streamed else op.issue,
            pieces=0 if v in streamed else op.pieces,
        )
        for v, op in enumerate(problem.ops)
    )
    trial = replace(attempter, system=build_system(replace(problem, ops=ops)))
    return isinstance(trial.full(ii), Incumbent)


def _brief(options: ModuloOptions) -> ModuloOptions:
    """An explanation is worth little work: what it does not find stays unnamed."""
    return replace(
        options,
        tries=1,
        find_work=min(options.find_work, 0.25),
        prove_work=min(options.prove_work, 0.25),
    )


def _relaxations(
    problem: ModuloProblem,
) -> list[tuple[LimitKind, str, tuple[str, ...], ModuloProblem]]:
    out = []
    if problem.smem_budget is not None:
        out.append(
            (
                LimitKind.SMEM,
                f"the shared-memory budget {problem.smem_budget}",
                tuple(r.name for r in problem.rings if r.kind == "smem"),
                replace(problem, smem_budget=None),
            )
        )
    limited = tuple(r.name for r in problem.roles if r.register_budget is not None)
    if limited:
        free = tuple(replace(r, register_budget=None) for r in problem.roles)
        text = f"the register budget of {', '.join(limited)}"
        out.append((LimitKind.REGISTERS, text, limited, replace(problem, roles=free)))
    if problem.isolate:
        text = "partition isolation"
        out.append((LimitKind.SEARCH, text, ("isolate",), replace(problem, isolate=False)))
    return out


def _silent(step: str) -> None:
    del step
