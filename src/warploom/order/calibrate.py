"""Calibration: correct the cost model by least squares from measured schedules.

What limits a schedule is a cycle of latencies, unit times and storage holds; its length over its
distance is the II. Each measured II is one equation ``sum(factor[f] * cycles[f]) = measured * d``
over the features of that cycle. Few measurements cannot fix many factors, so each is drawn towards
1 with a weight (ridge); factors are never negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from warploom.errors import ConfigError
from warploom.order.bounds.paths import rec_mii
from warploom.order.bounds.system import build_system
from warploom.order.inorder import unit_order_arcs
from warploom.order.model import ModuloOp, ModuloProblem, Read
from warploom.order.result import ModuloResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A schedule and the cycles per iteration it reached in the steady state."""

    result: ModuloResult
    cycles: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Factors by feature (``unit X``: time on X; ``latency X``: latency of X's ops).

    ``before`` and ``after`` are root-mean-square errors in cycles per iteration.
    """

    factors: tuple[tuple[str, float], ...]
    before: float
    after: float

    def factor(self, feature: str) -> float:
        """The factor of a feature; 1 for one that no measurement spoke of."""
        return dict(self.factors).get(feature, 1.0)


def critical_features(result: ModuloResult) -> tuple[dict[str, int], int]:
    """Cycles by feature along the cycle that limits the emitted program, and its distance."""
    fixed = result.problem.with_roles(result.roles) if result.problem.roles else result.problem
    system = build_system(fixed)
    arcs = [*system.all_arcs(result.depths), *unit_order_arcs(system, result.ii, result.times)]
    _, cycle = rec_mii(system.n, arcs)
    features: dict[str, int] = {}
    for arc in cycle:
        unit = result.problem.ops[arc.src].unit or "none"
        name = arc.why if arc.why.startswith("unit ") else f"latency {unit}"
        features[name] = features.get(name, 0) + arc.latency
    return features, sum(a.distance for a in cycle)


def fit(measurements: Sequence[Measurement], *, ridge: float = 0.1) -> Calibration:
    """The factors that explain the measured cycles best, in the least-squares sense.

    ``ridge`` is the weight of staying at 1, relative to one measurement.
    """
    if not measurements or ridge < 0:
        raise ConfigError("calibration needs a measurement and a ridge >= 0", where="fit")
    rows = [critical_features(m.result) for m in measurements]
    names = sorted({f for features, _ in rows for f in features})
    if not names:
        raise ConfigError("none of the schedules is limited by anything", where="fit")
    a = np.array([[feats.get(f, 0) / max(d, 1) for f in names] for feats, d in rows], dtype=float)
    b = np.array([m.cycles for m in measurements], dtype=float)
    scale = np.sqrt(ridge) * np.maximum(np.abs(a).mean(axis=0), 1e-9)
    x = _non_negative(np.vstack([a, np.diag(scale)]), np.concatenate([b, scale]))
    return Calibration(
        factors=tuple((n, float(v)) for n, v in zip(names, x, strict=True)),
        before=float(np.sqrt(np.mean((a.sum(axis=1) - b) ** 2))),
        after=float(np.sqrt(np.mean((a @ x - b) ** 2))),
    )


def _non_negative(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Least squares with x >= 0: negative coordinates are fixed at 0 and the rest solved again."""
    active = np.ones(a.shape[1], dtype=bool)
    x = np.zeros(a.shape[1])
    for _ in range(a.shape[1] + 1):
        x[:] = 0.0
        if active.any():
            x[active] = np.linalg.lstsq(a[:, active], b, rcond=None)[0]
        if (x >= 0).all():
            return x
        active &= x > 0
    return np.maximum(x, 0.0)


def apply_calibration(problem: ModuloProblem, calibration: Calibration) -> ModuloProblem:
    """The problem with occupancies and latencies scaled by their factors, rounded up."""

    def scaled(cycles: int, feature: str) -> int:
        return int(np.ceil(round(cycles * calibration.factor(feature), 6)))

    def op(v: ModuloOp) -> ModuloOp:
        also = tuple(replace(h, cycles=scaled(h.cycles, f"unit {h.unit}")) for h in v.also)
        return replace(v, occupancy=scaled(v.occupancy, f"unit {v.unit}"), also=also)

    def latency_of(src: int) -> str:
        return f"latency {problem.ops[src].unit or 'none'}"

    edges = tuple(replace(e, latency=scaled(e.latency, latency_of(e.src))) for e in problem.edges)
    rings = tuple(
        replace(
            r,
            readers=tuple(
                tuple(replace(u, hold=scaled(u.hold, latency_of(u.op))) for u in reads)
                for reads in r.readers
            ),
        )
        for r in problem.rings
    )
    return replace(problem, ops=tuple(op(v) for v in problem.ops), edges=edges, rings=rings)


def duration(problem: ModuloProblem, op: int) -> int:
    """Cycles from issue of an op until its result is usable: the longest of its edges."""
    own = problem.ops[op]
    return max((e.latency for e in problem.edges if e.src == op), default=own.occupancy)


def with_durations(problem: ModuloProblem, cycles: Mapping[str, float]) -> ModuloProblem:
    """The problem with the durations of some ops, by name, replaced by measured ones.

    Edges and holds of the op grow by the difference. So does the time on its role's stream, if the
    op holds it (its issue takes as long as its unit); the units' own times stay.
    """
    unknown = sorted(set(cycles) - {op.name for op in problem.ops})
    if unknown or any(not c > 0 for c in cycles.values()):
        raise ConfigError(
            f"no durations can be set for {', '.join(unknown)}" if unknown else "a duration <= 0",
            where=f"body {problem.name!r}",
        )
    more = [
        round(cycles[op.name] - duration(problem, v)) if op.name in cycles else 0
        for v, op in enumerate(problem.ops)
    ]

    def op(v: int, own: ModuloOp) -> ModuloOp:
        blocks = own.issue >= own.occupancy
        return replace(own, issue=max(1, own.issue + more[v])) if blocks and more[v] else own

    def read(u: Read) -> Read:
        return replace(u, hold=max(0, u.hold + more[u.op]))

    return replace(
        problem,
        ops=tuple(op(v, own) for v, own in enumerate(problem.ops)),
        edges=tuple(replace(e, latency=max(0, e.latency + more[e.src])) for e in problem.edges),
        rings=tuple(
            replace(r, readers=tuple(tuple(read(u) for u in reads) for reads in r.readers))
            for r in problem.rings
        ),
    )
