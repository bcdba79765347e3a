"""The CUDA driver through NVIDIA's ``cuda-bindings``. Nothing is loaded on import."""

from __future__ import annotations

import ctypes
import importlib
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

from warploom.errors import BackendError, MissingExtraError
from warploom.targets.h200 import h200

LAUNCH_SINCE = 11060  # the version of CUDA that brought it


@cache
def bindings(part: str = "driver") -> ModuleType:
    """``cuda.bindings.driver`` or ``.nvrtc``; names the extra where it is not installed."""
    try:
        return importlib.import_module(f"cuda.bindings.{part}")
    except ImportError:
        raise MissingExtraError("cuda-bindings", "cuda", "running kernels") from None


@cache
def library() -> Any:  # noqa: ANN401 (the bindings carry no types)
    """The driver's functions, initialised; ``BackendError`` when this machine has none."""
    cuda = bindings()
    try:
        (code,) = cuda.cuInit(0)
    except RuntimeError:  # the loader's own error, raised with the first call
        raise BackendError(
            "no NVIDIA driver on this machine",
            where="libcuda.so.1",
            why="kernels can be emitted and compiled without one, but not run",
            fix="run on a machine with an H100 or H200",
        ) from None
    if code:
        raise BackendError(
            f"the NVIDIA driver does not start (error {int(code)})",
            where="cuInit",
            fix="check nvidia-smi; error 100 means that no GPU is visible",
        )
    return cuda


def check(answer: Any, what: str) -> Any:  # noqa: ANN401
    """The values of a driver call; ``BackendError`` with the driver's own words if it failed."""
    code, *values = answer
    if code:
        said = library().cuGetErrorString(code)[1]
        text = said.decode() if isinstance(said, bytes) else "unknown error"
        raise BackendError(f"CUDA driver error {int(code)}: {text}", where=what)
    return values[0] if len(values) == 1 else tuple(values)


@cache
def context_of(device: int) -> Any:  # noqa: ANN401
    """The primary context of a device, which the tensor libraries share."""
    cuda = library()
    handle = check(cuda.cuDeviceGet(device), f"device {device}")
    return check(cuda.cuDevicePrimaryCtxRetain(handle), "cuDevicePrimaryCtxRetain")


@cache
def device_count() -> int:
    """Devices of this machine."""
    count: int = check(library().cuDeviceGetCount(), "cuDeviceGetCount")
    return count


def ensure_context(device: int) -> None:
    """Make the device's primary context current when the thread has none."""
    cuda = library()
    if not int(check(cuda.cuCtxGetCurrent(), "cuCtxGetCurrent")):
        check(cuda.cuCtxSetCurrent(context_of(device)), "cuCtxSetCurrent")


@contextmanager
def on_device(device: int) -> Iterator[None]:
    """The device's primary context is current inside; what was current before, after."""
    cuda = library()
    check(cuda.cuCtxPushCurrent(context_of(device)), "cuCtxPushCurrent")
    try:
        yield
    finally:
        check(cuda.cuCtxPopCurrent(), "cuCtxPopCurrent")


@cache
def require_hopper(device: int) -> int:
    """The number of SMs; ``BackendError`` unless the device is a Hopper (9.0)."""
    names = library().CUdevice_attribute
    major, minor, sms = (
        int(check(library().cuDeviceGetAttribute(which, device), "cuDeviceGetAttribute"))
        for which in (
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            names.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        )
    )
    if (major, minor) != (9, 0):
        raise BackendError(
            f"device {device} has compute capability {major}.{minor}",
            why="the kernels use wgmma and setmaxnreg, which exist on 9.0 (Hopper) only",
            fix="run on an H100 or H200",
        )
    return sms


def sm_count(device: int) -> int:
    """SMs of a device; without a driver those of the target that kernels are compiled for."""
    try:
        return require_hopper(device)
    except (BackendError, MissingExtraError):
        return h200().limits.sms


@cache
def launcher() -> Callable[[Any, Any, Any, None], int]:
    """``cuLaunchKernelEx`` by its address: takes ``pointer_to`` each, gives the driver's code.

    The bindings' own call looks at what it is given and wraps the answer, for a microsecond.
    """
    answer = library().cuGetProcAddress(b"cuLaunchKernelEx", LAUNCH_SINCE, 0)
    address, _ = check(answer, "cuLaunchKernelEx")
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)


def pointer_to(address: int) -> Any:  # noqa: ANN401
    """A pointer as ``launcher`` takes it."""
    return ctypes.byref(ctypes.c_char.from_address(address))


