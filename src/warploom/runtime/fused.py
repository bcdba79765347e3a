"""Products that libraries leave in parts: gated, grouped, with block scales, with packed weights.

Each runs one kernel of ``warploom.kernels`` on a Hopper GPU, for tensors of any library.
"""

from __future__ import annotations

from typing import Any

from warploom.compiler.cuda_driver import sm_count
from warploom.errors import BackendError
from warploom.frontend import builtins as words
from warploom.ir.tile import DType
from warploom.kernels.block_scaled import block_scaled, block_scaled_pair
from warploom.kernels.grouped import (
    gathered_swiglu,
    grouped,
    grouped_gathered,
    grouped_input,
    grouped_scaled,
    grouped_scattered,
    grouped_swiglu,
    grouped_weights,
    picked_rows,
)
from warploom.kernels.int4_gemm import fp8_gemm, int4_gemm
from warploom.kernels.scan import scan as scan_kernel, scan_parts
from warploom.kernels.swiglu import swiglu as swiglu_kernel
from warploom.runtime.arguments import count, one_of
from warploom.runtime.declared_calls import calls_of
from warploom.runtime.halves import Halved
from warploom.runtime.tensors import allocator, on_stream, view_of

MANY_ROWS = 1024  # from which on copying them first was quicker than fetching them one by one
GATES = {"silu": words.silu, "gelu": words.gelu, "relu": words.relu, "sigmoid": words.sigmoid}
SCAN_COLUMNS, LEAST_CHUNKS = 64, 4  # of a tile of the state, of a part of the sequence


