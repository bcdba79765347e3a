"""Costs that explain what was measured, and the orders that are best under them.

A measured score says how long the longest recurrence of an order is on the machine. Costs are
factors on those of the body: one a unit, one a unit's latency, and a small one an op. A walk
through such costs stays where the least intervals they give agree with the scores, up to one common
factor (so scores may be seconds). What the walk meets differs only in what nothing measured has
told yet; so each order that is best under one of them is worth a measurement.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, inf, isfinite, log

from warploom.modulo.bounds.paths import Cycle
from warploom.modulo.model import ModuloOp, ModuloProblem, Read
from warploom.modulo.sequence import Orders, Program, downhill, program_of

UNIT, LATENCY, OP = "unit", "latency", "op"
WIDTHS = {UNIT: 0.5, LATENCY: 0.5, OP: 0.1}
FEW = 16  # ops up to which a measurement is dearer than learning from it
NOISE = 0.02  # how far scores are off, as a share
STEPS = 40  # of the walk between two proposals
HEARD = 16  # measured orders that the walk looks at: the best, and the latest
WALK = 200  # orders looked at under new costs, from each of the best
ALIKE = 0.02  # how much worse than the best under some costs an order may be
FINE = 8  # small whole numbers are made larger first, so that factors show

Feature = tuple[str, str]
"""What may cost more or less: a unit, its latency or an op, by name."""
Factors = Mapping[Feature, float]


def features(problem: ModuloProblem) -> tuple[Feature, ...]:
    """All that may cost more or less than the body says."""
    units = problem.units()
    ops = [(OP, op.name) for op in problem.ops]
    return (*((UNIT, u) for u in units), *((LATENCY, u) for u in units), *ops)


def far(feature: Feature) -> float:
    """How far off a cost is thought to be, as a share."""
    return WIDTHS[feature[0]]


def under(problem: ModuloProblem, factors: Factors, fine: int = 1) -> ModuloProblem:
    """The body with other costs: the logarithm of each factor by feature, all times ``fine``.

    An op that holds its role's stream as long as its unit goes on doing so.
    """

    def scaled(cycles: int, *of: Feature) -> int:
        if not cycles:
            return 0
        return max(1, round(cycles * fine * exp(sum(factors.get(f, 0.0) for f in of))))

    def op(own: ModuloOp) -> ModuloOp:
        of = ((UNIT, own.unit or ""), (OP, own.name))
        blocks = own.issue >= own.occupancy
        return replace(
            own,
            occupancy=scaled(own.occupancy, *of),
            issue=scaled(own.issue, *of) if blocks else own.issue * fine,
            also=tuple(replace(h, cycles=scaled(h.cycles, (UNIT, h.unit))) for h in own.also),
        )

    def late(cycles: int, src: int) -> int:
        own = problem.ops[src]
        return scaled(cycles, (LATENCY, own.unit or ""), (OP, own.name))

    def read(u: Read) -> Read:
        return replace(u, hold=late(u.hold, u.op))

    return replace(
        problem,
        ops=tuple(op(own) for own in problem.ops),
        edges=tuple(
            replace(
                e,
                latency=late(e.latency, e.src),
                handoff=None if e.handoff is None else e.handoff * fine,
            )
            for e in problem.edges
        ),
        rings=tuple(
            replace(r, readers=tuple(tuple(read(u) for u in reads) for reads in r.readers))
            for r in problem.rings
        ),
        values=tuple(
            replace(v, late=v.late * fine, uses=tuple(read(u) for u in v.uses))
            for v in problem.values
        ),
        handoff=problem.handoff * fine,
        release=problem.release * fine,
    )


class Learner:
    """A walk through costs that goes on from one batch of measurements to the next."""

    def __init__(self, problem: ModuloProblem, rng: random.Random) -> None:
        self.problem, self.rng = problem, rng
        self.features = features(problem)
        self.factors: dict[Feature, float] = {}
        self.lags: dict[Program, list[int] | None] = {}
        longest = max([1, *(e.latency for e in problem.edges)])
        self.fine = max(1, FINE * FINE // longest) if longest < FINE * FINE else 1

    def proposals(self, scores: Mapping[Program, float], count: int) -> Iterator[Program]:
        """Orders not scored yet that are the best under costs the scores allow."""
        scored = [(p, s) for p, s in scores.items() if isfinite(s) and s > 0]
        ranked = sorted(scored, key=lambda item: item[1])
        heard = dict([*ranked[: HEARD // 2], *scored[-HEARD // 2 :]])
        taken = set(scores)
        if not ranked:
            return
        for _ in range(count):
            other = self._walk(list(heard.items()))
            found = self._best_under(other, [p for p, _ in ranked[:2]], taken)
            if found is not None:
                taken.add(found)
                yield found

    def _walk(self, heard: Sequence[tuple[Program, float]]) -> ModuloProblem:
        """Some steps (Metropolis); the costs they end at."""
        level, body = self._misfit(self.factors, heard)
        for _ in range(STEPS):
            trial = dict(self.factors)
            for name in self.rng.sample(self.features, min(3, len(self.features))):
                trial[name] = trial.get(name, 0.0) + self.rng.gauss(0.0, far(name) / 2)
            misfit, other = self._misfit(trial, heard)
            if misfit < level + 2 * self.rng.expovariate(1.0):
                self.factors, level, body = trial, misfit, other
        return body

    def _misfit(
        self, factors: Factors, heard: Sequence[tuple[Program, float]]
    ) -> tuple[float, ModuloProblem]:
        """How badly costs explain the scores, and how unlikely they are by themselves."""
        body = under(self.problem, factors, self.fine)
        orders, gaps = Orders(body), []
        for program, score in heard:
            if program not in self.lags:
                self.lags[program] = orders.lags(program)
            paths = orders.paths(program, self.lags[program])
            interval = paths.least()[0] if paths is not None else 0
            if interval:
                gaps.append(log(interval / score))
        if not gaps:
            return inf, body
        mean = sum(gaps) / len(gaps)
        wrong = sum((g - mean) ** 2 for g in gaps) / NOISE**2
        unlikely = sum((x / far(name)) ** 2 for name, x in factors.items())
        return wrong + unlikely, body

    def _best_under(
        self, body: ModuloProblem, near: Sequence[Program], taken: set[Program]
    ) -> Program | None:
        """The best order of walks from good ones; one nearly as good if that is known already."""
        ends = []
        for start in near:
            walked = list(downhill(body, start, 1, seed=self.rng.randrange(1 << 30), steps=WALK))
            ends += [(r.ii, program_of(r)) for r in walked[-1:]]
        if not ends:
            return None
        least, program = min(ends, key=lambda end: end[0])
        if program not in taken:
            return program
        orders, limit = Orders(body), int(least * (1 + ALIKE))
        for _ in range(WALK):
            found = orders.near(program, self.rng)
            if found is None:
                return None
            if found[0] not in taken and not isinstance(found[1].at(limit), Cycle):
                return found[0]
        return None
