"""The NumPy meaning of a kernel: what it computes, tile structure ignored.

Values extend over what exists: a variable's last tile or step covers only the elements that are
there, so padding never influences a result. How many elements a tile or step has (``extents``) must
not matter but for rounding; rows and columns are taken whole unless told otherwise, loops go by
their stated step or 64.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from warploom.dataclass import dataclass
from warploom.frontend.arguments import check_scalars, inputs_of, lengths_of, output_of
from warploom.frontend.pointwise import FUNCTIONS, Array, rounded
from warploom.ir import tile as ir
from warploom.ir.elementwise import REDUCTIONS
from warploom.ir.tile import Access, Fn, Kernel, Op, Walk, is_number

STEP = 64
IN_MEMORY: dict[Fn, Any] = {fn: FUNCTIONS[fn] for fn in REDUCTIONS}
Span = tuple[int, int]  # the elements of its axis a variable covers: first, and one after the last


def reference(
    kernel: Kernel,
    arrays: tuple[object, ...],
    scalars: Mapping[str, float],
    *,
    exact: bool = True,
    extents: Mapping[str, int] | None = None,
    sizes: Mapping[str, int] | None = None,
    initial: Mapping[str, object] | None = None,
) -> Array | tuple[Array, ...]:
    """What the kernel stores, for its inputs in order.

    Args:
        kernel: the kernel.
        arrays: its inputs (offsets of groups among them), in the order of its tensors.
        scalars: its parameters, by name.
        exact: compute in float64; else each result is rounded to its declared type.
        extents: elements a tile or step, by variable.
        sizes: sizes of axes that no input has.
        initial: what outputs that are added to hold before; 0 where not given.
    """
    run = start(kernel, arrays, scalars, exact=exact, extents=extents, sizes=sizes, initial=initial)
    memory = run.memory
    with np.errstate(all="ignore"):
        for spans in tiles_of(run):
            run.spans = spans
            run.values = {}
            run.ops(kernel.ops)
    outputs = tuple(memory[t.name] for t in kernel.tensors if t.access is Access.OUT)
    return outputs[0] if len(outputs) == 1 else outputs


def start(
    kernel: Kernel,
    arrays: tuple[object, ...],
    scalars: Mapping[str, float],
    *,
    exact: bool,
    extents: Mapping[str, int] | None,
    sizes: Mapping[str, int] | None,
    initial: Mapping[str, object] | None,
) -> Run:
    """An evaluation before its first tile."""
    given = inputs_of(kernel, arrays, exact=exact)
    check_scalars(kernel, scalars)
    lengths = lengths_of(kernel, given, sizes or {})
    memory = dict(given)
    for tensor in kernel.tensors:
        if tensor.access is Access.OUT:
            memory[tensor.name] = output_of(kernel, tensor, lengths, initial or {})
    return Run(kernel, memory, lengths, dict(scalars), exact, dict(extents or {}))


@dataclass(slots=True)
class Run:
    """One evaluation: memory, sizes of axes, and the values of the tile at hand."""

    kernel: Kernel
    memory: dict[str, Array]
    lengths: dict[str, int]
    scalars: dict[str, float]
    exact: bool
    extents: dict[str, int]
    spans: dict[str, Span] = field(default_factory=dict)
    values: dict[str, tuple[tuple[ir.Dim, ...], Array]] = field(default_factory=dict)
    whole: bool = False
    trace: list[tuple[ir.Value, dict[str, Span], Array]] | None = None  # every value, in order

    def ops(self, ops: tuple[Op, ...]) -> None:
        """Evaluate ops in order."""
        for op in ops:
            if isinstance(op, ir.Loop):
                self.loop(op)
            elif isinstance(op, ir.Store):
                self.store(op)
            else:
                self.keep(op.result, self.compute(op))

    def keep(self, value: ir.Value, array: Array) -> None:
        """Give a value its array."""
        if not self.exact or not value.dtype.is_float:
            array = rounded(array, value.dtype)
        self.values[value.name] = (value.dims, array)
        if self.trace is not None:
            self.trace.append((value, dict(self.spans), array))

    def compute(self, op: Op) -> Array:  # noqa: C901, PLR0911, PLR0912 (one line a kind)
        """What an op makes."""
        match op:
            case ir.Const():
                return np.asarray(op.value)
            case ir.Scalar():
                return np.asarray(self.scalars[op.parameter])
            case ir.Size():
                axis = self.kernel.tensor(op.tensor).axis(op.axis)
                return np.asarray(-(-self.lengths[op.axis] // axis.per))
            case ir.Position():
                return np.asarray(self.spans[op.var][0])
            case ir.Indices():
                return np.arange(*self.spans[op.var])
            case ir.Whole():
                return np.asarray(self.whole)
            case ir.Broadcast():
                shape = tuple(self.length(d) for d in op.result.dims)
                return np.broadcast_to(self.over(op.arg, op.result.dims), shape)
            case ir.Load():
                return self.load(op) if op.end is None else self.ended(op, op.end)
            case ir.Transpose():
                return self.values[op.arg][1].T
            case ir.Pointwise():
                args = [self.over(a, op.result.dims) for a in op.args]
                shape = tuple(self.length(d) for d in op.result.dims)
                if op.code is not None:
                    made = np.asarray(op.code.meaning(*args))
                else:
                    made = args[0] if op.fn is Fn.CAST else FUNCTIONS[op.fn](*args)
                return np.broadcast_to(made, shape)
            case ir.Reduce():
                return self.reduce(op)
            case ir.Scan():
                return self.scan(op)
            case ir.Dot():
                made = product(self.values[op.a][1], self.values[op.b][1])
                return made + self.values[op.into][1] if op.into else made
            case _:
                raise AssertionError(op)

    def ended(self, op: ir.Load, end: str) -> Array:
        """A load without rows from a number on."""
        rows = np.arange(*self.spans[op.result.vars[0]])[:, None]
        return np.where(rows < self.values[end][1], self.load(op), 0)

    def length(self, dim: ir.Dim) -> int:
        """How many elements an axis of a value has."""
        first, end = self.spans[dim.var]
        return max(0, -(-end // dim.per) - first // dim.per) if end > first else 0

    def over(self, name: str, dims: tuple[ir.Dim, ...]) -> Array:
        """A value brought to a shape, by the names of its axes."""
        own, array = self.values[name]
        at = {d.var: i for i, d in enumerate(own)}
        array = np.transpose(array, [at[d.var] for d in dims if d.var in at])
        index: list[Any] = []
        for dim in dims:
            if dim.var not in at:
                index.append(None)
                continue
            per = own[at[dim.var]].per
            if per == dim.per:
                index.append(slice(None))
                continue
            first, end = self.spans[dim.var]
            fine = np.arange(first // dim.per, -(-end // dim.per)) * dim.per // per
            array = np.take(array, fine - first // per, axis=sum(i is not None for i in index))
            index.append(slice(None))
        result: Array = array[tuple(index)]
        return result

    def reduce(self, op: ir.Reduce) -> Array:
        """A reduction along one axis."""
        dims, array = self.values[op.arg]
        axis = [d.var for d in dims].index(op.over)
        row = REDUCTIONS[op.fn]
        first = row.identity_int if array.dtype.kind == "i" else row.identity
        start = {"initial": first} if first else {}  # sums begin with their first element
        result: Array = row.numpy(np).reduce(array, axis=axis, **start)
        return result

    def scan(self, op: ir.Scan) -> Array:
        """A running sum or extreme along one axis."""
        dims, array = self.values[op.arg]
        axis = [d.var for d in dims].index(op.over)
        array = np.flip(array, axis) if op.reverse else array
        made: Array = IN_MEMORY[op.fn].accumulate(array, axis=axis)
        return np.flip(made, axis) if op.reverse else made

    # ---- memory ------------------------------------------------------------------------------

    def place(self, tensor: ir.Tensor, i: int, at: ir.At) -> tuple[Array, bool]:
        """Element numbers along one axis, and whether they make an axis of the value."""
        if at.value is not None:
            dims, array = self.values[at.value]
            return array.reshape(-1).astype(np.int64), bool(dims)
        assert at.var is not None
        axis, var = tensor.axes[i], self.kernel.var(at.var)
        first, end = self.spans[at.var]
        numbers = np.arange(
            first // axis.per, -(-end // axis.per) if end > first else first // axis.per
        )
        extends = not is_number(var) and not _is_one_block(var, axis.per)
        return (numbers if extends else numbers[:1]), extends

    def places(
        self, tensor: ir.Tensor, ats: tuple[ir.At, ...]
    ) -> tuple[list[Array], list[int], Array]:
        """Element numbers, the axes that stay, and which elements exist."""
        found = [self.place(tensor, i, a) for i, a in enumerate(ats)]
        array = self.memory[tensor.name]
        keep = [i for i, (_, extends) in enumerate(found) if extends]
        inside = np.ones((), bool)
        for (numbers, _), size in zip(found, array.shape, strict=True):
            inside = np.logical_and.outer(inside, (numbers >= 0) & (numbers < size))
        return [numbers for numbers, _ in found], keep, inside

    def load(self, op: ir.Load) -> Array:
        """A tile of a tensor, 0 outside it."""
        tensor = self.kernel.tensor(op.tensor)
        array = self.memory[op.tensor]
        shapes = {name: dims for name, (dims, _) in self.values.items()}
        if tensor.captured or ir.merges_indices(op.at, shapes):
            return self.picked(op, array)
        numbers, keep, inside = self.places(tensor, op.at)
        shape = tuple(len(numbers[i]) for i in keep)
        if inside.size == 0 or array.size == 0:
            return np.zeros(shape, array.dtype)
        clipped = [np.clip(n, 0, s - 1) for n, s in zip(numbers, array.shape, strict=True)]
        return np.where(inside, array[np.ix_(*clipped)], 0).reshape(shape)

    def picked(self, op: ir.Load, array: Array) -> Array:
        """Elements of a captured tensor, each index with the axes it has itself."""
        shape = tuple(self.length(d) for d in op.result.dims)
        numbers = [self.number(at, op.result.dims) for at in op.at]
        inside = np.ones(shape, bool)
        for n, size in zip(numbers, array.shape, strict=True):
            inside = inside & (n >= 0) & (n < size)
        if not inside.any():
            return np.zeros(shape, array.dtype)
        clipped = [np.clip(n, 0, s - 1) for n, s in zip(numbers, array.shape, strict=True)]
        return np.where(inside, np.broadcast_to(array[tuple(clipped)], shape), 0)

    def number(self, at: ir.At, dims: tuple[ir.Dim, ...]) -> Array:
        """An index, spread over the axes of a value."""
        if at.value is not None:
            return self.over(at.value, dims).astype(np.int64)
        own = np.arange(*self.spans[at.var or ""])
        if all(d.var != at.var for d in dims):  # one element at a time
            return own[:1].reshape([1] * len(dims))
        return own.reshape([-1 if d.var == at.var else 1 for d in dims])

    def store(self, op: ir.Store) -> None:
        """Write the elements that exist."""
        if op.when is not None and not self.values[op.when][1]:
            return
        tensor = self.kernel.tensor(op.tensor)
        array = self.memory[op.tensor]
        shapes = {name: dims for name, (dims, _) in self.values.items()}
        if ir.merges_indices(op.at, shapes):
            self.store_merged(op, tensor, array)
            return
        numbers, _, inside = self.places(tensor, op.at)
        value = self.values[op.value][1]
        if not tensor.dtype.is_float:
            value = rounded(value, tensor.dtype)
        value = np.broadcast_to(value.reshape(inside.shape), inside.shape)
        where = tuple(n[inside] for n in np.meshgrid(*numbers, indexing="ij"))
        if op.add:
            IN_MEMORY[op.fn].at(array, where, value[inside])
        else:
            array[where] = value[inside]
        if not self.exact:
            array[where] = rounded(array[where], tensor.dtype)

    def store_merged(self, op: ir.Store, tensor: ir.Tensor, array: Array) -> None:
        """Each element of a value where its indices say: ``out[m, target[m]] = v``."""
        dims, value = self.values[op.value]
        if not tensor.dtype.is_float:
            value = rounded(value, tensor.dtype)
        shape = tuple(self.length(d) for d in dims)
        numbers = [np.broadcast_to(self.number(at, dims), shape) for at in op.at]
        inside = np.ones(shape, bool)
        for n, size in zip(numbers, array.shape, strict=True):
            inside &= (n >= 0) & (n < size)
        where = tuple(n[inside] for n in numbers)
        if op.add:
            IN_MEMORY[op.fn].at(array, where, value[inside])
        else:
            array[where] = value[inside]
        if not self.exact:
            array[where] = rounded(array[where], tensor.dtype)

    # ---- loops -------------------------------------------------------------------------------

    def loop(self, op: ir.Loop) -> None:
        """The steps between its bounds."""
        first = int(self.values[op.start][1]) if op.start else 0
        var = self.kernel.var(op.var)
        end = self.lengths[var.axis]
        if op.until:
            end = min(end, int(self.values[op.until][1]))
        now = {c.inside.name: self.values[c.first] for c in op.carried}
        step = self.extents.get(op.var, var.extent or STEP)
        every = [(at, False) for at in range(max(0, first), end, step)]
        for at, whole in self.listed(op, step) if op.lists else every:
            self.whole = whole
            self.spans[op.var] = (at, min(at + step, end))
            self.values |= now
            self.ops(op.body)
            now = {c.inside.name: self.values[c.last] for c in op.carried}
            if op.stop and bool(self.values[op.stop][1]):
                break
        for c in op.carried:
            self.values[c.result.name] = now[c.inside.name]

    def listed(self, op: ir.Loop, step: int) -> list[tuple[int, bool]]:
        """Where the listed tiles of a loop begin, and whether they hide nothing."""
        result: list[tuple[int, bool]] = []
        walked = {self.kernel.var(n).axis: self.spans[n] for n in self.kernel.grid.vars}
        for tiles in op.lists:
            at = tuple(walked[a.name][0] // a.per for a in self.kernel.tensor(tiles.counts).axes)
            count = int(self.memory[tiles.counts][at])
            numbers = self.memory[tiles.tensor][at][:count]
            if op.share:
                part, parts = (int(self.values[n][1]) for n in op.share)
                each = -(-max(0, count) // max(1, parts))
                numbers = numbers[part * each : (part + 1) * each]
            result += [(int(n) * step, tiles.whole) for n in numbers]
        return result


def _is_one_block(var: ir.Var, per: int) -> bool:
    """Whether a step lies in one block, so that its blocks make no axis."""
    if var.walk is not Walk.STEP or var.extent is None:
        return False
    return var.extent == 1 or (per >= var.extent and per > 1)


def tiles_of(run: Run) -> Iterator[dict[str, Span]]:
    """The spans of the grid's variables, tile by tile."""
    kernel = run.kernel
    whole = {v.name: (0, run.lengths[v.axis]) for v in kernel.vars if v.walk is Walk.WHOLE}
    if kernel.grid.kind == "groups":
        group, *rest = kernel.grid.vars
        starts = run.memory[kernel.grid.starts[0]]
        row = next(v for v in rest if kernel.var(v).walk is Walk.TILE)
        for number in range(len(starts) - 1):
            bounds = {row: (int(starts[number]), int(starts[number + 1]))}
            for spans in _product(run, rest, bounds):
                yield {**whole, group: (number, number + 1), **spans}
        return
    for spans in _product(run, list(kernel.grid.vars), {}):
        yield {**whole, **spans}


def _product(run: Run, names: list[str], bounds: Mapping[str, Span]) -> Iterator[dict[str, Span]]:
    parts = []
    for name in names:
        var = run.kernel.var(name)
        first, end = bounds.get(name, (0, run.lengths[var.axis]))
        step = 1 if var.walk is Walk.UNIT else run.extents.get(name, var.extent or end - first)
        parts.append([(at, min(at + step, end)) for at in range(first, end, max(1, step))])
    for spans in itertools.product(*parts):
        yield dict(zip(names, spans, strict=True))


ONE_THREAD = 64 * 64 * 64  # products of a matrix product that BLAS computes without threads


def product(left: Array, right: Array) -> Array:
    """``left @ right`` in parts that this thread computes: tiles of a kernel are small and many,
    and threads that wait for each other take longer than the work.
    """
    rows, inner = left.shape
    columns = max(1, ONE_THREAD // max(1, rows * inner))
    if columns >= right.shape[1]:
        return np.asarray(left @ right)
    parts = [left @ right[:, n : n + columns] for n in range(0, right.shape[1], columns)]
    return np.concatenate(parts, axis=1)
