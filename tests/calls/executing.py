"""A driver that executes launches: emitted CUDA, compiled for the host, on tensors of the CPU.

Everything between a public call and its result is the project's own: plans, tensor maps, argument
blocks, and the kernel. Only ``ptxas`` and the GPU are missing. The driver refuses tensor maps that
the real one refuses, runs CTAs in an order of its own, and memory that a call allocates is NaN.
Tensors are torch's, or those of ``arrays`` where there is no torch.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import struct
import sys
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np

from tests import host_cuda
from tests.calls import arrays
from tests.runtime import fake_driver
from warploom.compiler import compiled, cuda_driver as driver
from warploom.compiler.cubin import Cubin, read_log
from warploom.compiler.layout import Layout
from warploom.runtime import (
    attention,
    attention_grad,
    flexible,
    fused,
    gemm,
    kernel_calls as texts,
    plan,
    realign as fit,
    runner,
    tensors,
    workspace as work,
)
from warploom.runtime.kernel_calls import Calls

ELEMENTS = {"FLOAT32": (0, 4), "BFLOAT16": (1, 2), "FLOAT16": (2, 2), "UINT8": (3, 1)}
ELEMENTS |= {"INT32": (4, 4)}
SPANS = {0: 0, 1: 32, 2: 64, 3: 128}  # bytes, by the driver's number of a swizzle
FAULT, INVALID = 719, 1
NAN = float("nan")
SOURCES: dict[bytes, str] = {}


def compile_source(source, *, name="kernel", **_):
    """In place of a compiler: the text is found again by what stands for the cubin."""
    key = hashlib.sha256(source.encode()).hexdigest().encode()
    SOURCES[key] = source
    return Cubin(data=key, toolchain="none", report=read_log(""))


class ExecutingDriver(fake_driver.FakeDriver):
    """``seed``: of the timing inside CTAs, and of their order."""

    def __init__(self, sms, seed):
        super().__init__()
        self.sms, self.seed = sms, seed
        self.fault, self.refused, self.kernels = "", [], []

    def cuGetErrorString(self, code):
        return 0, (self.fault or "; ".join(self.refused) or "refused").encode()

    def cuDeviceGetAttribute(self, which, device):
        return 0, {"MAJOR": 9, "MINOR": 0, "COUNT": self.sms}[which.rpartition("_")[2]]

    def cuOccupancyMaxActiveClusters(self, function, config):
        return 0, max(1, self.sms // 2)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, *_):
        return 0, 1

    def _source(self, module):
        return SOURCES[self.loaded[module - 1][1]]

    def cuFuncGetAttribute(self, which, function):
        return 0, _cluster(self._source(self.functions[int(function)][0]))

    def cuTensorMapEncodeTiled(
        self, kind, rank, address, shape, strides, box, steps, interleave, swizzle, *_
    ):
        element, size = ELEMENTS[kind.rpartition("TYPE_")[2]]
        shape, strides, box = ([int(n) for n in x] for x in (shape, strides, box))
        span, inner = SPANS[int(swizzle)], box[0] * size
        wrong = [
            f"address {address:#x}" if address % 16 or address < 0 else "",
            f"rank {rank}" if not 1 <= rank <= 5 else "",
            *(f"stride {s}" for s in strides[: rank - 1] if s % 16 or not 0 <= s < 1 << 40),
            *(f"size {n}" for n in shape if not 0 < n <= 1 << 32),
            *(f"box {n}" for n in box if not 0 < n <= 256),
            f"{inner} bytes of a box, swizzled by {span}"
            if inner % 16 or (span and inner > span)
            else "",
        ]
        self.refused = [w for w in wrong if w]
        if self.refused:
            return INVALID, None

        def five(numbers, rest):
            return (*numbers, *[rest] * (5 - len(numbers)))

        sizes = five([min(n, (1 << 31) - 1) for n in shape], 1)
        steps = five((size, *strides[: rank - 1]), 0)
        words = (address, rank, element, *sizes, *five(box, 1), span, 0, *steps)
        made = fake_driver.TensorMap()
        ctypes.memmove(made.getPtr(), struct.pack("<Qii5i5iii5q", *words).ljust(128, b"\0"), 128)
        return 0, made

    def cuTensorMapReplaceAddress(self, held, address):
        ctypes.memmove(held.getPtr(), struct.pack("Q", address), 8)
        return (0,)

    def cuMemAlloc(self, size):
        held = ctypes.create_string_buffer(size + 256)
        at = ctypes.addressof(held)
        at += -at % 256
        self.memory[at] = held
        return 0, at

    def cuMemFree(self, address):
        return (0,)

    def cuMemsetD8Async(self, address, value, size, stream):
        ctypes.memset(int(address), value, size)
        return (0,)

    def cuMemcpyHtoDAsync(self, address, data, size, stream):
        ctypes.memmove(address, bytes(data[:size]), size)
        return (0,)

    def cuStreamIsCapturing(self, stream):
        return 0, 0

    def cuLaunchKernelEx(self, config, function, block, extra):
        module, entry = function
        text, entry = self._source(module), entry.decode()
        widths = [a.value.clusterDim.x for a in config.attrs if "CLUSTER" in a.id]
        cluster = _cluster(text) or (widths[0] if widths else 1)
        wait = any("COOPERATIVE" in a.id for a in config.attrs)
        table = ctypes.cast(ctypes.c_void_p(block), ctypes.POINTER(ctypes.c_void_p))
        library = host_cuda.built(text, entry)
        host_cuda.shuffle(self.seed)
        host_cuda.together(config.gridDimX if wait else self.seed % (self.sms + 1))
        given = (config.gridDimX, config.blockDimX, config.sharedMemBytes, cluster, self.seed)
        said = host_cuda.host_run(library, table, *given)
        self.kernels.append(entry)
        self.fault = said.decode() if said else ""
        return (FAULT if said else 0,)


def _cluster(text):
    found = re.search(r"__cluster_dims__\((\d+)", text)
    return int(found[1]) if found else 0


def view(tensor, name):
    """A tensor of the CPU, taken for one of the GPU; torch's, or one of ``arrays``."""
    dtype = tensors._TORCH.get(str(tensor.dtype).removeprefix("torch."))
    if dtype is None:
        raise tensors._dtype_error(name, str(tensor.dtype))
    layout = Layout(tuple(tensor.shape), tuple(tensor.stride()), dtype, 0)
    return tensors.TensorView(tensor.data_ptr(), layout, tensor)


