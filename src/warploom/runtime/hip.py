"""The HIP driver (``libamdhip64``) through ctypes: modules, memory, launches, streams, events.

Nothing is loaded on import. ``WARPLOOM_HIP_LIBRARY`` names the library where it is not on the
loader's path. Nothing here has run on an AMD GPU: tests run it against a library with the same
symbols whose launches are executed on the CPU.
"""

from __future__ import annotations

import ctypes as c
import os
from functools import cache
from typing import Any

from warploom.errors import BackendError

NAMES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")
VARIABLE = "WARPLOOM_HIP_LIBRARY"
# hipModuleLaunchKernel takes all arguments as one block: its address, its size, the end.
_POINTER, _SIZE, _END = 1, 2, 3
_TO_DEVICE, _TO_HOST = 1, 2
_NO_BINARY, _NO_DEVICE = (209, 218), (100, 101)
_FUNCTIONS: dict[str, list[Any]] = {
    "hipInit": [c.c_uint],
    "hipGetDeviceCount": [c.POINTER(c.c_int)],
    "hipDeviceGetName": [c.c_char_p, c.c_int, c.c_int],
    "hipSetDevice": [c.c_int],
    "hipGetDevice": [c.POINTER(c.c_int)],
    "hipModuleLoadData": [c.POINTER(c.c_void_p), c.c_char_p],
    "hipModuleUnload": [c.c_void_p],
    "hipModuleGetFunction": [c.POINTER(c.c_void_p), c.c_void_p, c.c_char_p],
    "hipModuleLaunchKernel": [
        c.c_void_p, *([c.c_uint] * 7), c.c_void_p, c.c_void_p, c.POINTER(c.c_void_p),
    ],
    "hipMalloc": [c.POINTER(c.c_void_p), c.c_size_t],
    "hipFree": [c.c_void_p],
    "hipMemcpy": [c.c_void_p, c.c_void_p, c.c_size_t, c.c_int],
    "hipStreamSynchronize": [c.c_void_p],
    "hipDeviceSynchronize": [],
    "hipEventCreate": [c.POINTER(c.c_void_p)],
    "hipEventDestroy": [c.c_void_p],
    "hipEventRecord": [c.c_void_p, c.c_void_p],
    "hipEventSynchronize": [c.c_void_p],
    "hipEventElapsedTime": [c.POINTER(c.c_float), c.c_void_p, c.c_void_p],
}  # fmt: skip


@cache
def library() -> c.CDLL:
    """The runtime, initialised; ``BackendError`` where this machine has none."""
    given = os.environ.get(VARIABLE)
    for name in [given] if given else NAMES:
        try:
            result = c.CDLL(name)
        except OSError:
            continue
        for function, types in _FUNCTIONS.items():
            known = getattr(result, function, None)
            if known is None:
                raise BackendError(
                    f"{name} has no {function}",
                    where=VARIABLE,
                    fix="a HIP runtime of ROCm 5 or later",
                )
            known.argtypes, known.restype = types, c.c_int
        result.hipGetErrorString.argtypes = [c.c_int]
        result.hipGetErrorString.restype = c.c_char_p
        _check(result, result.hipInit(0), "hipInit")
        return result
    raise BackendError(
        "no HIP runtime on this machine",
        where=given or NAMES[0],
        why="kernels can be emitted and executed on the CPU without one, but not run on a GPU",
        fix=f"install ROCm, or set {VARIABLE} to the path of its libamdhip64.so",
    )


def _check(hip: c.CDLL, code: int, what: str) -> None:
    if not code:
        return
    said = hip.hipGetErrorString(code)
    fix = ""
    if code in _NO_BINARY:
        fix = "the code is for gfx950 (MI350X, MI355X)"
    elif code in _NO_DEVICE:
        fix = "check rocm-smi: no GPU is visible"
    words = said.decode(errors="replace") if said else "unknown error"
    raise BackendError(f"HIP error {code}: {words}", where=what, fix=fix)


def call(name: str, *arguments: object) -> None:
    """Call a function of the runtime; ``BackendError`` with its own words if it fails."""
    hip = library()
    _check(hip, getattr(hip, name)(*arguments), name)


