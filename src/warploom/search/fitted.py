"""A model fed by measurements: predictions corrected by what was measured, judged on the rest.

The logarithm of measured over predicted time is a ridge regression on a trial's features. How well
the model ranks is the rank correlation on trials it was not fitted to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import NDArray

RIDGE = 1.0
FOLDS = 4
FEWEST = 8  # measured trials from which on a fit is worth something

Features = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Fit:
    """The factor a prediction is multiplied by, as a function of features."""

    names: tuple[str, ...]
    centre: tuple[float, ...]
    spread: tuple[float, ...]
    weights: tuple[float, ...]
    offset: float

    def __call__(self, predicted: float, features: Features) -> float:
        """The corrected prediction."""
        total = self.offset
        for name, centre, spread, weight in zip(
            self.names, self.centre, self.spread, self.weights, strict=True
        ):
            total += weight * (features.get(name, centre) - centre) / spread
        return predicted * exp(total)


def fit(rows: Sequence[tuple[float, Features, float]]) -> Fit:
    """Fitted to (predicted, features, measured); with few rows a factor alone."""
    target = np.array([log(measured / predicted) for predicted, _, measured in rows])
    offset = float(np.median(target)) if len(rows) else 0.0
    names = tuple(sorted({n for _, f, _ in rows for n in f}))
    if len(rows) < FEWEST:
        return Fit((), (), (), (), offset)
    table = _table(rows, names)
    spread = table.std(axis=0)
    used = spread > 0
    names = tuple(n for n, u in zip(names, used, strict=True) if u)
    table, spread = table[:, used], spread[used]
    centre = table.mean(axis=0)
    scaled = (table - centre) / spread
    offset = float(target.mean())
    square = scaled.T @ scaled + RIDGE * np.eye(len(names))
    weights = np.linalg.solve(square, scaled.T @ (target - offset))
    return Fit(names, tuple(centre), tuple(spread), tuple(weights), offset)


def _table(
    rows: Sequence[tuple[float, Features, float]], names: tuple[str, ...]
) -> NDArray[np.float64]:
    """Features by row; one that a row lacks is the mean of those that have it."""
    table = np.array([[f.get(n, np.nan) for n in names] for _, f, _ in rows], dtype=float)
    mean = np.nanmean(table, axis=0)
    return np.where(np.isnan(table), mean, table)


def held_out(rows: Sequence[tuple[float, Features, float]], folds: int = FOLDS) -> list[float]:
    """For each row the prediction of a model fitted to the other folds."""
    found = [0.0] * len(rows)
    for fold in range(folds):
        rest = [r for i, r in enumerate(rows) if i % folds != fold]
        model = fit(rest)
        for i, (predicted, features, _) in enumerate(rows):
            if i % folds == fold:
                found[i] = model(predicted, features)
    return found


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's: 1 for the same order, 0 for none; ties share their rank."""
    if len(a) < 2:
        return 0.0
    x, y = _ranks(a), _ranks(b)
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / scale if scale else 0.0


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    given = np.asarray(values, dtype=float)
    order = given.argsort(kind="stable")
    ranks = np.empty(len(given))
    ranks[order] = np.arange(len(given))
    for value in np.unique(given):
        same = given == value
        ranks[same] = ranks[same].mean()
    return ranks
