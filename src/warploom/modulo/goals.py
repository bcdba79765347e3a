"""Secondary objectives at a fixed II, one after the other, each frozen for those after it.

A value that meets its bound is done without a solve. Otherwise CP-SAT starts from the schedule at
hand, on a coarse grid, then exactly; its bound counts only where its limit on lags is safe.
"""

from collections.abc import Sequence

from warploom.dataclass import dataclass
from warploom.modulo import attempt
from warploom.modulo.bounds.energy import closure, length_bound
from warploom.modulo.bounds.plain import depth_bounds, live_area
from warploom.modulo.bounds.system import System
from warploom.modulo.check import CheckReport, check_schedule
from warploom.modulo.clock import OutOfTimeError, stopped_by
from warploom.modulo.exact.request import CpAnswer, CpRequest, CpStatus, Incumbent
from warploom.modulo.model import Goal, RingKind
from warploom.modulo.result import GoalValue


def improve(
    attempter: attempt.Attempter, ii: int, start: Incumbent
) -> tuple[Incumbent, tuple[GoalValue, ...], str]:
    """Minimise the options' goals in order, from a known schedule; and what ended it early."""
    goals = [g for g in attempter.options.goals if _applies(attempter.system, g)]
    if not goals:
        return start, (), ""
    run: _Goals | None = None
    try:
        run = _Goals(attempter, ii, start)
        for goal in goals:
            run.minimise(goal)
    except (OutOfTimeError, KeyboardInterrupt) as stop:
        best = run.best if run is not None else start
        return best, tuple(run.done) if run is not None else (), stopped_by(stop)
    return run.best, tuple(run.done), ""


def least_overlap(times: Sequence[int], ii: int) -> tuple[int, ...]:
    """Shift all times together so that the fewest iterations overlap."""
    best: tuple[int, ...] | None = None
    for shift in sorted({t % ii for t in times}):
        moved = [t - shift for t in times]
        base = min(moved) // ii * ii
        trial = tuple(t - base for t in moved)
        if best is None or (max(trial) // ii, max(trial)) < (max(best) // ii, max(best)):
            best = trial
    assert best is not None
    return best


def _applies(system: System, goal: Goal) -> bool:
    kinds = {r.kind for r in system.problem.rings}
    return {
        Goal.SMEM: RingKind.SMEM in kinds,
        Goal.RING_REGISTERS: RingKind.REG in kinds,
        Goal.REGISTERS: bool(system.problem.values) and not system.relaxed,
        Goal.LENGTH: True,
        Goal.CUTS: len(system.problem.roles) > 1,
    }[goal]


def goal_value(report: CheckReport, goal: Goal) -> int:
    """The checker's measure of a goal."""
    return {
        Goal.SMEM: report.smem,
        Goal.RING_REGISTERS: report.ring_registers,
        Goal.REGISTERS: report.live,
        Goal.LENGTH: report.length,
        Goal.CUTS: report.cuts,
    }[goal]


@dataclass
class _Goals:
    """The schedule at hand and the goals already frozen."""

    attempter: attempt.Attempter
    ii: int
    best: Incumbent

    def __post_init__(self) -> None:
        self.system = self.attempter.system
        self.done: list[GoalValue] = []
        self.reach = closure(self.system, self.ii, self.system.max_depths())
        least = None
        if self.reach is not None:
            least = depth_bounds(self.system, self.ii, self.reach)
        self.least = least or tuple(r.min_depth for r in self.system.problem.rings)

    def minimise(self, goal: Goal) -> None:
        """Bring one goal down to its bound, or as far as the work goes, and freeze it."""
        value, bound = self._value(goal), self._bound(goal)
        self.attempter.say(f"{goal.value}: {value}, bound {bound}")
        self.attempter.deadline.check()
        if value > bound and self.attempter.solver is not None:
            for grid in dict.fromkeys([*attempt.coarse_grids(self.system, self.ii)[-1:], 1]):
                answer = self._ask(goal, grid)
                self.attempter.say(f"{goal.value}: CP grid {grid}: {attempt.describe(answer)}")
                value = self._accept(goal, answer, value)
                bound = max(bound, self._proven(goal, grid, answer, value))
                if value <= bound:
                    break
        self.done.append(GoalValue(goal=goal, value=value, bound=min(bound, value)))

    def _value(self, goal: Goal) -> int:
        return goal_value(self._report(self.best), goal)

    def _report(self, schedule: Incumbent) -> CheckReport:
        return check_schedule(
            self.system.problem, self.ii, schedule.times, schedule.depths, roles=schedule.roles
        )

    def _ask(self, goal: Goal, grid: int) -> CpAnswer:
        request = CpRequest(
            problem=self.system.problem,
            ii=self.ii,
            max_lag=self._max_lag(goal, grid),
            work=self.attempter.options.optimise_work,
            grid=grid,
            least_depths=self.least,
            most_depths=self._most_depths(),
            goal=goal,
            at_most=tuple((g.goal, g.value) for g in self.done),
            hint=self.best,
        )
        return self.attempter.ask(request)

    def _accept(self, goal: Goal, answer: CpAnswer, value: int) -> int:
        if not answer.solved:
            return value
        found = attempt.as_incumbent(answer)
        report = self._report(found)
        if not report.errors and goal_value(report, goal) < value:
            self.best = found
            return goal_value(report, goal)
        return value

    def _proven(self, goal: Goal, grid: int, answer: CpAnswer, value: int) -> int:
        """CP-SAT's bound, where its model leaves out no schedule that could be better."""
        if grid > 1 or answer.bound is None or answer.status is CpStatus.UNKNOWN:
            return 0
        enough = value // self.ii + 1 if goal is Goal.LENGTH else 0
        return answer.bound if self._max_lag(goal, grid) >= enough else 0

    def _max_lag(self, goal: Goal, grid: int) -> int:
        """A small lag to find quickly; the safe number for the last word, except on length.

        A schedule that is shorter than the one at hand lags no more than it.
        """
        few = max(self.best.times) // self.ii + 2
        if grid > 1 or goal is Goal.LENGTH:
            return few
        return max(few, attempt.safe_lag(self.system, self.ii))

    def _bound(self, goal: Goal) -> int:
        system = self.system
        if goal is Goal.SMEM:
            return system.smem(self.least)
        if goal is Goal.RING_REGISTERS:
            return system.ring_registers(self.least)
        if goal is Goal.CUTS or self.reach is None:
            return 0
        if goal is Goal.REGISTERS:
            areas = [live_area(system, f, self.ii, self.reach) for f in system.files]
            return sum(-(-a // self.ii) for a in areas)
        upper = self._most_depths()
        tight = closure(system, self.ii, upper) if upper != system.max_depths() else self.reach
        return length_bound(system, tight if tight is not None else self.reach)

    def _most_depths(self) -> tuple[int, ...]:
        """The most copies each ring may have, given the frozen goals.

        When a frozen total equals the sum of the single bounds, every ring of that kind sits at its
        bound; otherwise its largest depth stays possible.
        """
        frozen = {g.goal: g.value for g in self.done}
        tight = {
            RingKind.SMEM: frozen.get(Goal.SMEM) == self.system.smem(self.least),
            RingKind.REG: frozen.get(Goal.RING_REGISTERS) == self.system.ring_registers(self.least),
        }
        return tuple(
            x if tight[r.kind] and r.size > 0 else r.max_depth
            for r, x in zip(self.system.problem.rings, self.least, strict=True)
        )
