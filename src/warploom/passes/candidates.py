"""All programs of a kernel's loop at an interval: what there is to choose from by measuring.

The cost model leaves things out, so its best schedule is one candidate among several. Candidates
are *programs*, not issue times: every order of a consumer's ops and releases, every lag, every way
to take turns for which a schedule exists at the interval. The enumeration is complete or says that
it is not. Each candidate is named by a digest of what it makes the machine do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

from warploom.dataclass import dataclass
from warploom.errors import SchedulingError
from warploom.ir.format1 import schedule_to_json
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.modulo import ModuloOptions, ModuloProblem, ModuloResult, check_result, solve_modulo
from warploom.modulo.bounds.paths import Paths
from warploom.modulo.bounds.plain import plain_bound
from warploom.modulo.bounds.system import build_system
from warploom.modulo.enumerate import WORK, enumerate_programs
from warploom.modulo.model import RingKind
from warploom.modulo.programs import Space
from warploom.modulo.sequence import unit_order_arcs
from warploom.sync.mbarrier import Plan, derive_roles

DIGITS = 10
SOURCE_ORDER = "source"  # ops in the order of the source


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One program: its name, the schedule that proves it possible, and the guarded programs."""

    name: str
    result: ModuloResult
    document: RolesDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The programs found at an interval; ``complete``: there are no others."""

    ii: int
    found: tuple[Candidate, ...]
    complete: bool
    dropped: int

    def named(self, name: str) -> Candidate:
        """The candidate of that name."""
        for candidate in self.found:
            if candidate.name == name:
                return candidate
        raise SchedulingError(
            f"no program {name!r} exists at an interval of {self.ii} cycles",
            why=f"{len(self.found)} programs were found",
            fix="candidates_of lists them",
        )


def candidates_of(
    problem: ModuloProblem,
    plan: Plan,
    *,
    longer: float = 0.0,
    options: ModuloOptions | None = None,
    work: int = WORK,
    best: ModuloResult | None = None,
    late: Callable[[], bool] = lambda: False,
) -> Candidates:
    """All programs at the least interval, which ``best`` may tell, or at one longer by a share.

    ``late``: no further ones, once there is one.
    """
    best = best or solve_modulo(problem, options or ModuloOptions(goals=()))
    ii = int(best.ii * (1 + longer))
    found: dict[str, Candidate] = {}
    dropped, complete = 0, True
    for depths in _deepest(problem):
        listed = enumerate_programs(problem, _space(plan), ii, depths, work=work)
        complete = complete and listed.complete
        dropped += listed.irregular
        for program in listed.found:
            if found and late():
                complete = False
                break
            result = replace(
                best,
                ii=ii,
                times=program.times,
                depths=depths,
                proven=best.proven and ii == best.ii,
                goals=(),
                log=(),
            )
            check_result(result)
            try:
                document = derive_roles(result, plan)
            except SchedulingError:
                dropped += 1
                continue
            name = digest(document, plan)
            found.setdefault(name, Candidate(name=name, result=result, document=document))
    return Candidates(ii=ii, found=tuple(found.values()), complete=complete, dropped=dropped)


def given_times(problem: ModuloProblem, ii: int, *times: int) -> ModuloResult:
    """A schedule that is known: its times are checked, its interval is compared with the bound."""
    bound, limit, res, rec = plain_bound(build_system(problem))
    roles = problem.fixed_roles()
    if roles is None or len(times) != len(problem.ops):
        raise SchedulingError(
            f"{len(times)} issue times for {len(problem.ops)} ops",
            where=f"problem {problem.name!r}",
            why="the times are of another body",
            fix="search anew (candidates_of), or leave the times out",
        )
    result = ModuloResult(
        problem=problem,
        ii=ii,
        lower_bound=bound,
        proven=ii == bound,
        times=tuple(times),
        depths=next(iter(_deepest(problem))),
        roles=roles,
        limit=limit,
        res_mii=res,
        rec_mii=rec,
        rec_mii_at_depths=rec,
    )
    check_result(result)
    return result


def in_source_order(problem: ModuloProblem) -> ModuloResult:
    """Ops as the source has them, one iteration after the other, at the least interval of that.

    Values live no longer than they must, so it is what registers allow where nothing else is.
    """
    system = build_system(problem)
    depths = next(iter(_deepest(problem)))
    places = _text_places(problem)
    arcs = [*system.all_arcs(depths), *unit_order_arcs(system, system.n, places)]
    least, _, earliest = Paths(system.n, arcs).least()
    return given_times(problem, least, *earliest)


def _text_places(problem: ModuloProblem) -> list[int]:
    """The place of every op: as the source has them, but after what they need in the iteration."""
    needs: dict[int, set[int]] = {v: set() for v in range(len(problem.ops))}
    for edge in problem.edges:
        if edge.distance == 0:
            needs[edge.dst].add(edge.src)
    places: dict[int, int] = {}

    def put(v: int) -> None:
        for need in sorted(needs[v] - places.keys()):
            put(need)
        places.setdefault(v, len(places))

    for v in needs:
        put(v)
    return [places[v] for v in needs]


def _space(plan: Plan) -> Space:
    """Consumers run one program, take turns and release their slots."""
    return Space(
        roles=tuple(role.members for role in plan.roles),
        names=plan.aliases,
        rings=tuple(r.name for r in plan.rings),
        unit=plan.turns.unit if plan.turns is not None else None,
    )


def _deepest(problem: ModuloProblem) -> Iterator[tuple[int, ...]]:
    """Ring depths that fit the budget and cannot be raised: shallower rings allow no more."""
    rings, budget = problem.rings, problem.smem_budget
    choices = [
        range(r.min_depth, r.max_depth + 1) if r.kind is RingKind.SMEM else (r.max_depth,)
        for r in rings
    ]

    def fits(depths: tuple[int, ...]) -> bool:
        pairs = zip(rings, depths, strict=True)
        used = sum(r.size * d for r, d in pairs if r.kind is RingKind.SMEM)
        return budget is None or used <= budget

    most = tuple(c[-1] for c in choices)
    if fits(most):
        yield most
        return
    fitting = [d for d in product(*choices) if fits(d)]
    for d in fitting:
        if not any(o != d and all(x >= y for x, y in zip(o, d, strict=True)) for o in fitting):
            yield d


def digest(document: RolesDocument, plan: Plan) -> str:
    """A short name of the loops a document runs, the rest follows from them.

    Ops, rings and registers count by their order in the plan, so that a kernel whose values are
    called otherwise has the same programs.
    """
    names: dict[str, str] = {}
    for kind, listed in (
        ("op", list(plan.actions)),
        ("ring", [r.name for r in plan.rings]),
        ("part", [p.name for r in plan.rings for p in r.parts]),
        ("register", [name for role in plan.roles for name, _ in role.registers]),
    ):
        names |= {name: f"{kind}{i}" for i, name in enumerate(listed) if name not in names}
    data = schedule_to_json(replace(document, flow=None))
    loops = [[p["instances"], p["peel"], p["kernel"]] for p in data["programs"]]
    bare = _bare([loops, [r["depth"] for r in data["rings"]]], names)
    return hashlib.sha256(json.dumps(bare, sort_keys=True).encode()).hexdigest()[:DIGITS]


def _bare(value: object, names: dict[str, str]) -> object:
    if isinstance(value, dict):
        return {k: _bare(v, names) for k, v in value.items() if k != "reason"}
    if isinstance(value, list):
        return [_bare(v, names) for v in value]
    if isinstance(value, str):
        head, dot, rest = value.partition(".")
        return names.get(head, head) + dot + names.get(rest, rest)
    return value
