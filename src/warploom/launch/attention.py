"""``attention`` and ``attention_packed`` on a Hopper GPU, for tensors of any library.

They run the texts of ``warploom.kernels.attention``; the kernel is scheduled, proven and compiled
on first use and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from warploom.kernels.attention import attention as text
from warploom.kernels.attention import packed as packed_text
from warploom.launch.attention_checks import (
    causal_choice,
    check_longest,
    check_operands,
    check_packed,
    check_result,
    check_starts,
    scale_of,
)
from warploom.launch.flexible import flexible
from warploom.launch.runner import Layouts
from warploom.launch.texts import Calls
from warploom.lower.tiling import Tiling

ROWS, KEYS = ("s", "h", "d"), ("t", "g", "d")  # packed tensors as callers have them


def attention(
    q: object,
    k: object,
    v: object,
    causal: bool | str = False,
    scale: float | None = None,
    *,
    score: Callable[..., Any] | None = None,
    visible: object | None = None,
    sinks: object | None = None,
    lengths: object | None = None,
    return_lse: bool = False,
    out: object | None = None,
    kernel: Tiling | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401 (the caller's own tensor type)
    """``softmax(scale * q @ k^T) @ v`` for every head; returns ``out``.

    ``q`` is [batch, heads, queries, head dim], ``k`` and ``v`` are [batch, kv heads, keys, head
    dim], bf16 or fp16; head dim is a multiple of 64 up to 256, kv heads divide heads, lengths are
    any. Rows are contiguous, the other axes may have any strides (others than multiples of 16 bytes
    cost a copy). ``causal``: query i sees keys 0..i; with ``"lower_right"`` the last query sees the
    last key. ``scale`` is 1 / sqrt(head dim) unless given. ``lengths``, int32 [batch] on the GPU:
    keys from there on do not count. A query that sees no key gives zeros.

    ``score(x, batch, head, query, key)`` changes scaled scores, ``visible(batch, head, query, key)``
    says which keys count: Python functions, read from their text like a kernel's. Tensors they
    capture are read on the GPU. FlexAttention's score_mod, mask_mod and BlockMask are taken as they
    are. ``sinks``, float32 [heads]: scores of a key without a value that every query sees.

    ``return_lse``: returns (out, lse), with the natural logarithm of each row's sum of
    exponentials, float32 [batch, heads, queries]. ``kernel`` fixes the tiles; ``stream`` is a CUDA
    stream handle.
    """
    calls, options, given = CALLS, _options(causal, return_lse, kernel), ()
    if score is not None or visible is not None:
        calls, options, given = flexible(CALLS, score, visible, options)
    done = calls.launch(
        (q, k, v, out, None, lengths, sinks, *given), (scale_of(scale, q),), options, stream
    )
    return (done[3], done[4]) if return_lse else done[3]


def attention_packed(
    q: object,
    k: object,
    v: object,
    q_starts: object,
    k_starts: object,
    most_queries: int,
    most_keys: int,
    causal: bool | str = False,
    scale: float | None = None,
    *,
    return_lse: bool = False,
    out: object | None = None,
    kernel: Tiling | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401 (the caller's own tensor type)
    """Attention of sequences of different lengths, packed one after another.

    ``q`` is [rows, heads, head dim], ``k`` and ``v`` are [rows, kv heads, head dim]. Sequence i is
    rows ``q_starts[i]`` to ``q_starts[i + 1]`` of q, and likewise of k and v: int32 on the GPU, one
    entry more than sequences, rising from 0 to the rows. ``most_queries`` and ``most_keys`` are the
    longest lengths. ``lse`` is [heads, rows]. All else as in ``attention``.
    """
    check_longest(most_queries, most_keys)
    done = PACKED.launch(
        (q, k, v, q_starts, k_starts, out, None),
        (scale_of(scale, q),),
        _options(causal, return_lse, kernel),
        stream,
    )
    return (done[5], done[6]) if return_lse else done[5]


@lru_cache(maxsize=256)
def _options(causal: bool | str, return_lse: bool, kernel: Tiling | None) -> tuple[Any, ...]:
    return (
        (),
        (("causal", causal_choice(causal)),),
        frozenset({"scale"}),
        frozenset({"out", "lse"} if return_lse else {"out"}),
        kernel.pins if kernel is not None else (),
    )


def _check(layouts: Layouts, options: tuple[Any, ...]) -> None:
    q, k, v, out, *_ = layouts
    assert q is not None
    assert k is not None
    assert v is not None
    check_operands((q, k, v))
    check_result(q, out)


def _check_packed(layouts: Layouts, options: tuple[Any, ...]) -> None:
    q, k, v, q_starts, k_starts, out, _ = layouts
    assert q is not None
    assert k is not None
    assert v is not None
    assert q_starts is not None
    assert k_starts is not None
    check_packed((q, k, v))
    check_starts(q_starts, k_starts)
    check_result(q, out)


CALLS = Calls(text, check=_check)
PACKED = Calls(packed_text, {"q": ROWS, "k": KEYS, "v": KEYS, "out": ROWS}, check=_check_packed)
