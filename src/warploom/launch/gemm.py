"""``gemm``: C = act(alpha * A @ B + bias) on a Hopper GPU, for tensors of any library.

The kernel is chosen by shape (or given, or tuned), emitted from a shipped schedule, compiled on
first use and cached. Operands are bf16, fp16 or fp8 (e4m3) with fp32 accumulation.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from warploom.errors import BackendError
from warploom.hopper.energy import Shape
from warploom.hopper.kernel import Activation, Dtype, Epilogue
from warploom.launch.choose import choose, with_types
from warploom.launch.driver import require_hopper
from warploom.launch.launch import Choice, GemmCall, prepare_gemm
from warploom.launch.tensors import TensorView, is_torch, stream_of, view_of
from warploom.launch.tune import likely, measure, recall, remember

ALIGNMENT = 16


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
    left, right = view_of(a, "a"), view_of(b, "b").transposed()
    _check_operands(left, right)
    require_hopper(left.device)
    kind = _out_dtype(left, out, out_dtype)
    result = out if out is not None else _empty(a, left.shape[0], right.shape[0], kind)
    target = view_of(result, "out")
    side = view_of(bias, "bias") if bias is not None else None
    _check_result(left, right, target, side)
    epilogue = Epilogue(
        scale=alpha is not None, bias=bias is not None, activation=_activation(activation)
    )
    at = stream if stream is not None else stream_of(a)

    def prepared(picked: Choice) -> Callable[[int | None], None]:
        return _launcher(left, right, target, alpha, side, picked)

    shape = Shape(m=left.shape[0], n=right.shape[0], k=left.shape[1], dtype=Dtype(left.dtype))
    if choice is not None:
        picked = with_types(choice, shape.dtype, kind, epilogue)
    elif tune:
        picked = _tuned(shape, kind, epilogue, prepared, at)
    else:
        picked = recall(shape, kind, epilogue) or choose(shape, kind, epilogue)
    prepared(picked)(at)
    return result


def _tuned(
    shape: Shape,
    kind: Dtype,
    epilogue: Epilogue,
    prepared: Callable[[Choice], Callable[[int | None], None]],
    stream: int | None,
) -> Choice:
    """Measure the likely kernels and remember the quickest."""
    options = [(c, prepared(c)) for c in likely(shape, kind, epilogue)]
    best = measure(options, stream)[0].choice
    remember(shape, kind, epilogue, best)
    return best


@lru_cache(maxsize=256)
def _launcher(
    a: TensorView,
    b: TensorView,
    result: TensorView,
    alpha: float | None,
    bias: TensorView | None,
    choice: Choice,
) -> Callable[[int | None], None]:
    """Tensor maps depend on addresses only, so equal views share a prepared launch."""
    plain = [_without_owner(v) for v in (a, b, result)]
    side = _without_owner(bias) if bias is not None else None
    call = GemmCall(a=plain[0], b=plain[1], c=plain[2], alpha=alpha, bias=side)
    return prepare_gemm(call, choice)


def _without_owner(view: TensorView) -> TensorView:
    return TensorView(
        pointer=view.pointer,
        shape=view.shape,
        strides=view.strides,
        dtype=view.dtype,
        device=view.device,
        owner=None,
    )


def _check_operands(a: TensorView, b: TensorView) -> None:
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise BackendError(
            f"gemm takes matrices, not shapes {a.shape} and {b.shape[::-1]}", where="gemm"
        )
    if a.shape[1] != b.shape[1]:
        raise BackendError(
            f"a is {a.shape[0]}x{a.shape[1]}, b is {b.shape[1]}x{b.shape[0]}: inner sizes differ",
            where="gemm",
        )
    if a.dtype != b.dtype or a.dtype == "fp32":
        raise BackendError(
            f"operands are {a.dtype} and {b.dtype}",
            where="gemm",
            fix="both bf16, both fp16 or both float8_e4m3fn",
        )
    if min(*a.shape, *b.shape) == 0:
        raise BackendError("an operand is empty", where="gemm", fix="handle it before the call")
    _check_rows(a, "a", "a.contiguous()")
    _check_rows(b, "b", "store b transposed: b = w.T with w [N, K] contiguous")


def _check_rows(view: TensorView, name: str, fix: str) -> None:
    if view.strides[1] != 1:
        raise BackendError(
            f"{name} is not contiguous along K (or its rows)",
            where=f"argument {name}, strides {view.strides}",
            why="bulk copies read runs of 128 bytes along that axis",
            fix=fix,
        )
    row = view.strides[0] * view.element_bytes
    if view.pointer % ALIGNMENT or row % ALIGNMENT:
        raise BackendError(
            f"{name} is misaligned: address {view.pointer:#x}, rows of {row} bytes",
            where=f"argument {name}",
            why="tensor maps need 16-byte aligned addresses and row strides",
            fix=f"pad the inner size to a multiple of {ALIGNMENT // view.element_bytes} elements",
        )


def _check_result(a: TensorView, b: TensorView, out: TensorView, bias: TensorView | None) -> None:
    if out.shape != (a.shape[0], b.shape[0]):
        raise BackendError(
            f"out is {out.shape}, the product is {(a.shape[0], b.shape[0])}", where="argument out"
        )
    if out.dtype == "e4m3":
        raise BackendError("out cannot be fp8", where="argument out", fix="bf16, fp16 or fp32")
    _check_rows(out, "out", "allocate it contiguous")
    if bias is None:
        return
    if bias.shape != (b.shape[0],) or bias.strides != (1,) or bias.dtype != out.dtype:
        raise BackendError(
            f"bias is {bias.dtype} of shape {bias.shape}",
            where="argument bias",
            fix=f"a contiguous {out.dtype} vector of {b.shape[0]} elements",
        )


def _activation(name: str) -> Activation:
    try:
        return Activation(name)
    except ValueError:
        raise BackendError(
            f"unknown activation {name!r}", fix=", ".join(a.value for a in Activation)
        ) from None


def _out_dtype(a: TensorView, out: object | None, wanted: str | None) -> Dtype:
    if out is not None:
        found = view_of(out, "out").dtype
        if wanted is not None and found != wanted:
            raise BackendError(f"out is {found}, out_dtype is {wanted}", where="gemm")
        return Dtype(found)
    if wanted is not None:
        if wanted not in ("bf16", "fp16", "fp32"):
            raise BackendError(f"unknown out_dtype {wanted!r}", fix="bf16, fp16 or fp32")
        return Dtype(wanted)
    return Dtype.BF16 if a.dtype == "e4m3" else Dtype(a.dtype)


_TORCH_NAMES = {Dtype.BF16: "bfloat16", Dtype.FP16: "float16", Dtype.FP32: "float32"}


def _empty(like: Any, m: int, n: int, kind: Dtype) -> object:  # noqa: ANN401
    if is_torch(like):
        torch = importlib.import_module("torch")
        made: object = torch.empty(
            (m, n), dtype=getattr(torch, _TORCH_NAMES[kind]), device=like.device
        )
        return made
    if kind is not Dtype.BF16 and type(like).__module__.partition(".")[0] == "cupy":
        made = importlib.import_module("cupy").empty((m, n), dtype=_TORCH_NAMES[kind])
        return made
    raise BackendError(
        f"cannot allocate a {kind} result for a {type(like).__name__}",
        where="gemm",
        fix="pass out=",
    )
