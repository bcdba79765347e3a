"""From measured candidates back to the model: how it ranked them, what corrects it, the choice.

The simulator runs every candidate's programs; three corrections stand for what the prices leave
out: how much longer vector work takes, how much later products retire, and how much longer a
hand-over of the tensor cores takes. They are fitted to measured cycles a key tile by pattern search
with a fixed number of steps. Measured durations of single ops can take the place of the prices.
The choice is the fastest measured candidate, whatever the model says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from warploom.document.roles import RolesDocument
from warploom.errors import ConfigError
from warploom.hopper.attention_pricing import role_costs
from warploom.hopper.candidates import Candidate, program_space
from warploom.order import ModuloProblem
from warploom.order.calibrate import Calibration, Measurement, duration, fit, with_durations
from warploom.sim.roles import simulate_roles
from warploom.target.h200 import HopperTarget, h200

TRIPS = 20
STEPS = 24
SAMPLE = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrections:
    """``vector``: factor on the durations of work that holds its warps. ``products``: cycles a
    product's result comes later. ``turns``: cycles a hand-over takes longer.
    """

    vector: float = 1.0
    products: float = 0.0
    turns: float = 0.0


LEAST = Corrections(vector=0.5, products=0.0, turns=0.0)
STRIDES = Corrections(vector=0.2, products=100.0, turns=100.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Fitted corrections and the root-mean-square errors without and with them."""

    corrections: Corrections
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One candidate: cycles a key tile predicted with the prices, corrected, and measured."""

    name: str
    before: float
    after: float
    measured: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """All measured candidates, fastest first, and what was learnt from them.

    ``linear`` is the calibration along critical cycles; it knows units and latencies only.
    """

    rows: tuple[Row, ...]
    fit: Fit
    linear: Calibration

    @property
    def chosen(self) -> str:
        """The name of the fastest measured candidate."""
        return self.rows[0].name

    @property
    def rank_before(self) -> float:
        """Rank correlation of the first prediction with the measurement."""
        return rank_correlation([r.before for r in self.rows], [r.measured for r in self.rows])

    @property
    def rank_after(self) -> float:
        """Rank correlation of the corrected prediction with the measurement."""
        return rank_correlation([r.after for r in self.rows], [r.measured for r in self.rows])


def corrected(problem: ModuloProblem, corrections: Corrections) -> ModuloProblem:
    """The body with the durations the corrections give its ops."""
    longer: dict[str, float] = {}
    for v, op in enumerate(problem.ops):
        if not op.issue:
            continue
        own = duration(problem, v)
        blocks = op.issue >= op.occupancy
        longer[op.name] = own * corrections.vector if blocks else own + corrections.products
    return with_durations(problem, longer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A body and corrections: predicts the cycles a key tile of any document derived from it."""

    problem: ModuloProblem
    names: Mapping[str, str]
    corrections: Corrections = Corrections()
    target: HopperTarget | None = None

    def interval(self, document: RolesDocument) -> float:
        """Simulated cycles a key tile in the steady state.

        Short of a steady state it is an average, which a fast start can bring below what the
        busiest unit allows: never less than that.
        """
        body = corrected(self.problem, self.corrections)
        costs = role_costs(body, self.names, document, self.target or h200())
        later = costs.barrier_handoff + round(self.corrections.turns)
        run = simulate_roles(document, replace(costs, barrier_handoff=later), trips=TRIPS)
        average = float(run.ii) if run.ii is not None else run.cycles / TRIPS
        return max(average, float(run.bound.bound) if run.bound is not None else 0.0)


def model_of(
    candidate: Candidate, problem: ModuloProblem, target: HopperTarget | None = None
) -> Model:
    """The model of a candidate's kernel."""
    names = program_space(candidate.kernel, target).names
    return Model(problem=problem, names=names, target=target)


def feed(
    candidates: Sequence[Candidate],
    measured: Mapping[str, float],
    problem: ModuloProblem,
    *,
    target: HopperTarget | None = None,
    steps: int = STEPS,
) -> Feedback:
    """Fit the corrections to measured cycles a key tile, and rank all measured candidates.

    ``steps`` bounds the rounds of the fit.
    """
    known = [c for c in candidates if c.name in measured]
    if len(known) < 2:
        raise ConfigError(
            f"{len(known)} of {len(candidates)} candidates were measured",
            where="feed",
            fix="measurements name candidates by their digest; two or more are needed",
        )
    known.sort(key=lambda c: (measured[c.name], c.name))
    model = model_of(known[0], problem, target)
    found = fit_corrections(known, measured, model, steps=steps)
    after = replace(model, corrections=found.corrections)
    rows = tuple(
        Row(
            name=c.name,
            before=model.interval(c.document),
            after=after.interval(c.document),
            measured=measured[c.name],
        )
        for c in known
    )
    linear = fit([Measurement(result=c.result, cycles=measured[c.name]) for c in known])
    return Feedback(rows=rows, fit=found, linear=linear)


def fit_corrections(
    candidates: Sequence[Candidate],
    measured: Mapping[str, float],
    model: Model,
    *,
    steps: int = STEPS,
) -> Fit:
    """The corrections with the least error on up to ``SAMPLE`` candidates, evenly taken by rank.

    Pattern search: from the present point one stride up and down in each direction; halved when
    nothing is better; at most ``steps`` rounds.
    """
    every = max(1, len(candidates) // SAMPLE)
    sample = list(candidates)[::every][:SAMPLE]

    def error(at: Corrections) -> float:
        trial = replace(model, corrections=at)
        squares = [(trial.interval(c.document) - measured[c.name]) ** 2 for c in sample]
        return float((sum(squares) / len(squares)) ** 0.5)

    best, strides = model.corrections, STRIDES
    least = before = error(best)
    for _ in range(steps):
        trials = [(error(t), i, t) for i, t in enumerate(_neighbours(best, strides))]
        found, _, at = min(trials, key=lambda t: t[:2])
        if found < least:
            least, best = found, at
        elif strides.vector < STRIDES.vector / 8:
            break
        else:
            strides = Corrections(
                **{f.name: getattr(strides, f.name) / 2 for f in fields(Corrections)}
            )
    return Fit(corrections=best, before=before, after=least)


def _neighbours(at: Corrections, strides: Corrections) -> list[Corrections]:
    out = []
    for f in fields(Corrections):
        for sign in (1, -1):
            value = getattr(at, f.name) + sign * getattr(strides, f.name)
            out.append(replace(at, **{f.name: max(getattr(LEAST, f.name), value)}))
    return out


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's, with equal values sharing their mean rank; 0 when one side has no order."""
    x, y = _ranks(a), _ranks(b)
    mean = (len(x) - 1) / 2
    up = sum((p - mean) * (q - mean) for p, q in zip(x, y, strict=True))
    down = sum((p - mean) ** 2 for p in x) * sum((q - mean) ** 2 for q in y)
    return float(up / down**0.5) if down else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    count = {v: ordered.count(v) for v in set(values)}
    return [ordered.index(v) + (count[v] - 1) / 2 for v in values]
