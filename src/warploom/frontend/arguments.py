"""What a kernel is given: arrays that fit its tensors, sizes that agree, scalars by name."""

from collections.abc import Mapping

import numpy as np

from warploom.errors import KernelCallError
from warploom.frontend.pointwise import Array, as_stored, rounded
from warploom.ir.tile import Access, DType, Kernel, Tensor, Walk


def _fail(kernel: Kernel, what: str, why: str, fix: str) -> None:
    raise KernelCallError(what, where=f"{kernel.line} ({kernel.name})", why=why, fix=fix)


def check_scalars(kernel: Kernel, scalars: Mapping[str, float]) -> None:
    """Every parameter is given once, and nothing else."""
    missing = {p.name for p in kernel.parameters} ^ set(scalars)
    if missing:
        _fail(
            kernel,
            f"scalars {', '.join(sorted(missing))} do not fit",
            f"the kernel takes {', '.join(p.name for p in kernel.parameters) or 'none'}",
            "give each of them once, by name",
        )


def inputs_of(kernel: Kernel, arrays: tuple[object, ...], *, exact: bool) -> dict[str, Array]:
    """The arrays of a call, by the tensors they are given for."""
    inputs = [t for t in kernel.tensors if t.access is not Access.OUT]
    if len(inputs) != len(arrays):
        _fail(
            kernel,
            f"{len(arrays)} arrays for {len(inputs)} tensors",
            f"the kernel takes {', '.join(t.name for t in inputs)}; outputs are made",
            "one array for each, in order",
        )
    result = {}
    for tensor, given in zip(inputs, arrays, strict=True):
        array = as_stored(np.asarray(given), tensor.dtype)
        array = array.astype(np.float64 if tensor.dtype.is_float else np.int64)
        if array.ndim != len(tensor.axes):
            _fail(
                kernel,
                f"'{tensor.name}' has {array.ndim} axes",
                f"the text names {len(tensor.axes)}: {', '.join(a.name for a in tensor.axes)}",
                "an array of as many axes",
            )
        if tensor.dtype is DType.I8 and array.size and not -129 < array.min() <= array.max() < 128:
            _fail(
                kernel,
                f"'{tensor.name}' holds {array.max() if array.max() > 127 else array.min()}",
                "its elements are i8: numbers from -128 to 127, or bytes without sign as uint8",
                "an array of uint8",
            )
        result[tensor.name] = array if exact else rounded(array, tensor.dtype)
    return result


def lengths_of(
    kernel: Kernel, given: Mapping[str, Array], sizes: Mapping[str, int]
) -> dict[str, int]:
    """The size of each axis, equal wherever it occurs."""
    lengths = dict(sizes)
    lengths |= {v.axis: v.extent for v in kernel.vars if v.walk is Walk.WHOLE and v.extent}
    # A rewrite may have made a tile wider than its axis.
    lengths |= {a.name: a.size for t in kernel.tensors for a in t.axes if a.size and a.per == 1}
    blocks = []
    for tensor in kernel.tensors:
        for axis, size in zip(
            tensor.axes, getattr(given.get(tensor.name), "shape", ()), strict=False
        ):
            if axis.per != 1:
                blocks.append((tensor, axis, size))
                continue
            own = size - (tensor.access is Access.STARTS)
            if lengths.setdefault(axis.name, own) != own:
                _fail(
                    kernel,
                    f"axis '{axis.name}' of '{tensor.name}' has {own} elements, "
                    f"elsewhere {lengths[axis.name]}",
                    "axes of one name have one size",
                    "arrays whose axes of the same name agree",
                )
    for tensor, axis, size in blocks:
        full = lengths.get(axis.name)
        if full is not None and -(-full // axis.per) != size:
            _fail(
                kernel,
                f"axis '{axis.name}/{axis.per}' of '{tensor.name}' has {size} elements for {full}",
                f"it has one for each {axis.per} of '{axis.name}'",
                f"an axis of {-(-full // axis.per)} elements",
            )
    return lengths


def output_of(
    kernel: Kernel, tensor: Tensor, lengths: Mapping[str, int], initial: Mapping[str, object]
) -> Array:
    """What an output holds before the first tile."""
    for axis in tensor.axes:
        if axis.name not in lengths:
            _fail(
                kernel,
                f"the size of axis '{axis.name}' of '{tensor.name}' is not known",
                "no input has it",
                f"sizes={{'{axis.name}': ...}}",
            )
    shape = tuple(-(-lengths[a.name] // a.per) for a in tensor.axes)
    kind = np.float64 if tensor.dtype.is_float else np.int64
    if tensor.name in initial:
        return np.array(np.broadcast_to(np.asarray(initial[tensor.name]), shape), kind)
    return np.zeros(shape, kind)
