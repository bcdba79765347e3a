"""How well one list ranks another."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


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
