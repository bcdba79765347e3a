"""``Binary``: a compiled kernel and how it wants to be launched. All of it is data.

A kernel takes its parameters one by one: tensor maps (128 bytes each) and words of 8 bytes. A word
declared ``int`` or ``float`` in CUDA reads the low half, so ``int`` and ``long long`` are served by
the same word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from warploom.emit.cuda.tile.signature import Param
from warploom.kernel.values import Parameter, Tensor

Sizes = Mapping[str, int]  # the size of each named axis of a call


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

    ``parameters`` are in the order of the CUDA text. ``places``: where the axes that they count lie
    in the caller's tensor, where not in order. ``aligned``: tensors whose address is a multiple of
    16 bytes. ``cluster``: CTAs of a cluster. ``work``: bytes of memory the kernel works in, whose
    first ``COUNTER_BYTES`` are 0 before and after every launch. ``visits``: the list of tiles its
    CTAs walk, of sizes and the number of CTAs. ``in_place``: outputs with inputs of which a tile
    reads what it writes itself, and nothing else.
    """

    cubin: bytes = field(repr=False)
    entry: str
    threads: int
    shared_bytes: int
    tensors: tuple[Tensor, ...]
    parameters: tuple[Param, ...]
    grid: Grid
    scalars: tuple[Parameter, ...] = ()
    places: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    aligned: frozenset[str] = frozenset()
    cluster: int = 1
    work: Callable[[Sizes], int] | None = None
    visits: Callable[[Sizes, int], Sequence[int]] = lambda sizes, ctas: ()
    in_place: frozenset[tuple[str, str]] = frozenset()
