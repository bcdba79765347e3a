"""What a plan depends on: shapes, strides and types of a call's tensors, checked against a kernel.

Errors name the tensor, what is wrong with it, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.codegen.cuda.tile.signature import WRAP, WRAP_STRIDE, MapParam
from warploom.dataclass import dataclass
from warploom.errors import BackendError
from warploom.ir.tile import Access, DType, Tensor

STRIDE_ALIGNMENT = 16  # bytes: what tensor maps ask of every stride but the innermost
MOST_RANK, MOST_BOX, MOST_STRIDE, MOST_SIZE = 5, 256, 1 << 40, 1 << 32
MOST_LENGTH = (1 << 31) - (1 << 12)  # indices are of 32 bits, also those past the last tile's end
_ELEMENTS = {
    DType.F32: "FLOAT32",
    DType.BF16: "BFLOAT16",
    DType.F16: "FLOAT16",
    DType.I32: "INT32",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Shape, strides (in elements), type and device of a tensor; neither address nor owner."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    device: int = 0


@dataclass(frozen=True, slots=True)
class Geometry:
    """A tensor map as the driver wants it: innermost axis first, strides in bytes without its.

    ``ahead``: bytes by which it begins before its tensor.
    """

    element: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    ahead: int = 0


class EmptyError(BackendError):
    """A tensor without elements, of which a kernel cannot be made."""


def is_empty(layouts: Sequence[Layout | None]) -> bool:
    """Whether one of the tensors has no elements."""
    return any(w is not None and 0 in w.shape for w in layouts)


def bind(
    tensors: Sequence[Tensor], layouts: Sequence[Layout | None], *, empty: bool = False
) -> dict[str, int]:
    """The sizes of the named axes; ``BackendError`` where tensors do not fit the declaration.

    ``empty``: they may have no elements.
    """
    if len(tensors) != len(layouts):
        raise BackendError(
            f"{len(layouts)} tensors for {len(tensors)}", fix=", ".join(t.name for t in tensors)
        )
    for tensor, layout in zip(tensors, layouts, strict=True):
        if layout is not None:
            _check_kind(tensor, layout, empty=empty)
        elif not tensor.optional:
            raise BackendError(f"{tensor.name} is missing", where=f"argument {tensor.name}")
    given = [(t, w) for t, w in zip(tensors, layouts, strict=True) if w is not None]
    _check_one_device(given)
    return _sizes(given, least=0 if empty else 1)


def _sizes(given: Sequence[tuple[Tensor, Layout]], least: int) -> dict[str, int]:
    """Sizes by axis name, the same in every tensor; axes counted in blocks come last."""
    sizes: dict[str, int] = {}
    origin: dict[str, str] = {}
    named = [(t, w, a, n) for t, w in given for a, n in zip(t.axes, w.shape, strict=True)]
    for tensor, layout, axis, count in sorted(named, key=lambda x: x[2].per > 1):
        size = count - (tensor.access is Access.STARTS)  # offsets: one more than groups
        if size < least:
            raise _misfit(tensor, layout, "it has one entry more than there are groups")
        if size > MOST_LENGTH:
            why = f"axes of kernels have at most {MOST_LENGTH} elements"
            raise _misfit(tensor, layout, why, fix=f"a call for each slice along {axis.name}")
        if axis.size is not None and axis.size != size:
            raise _misfit(tensor, layout, f"axis {axis.name} has size {axis.size}")
        if axis.per == 1:
            origin.setdefault(axis.name, tensor.name)
            if sizes.setdefault(axis.name, size) != size:
                why = f"{origin[axis.name]} has {axis.name} = {sizes[axis.name]}"
                raise _misfit(tensor, layout, why)
        elif axis.name in sizes and -(-sizes[axis.name] // axis.per) != size:
            why = f"{size} blocks of {axis.per} along {axis.name} = {sizes[axis.name]}"
            raise _misfit(tensor, layout, why)
    return sizes


def _check_kind(tensor: Tensor, layout: Layout, *, empty: bool) -> None:
    if len(layout.shape) != len(tensor.axes):
        raise _misfit(tensor, layout, f"{len(tensor.axes)} axes are declared")
    same_bits = tensor.dtype.is_unsigned and layout.dtype is tensor.dtype.stored
    if layout.dtype != tensor.dtype and not same_bits:
        raise BackendError(
            f"{tensor.name} is {layout.dtype}",
            where=f"argument {tensor.name}",
            fix=f"{tensor.dtype}: the kernel was made for it",
        )
    if 0 in layout.shape and not empty:
        raise EmptyError(
            f"{tensor.name} is empty: shape {layout.shape}",
            where=f"argument {tensor.name}",
            fix="handle empty tensors before the call",
        )


def _check_one_device(given: Sequence[tuple[Tensor, Layout]]) -> None:
    places = {layout.device: tensor.name for tensor, layout in given}
    if len(places) > 1:
        said = ", ".join(f"{name} on device {device}" for device, name in places.items())
        raise BackendError(f"tensors lie on several devices: {said}", fix="one device for all")


def _misfit(tensor: Tensor, layout: Layout, why: str, *, fix: str = "") -> BackendError:
    axes = ", ".join(f"{a.name}/{a.per}" if a.per > 1 else a.name for a in tensor.axes)
    return BackendError(
        f"{tensor.name} has shape {layout.shape}",
        where=f"argument {tensor.name}",
        why=why,
        fix=fix or f"axes [{axes}]",
    )


def map_geometry(
    parameter: MapParam, layout: Layout, axes: tuple[int, ...] | None = None
) -> Geometry:
    """The tensor map of a tensor; ``BackendError`` for strides a copy cannot walk.

    ``axes``: those of the box by their places in the layout, where not in order.
    """
    axes = tuple(range(len(layout.shape))) if axes is None else axes
    size = max(1, layout.dtype.bits // 8)
    _check_map(parameter, layout, axes, size)
    shape = [layout.shape[a] for a in axes]
    strides = [layout.strides[a] * size for a in axes]
    legal = -(-shape[-1] * size // STRIDE_ALIGNMENT) * STRIDE_ALIGNMENT
    for i, n in enumerate(shape[:-1]):
        if n == 1:  # never stepped along, but the driver looks at it all the same
            strides[i] = legal
        elif strides[i] <= 0 or strides[i] % STRIDE_ALIGNMENT or strides[i] >= MOST_STRIDE:
            raise _strides(parameter, layout, "other strides positive multiples of 16 bytes")
    box, ahead = list(parameter.box), 0
    if parameter.bounded is not None and len(axes) > MOST_RANK - 2:
        at = parameter.bounded  # what is counted from the end goes on by the end from n rows before
        ahead = shape[at] * strides[at]
        shape, strides, box = [shape[at] + 1, *shape], [strides[at], *strides], [1, *box]
    elif parameter.bounded is not None:  # it goes back by n and WRAP - n
        at = parameter.bounded
        shape = [WRAP + 1, shape[at] + 1, *shape]
        strides = [WRAP_STRIDE, WRAP_STRIDE - strides[at], *strides]
        box = [1, 1, *box]
    if parameter.stacked:
        wide = box[-1]
        shape = [max(shape[-1] // wide, 1), *shape[:-1], wide]
        strides = [wide * size, *strides]
        box = [parameter.stacked, *box]
    return Geometry(
        element=_ELEMENTS.get(layout.dtype, "UINT8"),
        shape=tuple(reversed(shape)),
        strides=tuple(reversed(strides[:-1])),
        box=tuple(reversed(box)),
        ahead=ahead,
    )


def _check_map(parameter: MapParam, layout: Layout, axes: tuple[int, ...], size: int) -> None:
    where = f"tensor map of {parameter.tensor}"
    more = 2 if len(axes) <= MOST_RANK - 2 else 1
    rank = len(axes) + more * (parameter.bounded is not None)
    if not 1 <= rank <= MOST_RANK or len(parameter.box) != len(axes):
        raise BackendError(
            f"a box of {len(parameter.box)} axes for {len(axes)}", where=where, fix="1 to 5 axes"
        )
    if min(parameter.box) < 1 or max(parameter.box) > MOST_BOX:
        raise BackendError(f"box {parameter.box}", where=where, fix=f"1 to {MOST_BOX} elements")
    span, inner = parameter.span, parameter.box[-1] * size
    if inner % STRIDE_ALIGNMENT or (span and inner > span):
        raise BackendError(
            f"the innermost axis of box {parameter.box} takes {inner} bytes",
            where=where,
            why=f"{span or 'any number of'} bytes of a row are swizzled among themselves",
            fix="a multiple of 16 bytes, no more than are swizzled",
        )
    if max(layout.shape) > MOST_SIZE:
        raise BackendError(f"shape {layout.shape}", where=where, fix="axes of at most 2^32")
    last = axes[-1]
    if layout.strides[last] != 1 and layout.shape[last] != 1:
        raise _strides(parameter, layout, "the innermost axis must be contiguous")


def _strides(parameter: MapParam, layout: Layout, why: str) -> BackendError:
    return BackendError(
        f"{parameter.tensor} has shape {layout.shape} and strides {layout.strides}",
        where=f"argument {parameter.tensor}",
        why=f"bulk copies read runs of bytes: {why}",
        fix=f"{parameter.tensor}.contiguous(), with rows padded to a multiple of 16 bytes",
    )