def swiglu(
    x: object,
    gate: Any,  # noqa: ANN401 (tensors of any library)
    up: object | None = None,
    *,
    activation: str = "silu",
    out: object | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401 (the caller's own tensor type)
    """``act(x @ gate^T) * (x @ up^T)``: ``x`` is [M, K], weights are [N, K]; returns [M, N].

    ``activation``: silu (SwiGLU), gelu (GeGLU), relu or sigmoid. Without ``up``, ``gate`` holds
    both weights with their rows in turn, [2 N, K].
    """
    if up is None:
        rows = view_of(gate, "gate").layout.shape
        if len(rows) != 2 or rows[0] % 2:
            raise BackendError(
                f"gate has shape {rows}",
                where="argument gate",
                why="without up it holds both weights, their rows in turn",
                fix="gate [2 N, K], or gate and up [N, K]",
            )
        gate, up = gate[0::2], gate[1::2]
    return SWIGLU.launch((x, gate, up, out), (), _gated(activation), stream)[3]


def grouped_gemm(
    x: object,
    w: object,
    starts: object,
    *,
    up: object | None = None,
    activation: str = "silu",
    transposed: bool = False,
    tokens: object | None = None,
    rows: object | None = None,
    weight: object | None = None,
    out: object | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401
    """Rows of group e times the weights of e: ``x[rows of e] @ w[e]^T``.

    ``x`` is [T, K], ``w`` is [E, N, K]; ``starts``, int32 [E + 1] on the GPU, holds the first row
    of each group and the end of the last; groups may be empty. ``transposed``: ``w`` is [E, K, N],
    as the gradient of rows needs it. With ``up`` the gated form, as in ``swiglu``. Rows of no group
    are left as they lie in ``out``, which is not cleared.

    With ``tokens``, int32 [T], ``x`` is [S, K], and row t is its row ``tokens[t]``; numbers outside
    of it give zeros. Few rows are fetched as they are multiplied; many are copied first, to memory
    of the size of T x K, which is quicker (``kernels.grouped.grouped_gathered`` needs none).

    With ``rows``, int32 [T], row t is multiplied by ``weight[t]`` (float32, if given) and added to
    row ``rows[t]`` of ``out`` [S, N] (float32, or the type of ``x``), which must be given; numbers
    outside of it are left out. Sums of three or more rows depend on the order in which they come.
    """
    if rows is not None or weight is not None:
        plain = up is None and tokens is None and not transposed
        return _scattered(x, w, starts, rows, weight, out, stream, plain=plain)
    if transposed and (up is not None or tokens is not None):
        raise BackendError(
            "transposed weights in the gated form, or with rows picked by number",
            where="grouped_gemm",
            fix="w and up [E, N, K]",
        )
    if tokens is not None and (picked := _picked(x, tokens, stream)) is not None:
        x, tokens = picked, None
    if tokens is not None and up is not None:
        given = (x, w, up, starts, tokens, out)
        return GATHERED_SWIGLU.launch(given, (), _gated(activation), stream)[5]
    if tokens is not None:
        return GATHERED.launch((x, w, starts, tokens, out), (), PLAIN, stream)[4]
    if up is not None:
        done = GROUPED_SWIGLU.launch((x, w, up, starts, out), (), _gated(activation), stream)
        return done[4]
    calls = GROUPED_INPUT if transposed else GROUPED
    return calls.launch((x, w, starts, out), (), PLAIN, stream)[3]


def _picked(x: Any, tokens: object, stream: int | None) -> Any:  # noqa: ANN401
    """Many rows of ``x``, copied; None for few, or of a length that has no kernel."""
    rows, columns = view_of(x, "x").layout.shape, view_of(tokens, "tokens").layout.shape
    wide = next((u for u in (256, 128, 64) if len(rows) == 2 and rows[-1] % u == 0), 0)
    if not wide or len(columns) != 1 or columns[0] < MANY_ROWS:
        return None
    given = (x.reshape(rows[0], rows[1] // wide, wide), tokens, None)
    return PICKED.launch(given, (), PLAIN, stream)[2].reshape(columns[0], rows[1])


def _scattered(
    x: object,
    w: object,
    starts: object,
    rows: object | None,
    weight: object | None,
    out: object | None,
    stream: int | None,
    *,
    plain: bool,
) -> Any:  # noqa: ANN401
    if rows is None or out is None or not plain:
        raise BackendError(
            "rows that are added need rows=, out= and plain weights",
            where="grouped_gemm",
            why="they are added to what out holds already, by number",
            fix="grouped_gemm(x, w, starts, rows=rows, weight=weight, out=zeros)",
        )
    return SCATTERED.launch((x, w, starts, rows, out, weight), (), PLAIN, stream)[4]


def grouped_gemm_weights(
    y: object,
    x: object,
    starts: object,
    *,
    out: object | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401
    """The gradient of the weights of ``grouped_gemm``: ``y[rows of e]^T @ x[rows of e]`` by group.

    ``y`` is [T, N], ``x`` is [T, K], ``starts`` as there; returns [E, N, K], zeros for a group
    without rows.
    """
    return GROUPED_WEIGHTS.launch((y, x, starts, out), (), PLAIN, stream)[3]


def gemm_block_scaled(
    a: object,
    scale_a: object,
    b: object,
    scale_b: object,
    *,
    starts: object | None = None,
    out: object | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401
    """fp8 ``a @ b^T`` with scales of blocks, in bf16.

    ``a`` is [M, K] with ``scale_a`` [M, K / 128], ``b`` is [N, K] with ``scale_b`` [N / 128, K /
    128], both float32; every 128 of K are summed by themselves and scaled in float32. Quickest
    with ``scale_a`` stored by columns (its transpose contiguous); else it is copied. With
    ``starts`` the grouped form: ``b`` is [E, N, K], ``scale_b`` [E, N / 128, K / 128].
    """
    if starts is not None:
        tensors = (a, scale_a, b, scale_b, starts, out)
        return GROUPED_SCALED.launch(tensors, (), PLAIN, stream)[5]
    return SCALED.launch((a, scale_a, b, scale_b, out), (), PLAIN, stream)[4]


def gemm_quantised(
    x: object,
    w: Any,  # noqa: ANN401
    scale: object,
    *,
    out: object | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401
    """``x @ (w * scale)^T`` with ``x`` in 16 bits and weights in 4 or 8: [M, K] to [M, N].

    ``w`` is int8 or uint8 [N, K / 2], two numbers of 4 bits in a byte (the first in its low half, 8
    stands for 0), or fp8 (e4m3, e5m2) [N, K]. ``scale``, float32 [N, K / 128], belongs to 128
    neighbours of a row; quickest stored by columns. Meant for few rows of ``x``.
    """
    packed = "int" in str(getattr(w, "dtype", ""))
    return (INT4 if packed else FP8).launch((x, w, scale, out), (), PLAIN, stream)[3]


def scan(
    q: object,
    k: object,
    v: Any,  # noqa: ANN401
    grown: Any,  # noqa: ANN401
    *,
    parts: int | None = None,
    out: object | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401
    """A chunked scan with a carried matrix: (out, state).

    ``state[t] = exp(gate[t]) * state[t - 1] + k[t]^T v[t]``, ``out[t] = q[t] @ state[t]`` for each
    head. ``v`` is [batch, heads, chunks, t, e], ``q`` and ``k`` are [batch, groups, chunks, t, d],
    each for ``heads // groups`` heads, bf16 or fp16, with e in 64s. Chunks have t = 64 steps for
    d = 64 or 128, or t = 128 for d = 128, which is quicker with about as many heads as SMs.
    ``grown``, float32 [batch, heads, chunks, t], sums the gates of a chunk up to each step
    (``gates.cumsum(-1)``). ``state`` is that after the last step, float32 [batch, heads, d, e].

    Where heads leave SMs idle, ``parts`` of the sequence are scanned side by side (None: chosen).
    The same bits come out every time.
    """
    sums = view_of(grown, "grown").layout.shape
    shape, like = view_of(v, "v").layout.shape, view_of(k, "k").layout.shape
    _check_scan(shape, like, sums)
    batch, heads, chunks, _, e = shape
    sms = sm_count(view_of(v, "v").layout.device)
    usual = scan_parts_of(batch * heads, chunks, like[3], like[4], e, sms)
    parts = usual if parts is None else min(count(parts, "parts"), chunks)
    with on_stream(v, stream):
        made = allocator(v, (parts, batch, heads, like[4], e), DType.F32)
        state, left, gone = made().swapaxes(0, 1).swapaxes(1, 2), None, None
        if parts > 1:
            left = made().swapaxes(0, 1).swapaxes(1, 2)
            gone = allocator(v, (batch, heads, parts, e), DType.F32)()
    ends = grown[..., -1]
    if parts > 1:
        SCAN_PARTS.launch((k, v, grown, ends, left, gone), (), PARTED, stream)
    given = (q, k, v, grown, grown, ends, out, state, left, gone)
    return SCAN.launch(given, (), SCANNED, stream)[6], state[:, :, -1]


def _check_scan(shape: tuple[int, ...], like: tuple[int, ...], sums: tuple[int, ...]) -> None:
    ranks = (len(shape), len(like), len(sums)) == (5, 5, 4)
    if not ranks or 0 in (*shape, *like, *sums) or shape[1] % like[1]:
        raise BackendError(
            f"v is {list(shape)}, k is {list(like)}, grown is {list(sums)}",
            where="scan",
            why="every group of q and k serves equally many heads; nothing is empty",
            fix="v [batch, heads, chunks, t, e], q and k [batch, groups, chunks, t, d], "
            "grown [batch, heads, chunks, t]",
        )


def scan_parts_of(heads: int, chunks: int, t: int, d: int, e: int, sms: int) -> int:
    """Parts of the sequence that are scanned side by side, of a scan of so many heads.

    As many as fill the chip, where two or more do; each has several chunks, since every part reads
    what those before it left.
    """
    tiles = heads * -(-e // SCAN_COLUMNS)
    slots = sms * (2 if (t, d) == (64, 64) else 1)
    parts = min(slots // tiles, chunks // LEAST_CHUNKS)
    return -(-chunks // -(-chunks // parts)) if parts > 1 else 1  # none is left without chunks


def _options(*outputs: str, **choices: object) -> tuple[Any, ...]:
    return ((), tuple(choices.items()), frozenset(), frozenset(outputs or {"out"}), ())


def _gated(activation: str) -> tuple[Any, ...]:
    return one_of(activation, GATED, "activation")


PLAIN, SCANNED, PARTED = _options(), _options("out", "state"), _options("left", "gone")
GATED = {name: _options(activation=word) for name, word in GATES.items()}
SWIGLU = calls_of(swiglu_kernel)
GROUPED, GROUPED_INPUT = calls_of(grouped), calls_of(grouped_input)
GROUPED_SWIGLU, GROUPED_WEIGHTS = calls_of(grouped_swiglu), calls_of(grouped_weights)
PICKED, SCATTERED = calls_of(picked_rows), calls_of(grouped_scattered)
GATHERED, GATHERED_SWIGLU = calls_of(grouped_gathered), calls_of(gathered_swiglu)
SCALED = Halved(calls_of(block_scaled), calls_of(block_scaled_pair))
GROUPED_SCALED = calls_of(grouped_scaled)
INT4, FP8 = calls_of(int4_gemm), calls_of(fp8_gemm)
SCAN, SCAN_PARTS = calls_of(scan_kernel), calls_of(scan_parts)