class Kernel:
    """A function of a cubin, loaded on a device."""

    def __init__(self, cubin: bytes, name: str, *, shared_bytes: int, device: int = 0) -> None:
        cuda = library()
        names = cuda.CUfunction_attribute
        self.name, self.device, self.shared_bytes = name, device, shared_bytes
        with on_device(device):
            self._module = check(cuda.cuModuleLoadData(cubin), "cuModuleLoadData")
            self.function = check(
                cuda.cuModuleGetFunction(self._module, name.encode()), f"kernel {name}"
            )
            most = names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(
                cuda.cuFuncSetAttribute(self.function, most, shared_bytes),
                f"{shared_bytes} bytes of shared memory",
            )

    @property
    def declared_cluster(self) -> int:
        """CTAs of a cluster by the kernel's own ``__cluster_dims__``; 0 if it has none."""
        cuda = library()
        width = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH
        return int(check(cuda.cuFuncGetAttribute(width, self.function), "cuFuncGetAttribute"))

    def resident_clusters(self, threads: int, cluster: int) -> int:
        """How many clusters run at once."""
        config = launch_config(cluster, threads, self.shared_bytes, cluster)
        with on_device(self.device):
            answer = library().cuOccupancyMaxActiveClusters(self.function, config)
        return int(check(answer, "cuOccupancyMaxActiveClusters"))

    def resident_ctas(self, threads: int) -> int:
        """How many CTAs an SM runs at once."""
        with on_device(self.device):
            answer = library().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                self.function, threads, self.shared_bytes
            )
        return int(check(answer, "cuOccupancyMaxActiveBlocksPerMultiprocessor"))


def launch_config(
    grid: int,
    threads: int,
    shared_bytes: int,
    cluster: int,
    *,
    together: bool = False,
    early: bool = False,
) -> Any:  # noqa: ANN401
    """A ``CUlaunchConfig``; the stream is still to be set. ``together``: all CTAs run at once;
    ``early``: they come to the SMs while the last ones of the kernel before end.
    """
    cuda = library()
    config = cuda.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
    config.sharedMemBytes = shared_bytes
    ids, attributes = cuda.CUlaunchAttributeID, []
    if cluster > 1:
        attributes.append(cuda.CUlaunchAttribute())
        attributes[-1].id = ids.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        size = attributes[-1].value.clusterDim
        size.x, size.y, size.z = cluster, 1, 1
    if together:
        attributes.append(cuda.CUlaunchAttribute())
        attributes[-1].id = ids.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attributes[-1].value.cooperative = 1
    if early:
        attributes.append(cuda.CUlaunchAttribute())
        attributes[-1].id = ids.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        attributes[-1].value.programmaticStreamSerializationAllowed = 1
    config.numAttrs = len(attributes)
    if attributes:
        config.attrs = attributes
    return config


@cache
def resident(numbers: tuple[int, ...], device: int) -> int:
    """The address of int32 numbers on the device, put there once and kept while the process runs.

    Also while a stream is being captured: the copy goes its own way and is waited for.
    """
    cuda = library()
    data = struct.pack(f"{len(numbers)}i", *numbers)
    relaxed = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    with on_device(device):
        before = check(cuda.cuThreadExchangeStreamCaptureMode(relaxed), "capture mode")
        try:
            address = int(check(cuda.cuMemAlloc(len(data)), f"{len(data)} bytes"))
            apart = cuda.CUstream_flags.CU_STREAM_NON_BLOCKING
            stream = check(cuda.cuStreamCreate(apart), "cuStreamCreate")
            check(cuda.cuMemcpyHtoDAsync(address, data, len(data), stream), "cuMemcpyHtoDAsync")
            check(cuda.cuStreamSynchronize(stream), "cuStreamSynchronize")
            check(cuda.cuStreamDestroy(stream), "cuStreamDestroy")
        finally:
            check(cuda.cuThreadExchangeStreamCaptureMode(before), "capture mode")
    return address


def synchronize() -> None:
    """Wait for the usual stream; errors of earlier kernels surface here."""
    check(library().cuStreamSynchronize(0), "cuStreamSynchronize")


class Timer:
    """Milliseconds between two points of a stream."""

    def __init__(self) -> None:
        self._events = [check(library().cuEventCreate(0), "cuEventCreate") for _ in range(2)]

    def mark(self, which: int, stream: int | None) -> None:
        """Record the start (0) or the end (1)."""
        check(library().cuEventRecord(self._events[which], stream or 0), "cuEventRecord")

    def milliseconds(self) -> float:
        """The time between the marks; waits for the second."""
        start, end = self._events
        check(library().cuEventSynchronize(end), "cuEventSynchronize")
        took: float = check(library().cuEventElapsedTime(start, end), "cuEventElapsedTime")
        return took
