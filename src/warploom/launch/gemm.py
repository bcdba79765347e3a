"""``gemm``: C = act(alpha * A @ B + bias) on a Hopper GPU, for tensors of any library.

The kernel is chosen by shape (or given, or tuned), emitted from a shipped schedule, compiled on
first use and cached. Operands are bf16, fp16 or fp8 (e4m3) with fp32 accumulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warploom.errors import BackendError
from warploom.hopper.energy import Shape
from warploom.hopper.kernel import Activation, Dtype, Epilogue
from warploom.kernel.values import DType
from warploom.launch.binary import Binary
from warploom.launch.choose import choose, with_types
from warploom.launch.driver import require_hopper
from warploom.launch.launch import Choice, gemm_binary
from warploom.launch.layout import STRIDE_ALIGNMENT, Layout
from warploom.launch.runner import Layouts, Runner
from warploom.launch.tensors import stream_of
from warploom.launch.tune import likely, measure, recall, remember

NAMES = ("a", "b", "out", "bias")


@dataclass(frozen=True, slots=True)
class _Options:
    """What a plan depends on besides layouts."""

    scale: bool
    activation: str
    out_dtype: str | None
    choice: Choice | None


def gemm(
    a: object,
    b: object,
    *,
    out: object | None = None,
    bias: object | None = None,
    alpha: float | None = None,
    activation: str = "none",
    out_dtype: str | None = None,
    choice: Choice | None = None,
    tune: bool = False,
    stream: int | None = None,
) -> Any:  # noqa: ANN401 (the caller's own tensor type)
    """``act(alpha * a @ b + bias)``; ``a`` is [M, K] with contiguous rows, ``b`` is [K, N] with
    contiguous columns (``weight.T`` of a linear layer). Returns ``out``.

    ``out_dtype`` is ``"bf16"``, ``"fp16"`` or ``"fp32"``; by default that of the operands, bf16
    for fp8. ``choice`` overrides the shape heuristic; ``tune`` measures the likely kernels on
    these tensors first and remembers the quickest; ``stream`` is a CUDA stream handle.
    """
    tensors = (a, b, out, bias)
    options = (alpha is not None, activation, out_dtype, choice)
    scalars = (1.0 if alpha is None else alpha,)
    if tune:
        _tune(tensors, options, scalars, stream)
    return RUNNER(tensors, scalars, options, stream)[2]


def _binary(layouts: Layouts, options: tuple[bool, str, str | None, Choice | None]) -> Binary:
    """The kernel of a call: what it runs, once its operands are fit for it."""
    choice = _choice(layouts, _Options(*options))
    require_hopper(next(w.device for w in layouts if w is not None))  # before compiling anything
    return gemm_binary(choice)


RUNNER = Runner(NAMES, _binary)


def _choice(layouts: Layouts, options: _Options) -> Choice:
    shape, kind, epilogue = _product(layouts, options)
    if options.choice is not None:
        return with_types(options.choice, shape.dtype, kind, epilogue)
    return recall(shape, kind, epilogue) or choose(shape, kind, epilogue)


def _product(layouts: Layouts, options: _Options) -> tuple[Shape, Dtype, Epilogue]:
    """Shape, result type and epilogue of a call that can run."""
    a, b, out, bias = layouts
    assert a is not None
    assert b is not None
    check_operands(a, b)
    kind = _out_dtype(a, out, options.out_dtype)
    check_result(a, b, out, bias, kind)
    epilogue = Epilogue(
        scale=options.scale, bias=bias is not None, activation=_activation(options.activation)
    )
    shape = Shape(m=a.shape[0], n=b.shape[1], k=a.shape[1], dtype=Dtype.named(a.dtype))
    return shape, kind, epilogue


def _tune(
    tensors: tuple[Any, ...],
    options: tuple[bool, str, str | None, Choice | None],
    scalars: tuple[float, ...],
    stream: int | None,
) -> None:
    """Measure the likely kernels, remember the quickest, and let calls choose anew."""
    at = stream if stream is not None else stream_of(tensors[0])()
    complete = RUNNER(tensors, scalars, options, stream)
    shape, kind, epilogue = _product(RUNNER.layouts(tensors), _Options(*options))
    scale, activation, out_dtype, _ = options

    def go(choice: Choice) -> Any:  # noqa: ANN401
        picked = (scale, activation, out_dtype, choice)
        return lambda where: RUNNER(complete, scalars, picked, where)

    found = measure([(c, go(c)) for c in likely(shape, kind, epilogue)], at)
    remember(shape, kind, epilogue, found[0].choice)
    RUNNER.forget()


def check_operands(a: Layout, b: Layout) -> None:
    """Two matrices that fit together and that copies can read."""
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise BackendError(f"gemm takes matrices, not shapes {a.shape} and {b.shape}", where="gemm")
    if a.shape[1] != b.shape[0]:
        raise BackendError(
            f"a is {a.shape[0]}x{a.shape[1]}, b is {b.shape[0]}x{b.shape[1]}: inner sizes differ",
            where="gemm",
        )
    if a.dtype != b.dtype or a.dtype not in (DType.BF16, DType.F16, DType.E4M3):
        raise BackendError(
            f"operands are {a.dtype} and {b.dtype}",
            where="gemm",
            fix="both bf16, both fp16 or both float8_e4m3fn",
        )
    if min(*a.shape, *b.shape) == 0:
        raise BackendError("an operand is empty", where="gemm", fix="handle it before the call")
    _check_rows(a, "a", (0, 1), "a.contiguous()")
    _check_rows(b, "b", (1, 0), "store b transposed: b = w.T with w [N, K] contiguous")


def _check_rows(layout: Layout, name: str, axes: tuple[int, int], fix: str) -> None:
    """Runs of the second axis are contiguous, steps of the first aligned."""
    outer, inner = axes
    if layout.strides[inner] != 1 and layout.shape[inner] != 1:
        raise BackendError(
            f"{name} is not contiguous along K (or its rows)",
            where=f"argument {name}, strides {layout.strides}",
            why="bulk copies read runs of 128 bytes along that axis",
            fix=fix,
        )
    size = layout.dtype.bits // 8
    step = layout.strides[outer] * size
    if layout.shape[outer] > 1 and (step % STRIDE_ALIGNMENT or step <= 0):
        raise BackendError(
            f"{name} is misaligned: rows of {step} bytes",
            where=f"argument {name}",
            why="tensor maps need row strides of positive multiples of 16 bytes",
            fix=f"pad the inner size to a multiple of {STRIDE_ALIGNMENT // size} elements",
        )


def check_result(
    a: Layout, b: Layout, out: Layout | None, bias: Layout | None, kind: Dtype
) -> None:
    """A result and a bias of the product's shape and types."""
    m, n = a.shape[0], b.shape[1]
    made = Layout((m, n), (n, 1), kind.element, a.device)  # what is allocated, where none is given
    result = out or made
    if result.shape != (m, n):
        raise BackendError(f"out is {result.shape}, the product is {(m, n)}", where="argument out")
    if result.dtype not in (DType.BF16, DType.F16, DType.F32):
        raise BackendError(
            f"out cannot be {result.dtype}", where="argument out", fix="bf16, fp16 or fp32"
        )
    _check_rows(result, "out", (0, 1), "allocate it contiguous")
    if bias is None:
        return
    if bias.shape != (n,) or bias.strides != (1,) or bias.dtype != result.dtype:
        raise BackendError(
            f"bias is {bias.dtype} of shape {bias.shape}",
            where="argument bias",
            fix=f"a contiguous {result.dtype} vector of {n} elements",
        )


def _activation(name: str) -> Activation:
    try:
        return Activation(name)
    except ValueError:
        raise BackendError(
            f"unknown activation {name!r}", fix=", ".join(a.value for a in Activation)
        ) from None


def _out_dtype(a: Layout, out: Layout | None, wanted: str | None) -> Dtype:
    if wanted is not None and wanted not in ("bf16", "fp16", "fp32"):
        raise BackendError(f"unknown out_dtype {wanted!r}", fix="bf16, fp16 or fp32")
    if out is not None:
        if wanted is not None and out.dtype != Dtype(wanted).element:
            raise BackendError(f"out is {out.dtype}, out_dtype is {wanted}", where="gemm")
        if out.dtype not in (DType.BF16, DType.F16, DType.F32):
            raise BackendError(f"out cannot be {out.dtype}", where="argument out")
        return Dtype.named(out.dtype)
    if wanted is not None:
        return Dtype(wanted)
    return Dtype.BF16 if a.dtype == DType.E4M3 else Dtype.named(a.dtype)
