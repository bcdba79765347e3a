"""Is there a schedule at one II? Bounds, heuristic, CP-SAT on a coarse grid, CP-SAT exact.

The answer is a schedule (``Found``), a proof that there is none (``Refuted``), or neither.
"""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from math import gcd

from warploom.dataclass import dataclass
from warploom.modulo.bounds.energy import closure
from warploom.modulo.bounds.paths import IntMatrix, distances
from warploom.modulo.bounds.plain import budget_limit, depth_bounds
from warploom.modulo.bounds.system import System, build_system
from warploom.modulo.check import check_schedule
from warploom.modulo.clock import Deadline
from warploom.modulo.exact.process import ExactSolver
from warploom.modulo.exact.request import CpAnswer, CpRequest, CpStatus, Incumbent
from warploom.modulo.options import ModuloOptions
from warploom.modulo.placement.heuristic import find_schedule
from warploom.modulo.programs import candidate_assignments
from warploom.modulo.result import Limit, LimitKind

SMALL_LAG = 4
COPIES = (0, 1, 4)  # how many copies above the least the heuristic is given
WIDEST_TABLE = 1 << 24  # cycles of an interval up to which the heuristic's bit sets are built
ASKING = 0.2  # work that a question costs at the least: models are built and sent
SLICE = 0.6  # work for a model of the portfolio
# Of the two models with deep rings: whether it is the plain one, and its work.
SLICES = ((False, 0.1), (True, 0.3), (False, 0.4), (True, 1.2), (False, 1.5))
SMALL = 24  # ops up to which the exact question is as quick as the coarse one


@dataclass(frozen=True, slots=True)
class Refuted:
    """A proof that the II is impossible."""

    limit: Limit


@dataclass(frozen=True, slots=True)
class Open:
    """The work limit was reached first."""


