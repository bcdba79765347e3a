"""A compiled kernel as what a launch needs: parameters, grid, and memory to work in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from warploom.emit.cuda.tile.meet import COUNTER_BYTES
from warploom.emit.cuda.tile.signature import (
    MapParam,
    OrderParam,
    Param,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
    WorkParam,
)
from warploom.emit.cuda.tile.source import Source
from warploom.errors import GeometryError
from warploom.kernel.values import Kernel, Tensor
from warploom.launch import binary as parts
from warploom.launch.compiled import Built, Compiled
from warploom.lower.tiling import Tiling
from warploom.lower.visits import tiles_of, visit_list

ALIGNMENT = 16


def binary_of(
    made: Compiled, tensors: tuple[Tensor, ...] | None = None, built: Built | None = None
) -> parts.Binary:
    """A compiled kernel as what a launch needs.

    ``tensors``: in the order of the call. ``built``: another build of it than its own choice.
    """
    built = built or made.built
    return described(made.rewritten, built.source, built.tiling, built.cubin.data, tensors)


def described(
    kernel: Kernel,
    source: Source,
    tiling: Tiling,
    cubin: bytes,
    tensors: tuple[Tensor, ...] | None = None,
) -> parts.Binary:
    """An emitted kernel as what a launch needs."""
    parameters = tuple(
        _parameter(kernel, tiling, p, _axes(kernel, tensors, p)) for p in source.params
    )
    meets = any(isinstance(p, parts.Work) for p in parameters)
    return parts.Binary(
        cubin=cubin,
        entry=source.entry,
        threads=source.threads,
        shared_bytes=source.shared_bytes,
        tensors=tensors or kernel.tensors,
        parameters=parameters,
        scalars=tuple(parts.Scalar(name=p.name, dtype=p.dtype) for p in kernel.parameters),
        grid=_grid(kernel, tiling),
        cluster=tiling.ctas,
        work=_work(kernel, tiling, source) if meets else None,
    )


def _grid(kernel: Kernel, tiling: Tiling) -> parts.Grid:
    resident = (
        tiling.resident if tiling.consumers else None
    )  # without a loop as many as the driver lets run
    return parts.Grid(
        tiles=lambda sizes: tiles_of(kernel, tiling, sizes) * (1 if tiling.near else tiling.split),
        resident=resident,
    )


def _work(kernel: Kernel, tiling: Tiling, source: Source) -> Callable[[Mapping[str, int]], int]:
    """Bytes that the parts of all tiles leave, with their counters."""

    def count(sizes: Mapping[str, int]) -> int:
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


def _axes(
    kernel: Kernel, tensors: tuple[Tensor, ...] | None, param: Param
) -> tuple[int, ...] | None:
    """Where the axes of the kernel's tensor lie in the caller's."""
    if not isinstance(param, MapParam | StrideParam):
        return None
    mine = kernel.tensor(param.tensor)
    theirs = next((t for t in tensors or () if t.name == param.tensor), mine)
    places = [a.name for a in theirs.axes]
    return tuple(places.index(a.name) for a in mine.axes)


def _parameter(  # noqa: PLR0911 (one line a kind)
    kernel: Kernel, tiling: Tiling, param: Param, axes: tuple[int, ...] | None
) -> parts.Param:
    match param:
        case MapParam():
            swizzle = next(s for s in parts.Swizzle if s.span == param.span)
            assert axes is not None
            return parts.TensorMap(
                tensor=param.tensor,
                box=param.box,
                axes=axes,
                swizzle=swizzle,
                bounded=None if param.bounded is None else axes[param.bounded],
                stacked=param.stacked,
            )
        case PointerParam():
            wide = any(t.name == param.tensor and len(t.axes) > 1 for t in kernel.tensors)
            wide = wide and (param.written or not kernel.loops)  # loops read single elements so
            return parts.Pointer(tensor=param.tensor, alignment=ALIGNMENT if wide else 1)
        case StrideParam():
            assert axes is not None
            return parts.Stride(tensor=param.tensor, axis=axes[param.axis])
        case SizeParam():
            return parts.Extent(axis=param.axis)
        case WorkParam():
            return parts.Work()
        case ScalarParam():
            return parts.Scalar(name=param.parameter, dtype=param.dtype)
        case OrderParam():
            return parts.Numbers(of=partial(visit_list, kernel, tiling))


def moved(source: Source, kernel: Kernel) -> frozenset[str]:
    """Tensors that are moved 16 bytes at a time."""
    wide = {t.name for t in kernel.tensors if len(t.axes) > 1}
    maps = {p.tensor for p in source.params if isinstance(p, MapParam)}
    stored = {p.tensor for p in source.params if isinstance(p, PointerParam) and p.written}
    return frozenset(maps | (stored & wide))
