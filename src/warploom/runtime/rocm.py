"""Kernels on an AMD GPU without torch: memory and launches through HIP, results, times.

``OnChip`` holds the tensors of one launch on a device. What torch would take for the same work
(hipBLASLt for products) is timed beside it where a ROCm build of torch is at hand. Nothing here has
run on an AMD GPU: tests run it against a library with HIP's symbols whose launches are executed
from the machine code on the CPU.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.launch import Param
from warploom.codegen.amdgcn.tile_ir.execute import launch_of, outputs_of
from warploom.codegen.amdgcn.tile_ir.printer import KERNEL_NAME
from warploom.codegen.amdgcn.tile_ir.trial import Case, errors_of, random_case
from warploom.errors import BackendError, ConfigError
from warploom.ir.tile import Access
from warploom.kernels.gemm import gemm
from warploom.runtime import hip
from warploom.runtime.mi355x import CompiledMi355x
from warploom.runtime.tuning import rotated

Call = Callable[[], object]
LARGE = 2048  # of a product that is measured
SLICE_MS = 20.0  # of one turn of a contestant
_FORMS = {"pointer": "<Q", "u64": "<Q", "i64": "<q", "u32": "<I", "i32": "<i", "f32": "<f"}


def why_no_rocm() -> str:
    """Empty where a HIP runtime has a device; else what is missing, in words."""
    try:
        return "" if hip.device_count() else "the HIP runtime sees no device"
    except BackendError as error:
        return error.what


class OnChip:
    """A kernel with its tensors on a device, ready to be launched."""

    def __init__(self, made: CompiledMi355x, case: Case, *, device: int = 0) -> None:
        self.made, self.case, self.device = made, case, device
        self.kernel = hip.HipKernel(made.code_object, KERNEL_NAME, device=device)
        outputs = [t.name for t in made.kernel.tensors if t.access is Access.OUT]
        self.launched = launch_of(
            made.sidecar, case.inputs, case.scalars, sizes=case.sizes,
            initial={n: np.zeros(1) for n in outputs},
        )  # fmt: skip
        self.memory: dict[str, hip.DeviceMemory] = {}
        if self.launched is None:
            raise ConfigError("a launch without tiles", where=made.kernel.name, fix="other sizes")
        for name, data in self.launched.contents.items():
            self.memory[name] = hip.DeviceMemory(data.size, device=device)
        self.fill()

    def fill(self) -> None:
        """Put inputs, and what outputs hold before a launch, on the device."""
        assert self.launched is not None
        for name, data in self.launched.contents.items():
            self.memory[name].put(data.tobytes())

    def launch(self, stream: int = 0) -> None:
        """Enqueue the launch."""
        assert self.launched is not None
        block = bytearray()
        for parameter in self.launched.params:
            form = _FORMS[parameter.kind]
            block += bytes(-len(block) % struct.calcsize(form))
            block += struct.pack(form, self._value(parameter))
        grid, (x, y, z) = self.launched.grid[0], self.launched.block
        self.kernel.launch(grid, (x, y, z), bytes(block), stream=stream)

    def _value(self, parameter: Param) -> int | float:
        if parameter.kind == "pointer":
            return self.memory[parameter.tensor].pointer + parameter.offset
        return float(parameter.value) if parameter.kind == "f32" else int(parameter.value)

    def outputs(self) -> dict[str, NDArray[Any]]:
        """Results by name, after all work on the device."""
        hip.synchronize()
        contents = {n: np.frombuffer(m.get(), np.uint8) for n, m in self.memory.items()}
        return outputs_of(self.made.sidecar, self.case.inputs, self.case.sizes, contents)

    def errors(self) -> list[tuple[float, float]]:
        """Launch once, compare with NumPy: largest error of every output, and what is allowed."""
        self.fill()
        self.launch()
        return errors_of(self.made.simplified, self.made.sidecar, self.case, self.outputs())

    def times(self, others: Mapping[str, Call], *, rounds: int = 5) -> dict[str, float]:
        """Median milliseconds of the kernel and of other calls, their order turning."""
        calls = {"warploom": self.launch, **others}
        timer = hip.Timer()
        found = rotated(list(calls.values()), rounds=rounds, slice_ms=SLICE_MS, timer=timer)
        return dict(zip(calls, found, strict=True))

    def free(self) -> None:
        """Give memory and module back."""
        for held in self.memory.values():
            held.free()
        self.memory.clear()
        self.kernel.unload()

    def __enter__(self) -> OnChip:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement; ``good`` is None where there is no bar to meet."""

    what: str
    unit: str
    ours: float
    torch: float | None
    good: bool | None


def self_benchmark(
    size: int = LARGE, extents: Mapping[str, int] | None = None
) -> tuple[Measured, ...]:
    """A product on the device: whether it is right, and its time beside torch's."""
    without = frozenset({"bias", "residual"})
    kernel = gemm.specialise(gemm.spell("bf16", without), without=without)
    made = CompiledMi355x(kernel, extents or {})
    sizes = dict.fromkeys(("m", "n", "k"), size)
    case = random_case(made.simplified, made.sidecar, sizes)
    torch, others = rocm_torch(), {}
    if torch is not None:
        held = library_tensors(torch, made.simplified.tensors, case)
        others = {"torch": lambda: held["a"] @ held["b"].T}
    with OnChip(made, case) as bound:
        errors = bound.errors()
        times = bound.times(others)
    right = all(e <= allowed for e, allowed in errors)
    worst = max(e for e, _ in errors)
    name = f"gemm {size}^3"
    return (
        Measured(f"{name}, largest error", "", worst, None, right),
        Measured(name, "ms", times["warploom"], times.get("torch"), None),
    )


def rocm_torch() -> Any:  # noqa: ANN401 (a module)
    """A ROCm build of torch that sees a device; None where there is none."""
    try:
        torch = import_module("torch")
    except ImportError:
        return None
    built = getattr(getattr(torch, "version", None), "hip", None)
    return torch if built and torch.cuda.is_available() else None


def library_tensors(torch: Any, kernel: Sequence[Any], case: Case) -> dict[str, Any]:  # noqa: ANN401
    """The inputs of a case as torch tensors on the device; ``kernel``: its tensors."""
    kinds = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "i32": "int32", "i8": "int8"}
    kinds |= {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "bool": "bool"}
    result = {}
    for tensor in kernel:
        if tensor.access is Access.OUT:
            continue
        values = np.ascontiguousarray(case.inputs[tensor.name])
        plain = values.astype(np.float32 if tensor.dtype.is_float else np.int64)
        made = torch.from_numpy(plain).to("cuda")
        result[tensor.name] = made.to(getattr(torch, kinds[tensor.dtype.value]))
    return result
