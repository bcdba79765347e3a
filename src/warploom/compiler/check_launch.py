"""The launch of a compiled kernel of ours, as ``check`` needs it.

``check`` knows nothing of this compiler; here a ``Compiled`` and sizes become a ``Launch`` with the
tensor maps, words and tensors that a call would have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.axioms import resolve
from warploom.check.formats import decode, encode
from warploom.check.launch import Launch, Param, Tensor, TensorMap
from warploom.check.ptx.check import check_ptx
from warploom.codegen.cuda.tile.signature import (
    MapParam,
    OrderParam,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
    WorkParam,
)
from warploom.codegen.cuda.tile.source import Source
from warploom.compiler.binary import Binary
from warploom.compiler.compiled import Compiled
from warploom.compiler.cubin import ptx_of
from warploom.compiler.described import binary_of, described
from warploom.compiler.layout import Layout, map_geometry
from warploom.errors import BackendError, InterpreterError
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import Access, DType, Kernel, Store, walk
from warploom.passes.kernel_config import KernelConfig

_ELEMENTS = {DType.BOOL: "u8", DType.I4: "u8"}
_SPANS = {0: "none", 32: "32B", 64: "64B", 128: "128B"}
WORK, ORDER = "work_memory", "tile_order"
MOST_INSTRUCTIONS = 200_000_000  # of all warps of a launch
UNWRITTEN = {DType.I32: -(2**31), DType.I8: -128}


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


def executed(
    kernel: Kernel,
    emitted: tuple[Kernel, Source, KernelConfig],
    arrays: Mapping[str, NDArray[Any]],
    scalars: Mapping[str, float],
    sizes: Mapping[str, int],
    *,
    order: str = "forward",
    seed: int = 0,
    budget: int = MOST_INSTRUCTIONS,
    clean: bool = True,
) -> dict[str, NDArray[Any]]:
    """What the CUDA of a kernel without a pipeline computes: its PTX, executed warp by warp.

    ``arrays``: inputs, and what outputs hold before, as the kernel orders their axes. ``clean``:
    a finding of the checker is an ``InterpreterError``, too.
    """
    binary = described(*emitted, b"")
    source = emitted[1]
    contents, shapes = {}, {}
    for t in kernel.tensors:
        starts = t.access is Access.STARTS
        shapes[t.name] = tuple(-(-sizes[a.name] // a.per) + starts for a in t.axes)
        given = arrays.get(t.name)
        kind = "u8" if t.dtype is DType.BOOL else t.dtype.value
        if given is not None:
            values = np.broadcast_to(np.asarray(given), shapes[t.name])
            contents[t.name] = encode(rounded(np.asarray(values), t.dtype), kind)
        else:
            added = any(
                isinstance(op, Store) and op.add and op.tensor == t.name for op in walk(kernel.ops)
            )
            empty: float = np.nan if t.dtype.is_float else UNWRITTEN.get(t.dtype, 0)
            contents[t.name] = encode(np.full(shapes[t.name], 0 if added else empty), kind)
    outputs = {t.name for t in kernel.tensors if t.access is Access.OUT}
    found: dict[str, Any] = {}
    if binary.grid.tiles(sizes) and any(np.prod(shapes[n]) for n in outputs):
        launch = launch_of_binary(binary, sizes, scalars=scalars, contents=contents)
        report = check_ptx(
            ptx_of(source.text),
            launch,
            axioms=resolve(None),
            seed=seed,
            orders=(order,),
            budget=budget,
            outputs=found,
        )
        if clean and not report.clean:
            raise InterpreterError(
                f"the machine code of kernel {kernel.name} is {report.verdict.value}",
                why=report.text()[:2000],
            )
        if report.unsupported:
            raise BackendError("the machine code is not executed whole", why=report.unsupported)
    result = {}
    for t in kernel.tensors:
        if t.name in outputs:
            kind = "u8" if t.dtype is DType.BOOL else t.dtype.value
            array = found[t.name] if t.name in found else decode(contents[t.name], kind)
            array = np.asarray(array).reshape(shapes[t.name])
            if t.dtype.is_float:
                array = array.astype(np.float32)
            elif t.dtype is DType.BOOL:
                array = array != 0
            result[t.name] = array
    return result
