"""``attention`` and ``attention_packed`` on a Hopper GPU, for tensors of any library.

The kernel is emitted from a shipped schedule, compiled on first use and cached.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from warploom.errors import BackendError
from warploom.hopper.attention import AttentionKernel
from warploom.hopper.kernel import Dtype
from warploom.launch.attention_checks import (
    check_operands,
    check_packed,
    check_result,
    check_starts,
    is_aligned_end,
    is_causal,
    scale_of,
)
from warploom.launch.attention_launch import Packed, attention_binary, exponent_of
from warploom.launch.binary import Binary
from warploom.launch.driver import require_hopper
from warploom.launch.layout import Layout
from warploom.launch.runner import Layouts, Runner
from warploom.launch.shipped import attention_kernel

NAMES = ("q", "k", "v", "out", "lse", "q_starts", "k_starts")
_Options = tuple[bool | str, bool, AttentionKernel | None]


def attention(
    q: object,
    k: object,
    v: object,
    causal: bool | str = False,
    scale: float | None = None,
    *,
    return_lse: bool = False,
    out: object | None = None,
    kernel: AttentionKernel | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401 (the caller's own tensor type)
    """``softmax(scale * q @ k^T) @ v`` for every head; returns ``out``.

    ``q`` is [batch, heads, queries, head dim], ``k`` and ``v`` are [batch, kv heads, keys, head
    dim], bf16 or fp16; head dim is 64, 128 or 256, kv heads divide heads, lengths are any. Rows are
    contiguous, the other axes may have any strides. ``causal``: query i sees keys 0..i; with
    ``"lower_right"`` the last query sees the last key. ``scale`` is 1 / sqrt(head dim) unless
    given. A query that sees no key gives zeros.

    ``return_lse``: returns (out, lse), with the natural logarithm of each row's sum of
    exponentials, float32 [batch, heads, queries]. ``kernel`` picks another schedule; ``stream`` is
    a CUDA stream handle.
    """
    done = RUNNER(
        (q, k, v, out, None, None, None),
        (_exponent(q, scale),),
        (causal, return_lse, kernel),
        stream,
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
    kernel: AttentionKernel | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401 (the caller's own tensor type)
    """Attention of sequences of different lengths, packed one after another.

    ``q`` is [rows, heads, head dim], ``k`` and ``v`` are [rows, kv heads, head dim]. Sequence i is
    rows ``q_starts[i]`` to ``q_starts[i + 1]`` of q, and likewise of k and v: int32 on the GPU, one
    entry more than sequences, rising from 0 to the rows. ``most_queries`` and ``most_keys`` are the
    longest lengths. ``lse`` is [heads, rows]. All else as in ``attention``.
    """
    done = PACKED(
        (q, k, v, out, None, q_starts, k_starts),
        (_exponent(q, scale),),
        ((most_queries, most_keys), causal, return_lse, kernel),
        stream,
    )
    return (done[3], done[4]) if return_lse else done[3]


def _exponent(q: Any, scale: float | None) -> float:  # noqa: ANN401
    shape = getattr(q, "shape", None)
    return exponent_of(scale_of(scale, shape[-1] if shape else 1))


def _binary(layouts: Layouts, options: _Options) -> Binary:
    """The kernel of a call, once its operands are fit for it."""
    q, k, v, out, *_ = layouts
    causal, return_lse, kernel = options
    assert q is not None
    assert k is not None
    assert v is not None
    check_operands((q, k, v))
    check_result(q, out)
    return attention_binary(
        _kernel(kernel, q, causal), align_end=is_aligned_end(causal), lse=return_lse
    )


def _packed_binary(
    layouts: Layouts, options: tuple[tuple[int, int], bool | str, bool, AttentionKernel | None]
) -> Binary:
    q, k, v, out, _, q_starts, k_starts = layouts
    most, causal, return_lse, kernel = options
    assert q is not None
    assert k is not None
    assert v is not None
    assert q_starts is not None
    assert k_starts is not None
    check_packed((q, k, v))
    check_starts(q_starts, k_starts, most)
    check_result(q, out)
    packed = Packed(sequences=q_starts.shape[0] - 1, queries=most[0], keys=most[1])
    return attention_binary(
        _kernel(kernel, q, causal),
        packed=packed,
        align_end=is_aligned_end(causal),
        lse=return_lse,
    )


RUNNER = Runner(NAMES, _binary)
PACKED = Runner(NAMES, _packed_binary)


def _kernel(kernel: AttentionKernel | None, q: Layout, causal: bool | str) -> AttentionKernel:
    wanted = is_causal(causal)
    chosen = kernel or attention_kernel(q.shape[-1], causal=wanted)
    if chosen.head_dim != q.shape[-1]:
        raise BackendError(
            f"the kernel has head dimension {chosen.head_dim}, q has {q.shape[-1]}",
            where="argument kernel",
        )
    require_hopper(q.device)  # before compiling anything
    return replace(chosen, causal=wanted, dtype=Dtype.named(q.dtype))
