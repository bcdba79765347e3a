"""What the attention kernels take: shapes and dtypes, judged before anything is compiled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from warploom.errors import BackendError
from warploom.kernel.values import DType
from warploom.launch.layout import Layout
from warploom.launch.tensors import not_a_tensor

CAUSAL: dict[bool | str, bool | str] = {
    False: False,
    True: True,
    "upper_left": True,
    "lower_right": "end",
}
HEAD_DIMS = (64, 128, 192, 256)
BACKWARD_DIMS = (64, 128, 256)
PAGE_SIZES = (64, 128)


def causal_choice(causal: bool | str) -> bool | str:
    """The mask in the words of the text: none, from the first key, or to the last."""
    if causal not in CAUSAL:
        raise BackendError(
            f"causal={causal!r}",
            where="argument causal",
            fix="False, True ('upper_left': query i sees keys 0..i) or 'lower_right'",
        )
    return CAUSAL[causal]


def usual_scale(layouts: Sequence[Layout | None]) -> tuple[float]:
    """The softmax scale of a call that names none: 1 / sqrt(head dim)."""
    q = layouts[0]
    return (1.0 / math.sqrt(q.shape[-1] or 1) if q is not None and q.shape else 1.0,)


def checked_scale(scale: float) -> float:
    """A positive, finite softmax scale."""
    value = float(scale)
    if not (math.isfinite(value) and value > 0.0):
        raise BackendError(
            f"scale is {value}",
            where="argument scale",
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
    """One tensor of heads."""
    if len(layout.shape) != rank or layout.shape[-1] not in HEAD_DIMS:
        raise BackendError(
            f"{name} has shape {layout.shape}",
            where=f"argument {name}",
            fix=f"{wanted}, head dimension one of {', '.join(map(str, HEAD_DIMS))}",
        )
    if min(layout.shape) == 0:
        raise BackendError(f"{name} is empty", where=f"argument {name}")


def check_result(q: Layout, out: Layout | None) -> None:
    """A result tensor like q, where one is given."""
    if out is not None and (out.shape != q.shape or out.dtype != q.dtype):
        raise BackendError(
            f"out is {out.dtype} of shape {out.shape}",
            where="argument out",
            fix=f"{q.dtype} of shape {q.shape}",
        )


def check_starts(q: Layout, k: Layout) -> None:
    """Row numbers at which sequences start, on the GPU."""
    for layout, name in ((q, "q_starts"), (k, "k_starts")):
        wanted = layout.dtype == DType.I32 and len(layout.shape) == 1
        if not wanted or layout.shape[0] < 2 or layout.strides[0] != 1:
            raise BackendError(
                f"{name} is {layout.dtype} of shape {layout.shape}",
                where=f"argument {name}",
                fix="int32, contiguous, one entry more than there are sequences",
            )
    if q.shape != k.shape:
        raise BackendError(
            f"q_starts and k_starts have {q.shape[0]} and {k.shape[0]} entries",
            where="attention_packed",
            fix="the same sequences in both",
        )


def check_pages(layouts: Sequence[Layout], table: Layout | None, lengths: Layout | None) -> None:
    """Keys and values in pages, the pages of every sequence, and how many keys it has."""
    q, k, v = layouts
    _check_each(layouts, 4, "[batch, heads, length, head dim], pages first for k and v")
    if k.shape != v.shape or q.shape[1] % k.shape[1] or q.shape[3] != k.shape[3]:
        raise _misfit(q, k, v, "k and v alike, one head dimension, kv heads that divide q's heads")
    if k.shape[2] not in PAGE_SIZES:
        raise BackendError(
            f"pages of {k.shape[2]} keys",
            where="argument k",
            why="a page is one tile of keys",
            fix=f"pages of {' or '.join(map(str, PAGE_SIZES))} keys",
        )
    for layout, name, rank in ((table, "pages", 2), (lengths, "lengths", 1)):
        if layout is None or layout.dtype != DType.I32 or len(layout.shape) != rank:
            said = "not given" if layout is None else f"{layout.dtype} of shape {layout.shape}"
            raise BackendError(
                f"{name} is {said}",
                where=f"argument {name}",
                fix=f"int32 on the GPU, [batch{', most pages' if rank > 1 else ''}]",
            )
        if layout.shape[0] != q.shape[0] or layout.strides[-1] != 1:
            raise BackendError(
                f"{name} has shape {layout.shape} and strides {layout.strides}",
                where=f"argument {name}",
                fix=f"a row for each of the {q.shape[0]} sequences, contiguous",
            )


def check_longest(queries: int, keys: int) -> None:
    """Longest lengths that can be."""
    if min(queries, keys) < 1:
        raise BackendError(
            f"longest lengths {queries} and {keys}",
            where="attention_packed",
            fix="most_queries and most_keys of 1 or more",
        )


def check_backward(grad: Any, q: Any, k: Any, v: Any, out: Any, lse: Any) -> None:  # noqa: ANN401
    """Six tensors of one call of attention, by their shapes; strides and types are judged later."""
    given = {"q": q, "k": k, "v": v, "grad": grad, "out": out, "lse": lse}
    for name, x in given.items():
        if not hasattr(x, "shape"):
            raise not_a_tensor(x, name)
    shapes = [tuple(x.shape) for x in given.values()]
    if any(s != shapes[0] for s in shapes[3:5]) or shapes[5] != shapes[0][:3]:
        raise BackendError(
            f"grad is {shapes[3]}, out {shapes[4]}, lse {shapes[5]}, q {shapes[0]}",
            where="attention_backward",
            fix="grad and out of q's shape, lse of its first three axes",
        )
    if len(shapes[0]) != 4 or len(shapes[1]) != 4 or shapes[1] != shapes[2]:
        raise BackendError(
            f"q is {shapes[0]}, k is {shapes[1]}, v is {shapes[2]}",
            where="attention_backward",
            fix="[batch, heads, length, head dim], k and v alike",
        )
    if shapes[0][3] not in BACKWARD_DIMS or min(map(min, shapes)) == 0:
        raise BackendError(
            f"q is {shapes[0]}, k is {shapes[1]}",
            where="attention_backward",
            why="kernels compute the gradients for some head dimensions, and never of nothing",
            fix=f"head dimension one of {', '.join(map(str, BACKWARD_DIMS))}",
        )
    if shapes[0][1] % shapes[1][1]:
        raise BackendError(
            f"{shapes[0][1]} heads of q share {shapes[1][1]} of k",
            where="attention_backward",
            fix="kv heads that divide q's heads",
        )


def check_packed_backward(grad: Any, q: Any, k: Any, v: Any, out: Any, lse: Any) -> None:  # noqa: ANN401
    """Six tensors of one call of packed attention, by their shapes."""
    shapes = [tuple(x.shape) for x in (q, k, v, grad, out, lse)]
    heads = shapes[0][1::-1] if len(shapes[0]) == 3 else None
    if any(s != shapes[0] for s in shapes[3:5]) or shapes[5] != heads or shapes[1] != shapes[2]:
        raise BackendError(
            f"q is {shapes[0]}, k {shapes[1]}, v {shapes[2]}, grad {shapes[3]}, lse {shapes[5]}",
            where="attention_packed_backward",
            fix="[rows, heads, head dim], grad and out like q, k and v alike, lse [heads, rows]",
        )
    if (
        shapes[0][2] not in BACKWARD_DIMS
        or shapes[0][1] % shapes[1][1]
        or min(map(min, shapes)) == 0
    ):
        raise BackendError(
            f"q is {shapes[0]}, k is {shapes[1]}",
            where="attention_packed_backward",
            fix=f"head dimension of {', '.join(map(str, BACKWARD_DIMS))}, kv heads that divide q's",
        )