Outcome = Incumbent | Refuted | Open
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Attempter:
    """Everything needed to try one II after another."""

    system: System
    options: ModuloOptions
    solver: ExactSolver | None
    say: Say
    deadline: Deadline = field(default_factory=Deadline)
    unanswered: dict[CpRequest, CpAnswer] = field(default_factory=dict)

    def quick(self, ii: int) -> Outcome:
        """Bounds and heuristic only."""
        self.deadline.check()
        return self._bounded(ii, self._distances(ii), exact=False)

    def _distances(self, ii: int) -> IntMatrix | None:
        arcs = self.system.all_arcs(self.system.max_depths())
        return distances(self.system.n, arcs, ii, self.deadline.check)

    def find(self, ii: int) -> Incumbent | None:
        """A schedule at the plain bound: the heuristic once, then CP-SAT at least depths.

        Neither needs the energetic closure, which takes longer than both on large bodies.
        """
        d = self._distances(ii)
        least = depth_bounds(self.system, ii, d) if d is not None else None
        if d is None or least is None or budget_limit(self.system, ii, least, d) is not None:
            return None
        result = self._heuristic(ii, least, 1, (0,))
        if result is not None or self.solver is None or self.small():
            return result
        return self._portfolio(ii, least) or self._coarse(ii, least)

    def full(self, ii: int) -> Outcome:
        """Everything, up to the work limits."""
        self.deadline.check()
        return self._bounded(ii, closure(self.system, ii, self.system.max_depths()), exact=True)

    def _bounded(self, ii: int, d: IntMatrix | None, *, exact: bool) -> Outcome:
        if d is None:
            text = f"units and recurrences together forbid II {ii} (energetic bound)"
            return Refuted(Limit(kind=LimitKind.ENERGY, text=text))
        least = depth_bounds(self.system, ii, d)
        blocked = budget_limit(self.system, ii, least, d)
        if blocked is not None or least is None:
            self.say(f"II {ii}: refuted by {blocked}")
            return Refuted(blocked or Limit(kind=LimitKind.SEARCH, text="no feasible depth"))
        if self.solver is None:
            return self._heuristic(ii, least, self.options.tries, COPIES) or Open()
        if exact and self.small():  # a refusal takes less than a heuristic that finds nothing
            answer = self._exact(ii, least)
            refused = isinstance(answer, Refuted)
            return answer if refused else self._heuristic(ii, least, 1, (0,)) or answer
        found = self._heuristic(ii, least, 1, (0,) if exact else COPIES)
        if found is not None or not exact:
            return found or Open()
        return (
            self._portfolio(ii, least)
            or self._coarse(ii, least)
            or self._heuristic(ii, least, self.options.tries, COPIES)
            or self._exact(ii, least)
        )

    def _heuristic(
        self, ii: int, least: tuple[int, ...], tries: int, copies: tuple[int, ...]
    ) -> Incumbent | None:
        """At least depths first: success there proves them least. Then with more copies."""
        tried: set[tuple[int, ...]] = set()
        for more in (0,) if self.small() else copies:
            depths = tuple(
                min(r.max_depth, x + more)
                for r, x in zip(self.system.problem.rings, least, strict=True)
            )
            if depths in tried:
                break
            tried.add(depths)
            result = self._place(ii, depths, tries)
            if result is not None:
                self.say(f"II {ii}: heuristic found a schedule, {more} copies above the least")
                return result
        return None

    def small(self) -> bool:
        """True when the exact solver answers sooner than many tries of the heuristic."""
        return self.solver is not None and self.system.n <= SMALL

    def _place(self, ii: int, depths: tuple[int, ...], tries: int) -> Incumbent | None:
        problem = self.system.problem
        if ii > WIDEST_TABLE:
            return None
        for roles in candidate_assignments(problem):
            self.deadline.check()
            fixed = problem.with_roles(roles) if self.system.relaxed else problem
            system = build_system(fixed) if self.system.relaxed else self.system
            times = find_schedule(
                system, ii, depths, tries=tries, seed=self.options.seed, check=self.deadline.check
            )
            if times is not None:
                report = check_schedule(problem, ii, times, depths, roles=roles)
                if not report.errors:
                    return Incumbent(times=times, depths=depths, roles=roles)
        return None

    def _portfolio(self, ii: int, least: tuple[int, ...]) -> Incumbent | None:
        """A little work for each of some models: some bodies are easy with every ring at its
        deepest, others at its least. Where storage is minimised next, the least comes first.

        Which of two models of the same question is quicker is luck; with growing slices neither
        costs much where the other has it.
        """
        most = self.options.find_work
        if self.options.goals:
            first = self._coarse(ii, least, SLICE)
            return first or self._deep(ii, min(2 * SLICE, most))
        for plain, work in SLICES if is_plain(self.system) else ((False, SLICE),):
            result = self._deep(ii, min(work, most), plain=plain)
            if result is not None:
                return result
        return None

    def _deep(self, ii: int, work: float, *, plain: bool = False) -> Incumbent | None:
        """CP-SAT with every ring at its deepest, where that fits: nothing is left but edges."""
        most = self.system.max_depths()
        budget = self.system.problem.smem_budget
        if budget is not None and self.system.smem(most) > budget:
            return None
        answer = self.ask(
            CpRequest(
                problem=self.system.problem,
                ii=ii,
                max_lag=self.system.n if plain else SMALL_LAG,
                work=work,
                least_depths=most,
                most_depths=most,
                plain=plain,
            )
        )
        model = "plain model" if plain else "CP"
        self.say(f"II {ii}: {model} at the largest depths: {describe(answer)}")
        return as_incumbent(answer) if answer.solved else None

    def _coarse(
        self, ii: int, least: tuple[int, ...], most_work: float | None = None
    ) -> Incumbent | None:
        """CP-SAT at least depths on coarse grids, small lags: quick to find, proves nothing."""
        for grid in [*coarse_grids(self.system, ii), 1]:
            work = self.options.find_work if grid > 1 else self.options.find_work / 4
            work = work if most_work is None else min(work, most_work)
            answer = self.ask(
                CpRequest(
                    problem=self.system.problem,
                    ii=ii,
                    max_lag=SMALL_LAG,
                    work=work,
                    grid=grid,
                    least_depths=least,
                    most_depths=least,
                    light=True,
                )
            )
            self.say(f"II {ii}: CP grid {grid}, least depths: {describe(answer)}")
            if answer.solved:
                return as_incumbent(answer)
        return None

    def _exact(self, ii: int, least: tuple[int, ...]) -> Outcome:
        answer = self.ask(
            CpRequest(
                problem=self.system.problem,
                ii=ii,
                max_lag=safe_lag(self.system, ii),
                work=self.options.prove_work,
                least_depths=least,
            )
        )
        self.say(f"II {ii}: CP exact: {describe(answer)}")
        if answer.solved:
            return as_incumbent(answer)
        if answer.status is not CpStatus.INFEASIBLE:
            return Open()
        limit = Limit(kind=LimitKind.SEARCH, text=f"exhaustive search: II {ii} is infeasible")
        return Refuted(limit)

    def ask(self, request: CpRequest) -> CpAnswer:
        """Put one question to the exact solver; what is left of the solve bounds it."""
        assert self.solver is not None
        limits = self.deadline
        limits.check()
        work = limits.work_left(request.work)
        key = replace(request, work=work)
        if key in self.unanswered:  # deterministic: the same work would end without answer again
            answer = self.unanswered[key]
        else:
            answer = self.solver.solve(replace(request, work=work, seconds=limits.left()))
            limits.worked += answer.work
            if answer.status is CpStatus.UNKNOWN and not answer.note and limits.left() != 0.0:
                self.unanswered[key] = answer
        limits.spent += max(answer.work, ASKING)
        return answer


