"""``random_case`` and ``compare``: a compiled kernel on random inputs beside its NumPy meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.codegen.amdgcn.tile_ir.execute import execute
from warploom.errors import ConfigError
from warploom.frontend.pointwise import rounded
from warploom.ir import tile as ir
from warploom.ir.tile import Access, DType, Kernel, Walk, results, walk

# What rounding and the hardware's functions allow, relative to the largest result; and what values
# that are rounded on the way allow, since one at a tie may fall to either side.
ALLOWED = {"f32": 2e-5, "bf16": 1.2e-2, "f16": 2e-3, "e4m3": 0.08, "e5m2": 0.16}
INNER = {"bf16": 2e-3, "f16": 2.5e-4, "e4m3": 2e-2, "e5m2": 4e-2}
SCALE = 0.4
ODD_STEP = 8  # elements of a last step
PADDING = (3, 16)  # elements between rows: odd ones, and whole runs of 16 bytes of every type
NUMBER = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Inputs by name, scalars, and the size of every axis."""

    inputs: dict[str, NDArray[Any]]
    scalars: dict[str, float]
    sizes: dict[str, int]


def random_case(
    kernel: Kernel, sidecar: Mapping[str, Any], sizes: Mapping[str, int], seed: int = 0
) -> Case:
    """Inputs for a kernel: one element more than a tile along every axis that is not said; along
    those of pipelined loops enough for all of their phases, and some that are left over.
    """
    lengths = trial_sizes(kernel, sidecar, sizes)
    rng = np.random.default_rng(seed)
    found = {}
    indexed = _indexed(kernel)
    for tensor in kernel.tensors:
        if tensor.access is Access.OUT:
            continue
        shape = [-(-lengths[a.name] // a.per) for a in tensor.axes]
        if tensor.access is Access.STARTS:
            rows = _grouped_axis(kernel)
            most = lengths.get(_offsets_of(kernel, tensor.name) or rows, 0)
            found[tensor.name] = np.sort(rng.integers(0, most + 1, shape[0] + 1))
            found[tensor.name][[0, -1]] = 0, most
        elif tensor.dtype.is_float:
            values = rng.normal(scale=SCALE, size=shape)
            found[tensor.name] = rounded(values, tensor.dtype)
        elif tensor.dtype is DType.I8:
            found[tensor.name] = rng.integers(-128, 128, shape)
        else:
            found[tensor.name] = rng.integers(0, max(1, indexed.get(tensor.name, 4)), shape)
    scalars = {p.name: NUMBER if p.dtype.is_float else 1 for p in kernel.parameters}
    return Case(inputs=found, scalars=scalars, sizes=dict(lengths))


def _grouped_axis(kernel: Kernel) -> str:
    """The axis whose rows the groups of a grid share: the first that is cut into tiles."""
    walked = [kernel.var(v) for v in kernel.grid.vars if kernel.grid.kind == "groups"]
    return next((v.axis for v in walked if v.walk is Walk.TILE), "")


def _offsets_of(kernel: Kernel, name: str) -> str | None:
    """The axis whose steps offsets bound, where they bound a loop."""
    made = {v.name: op for op in walk(kernel.ops) for v in results(op)}
    for op in walk(kernel.ops):
        if isinstance(op, ir.Loop):
            bound = made.get(op.until or "")
            if isinstance(bound, ir.Load) and bound.tensor == name:
                return kernel.var(op.var).axis
    return None


def _indexed(kernel: Kernel) -> dict[str, int]:
    """Tensors of numbers that count tiles: as many as there are at most."""
    result = {}
    for op in walk(kernel.ops):
        if isinstance(op, ir.Loop):
            for tiles in op.lists:
                result[tiles.counts] = 2
    return result


def trial_sizes(
    kernel: Kernel, sidecar: Mapping[str, Any], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Sizes with ragged ends and enough steps for every phase of pipelined loops."""
    axes = {a.name for t in kernel.tensors for a in t.axes} | {v.axis for v in kernel.vars}
    unknown = set(sizes) - axes
    fixed: dict[str, int] = dict(sidecar["fixed_sizes"])
    if unknown or any(fixed.get(n, s) != s for n, s in sizes.items()):
        name = min(unknown or (n for n, s in sizes.items() if fixed.get(n, s) != s))
        raise ConfigError(
            f"size {name}={sizes[name]}",
            where=kernel.name,
            fix=f"its axes are {', '.join(sorted(axes - set(fixed)))}"
            + (f"; it was made for {fixed}" if fixed else ""),
        )
    extents = {kernel.var(n).axis: e for n, e in sidecar["extents"].items()}
    usual = {a: extents[a] + 1 if a in extents else 2 for a in sorted(axes)}
    for loop in sidecar.get("loops", ()):
        step = extents.get(loop["axis"], 1)  # 1: what the loop walks is a number, as of a chunk
        usual[loop["axis"]] = loop["steps"] * step + (ODD_STEP if step > 1 else 0)
    return usual | fixed | dict(sizes)


def compare(
    kernel: Kernel,
    assembly: str,
    sidecar: Mapping[str, Any],
    case: Case,
    *,
    order: str = "forward",
    padding: int = 3,
) -> list[tuple[float, float]]:
    """Execute and compare: the largest error of every output, and what is allowed."""
    outputs = [t for t in kernel.tensors if t.access is Access.OUT]
    done = execute(
        assembly, sidecar, case.inputs, case.scalars, sizes=case.sizes, order=order,
        padding=padding, initial={t.name: np.zeros(1) for t in outputs},
    )  # fmt: skip
    return errors_of(kernel, sidecar, case, done.outputs)


def errors_of(
    kernel: Kernel, sidecar: Mapping[str, Any], case: Case, found: Mapping[str, NDArray[Any]]
) -> list[tuple[float, float]]:
    """The largest error of every output against NumPy, and what is allowed."""
    outputs = [t for t in kernel.tensors if t.access is Access.OUT]
    given = [t for t in kernel.tensors if t.access is not Access.OUT]
    with np.errstate(all="ignore"):
        wanted = kernel.reference(
            *(case.inputs[t.name] for t in given),
            exact=False,
            extents=dict(sidecar["extents"]),
            sizes=case.sizes,
            **case.scalars,
        )
    wanted = wanted if len(outputs) > 1 else (wanted,)
    return [
        error_of(found[t.name], want, max(ALLOWED.get(t.dtype.value, 0.0), inner_error(kernel)))
        for t, want in zip(outputs, wanted, strict=True)
    ]


def inner_error(kernel: Kernel) -> float:
    """What values rounded on the way allow."""
    kinds = [
        v.dtype for op in walk(kernel.ops) if isinstance(op, ir.Pointwise) for v in results(op)
    ]
    return max((INNER.get(kind.value, 0.0) for kind in kinds), default=0.0)


def error_of(got: NDArray[Any], want: Any, allowed: float) -> tuple[float, float]:  # noqa: ANN401
    """The largest difference, and what is allowed of it."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(got - want))
    apart = np.where(np.isnan(apart), np.inf, apart)
    largest = np.abs(want[np.isfinite(want)]).max(initial=0.0)
    return float(apart.max(initial=0.0)), allowed * max(1e-30, float(largest))
