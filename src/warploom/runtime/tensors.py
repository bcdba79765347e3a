"""Tensors of other libraries as a pointer and a layout: torch, DLPack, CuPy.

Nothing is imported for it: torch-like objects are read through their attributes, others through
``__dlpack__`` or ``__cuda_array_interface__``.
"""

from __future__ import annotations

import ctypes as c
import importlib
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from functools import cache, partial
from typing import Any

from warploom.compiler.layout import Layout
from warploom.dataclass import dataclass
from warploom.errors import BackendError
from warploom.ir.tile import DType
from warploom.runtime.interpreting import UNSIGNED, active, layout_of, made_like

ON_CPU = (
    "on the CPU: KERNEL.interpret(...) executes its program, KERNEL.reference(...) computes in"
    " NumPy, `with warploom.interpreting():` holds for all calls"
)
Foreign = Any  # a tensor of the caller's library, or what he takes for one
CPU_DEVICE = 1  # of DLPack
CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
ROCM_DEVICES = (10,)  # kDLROCM
_TORCH = {
    "bfloat16": DType.BF16,
    "float16": DType.F16,
    "float32": DType.F32,
    "float8_e4m3fn": DType.E4M3,
    "float8_e5m2": DType.E5M2,
    "int32": DType.I32,
    "int8": DType.I8,
    "uint8": DType.I8,
    "uint32": DType.I32,
    "bool": DType.BOOL,
}
_OF_TORCH = {v: k for k, v in reversed(_TORCH.items())} | UNSIGNED
_ARRAY_INTERFACE = {
    "<f2": DType.F16,
    "<f4": DType.F32,
    "<i4": DType.I32,
    "<u4": DType.I32,
    "|i1": DType.I8,
    "|u1": DType.I8,
}
_DLPACK = {
    (4, 16): DType.BF16,
    (2, 16): DType.F16,
    (2, 32): DType.F32,
    (10, 8): DType.E4M3,
    (12, 8): DType.E5M2,
    (0, 32): DType.I32,
    (0, 8): DType.I8,
    (1, 32): DType.I32,
    (1, 8): DType.I8,
}


@dataclass(frozen=True, slots=True)
class TensorView:
    """A tensor on a CUDA device; ``owner`` keeps its memory alive."""

    pointer: int
    layout: Layout
    owner: object = field(default=None, compare=False, repr=False)


def torch_name(dtype: DType) -> str:
    """What torch calls an element type."""
    return _OF_TORCH[dtype]


def is_torch(tensor: object) -> bool:
    """True for objects that look like torch tensors."""
    return hasattr(tensor, "data_ptr") and hasattr(tensor, "get_device")


def is_numpy(tensor: object) -> bool:
    """Whether it is an array of NumPy, which need not be loaded to ask."""
    return any(t.__module__ == "numpy" and t.__name__ == "ndarray" for t in type(tensor).__mro__)


def view_of(tensor: object, name: str, devices: tuple[int, ...] = CUDA_DEVICES) -> TensorView:
    """The view of a tensor; ``BackendError`` for what is no GPU tensor of a known dtype.

    ``devices``: kinds of DLPack devices that are taken. Where calls are interpreted, of an array
    or tensor on the CPU; its address means nothing there.
    """
    state = active()
    if state is not None and (is_torch(tensor) or is_numpy(tensor)):
        return TensorView(0, layout_of(tensor, name, state), tensor)
    if is_torch(tensor):
        return _from_torch(tensor, name)
    if hasattr(tensor, "__dlpack__") and hasattr(tensor, "__dlpack_device__"):
        return _from_dlpack(tensor, name, devices)
    if hasattr(tensor, "__cuda_array_interface__"):
        return _from_interface(tensor, name)
    raise not_a_tensor(tensor, name)


def not_a_tensor(given: object, name: str) -> BackendError:
    """What is said of anything else."""
    return BackendError(
        f"{name} is a {type(given).__name__}, not a CUDA tensor",
        where=f"argument {name}",
        fix=f"pass a torch or CuPy tensor, or anything with DLPack; {ON_CPU}",
    )


