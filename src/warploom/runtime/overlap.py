"""Outputs that lie where an input or another output does: found before a launch, and refused.

CTAs run in any order: one would read what another has written. The one exception is an input of
which every tile reads just the elements that it writes itself, later (a residual, queries).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from warploom.compiler.layout import Layout
from warploom.dataclass import dataclass
from warploom.errors import BackendError
from warploom.ir.tile import Access, Tensor

MOST_WORK = 100_000  # steps of the search for a common element
BASE = 1 << 62  # above all distances of tensors


class OverlapError(BackendError):
    """An output that shares memory with another tensor of the call."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tensors of a call by place, the first an output, with their layouts and sizes in bytes.

    ``same``: they may be one and the same.
    """

    out: int
    other: int
    names: tuple[str, str]
    layouts: tuple[Layout, Layout]
    bytes: tuple[int, int]
    same: bool

    def check(self, values: Sequence[int]) -> None:
        """``OverlapError`` where tensors at these addresses share an element."""
        far = values[self.other] - values[self.out]
        if not -self.bytes[1] < far < self.bytes[0] or (self.same and not far):
            return
        if _shares(*self.layouts, far):
            out, other = self.names
            raise OverlapError(
                f"{out} overlaps {other} in memory",
                where=f"argument {out}",
                why=f"tiles are computed in any order: {other} is read after {out} was written",
                fix=f"another tensor as {out}, or {other}.clone()",
            )


def pairs_of(
    tensors: Sequence[Tensor],
    names: Sequence[str],
    layouts: Sequence[Layout | None],
    given: Sequence[int],
    in_place: frozenset[tuple[str, str]],
) -> tuple[Pair, ...]:
    """What has to lie apart of the tensors that a call gives.

    ``in_place``: outputs with inputs that are read where they are written.
    """
    found = []
    for i in given:
        layout = layouts[i]
        if tensors[i].access is not Access.OUT or layout is None:
            continue
        for j in given:
            other = layouts[j]
            if other is None or j == i or (tensors[j].access is Access.OUT and j < i):
                continue
            same = (tensors[i].name, tensors[j].name) in in_place and layout == other
            sizes = _bytes(layout), _bytes(other)
            found.append(Pair(i, j, (names[i], names[j]), (layout, other), sizes, same))
    return tuple(found)


def check_itself(name: str, layout: Layout) -> None:
    """``OverlapError`` for an output whose elements share memory."""
    if any(s == 0 and n > 1 for n, s in zip(layout.shape, layout.strides, strict=True)):
        raise OverlapError(
            f"{name} has shape {layout.shape} and strides {layout.strides}",
            where=f"argument {name}",
            why="several of its elements lie in one place",
            fix=f"{name}.contiguous(), which is no view of one row",
        )


def _size(layout: Layout) -> int:
    return max(1, layout.dtype.bits // 8)


def _bytes(layout: Layout) -> int:
    """From the first byte of a tensor to its last."""
    steps = zip(layout.shape, layout.strides, strict=True)
    return (sum((n - 1) * s for n, s in steps if n > 1) + 1) * _size(layout)


@lru_cache(maxsize=1024)
def _shares(one: Layout, other: Layout, far: int) -> bool:
    """Whether two tensors whose addresses differ by ``far`` share a byte; if unsure, they do."""
    import numpy as np  # noqa: PLC0415 (calls whose tensors lie apart need none)

    first, second = np.asarray(_Seen(one, BASE)), np.asarray(_Seen(other, BASE + far))
    share: Callable[..., bool] = np.shares_memory
    try:
        return bool(share(first, second, max_work=MOST_WORK))
    except np.exceptions.TooHardError:
        return True


class _Seen:
    """A layout at an address, as NumPy takes it; nobody reads it."""

    def __init__(self, layout: Layout, address: int) -> None:
        size = _size(layout)
        self.__array_interface__ = {
            "version": 3,
            "shape": layout.shape,
            "strides": tuple(s * size for s in layout.strides),
            "typestr": f"|V{size}",
            "data": (address, False),
        }
