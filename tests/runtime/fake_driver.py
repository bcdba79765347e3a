"""A driver that launches nothing: it keeps what it was given, as the real one would read it."""

from __future__ import annotations

import ctypes
import struct
import threading
from types import SimpleNamespace

SUCCESS = 0
NO_CONTEXT = 201
SMS = 132


class TensorMap:
    """128 bytes, own or at an address."""

    def __init__(self, _ptr=0):
        self._own = None if _ptr else ctypes.create_string_buffer(128)
        self._at = _ptr or ctypes.addressof(self._own)

    def getPtr(self):
        return self._at


class Word(int):
    """``cuuint64_t`` and its like."""


class Names:
    """An enumeration in which a name is its own value."""

    def __init__(self, called=False):
        self._called = called

    def __getattr__(self, name):
        return name

    def __call__(self, value):
        return value


class LaunchConfig(SimpleNamespace):
    """Known by its address, which is none."""

    def getPtr(self):
        return id(self)


class Launch(SimpleNamespace):
    """One launch: grid, threads, stream, the thread's context, and the parameters' bytes."""


class FakeDriver:
    """The functions of ``cuda.bindings.driver`` that the launch layer calls."""

    CUtensorMap = TensorMap
    cuuint64_t = cuuint32_t = Word

    def __init__(self, *, parameters=(), devices=1, cluster=0, secret=False):
        self.secret = secret
        self.parameters = parameters  # sizes of the kernel's parameters, which launches keep
        self.devices, self.cluster = devices, cluster
        self.launches, self.encoded, self.replaced, self.loaded = [], [], [], []
        self.lock, self.local = threading.Lock(), threading.local()
        self.CUfunction_attribute = self.CUdevice_attribute = Names()
        self.CUtensorMapDataType = self.CUtensorMapInterleave = Names()
        self.CUtensorMapSwizzle = self.CUtensorMapL2promotion = Names()
        self.CUtensorMapFloatOOBfill = self.CUlaunchAttributeID = Names()
        self.CUstreamCaptureMode = self.CUstream_flags = Names()
        self.capture_mode = "CU_STREAM_CAPTURE_MODE_GLOBAL"
        self.memory = {}  # by address
        self.configs, self.functions = {}, {}  # by what stands for their addresses
        self.launch_at = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_size_t] * 4)(self.launched)

    @property
    def context(self):
        return getattr(self.local, "stack", [0])[-1]

    def cuInit(self, flags):
        return (SUCCESS,)

    def cuGetErrorString(self, code):
        return SUCCESS, b"said the driver"

    def cuDeviceGet(self, device):
        return SUCCESS, device

    def cuDeviceGetCount(self):
        return SUCCESS, self.devices

    def cuDevicePrimaryCtxRetain(self, device):
        return SUCCESS, 1000 + device

    def cuCtxGetCurrent(self):
        return SUCCESS, self.context

    def cuCtxSetCurrent(self, context):
        self.local.stack = [*getattr(self.local, "stack", [0])[:-1], context]
        return (SUCCESS,)

    def cuCtxPushCurrent(self, context):
        self.local.stack = [*getattr(self.local, "stack", [0]), context]
        return (SUCCESS,)

    def cuCtxPopCurrent(self):
        top = self.local.stack[-1]
        self.local.stack = self.local.stack[:-1]
        return SUCCESS, top

    def cuDeviceGetAttribute(self, which, device):
        values = {"MAJOR": 9, "MINOR": 0, "COUNT": SMS}
        return SUCCESS, values[which.rpartition("_")[2]]

    def cuModuleLoadData(self, data):
        self.loaded.append((self.context, data))
        return SUCCESS, len(self.loaded)

    def cuModuleGetFunction(self, module, name):
        made = 0x1000 + len(self.functions)
        self.functions[made] = module, name
        return SUCCESS, made

    def cuFuncSetAttribute(self, function, which, value):
        return (SUCCESS,)

    def cuFuncGetAttribute(self, which, function):
        return SUCCESS, self.cluster

    def cuOccupancyMaxActiveClusters(self, function, config):
        return SUCCESS, SMS // 2 - 1

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function, threads, shared):
        return SUCCESS, 3

    def CUlaunchConfig(self):
        made = LaunchConfig(hStream=0, attrs=[])
        self.configs[made.getPtr()] = made
        return made

    def CUresult(self, code):
        return code

    def cuGetProcAddress(self, symbol, version, flags):
        assert symbol == b"cuLaunchKernelEx"
        return SUCCESS, ctypes.cast(self.launch_at, ctypes.c_void_p).value, SUCCESS

    def launched(self, config, function, block, extra):
        assert not extra
        return self.cuLaunchKernelEx(self.configs[config], self.functions[function], block, 0)[0]

    def CUlaunchAttribute(self):
        return SimpleNamespace(id=None, value=SimpleNamespace(clusterDim=SimpleNamespace()))

    def cuTensorMapEncodeTiled(self, *arguments):
        if not self.context:
            return NO_CONTEXT, None
        made = TensorMap()
        self.encoded.append(arguments)
        ctypes.memmove(made.getPtr(), struct.pack("QQ", arguments[2], len(self.encoded)), 16)
        return SUCCESS, made

    def cuTensorMapReplaceAddress(self, held, address):
        assert held.getPtr() % 64 == 0
        if not self.context:
            return (NO_CONTEXT,)
        self.replaced.append(address)
        ctypes.memmove(held.getPtr(), struct.pack("Q", address), 8)
        if self.secret:  # a word beside the address that only the driver knows
            ctypes.memmove(held.getPtr() + 16, struct.pack("Q", address // 16), 8)
        return (SUCCESS,)

    def cuThreadExchangeStreamCaptureMode(self, mode):
        before, self.capture_mode = self.capture_mode, mode
        return SUCCESS, before

    def cuMemAlloc(self, size):
        assert self.capture_mode.endswith("RELAXED")
        self.memory[address := 0x70000 + 0x1000 * len(self.memory)] = None
        return SUCCESS, address

    def cuStreamCreate(self, flags):
        return SUCCESS, flags

    def cuStreamSynchronize(self, stream):
        return (SUCCESS,)

    def cuStreamDestroy(self, stream):
        return (SUCCESS,)

    def cuMemcpyHtoDAsync(self, address, data, size, stream):
        assert stream.endswith("NON_BLOCKING")
        self.memory[address] = bytes(data[:size])
        return (SUCCESS,)

    def cuLaunchKernelEx(self, config, function, block, extra):
        if not self.context:
            return (NO_CONTEXT,)
        at = (ctypes.c_uint64 * len(self.parameters)).from_address(block)
        read = [ctypes.string_at(a, n) for a, n in zip(at, self.parameters, strict=True)]
        widths = [a.value.clusterDim.x for a in config.attrs if "CLUSTER" in a.id]
        made = Launch(
            function=function,
            cubin=self.loaded[function[0] - 1][1],
            grid=config.gridDimX,
            threads=config.blockDimX,
            stream=config.hStream,
            context=self.context,
            cluster=widths[0] if widths else 1,
            early=any(a.id.endswith("PROGRAMMATIC_STREAM_SERIALIZATION") for a in config.attrs),
            parameters=read,
        )
        with self.lock:
            self.launches.append(made)
        return (SUCCESS,)


def clear_caches():
    """Forget what was learnt from another driver or compiler."""
    from warploom.compiler import cuda_driver as driver
    from warploom.runtime import kernel_calls as texts, launch_cache, plan
    from warploom.runtime.attention import CALLS, PACKED
    from warploom.runtime.gemm import CALLS as GEMM

    for cached in (
        driver.library,
        driver.context_of,
        driver.device_count,
        driver.launcher,
        driver.require_hopper,
        driver.resident,
        plan._load,
        texts._compiled,
        launch_cache.launchable,
    ):
        cached.cache_clear()
    for calls in (GEMM, CALLS, PACKED):
        calls.forget()


def install(monkeypatch, **options):
    """A fresh fake driver in place of the real one; the thread has a context."""
    from warploom.compiler import cuda_driver as driver

    fake = FakeDriver(**options)
    clear_caches()
    monkeypatch.setattr(driver, "bindings", lambda part="driver": fake)
    driver.ensure_context(0)
    return fake


def fake_compiler(monkeypatch):
    """Cubins are the kernels' names and configs, so that launches say what they run."""
    from warploom.compiler import compiled
    from warploom.compiler.cubin import Cubin, read_log

    def compile_source(source, *, name="kernel", **_):
        return Cubin(data=name.encode(), toolchain="none", report=read_log(""))

    monkeypatch.setattr(compiled, "compile_source", compile_source)


class FakeTensor:
    """Looks like a torch tensor on a GPU; has no memory."""

    class device:  # noqa: N801
        type = "cuda"
        index = 0

    def __init__(self, shape, dtype="torch.bfloat16", strides=None, pointer=4096):
        self.shape, self.dtype, self.pointer = shape, dtype, pointer
        steps, step = [], 1
        for n in reversed(shape):
            steps.append(step)
            step *= n
        self.strides = strides or tuple(reversed(steps))

    def get_device(self):
        return self.device.index

    def data_ptr(self):
        return self.pointer

    def stride(self):
        return self.strides