def describe(answer: CpAnswer) -> str:
    """An answer as a few words for the log."""
    note = f", {answer.note}" if answer.note else ""
    return f"{answer.status.value} (work {answer.work:.2f}{note})"


def as_incumbent(answer: CpAnswer) -> Incumbent:
    """The schedule of a solved answer."""
    return Incumbent(times=answer.times, depths=answer.depths, roles=answer.roles)


def coarse_grids(system: System, ii: int) -> list[int]:
    """Grids worth trying, coarse first: divisors shared with the fullest unit, then with all."""
    if not system.units:
        return []
    fullest = max(system.units, key=lambda u: u.load() / u.capacity)
    first = gcd(ii, *(c for _, c in fullest.ops))
    second = gcd(first, *(c for u in system.units for _, c in u.ops))
    out: list[int] = []
    for g in (first, second):
        if g > 1 and g not in out and _fits(system, ii, g):
            out.append(g)
    return out


def _fits(system: System, ii: int, g: int) -> bool:
    return all(sum(-(-c // g) for _, c in u.ops) * g <= ii * u.capacity for u in system.units)


def is_plain(system: System) -> bool:
    """Whether edges and units are all that a body has."""
    problem = system.problem
    return not (
        system.relaxed
        or problem.isolate
        or any(f.budget is not None for f in system.files)
        or any(u.capacity != 1 for u in system.units)
    )


def safe_lag(system: System, ii: int) -> int:
    """A lag no schedule needs to exceed.

    With cycles, depths, roles and the most each value may live fixed, the lags solve difference
    constraints; the least solution is a simple path, which leaves each op once. A use far away
    (loop distance) of a value that may live only briefly pushes its definition as far back.
    """
    problem = system.problem
    costs = [problem.handoff, problem.release, *(e.handoff or 0 for e in problem.edges)]
    extra = max(costs) if system.relaxed else 0
    reach = [1] * system.n
    shallow: Sequence[int] = [r.min_depth for r in problem.rings]
    for a in system.all_arcs(shallow):
        steps = -(-(a.latency + extra + ii - 1) // ii) - min(a.distance, 0)
        reach[a.src] = max(reach[a.src], steps)
    for value in problem.values:
        for use in value.uses:
            steps = -(-(use.hold + ii - 1) // ii) + use.distance
            reach[use.op] = max(reach[use.op], steps)
    return sum(reach)