def poisoned(like, shape, dtype):
    """Memory that is handed out holds NaN, and integers that are no index."""
    if isinstance(like, arrays.Tensor):
        return lambda: arrays.empty(shape, tensors.torch_name(dtype))
    make = _allocator(like, shape, dtype)

    def made():
        return spoil(make())

    return made


_allocator = tensors.allocator


def piece(place, device, stream, size, **_):
    """Memory for a launch: NaN, but for its counters."""
    held = np.full(size + 256, 0xFF, np.uint8)
    at = held.ctypes.data
    skipped = -at % 256
    held[skipped : skipped + work.COUNTER_BYTES] = 0
    return at + skipped, held


def spoil(tensor):
    """NaN everywhere; of integers the least number."""
    torch = sys.modules["torch"]
    if tensor.dtype.is_floating_point:
        if tensor.element_size() == 1:
            tensor.view(torch.uint8).fill_(0x7F)
        else:
            tensor.fill_(NAN)
    else:
        tensor.fill_(torch.iinfo(tensor.dtype).min)
    return tensor


def every_call():
    """All calls of texts that modules of the project hold."""
    modules = (attention, attention_grad, fused, gemm)
    own = [x for module in modules for x in vars(module).values() if isinstance(x, Calls)]
    return [*own, *flexible._CALLS.values(), *texts._CALLS.values()]


@contextmanager
def executing(sms=4, seed=1):
    """Calls inside are executed by a driver on the CPU, which is given."""
    made = ExecutingDriver(sms, seed)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    with ExitStack() as stack:

        def replaced(module, name, by):
            stack.enter_context(mock.patch.object(module, name, by))

        replaced(compiled, "compile_source", compile_source)
        replaced(driver, "bindings", lambda part="driver": made)
        replaced(tensors, "_from_torch", view)
        for module in (runner, fit, fused, attention_grad):
            replaced(module, "allocator", poisoned)
        replaced(work, "_torch_piece", piece)
        forget()
        driver.ensure_context(0)
        try:
            yield made
        finally:
            forget()


def forget():
    """What was learnt from another driver."""
    fake_driver.clear_caches()
    for calls in every_call():
        calls.forget()
    plan._load.cache_clear()
    work._KEPT.clear()