def device_count() -> int:
    """Devices of this machine."""
    count = c.c_int()
    call("hipGetDeviceCount", c.byref(count))
    return count.value


def device_name(device: int = 0) -> str:
    """What the runtime calls a device."""
    name = c.create_string_buffer(256)
    call("hipDeviceGetName", name, len(name), device)
    return name.value.decode(errors="replace")


class OnDevice:
    """The device is current inside; what was current before, after."""

    def __init__(self, device: int) -> None:
        self.device, self._before = device, c.c_int()

    def __enter__(self) -> None:
        call("hipGetDevice", c.byref(self._before))
        call("hipSetDevice", self.device)

    def __exit__(self, *_: object) -> None:
        call("hipSetDevice", self._before.value)


class HipKernel:
    """A function of a code object, loaded on a device."""

    def __init__(self, image: bytes, name: str, *, device: int = 0) -> None:
        self.name, self.device = name, device
        self._image = image  # the runtime may read it as long as the module lives
        self._module, self._function = c.c_void_p(), c.c_void_p()
        with OnDevice(device):
            call("hipModuleLoadData", c.byref(self._module), image)
            call("hipModuleGetFunction", c.byref(self._function), self._module, name.encode())

    def launch(
        self,
        grid: int,
        block: tuple[int, int, int],
        arguments: bytes,
        *,
        stream: int = 0,
    ) -> None:
        """Enqueue a launch; ``arguments`` are laid out as the kernel declares them."""
        block_of_arguments = c.create_string_buffer(arguments, len(arguments))
        size = c.c_size_t(len(arguments))
        extra = (c.c_void_p * 5)(
            _POINTER, c.addressof(block_of_arguments), _SIZE, c.addressof(size), _END
        )
        with OnDevice(self.device):
            call(
                "hipModuleLaunchKernel", self._function, grid, 1, 1, *block, 0,
                stream or None, None, extra,
            )  # fmt: skip

    def unload(self) -> None:
        """Give the module back; the kernel cannot be launched afterwards."""
        if self._module:
            call("hipModuleUnload", self._module)
            self._module = c.c_void_p()


class DeviceMemory:
    """Bytes on a device, freed with this object."""

    def __init__(self, size: int, *, device: int = 0) -> None:
        self.size, self.device = size, device
        self._at = c.c_void_p()
        with OnDevice(device):
            call("hipMalloc", c.byref(self._at), max(1, size))

    @property
    def pointer(self) -> int:
        """The address."""
        return self._at.value or 0

    def put(self, data: bytes) -> None:
        """Copy bytes to the device."""
        self._fits(len(data))
        call("hipMemcpy", self._at, c.c_char_p(data), len(data), _TO_DEVICE)

    def get(self) -> bytes:
        """Copy all bytes back; waits for work on the usual stream."""
        data = c.create_string_buffer(max(1, self.size))
        call("hipMemcpy", data, self._at, self.size, _TO_HOST)
        return data.raw[: self.size]

    def _fits(self, size: int) -> None:
        if size > self.size:
            raise BackendError(f"{size} bytes for {self.size} on the device", where="hipMemcpy")

    def free(self) -> None:
        """Give the bytes back."""
        if self._at:
            call("hipFree", self._at)
            self._at = c.c_void_p()

    def __enter__(self) -> DeviceMemory:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


def synchronize(stream: int = 0) -> None:
    """Wait for a stream; errors of earlier kernels surface here."""
    call("hipStreamSynchronize", stream or None)


class Timer:
    """Milliseconds between two points of a stream."""

    def __init__(self) -> None:
        self._events = [c.c_void_p(), c.c_void_p()]
        for event in self._events:
            call("hipEventCreate", c.byref(event))

    def mark(self, which: int, stream: int | None = None) -> None:
        """Record the start (0) or the end (1)."""
        call("hipEventRecord", self._events[which], stream or None)

    def milliseconds(self) -> float:
        """The time between the marks; waits for the second."""
        took = c.c_float()
        call("hipEventSynchronize", self._events[1])
        call("hipEventElapsedTime", c.byref(took), *self._events)
        return took.value
