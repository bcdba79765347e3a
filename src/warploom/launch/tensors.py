"""Foreign tensors seen as a pointer, a shape, strides and a dtype: torch, DLPack, CuPy.

Nothing is imported for it: torch-like objects are read through their attributes, others through
``__dlpack__`` or ``__cuda_array_interface__``.
"""

from __future__ import annotations

import ctypes as c
import importlib
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from warploom.errors import BackendError

CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
_TORCH = {
    "torch.bfloat16": "bf16",
    "torch.float16": "fp16",
    "torch.float32": "fp32",
    "torch.float8_e4m3fn": "e4m3",
    "torch.int32": "int32",
}
_ARRAY_INTERFACE = {"<f2": "fp16", "<f4": "fp32", "<i4": "int32"}
_DLPACK = {(4, 16): "bf16", (2, 16): "fp16", (2, 32): "fp32", (10, 8): "e4m3", (0, 32): "int32"}
ELEMENT_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "e4m3": 1, "int32": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where a tensor lies and how; a value that keeps nothing alive."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorView:
    """A tensor on a CUDA device. Strides are in elements."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: int
    owner: object = field(compare=False, repr=False)

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return ELEMENT_BYTES[self.dtype]

    def transposed(self) -> TensorView:
        """The matrix with its two axes exchanged."""
        return replace(self, shape=self.shape[::-1], strides=self.strides[::-1])

    def as_batch(self) -> TensorView:
        """[rows, heads, columns] seen as one batch of [heads, rows, columns]."""
        (rows, heads, columns), (row, head, column) = self.shape, self.strides
        return replace(
            self, shape=(1, heads, rows, columns), strides=(rows * row, head, row, column)
        )

    def placed(self) -> Placed:
        """The view without its owner."""
        return Placed(
            pointer=self.pointer, shape=self.shape, strides=self.strides, device=self.device
        )


class _TorchLike(Protocol):
    dtype: object
    shape: tuple[int, ...]
    device: Any

    def data_ptr(self) -> int: ...
    def stride(self) -> tuple[int, ...]: ...


def is_torch(tensor: object) -> bool:
    """True for objects that look like torch tensors."""
    return hasattr(tensor, "data_ptr") and hasattr(tensor, "stride")


def view_of(tensor: object, name: str) -> TensorView:
    """The view of a tensor; ``BackendError`` for what is no CUDA tensor of a known dtype."""
    if is_torch(tensor):
        return _from_torch(tensor, name)
    if hasattr(tensor, "__dlpack__") and hasattr(tensor, "__dlpack_device__"):
        return _from_dlpack(tensor, name)
    if hasattr(tensor, "__cuda_array_interface__"):
        return _from_interface(tensor, name)
    raise BackendError(
        f"{name} is a {type(tensor).__name__}, not a CUDA tensor",
        where=f"argument {name}",
        fix="pass a torch or CuPy tensor, or anything with DLPack",
    )


def _from_torch(tensor: Any, name: str) -> TensorView:  # noqa: ANN401
    if tensor.device.type != "cuda":
        raise BackendError(
            f"{name} lies on {tensor.device}", where=f"argument {name}", fix="move it to a GPU"
        )
    dtype = _TORCH.get(str(tensor.dtype))
    if dtype is None:
        raise _dtype_error(name, str(tensor.dtype))
    return TensorView(
        pointer=tensor.data_ptr(),
        shape=tuple(tensor.shape),
        strides=tuple(tensor.stride()),
        dtype=dtype,
        device=tensor.device.index or 0,
        owner=tensor,
    )


def _from_interface(tensor: Any, name: str) -> TensorView:  # noqa: ANN401
    data = tensor.__cuda_array_interface__
    dtype = _ARRAY_INTERFACE.get(data["typestr"])
    if dtype is None:
        raise _dtype_error(name, data["typestr"])
    size, shape = ELEMENT_BYTES[dtype], tuple(data["shape"])
    strides = data.get("strides")
    steps = tuple(s // size for s in strides) if strides else _row_major(shape)
    return TensorView(
        pointer=data["data"][0], shape=shape, strides=steps, dtype=dtype, device=0, owner=tensor
    )


def stream_of(tensor: object) -> int | None:
    """The caller's current stream, for libraries that have one."""
    if is_torch(tensor):
        cuda = importlib.import_module("torch").cuda
        handle: int = cuda.current_stream(getattr(tensor, "device", None)).cuda_stream
        return handle
    if type(tensor).__module__.partition(".")[0] == "cupy":
        pointer: int = importlib.import_module("cupy").cuda.get_current_stream().ptr
        return pointer
    return None


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


def _from_dlpack(tensor: Any, name: str) -> TensorView:  # noqa: ANN401
    kind, device = tensor.__dlpack_device__()
    if int(kind) not in CUDA_DEVICES:
        raise BackendError(
            f"{name} lies on DLPack device {int(kind)}", where=f"argument {name}", fix="use a GPU"
        )
    capsule = tensor.__dlpack__(stream=1)  # order behind the producer's work on the default stream
    get = c.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
    dl = c.cast(get(capsule, b"dltensor"), c.POINTER(_DlTensor)).contents
    dtype = _DLPACK.get((dl.code, dl.bits))
    if dtype is None or dl.lanes != 1:
        raise _dtype_error(name, f"DLPack type {dl.code}, {dl.bits} bits")
    shape = tuple(dl.shape[i] for i in range(dl.ndim))
    steps = tuple(dl.strides[i] for i in range(dl.ndim)) if dl.strides else _row_major(shape)
    return TensorView(
        pointer=(dl.data or 0) + dl.byte_offset,
        shape=shape,
        strides=steps,
        dtype=dtype,
        device=int(device),
        owner=(tensor, capsule),
    )


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= n
    return tuple(reversed(steps))


def _dtype_error(name: str, found: str) -> BackendError:
    return BackendError(
        f"{name} has dtype {found}",
        where=f"argument {name}",
        fix="bfloat16, float16, float8_e4m3fn (operands) or float32 (result, bias)",
    )
