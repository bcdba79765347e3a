"""A problem for a kernel, made of its signature: sizes, inputs, work, and a part to check.

Nothing here needs a GPU. Inputs are NumPy arrays already rounded to their types' values.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod, sqrt
from typing import Any

import numpy as np

from warploom.cli.kernels import NamedKernel, assignments
from warploom.cli.visible import visible_flop
from warploom.errors import ConfigError
from warploom.frontend.signature import MISSING, TensorText
from warploom.ir import tile as ir
from warploom.ir.tile import Access, DType, Kernel, Op, Walk
from warploom.ir.types import BLOCK_COLUMNS, BLOCK_ROWS
from warploom.passes.smem_layout import grouped_vars

INTERPRETED = (3, 200, 4)  # sizes of what runs in the interpreter, as below
CHECKED, TIMED = (2, 512, 16), (4, 4096, 256)  # units (batches, heads), elements, chunks or pages
SCALAR = {DType.F32: 0.125, DType.I32: 1}  # what scalars without a default are
WHOLE_WORK = 4e9  # operations up to which everything is checked in NumPy
ROWS = 64  # of a tiled axis that are checked of a larger problem
LIMITS = {DType.BF16: 1e-2, DType.F16: 4e-3, DType.F32: 1e-2}  # relative errors
ROUNDOFF = {DType.BF16: 2.0**-8, DType.F16: 2.0**-11}  # of one operation; others: single precision


@dataclass(frozen=True)
class Problem:
    """A kernel with sizes of all axes, scalars and choices."""

    kernel: NamedKernel
    sizes: Mapping[str, int]
    scalars: Mapping[str, float]
    choices: Mapping[str, object]

    @property
    def words(self) -> str:
        """Sizes, and what was chosen, in words."""
        named = [
            f"{n}={getattr(v, 'name', None) or getattr(v, '__name__', v)}"
            for n, v in self.choices.items()
            if v is not None and v is not False
        ]
        sizes = " ".join(f"{a}={n}" for a, n in self.sizes.items())
        return ", ".join([sizes, self.kernel.dtype, *named])

    @cached_property
    def types(self) -> dict[str, DType]:
        """Element types of the tensors that are used."""
        return self.kernel.types

    @cached_property
    def value(self) -> Kernel:
        """The kernel's value for these types and sizes."""
        without = self.kernel.left_out
        return self.kernel.tile_kernel.value_for(self.types, self.sizes, self.choices, without)

    @cached_property
    def flop(self) -> float:
        """Operations of all products that masks, bounds and groups leave."""
        numbers = {n: self.whole_number_input(n) for n in self.whole_numbers}
        return visible_flop(self.value, self.sizes, numbers)

    @property
    def whole_numbers(self) -> tuple[str, ...]:
        """The inputs of whole numbers: offsets, ends of loops, indices."""
        inputs = self.kernel.tile_kernel.signature.inputs
        return tuple(t.name for t in inputs if not self.types.get(t.name, DType.F32).is_float)

    @cached_property
    def bytes(self) -> float:
        """What tensors take, each counted once."""
        return float(
            sum(
                prod(self.shape(t.name)) * self.types[t.name].bits / 8
                for t in self.kernel.tile_kernel.signature.tensors
                if t.name in self.types
            )
        )

    def _text(self, tensor: str) -> TensorText:
        return next(t for t in self.kernel.tile_kernel.signature.tensors if t.name == tensor)

    def shape(self, tensor: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        text = self._text(tensor)
        more = int(text.access is Access.STARTS)
        return tuple(-(-self.sizes[a.name] // a.per) + more for a in text.axes)

    @property
    def blocked(self) -> frozenset[str]:
        """Outputs that lie in blocks, for a kernel after this one."""
        return frozenset(t.name for t in self.kernel.tile_kernel.signature.outputs if t.blocked)

    def allocated(self, tensor: str) -> tuple[int, ...]:
        """The shape of the memory a tensor lies in: blocks have all their rows."""
        shape = self.shape(tensor)
        if tensor not in self.blocked:
            return shape
        return *shape[:-2], -(-shape[-2] // BLOCK_ROWS) * BLOCK_ROWS, shape[-1]

    def whole_number_input(self, name: str) -> Any:  # noqa: ANN401
        """Offsets of groups, ends of loops, or indices that lie inside every axis."""
        rng = np.random.default_rng(list(name.encode()))
        text = self._text(name)
        shape = self.shape(name)
        axis = self._bounded(name)
        if text.access is Access.STARTS:
            most = self.sizes[axis or text.axes[0].name]
            cuts = np.sort(rng.integers(0, most + 1, shape[0] - 2))
            return np.array([0, *cuts, most])
        if axis is not None:
            return rng.integers(1, self._most_of(axis) + 1, shape)
        return rng.integers(0, min(self.sizes.values()), shape)

    def _most_of(self, axis: str) -> int:
        """The largest end of a loop over an axis; a loop over pages has their elements."""
        deciding = (op for loop in self.value.loops for op in self._deciding(loop))
        pages = {op.axis for op in deciding if isinstance(op, ir.Size) and op.axis != axis}
        return self.sizes[axis] * prod(self.sizes[a] for a in pages)

    def _bounded(self, tensor: str) -> str | None:
        """The axis whose rows a tensor shares out, or whose loop it bounds."""
        kernel = self.value
        if tensor in kernel.grid.starts:
            return kernel.var(grouped_vars(kernel)[1]).axis
        for loop in kernel.loops:
            if any(isinstance(op, ir.Load) and op.tensor == tensor for op in self._deciding(loop)):
                return kernel.var(loop.var).axis
        return None

    def _deciding(self, loop: ir.Loop) -> Iterator[Op]:
        """What a loop's bounds come from."""
        made = {v.name: op for op in ir.walk(self.value.ops) for v in ir.results(op)}
        reach = [b for b in (loop.start, loop.until) if b]
        while reach:
            op = made.get(reach.pop())
            if op is not None:
                yield op
                reach += ir.operands(op)

    @property
    def added(self) -> frozenset[str]:
        """Outputs that are added to, so that they must begin as zeros."""
        return frozenset(
            op.tensor for op in ir.walk(self.value.ops) if isinstance(op, ir.Store) and op.add
        )

    def part(self, rng: np.random.Generator) -> dict[str, Any]:
        """The elements to check, by axis; axes not named are taken whole.

        Only axes along which results do not depend on each other are cut: axes of the grid that
        every output has. Where the kernel asks for positions, the first elements are taken.
        """
        if self.flop <= WHOLE_WORK:
            return {}
        kernel = self.value
        outputs = [t for t in kernel.tensors if t.access is Access.OUT and t.name in self.types]
        fixed = {a.name for t in kernel.tensors for a in t.axes if a.per > 1}
        fixed |= {op.axis for op in ir.walk(kernel.ops) if isinstance(op, ir.Size)}
        fixed |= {a.name for t in kernel.tensors for a in t.axes if t.access is Access.STARTS}
        if kernel.grid.kind == "groups":
            fixed |= {kernel.var(n).axis for n in grouped_vars(kernel)}
        placed = {op.var for op in ir.walk(kernel.ops) if isinstance(op, ir.Position | ir.Indices)}
        result = {}
        for name in kernel.grid.vars:
            axis = kernel.var(name).axis
            everywhere = all(axis in [a.name for a in t.axes] for t in outputs)
            if axis in fixed or not everywhere:
                continue
            size = self.sizes[axis]
            few = min(size, 1 if kernel.var(name).walk is Walk.UNIT else ROWS)
            chosen = np.arange(few) if name in placed else rng.choice(size, few, replace=False)
            result[axis] = np.sort(chosen)
        return result

    def cut(self, tensor: str, array: Any, part: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """The elements of a tensor that a part needs."""
        text = self._text(tensor)
        for i, axis in enumerate(text.axes):
            if axis.name in part and text.access is not Access.STARTS:
                array = array[(slice(None),) * i + (part[axis.name],)]
        return array

    def meaning(self, arrays: Mapping[str, Any]) -> tuple[Any, ...]:
        """What the kernel computes of these inputs, in NumPy and float64."""
        inputs = [t for t in self.kernel.tile_kernel.signature.inputs if t.name in arrays]
        known = {a.name for t in inputs for a in t.axes}
        given: dict[str, Any] = {**arrays, **self.choices, **self.scalars}
        given["sizes"] = {a: n for a, n in self.sizes.items() if a not in known}
        made = self.kernel.tile_kernel.reference(
            types=self.types, without=self.kernel.left_out, **given
        )
        return made if isinstance(made, tuple) else (made,)

    def limit(self, output: str) -> float:
        """The relative error an output may have.

        An output that is added to is rounded after every addition: the errors of n additions have a
        root mean square of about 0.3 sqrt(n) roundoffs, and half of sqrt(n) is allowed on top.
        """
        inputs = {k for n, k in self.types.items() if k.is_float}
        usual = max(LIMITS.get(self.types[output], 1e-2), 1e-2 if DType.BF16 in inputs else 0.0)
        if output not in self.added:
            return usual
        roundoff = ROUNDOFF.get(self.types[output], 2.0**-24)
        return usual + roundoff * sqrt(self.additions(output)) / 2

    def additions(self, output: str) -> int:
        """How many numbers are added into one element at most: every row, where indices say where.

        Groups share the rows out: each row is of one group only.
        """
        kernel = self.value
        shared = {grouped_vars(kernel)[0]} if kernel.grid.kind == "groups" else set()
        axes = {kernel.var(v).axis for v in kernel.grid.vars if v not in shared}
        axes -= {a.name for a in self._text(output).axes}
        return max(1, prod(self.sizes[a] for a in axes))


def in_rows(blocks: Any) -> Any:  # noqa: ANN401 (arrays)
    """What lies in blocks, row by row: a lane of a warp has 2 columns of 2 rows of each block."""
    *outer, rows, columns = blocks.shape
    lanes = (rows // BLOCK_ROWS, columns // BLOCK_COLUMNS, 8, 4, 2, 2)
    apart = blocks.reshape(*outer, *lanes)  # rows, columns, lane / 4, lane % 4, lower half, column
    n = len(outer)
    return apart.transpose(*range(n), *(n + i for i in (0, 4, 2, 1, 3, 5))).reshape(blocks.shape)


def distance(mine: Any, right: Any) -> float:  # noqa: ANN401 (arrays)
    """The relative error in the 2-norm; infinite where what is not finite differs."""
    hidden = ~np.isfinite(right)
    same = (mine == right) | (np.isnan(mine) & np.isnan(right))
    if not same[hidden].all() or not np.isfinite(mine[~hidden]).all():
        return float("inf")
    size = float(np.linalg.norm(right[~hidden]))
    return float(np.linalg.norm(mine[~hidden] - right[~hidden])) / (size or 1.0)


def make_problem(
    kernel: NamedKernel,
    shape: str | None,
    settings: Sequence[str],
    *,
    timed: bool,
    usual: tuple[int, int, int] | None = None,
) -> Problem:
    """The problem a command asks for; what it does not say is a ``usual`` size."""
    scalars, choices = _settings(kernel, settings)
    sizes = _sizes(kernel, shape, choices, usual or (TIMED if timed else CHECKED))
    whole = kernel.tile_kernel.whole_axes(kernel.types, constants=choices, without=kernel.left_out)
    said = tuple((a, n) for a, n in sizes.items() if a in whole)
    kernel = replace(kernel, whole=said, choices=tuple(choices.items()))
    return Problem(kernel, sizes, scalars, choices)


def axes_of(kernel: NamedKernel) -> list[str]:
    """All axes of the tensors used: those of the first output, then the others in order."""
    used = [t for t in kernel.tile_kernel.signature.tensors if t.name not in kernel.left_out]
    ordered = sorted(used, key=lambda t: t.access is not Access.OUT)
    return list(dict.fromkeys(a.name for t in ordered for a in t.axes))


def _sizes(
    kernel: NamedKernel,
    shape: str | None,
    choices: Mapping[str, object],
    usual: tuple[int, int, int],
) -> dict[str, int]:
    axes, given = axes_of(kernel), dict(kernel.whole)
    given |= _parse(shape, axes) if shape else {}
    stated = kernel.whole_sizes(axes) | given
    value = kernel.tile_kernel.value_for(kernel.types, stated, choices, kernel.left_out)
    tiled = {v.axis: 1 for v in value.vars if v.walk in (Walk.TILE, Walk.STEP)}
    tiled |= {v.axis: 2 for v in value.vars if v.walk is Walk.STEP and ir.is_number(v)}
    known = {v.axis: v.extent for v in value.vars if v.walk is Walk.WHOLE}
    sizes = {a: given.get(a) or known.get(a) or usual[tiled.get(a, 0)] for a in axes}
    if {"h", "g"} <= sizes.keys() and "g" not in given:
        sizes["g"] = sizes["h"]
    if {"s", "t"} <= sizes.keys() and "t" not in given:
        sizes["t"] = sizes["s"]
    return sizes


def _parse(text: str, axes: list[str]) -> dict[str, int]:
    """``4096x4096x64`` in the order of the axes, or ``m=4096,k=64``."""
    named = [p.partition("=") for p in text.split(",")]
    if "=" not in text:
        numbers = text.lower().split("x")
        named = [(a, "=", n) for a, n in zip(axes, numbers, strict=False)]
        if len(numbers) > len(axes):
            named = [("", "", "")]
    if not all(a in axes and e and n.isdigit() and int(n) for a, e, n in named):
        raise ConfigError(
            f"{text!r} is no shape",
            where="--shape",
            fix=f"sizes of {', '.join(axes)} as {'x'.join(['128'] * len(axes))}, "
            f"or by name: {axes[0]}=4096,{axes[-1]}=512",
        )
    return {a: int(n) for a, _, n in named}


def _settings(
    kernel: NamedKernel, settings: Sequence[str]
) -> tuple[dict[str, float], dict[str, object]]:
    signature = kernel.tile_kernel.signature
    given: dict[str, Any] = dict(kernel.choices) | assignments(settings, "--set")
    known = [*signature.scalars, *signature.choices]
    for name in given:
        if name not in known:
            raise ConfigError(
                f"{name!r} is no setting of {kernel.tile_kernel.name}",
                where="--set",
                fix=f"NAME=VALUE with one of {', '.join(known) or 'nothing: it has none'}",
            )
    scalars = {
        n: given.get(n, signature.scalar_defaults.get(n, SCALAR[kind]))
        for n, kind in signature.scalars.items()
    }
    choices = {n: given.get(n, d) for n, d in signature.choices.items()}
    missing = [n for n, v in choices.items() if v is MISSING]
    wrong = [n for n, v in scalars.items() if not isinstance(v, int | float)]
    if missing or wrong:
        name = (missing or wrong)[0]
        raise ConfigError(
            f"{kernel.tile_kernel.name} needs a value for {name}",
            where="--set",
            fix=f"--set {name}=...",
        )
    return scalars, choices
