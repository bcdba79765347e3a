"""``attention``: softmax(scale * Q K^T) V on a Hopper GPU, for tensors of any library.

The kernel is emitted from a shipped schedule, compiled on first use and cached.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from warploom.codegen.cuda import ATTENTION_ENTRY, emit_attention, layout_of
from warploom.errors import BackendError
from warploom.runtime.build import compile_source
from warploom.runtime.driver import Kernel, ensure_context, require_hopper, tensor_map
from warploom.runtime.shipped import schedule_for
from warploom.runtime.tensors import TensorView, is_torch, stream_of, view_of
from warploom.schedules.hopper.attention import HEAD_DIM, TILE_K, TILE_Q, AttentionKernel
from warploom.schedules.hopper.kernel import Dtype

ALIGNMENT = 16
STORE_ROWS = 16  # each warp stores its 16 rows
BOX = 64  # columns of one copy


def attention(
    q: object,
    k: object,
    v: object,
    causal: bool = False,
    scale: float | None = None,
    *,
    out: object | None = None,
    kernel: AttentionKernel | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401 (the caller's own tensor type)
    """``softmax(scale * q @ k^T) @ v`` for every head; returns ``out``.

    ``q`` is [batch, heads, queries, 128], ``k`` and ``v`` are [batch, kv heads, keys, 128], all
    contiguous, bf16 or fp16; queries and keys are multiples of 128 and kv heads divide heads.
    ``causal``: query i sees keys 0..i (as many keys as queries). ``scale`` is 1 / sqrt(128) unless
    given. ``kernel`` picks another schedule; ``stream`` is a CUDA stream handle.
    """
    views = [view_of(t, name) for t, name in ((q, "q"), (k, "k"), (v, "v"))]
    _check(views, causal)
    require_hopper(views[0].device)
    result = out if out is not None else _empty_like(q, views[0])
    target = view_of(result, "out")
    _check_result(views[0], target)
    kernel = replace(kernel or AttentionKernel(), causal=causal, dtype=Dtype(views[0].dtype))
    call = AttentionCall.of(views[0], views[1], views[2], target, _scale(scale))
    _launcher(call, kernel)(stream if stream is not None else stream_of(q))
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCall:
    """Addresses and sizes of one call: all that a prepared launch depends on."""

    q: int
    k: int
    v: int
    out: int
    device: int
    batches: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    scale: float

    @classmethod
    def of(
        cls, q: TensorView, k: TensorView, v: TensorView, out: TensorView, scale: float
    ) -> AttentionCall:
        """The call on four views."""
        batches, heads, queries, _ = q.shape
        return cls(
            q=q.pointer,
            k=k.pointer,
            v=v.pointer,
            out=out.pointer,
            device=q.device,
            batches=batches,
            heads=heads,
            kv_heads=k.shape[1],
            queries=queries,
            keys=k.shape[2],
            scale=scale,
        )


@cache
def load_attention(kernel: AttentionKernel) -> Kernel:
    """Emit, compile (or take from the cache) and load a kernel."""
    document = schedule_for(kernel)
    cubin = compile_source(emit_attention(document, kernel))
    return Kernel(cubin.data, ATTENTION_ENTRY, shared_bytes=layout_of(document).bytes)


def prepare_attention(call: AttentionCall, kernel: AttentionKernel) -> Callable[[int | None], None]:
    """A launcher of the call; it takes a stream."""
    sms = require_hopper(call.device)
    ensure_context(call.device)
    loaded = load_attention(kernel)
    q_rows = call.batches * call.heads * call.queries
    kv_rows = call.batches * call.kv_heads * call.keys
    maps = (
        _map(call.q, kernel, q_rows, TILE_Q),
        _map(call.k, kernel, kv_rows, TILE_K),
        _map(call.v, kernel, kv_rows, TILE_K),
        _map(call.out, kernel, q_rows, STORE_ROWS),
    )
    share = call.heads // call.kv_heads
    sizes = (call.heads, call.queries, call.keys, share, call.batches)
    grid = min(sms, q_rows // TILE_Q)
    log2_scale = call.scale * math.log2(math.e)
    return loaded.prepare(grid, kernel.threads, 1, [*maps, *sizes, log2_scale])


_launcher = lru_cache(maxsize=256)(prepare_attention)


def _map(pointer: int, kernel: AttentionKernel, rows: int, box: int) -> object:
    size = HEAD_DIM * kernel.dtype.bytes
    return tensor_map(pointer, kernel.dtype.value, (rows, HEAD_DIM), size, (box, BOX))


def _scale(scale: float | None) -> float:
    value = 1.0 / math.sqrt(HEAD_DIM) if scale is None else float(scale)
    if not (math.isfinite(value) and value > 0.0):
        raise BackendError(
            f"scale is {value}",
            where="attention",
            why="the row maximum is taken before scaling",
            fix="a positive number; negate q for a negative one",
        )
    return value


def _check(views: list[TensorView], causal: bool) -> None:
    q, k, v = views
    for view, name in zip(views, "qkv", strict=True):
        _check_tensor(view, name)
    if {w.dtype for w in views} not in ({"bf16"}, {"fp16"}):
        raise BackendError(
            f"q, k, v are {', '.join(w.dtype for w in views)}",
            where="attention",
            fix="all bf16 or all fp16",
        )
    if k.shape != v.shape or q.shape[0] != k.shape[0] or q.shape[1] % k.shape[1]:
        raise BackendError(
            f"q is {q.shape}, k is {k.shape}, v is {v.shape}",
            where="attention",
            fix="k and v alike, the same batch as q, and kv heads that divide the heads of q",
        )
    for name, rows, tile in (("queries", q.shape[2], TILE_Q), ("keys", k.shape[2], TILE_K)):
        if rows % tile:
            raise BackendError(
                f"{rows} {name}",
                where="attention",
                why=f"the kernel has no tail: tiles are {tile} {name}",
                fix=f"pad to a multiple of {tile} (padded keys must be masked by the caller)",
            )
    if causal and q.shape[2] != k.shape[2]:
        raise BackendError(
            f"causal with {q.shape[2]} queries and {k.shape[2]} keys",
            where="attention",
            fix="as many keys as queries",
        )


def _check_tensor(view: TensorView, name: str) -> None:
    if len(view.shape) != 4 or view.shape[3] != HEAD_DIM:
        raise BackendError(
            f"{name} has shape {view.shape}",
            where=f"argument {name}",
            fix=f"[batch, heads, length, {HEAD_DIM}]: only head dimension {HEAD_DIM} is built",
        )
    if min(view.shape) == 0:
        raise BackendError(f"{name} is empty", where=f"argument {name}")
    steps, step = [], 1
    for n in reversed(view.shape):
        steps.append(step)
        step *= n
    if any(n > 1 and a != b for n, a, b in zip(view.shape, view.strides, steps[::-1], strict=True)):
        raise BackendError(
            f"{name} is not contiguous: strides {view.strides}",
            where=f"argument {name}",
            fix=f"{name}.contiguous()",
        )
    if view.pointer % ALIGNMENT:
        raise BackendError(
            f"{name} is misaligned: address {view.pointer:#x}",
            where=f"argument {name}",
            why="tensor maps need 16-byte aligned addresses",
        )


def _check_result(q: TensorView, out: TensorView) -> None:
    if out.shape != q.shape or out.dtype != q.dtype:
        raise BackendError(
            f"out is {out.dtype} of shape {out.shape}",
            where="argument out",
            fix=f"{q.dtype} of shape {q.shape}",
        )
    _check_tensor(out, "out")


def _empty_like(like: Any, view: TensorView) -> object:  # noqa: ANN401
    if is_torch(like):
        made: object = importlib.import_module("torch").empty_like(like)
        return made
    if view.dtype == "fp16" and type(like).__module__.partition(".")[0] == "cupy":
        made = importlib.import_module("cupy").empty_like(like)
        return made
    raise BackendError(
        f"cannot allocate a {view.dtype} result for a {type(like).__name__}",
        where="attention",
        fix="pass out=",
    )
