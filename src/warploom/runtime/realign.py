"""Tensors that copies cannot walk: found before a launch, and copied to padded ones for it."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from warploom.compiler.layout import STRIDE_ALIGNMENT, Layout
from warploom.dataclass import dataclass
from warploom.ir.tile import Access, Tensor
from warploom.runtime.runner import RefusedError
from warploom.runtime.tensors import allocator, is_torch, on_stream, row_major, view_of


class UnfitError(RefusedError):
    """A call whose tensors must be copied first; ``made``: outputs to be made, by name.

    Nobody outside a launch sees it, unless the tensors' library cannot copy.
    """

    def __init__(
        self,
        tensors: Collection[str],
        made: Mapping[str, tuple[tuple[int, ...], Tensor]] | None = None,
    ) -> None:
        super().__init__(
            f"tensors {', '.join(tensors)} cannot be walked by bulk copies",
            why="the innermost stride is 1, others and the address are multiples of 16 bytes",
            fix="torch tensors (they are copied), or tensors with padded rows",
        )
        self.tensors, self.made = frozenset(tensors), dict(made or {})


def check_fit(
    tensors: Sequence[Tensor],
    layouts: Sequence[Layout | None],
    sizes: Mapping[str, int],
    inner: Mapping[str, int],
    moved: frozenset[str],
) -> None:
    """``UnfitError`` for tensors that have to be copied first.

    ``inner``: the axis along which elements are moved. ``moved``: tensors of which runs of 16 bytes
    are moved; of others that axis is contiguous.
    """
    unfit: list[str] = []
    made: dict[str, tuple[tuple[int, ...], Tensor]] = {}
    for tensor, layout in zip(tensors, layouts, strict=True):
        shape, strides = (layout.shape, layout.strides) if layout else ((), ())
        if layout is None and tensor.access is Access.OUT and not tensor.optional:
            shape = tuple(-(-sizes.get(a.name, 1) // a.per) for a in tensor.axes)
            strides = row_major(shape)
            made[tensor.name] = (shape, tensor)
        at = inner[tensor.name]
        if strides and not _is_fit(tensor, shape, strides, at, strict=tensor.name in moved):
            unfit.append(tensor.name)
    if unfit:
        raise UnfitError(unfit, made)


def _is_fit(
    tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], inner: int, *, strict: bool
) -> bool:
    if strides[inner] != 1 and shape[inner] != 1:
        return False
    if not strict:
        return True
    size = tensor.dtype.bits // 8
    return all(
        n == 1 or (s > 0 and s * size % STRIDE_ALIGNMENT == 0)
        for i, (n, s) in enumerate(zip(shape, strides, strict=True))
        if i != inner
    )


@dataclass(frozen=True, slots=True)
class Fitted:
    """A call's tensors made fit: ``complete`` for the launch, ``results`` for the caller."""

    complete: list[Any]
    results: list[Any]
    copies: tuple[int, ...]

    def finish(
        self, done: Sequence[Any], outputs: Collection[int], stream: int | None
    ) -> list[Any]:
        """Copy outputs back; the tensors of the caller, with those the launch made."""
        with on_stream(next(t for t in self.results if t is not None), stream):
            for i in self.copies:
                if i in outputs:
                    _copy(self.results[i], self.complete[i])
        return [d if r is None else r for r, d in zip(self.results, done, strict=True)]


def fitted(
    inner: Mapping[str, int], tensors: Sequence[Any], unfit: UnfitError, stream: int | None
) -> Fitted:
    """Copies in place of tensors that do not fit, by layout or address.

    ``inner``: tensors in order, with the axis along which elements are moved.
    """
    like = next(t for t in tensors if t is not None)
    complete, results, copies = list(tensors), list(tensors), list[int]()
    with on_stream(like, stream):
        for i, (name, at) in enumerate(inner.items()):
            if name in unfit.tensors and results[i] is None:
                shape, tensor = unfit.made[name]
                results[i] = allocator(like, shape, tensor.dtype)()
            given = results[i]
            if given is not None and (name in unfit.tensors or not _is_aligned(given, name)):
                complete[i] = _padded(given, name, at)
                copies.append(i)
    return Fitted(complete, results, tuple(copies))


def _is_aligned(tensor: Any, name: str) -> bool:  # noqa: ANN401
    view = view_of(tensor, name)
    return len(view.layout.shape) < 2 or view.pointer % STRIDE_ALIGNMENT == 0


def _padded(tensor: Any, name: str, inner: int) -> Any:  # noqa: ANN401
    """A copy whose runs along an axis start at multiples of 16 bytes."""
    layout = view_of(tensor, name).layout
    per = STRIDE_ALIGNMENT * 8 // layout.dtype.bits
    rank = len(layout.shape)
    order = [*(i for i in range(rank) if i != inner), inner]
    shape = [layout.shape[i] for i in order]
    whole = allocator(tensor, (*shape[:-1], -(-shape[-1] // per) * per), layout.dtype)()
    cut = whole[..., : shape[-1]]
    back = tuple(order.index(i) for i in range(rank))
    result = cut.permute(back) if is_torch(cut) else cut.transpose(back)
    _copy(result, tensor)
    return result


def _copy(to: Any, source: Any) -> None:  # noqa: ANN401
    if is_torch(to):
        to.copy_(source)
        return
    if type(to).__module__.partition(".")[0] == "cupy":
        importlib.import_module("cupy").copyto(to, source)
        return
    raise UnfitError(("of a library that cannot copy",))
