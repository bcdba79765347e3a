"""Vector work of the interpreter: fragments by thread, with the hardware's own register layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol

import numpy as np

from warploom.dataclass import dataclass
from warploom.errors import InterpreterError
from warploom.interp.arithmetic import Array, floating, index, pointwise, round_to, wrapped
from warploom.ir import operations as ops
from warploom.ir.expr import Function, IntExpr, Sym, SymKind, inlined, symbols
from warploom.ir.rings import BufferCopy
from warploom.ir.types import DType, Fn

ROW = Sym(SymKind.ELEMENT, "row")
COL = Sym(SymKind.ELEMENT, "col")
SHAPE = Sym(SymKind.FRAGMENT, "")  # of the arrays of a layout


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

    def set_registers(self, array: str, register: Array, own: dict[Sym, Any], made: Array) -> None:
        """Write elements of a register array."""
        ...

    def staging(self, target: BufferCopy) -> Array:
        """A staging copy, as ordinary writes see it."""
        ...

    def slot(self, ring: str, part: str, iteration: IntExpr) -> Array:
        """A part of a ring slot, as ordinary reads see it."""
        ...

    def put(self, step: ops.VectorPut, places: tuple[Array, Array], made: Array) -> None:
        """Write elements of a part of a ring slot."""
        ...


@dataclass
class Fragments:
    """Index arrays of fragment layouts, computed once for each layout of an instance.

    ``fixed`` are symbols with one value, ``threads`` those that run over the instance.
    """

    fixed: dict[Sym, int]
    threads: tuple[tuple[Sym, int], ...]
    known: dict[ops.FragmentLayout, dict[Sym, Any]] = field(default_factory=dict)
    plain: dict[int, tuple[IntExpr, IntExpr]] = field(default_factory=dict)

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
            values[SHAPE] = full
            if not _moves(layout):
                for symbol, expr in ((ROW, layout.row), (COL, layout.col)):
                    values[symbol] = np.broadcast_to(index(expr, values), full)
            self.known[layout] = values
        return self.known[layout]

    def inlined(self, expr: IntExpr, functions: Mapping[str, Function]) -> IntExpr:
        """The expression without calls; each is inlined once for these functions."""
        key = id(expr) * 31 + id(functions)
        held = self.plain.get(key)
        if held is None or held[0] is not expr:
            held = expr, inlined(expr, functions)
            self.plain[key] = held
        return held[1]


def run_body(run: Runner, op: ops.Vector) -> None:  # noqa: C901, PLR0912, PLR0915 (one line a kind)
    """All elements of a fragment at once; registers are written after all reads."""
    if not op.body:
        return
    own = run.fragments.of(op.layout)
    places: dict[Sym, Any] = {**run.values, **own}
    shape = own[SHAPE]
    if ROW not in own:  # rows of a kernel without tiles: the layout counts from the tile
        for symbol, expr in ((ROW, op.layout.row), (COL, op.layout.col)):
            places[symbol] = np.broadcast_to(index(expr, places), shape)
    values: dict[str, Any] = {}
    writes: list[tuple[str, Array, Array]] = []
    threads = len(run.fragments.threads)

    def at(expr: IntExpr) -> Any:  # noqa: ANN401 (numbers or arrays)
        return index(run.fragments.inlined(expr, run.functions), places, run.memory)

    for step in op.body:
        match step:
            case ops.VectorConst():
                values[step.result] = _number(step.value, step.dtype)
            case ops.VectorScalar():
                values[step.result] = _number(run.scalars[step.parameter], step.dtype)
            case ops.VectorIndex():
                values[step.result] = np.asarray(at(step.value))
            case ops.VectorRegister():
                register = op.layout.register if step.register is None else step.register
                values[step.result] = run.registers(
                    step.array, np.broadcast_to(at(register), shape), own
                )
            case ops.VectorSlot():
                tile = run.slot(step.ring, step.part, step.iteration)
                rows, cols = (np.broadcast_to(at(x), shape) for x in (step.row, step.col))
                check_inside(tile.shape, (rows, cols), None, f"{step.ring}.{step.part}")
                found = tile[rows, cols]
                values[step.result] = round_to(found, step.dtype) if _whole(step.dtype) else found
            case ops.VectorLoad():
                values[step.result] = _load(run.memory[step.tensor], step, at, shape)
            case ops.VectorPointwise():
                args = [values[a] for a in step.args]
                values[step.result] = pointwise(step.fn, args, step.dtype)
            case ops.VectorReduce():
                arg = np.broadcast_to(values[step.arg], shape)
                values[step.result] = _reduced(step, arg, op.layout, threads)
            case ops.VectorSet():
                register = op.layout.register if step.register is None else step.register
                made = round_to(np.broadcast_to(values[step.value], shape), step.dtype)
                writes.append((step.array, np.broadcast_to(at(register), shape), made))
            case ops.VectorStage():
                target = run.staging(step.target)
                rows, cols = (np.broadcast_to(at(x), shape) for x in (step.row, step.col))
                warps = np.broadcast_to(own[Sym(SymKind.THREAD, "warp")], shape)
                check_inside(target.shape, (warps, rows, cols), None, f"staging {op.op}")
                made = round_to(np.broadcast_to(values[step.value], shape), step.dtype)
                target[warps, rows, cols] = made
            case ops.VectorPut():
                made = round_to(np.broadcast_to(values[step.value], shape), step.dtype)
                if step.predicate is not None:
                    made = np.where(np.broadcast_to(at(step.predicate), shape), made, 0)
                rows, cols = (np.broadcast_to(at(x), shape) for x in (step.row, step.col))
                run.put(step, (rows, cols), made)
            case ops.VectorStore():
                _store(run.memory[step.tensor], step, at, values[step.value], shape)
        name = getattr(step, "result", None)
        if name is not None:
            places[Sym(SymKind.VALUE, name)] = values[name]
    for array, where, made in writes:
        run.set_registers(array, where, own, made)


def _moves(layout: ops.FragmentLayout) -> bool:
    """Whether rows and columns of a layout depend on the tile at hand."""
    own = (SymKind.THREAD, SymKind.FRAGMENT)
    return any(s.kind not in own for e in (layout.row, layout.col) for s in symbols(e))


def _whole(dtype: DType) -> bool:
    return dtype in (DType.I32, DType.I8, DType.I4)


FOLDS = {Fn.ADD: np.add, Fn.MAX: np.fmax, Fn.MIN: np.fmin}


def _reduced(step: ops.VectorReduce, arg: Array, layout: ops.FragmentLayout, threads: int) -> Array:
    """Over fragment indices of a thread, then over lanes, by butterfly shuffles."""
    fold: Any = FOLDS[step.fn]
    whole = step.dtype is DType.I32
    names = [i.name for i in layout.indices]
    axes = tuple(threads + names.index(n) for n in step.over if n in names)
    result = fold.reduce(arg, axis=axes, keepdims=True) if axes else arg
    result = wrapped(result) if whole else np.asarray(result, floating())
    lane = threads - 1
    lanes = np.arange(result.shape[lane])
    with np.errstate(all="ignore"):
        for distance in step.lanes:
            other = np.take(result, lanes ^ distance, axis=lane)
            result = fold(result, other)
            result = wrapped(result) if whole else np.asarray(result, floating())
    return result


def _number(value: float, dtype: DType) -> Any:  # noqa: ANN401 (a NumPy number)
    return round_to(np.asarray(value), dtype)


def _load(memory: Array, step: ops.VectorLoad, at: Any, shape: tuple[int, ...]) -> Array:  # noqa: ANN401
    places = [np.broadcast_to(at(x), shape) for x in step.at]
    inside = None if step.predicate is None else np.broadcast_to(at(step.predicate), shape)
    check_inside(memory.shape, tuple(places), inside, f"a load of {step.tensor}")
    if inside is None:
        result: Array = memory[tuple(places)]
        return result
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
        inside = inside.astype(bool)
        places, made = [p[inside] for p in places], made[inside]
    if step.add:
        np.add.at(memory, tuple(places), made)
        if memory.dtype.kind == "i":
            memory[tuple(places)] = wrapped(memory[tuple(places)])
        else:
            memory[tuple(places)] = round_to(memory[tuple(places)], step.dtype)
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
