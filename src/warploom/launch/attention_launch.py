"""From an ``AttentionKernel`` to a loaded kernel, and from one call's addresses to a launch."""

from __future__ import annotations

import ctypes as c
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from warploom.document.roles import RolesDocument
from warploom.emit.cuda import ATTENTION_ENTRY, emit_attention, layout_of
from warploom.hopper.attention import COLUMNS, AttentionKernel
from warploom.launch.build import compile_source
from warploom.launch.driver import Kernel, ensure_context, require_hopper, tensor_map
from warploom.launch.shipped import schedule_for
from warploom.launch.tensors import Placed


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCall:
    """Addresses, shapes and strides of one call: all that a prepared launch depends on.

    Tensors are [batch, heads, length, head dim]. Packed sequences have one batch, ``starts`` (the
    addresses of q's and k's), their number, and the longest lengths.
    """

    q: Placed
    k: Placed
    v: Placed
    out: Placed
    scale: float
    lse: int = 0
    align_end: bool = False
    starts: tuple[int, int] = (0, 0)
    sequences: int = 0
    most: tuple[int, int] = (0, 0)

    @property
    def batches(self) -> int:
        """Sequences of the call."""
        return self.sequences or self.q.shape[0]

    @property
    def lengths(self) -> tuple[int, int]:
        """The most queries and keys of a sequence."""
        return self.most if self.sequences else (self.q.shape[2], self.k.shape[2])


class _Divisor(c.Structure):
    """``struct Divisor`` of the emitted source."""

    _fields_ = (("value", c.c_uint), ("multiplier", c.c_uint), ("shift", c.c_uint))

    @classmethod
    def of(cls, value: int) -> _Divisor:
        """``n // value == n * multiplier >> shift`` for all n below 2^31."""
        shift = 31 + (value - 1).bit_length()
        return cls(value=value, multiplier=-(-(1 << shift) // value), shift=shift)


class _Call(c.Structure):
    """``struct Call`` of the emitted source."""

    _fields_ = (
        ("out", c.c_void_p),
        ("lse", c.c_void_p),
        ("q_starts", c.c_void_p),
        ("k_starts", c.c_void_p),
        ("out_row", c.c_longlong),
        ("out_head", c.c_longlong),
        ("out_batch", c.c_longlong),
        ("batches", c.c_int),
        ("share", c.c_int),
        ("queries", c.c_int),
        ("keys", c.c_int),
        ("align_end", c.c_int),
        ("scale", c.c_float),
        ("visits_of_head", _Divisor),
        ("heads", _Divisor),
    )


@cache
def load_attention(kernel: AttentionKernel, document: RolesDocument | None = None) -> Kernel:
    """Emit, compile (or take from the cache) and load a kernel."""
    document = document or schedule_for(kernel)
    cubin = compile_source(emit_attention(document, kernel))
    return Kernel(cubin.data, ATTENTION_ENTRY, shared_bytes=layout_of(document).bytes)


def prepare_attention(
    call: AttentionCall, kernel: AttentionKernel, document: RolesDocument | None = None
) -> Callable[[int | None], None]:
    """A launcher of the call; it takes a stream."""
    require_hopper(call.q.device)
    ensure_context(call.q.device)
    return launcher_of(load_attention(kernel, document), call, kernel)


def launcher_of(
    loaded: Kernel, call: AttentionCall, kernel: AttentionKernel
) -> Callable[[int | None], None]:
    """A launcher of the call on a loaded kernel."""
    sms = require_hopper(call.q.device)
    maps = (
        _map(call.q, kernel, kernel.tile_q),
        _map(call.k, kernel, kernel.tile_k),
        _map(call.v, kernel, kernel.tile_k),
    )
    tiles = call.batches * call.q.shape[1] * -(-call.lengths[0] // kernel.tile_q)
    return loaded.prepare(min(sms, tiles), kernel.threads, 1, [*maps, _arguments(call, kernel)])


def visits_of_head(queries: int, tile_q: int, *, causal: bool) -> _Divisor:
    """Visits to the query tiles of a head: one each, or when causal in pairs."""
    tiles = -(-queries // tile_q)
    return _Divisor.of(-(-tiles // 2) * 2 if causal else tiles)


def _arguments(call: AttentionCall, kernel: AttentionKernel) -> _Call:
    batch, head, row, _ = call.out.strides
    queries, keys = call.lengths
    return _Call(
        out=call.out.pointer,
        lse=call.lse or None,
        q_starts=call.starts[0] or None,
        k_starts=call.starts[1] or None,
        out_row=row,
        out_head=head,
        out_batch=batch,
        batches=call.batches,
        heads=_Divisor.of(call.q.shape[1]),
        visits_of_head=visits_of_head(queries, kernel.tile_q, causal=kernel.causal),
        share=call.q.shape[1] // call.k.shape[1],
        queries=queries,
        keys=keys,
        align_end=int(call.align_end),
        scale=call.scale * math.log2(math.e),
    )


def _map(tensor: Placed, kernel: AttentionKernel, rows: int) -> object:
    """Batch, head, row, column; the step of an axis of one element must be legal all the same."""
    size = kernel.dtype.bytes
    steps = zip(tensor.shape[:3], tensor.strides[:3], strict=True)
    strides = tuple(s * size if n > 1 else kernel.head_dim * size for n, s in steps)
    box = (rows, COLUMNS)
    return tensor_map(tensor.pointer, kernel.dtype.value, tensor.shape, strides, box)
