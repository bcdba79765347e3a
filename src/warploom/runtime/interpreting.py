"""``interpreting``: public calls and kernels executed on the CPU by the interpreter.

    with warploom.interpreting(target="h200", types="bf16"):
        y = warploom.gemm(a, b)

Inside, calls take NumPy arrays and CPU tensors, and execute the kernel module that the same call on
a GPU would run. ``WARPLOOM_INTERPRET=1`` does the same for a whole process.
"""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from typing import Any

from warploom.compiler.layout import Layout
from warploom.dataclass import dataclass
from warploom.errors import BackendError, ConfigError
from warploom.ir.tile import DType

ENVIRONMENT = "WARPLOOM_INTERPRET"
TARGETS = ("h200", "mi355x")
KINDS = {
    "float16": DType.F16,
    "bfloat16": DType.BF16,
    "float32": DType.F32,
    "float64": DType.F32,
    "float8_e4m3fn": DType.E4M3,
    "float8_e5m2": DType.E5M2,
    "int8": DType.I8,
    "uint8": DType.I8,
    "int32": DType.I32,
    "uint32": DType.I32,
    "int64": DType.I32,
    "bool": DType.BOOL,
}
"""Element types by what NumPy and torch call them; unsigned ones count by their bits."""
UNSIGNED = {DType.U8: "uint8", DType.U32: "uint32"}


@dataclass(frozen=True, slots=True)
class Interpreting:
    """How calls are executed: target, what float32 arrays stand for, timing and its seed."""

    target: str = "h200"
    types: DType | None = None
    timing: str = "adversarial"
    seed: int = 0


_STATE: ContextVar[Interpreting | None] = ContextVar("warploom_interpreting", default=None)


def active() -> Interpreting | None:
    """How calls are interpreted at the moment; None: they run on a GPU."""
    result = _STATE.get()
    if result is None and os.environ.get(ENVIRONMENT, "0") not in ("", "0"):
        return Interpreting()
    return result


class _Inside(ContextDecorator):
    """A block, or a function, in which calls are interpreted.

    No generator: one that nobody holds any more would end the block when it is collected.
    """

    def __init__(self, state: Interpreting) -> None:
        self._state = state
        self._before: list[Token[Interpreting | None]] = []

    def __enter__(self) -> None:
        self._before.append(_STATE.set(self._state))

    def __exit__(self, *_: object) -> None:
        _STATE.reset(self._before.pop())


def interpreting(
    *,
    target: str = "h200",
    types: str | DType | None = None,
    timing: str = "adversarial",
    seed: int = 0,
) -> _Inside:
    """Execute public calls and kernels on the CPU, by the interpreter.

    Args:
        target: ``h200`` or ``mi355x``, whose program is executed.
        types: the element type that float32 and float64 NumPy arrays stand for, such as ``bf16``;
            without it they are float32. Arrays of ``ml_dtypes`` and tensors are as they are.
        timing: ``in_order``, ``random`` or ``adversarial``.
        seed: of the timing.
    """
    from warploom.interp import TIMINGS  # noqa: PLC0415 (calls on a GPU need none)

    if target not in TARGETS:
        raise ConfigError(f"target={target!r}", where="interpreting", fix=", ".join(TARGETS))
    if timing not in TIMINGS:
        raise ConfigError(f"timing={timing!r}", where="interpreting", fix=", ".join(TIMINGS))
    try:
        kind = None if types is None else DType(types)
    except ValueError:
        known = ", ".join(d.value for d in DType if d.is_float)
        raise ConfigError(f"types={types!r}", where="interpreting", fix=known) from None
    return _Inside(Interpreting(target, kind, timing, seed))


def layout_of(tensor: Any, name: str, state: Interpreting) -> Layout:  # noqa: ANN401
    """The layout of a NumPy array or a CPU tensor."""
    import numpy as np  # noqa: PLC0415 (calls on a GPU need none)

    if isinstance(tensor, np.ndarray):
        kind = KINDS.get(tensor.dtype.name)
        if state.types is not None and tensor.dtype.name in ("float32", "float64"):
            kind = state.types
        strides = tuple(s // tensor.itemsize for s in tensor.strides)
    else:
        if tensor.device.type != "cpu":
            raise BackendError(
                f"{name} lies on {tensor.device}",
                where=f"argument {name}",
                why="calls are interpreted here, on the CPU",
                fix=f"{name}.cpu(), or a call outside of interpreting",
            )
        kind = KINDS.get(str(tensor.dtype).removeprefix("torch."))
        strides = tuple(tensor.stride())
    if kind is None:
        raise BackendError(
            f"{name} has dtype {tensor.dtype}", where=f"argument {name}", fix=", ".join(KINDS)
        )
    return Layout(tuple(tensor.shape), strides, kind, 0)


def values_of(tensor: Any, layout: Layout) -> Any:  # noqa: ANN401 (a NumPy array)
    """The elements of a tensor as a layout sees them: float32, or whole numbers."""
    import numpy as np  # noqa: PLC0415 (calls on a GPU need none)

    from warploom.frontend.pointwise import as_stored  # noqa: PLC0415 (NumPy)

    if isinstance(tensor, np.ndarray):
        steps = tuple(s * tensor.itemsize for s in layout.strides)
        seen = np.lib.stride_tricks.as_strided(tensor, layout.shape, steps)
        if seen.dtype.kind == "u" and layout.dtype in (DType.I8, DType.I32):
            return as_stored(seen, layout.dtype)
        return seen.astype(np.int64 if seen.dtype.kind in "iub" else np.float32)
    seen = _strided(tensor, layout)
    if layout.dtype in (DType.I32, DType.I8, DType.BOOL):
        whole = seen.numpy()
        return as_stored(whole, layout.dtype).astype(np.int64)
    return seen.float().numpy()


def write_back(tensor: Any, layout: Layout, made: Any) -> None:  # noqa: ANN401
    """Elements into a tensor, as a layout sees it."""
    import numpy as np  # noqa: PLC0415 (calls on a GPU need none)

    if isinstance(tensor, np.ndarray):
        steps = tuple(s * tensor.itemsize for s in layout.strides)
        seen = np.lib.stride_tricks.as_strided(tensor, layout.shape, steps)
        seen[...] = made if seen.dtype.kind != "u" else made.astype(np.int64).astype(seen.dtype)
        return
    import torch  # noqa: PLC0415 (only where the caller uses it)

    with torch.no_grad():
        whole = np.ascontiguousarray(made)
        if tensor.dtype in (torch.uint8, getattr(torch, "uint32", None)):
            whole = whole.astype(np.int64).astype(str(tensor.dtype).removeprefix("torch."))
        _strided(tensor, layout).copy_(torch.from_numpy(whole))


def _strided(tensor: Any, layout: Layout) -> Any:  # noqa: ANN401
    plain = tensor.detach()
    return plain.as_strided(layout.shape, layout.strides, plain.storage_offset())


def made_like(like: Any, shape: tuple[int, ...], dtype: DType) -> Any:  # noqa: ANN401
    """A new output beside an input: NumPy's float32 or int32, or torch's own type."""
    import numpy as np  # noqa: PLC0415 (calls on a GPU need none)

    if isinstance(like, np.ndarray):
        whole = {DType.U8: np.uint8, DType.U32: np.uint32}.get(dtype, np.int32)
        return np.zeros(shape, np.float32 if dtype.is_float else whole)
    import torch  # noqa: PLC0415 (only where the caller uses it)

    names = {d: n for n, d in reversed(KINDS.items())} | UNSIGNED
    return torch.empty(shape, dtype=getattr(torch, names[dtype]))
