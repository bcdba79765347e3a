"""``gemm``: C = act(alpha * A @ B + bias) + residual on a Hopper GPU, for tensors of any library.

It runs the kernel ``warploom.kernels.gemm``: tiles are chosen by shape (or given, or tuned), the
kernel is scheduled, proven and compiled on first use and kept. Operands are bf16, fp16 or fp8
(e4m3) with fp32 accumulation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from warploom.errors import BackendError
from warploom.frontend import builtins as words
from warploom.frontend.tile_kernel import TileKernel
from warploom.ir.tile import DType
from warploom.kernels.gemm import gemm as tile_kernel, turned
from warploom.passes.kernel_config import KernelConfig
from warploom.runtime.arguments import number, one_of, tiles
from warploom.runtime.declared_calls import calls_of
from warploom.runtime.runner import Layouts
from warploom.runtime.tensors import Foreign
from warploom.runtime.tuning import tune_call
from warploom.targets.h200 import WGMMA_ROWS

ACTIVATIONS = {"none": None, "relu": words.relu, "gelu": words.gelu, "silu": words.silu}
OUT_TYPES = {"bf16": DType.BF16, "fp16": DType.F16, "fp32": DType.F32}
MATRIX = 2
FEW_ROWS = 32
OPERANDS = (DType.BF16, DType.F16, DType.E4M3)


def gemm(
    a: Foreign,
    b: Foreign,
    *,
    out: Foreign = None,
    bias: Foreign = None,
    residual: Foreign = None,
    alpha: float | None = None,
    activation: str = "none",
    out_dtype: str | None = None,
    choice: KernelConfig | None = None,
    tune: bool = False,
    stream: int | None = None,
) -> Any:  # noqa: ANN401 (the caller's own tensor type)
    """``act(alpha * a @ b + bias) + residual``; ``a`` is [M, K], ``b`` is [K, N] with contiguous
    columns (``weight.T`` of a linear layer). Returns ``out``.

    ``out_dtype`` is ``"bf16"``, ``"fp16"`` or ``"fp32"``; by default that of the operands, bf16
    for fp8. ``choice`` fixes the tiles; ``tune`` measures the likely ones on these tensors first
    and remembers the quickest; ``stream`` is a CUDA stream handle. Operands with other strides, or
    rows that are no multiples of 16 bytes, are copied first. ``out`` may be ``residual``, but must
    not overlap the operands.
    """
    tensors = (a, b, out, bias, residual)
    options, scalars = PLAIN, NO_SCALARS
    if alpha is not None or activation != "none" or out_dtype is not None or choice is not None:
        options, scalars = asked(1.0 if alpha is None else alpha, activation, out_dtype, choice)
    if tune:
        tune_call(CALLS, tensors, scalars, options, stream)
    return CALLS.launch(tensors, scalars, options, stream)[2]


def asked(
    alpha: float, activation: str, out_dtype: str | None = None, choice: KernelConfig | None = None
) -> tuple[tuple[Any, ...], tuple[float, ...]]:
    """Options and scalars of a call."""
    scale = number(alpha, "alpha")
    given = (activation, out_dtype, scale > 0, choice, scale == 1.0)
    try:
        options = _options(*given)
    except TypeError:  # one of them cannot be a key: the error names it
        options = _options.__wrapped__(*given)
    return options, NO_SCALARS if scale == 1.0 else (scale,)


@lru_cache(maxsize=256)
def _options(
    activation: str,
    out_dtype: str | None,
    positive: bool,
    choice: KernelConfig | None,
    unscaled: bool = True,
) -> tuple[Any, ...]:
    """The options of a plan; a scale of 1 is built in, so that nothing multiplies by it."""
    own = tiles(choice, "choice")
    kind = None if out_dtype is None else one_of(out_dtype, OUT_TYPES, "out_dtype")
    word = one_of(activation, ACTIVATIONS, "activation")
    return (
        (("out", kind),) if kind else (),
        (("activation", word), *((("alpha", 1.0),) if unscaled else ())),
        frozenset({"alpha"}) if positive else frozenset(),
        frozenset({"out"}),
        own.pins if own is not None else (),
    )


def _check(layouts: Layouts, options: tuple[Any, ...]) -> None:
    """Types that products have, and a result of one that was asked for."""
    a, b, out, *_ = layouts
    assert a is not None
    assert b is not None
    if a.dtype != b.dtype or a.dtype not in OPERANDS:
        raise BackendError(
            f"operands are {a.dtype} and {b.dtype}",
            where="gemm",
            fix="both bf16, both fp16 or both float8_e4m3fn",
        )
    stated = dict(options[0]).get("out")
    wanted = (stated,) if stated else tuple(OUT_TYPES.values())
    if out is not None and out.dtype not in wanted:
        raise BackendError(
            f"out cannot be {out.dtype}", where="argument out", fix=" or ".join(wanted)
        )


def _pick(layouts: Layouts, options: tuple[Any, ...]) -> TileKernel:
    """Few rows are columns of the products; a residual would be read across."""
    a, residual = layouts[0], layouts[4]
    pinned = dict(options[4]).get("m")
    if pinned is not None:  # rows of products are multiples of 64
        return turned if pinned % WGMMA_ROWS else tile_kernel
    few = a is not None and len(a.shape) == MATRIX and a.shape[0] <= FEW_ROWS
    return turned if few and residual is None else tile_kernel


NO_SCALARS: tuple[float, ...] = ()
PLAIN = _options("none", None, True, None)
CALLS = calls_of(tile_kernel, check=_check, pick=_pick)
