"""Kernels of the kind that libraries of Triton kernels offer, each with its meaning in NumPy.

``CASES`` has them all; ``scripts/gallery`` runs them and writes the table of ``README.md``.
"""

from examples.gallery import (
    attention,
    contexts,
    further,
    fused,
    layers,
    matmul,
    mixed,
    mixers,
    normalise,
    pointwise,
    reduce,
    scans,
    serving,
    sparse,
    states,
    steps,
    training,
    vision,
)
from examples.gallery.case import Case

CASES: tuple[Case, ...] = (
    *normalise.CASES,
    *pointwise.CASES,
    *reduce.CASES,
    *scans.CASES,
    *matmul.CASES,
    *attention.CASES,
    *sparse.CASES,
    *training.CASES,
    *serving.CASES,
    *contexts.CASES,
    *vision.CASES,
    *mixed.CASES,
    *states.CASES,
    *further.CASES,
    *layers.CASES,
    *mixers.CASES,
    *steps.CASES,
    *fused.CASES,
)

__all__ = ["CASES", "Case"]
