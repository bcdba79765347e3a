"""Kernels of the kind that libraries of Triton kernels offer, each with its meaning in NumPy.

``CASES`` has them all; ``scripts/gallery`` runs them and writes the table of ``README.md``.
"""

from examples.gallery import attention, matmul, normalise, pointwise, reduce, scans, sparse
from examples.gallery.case import Case

CASES: tuple[Case, ...] = (
    *normalise.CASES,
    *pointwise.CASES,
    *reduce.CASES,
    *scans.CASES,
    *matmul.CASES,
    *attention.CASES,
    *sparse.CASES,
)

__all__ = ["CASES", "Case"]
