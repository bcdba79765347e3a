"""The least II with a proof: attempt the bound, gallop up to a schedule, bisect down to the proof.

Feasibility is monotone in II (lags and cycles can be kept when a cycle is added at the end), so a
refuted II refutes all below it and bisection is sound; the few bodies where it is not (see
``is_monotone``) are scanned. Above ``deciding_interval`` nothing changes: refuted there is refuted
for good. Limits are counts of work; reaching one, a time limit or an interrupt returns the best
found so far.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from warploom.errors import SchedulingError
from warploom.modulo.attempt import ASKING, Attempter, Open, Outcome, Refuted
from warploom.modulo.bounds.energy import MAX_NODES, energetic_bound
from warploom.modulo.bounds.paths import Cycle, Paths, rec_mii
from warploom.modulo.bounds.plain import deciding_interval, is_monotone, never, plain_bound
from warploom.modulo.bounds.system import System, build_system
from warploom.modulo.check import check_result
from warploom.modulo.clock import TIME, Deadline, OutOfTimeError, stopped_by
from warploom.modulo.exact import process
from warploom.modulo.exact.request import Incumbent
from warploom.modulo.goals import improve, least_overlap
from warploom.modulo.limits import explain_energy, explain_refusal
from warploom.modulo.model import ModuloProblem
from warploom.modulo.options import ExactUse, ModuloOptions, Progress, ProgressCallback
from warploom.modulo.programs import candidate_assignments
from warploom.modulo.result import Limit, LimitKind, ModuloResult
from warploom.modulo.sequence import Program, as_result, downhill, tightened
from warploom.modulo.validate import validate

NODES_BESIDE_OPS = 2
GLANCE = 0.1  # work at each interval on the way up to a first schedule
FAR = 2  # times the work within the gap, for a schedule that is not
SCANNED = 2000  # intervals that are refuted one by one, at the most


def solve_modulo(
    problem: ModuloProblem,
    options: ModuloOptions | None = None,
    *,
    progress: ProgressCallback | None = None,
    solver: process.ExactSolver | None = None,
    starts: Sequence[Program] = (),
) -> ModuloResult:
    """A schedule of least II, then least in each goal, re-checked by the independent checker.

    ``starts`` are orders known to be good: never lost, and walked downhill from before anything is
    left to the exact solver, which long latencies and shallow rings make slow.

    An interrupt (Ctrl-C) once a schedule is known ends the solve like the time limit: the best
    found comes back with ``stopped`` set and with the bound proven so far.

    Raises the errors of ``validate``, ``InfeasibleError`` when no II fits the budgets, and
    ``MissingExtraError`` when the options require CP-SAT and it is not installed.
    """
    options = options or ModuloOptions()
    validate(problem)
    search = _Search(problem, options, progress, _pick_solver(options, solver), starts)
    result = search.run()
    check_result(result)
    return result


def schedule_at(
    problem: ModuloProblem, ii: int, options: ModuloOptions | None = None
) -> Incumbent | None:
    """A schedule at one II, up to the work limits; no other II is looked at."""
    options = options or ModuloOptions()
    system = build_system(problem)
    deadline = Deadline(options.seconds, options.work)
    attempter = Attempter(system, options, _pick_solver(options, None), lambda _: None, deadline)
    try:
        found = attempter.full(ii)
    except OutOfTimeError:
        return None
    return found if isinstance(found, Incumbent) else None


def what_blocks(
    result: ModuloResult,
    options: ModuloOptions | None = None,
    *,
    solver: process.ExactSolver | None = None,
) -> Limit:
    """What stands in the way of an interval one less.

    That is the limit of the result, but where search alone refuted that interval: then one
    relaxation after the other is asked, which a solve without ``ModuloOptions.explain`` left out.
    """
    options = options or ModuloOptions()
    if not result.proven or result.limit.kind is not LimitKind.SEARCH:
        return result.limit
    system, deadline = build_system(result.problem), Deadline(options.seconds, options.work)
    asker = Attempter(system, options, _pick_solver(options, solver), lambda _: None, deadline)
    try:
        return explain_refusal(asker, result.lower_bound - 1)
    except OutOfTimeError:
        return result.limit


def _pick_solver(
    options: ModuloOptions, solver: process.ExactSolver | None
) -> process.ExactSolver | None:
    if options.exact is ExactUse.NEVER:
        return None
    if solver is not None:
        return solver
    if options.exact is ExactUse.REQUIRE:
        process.require_exact_solver()
    return process.shared_solver() if process.exact_solver_available() else None


class _Search:
    """The interval [low, high] in which the least II lies, narrowed step by step."""

    def __init__(
        self,
        problem: ModuloProblem,
        options: ModuloOptions,
        progress: ProgressCallback | None,
        solver: process.ExactSolver | None,
        starts: Sequence[Program] = (),
    ) -> None:
        self.starts = starts
        self.system: System = build_system(problem)
        self.options, self.progress = options, progress
        self.log: list[str] = []
        self.low = 1
        self.high: int | None = None
        self.best: Incumbent | None = None
        self.found_from: float | None = None  # work spent when there was a first schedule
        self.close_from: float | None = None  # and when the gap was reached
        self.limit = Limit(kind=LimitKind.TRIVIAL, text="II cannot be less than one cycle")
        self.top = deciding_interval(self.system)
        deadline = Deadline(options.seconds, options.work)
        self.attempter = Attempter(self.system, options, solver, self.say, deadline)
        if solver is None and options.exact is ExactUse.AUTO:
            self.say("OR-tools is not installed: bounds and heuristic only")

    def say(self, step: str) -> None:
        """Log a step and report it."""
        self.log.append(step)
        if self.progress is not None:
            self.progress(Progress(step=step, low=self.low, high=self.high))

    def run(self) -> ModuloResult:
        """Find II, then the goals, then the rotation with the least overlap."""
        start = time.perf_counter()
        self.low, self.limit, res, rec = plain_bound(self.system)
        self.say(f"ResMII {res}, RecMII {rec}, bound {self.low}: {self.limit}")
        stopped = self._until_stopped()
        to_ii = time.perf_counter() - start
        assert self.best is not None
        assert self.high is not None
        ii, proven = self.high, self.low == self.high
        if not proven:
            text = f"{stopped or 'work limit'}: II {self.low} to {ii - 1} neither found nor refuted"
            self.limit = Limit(kind=LimitKind.WORK, text=text)
        best, goals, cut = (
            improve(self.attempter, ii, self.best)
            if not stopped
            else (
                self.best,
                (),
                stopped,
            )
        )
        best = replace(best, times=least_overlap(best.times, ii))
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
            stopped=stopped or cut,
            seconds=time.perf_counter() - start,
            seconds_to_ii=to_ii,
        )

    def _until_stopped(self) -> str:
        """Search; a time limit or an interrupt ends it with the best so far, if there is one."""
        try:
            self._find_ii()
            searched = self.low == self.high and self.limit.kind is LimitKind.SEARCH
            if searched and self.options.explain:
                self.limit = explain_refusal(self.attempter, self.low - 1)
        except KeyboardInterrupt as stop:
            if self.best is None and not self._any_schedule(in_time=True):
                raise
            return stopped_by(stop)
        except OutOfTimeError as stop:
            if self.best is None and not self._any_schedule(in_time=str(stop) != TIME):
                raise SchedulingError(
                    f"no schedule of {self.system.problem.name!r} was found up to the {stop}",
                    why=f"the least II is at least {self.low}; nothing else is known",
                    fix="raise ModuloOptions.work or seconds, or relax the budgets",
                ) from None
            return stopped_by(stop)
        return ""

    def _any_schedule(self, *, in_time: bool) -> bool:
        """After the deadline: one look of the heuristic at intervals where it seldom fails.

        When time is up, the ops one after the other, if that is a schedule: no search at all.
        """
        late = replace(self.attempter, deadline=Deadline())
        if not in_time and self._one_after_the_other():
            return True
        return any(self._take(ii, late.quick(ii)) for ii in self._easy_intervals())

    def _easy_intervals(self) -> list[int]:
        """Intervals above the bound at which one try of the heuristic seldom fails."""
        wide = (self.low * 104 // 100 + 1, self.low * 5 // 4 + 1, 2 * self.low, 16 * self.low)
        return [*dict.fromkeys(min(ii, self.top) for ii in (*wide, self.top))]

    def _schedule_before_proof(self) -> None:
        """Under a time limit a schedule comes first: the first question may take all of it."""
        for ii in self._easy_intervals():
            if self._take(ii, self.attempter.quick(ii)):
                self.say(f"II {self.high}: a first schedule of the heuristic")
                return

    def _one_after_the_other(self) -> bool:
        problem, depths = self.system.problem, self.system.max_depths()
        early = Paths(self.system.n, self.system.all_arcs(depths)).at(self.top)
        if isinstance(early, Cycle):
            return False
        order = tuple(sorted(range(self.system.n), key=lambda v: (early[v], v)))
        roles = candidate_assignments(problem)[0]
        fixed = problem.with_roles(roles) if self.system.relaxed else problem
        found = as_result(fixed, Program(order, depths))
        if found is None:
            return False
        return self._take(
            found.ii, Incumbent(times=found.times, depths=found.depths, roles=found.roles)
        )

    def _walk_down(self) -> None:
        """From known orders to better ones near them, by the least II of each order."""
        for start in self.starts:
            for found in downhill(self.system.problem, start, self.low, seed=self.options.seed):
                if self.high is None or found.ii < self.high:
                    best = Incumbent(times=found.times, depths=found.depths, roles=found.roles)
                    self.high, self.best = found.ii, best  # together: an interrupt may come here
                self.attempter.deadline.check()
            if self.high is not None:
                self.say(f"II {self.high}: the best order near a known one")
            if self.high == self.low:
                return

    def _find_ii(self) -> None:
        self._walk_down()
        if self.high is None and self.options.seconds is not None:
            self._schedule_before_proof()
        if self.high == self.low:
            return
        found = self.attempter.find(self.low)
        if found is not None:
            self.high, self.best = self.low, found
            return
        self._raise_by_energy()
        first = self.low
        if not is_monotone(self.system.problem):
            self._scan(first)
            return
        if self._take(first, self.attempter.full(first)):
            return
        self._gallop()
        # Between the bound and the schedule; what stays open keeps the result unproven
        assert self.high is not None
        at = self.low
        while at < self.high:
            mid, asker = (at + self.high) // 2, self._asker()
            if asker is None:
                return
            if not self._take(mid, asker.full(mid)):
                at = mid + 1
        self._step_down()

    def _asker(self) -> Attempter | None:
        """Who tries a lesser II; None when the schedule at hand is good enough, or when it has
        stayed the best for as much work as is due.
        """
        options, worked = self.options, self.attempter.deadline.worked
        if self.high is None or not options.gap:
            return self.attempter
        near = self.high - self.low <= options.gap * self.low
        self.found_from = worked if self.found_from is None else self.found_from
        left = FAR * options.gap_work - (worked - self.found_from)
        if near:
            self.close_from = worked if self.close_from is None else self.close_from
            left = min(left, options.gap_work - (worked - self.close_from))
        if left <= 0:
            where = f"within {options.gap:.0%} of" if near else "not far above"
            self.say(f"II {self.high} is {where} the bound {self.low}: taken")
            return None
        less = {n: min(getattr(options, n), left) for n in ("find_work", "prove_work")}
        return replace(self.attempter, options=replace(options, **less))

    def _raise_by_energy(self) -> None:
        nodes = self.system.n + NODES_BESIDE_OPS + len(self.system.problem.values)
        if nodes > MAX_NODES:
            return
        bound = energetic_bound(self.system, self.low, self.top)
        if bound is None:
            raise never(self.system.problem, explain_energy(self.system, self.top))
        if bound > self.low:
            self.limit = explain_energy(self.system, bound - 1)
            self.low = bound
            self.say(f"energetic bound {bound}: {self.limit}")

    def _take(self, ii: int, outcome: Outcome) -> bool:
        """Narrow the interval by one outcome; True when a schedule was found.

        A schedule is kept at the least II of its own order, which may lie below the II tried.
        """
        if isinstance(outcome, Incumbent):
            least, best = tightened(self.system.problem, ii, outcome)
            if least < self.low:
                raise SchedulingError(
                    f"a schedule at II {least} contradicts the proven bound {self.low}",
                    where=self.system.problem.name,
                    why="this is a defect of the solver: the proof or the checker is wrong",
                )
            if self.high is None or least < self.high:
                self.high, self.best = least, best
            return True
        if isinstance(outcome, Refuted) and ii >= self.low:
            self.low, self.limit = ii + 1, outcome.limit
        return False

    def _gallop(self) -> None:
        """Steps 1, 2, 4, ... upward with the heuristic; with everything when steps are large.

        Where a gap is allowed the first step is as large.
        """
        ii, step = min(max(self.low, 2), self.top), max(1, int(self.options.gap * self.low))
        while self.high is None:
            last = step >= self.low or ii >= self.top
            hard = last or self.attempter.small()
            asker = self.attempter if last else self._glancing()
            outcome = asker.full(ii) if hard else self.attempter.quick(ii)
            if self._take(ii, outcome):
                return
            if ii >= self.top:
                raise self._nothing_found(outcome)
            ii, step = min(ii + step, self.top), step * 2

    def _glancing(self) -> Attempter:
        """Who looks for a first schedule where one near the bound will do: a proof at every step
        on the way up may cost more than all that follows.
        """
        if not self.options.gap:
            return self.attempter
        work = min(GLANCE, self.options.prove_work)
        return replace(self.attempter, options=replace(self.options, prove_work=work))

    def _scan(self, first: int) -> None:
        """Where a refuted II says nothing of others: find by bisection, prove II by II.

        The proof may cost as much work as a question; what is left open then stays unproven. Where
        a gap is allowed, a proof that cannot end is not begun.
        """
        refuted, options = self._look(first), self.options
        last: Outcome = Refuted(self.limit)
        work = min(options.gap_work, options.prove_work) if options.gap else options.prove_work
        budget = self.attempter.deadline.spent + work
        if options.gap and self.high is not None and (self.high - first) * ASKING > work:
            return
        for ii in range(first, max(first, self.top) + 1):
            far, spent = ii - first > SCANNED, self.attempter.deadline.spent > budget
            far |= spent and options.gap > 0
            if self.high is not None and (ii >= self.high or spent or far):
                return
            if far:
                raise self._nothing_found(Open())
            asker = self._asker()
            if asker is None:
                return
            low, outcome = self.low, refuted.get(ii) or asker.full(ii)
            if self._take(ii, outcome):
                return
            last = outcome if isinstance(last, Refuted) else Open()
            if isinstance(last, Open):
                self.low = low
        raise self._nothing_found(last)

    def _look(self, first: int) -> dict[int, Refuted]:
        """Schedules wherever they are easily found, and below them; what was refuted alone."""
        refuted: dict[int, Refuted] = {}
        ii, step = first, 1
        while self.high is None and ii < self.top:
            hard = step >= first and self.attempter.small()
            self._take_found(ii, self.attempter.full(ii) if hard else self.attempter.quick(ii))
            ii, step = min(ii + step, self.top), step * 2
        at = first
        while self.high is not None and self.high - at > self.options.gap * at:
            mid, asker = (at + self.high) // 2, self._asker()
            if asker is None:
                return refuted
            outcome = asker.full(mid)
            if isinstance(outcome, Refuted):
                refuted[mid] = outcome
            if not self._take_found(mid, outcome):
                at = mid + 1
        return refuted

    def _take_found(self, ii: int, outcome: Outcome) -> bool:
        return isinstance(outcome, Incumbent) and self._take(ii, outcome)

    def _nothing_found(self, last: Outcome) -> SchedulingError:
        name = self.system.problem.name
        if isinstance(last, Refuted):
            return never(self.system.problem, last.limit)
        return SchedulingError(
            f"no schedule of {name!r} was found up to II {self.top}",
            why="the work limits were reached; "
            + ("a budget may be too small" if self.attempter.solver else "no exact solver"),
            fix="raise ModuloOptions.tries or find_work, or relax the budgets",
        )

    def _step_down(self) -> None:
        """What bisection left open below the schedule: cycle by cycle while it goes down.

        An II that stayed open hides feasible ones below it only from bisection, not from a walk.
        """
        assert self.high is not None
        while self.low < self.high:
            before = self.high
            self._take(before - 1, self.attempter.quick(before - 1))
            if self.high == before:
                return