def _from_torch(tensor: Any, name: str) -> TensorView:  # noqa: ANN401
    if tensor.device.type != "cuda":
        raise BackendError(
            f"{name} lies on {tensor.device}",
            where=f"argument {name}",
            why="calls run on the GPU and take tensors that lie there",
            fix=f"move it to a GPU; {ON_CPU}",
        )
    dtype = _TORCH.get(str(tensor.dtype).removeprefix("torch."))
    if dtype is None:
        raise _dtype_error(name, str(tensor.dtype))
    layout = Layout(tuple(tensor.shape), tuple(tensor.stride()), dtype, tensor.device.index or 0)
    return TensorView(tensor.data_ptr(), layout, tensor)


def _from_interface(tensor: Any, name: str) -> TensorView:  # noqa: ANN401
    data = tensor.__cuda_array_interface__
    dtype = _ARRAY_INTERFACE.get(data["typestr"])
    if dtype is None:
        raise _dtype_error(name, data["typestr"])
    size, shape = dtype.bits // 8, tuple(data["shape"])
    strides = data.get("strides")
    steps = tuple(s // size for s in strides) if strides else row_major(shape)
    device = int(getattr(getattr(tensor, "device", None), "id", 0))
    return TensorView(data["data"][0], Layout(shape, steps, dtype, device), tensor)


def stream_of(tensor: object) -> Callable[[], int]:
    """What gives the caller's current stream, for libraries that have one; else the default's."""
    if is_torch(tensor):
        device = getattr(tensor, "device", None)
        if getattr(device, "type", "cuda") != "cuda":
            return lambda: 0
        return _torch_stream(getattr(device, "index", None) or 0)
    if _library_of(tensor) == "cupy":
        current = importlib.import_module("cupy").cuda.get_current_stream
        return lambda: int(current().ptr)
    return lambda: 0


@cache
def _torch_stream(device: int) -> Callable[[], int]:
    try:
        torch = importlib.import_module("torch")
    except ImportError:  # a tensor that only looks like torch's
        return lambda: 0
    if not torch.cuda.is_available():  # so does this one
        return lambda: 0
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # 20 times as fast as its wrapper
    if raw is not None:
        return partial(raw, device)
    return lambda: int(torch.cuda.current_stream(device).cuda_stream)


def allocator(like: Any, shape: tuple[int, ...], dtype: DType) -> Callable[[], Any]:  # noqa: ANN401
    """What makes contiguous tensors of the caller's library, beside ``like``."""
    if active() is not None:
        return partial(made_like, like, shape, dtype)
    if is_torch(like):
        torch = importlib.import_module("torch")
        kind = getattr(torch, _OF_TORCH[dtype])
        on_gpu = getattr(like.device, "type", "cuda") == "cuda"
        steps, quick = row_major(shape), _quick_empty(torch) if on_gpu else None
        if quick is not None:
            return partial(quick, shape, steps, kind)
        return partial(torch.empty_strided, shape, steps, dtype=kind, device=like.device)
    if _library_of(like) == "cupy" and dtype in (DType.F16, DType.F32):
        cupy = importlib.import_module("cupy")
        return partial(cupy.empty, shape, dtype=_OF_TORCH[dtype])
    raise BackendError(
        f"cannot allocate a {dtype} result for a {type(like).__name__}",
        fix="pass out=, or use torch tensors",
    )


def _quick_empty(torch: Any) -> Callable[..., Any] | None:  # noqa: ANN401
    """What compiled graphs allocate with, in a third of the time; for the current device only."""
    guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    if torch.cuda.device_count() != 1:
        return None
    result: Callable[..., Any] | None = getattr(guards, "_empty_strided_cuda", None)
    return result


def guard_of(given: list[Any]) -> Callable[..., bool] | None:
    """What tells tensors of these types, devices, shapes and strides from others, in one call.

    It is what guards compiled graphs. None where torch has none, or not for these.
    """
    torch = sys.modules.get("torch")
    guards = getattr(getattr(getattr(torch, "_C", None), "_dynamo", None), "guards", None)
    kind = getattr(guards, "TensorGuards", None)
    plain = getattr(torch, "Tensor", None), getattr(getattr(torch, "nn", None), "Parameter", None)
    if kind is None or not all(type(t) in plain for t in given):
        return None
    try:
        made = kind(
            *given,
            dynamic_dims_sizes=[list(t.shape) for t in given],
            dynamic_dims_strides=[list(t.stride()) for t in given],
        )
    except (TypeError, RuntimeError):
        return None
    check: Callable[..., bool] = made.check
    return check


def guard_of_unseen(given: list[Any]) -> Callable[..., bool] | None:
    """The same for calls that no part of torch looks at; None if one does now.

    Guards tell modes, transforms, tracers and autocast, save modes of functions; gradients are
    asked for.
    """
    check, torch = guard_of(given), sys.modules.get("torch")
    if check is None or torch is None or not unwatched():
        return None
    if not any(t.requires_grad for t in given):
        return check
    enabled: Callable[[], bool] = torch.is_grad_enabled
    return None if enabled() else lambda *now: not enabled() and check(*now)


def unwatched() -> bool:
    """Whether no mode, transform, tracer or autocast of torch looks at calls."""
    torch = sys.modules["torch"]
    inner = torch._C
    return not (
        inner._len_torch_dispatch_stack()
        or inner._functorch.peek_interpreter_stack() is not None
        or inner._get_tracing_state() is not None
        or torch.is_autocast_enabled()
    )


def on_stream(like: Any, stream: int | None) -> AbstractContextManager[Any]:  # noqa: ANN401
    """Allocations inside belong to the stream, so that its memory is not handed out early.

    None: the caller's own.
    """
    return nullcontext() if stream is None or not is_torch(like) else stream_at(like.device, stream)


def stream_at(place: Any, stream: int) -> AbstractContextManager[Any]:  # noqa: ANN401
    """The same for a device of torch."""
    cuda = importlib.import_module("torch").cuda
    of = cuda.ExternalStream(stream, place) if stream else cuda.default_stream(place)
    current: AbstractContextManager[Any] = cuda.stream(of)
    return current


def _library_of(tensor: object) -> str:
    return type(tensor).__module__.partition(".")[0]


class _DlTensor(c.Structure):
    _fields_ = (
        ("data", c.c_void_p),
        ("device_type", c.c_int32),
        ("device_id", c.c_int32),
        ("ndim", c.c_int32),
        ("code", c.c_uint8),
        ("bits", c.c_uint8),
        ("lanes", c.c_uint16),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    )


def _from_dlpack(
    tensor: Any,  # noqa: ANN401
    name: str,
    devices: tuple[int, ...],
) -> TensorView:
    kind, device = tensor.__dlpack_device__()
    if int(kind) not in devices:
        raise BackendError(
            f"{name} lies in host memory"
            if int(kind) == CPU_DEVICE
            else f"{name} lies on DLPack device {int(kind)}",
            where=f"argument {name}",
            why="calls run on the GPU and take tensors that lie there",
            fix=f"move it to the GPU; {ON_CPU}",
        )
    # Order after the producer's work on the default stream, which ROCm calls 0.
    capsule = tensor.__dlpack__(stream=0 if devices is ROCM_DEVICES else 1)
    get = c.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
    dl = c.cast(get(capsule, b"dltensor"), c.POINTER(_DlTensor)).contents
    dtype = _DLPACK.get((dl.code, dl.bits))
    if dtype is None or dl.lanes != 1:
        raise _dtype_error(name, f"DLPack type {dl.code}, {dl.bits} bits")
    shape = tuple(dl.shape[i] for i in range(dl.ndim))
    steps = tuple(dl.strides[i] for i in range(dl.ndim)) if dl.strides else row_major(shape)
    return TensorView(
        (dl.data or 0) + dl.byte_offset, Layout(shape, steps, dtype, int(device)), (tensor, capsule)
    )


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= n
    return tuple(reversed(steps))


def _dtype_error(name: str, found: str) -> BackendError:
    whole = "int32 for offsets, rows and lengths; else " if "int" in found else ""
    return BackendError(
        f"{name} has dtype {found}", where=f"argument {name}", fix=whole + ", ".join(_TORCH)
    )
