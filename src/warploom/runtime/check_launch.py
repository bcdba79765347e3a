"""The launch of a compiled kernel of ours, as ``check`` needs it.

``check`` knows nothing of this compiler; here a ``Compiled`` and sizes become a ``Launch`` with the
tensor maps, words and tensors that a call would have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.launch import Launch, Param, Tensor, TensorMap
from warploom.codegen.cuda.tile.signature import (
    MapParam,
    OrderParam,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
    WorkParam,
)
from warploom.compiler.binary import Binary
from warploom.compiler.compiled import Compiled
from warploom.compiler.described import binary_of
from warploom.errors import BackendError
from warploom.ir.tile import Access, DType
from warploom.runtime.layout import Layout, map_geometry

_ELEMENTS = {DType.BOOL: "u8", DType.I4: "u8"}
_SPANS = {0: "none", 32: "32B", 64: "64B", 128: "128B"}
WORK, ORDER = "work_memory", "tile_order"


def launch_of(
    made: Compiled,
    sizes: Mapping[str, int],
    *,
    ctas: int | None = None,
    scalars: Mapping[str, float] | None = None,
    contents: Mapping[str, NDArray[Any]] | None = None,
) -> Launch:
    """The launch of a compiled kernel with these sizes of its axes.

    ``ctas``: as many CTAs as run at once; by default one cluster for each tile. ``contents``: bytes
    of tensors that must not be random (lengths, lists, indices).
    """
    binary = binary_of(made)
    return launch_of_binary(
        binary, sizes, ctas=ctas, scalars=scalars, contents=contents, registers=made.registers
    )


def launch_of_binary(
    binary: Binary,
    sizes: Mapping[str, int],
    *,
    ctas: int | None = None,
    scalars: Mapping[str, float] | None = None,
    contents: Mapping[str, NDArray[Any]] | None = None,
    registers: int | None = None,
) -> Launch:
    """The launch of a binary with these sizes."""
    tensors: dict[str, Tensor] = {}
    layouts: dict[str, Layout] = {}
    for t in binary.tensors:
        shape = tuple(-(-sizes[a.name] // a.per) + (t.access is Access.STARTS) for a in t.axes)
        strides = tuple(int(np.prod(shape[i + 1 :])) for i in range(len(shape)))
        layouts[t.name] = Layout(shape, strides, t.dtype)
        tensors[t.name] = Tensor(
            name=t.name,
            shape=shape,
            dtype=_ELEMENTS.get(t.dtype, t.dtype.value),
            role="out" if t.access is Access.OUT else "in",
        )
    grid = binary.grid.tiles(sizes) * binary.cluster
    if ctas is not None:
        grid = max(binary.cluster, min(grid, ctas // binary.cluster * binary.cluster))
    params = []
    for p in binary.parameters:
        params.append(_param(p, binary, sizes, layouts, tensors, grid, dict(scalars or {})))
    return Launch(
        entry=binary.entry,
        grid=(grid, 1, 1),
        block=(binary.threads, 1, 1),
        cluster=(binary.cluster, 1, 1),
        shared_bytes=binary.shared_bytes,
        params=tuple(params),
        tensors=tensors,
        registers=registers,
        name=", ".join(f"{k}={v}" for k, v in sizes.items()),
        contents=dict(contents or {}),
    )


def _param(  # noqa: PLR0911 (one case a kind of parameter)
    p: object,
    binary: Binary,
    sizes: Mapping[str, int],
    layouts: Mapping[str, Layout],
    tensors: dict[str, Tensor],
    grid: int,
    scalars: Mapping[str, float],
) -> Param:
    places = binary.places
    match p:
        case MapParam():
            found = map_geometry(p, layouts[p.tensor], places.get(p.tensor))
            return Param(
                kind="tensormap",
                map=TensorMap(
                    tensor=p.tensor,
                    dims=found.shape,
                    strides=found.strides,
                    box=found.box,
                    element=tensors[p.tensor].dtype,
                    swizzle=_SPANS[p.span],
                    offset=-found.ahead,  # what is counted from the end starts before the tensor
                ),
            )
        case PointerParam():
            return Param(kind="pointer", tensor=p.tensor)
        case SizeParam():
            return Param(kind="i32", value=sizes[p.axis])
        case StrideParam():
            axes = places.get(p.tensor)
            at = axes[p.axis] if axes else p.axis
            return Param(kind="i64", value=layouts[p.tensor].strides[at])
        case ScalarParam():
            usual = {s.name: getattr(s, "default", None) for s in binary.scalars}
            value = scalars.get(p.parameter, usual.get(p.parameter))
            if value is None:
                raise BackendError(f"no value for the scalar {p.parameter}", fix="scalars={...}")
            kind = "i32" if p.dtype is DType.I32 else "f32"
            return Param(kind=kind, value=float(value) if kind == "f32" else int(value))
        case WorkParam():
            assert binary.work is not None
            size = binary.work(sizes)
            tensors[WORK] = Tensor(name=WORK, shape=(size,), dtype="u8", role="inout", init="zero")
            return Param(kind="pointer", tensor=WORK)
        case OrderParam():
            visits = tuple(float(v) for v in binary.visits(sizes, grid)) or (0.0,)
            tensors[ORDER] = Tensor(
                name=ORDER, shape=(len(visits),), dtype="i32", role="in", values=visits
            )
            return Param(kind="pointer", tensor=ORDER)
    raise BackendError(f"a parameter of kind {type(p).__name__}", where="launch_of")
