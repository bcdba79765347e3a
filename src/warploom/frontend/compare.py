"""Where rounding goes wrong: a kernel in its declared types beside float64, op by op.

Both evaluations take the same (rounded) inputs, tile by tile and step by step. The first value that
is not finite, or differs by more than a tolerance, is named with the author's line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from warploom.frontend.reference import Run, start, tiles_of
from warploom.ir.tile import DType, Kernel, Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first value that differs: what it is called, where it stands, and by how much.

    ``at``: the first element of each variable's tile or step, where it happens.
    """

    value: str
    line: Line | None
    at: tuple[tuple[str, int], ...]
    found: float
    wanted: float

    def __str__(self) -> str:
        kind = "NaN" if np.isnan(self.found) else "infinite" if np.isinf(self.found) else "off"
        where = ", ".join(f"{name} = {first}" for name, first in self.at)
        text = f": {self.line.text.strip()}" if self.line is not None and self.line.text else ""
        return (
            f"first {kind}: line {self.line.number if self.line else '?'}{text}\n"
            f"  value {self.value}, tile and step from {where or 'the first'}\n"
            f"  {self.found:g} in the declared types, {self.wanted:g} in float64"
        )


def compare(
    kernel: Kernel,
    arrays: tuple[object, ...],
    scalars: Mapping[str, float],
    *,
    tolerance: float = 0.05,
    extents: Mapping[str, int] | None = None,
    sizes: Mapping[str, int] | None = None,
    initial: Mapping[str, object] | None = None,
) -> Difference | None:
    """The first value of the kernel in its declared types that is not near that in float64.

    ``tolerance`` is relative to the largest element of the value. None: all are near.
    """
    runs = [
        start(kernel, arrays, scalars, exact=exact, extents=extents, sizes=sizes, initial=initial)
        for exact in (False, True)
    ]
    near, exact = runs
    exact.memory = {n: a.copy() for n, a in near.memory.items()}  # the same rounded inputs
    with np.errstate(all="ignore"):
        for spans in tiles_of(near):
            for run in runs:
                run.spans, run.values, run.trace = dict(spans), {}, []
                run.ops(kernel.ops)
            result = _first(near, exact, tolerance)
            if result is not None:
                return result
    return None


def _first(near: Run, exact: Run, tolerance: float) -> Difference | None:
    assert near.trace is not None
    assert exact.trace is not None
    for (value, spans, rounded), (_, _, other) in zip(near.trace, exact.trace, strict=False):
        if value.dtype is DType.BOOL or rounded.shape != other.shape or not rounded.size:
            continue
        mine, right = np.asarray(rounded, np.float64), np.asarray(other, np.float64)
        finite = np.isfinite(right)
        size = np.abs(right[finite]).max(initial=0.0)
        off = finite & ~(np.abs(mine - right) <= tolerance * size)
        if off.any():
            place = tuple(int(i) for i in np.argwhere(off)[0])
            at = tuple((n, first) for n, (first, _) in spans.items())
            return Difference(
                value=value.name,
                line=value.line,
                at=at,
                found=float(mine[place]),
                wanted=float(right[place]),
            )
    return None
