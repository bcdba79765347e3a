"""Kernels of two products on gfx950: emitted, compiled, gated, described, tried in the emulator.

text = attention_tile_kernel(kernel)
tile = attention_tile(text)
made = emit_attention(attention_schedule(text, tile).document, tile, text)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.codegen.amdgcn.attention.lower import attention_ir
from warploom.codegen.amdgcn.attention.ops import held_registers, require_registers
from warploom.codegen.amdgcn.attention.plan import (
    AttentionPlan,
    AttentionShape,
    attention_plan,
    attention_tile,
)
from warploom.codegen.amdgcn.attention.schedule import AttentionSchedule, attention_schedule
from warploom.codegen.amdgcn.attention.tile_kernel import AttentionTileKernel, attention_tile_kernel
from warploom.codegen.amdgcn.emit import EmittedKernel, compiled
from warploom.codegen.amdgcn.emulator import Floats, Order, Timing, emulate_launch, encode
from warploom.codegen.amdgcn.isa import Resources
from warploom.codegen.amdgcn.plan import argument_name
from warploom.codegen.amdgcn.sidecar import described
from warploom.codegen.amdgcn.tile import GemmTile
from warploom.errors import ConfigError, SchedulingError
from warploom.ir import ScheduleDocument
from warploom.ir.tile import Access, DType, Kernel
from warploom.modulo import ModuloOptions

# Registers of 256 for values and how to solve, in the order of attempts. The heuristic is quick and
# knows of no registers while it places; the exact solver does, within some work.
EXACT = ModuloOptions(goals=(), work=8.0, prove_work=20.0)
ATTEMPTS = ((None, None), (224, EXACT), (240, None), (224, None))


def emit_attention(
    document: ScheduleDocument, tile: GemmTile, text: AttentionTileKernel, *, insist: bool = True
) -> EmittedKernel[AttentionPlan]:
    """Emit, compile and check. ``insist=False`` returns a kernel that fails the gate, too."""
    plan = attention_plan(document, tile, text)
    return compiled(plan, attention_ir, _sidecar, require_registers if insist else None)


def fit_attention(
    text: AttentionTileKernel, tile: GemmTile
) -> tuple[AttentionSchedule, EmittedKernel[AttentionPlan]]:
    """Schedule and emit; where the code does not fit, again with fewer registers for values.

    How many registers addresses, copies and temporaries take only the compiler knows, so its truth
    goes back into the scheduler's budget.
    """
    fitting: list[tuple[AttentionSchedule, EmittedKernel[AttentionPlan]]] = []
    for budget, options in ATTEMPTS:
        try:
            schedule = attention_schedule(text, tile, registers=budget, options=options)
        except SchedulingError:
            continue  # too few, or too hard for the search
        made = emit_attention(schedule.document, tile, text, insist=False)
        held = held_registers(made.plan, made.gate.resources)
        if made.gate.resources.spills == 0 and made.gate.exact:
            fitting.append((schedule, made))
            if held.real <= held.budget:
                return schedule, made
    if not fitting:
        require_registers(made.plan, made.gate.resources)
        made.gate.require()
    return fitting[0]


def _sidecar(plan: AttentionPlan, resources: Resources, versions: dict[str, str]) -> dict[str, Any]:
    text, kernel, rows = plan.text, plan.text.kernel, plan.tile.block_n
    outputs = ", ".join(f"{s.tensor} {kernel.tensor(s.tensor).dtype}" for s in text.stores)
    axes = [kernel.var(v).axis for v in plan.units]
    grid = [f"ceil({kernel.var(text.row).axis} / {rows})", *axes, *["1"] * (2 - len(axes))]
    return described(plan.document, plan.tile, plan.arguments, resources, versions) | {
        "kernel": plan.name,
        "computes": f"{kernel.name} of {text.q.tensor}, {text.k.tensor}, {text.v.tensor}: "
        f"{outputs}, dense, rows of {text.width}",
        "grid": {
            "formula": f"[{', '.join(grid)}]",
            "rows_per_block": rows,
            "row_axis": kernel.var(text.row).axis,
            "unit_axes": axes,
        },
    }


_ELEMENTS = {DType.BF16: "bf16", DType.F16: "fp16"}
_ROUNDING = {DType.BF16: 2.0**-8, DType.F16: 2.0**-11, DType.F32: 2.0**-20}
FILL = 0x7F  # a number no kernel computes, in every type


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Results of one emulated launch, and how far they are from the meaning of the text."""

    results: dict[str, Floats]
    error: float
    allowed: float

    @property
    def right(self) -> bool:
        """Within the rounding of weights and results."""
        return self.error <= self.allowed


