"""A compiled kernel as what a launch needs: parameters, grid, and memory to work in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from warploom.emit.cuda.tile.meet import COUNTER_BYTES
from warploom.emit.cuda.tile.signature import MapParam, PointerParam, WorkParam
from warploom.emit.cuda.tile.source import Source
from warploom.errors import GeometryError
from warploom.kernel.values import Kernel, Load, Store, Tensor, results, walk
from warploom.launch.binary import Binary, Grid
from warploom.launch.compiled import Built, Compiled
from warploom.lower.tiling import Tiling
from warploom.lower.visits import tiles_of, visit_list

MATRIX = 2


def binary_of(
    made: Compiled, tensors: tuple[Tensor, ...] | None = None, built: Built | None = None
) -> Binary:
    """A compiled kernel as what a launch needs.

    ``tensors``: in the order of the call. ``built``: another build of it than its own choice.
    """
    built = built or made.built
    kernel = made.simplified if built.source.any_alignment else made.rewritten
    return described(kernel, built.source, built.tiling, built.cubin.data, tensors)


def described(
    kernel: Kernel,
    source: Source,
    tiling: Tiling,
    cubin: bytes,
    tensors: tuple[Tensor, ...] | None = None,
) -> Binary:
    """An emitted kernel as what a launch needs."""
    meets = any(isinstance(p, WorkParam) for p in source.params)
    return Binary(
        cubin=cubin,
        entry=source.entry,
        threads=source.threads,
        shared_bytes=source.shared_bytes,
        tensors=tensors or kernel.tensors,
        parameters=source.params,
        scalars=kernel.parameters,
        places=_places(kernel, tensors or ()),
        aligned=_aligned(kernel, source),
        grid=_grid(kernel, tiling),
        cluster=tiling.ctas,
        work=_work(kernel, tiling, source) if meets else None,
        visits=partial(visit_list, kernel, tiling),
        in_place=frozenset() if source.passes else _in_place(kernel),
    )


def _places(kernel: Kernel, tensors: tuple[Tensor, ...]) -> dict[str, tuple[int, ...]]:
    """Where the axes of the kernel's tensors lie in the caller's."""
    theirs = {t.name: [a.name for a in t.axes] for t in tensors}
    return {
        t.name: tuple(theirs[t.name].index(a.name) for a in t.axes)
        for t in kernel.tensors
        if t.name in theirs
    }


def _aligned(kernel: Kernel, source: Source) -> frozenset[str]:
    """Tensors of several axes that are moved by address; loops read single elements so."""
    if source.any_alignment:
        return frozenset()
    wide = {t.name for t in kernel.tensors if len(t.axes) > 1} - _by_element(kernel)
    pointers = [p for p in source.params if isinstance(p, PointerParam)]
    return frozenset(p.tensor for p in pointers if p.written or not kernel.loops) & wide


def _in_place(kernel: Kernel) -> frozenset[tuple[str, str]]:
    """Outputs and inputs of which a tile reads, once and before it writes, what it writes."""
    outside = [op for op in kernel.ops if isinstance(op, Load | Store)]
    stores = [op for op in outside if isinstance(op, Store) and not op.add]
    loads = [op for op in walk(kernel.ops) if isinstance(op, Load)]
    found = set()
    for store in stores:
        for name in {op.tensor for op in loads}:
            mine = [op for op in loads if op.tensor == name]
            if all(op in outside and op.at == store.at for op in mine):
                found.add((store.tensor, name))
    several = {op.tensor for op in walk(kernel.ops) if isinstance(op, Store)} - {
        s.tensor for s in stores
    }
    return frozenset(pair for pair in found if pair[0] not in several)


def _by_element(kernel: Kernel) -> frozenset[str]:
    """Outputs that are vectors of a tile: kernels with a loop write them element by element."""
    if not kernel.loops:
        return frozenset()
    ops = tuple(walk(kernel.ops))
    ranks = {value.name: len(value.dims) for op in ops for value in results(op)}
    ranks |= {c.result.name: len(c.result.dims) for x in kernel.loops for c in x.carried}
    stores = [op for op in ops if isinstance(op, Store)]
    tiles = {op.tensor for op in stores if ranks.get(op.value, MATRIX) >= MATRIX}
    return frozenset(op.tensor for op in stores) - tiles


def _grid(kernel: Kernel, tiling: Tiling) -> Grid:
    resident = (
        tiling.resident if tiling.consumers else None
    )  # without a loop as many as the driver lets run
    return Grid(
        tiles=lambda sizes: tiles_of(kernel, tiling, sizes) * (1 if tiling.near else tiling.split),
        resident=resident,
    )


def _work(kernel: Kernel, tiling: Tiling, source: Source) -> Callable[[Mapping[str, int]], int]:
    """Bytes that the parts of all tiles leave, with counters."""

    def count(sizes: Mapping[str, int]) -> int:
        if tiling.split == 1:  # counters of CTAs
            return COUNTER_BYTES
        tiles = tiles_of(kernel, tiling, sizes) * tiling.cluster
        if 8 * tiles * tiling.consumers > COUNTER_BYTES:
            raise GeometryError(
                f"{tiles} tiles with a split loop",
                where=f"tiling {tiling.name}",
                why="a split is for few tiles; with so many every SM has work without it",
                fix="split=1",
            )
        return COUNTER_BYTES + tiles * tiling.split * source.work_bytes

    return count


def moved(source: Source, kernel: Kernel) -> frozenset[str]:
    """Tensors that are moved 16 bytes at a time, and have to lie so."""
    if source.any_alignment:
        return frozenset()
    wide = {t.name for t in kernel.tensors if len(t.axes) > 1} - _by_element(kernel)
    maps = {p.tensor for p in source.params if isinstance(p, MapParam)}
    stored = {p.tensor for p in source.params if isinstance(p, PointerParam) and p.written}
    return frozenset(maps | (stored & wide))
