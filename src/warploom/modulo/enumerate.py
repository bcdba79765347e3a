"""Every program of a body at one interval: complete enumeration with a claim, or a limit said.

With the order of two ops fixed, what a unit, an edge or a ring demands is a difference of issue
times. So a program stands for a system of differences, and longest paths decide it exactly. The
search fixes one order after another, drops what the paths refute, and asks of every complete
program whether the units shared between roles can be ordered as well. Roles that must run one
program share their choices. No solver takes part.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt

from warploom.dataclass import dataclass
from warploom.errors import SchedulingError
from warploom.modulo.bounds.paths import UNREACHED, distances
from warploom.modulo.bounds.system import build_system
from warploom.modulo.check import check_schedule
from warploom.modulo.model import ModuloProblem
from warploom.modulo.programs import Point, Programs, Space, points_of, programs_of

IntMatrix = npt.NDArray[np.int64]

WORK = 2_000_000  # nodes of the search


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A program, and issue times that prove it possible (each as early as it can be)."""

    programs: Programs
    times: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumeration:
    """The programs at one interval. ``complete``: there are no others at these ring depths.

    ``irregular`` complete orders were dropped because the turns of alike roles would differ.
    """

    ii: int
    depths: tuple[int, ...]
    found: tuple[Found, ...]
    complete: bool
    nodes: int
    irregular: int


@dataclass(frozen=True, slots=True)
class _Gap:
    """Point ``b`` after point ``a`` by ``n`` intervals and between ``least`` and ``most`` more."""

    a: Point
    b: Point
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class _Choice:
    """A whole number of intervals, the same for all its gaps."""

    gaps: tuple[_Gap, ...]


def enumerate_programs(
    problem: ModuloProblem,
    space: Space,
    ii: int,
    depths: tuple[int, ...],
    *,
    work: int = WORK,
) -> Enumeration:
    """All programs for which a schedule at interval ``ii`` and these ring depths exists.

    ``work`` bounds the nodes of the search; past it the result is not ``complete``. Raises
    ``SchedulingError`` where two points of a role could share a cycle or lie any distance apart.
    """
    system = build_system(problem)
    for unit in system.units:
        if unit.capacity > 1:
            raise SchedulingError(
                f"unit {unit.name!r} takes {unit.capacity} ops at once",
                where=f"body {system.problem.name!r}",
                why="its users have no order",
                fix="enumerate bodies whose units have capacity 1",
            )
    listed = {role for group in space.roles for role in group}
    missing = {*system.problem.role_names()} - listed
    if missing:
        raise SchedulingError(f"no program is asked for of {sorted(missing)}", where="Space.roles")
    start = distances(system.n, system.all_arcs(depths), ii)
    search = _Search(problem, space, ii, work)
    if start is not None:
        search.settle_programs(start)
    times = [f.times for f in search.found.values()]
    bad = [t for t in times if check_schedule(problem, ii, t, depths).errors]
    if bad:
        raise SchedulingError(
            "an enumerated schedule does not pass the checker",
            where=f"body {problem.name!r}",
            why=check_schedule(problem, ii, bad[0], depths).errors[0],
        )
    ordered = sorted(search.found.values(), key=lambda f: f.programs)
    return Enumeration(
        ii=ii,
        depths=depths,
        found=tuple(ordered),
        complete=search.nodes <= work,
        nodes=search.nodes,
        irregular=search.irregular,
    )


class _Search:
    """Choices of order, from those that make a program to those that only must be possible."""

    def __init__(self, problem: ModuloProblem, space: Space, ii: int, work: int) -> None:
        self.problem, self.space, self.ii, self.work = problem, space, ii, work
        self.found: dict[Programs, Found] = {}
        self.nodes = self.irregular = 0
        programs = list(_program_choices(problem, space, ii))
        others = list(_unit_choices(problem, ii))
        self.of_turns = [c for c in others if self._is_turn(c)]
        self.rest = [c for c in others if not self._is_turn(c)]
        self.programs = programs

    def _is_turn(self, choice: _Choice) -> bool:
        ops = (choice.gaps[0].a.op, choice.gaps[0].b.op)
        units = [{h.unit for h in self.problem.ops[v].holds()} for v in ops]
        return all(self.space.unit in u for u in units)

    def settle_programs(self, d: IntMatrix) -> None:
        """Record every program that the differences ``d`` allow."""
        for fixed in self._assign(d, _Table(self.programs, self.ii)):
            for turned in self._assign(fixed, _Table(self.of_turns, self.ii)):
                programs = programs_of(self.problem, self.space, _earliest(turned), self.ii)
                if programs is None:
                    self.irregular += 1
                elif programs not in self.found:
                    possible = next(self._assign(turned, _Table(self.rest, self.ii)), None)
                    if possible is not None:
                        self.found[programs] = Found(programs=programs, times=_earliest(possible))

    def _assign(self, d: IntMatrix, table: _Table) -> Iterator[IntMatrix]:
        """The differences with every choice of the table made, in every way that is possible."""
        self.nodes += 1
        if self.nodes > self.work:
            return
        if not table.choices:
            yield d
            return
        low, high = table.ranges(d)
        width = high - low
        if (width < 0).any():
            return
        at = int(width.argmin())
        rest = table.without(at)
        for n in range(int(low[at]), int(high[at]) + 1):
            narrowed = _with(d, table.choices[at], n, self.ii)
            if narrowed is not None:
                yield from self._assign(narrowed, rest)


