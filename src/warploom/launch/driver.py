"""The CUDA driver through ctypes: modules, tensor maps, launches. Nothing is loaded on import."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from warploom.errors import BackendError

MAX_DYNAMIC_SHARED = 8
CLUSTER_DIMENSION = 4
COMPUTE_MAJOR, COMPUTE_MINOR, MULTIPROCESSORS = 75, 76, 16
SWIZZLE_128B, PROMOTE_128B = 3, 2
MAP_TYPES = {"e4m3": 0, "fp16": 6, "fp32": 7, "bf16": 9}
NO_ATTRIBUTES = 0


class _AttributeValue(c.Union):
    _fields_ = (("pad", c.c_char * 64), ("cluster", c.c_uint * 3))


class _Attribute(c.Structure):
    _fields_ = (("id", c.c_int), ("pad", c.c_char * 4), ("value", _AttributeValue))


class _LaunchConfig(c.Structure):
    _fields_ = (
        ("grid", c.c_uint * 3),
        ("block", c.c_uint * 3),
        ("shared_bytes", c.c_uint),
        ("stream", c.c_void_p),
        ("attributes", c.POINTER(_Attribute)),
        ("attribute_count", c.c_uint),
    )


@cache
def library() -> c.CDLL:
    """The driver, initialised; ``BackendError`` when this machine has none."""
    try:
        cuda = c.CDLL("libcuda.so.1")
    except OSError:
        raise BackendError(
            "no NVIDIA driver on this machine",
            where="libcuda.so.1",
            why="kernels can be emitted and compiled without one, but not run",
            fix="run on a machine with an H100 or H200",
        ) from None
    code = cuda.cuInit(0)
    if code:
        raise BackendError(
            f"the NVIDIA driver does not start (error {code})",
            where="cuInit",
            fix="check nvidia-smi; error 100 means that no GPU is visible",
        )
    return cuda


def check(code: int, what: str) -> None:
    """Raise ``BackendError`` with the driver's own words when a call failed."""
    if code:
        text = c.c_char_p()
        library().cuGetErrorString(code, c.byref(text))
        said = (text.value or b"unknown error").decode()
        raise BackendError(f"CUDA driver error {code}: {said}", where=what)


def ensure_context(device: int) -> None:
    """Make the device's primary context current when the thread has none."""
    cuda, current = library(), c.c_void_p()
    check(cuda.cuCtxGetCurrent(c.byref(current)), "cuCtxGetCurrent")
    if not current.value:
        context = c.c_void_p()
        check(cuda.cuDevicePrimaryCtxRetain(c.byref(context), device), "cuDevicePrimaryCtxRetain")
        check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")


@cache
def require_hopper(device: int) -> int:
    """The number of SMs; ``BackendError`` unless the device is a Hopper (9.0)."""
    major, minor, sms = (
        _attribute(device, a) for a in (COMPUTE_MAJOR, COMPUTE_MINOR, MULTIPROCESSORS)
    )
    if (major, minor) != (9, 0):
        raise BackendError(
            f"device {device} has compute capability {major}.{minor}",
            why="the kernels use wgmma and setmaxnreg, which exist on 9.0 (Hopper) only",
            fix="run on an H100 or H200",
        )
    return sms


def _attribute(device: int, which: int) -> int:
    value = c.c_int()
    check(library().cuDeviceGetAttribute(c.byref(value), which, device), "cuDeviceGetAttribute")
    return value.value


