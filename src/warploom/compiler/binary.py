"""``Binary``: a compiled kernel and how it wants to be launched. All of it is data.

A kernel takes its parameters one by one: tensor maps (128 bytes each) and words of 8 bytes. A word
declared ``int`` or ``float`` in CUDA reads the low half, so ``int`` and ``long long`` are served by
the same word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from warploom.codegen.cuda.tile.signature import COUNTER_BYTES, Param
from warploom.dataclass import dataclass
from warploom.errors import GeometryError
from warploom.ir.tile import Parameter, Tensor
from warploom.passes.kernel_config import TileTerms, count_tiles

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

    ``parameters`` are in the order of the source. ``places``: where the axes that they count lie
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFacts:
    """What a launch has to know of a kernel beside its cubin, as data that can be kept.

    ``axes``: names of the axes of the kernel's tensors. ``moved``: tensors that are moved 16 bytes
    at a time. ``tiles``: how many there are (``count_tiles``). ``work_bytes``: of a part of a split
    loop; None for a kernel without memory to work in. ``config``: the name of its configuration.
    All else as in ``Binary`` and ``KernelConfig``.
    """

    entry: str
    threads: int
    shared_bytes: int
    parameters: tuple[Param, ...]
    scalars: tuple[Parameter, ...]
    axes: tuple[tuple[str, tuple[str, ...]], ...]
    aligned: tuple[str, ...]
    moved: tuple[str, ...]
    in_place: tuple[tuple[str, str], ...]
    tiles: TileTerms
    split: int
    near: bool
    cluster: int
    consumers: int
    resident: int
    work_bytes: int | None
    config: str

    def binary(
        self,
        cubin: bytes,
        tensors: tuple[Tensor, ...],
        visits: Callable[[Sizes, int], Sequence[int]],
    ) -> Binary:
        """The kernel for tensors in the order, and with the axes, of a caller."""
        parts = 1 if self.near else self.split
        grid = Grid(
            tiles=lambda sizes: count_tiles(self.tiles, sizes) * parts,
            # Without a loop as many as the driver lets run.
            resident=self.resident if self.consumers else None,
        )
        return Binary(
            cubin=cubin,
            entry=self.entry,
            threads=self.threads,
            shared_bytes=self.shared_bytes,
            tensors=tensors,
            parameters=self.parameters,
            scalars=self.scalars,
            places=self._places(tensors),
            aligned=frozenset(self.aligned),
            grid=grid,
            cluster=self.split if self.near else self.cluster,
            work=None if self.work_bytes is None else self._work,
            visits=visits,
            in_place=frozenset(self.in_place),
        )

    def _places(self, tensors: tuple[Tensor, ...]) -> dict[str, tuple[int, ...]]:
        """Where the axes of the kernel's tensors lie in the caller's."""
        theirs = {t.name: [a.name for a in t.axes] for t in tensors}
        return {
            name: tuple(theirs[name].index(axis) for axis in axes)
            for name, axes in self.axes
            if name in theirs
        }

    def _work(self, sizes: Sizes) -> int:
        """Bytes that the parts of all tiles leave, with counters."""
        assert self.work_bytes is not None
        if self.split == 1:  # counters of CTAs
            return COUNTER_BYTES
        tiles = count_tiles(self.tiles, sizes) * self.cluster
        if 8 * tiles * self.consumers > COUNTER_BYTES:
            raise GeometryError(
                f"{tiles} tiles with a split loop",
                where=f"configuration {self.config}",
                why="a split is for few tiles; with so many every SM has work without it",
                fix="split_k=1",
            )
        return COUNTER_BYTES + tiles * self.split * self.work_bytes
