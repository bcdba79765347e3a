"""``attention`` and ``attention_packed`` on a Hopper GPU, for tensors of any library.

The kernel is emitted from a shipped schedule, compiled on first use and cached.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import lru_cache
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
from warploom.launch.attention_launch import AttentionCall, prepare_attention
from warploom.launch.driver import require_hopper
from warploom.launch.shipped import attention_kernel
from warploom.launch.tensors import TensorView, is_torch, stream_of, view_of

_launcher = lru_cache(maxsize=256)(prepare_attention)


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
    views = [view_of(t, name) for t, name in ((q, "q"), (k, "k"), (v, "v"))]
    check_operands(views)
    chosen = _kernel(kernel, views[0], causal)
    require_hopper(views[0].device)
    shape = views[0].shape
    result = out if out is not None else _empty(q, views[0], shape)
    lse = _empty(q, views[0], shape[:3], lse=True) if return_lse else None
    call = AttentionCall(
        q=views[0].placed(),
        k=views[1].placed(),
        v=views[2].placed(),
        out=check_result(views[0], view_of(result, "out")).placed(),
        lse=view_of(lse, "lse").pointer if lse is not None else 0,
        scale=scale_of(scale, shape[3]),
        align_end=is_aligned_end(causal),
    )
    _launcher(call, chosen)(stream if stream is not None else stream_of(q))
    return (result, lse) if return_lse else result


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
    """Attention of sequences of different lengths, packed behind one another.

    ``q`` is [rows, heads, head dim], ``k`` and ``v`` are [rows, kv heads, head dim]. Sequence i is
    rows ``q_starts[i]`` to ``q_starts[i + 1]`` of q, and likewise of k and v: int32 on the GPU, one
    entry more than sequences, rising from 0 to the rows. ``most_queries`` and ``most_keys`` are the
    longest lengths. ``lse`` is [heads, rows]. All else as in ``attention``.
    """
    views = [view_of(t, name) for t, name in ((q, "q"), (k, "k"), (v, "v"))]
    check_packed(views)
    starts = check_starts(q_starts, k_starts, (most_queries, most_keys))
    chosen = _kernel(kernel, views[0], causal)
    require_hopper(views[0].device)
    rows, heads, head_dim = views[0].shape
    result = out if out is not None else _empty(q, views[0], views[0].shape)
    lse = _empty(q, views[0], (heads, rows), lse=True) if return_lse else None
    call = AttentionCall(
        q=views[0].as_batch().placed(),
        k=views[1].as_batch().placed(),
        v=views[2].as_batch().placed(),
        out=check_result(views[0], view_of(result, "out")).as_batch().placed(),
        lse=view_of(lse, "lse").pointer if lse is not None else 0,
        scale=scale_of(scale, head_dim),
        align_end=is_aligned_end(causal),
        starts=(starts[0].pointer, starts[1].pointer),
        sequences=starts[0].shape[0] - 1,
        most=(most_queries, most_keys),
    )
    _launcher(call, chosen)(stream if stream is not None else stream_of(q))
    return (result, lse) if return_lse else result


def _kernel(kernel: AttentionKernel | None, q: TensorView, causal: bool | str) -> AttentionKernel:
    wanted = is_causal(causal)
    chosen = kernel or attention_kernel(q.shape[-1], causal=wanted)
    if chosen.head_dim != q.shape[-1]:
        raise BackendError(
            f"the kernel has head dimension {chosen.head_dim}, q has {q.shape[-1]}",
            where="argument kernel",
        )
    return replace(chosen, causal=wanted, dtype=Dtype(q.dtype))


def _empty(like: Any, view: TensorView, shape: tuple[int, ...], *, lse: bool = False) -> object:  # noqa: ANN401
    if is_torch(like):
        torch = importlib.import_module("torch")
        kind = torch.float32 if lse else like.dtype
        made: object = torch.empty(shape, dtype=kind, device=like.device)
        return made
    if type(like).__module__.partition(".")[0] == "cupy" and (lse or view.dtype == "fp16"):
        cupy = importlib.import_module("cupy")
        made = cupy.empty(shape, dtype="float32" if lse else "float16")
        return made
    what = "log-sum-exp" if lse else f"{view.dtype} result"
    raise BackendError(
        f"cannot allocate a {what} for a {type(like).__name__}",
        where="attention",
        fix="use torch tensors" if lse else "pass out=",
    )
