"""From an ``AttentionKernel`` to a ``Binary``, and from tensors to a prepared launch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from warploom.document.roles import RolesDocument
from warploom.emit.cuda import ATTENTION_ENTRY, emit_attention, layout_of
from warploom.hopper.attention import COLUMNS, AttentionKernel
from warploom.kernel.values import Access, Axis, DType, Tensor
from warploom.launch.binary import (
    Binary,
    Extent,
    Fixed,
    Grid,
    Pointer,
    Scalar,
    Sizes,
    Stride,
    Struct,
    TensorMap,
    Word,
)
from warploom.launch.build import Cubin, compile_source
from warploom.launch.plan import prepare
from warploom.launch.shipped import schedule_for
from warploom.launch.tensors import TensorView

SCALE = Scalar(name="scale", dtype=DType.F32)  # of the exponent in base 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Packed sequences: their number and the longest lengths, which the grid is made for."""

    sequences: int
    queries: int
    keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCall:
    """The tensors of one call: [batch, heads, length, head dim], packed [rows, heads, head dim]."""

    q: TensorView
    k: TensorView
    v: TensorView
    out: TensorView
    scale: float
    lse: TensorView | None = None
    align_end: bool = False
    starts: tuple[TensorView, TensorView] | None = None
    packed: Packed | None = None

    @property
    def views(self) -> tuple[TensorView | None, ...]:
        """The tensors in the order of the binary."""
        return (self.q, self.k, self.v, self.out, self.lse, *(self.starts or (None, None)))


def divisor(value: int) -> tuple[int, int, int]:
    """(value, multiplier, shift): ``n // value == n * multiplier >> shift`` for n below 2^31."""
    shift = 31 + (value - 1).bit_length()
    return value, -(-(1 << shift) // value), shift


def visits_of_head(queries: int, tile_q: int, *, causal: bool) -> int:
    """Visits to the query tiles of a head: one each, or when causal in pairs."""
    tiles = -(-queries // tile_q)
    return -(-tiles // 2) * 2 if causal else tiles


def compile_attention(kernel: AttentionKernel, document: RolesDocument | None = None) -> Cubin:
    """Emit and compile (or take from the cache) a kernel."""
    return compile_source(
        emit_attention(document or schedule_for(kernel), kernel), name=kernel.name
    )


@lru_cache(maxsize=256)
def attention_binary(
    kernel: AttentionKernel,
    document: RolesDocument | None = None,
    packed: Packed | None = None,
    *,
    align_end: bool = False,
    lse: bool = False,
) -> Binary:
    """The kernel as a binary; tensors q, k, v, out, lse, q_starts, k_starts; scalar ``scale``.

    ``lse``: the log-sum-exp is wanted, not optional.
    """
    return bind_attention(
        compile_attention(kernel, document).data,
        layout_of(document or schedule_for(kernel)).bytes,
        kernel,
        packed,
        align_end=align_end,
        lse=lse,
    )


def bind_attention(
    cubin: bytes,
    shared_bytes: int,
    kernel: AttentionKernel,
    packed: Packed | None = None,
    *,
    align_end: bool = False,
    lse: bool = False,
) -> Binary:
    """A compiled attention kernel as a binary."""

    def queries(sizes: Sizes) -> int:
        return packed.queries if packed else sizes["s"]

    def batches(sizes: Sizes) -> int:
        return packed.sequences if packed else sizes["b"]

    def tiles(sizes: Sizes) -> int:
        return batches(sizes) * sizes["h"] * -(-queries(sizes) // kernel.tile_q)

    axes = (None, 1, 0, 2) if packed else (0, 1, 2, 3)

    def tile(tensor: str, rows: int) -> TensorMap:
        return TensorMap(tensor=tensor, box=(1, 1, rows, COLUMNS), axes=axes)

    fields: tuple[tuple[str, Word], ...] = (
        *(("pointer", Pointer(tensor=t)) for t in ("out", "lse", "q_starts", "k_starts")),
        *(("i64", Stride(tensor="out", axis=a)) for a in "sh"),
        ("i64", Fixed(of=0) if packed else Stride(tensor="out", axis="b")),
        ("i32", Fixed(of=batches)),
        ("i32", Fixed(of=lambda sizes: sizes["h"] // sizes["g"])),
        ("i32", Fixed(of=queries)),
        ("i32", Fixed(of=packed.keys) if packed else Extent(axis="t")),
        ("i32", Fixed(of=int(align_end))),
        ("f32", SCALE),
        *_divisor(lambda z: visits_of_head(queries(z), kernel.tile_q, causal=kernel.causal)),
        *_divisor(lambda z: z["h"]),
    )
    return Binary(
        cubin=cubin,
        entry=ATTENTION_ENTRY,
        threads=kernel.threads,
        shared_bytes=shared_bytes,
        tensors=_tensors(kernel, packed, lse=lse),
        scalars=(SCALE,),
        parameters=(
            tile("q", kernel.tile_q),
            tile("k", kernel.tile_k),
            tile("v", kernel.tile_k),
            Struct(fields=fields),
        ),
        grid=Grid(count=tiles),
    )


def _divisor(value: Callable[[Sizes], int]) -> tuple[tuple[str, Word], ...]:
    """``struct Divisor`` of the emitted source."""

    def part(index: int) -> Fixed:
        return Fixed(of=lambda sizes: divisor(value(sizes))[index])

    return tuple(("u32", part(index)) for index in range(3))


def _tensors(kernel: AttentionKernel, packed: Packed | None, *, lse: bool) -> tuple[Tensor, ...]:
    kind = kernel.dtype.element
    queries, keys, sums = ("shd", "tgd", "hs") if packed else ("bhsd", "bgtd", "bhs")

    def axes(names: str) -> tuple[Axis, ...]:
        return tuple(Axis(name=a) for a in names)

    return (
        Tensor(name="q", axes=axes(queries), dtype=kind),
        *(Tensor(name=n, axes=axes(keys), dtype=kind) for n in "kv"),
        Tensor(name="out", axes=axes(queries), dtype=kind, access=Access.OUT),
        Tensor(name="lse", axes=axes(sums), dtype=DType.F32, access=Access.OUT, optional=not lse),
        *(
            Tensor(name=n, axes=axes("e"), dtype=DType.I32, optional=packed is None)
            for n in ("q_starts", "k_starts")
        ),
    )


def prepare_attention(
    call: AttentionCall, kernel: AttentionKernel, document: RolesDocument | None = None
) -> Callable[[int | None], None]:
    """A launcher of the call; it takes a stream."""
    return launcher_of(
        attention_binary(kernel, document, call.packed, align_end=call.align_end), call
    )


def launcher_of(binary: Binary, call: AttentionCall) -> Callable[[int | None], None]:
    """A launcher of the call on a binary made for it."""
    plan = prepare(binary, [v.layout if v is not None else None for v in call.views])
    values = (*(v.pointer if v is not None else 0 for v in call.views), exponent_of(call.scale))
    return lambda stream: plan(stream or 0, *values)


def exponent_of(scale: float) -> float:
    """The scale of scores as the kernel wants it: for exponents in base 2."""
    return scale * math.log2(math.e)