class _Table:
    """Choices as arrays, so that all their ranges are one calculation."""

    def __init__(self, choices: list[_Choice], ii: int) -> None:
        self.choices, self.ii = choices, ii
        gaps = [g for c in choices for g in c.gaps]
        self.a = np.array([g.a.op for g in gaps], dtype=np.int64)
        self.b = np.array([g.b.op for g in gaps], dtype=np.int64)
        self.late = np.array([g.b.late - g.a.late for g in gaps], dtype=np.int64)
        self.least = np.array([g.least for g in gaps], dtype=np.int64)
        self.most = np.array([g.most for g in gaps], dtype=np.int64)
        self.starts = np.cumsum([0] + [len(c.gaps) for c in choices[:-1]])

    def without(self, at: int) -> _Table:
        """The table without one choice."""
        return _Table(self.choices[:at] + self.choices[at + 1 :], self.ii)

    def ranges(self, d: IntMatrix) -> tuple[IntMatrix, IntMatrix]:
        """The least and the greatest whole number of intervals of each choice."""
        ahead, back = d[self.a, self.b], d[self.b, self.a]
        if (ahead <= UNREACHED).any() or (back <= UNREACHED).any():
            raise SchedulingError(
                "two ops of the body may lie any number of iterations apart",
                why="no recurrence ties them, so there are infinitely many programs",
                fix="bound the storage between them",
            )
        low = -((self.most - (ahead + self.late)) // self.ii)
        high = (-back + self.late - self.least) // self.ii
        return np.maximum.reduceat(low, self.starts), np.minimum.reduceat(high, self.starts)


def _with(d: IntMatrix, choice: _Choice, n: int, ii: int) -> IntMatrix | None:
    """The differences with a choice made; None when that closes a positive cycle."""
    d = d.copy()
    for g in choice.gaps:
        late = g.b.late - g.a.late
        bounds = (
            (g.a.op, g.b.op, n * ii + g.least - late),
            (g.b.op, g.a.op, late - n * ii - g.most),
        )
        for src, dst, weight in bounds:
            if weight <= d[src, dst]:
                continue
            if d[dst, src] + weight > 0:
                return None
            np.maximum(d, d[:, src, None] + (weight + d[dst])[None, :], out=d)
    return d


def _earliest(d: IntMatrix) -> tuple[int, ...]:
    return tuple(int(t) for t in d.max(axis=0))


def _program_choices(problem: ModuloProblem, space: Space, ii: int) -> Iterator[_Choice]:
    """One choice for each pair of points of a role, shared by the roles that run one program."""
    for group in space.roles:
        members = [points_of(problem, space, role, ii) for role in group]
        if any([p.name for p in m] != [p.name for p in members[0]] for m in members):
            raise SchedulingError(f"roles {', '.join(group)} have different ops", where="Space")
        for i, j in combinations(range(len(members[0])), 2):
            if members[0][i].op != members[0][j].op:
                yield _Choice(tuple(_gap(problem, m[i], m[j], ii) for m in members))


def _gap(problem: ModuloProblem, a: Point, b: Point, ii: int) -> _Gap:
    """A pair of points in rank order: in one cycle the first comes first."""
    if a.releases or b.releases:
        return _Gap(a, b, 0, ii - 1)
    ahead, back = _claims(problem, a.op, b.op)
    if not ahead or not back:
        names = f"{problem.ops[a.op].name} and {problem.ops[b.op].name}"
        raise SchedulingError(
            f"{names} may issue in one cycle",
            where=f"body {problem.name!r}",
            why="then the schedule does not order them",
            fix="give them a unit in common or issue times",
        )
    return _Gap(a, b, ahead, ii - back)


def _claims(problem: ModuloProblem, a: int, b: int) -> tuple[int, int]:
    """How long each op keeps the other from what both need: the longest of their common units."""
    x, y = problem.ops[a], problem.ops[b]
    held = [{h.unit: h.cycles for h in op.holds()} for op in (x, y)]
    streams = problem.stream_cycles(a), problem.stream_cycles(b)
    if problem.allowed_roles(a) == problem.allowed_roles(b) and all(streams):
        held[0]["its stream"], held[1]["its stream"] = streams
    common = held[0].keys() & held[1].keys()
    return max((held[0][u] for u in common), default=0), max(
        (held[1][u] for u in common), default=0
    )


def _unit_choices(problem: ModuloProblem, ii: int) -> Iterator[_Choice]:
    """One choice for each pair of ops of different roles that need the same unit."""
    roles = problem.fixed_roles()
    assert roles is not None
    for a, b in combinations(range(len(problem.ops)), 2):
        ahead, back = _claims(problem, a, b)
        if roles[a] != roles[b] and ahead:
            names = Point(name="", op=a), Point(name="", op=b)
            yield _Choice((_Gap(*names, ahead, ii - back),))
