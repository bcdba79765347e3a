"""The least II with a proof: attempt the bound, gallop up to a schedule, bisect down to the proof.

Feasibility is monotone in II (stages and phases can be kept when a cycle is added at the end), so a
refuted II refutes all below it and bisection is sound. Work limits are counts, not clock time.
"""

from __future__ import annotations

import time
from dataclasses import replace

from warploom.errors import SchedulingError
from warploom.order.attempt import Attempter, Outcome, Refuted
from warploom.order.bounds.energy import MAX_NODES, energetic_bound
from warploom.order.bounds.paths import rec_mii
from warploom.order.bounds.plain import plain_bound, recurrence_limit
from warploom.order.bounds.system import System, build_system
from warploom.order.check import check_result
from warploom.order.exact.process import (
    ExactSolver,
    exact_solver_available,
    require_exact_solver,
    shared_solver,
)
from warploom.order.exact.request import Incumbent
from warploom.order.goals import fewest_stages, improve
from warploom.order.limits import explain_energy, explain_refusal
from warploom.order.model import ModuloProblem
from warploom.order.options import ExactUse, ModuloOptions, Progress, ProgressCallback
from warploom.order.result import Limit, LimitKind, ModuloResult
from warploom.order.validate import validate

NODES_BESIDE_OPS = 2


def solve_modulo(
    problem: ModuloProblem,
    options: ModuloOptions | None = None,
    *,
    progress: ProgressCallback | None = None,
    solver: ExactSolver | None = None,
) -> ModuloResult:
    """A schedule of least II, then least in each goal, re-checked by the independent checker.

    Raises the errors of ``validate``, ``InfeasibleError`` when no II fits the budgets, and
    ``MissingExtraError`` when the options require CP-SAT and it is not installed.
    """
    options = options or ModuloOptions()
    validate(problem)
    search = _Search(problem, options, progress, _pick_solver(options, solver))
    result = search.run()
    check_result(result)
    return result


def _pick_solver(options: ModuloOptions, solver: ExactSolver | None) -> ExactSolver | None:
    if options.exact is ExactUse.NEVER:
        return None
    if solver is not None:
        return solver
    if options.exact is ExactUse.REQUIRE:
        require_exact_solver()
    return shared_solver() if exact_solver_available() else None


class _Search:
    """The interval [low, high] in which the least II lies, narrowed step by step."""

    def __init__(
        self,
        problem: ModuloProblem,
        options: ModuloOptions,
        progress: ProgressCallback | None,
        solver: ExactSolver | None,
    ) -> None:
        self.system: System = build_system(problem)
        self.options, self.progress = options, progress
        self.log: list[str] = []
        self.low = 1
        self.high: int | None = None
        self.best: Incumbent | None = None
        self.limit = Limit(kind=LimitKind.TRIVIAL, text="II cannot be less than one cycle")
        self.attempter = Attempter(self.system, options, solver, self.say)
        if solver is None and options.exact is ExactUse.AUTO:
            self.say("OR-tools is not installed: bounds and heuristic only")

    def say(self, step: str) -> None:
        """Log a step and report it."""
        self.log.append(step)
        if self.progress is not None:
            self.progress(Progress(step=step, low=self.low, high=self.high))

    def run(self) -> ModuloResult:
        """Find II, then the goals, then the rotation with the fewest stages."""
        start = time.perf_counter()
        self.low, self.limit, res, rec = plain_bound(self.system)
        self.say(f"ResMII {res}, RecMII {rec}, bound {self.low}: {self.limit}")
        self._find_ii()
        to_ii = time.perf_counter() - start
        assert self.best is not None
        assert self.high is not None
        ii, proven = self.high, self.low == self.high
        if not proven:
            text = f"work limit: II {self.low} to {ii - 1} neither found nor refuted"
            self.limit = Limit(kind=LimitKind.WORK, text=text)
        elif self.limit.kind is LimitKind.SEARCH:
            self.limit = explain_refusal(self.attempter, ii - 1)
        best, goals = improve(self.attempter, ii, self.best)
        best = replace(best, times=fewest_stages(best.times, ii))
        return ModuloResult(
            problem=self.system.problem,
            ii=ii,
            lower_bound=self.low,
            proven=proven,
            times=best.times,
            depths=best.depths,
            roles=best.roles,
            limit=self.limit,
            res_mii=res,
            rec_mii=rec,
            rec_mii_at_depths=max(1, rec_mii(self.system.n, self.system.all_arcs(best.depths))[0]),
            goals=goals,
            log=tuple(self.log),
            seconds=time.perf_counter() - start,
            seconds_to_ii=to_ii,
        )

    def _find_ii(self) -> None:
        found = self.attempter.find(self.low)
        if found is not None:
            self.high, self.best = self.low, found
            return
        self._raise_by_energy()
        if self._take(self.low, self.attempter.full(self.low)):
            return
        self._gallop()
        self._bisect()

    def _raise_by_energy(self) -> None:
        nodes = self.system.n + NODES_BESIDE_OPS + len(self.system.problem.values)
        if nodes > MAX_NODES:
            return
        bound = energetic_bound(self.system, self.low)
        if bound > self.low:
            self.limit = explain_energy(self.system, bound - 1)
            self.low = bound
            self.say(f"energetic bound {bound}: {self.limit}")

    def _take(self, ii: int, outcome: Outcome) -> bool:
        """Narrow the interval by one outcome; True when a schedule was found."""
        if isinstance(outcome, Incumbent):
            if self.high is None or ii < self.high:
                self.high, self.best = ii, outcome
            return True
        if isinstance(outcome, Refuted) and ii >= self.low:
            self.low, self.limit = ii + 1, outcome.limit
        return False

    def _gallop(self) -> None:
        """Steps 1, 2, 4, ... upward with the heuristic; with everything when steps are large."""
        ii, step = max(self.low, 2), 1
        ceiling = 8 * (self.low + sum(a.latency for a in self.system.arcs)) + 8
        while self.high is None:
            hard = step >= self.low or self.attempter.small()
            if self._take(ii, self.attempter.full(ii) if hard else self.attempter.quick(ii)):
                return
            if ii > ceiling:
                raise SchedulingError(
                    f"no schedule of {self.system.problem.name!r} was found up to II {ii}",
                    why="the work limits were reached; "
                    + ("a budget may be too small" if self.attempter.solver else "no exact solver"),
                    fix="raise ModuloOptions.tries or find_work, or relax the budgets",
                )
            ii, step = ii + step, step * 2

    def _bisect(self) -> None:
        """Between the bound and the schedule; what stays open keeps the result unproven."""
        assert self.high is not None
        at = self.low
        while at < self.high:
            mid = (at + self.high) // 2
            if not self._take(mid, self.attempter.full(mid)):
                at = mid + 1


def critical_recurrence(result: ModuloResult) -> Limit:
    """The tightest recurrence at the depths chosen, for reports."""
    system = build_system(result.problem.with_roles(result.roles))
    _, cycle = rec_mii(system.n, system.all_arcs(result.depths))
    if not cycle:
        return Limit(kind=LimitKind.TRIVIAL, text="no recurrence")
    return recurrence_limit(result.problem, cycle)
