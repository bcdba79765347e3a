"""A pytest plugin: tests that need a GPU run without one, as far as the kernels they launch.

    WARPLOOM_CACHE=cache WARPLOOM_COMPILER=nvcc \
    python -O -m pytest -p tests.runtime.planned --assert=plain -o addopts= -m gpu tests

Every call plans, schedules, proves and compiles its kernel, and launches nothing, so that a machine
with a GPU that is given the cache compiles nothing (and needs no solver). Tensors of the GPU lie on
the CPU, most are zeros, and what tests compute to compare with has a shape and no memory. Results
mean nothing: asserts are off, and a function of torch that fails gives what it was given. Needs
torch; one without CUDA does.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import torch
from torch.nn.attention import flex_attention
from torch.overrides import TorchFunctionMode

from warploom.compiler import cuda_driver as driver
from warploom.errors import WarploomError
from warploom.runtime import direct, runner, tensors

from .fake_driver import SMS, FakeDriver

NUMBERS = {"item": 0.0, "__float__": 0.0, "__bool__": False, "__int__": 0, "__index__": 0}
ZEROS = {torch.randn: torch.zeros, torch.rand: torch.zeros}
LARGE = ("double", "matmul", "__matmul__", "scaled_dot_product_attention")
FAILED: list[str] = []


def no_memory(t):
    """A tensor that repeats one element: what a test computes to compare with."""
    return isinstance(t, torch.Tensor) and t.numel() > 1 and not any(t.stride())


def mapped(value, change):
    if isinstance(value, tuple | list):
        return type(value)([mapped(v, change) for v in value])
    return change(value)


def on_cpu(value):
    """Devices and their names."""
    if isinstance(value, torch.device) or (isinstance(value, str) and value.startswith("cuda")):
        return torch.device("cpu")
    return value


def as_meta(value):
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def from_meta(value):
    """Wide results and answers have no memory; others may be given to a kernel."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.dtype in (torch.float64, torch.bool):
        return torch.zeros((), dtype=value.dtype).expand(value.shape)
    return torch.zeros(value.shape, dtype=value.dtype)


class Pretend(TorchFunctionMode):
    """Functions of torch, with the CPU for the GPU."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        args, kwargs = mapped(args, on_cpu), {n: on_cpu(v) for n, v in (kwargs or {}).items()}
        func = ZEROS.get(func, func)
        try:
            if name in ("cuda", "requires_grad_") and no_memory(args[0]):
                return args[0]
            if name == "cuda":
                return args[0]
            wide = name in LARGE and args[0].dtype != torch.int32
            if wide or any(map(no_memory, args)):
                if name in NUMBERS:
                    return NUMBERS[name]
                done = func(*mapped(args, as_meta), **{n: as_meta(v) for n, v in kwargs.items()})
                return mapped(done, from_meta)
            return func(*args, **kwargs)
        except WarploomError:
            raise
        except Exception:
            given = [a for a in args if isinstance(a, torch.Tensor)]
            return NUMBERS.get(name, given[0] if given else torch.zeros(()))


class Planned:
    """A plan that launches nothing."""

    work_bytes, grid, words = 0, 1, ()

    def __call__(self, stream, *values):
        pass

    def launch(self, stream, values):
        pass


def view(tensor, name):
    kind = tensors._TORCH.get(str(tensor.dtype).removeprefix("torch."))
    if kind is None:
        raise tensors._dtype_error(name, str(tensor.dtype))
    layout = tensors.Layout(tuple(tensor.shape), tuple(tensor.stride()), kind, 0)
    return tensors.TensorView(0, layout, tensor)


def gradients(outputs, inputs, *args, grad=torch.autograd.grad, **more):
    """Those of kernels are launched; those of what has no memory are none."""
    try:
        return grad(outputs, inputs, *args, **more)
    except WarploomError:
        raise
    except RuntimeError:
        return tuple(torch.zeros_like(x) for x in inputs)


def blocks(mask, *sizes, made=flex_attention.create_block_mask, device=None, **more):
    """Masks are mapped over positions by transforms of their own."""
    with torch._C.DisableTorchFunction():
        return made(mask, *sizes, device="cpu", **more)


def for_all(impl):
    """What an op does on a GPU, it does on the CPU."""

    @functools.wraps(impl)
    def both(library, name, fn, key="", **more):
        if key == "CPU":
            return
        impl(library, name, fn, key, **more)
        if key == "CUDA":
            impl(library, name, fn, "CPU", **more)

    return both


def pretend():
    driver.bindings = lambda part="driver": FakeDriver()
    runner.prepare = direct.prepare = lambda binary, layouts: Planned()
    tensors._from_torch, tensors._torch_stream = view, lambda device: lambda: 0
    torch.Tensor.is_cuda = property(lambda t: True)
    torch.Tensor.get_device = lambda t: 0
    torch.library.Library.impl = for_all(torch.library.Library.impl)
    torch.library.opcheck = lambda op, args, kwargs=None, **more: op(*args, **(kwargs or {}))
    torch.compile = lambda fn=None, **more: fn if fn is not None else lambda f: f
    torch.autograd.grad, flex_attention.create_block_mask = gradients, blocks
    torch.testing.assert_close = lambda *args, **more: None
    for name in ("Stream", "ExternalStream", "stream", "device", "synchronize", "graph", "Event"):
        setattr(torch.cuda, name, MagicMock())
    torch.cuda.CUDAGraph = torch.cuda.current_stream = torch.cuda.default_stream = MagicMock()
    torch.cuda.Event.return_value.elapsed_time.return_value = 1.0
    torch.cuda.is_available = lambda: True
    torch.cuda.get_device_capability = lambda device=None: (9, 0)
    torch.cuda.get_device_name = lambda device=None: "none"
    torch.cuda.get_device_properties = lambda device=None: SimpleNamespace(
        multi_processor_count=SMS, total_memory=1 << 37
    )
    torch.cuda.empty_cache = lambda: None


pretend()


@pytest.fixture(autouse=True)
def _planned():
    with Pretend():
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    done = yield
    if call.when == "call" and call.excinfo is not None:
        FAILED.append(f"{item.nodeid}: {call.excinfo.typename}: {str(call.excinfo.value)[:300]}")
    return done


def pytest_terminal_summary(terminalreporter):
    for line in FAILED:
        terminalreporter.write_line(f"NOT PLANNED WHOLE {line}")
