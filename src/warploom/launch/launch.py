"""From a ``GemmKernel`` to a ``Binary``, and from tensors to a prepared launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from warploom.document.roles import RolesDocument
from warploom.emit.cuda import ENTRY, emit_gemm, layout_of
from warploom.hopper.kernel import GemmKernel
from warploom.kernel.values import Access, Axis, DType, Tensor
from warploom.launch.binary import Binary, Extent, Fixed, Grid, Param, Pointer, Scalar, TensorMap
from warploom.launch.build import compile_source
from warploom.launch.plan import prepare
from warploom.launch.shipped import schedule_for
from warploom.launch.tensors import TensorView

STORE_ROWS = 16  # each warp stores its 16 rows of a chunk
ALPHA = Scalar(name="alpha", dtype=DType.F32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A kernel and the order in which tiles are visited: ``group`` tile rows together."""

    kernel: GemmKernel
    group: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmCall:
    """The tensors of one GEMM: A [M, K] and C [M, N] with contiguous rows, B [K, N] with
    contiguous columns.
    """

    a: TensorView
    b: TensorView
    c: TensorView
    alpha: float | None = None
    bias: TensorView | None = None


@lru_cache(maxsize=128)
def gemm_binary(choice: Choice, document: RolesDocument | None = None) -> Binary:
    """Emit and compile (or take from the cache) a kernel; tensors a, b, out, bias."""
    kernel = choice.kernel
    document = document or schedule_for(kernel)
    cubin = compile_source(emit_gemm(document, kernel), name=kernel.name)
    cm, cn = kernel.cluster
    kind, out = kernel.dtype.element, kernel.out.element
    axes = {name: Axis(name=name) for name in "mnk"}
    parameters: list[Param] = [
        TensorMap(tensor="a", box=(kernel.tile_m // cn, kernel.block_k)),
        TensorMap(tensor="b", box=(kernel.tile_n // cm, kernel.block_k), axes=(1, 0)),
        TensorMap(tensor="out", box=(STORE_ROWS, kernel.chunk_columns)),
        *(Extent(axis=name) for name in "mnk"),
        Fixed(of=max(1, choice.group // cm)),
    ]
    if kernel.epilogue.scale:
        parameters.append(ALPHA)
    if kernel.epilogue.bias:
        parameters.append(Pointer(tensor="bias"))
    return Binary(
        cubin=cubin.data,
        entry=ENTRY,
        threads=kernel.threads,
        shared_bytes=layout_of(document).bytes,
        tensors=(
            Tensor(name="a", axes=(axes["m"], axes["k"]), dtype=kind),
            Tensor(name="b", axes=(axes["k"], axes["n"]), dtype=kind),
            Tensor(name="out", axes=(axes["m"], axes["n"]), dtype=out, access=Access.OUT),
            Tensor(name="bias", axes=(axes["n"],), dtype=out, optional=True),
        ),
        scalars=(ALPHA,),
        parameters=tuple(parameters),
        grid=Grid(tiles=(("m", kernel.tile_m * cm), ("n", kernel.tile_n * cn))),
        cluster=cm * cn,
    )


def prepare_gemm(
    call: GemmCall, choice: Choice, document: RolesDocument | None = None
) -> Callable[[int | None], None]:
    """A launcher of the call with the chosen kernel; it takes a stream."""
    views = (call.a, call.b, call.c, call.bias)
    plan = prepare(
        gemm_binary(choice, document), [v.layout if v is not None else None for v in views]
    )
    alpha = 1.0 if call.alpha is None else float(call.alpha)
    values = (*(v.pointer if v is not None else 0 for v in views), alpha)
    return lambda stream: plan(stream or 0, *values)
