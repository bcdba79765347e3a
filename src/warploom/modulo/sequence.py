"""Schedules as plain orders, a sequence of issue and copies of rings, and as constraints.

Fixing the order in which each unit takes its ops turns scheduling into longest paths. So a schedule
found at some II can be *tightened*: the least II of its order, at no cost of search.

On an in-order machine a loop is the cyclic order in which its ops issue; in which iteration each op
then runs follows (the least lags that keep every dependence). So the space of programs can be
walked without a cost model: move an op, derive lags, measure. ``as_result`` gives the schedule of
a sequence under the body's own costs, so that everything made for solved schedules works with it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from warploom.dataclass import dataclass
from warploom.modulo.bounds.paths import Cycle, Paths
from warploom.modulo.bounds.system import Arc, System, build_system
from warploom.modulo.check import check_schedule
from warploom.modulo.clock import Deadline
from warploom.modulo.exact.request import Incumbent
from warploom.modulo.goals import least_overlap
from warploom.modulo.model import ModuloProblem, RingKind
from warploom.modulo.result import Limit, LimitKind, ModuloResult


def unit_order_arcs(system: System, ii: int, times: Sequence[int]) -> list[Arc]:
    """Each unit of capacity 1 takes its ops in the order of issue, interval after interval."""
    out = []
    for unit in system.units:
        if unit.capacity > 1 or not unit.ops:
            continue
        cycles, why = dict(unit.ops), f"unit {unit.name}"
        order = [v for _, v in sorted((times[v] % ii, v) for v in cycles)]
        for v, w in zip(order, [*order[1:], order[0]], strict=True):
            wrap = 1 if w == order[0] else 0
            out.append(Arc(v, w, cycles[v], times[v] // ii - times[w] // ii + wrap, why))
    return out


def tightened(problem: ModuloProblem, ii: int, found: Incumbent) -> tuple[int, Incumbent]:
    """The least II of the schedule's own order, and the schedule there; itself if none is valid."""
    fixed = problem.with_roles(found.roles) if problem.roles else problem
    system = build_system(fixed)
    arcs = [*system.all_arcs(found.depths), *unit_order_arcs(system, ii, found.times)]
    least, _, earliest = Paths(system.n, arcs).least()
    if not 1 <= least < ii:
        return ii, found
    times = tuple(earliest)
    report = check_schedule(problem, least, times, found.depths, roles=found.roles)
    if report.errors:
        return ii, found
    return least, Incumbent(times=times, depths=found.depths, roles=found.roles)


NEAR = 4  # places within which most moves stay
WALK = 1000  # orders looked at on the way down


@dataclass(frozen=True, slots=True)
class Program:
    """Ops in order of issue round the interval, and the depth of every ring."""

    sequence: tuple[int, ...]
    depths: tuple[int, ...]

    def turned(self) -> Program:
        """The same program written from op 0 on: equal programs compare equal."""
        at = self.sequence.index(0)
        return Program(self.sequence[at:] + self.sequence[:at], self.depths)


def program_of(result: ModuloResult) -> Program:
    """The order a solved schedule issues in."""
    return Program(result.kernel_order(), result.depths).turned()


class Orders:
    """The orders of one body; what all of them share is worked out once."""

    def __init__(self, problem: ModuloProblem) -> None:
        self.problem = problem
        self.system: System = build_system(problem)
        self.roles = problem.fixed_roles()
        # What neither arcs nor the order of a unit's ops say: more servers, registers, isolation.
        self.arcs_say_all = (
            all(u.capacity == 1 for u in self.system.units)
            and all(r.register_budget is None for r in problem.roles)
            and not problem.isolate
        )
        self.held = [max(problem.stream_cycles(v), 1) for v in range(len(problem.ops))]
        self._arcs: dict[tuple[int, ...], list[Arc]] = {}

    def _own_arcs(self, depths: tuple[int, ...]) -> list[Arc]:
        if depths not in self._arcs:
            self._arcs[depths] = self.system.all_arcs(depths)
        return self._arcs[depths]

    def lags(self, program: Program) -> list[int] | None:
        """The least lags that keep all dependences in this order; None when it breaks one."""
        rank = _ranks(program)
        needs = [
            Arc(a.src, a.dst, int(rank[a.dst] < rank[a.src]), a.distance, a.why)
            for a in self._own_arcs(program.depths)
            if a.src != a.dst
        ]
        found = Paths(self.system.n, needs, program.sequence).at(1)
        return None if isinstance(found, Cycle) else found

    def paths(self, program: Program, lags: Sequence[int] | None = None) -> Paths | None:
        """All that bounds the times of an order; None when it breaks a dependence or the budget.

        ``lags``, where known: they do not depend on costs.
        """
        if self.roles is None or not fits_budget(self.problem, program.depths):
            return None
        lags = lags or self.lags(program)
        if lags is None:
            return None
        n, rank = self.system.n, _ranks(program)
        marks = [n * lags[v] + rank[v] for v in range(n)]
        arcs = [
            *self._own_arcs(program.depths),
            *unit_order_arcs(self.system, n, marks),
            *_sequence_arcs(self.held, program, lags, self.roles),
        ]
        return Paths(n, arcs, sorted(range(n), key=marks.__getitem__))

    def result(self, program: Program, paths: Paths | None = None) -> ModuloResult | None:
        """The schedule of a sequence at its least II; None when it breaks something."""
        paths = paths or self.paths(program)
        if paths is None or self.roles is None:
            return None
        ii, _, earliest = paths.least()
        if not ii:
            return None
        times = least_overlap(earliest, ii)
        if check_schedule(self.problem, ii, times, program.depths, roles=self.roles).errors:
            return None
        return ModuloResult(
            problem=self.problem,
            ii=ii,
            lower_bound=1,
            proven=False,
            times=times,
            depths=program.depths,
            roles=self.roles,
            limit=Limit(kind=LimitKind.WORK, text="a given order: nothing was proven"),
            res_mii=1,
            rec_mii=1,
            rec_mii_at_depths=ii,
        )

    def near(
        self, program: Program, rng: random.Random, tries: int = 200
    ) -> tuple[Program, Paths] | None:
        """A valid order one step away; None when so many in a row are not."""
        for _ in range(tries):
            found = moved(self.problem, program, rng)
            paths = self.paths(found) if found != program else None
            if paths is not None:
                return found, paths
        return None


