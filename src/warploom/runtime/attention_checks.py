"""What the attention kernels take: shapes and dtypes, checked before anything is compiled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from warploom.compiler.layout import Layout
from warploom.errors import BackendError
from warploom.ir.tile import DType
from warploom.runtime.arguments import number, one_of
from warploom.runtime.tensors import not_a_tensor, view_of

CAUSAL: dict[bool | str, bool | str] = {
    False: False,
    True: True,
    "upper_left": True,
    "lower_right": "end",
}
HEAD_DIMS = (64, 128, 192, 256)
BACKWARD_DIMS = (64, 128, 256)
PAGE_SIZES = (64, 128)
HEADS = "q [batch, heads, length, head dim], lse [batch, heads, length]"


def causal_choice(causal: bool | str) -> bool | str:
    """The mask in the words of the kernel: none, from the first key, or to the last."""
    usual = "False, True ('upper_left': query i sees keys 0..i) or 'lower_right'"
    return one_of(causal, CAUSAL, "causal", fix=usual)


def usual_scale(layouts: Sequence[Layout | None]) -> tuple[float]:
    """The softmax scale of a call that names none: 1 / sqrt(head dim)."""
    q = layouts[0]
    return (1.0 / math.sqrt(q.shape[-1] or 1) if q is not None and q.shape else 1.0,)


def checked_scale(scale: float) -> float:
    """A positive, finite softmax scale."""
    value = number(scale, "scale")
    if not (math.isfinite(value) and value > 0.0):
        raise BackendError(
            f"scale is {value}",
            where="argument scale",
            fix="a positive number; negate q for a negative one",
        )
    return value


def check_heads(layouts: Sequence[Layout | None], result: int) -> None:
    """Types and head dimensions that kernels have, heads that share keys evenly.

    Shapes fit together already. ``result``: the place of the result, where one is given.
    """
    q, k = layouts[:2]
    assert q is not None
    assert k is not None
    kinds = [w.dtype for w in (*layouts[:3], layouts[result]) if w is not None]
    if set(kinds) not in ({DType.BF16}, {DType.F16}):
        raise BackendError(
            f"q, k, v (and out) are {', '.join(kinds)}",
            where="attention",
            fix="all bf16 or all fp16",
        )
    _check_shared(q.shape, k.shape, HEAD_DIMS, "attention")


def _check_shared(
    q: tuple[int, ...], k: tuple[int, ...], sizes: tuple[int, ...], where: str
) -> None:
    if q[-1] not in sizes or (q[1] % k[1] if k[1] else q[1]):
        raise BackendError(
            f"q is {q}, k is {k}",
            where=where,
            why="kernels are made for some head dimensions; heads share a head of keys evenly",
            fix=f"head dimension one of {', '.join(map(str, sizes))}, "
            "kv heads that divide q's heads",
        )


def check_pages(k: Layout) -> None:
    """Keys and values in pages of a size that kernels have."""
    if k.shape[2] not in PAGE_SIZES:
        raise BackendError(
            f"pages of {k.shape[2]} keys",
            where="argument k",
            why="a page is one tile of keys",
            fix=f"pages of {' or '.join(map(str, PAGE_SIZES))} keys",
        )


def check_sinks(sinks: object, q: Any) -> None:  # noqa: ANN401
    """A float of every head."""
    found, shape = view_of(sinks, "sinks").layout, getattr(q, "shape", ())
    if found.shape != tuple(shape[1:2]) or not found.dtype.is_float:
        raise BackendError(
            f"sinks are {list(found.shape)} of {found.dtype}, q is {list(shape)}",
            where="argument sinks",
            fix="float32 [heads]",
        )


def check_backward(where: str, given: Mapping[str, Any], *, packed: bool = False) -> None:
    """Tensors of one call of attention, by their shapes; strides and types are checked later."""
    for name, x in given.items():
        if not hasattr(x, "shape"):
            raise not_a_tensor(x, name)
    shapes = {name: tuple(x.shape) for name, x in given.items()}
    q, k = shapes["q"], shapes["k"]
    rank = 3 if packed else 4
    rows = (q[1::-1] if packed else q[:3]) if len(q) == rank else None
    wanted = {"grad": q, "out": q, "lse": rows, "v": k}
    unlike = [n for n, shape in wanted.items() if shapes[n] != shape]
    if unlike or len(k) != rank:
        raise BackendError(
            ", ".join(f"{name} is {shape}" for name, shape in shapes.items()),
            where=where,
            fix=("q [rows, heads, head dim], lse [heads, rows]" if packed else HEADS)
            + ", grad and out like q, k and v alike",
        )
    _check_shared(q, k, BACKWARD_DIMS, where)
