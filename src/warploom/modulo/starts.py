"""Where a hunt starts from: solved schedules, with slack, with margins, under perturbed costs.

Each start is only an order; how good it is, the hunt's measure says. A schedule that is optimal for
slightly wrong costs is a better start for a machine whose true costs nobody knows than the optimum
of one model, so the perturbed solves never end.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from math import log

from warploom.errors import WarploomError
from warploom.modulo.bounds.paths import distances
from warploom.modulo.bounds.plain import depth_bounds
from warploom.modulo.bounds.system import build_system
from warploom.modulo.kbest import k_best
from warploom.modulo.learn import LATENCY, far, features, under
from warploom.modulo.model import ModuloProblem
from warploom.modulo.options import ModuloOptions
from warploom.modulo.placement.heuristic import find_schedule
from warploom.modulo.result import ModuloResult
from warploom.modulo.search import solve_modulo
from warploom.modulo.sequence import Program, downhill, fits_budget, program_of

SLACKS = (0.0, 0.02, 0.06, 0.15, 0.3)
MARGINS = (0.25, 1.0)
SMALL = 40
WALKS = 6
WORK = 0.5  # of a solve, where no time is given

Start = tuple[str, Program]


def solver_starts(
    problem: ModuloProblem,
    rng: random.Random,
    *,
    seconds: float | None = None,
    known: Sequence[Start] = (),
) -> Iterator[Start]:
    """Orders from the solvers, endless; each name says where an order comes from.

    The first ones are walked down to from ``known`` orders by their least interval.
    """
    goal = build_bound(problem, None)
    for seed in range(WALKS if known else 0):
        name, start = known[seed % len(known)]
        found = list(downhill(problem, start, goal, seed=seed, seconds=seconds))
        if found:
            yield f"down from {name}", program_of(found[-1])
    options = ModuloOptions(goals=(), seconds=seconds)
    if seconds is None:
        options = replace(options, tries=2, find_work=1.0, prove_work=1.0, work=WORK)
    best: ModuloResult | None = None
    with suppress(WarploomError):  # no schedule in time: the heuristic may still find orders
        best = solve_modulo(problem, options)
    bound = build_bound(problem, best)
    if best is not None:
        yield "modulo", program_of(best)
    for slack in SLACKS:
        for seed in (0, 1):
            yield from _placed(problem, int(bound * (1 + slack)), seed, f"slack {slack:g}")
    if best is not None and len(problem.ops) <= SMALL:
        for k, near in enumerate(k_best(best, 6, slack=0.1, options=options, quiet=True)[1:]):
            yield f"k best {k + 1}", program_of(near)
    for share in MARGINS:
        late = under(problem, {f: log(1 + share) for f in features(problem) if f[0] == LATENCY})
        yield from _placed(late, int(bound * 1.05), 0, f"margin {share:g}")
        yield from _placed(late, int(bound * 1.3), 1, f"margin {share:g}")
    yield from _perturbed_starts(problem, rng, options)


def _perturbed_starts(
    problem: ModuloProblem, rng: random.Random, options: ModuloOptions
) -> Iterator[Start]:
    """Solved under other costs, again and again; small bodies exactly every other time."""
    limit = None if options.seconds is None else min(options.seconds, 2.0)
    quick = replace(options, seconds=limit, prove_work=1.0, find_work=1.0)
    for n in count(1):
        spread = rng.choice((0.1, 0.3, 0.8))
        other = under(problem, {f: rng.gauss(0.0, spread * far(f)) for f in features(problem)})
        slack = 1 + rng.choice((0.0, 0.02, 0.1, 0.3))
        name = f"perturbed {n}"
        if len(problem.ops) <= SMALL and n % 2:
            with suppress(WarploomError):
                yield name, program_of(solve_modulo(other, quick))
        else:
            yield from _placed(other, int(build_bound(other, None) * slack), n, name)


def build_bound(problem: ModuloProblem, best: ModuloResult | None) -> int:
    """The busiest unit's demand, at least: where intervals worth a try begin."""
    if best is not None:
        return max(best.lower_bound, 1)
    units = build_system(problem).units
    return max([1, *(-(-u.load() // u.capacity) for u in units)])


def _placed(problem: ModuloProblem, ii: int, seed: int, name: str) -> Iterator[Start]:
    """What the heuristic places at one II, at the least depths and with a copy more of each."""
    system = build_system(problem)
    d = distances(system.n, system.all_arcs(system.max_depths()), max(ii, 1))
    least = depth_bounds(system, ii, d) if d is not None else None
    if least is None:
        return
    more = tuple(min(r.max_depth, x + 1) for r, x in zip(problem.rings, least, strict=True))
    for depths in dict.fromkeys((least, more)):
        if not fits_budget(problem, depths):
            continue
        times = find_schedule(system, ii, depths, tries=2, seed=seed)
        if times is not None:
            order = sorted(range(system.n), key=lambda v: (times[v] % ii, -(times[v] // ii), v))
            yield name, Program(tuple(order), depths).turned()
