"""From a ``GemmKernel`` to a loaded kernel, and from tensors to a launch."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from warploom.document.roles import RolesDocument
from warploom.emit.cuda import ENTRY, emit_gemm, layout_of
from warploom.hopper.kernel import GemmKernel
from warploom.launch.build import compile_source
from warploom.launch.driver import Kernel, ensure_context, require_hopper, tensor_map
from warploom.launch.shipped import schedule_for
from warploom.launch.tensors import TensorView

STORE_ROWS = 16  # each warp stores its 16 rows of a chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A kernel and the order in which tiles are visited: ``group`` tile rows together."""

    kernel: GemmKernel
    group: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmCall:
    """The tensors of one GEMM: A [M, K], B [N, K], C [M, N], all with contiguous rows."""

    a: TensorView
    b: TensorView
    c: TensorView
    alpha: float | None = None
    bias: TensorView | None = None


@cache
def load_gemm(kernel: GemmKernel, document: RolesDocument | None = None) -> Kernel:
    """Emit, compile (or take from the cache) and load a kernel."""
    document = document or schedule_for(kernel)
    cubin = compile_source(emit_gemm(document, kernel))
    return Kernel(cubin.data, ENTRY, shared_bytes=layout_of(document).bytes)


def prepare_gemm(
    call: GemmCall, choice: Choice, document: RolesDocument | None = None
) -> Callable[[int | None], None]:
    """A launcher of the call with the chosen kernel; it takes a stream."""
    kernel = choice.kernel
    sms = require_hopper(call.a.device)
    ensure_context(call.a.device)
    loaded = load_gemm(kernel, document)
    (m, k), n = call.a.shape, call.b.shape[0]
    cm, cn = kernel.cluster
    size = cm * cn
    tiles = -(-m // (kernel.tile_m * cm)) * -(-n // (kernel.tile_n * cn)) * size
    if size > 1:
        sms = loaded.resident_clusters(kernel.threads, size) * size
    maps = (
        _map(call.a, (kernel.tile_m // cn, kernel.block_k)),
        _map(call.b, (kernel.tile_n // cm, kernel.block_k)),
        _map(call.c, (STORE_ROWS, kernel.chunk_columns)),
    )
    extra: list[object] = []
    if kernel.epilogue.scale:
        extra.append(float(call.alpha if call.alpha is not None else 1.0))
    if kernel.epilogue.bias and call.bias is not None:
        extra.append(c.c_void_p(call.bias.pointer))
    group = max(1, choice.group // cm)
    return loaded.prepare(min(sms, tiles), kernel.threads, size, [*maps, m, n, k, group, *extra])


def _map(view: TensorView, box: tuple[int, int]) -> object:
    rows, columns = view.shape
    return tensor_map(
        view.pointer, view.dtype, (rows, columns), (view.strides[0] * view.element_bytes,), box
    )
