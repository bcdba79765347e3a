"""``Binary``: a compiled kernel and how it wants to be launched. All of it is data.

A kernel takes its parameters one by one: tensor maps (128 bytes each) and words of 8 bytes. A word
declared ``int`` or ``float`` in CUDA reads the low half, so ``int`` and ``long long`` are served by
the same word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from warploom.errors import BackendError
from warploom.kernel.values import DType, Tensor

Sizes = Mapping[str, int]  # the size of each named axis of a call


class Swizzle(IntEnum):
    """How a copy places 16-byte pieces in shared memory; the value is the driver's number."""

    NONE = 0
    B32 = 1
    B64 = 2
    B128 = 3

    @property
    def span(self) -> int:
        """The most bytes of the innermost axis of a box; 0: any."""
        return {0: 0, 1: 32, 2: 64, 3: 128}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMap:
    """A tensor map of a tensor.

    ``box``: elements of one copy along each axis, in the order of ``axes``. ``axes``: the tensor's
    axes by number, outermost first and the contiguous one last (all of them in order, if not
    given). A None among them is an axis of size 1 that the tensor does not have; axes left out are
    walked by no copy and must have size 1. ``bounded``: one of them that ends where a copy says:
    its coordinate is larger by n = size - end, and two more, the outermost, are n and ``WRAP`` - n:
    their strides take n rows back, since addresses are counted modulo 2^64. ``stacked``: so many
    blocks of the contiguous axis, as wide as the box, land one after the other; their number is the
    outermost coordinate.
    """

    tensor: str
    box: tuple[int, ...]
    axes: tuple[int | None, ...] | None = None
    swizzle: Swizzle = Swizzle.B128
    bounded: int | None = None
    stacked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """The address of a tensor, a multiple of ``alignment``; null for one that is not given."""

    tensor: str
    alignment: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stride:
    """The elements of one step along an axis, by name or number; 0 for a tensor not given."""

    tensor: str
    axis: str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The size of a named axis."""

    axis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A number of the call."""

    name: str
    dtype: DType = DType.F32


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The address of memory the kernel works in (``Binary.work``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The address of int32 numbers that follow from sizes and the number of CTAs; read only."""

    of: Callable[[Sizes, int], Sequence[int]]


Word = Pointer | Stride | Extent | Scalar | Work | Numbers
Param = TensorMap | Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """How many CTAs: one cluster for each tile, or as many as run at once if that is less.

    ``tiles`` of sizes. ``resident``: CTAs an SM runs at once (None: ask the driver).
    """

    tiles: Callable[[Sizes], int]
    resident: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """A compiled kernel, its tensors and scalars in the order of a call, and its parameters.

    ``parameters`` are in the order of the CUDA text. ``cluster``: CTAs of a cluster. ``work``:
    bytes of memory the kernel works in, whose first ``COUNTER_BYTES`` are 0 before and
    after every launch.
    """

    cubin: bytes = field(repr=False)
    entry: str
    threads: int
    shared_bytes: int
    tensors: tuple[Tensor, ...]
    parameters: tuple[Param, ...]
    grid: Grid
    scalars: tuple[Scalar, ...] = ()
    cluster: int = 1
    work: Callable[[Sizes], int] | None = None

    def __post_init__(self) -> None:
        tensors = {t.name for t in self.tensors}
        axes = {a.name for t in self.tensors for a in t.axes}
        scalars = {s.name for s in self.scalars}
        for i, parameter in enumerate(self.parameters):
            if isinstance(parameter, TensorMap | Pointer | Stride):
                _declared(parameter.tensor, tensors, f"parameter {i} names tensor")
            elif isinstance(parameter, Extent):
                _declared(parameter.axis, axes, f"parameter {i} names axis")
            elif isinstance(parameter, Scalar):
                _declared(parameter.name, scalars, f"parameter {i} names scalar")


def _declared(name: str, known: set[str], what: str) -> None:
    if name not in known:
        raise BackendError(
            f"{what} {name!r}, which the kernel does not declare",
            where="Binary",
            fix=f"declared: {', '.join(sorted(known))}",
        )
