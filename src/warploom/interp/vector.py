"""Vector work of the interpreter: fragments by thread, with the hardware's own register layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from warploom.document.rings import BufferCopy
from warploom.errors import InterpreterError
from warploom.interp.arithmetic import Array, index, pointwise, round_to
from warploom.ir import operations as ops
from warploom.ir.expr import Function, IntExpr, Sym, SymKind, inlined
from warploom.kernel.types import DType

ROW = Sym(SymKind.ELEMENT, "row")
COL = Sym(SymKind.ELEMENT, "col")


class Runner(Protocol):
    """Who executes vector work: symbols in scope, memory, registers."""

    values: dict[Sym, int]
    functions: Mapping[str, Function]
    fragments: Fragments

    @property
    def memory(self) -> dict[str, Array]:
        """Tensors, by name."""
        ...

    @property
    def scalars(self) -> Mapping[str, float]:
        """Scalars of the call, by name."""
        ...

    def registers(self, array: str, register: Array, own: dict[Sym, Any]) -> Array:
        """Elements of a register array, as the hardware lays them out."""
        ...

    def staging(self, target: BufferCopy) -> Array:
        """A staging copy, as ordinary writes see it."""
        ...


@dataclass
class Fragments:
    """Index arrays of fragment layouts, computed once for each layout of an instance.

    ``fixed`` are symbols with one value, ``threads`` those that run over the instance.
    """

    fixed: dict[Sym, int]
    threads: tuple[tuple[Sym, int], ...]
    known: dict[ops.FragmentLayout, dict[Sym, Any]] = field(default_factory=dict)

    def of(self, layout: ops.FragmentLayout) -> dict[Sym, Any]:
        """Thread and element symbols of a layout as arrays that broadcast."""
        if layout not in self.known:
            ranges = [*self.threads]
            ranges += [(Sym(SymKind.FRAGMENT, i.name), i.extent) for i in layout.indices]
            values: dict[Sym, Any] = dict(self.fixed)
            for n, (name, extent) in enumerate(ranges):
                shape = [1] * len(ranges)
                shape[n] = extent
                values[name] = np.arange(extent).reshape(shape)
            full = tuple(extent for _, extent in ranges)
            for symbol, expr in ((ROW, layout.row), (COL, layout.col)):
                values[symbol] = np.broadcast_to(index(expr, values), full)
            self.known[layout] = values
        return self.known[layout]


def run_body(run: Runner, op: ops.Vector) -> None:  # noqa: C901 (one line a kind)
    """All elements of a fragment at once."""
    own = run.fragments.of(op.layout)
    places = {**run.values, **own}
    shape = own[ROW].shape
    values: dict[str, Any] = {}

    def at(expr: IntExpr) -> Any:  # noqa: ANN401 (numbers or arrays)
        return index(inlined(expr, run.functions), places)

    for step in op.body:
        match step:
            case ops.VectorConst():
                values[step.result] = _number(step.value, step.dtype)
            case ops.VectorScalar():
                values[step.result] = _number(run.scalars[step.parameter], step.dtype)
            case ops.VectorIndex():
                values[step.result] = np.asarray(at(step.value), np.int64)
            case ops.VectorRegister():
                register = np.broadcast_to(index(op.layout.register, own), shape)
                values[step.result] = run.registers(step.array, register, own)
            case ops.VectorLoad():
                memory = run.memory[step.tensor]
                values[step.result] = _load(memory, step, at, shape)
            case ops.VectorPointwise():
                args = [values[a] for a in step.args]
                values[step.result] = pointwise(step.fn, args, step.dtype)
            case ops.VectorStage():
                target = run.staging(step.target)
                rows, cols = (np.broadcast_to(at(x), shape) for x in (step.row, step.col))
                warps = np.broadcast_to(own[Sym(SymKind.THREAD, "warp")], shape)
                check_inside(target.shape, (warps, rows, cols), None, f"staging {op.op}")
                made = round_to(np.broadcast_to(values[step.value], shape), step.dtype)
                target[warps, rows, cols] = made
            case ops.VectorStore():
                _store(run.memory[step.tensor], step, at, values[step.value], shape)


def _number(value: float, dtype: DType) -> Any:  # noqa: ANN401 (a NumPy number)
    return round_to(np.asarray(value), dtype)


def _load(memory: Array, step: ops.VectorLoad, at: Any, shape: tuple[int, ...]) -> Array:  # noqa: ANN401
    places = [np.broadcast_to(at(x), shape) for x in step.at]
    inside = None if step.predicate is None else np.broadcast_to(at(step.predicate), shape)
    check_inside(memory.shape, tuple(places), inside, f"a load of {step.tensor}")
    if inside is None:
        found: Array = memory[tuple(places)]
        return found
    held = [np.where(inside, p, 0) for p in places]
    if memory.size == 0:
        return np.zeros(shape, memory.dtype)
    return np.where(inside, memory[tuple(held)], np.zeros((), memory.dtype))


def _store(
    memory: Array,
    step: ops.VectorStore,
    at: Any,  # noqa: ANN401
    value: Any,  # noqa: ANN401
    shape: tuple[int, ...],
) -> None:
    places = [np.broadcast_to(at(x), shape) for x in step.at]
    inside = None if step.predicate is None else np.broadcast_to(at(step.predicate), shape)
    check_inside(memory.shape, tuple(places), inside, f"a store to {step.tensor}")
    made = round_to(np.broadcast_to(value, shape), step.dtype)
    if inside is not None:
        places, made = [p[inside] for p in places], made[inside]
    if step.add:
        np.add.at(memory, tuple(places), made)
    else:
        memory[tuple(places)] = made


def check_inside(
    shape: tuple[int, ...], places: tuple[Array, ...], where: Array | None, what: str
) -> None:
    """Every index that counts lies in its axis."""
    for axis, (length, place) in enumerate(zip(shape, places, strict=True)):
        outside = (np.asarray(place) < 0) | (np.asarray(place) >= length)
        if where is not None:
            outside = outside & where
        if np.any(outside):
            bad = int(np.asarray(place)[outside].flat[0])
            raise InterpreterError(
                f"{what}: index {bad} of axis {axis}, which has {length} elements",
                why="the access lies outside of its tensor",
                fix="the coordinate or the predicate of the operation in the module",
            )