def try_kernel(
    kernel: Kernel,
    assembly: str,
    sidecar: Mapping[str, Any],
    sizes: Mapping[str, int],
    scalars: Mapping[str, float],
    *,
    timing: Timing,
    order: Order = Order.FORWARD,
    seed: int = 0,
) -> Trial:
    """Run a kernel on random tensors of the given axes' sizes and compare with NumPy."""
    rng = np.random.default_rng(seed)
    inputs, tensors = [], {}
    known = dict(sizes) | {a.name: a.size for t in kernel.tensors for a in t.axes if a.size}
    missing = {a.name for t in kernel.tensors for a in t.axes} - set(known)
    if missing:
        raise ConfigError(f"no size of axis {', '.join(sorted(missing))}", where="sizes")
    shapes = {t.name: tuple(known[a.name] for a in t.axes) for t in kernel.tensors}
    for tensor in kernel.tensors:
        if tensor.access is Access.IN:
            values = rng.standard_normal(shapes[tensor.name]).astype(np.float32)
            data, rounded = encode(values, _ELEMENTS[tensor.dtype])
            inputs.append(rounded)
            tensors[argument_name(tensor.name)] = data.ravel()
        else:
            size = prod(shapes[tensor.name]) * tensor.dtype.bits // 8
            tensors[argument_name(tensor.name)] = np.full(size, FILL, np.uint8)
    numbers: dict[str, int | float] = {}
    kinds = {a["name"]: a["kind"] for a in sidecar["arguments"]}
    for name, value in scalars.items():
        label = argument_name(name, scalar=True)
        numbers[label] = int(value) if kinds.get(label) == "i32" else float(value)
    asked = [n for n, kind in kinds.items() if kind == "i32" and n not in numbers]
    numbers |= {name: known[name[4:]] for name in asked}
    after = emulate_launch(
        assembly, tensors, numbers, grid=launch_grid(sidecar, known), timing=timing, order=order
    )
    want = kernel.reference(*inputs, **scalars)
    outputs = [t for t in kernel.tensors if t.access is not Access.IN]
    results, worst, allowed = {}, 0.0, 0.0
    for tensor, expected in zip(outputs, want if len(outputs) > 1 else (want,), strict=True):
        got = _loaded(after[argument_name(tensor.name)], tensor.dtype, shapes[tensor.name])
        results[tensor.name] = got
        weights = _ROUNDING[DType(kernel.tensors[0].dtype)] if got.ndim == len(sizes) - 1 else 0.0
        bound = (2 * _ROUNDING[tensor.dtype] + weights) * max(1.0, _largest(expected))
        error = _difference(got, np.asarray(expected, np.float64))
        if error / bound >= worst / (allowed or 1.0):
            worst, allowed = error, bound
    return Trial(results=results, error=worst, allowed=allowed)


def launch_grid(sidecar: Mapping[str, Any], sizes: Mapping[str, int]) -> tuple[int, int, int]:
    """The grid for given sizes of the axes."""
    grid = sidecar["grid"]
    units = [sizes[a] for a in grid["unit_axes"]]
    first = -(-sizes[grid["row_axis"]] // grid["rows_per_block"])
    second, third = (*units, 1, 1)[:2]
    return first, second, third


def _loaded(data: NDArray[np.uint8], dtype: DType, shape: tuple[int, ...]) -> Floats:
    if dtype is DType.F32:
        return data.view(np.float32).reshape(shape)
    if dtype is DType.F16:
        return data.view(np.float16).astype(np.float32).reshape(shape)
    return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)


def _largest(values: NDArray[np.floating]) -> float:
    finite = np.abs(np.asarray(values, np.float64))
    finite = finite[np.isfinite(finite)]
    return float(finite.max()) if finite.size else 1.0


def _difference(got: Floats, want: NDArray[np.float64]) -> float:
    """The largest difference; infinities must stand where they are wanted."""
    same = got.astype(np.float64) == want
    with np.errstate(invalid="ignore"):
        apart = np.abs(got.astype(np.float64) - want)
    return float(np.where(same, 0.0, np.where(np.isfinite(apart), apart, np.inf)).max())