def _aligned_buffer(size: int, alignment: int) -> tuple[Any, int]:
    raw = c.create_string_buffer(size + alignment)
    address = c.addressof(raw)
    return raw, address + (-address) % alignment


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor map in host memory; ``owner`` keeps the bytes alive."""

    address: int
    owner: object


def tensor_map(
    pointer: int,
    dtype: str,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    box: tuple[int, int],
) -> TensorMap:
    """A tensor with 128-byte swizzle; ``box`` = (rows, columns) of one copy.

    The last axis is contiguous; ``strides`` are the bytes of a step along each of the others.
    """
    owner, address = _aligned_buffer(128, 64)
    rank = len(shape)
    boxes = (box[1], box[0], *(1 for _ in range(rank - 2)))
    code = library().cuTensorMapEncodeTiled(
        c.c_void_p(address),
        c.c_int(MAP_TYPES[dtype]),
        c.c_uint32(rank),
        c.c_void_p(pointer),
        (c.c_uint64 * rank)(*reversed(shape)),
        (c.c_uint64 * (rank - 1))(*reversed(strides)),
        (c.c_uint32 * rank)(*boxes),
        (c.c_uint32 * rank)(*(1 for _ in range(rank))),
        c.c_int(0),
        c.c_int(SWIZZLE_128B),
        c.c_int(PROMOTE_128B),
        c.c_int(0),
    )
    sizes = "x".join(map(str, shape))
    check(code, f"tensor map of {sizes} {dtype}, strides {strides}, box {box[0]}x{box[1]}")
    return TensorMap(address, owner)


class Kernel:
    """A function of a loaded cubin."""

    def __init__(self, cubin: bytes, name: str, *, shared_bytes: int) -> None:
        cuda = library()
        self._module, self._function = c.c_void_p(), c.c_void_p()
        check(cuda.cuModuleLoadData(c.byref(self._module), cubin), "cuModuleLoadData")
        check(
            cuda.cuModuleGetFunction(c.byref(self._function), self._module, name.encode()),
            f"kernel {name}",
        )
        check(
            cuda.cuFuncSetAttribute(
                self._function, c.c_int(MAX_DYNAMIC_SHARED), c.c_int(shared_bytes)
            ),
            f"{shared_bytes} bytes of shared memory",
        )
        self._shared_bytes = shared_bytes

    def read(self, symbol: str) -> bytes:
        """The bytes of an array of the module, by name."""
        address, size = self._symbol(symbol)
        held = c.create_string_buffer(size)
        code = library().cuMemcpyDtoH_v2(held, c.c_uint64(address), c.c_size_t(size))
        check(code, f"reading {symbol}")
        return held.raw

    def write(self, symbol: str, data: bytes) -> None:
        """Fill an array of the module from its start."""
        address, size = self._symbol(symbol)
        if len(data) > size:
            raise BackendError(f"{symbol} holds {size} bytes, not {len(data)}", where="Kernel")
        code = library().cuMemcpyHtoD_v2(c.c_uint64(address), data, c.c_size_t(len(data)))
        check(code, f"writing {symbol}")

    def _symbol(self, symbol: str) -> tuple[int, int]:
        address, size = c.c_uint64(), c.c_size_t()
        code = library().cuModuleGetGlobal_v2(
            c.byref(address), c.byref(size), self._module, symbol.encode()
        )
        check(code, f"symbol {symbol}")
        return address.value, size.value

    def resident_clusters(self, threads: int, cluster: int) -> int:
        """How many clusters run at once."""
        config, _keep = self._config(cluster, threads, cluster, None)
        count = c.c_int()
        code = library().cuOccupancyMaxActiveClusters(
            c.byref(count), self._function, c.byref(config)
        )
        check(code, "cuOccupancyMaxActiveClusters")
        return count.value

    def _config(
        self, grid: int, threads: int, cluster: int, stream: int | None
    ) -> tuple[_LaunchConfig, object]:
        attributes = (_Attribute * 1)()
        attributes[0].id = CLUSTER_DIMENSION
        attributes[0].value.cluster[:] = (cluster, 1, 1)
        config = _LaunchConfig()
        config.grid[:] = (grid, 1, 1)
        config.block[:] = (threads, 1, 1)
        config.shared_bytes = self._shared_bytes
        config.stream = stream
        config.attributes = attributes
        config.attribute_count = 1 if cluster > 1 else NO_ATTRIBUTES
        return config, attributes

    def prepare(
        self, grid: int, threads: int, cluster: int, arguments: Sequence[object]
    ) -> Callable[[int | None], None]:
        """A launcher for fixed arguments: maps, ints, floats, or ctypes values; takes a stream."""
        keep = [_as_argument(a) for a in arguments]
        pointers = (c.c_void_p * len(keep))()
        for i, value in enumerate(keep):
            at = value.address if isinstance(value, TensorMap) else c.addressof(value)
            pointers[i] = at
        config, attributes = self._config(grid, threads, cluster, None)
        launch, function = library().cuLaunchKernelEx, self._function
        reference = c.byref(config)

        def go(stream: int | None, _keep: object = (keep, attributes)) -> None:
            config.stream = stream
            code = launch(reference, function, pointers, None)
            if code:
                check(code, "cuLaunchKernelEx")

        return go


def _as_argument(value: object) -> Any:  # noqa: ANN401 (ctypes values have no common type)
    if isinstance(value, bool):
        raise BackendError("a truth value is no kernel argument", where="launch")
    if isinstance(value, int):
        return c.c_int(value)
    if isinstance(value, float):
        return c.c_float(value)
    return value


def synchronize(stream: int | None = None) -> None:
    """Wait for the stream; errors of earlier kernels surface here."""
    check(library().cuStreamSynchronize(c.c_void_p(stream)), "cuStreamSynchronize")


class Timer:
    """Milliseconds between two points of a stream."""

    def __init__(self) -> None:
        self._events = [c.c_void_p(), c.c_void_p()]
        for e in self._events:
            check(library().cuEventCreate(c.byref(e), 0), "cuEventCreate")

    def mark(self, which: int, stream: int | None) -> None:
        """Record the start (0) or the end (1)."""
        check(library().cuEventRecord(self._events[which], c.c_void_p(stream)), "cuEventRecord")

    def milliseconds(self) -> float:
        """The time between the marks; waits for the second."""
        check(library().cuEventSynchronize(self._events[1]), "cuEventSynchronize")
        out = c.c_float()
        code = library().cuEventElapsedTime(c.byref(out), self._events[0], self._events[1])
        check(code, "cuEventElapsedTime")
        return out.value
