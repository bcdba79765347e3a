"""Schedules as plain orders: a sequence of issue and the copies of every ring, nothing else.

On an in-order machine a loop is the cyclic order in which its ops issue; in which iteration each op
then runs follows (the least stages that keep every dependence). So the space of programs can be
walked without a cost model: move an op, derive stages, measure. ``as_result`` gives the schedule of
a sequence under the body's own costs, so that everything made for solved schedules works with it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from warploom.order.bounds.paths import distances, rec_mii
from warploom.order.bounds.system import Arc, System, build_system
from warploom.order.check import check_schedule
from warploom.order.goals import fewest_stages
from warploom.order.inorder import unit_order_arcs
from warploom.order.model import ModuloProblem, RingKind
from warploom.order.result import Limit, LimitKind, ModuloResult

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


def least_stages(system: System, program: Program) -> tuple[int, ...] | None:
    """The least stages that keep all dependences in this order; None when the order breaks one."""
    rank = {v: i for i, v in enumerate(program.sequence)}
    needs = [
        (a.src, a.dst, int(rank[a.dst] < rank[a.src]) - a.distance)
        for a in system.all_arcs(program.depths)
        if a.src != a.dst
    ]
    stages = [0] * system.n
    for _ in range(system.n + 1):
        changed = False
        for src, dst, more in needs:
            if stages[dst] < stages[src] + more:
                stages[dst] = stages[src] + more
                changed = True
        if not changed:
            return tuple(stages)
    return None


def as_result(problem: ModuloProblem, program: Program) -> ModuloResult | None:
    """The schedule of a sequence at the least II of its order; None when it breaks something."""
    fixed = problem.fixed_roles()
    if fixed is None:
        return None
    system = build_system(problem)
    stages = least_stages(system, program)
    if stages is None:
        return None
    n = system.n
    rank = {v: i for i, v in enumerate(program.sequence)}
    marks = [n * stages[v] + rank[v] for v in range(n)]
    arcs = [
        *system.all_arcs(program.depths),
        *unit_order_arcs(system, n, marks),
        *_sequence_arcs(problem, program, stages, fixed),
    ]
    ii, _ = rec_mii(n, arcs)
    d = distances(n, arcs, ii) if ii else None
    if d is None:
        return None
    first = d.max(axis=0)
    times = fewest_stages([int(t) for t in first - first.min()], ii)
    if check_schedule(problem, ii, times, program.depths, roles=fixed).errors:
        return None
    return ModuloResult(
        problem=problem,
        ii=ii,
        lower_bound=1,
        proven=False,
        times=times,
        depths=program.depths,
        roles=fixed,
        limit=Limit(kind=LimitKind.WORK, text="a given order: nothing was proven"),
        res_mii=1,
        rec_mii=1,
        rec_mii_at_depths=ii,
    )


def _sequence_arcs(
    problem: ModuloProblem, program: Program, stages: Sequence[int], roles: Sequence[str]
) -> Iterator[Arc]:
    """Ops of a role issue one after the other, strictly, turn after turn."""
    for role in dict.fromkeys(roles):
        mine = [v for v in program.sequence if roles[v] == role]
        steps = [(v, w, 0) for v, w in pairwise(mine)]
        if len(mine) > 1:
            steps.append((mine[-1], mine[0], 1))
        for v, w, wrap in steps:
            held = max(problem.stream_cycles(v), 1)
            yield Arc(v, w, held, stages[v] - stages[w] + wrap, "sequence")


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
    problem: ModuloProblem, program: Program, rng: random.Random, *, tries: int = 200
) -> Iterator[tuple[Program, ModuloResult]]:
    """Valid programs near this one, without end while ``tries`` in a row find some."""
    system, left = build_system(problem), tries
    while left > 0:
        left -= 1
        found = moved(problem, program, rng)
        if found == program or not fits_budget(problem, found.depths):
            continue
        if least_stages(system, found) is None:
            continue
        result = as_result(problem, found)
        if result is not None:
            left = tries
            yield found, result


def downhill(
    problem: ModuloProblem, start: Program, goal: int, *, seed: int = 0, steps: int = WALK
) -> Iterator[ModuloResult]:
    """Ever better schedules, from one order to the next that is no worse, until ``goal``."""
    at = as_result(problem, start) if fits_budget(problem, start.depths) else None
    if at is None:
        return
    yield at
    rng, left, program = random.Random(seed), steps, start
    while at.ii > goal and left > 0:
        before = left
        for near, found in neighbours(problem, program, rng):
            left -= 1
            if found.ii <= at.ii:
                if found.ii < at.ii:
                    yield found
                program, at = near, found
                break
            if left <= 0:
                return
        if left == before:
            return  # no order near this one is valid