def _ranks(program: Program) -> dict[int, int]:
    return {v: i for i, v in enumerate(program.sequence)}


def as_result(problem: ModuloProblem, program: Program) -> ModuloResult | None:
    """The schedule of a sequence at the least II of its order; None when it breaks something."""
    return Orders(problem).result(program)


def _sequence_arcs(
    held: Sequence[int], program: Program, lags: Sequence[int], roles: Sequence[str]
) -> Iterator[Arc]:
    """Ops of a role issue one after the other, strictly, interval after interval."""
    for role in dict.fromkeys(roles):
        mine = [v for v in program.sequence if roles[v] == role]
        steps = [(v, w, 0) for v, w in pairwise(mine)]
        if len(mine) > 1:
            steps.append((mine[-1], mine[0], 1))
        for v, w, wrap in steps:
            yield Arc(v, w, held[v], lags[v] - lags[w] + wrap, "sequence")


def moved(problem: ModuloProblem, program: Program, rng: random.Random) -> Program:
    """A program one step away: an op elsewhere, two ops exchanged, or a ring a copy deeper."""
    sequence, depths = list(program.sequence), program.depths
    free = [i for i, r in enumerate(problem.rings) if r.max_depth > r.min_depth]
    kind = rng.random()
    if free and kind < 0.05:
        at = rng.choice(free)
        ring = problem.rings[at]
        depth = min(ring.max_depth, max(ring.min_depth, depths[at] + rng.choice((-1, 1))))
        return replace(program, depths=(*depths[:at], depth, *depths[at + 1 :])).turned()
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(sequence))
        far = rng.random() < 0.25
        step = rng.randrange(len(sequence)) if far else rng.choice((-1, 1)) * rng.randint(1, NEAR)
        if rng.random() < 0.3:
            to = (at + step) % len(sequence)
            sequence[at], sequence[to] = sequence[to], sequence[at]
        else:
            op = sequence.pop(at)
            sequence.insert((at + step) % (len(sequence) + 1), op)
    return Program(tuple(sequence), depths).turned()


def fits_budget(problem: ModuloProblem, depths: Sequence[int]) -> bool:
    """True when these depths keep the shared-memory budget."""
    pairs = zip(problem.rings, depths, strict=True)
    used = sum(r.size * d for r, d in pairs if r.kind is RingKind.SMEM)
    return problem.smem_budget is None or used <= problem.smem_budget


def neighbours(
    problem: ModuloProblem, program: Program, rng: random.Random
) -> Iterator[tuple[Program, ModuloResult]]:
    """Valid programs near this one, without end while there are some."""
    orders = Orders(problem)
    while (found := orders.near(program, rng)) is not None:
        result = orders.result(*found)
        if result is not None:
            yield found[0], result


def downhill(
    problem: ModuloProblem,
    start: Program,
    goal: int,
    *,
    seed: int = 0,
    steps: int = WALK,
    seconds: float | None = None,
) -> Iterator[ModuloResult]:
    """Ever better schedules, from one order to the next that is no worse, until ``goal``."""
    orders, rng, program = Orders(problem), random.Random(seed), start
    deadline, at = Deadline(seconds), orders.result(start)
    if at is None:
        return
    yield at
    for _ in range(steps):
        over = at.ii <= goal or deadline.left() == 0.0
        found = None if over else orders.near(program, rng)
        if found is None:
            return
        if isinstance(found[1].at(at.ii), Cycle):
            continue  # a longer interval; which one does not matter
        if orders.arcs_say_all and isinstance(found[1].at(at.ii - 1), Cycle):
            program = found[0]
            continue
        better = orders.result(*found)
        if better is None:
            continue
        if better.ii < at.ii:
            yield better
        program, at = found[0], better
