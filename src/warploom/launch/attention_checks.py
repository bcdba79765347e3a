"""What the attention kernels take: shapes, strides and dtypes, judged before any launch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from warploom.errors import BackendError
from warploom.hopper.attention import HEAD_DIMS
from warploom.kernel.values import DType
from warploom.launch.layout import STRIDE_ALIGNMENT, Layout

CAUSAL = {False: False, True: True, "upper_left": True, "lower_right": True}


def is_causal(causal: bool | str) -> bool:
    """True when queries see only keys up to a diagonal."""
    if causal not in CAUSAL:
        raise BackendError(
            f"causal={causal!r}",
            where="argument causal",
            fix="False, True ('upper_left': query i sees keys 0..i) or 'lower_right'",
        )
    return CAUSAL[causal]


def is_aligned_end(causal: bool | str) -> bool:
    """True when the diagonal ends in the lower right corner."""
    return is_causal(causal) and causal == "lower_right"


def scale_of(scale: float | None, head_dim: int) -> float:
    """The softmax scale; a positive, finite number."""
    value = 1.0 / math.sqrt(head_dim) if scale is None else float(scale)
    if not (math.isfinite(value) and value > 0.0):
        raise BackendError(
            f"scale is {value}",
            where="attention",
            why="the row maximum is taken before scaling",
            fix="a positive number; negate q for a negative one",
        )
    return value


def check_operands(layouts: Sequence[Layout]) -> None:
    """Three tensors [batch, heads, length, head dim] that fit together."""
    q, k, v = layouts
    _check_each(layouts, 4, "[batch, heads, length, head dim]")
    if k.shape != v.shape or q.shape[0] != k.shape[0] or q.shape[1] % k.shape[1]:
        raise _misfit(q, k, v, "k and v alike, the same batch as q, kv heads that divide q's heads")
    if q.shape[3] != k.shape[3]:
        raise _misfit(q, k, v, "one head dimension")


def check_packed(layouts: Sequence[Layout]) -> None:
    """Three tensors [rows, heads, head dim] that fit together."""
    q, k, v = layouts
    _check_each(layouts, 3, "[rows, heads, head dim]")
    if k.shape != v.shape or q.shape[1] % k.shape[1] or q.shape[2] != k.shape[2]:
        raise _misfit(q, k, v, "k and v alike, one head dimension, kv heads that divide q's heads")


def _misfit(q: Layout, k: Layout, v: Layout, fix: str) -> BackendError:
    return BackendError(
        f"q is {q.shape}, k is {k.shape}, v is {v.shape}", where="attention", fix=fix
    )


def _check_each(layouts: Sequence[Layout], rank: int, wanted: str) -> None:
    for layout, name in zip(layouts, "qkv", strict=True):
        check_tensor(layout, name, rank, wanted)
    if {w.dtype for w in layouts} not in ({DType.BF16}, {DType.F16}):
        raise BackendError(
            f"q, k, v are {', '.join(w.dtype for w in layouts)}",
            where="attention",
            fix="all bf16 or all fp16",
        )


def check_tensor(layout: Layout, name: str, rank: int, wanted: str) -> None:
    """One tensor whose rows a tensor map can describe."""
    if len(layout.shape) != rank or layout.shape[-1] not in HEAD_DIMS:
        raise BackendError(
            f"{name} has shape {layout.shape}",
            where=f"argument {name}",
            fix=f"{wanted}, head dimension one of {', '.join(map(str, HEAD_DIMS))}",
        )
    if min(layout.shape) == 0:
        raise BackendError(f"{name} is empty", where=f"argument {name}")
    size = layout.dtype.bits // 8
    steps = [s for n, s in zip(layout.shape[:-1], layout.strides[:-1], strict=True) if n > 1]
    if layout.strides[-1] != 1 or any(s <= 0 or s * size % STRIDE_ALIGNMENT for s in steps):
        raise BackendError(
            f"{name} has strides {layout.strides}",
            where=f"argument {name}",
            why="rows must be contiguous, other strides positive multiples of 16 bytes",
            fix=f"{name}.contiguous()",
        )


def check_result(q: Layout, out: Layout | None) -> None:
    """A result tensor like q, where one is given."""
    if out is None:
        return
    if out.shape != q.shape or out.dtype != q.dtype:
        raise BackendError(
            f"out is {out.dtype} of shape {out.shape}",
            where="argument out",
            fix=f"{q.dtype} of shape {q.shape}",
        )
    check_tensor(out, "out", len(q.shape), "the shape of q")


def check_starts(q: Layout, k: Layout, most: tuple[int, int]) -> None:
    """Row numbers at which sequences start, on the GPU, and the longest lengths."""
    for layout, name in ((q, "q_starts"), (k, "k_starts")):
        _check_offsets(layout, name)
    if q.shape != k.shape:
        raise BackendError(
            f"q_starts and k_starts have {q.shape[0]} and {k.shape[0]} entries",
            where="attention_packed",
            fix="the same sequences in both",
        )
    if min(most) < 1:
        raise BackendError(
            f"longest lengths {most[0]} and {most[1]}",
            where="attention_packed",
            why="the grid is made for them; a length on the GPU cannot be read without waiting",
            fix="most_queries and most_keys of 1 or more",
        )


def _check_offsets(layout: Layout, name: str) -> None:
    wanted = layout.dtype == DType.I32 and len(layout.shape) == 1
    if not wanted or layout.shape[0] < 2 or layout.strides[0] != 1:
        raise BackendError(
            f"{name} is {layout.dtype} of shape {layout.shape}",
            where=f"argument {name}",
            fix="int32, contiguous, one entry more than there are sequences",
        )
