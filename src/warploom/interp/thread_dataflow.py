"""Verify dataflow of thread programs: executed on random elements, and who stores what.

As ``dataflow`` does for roles: the program is evaluated over the real numbers and compared with the
author's kernel to nine digits. While it runs, every access is checked (``interp.threads``), and of
outputs that the kernel stores once, that no element is stored twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from warploom.errors import InterpreterError
from warploom.interp.arithmetic import unrounded
from warploom.interp.dataflow import DataflowReport, NotJudgedError
from warploom.interp.executed import deciding, executed_sizes, verify_executed
from warploom.interp.run import run_module
from warploom.interp.threads import Stores
from warploom.interp.timing import TooLongError
from warploom.ir.expr import Sym, SymKind, evaluate
from warploom.ir.module import KernelModule
from warploom.ir.tile import Kernel, Loop, Op, Position, Store, walk
from warploom.ir.tile_schedule import SMS
from warploom.ir.types import Walk

HOW = "on random elements, unrounded; every access, barrier and store of the threads checked"
MOST_STATEMENTS = 60_000
MOST_TWICE = 6_000  # of the first size class of a compilation; after more there is no second
IN_TURN = 2  # tiles that a CTA takes one after the other
FIRST = 2  # size classes in which rows begin anywhere, and at whole vectors
MANY_SMS = 1 << 40
MORE = 6  # elements; no whole vector


def verify_threads(
    module: KernelModule,
    *,
    classes: int,
    timing: str = "in_order",
    sizes_tried: Sequence[Mapping[str, int]] = (),
) -> DataflowReport:
    """Whether a thread program computes its tile IR, for enumerated size classes; the first of them
    are what every compilation tries: ragged ends, and rows of whole vectors.
    """
    program, kernel = module.threads, module.kernel
    assert program is not None
    sizes = list(sizes_tried) or list(islice(size_classes(module), classes + 1))
    others: range = range(0)
    if not sizes_tried and deciding(kernel):
        others = range(len(sizes), len(sizes) + FIRST)
        sizes += [dict(s) for s in sizes[:FIRST]]
    compiling = not sizes_tried and classes == 1
    done: list[int] = []  # statements executed
    once = stored_once(kernel)

    def run(
        arrays: Mapping[str, Any], scalars: Mapping[str, float], lengths: Mapping[str, int]
    ) -> Mapping[str, Any]:
        def observe(stores: Mapping[str, Stores], executed: int) -> None:
            done.append(executed)
            for name, several in once.items():
                check_stores(name, stores[name], several=several)

        # Of fixed sizes all classes are the same, and yet differ in where rows begin.
        number = next((n for n, s in enumerate(sizes) if s is lengths), 0)
        if compiling and number and (not done or done[0] > MOST_TWICE):
            raise NotJudgedError("the first size class took long enough")
        try:
            with unrounded():
                return run_module(
                    module,
                    arrays,
                    scalars,
                    sizes=lengths,
                    timing=timing,
                    sms=max(1 + 2 * (number > 0), -(-tiles_of(module, lengths) // IN_TURN)),
                    most=MOST_STATEMENTS,
                    observe=observe,
                    rows=number % 2 == 1,  # of every other class they begin at whole vectors
                )
        except TooLongError as error:
            raise NotJudgedError(str(error)) from error

    return verify_executed(
        kernel,
        module.name,
        run,
        sizes,
        dict(program.extents),
        exact=True,
        how=HOW,
        others=others,
    )


def size_classes(module: KernelModule) -> Iterator[dict[str, int]]:
    """Sizes that differ in what happens at edges: twice ragged, few; then one off a tile,
    a tile, a single element, and none.
    """
    program, kernel = module.threads, module.kernel
    assert program is not None
    known = dict(module.request.sizes) if module.request is not None else {}
    extents = dict(program.extents)
    ragged, _, one = executed_sizes(kernel, extents, known)
    yield _listed(module, ragged)
    yield _listed(module, _longer(module, ragged))
    yield _listed(module, one)
    walked = {v.axis: v for v in kernel.vars if v.walk in (Walk.TILE, Walk.STEP)}
    for change in (lambda e: max(1, e - 1), lambda e: e, lambda _: 1, lambda _: 0):
        sizes = dict(ragged)
        for axis, v in walked.items():
            sizes[axis] = change(extents.get(v.name, v.extent or 16))
        yield _listed(module, sizes)


def _longer(module: KernelModule, ragged: Mapping[str, int]) -> dict[str, int]:
    """The same with other ends."""
    kernel = module.kernel
    walked = {v.axis for v in kernel.vars if v.walk in (Walk.TILE, Walk.STEP)}
    pers = {a.name for t in kernel.tensors for a in t.axes if a.per > 1 or a.size is not None}
    return {a: n + MORE * (a in walked - pers) for a, n in ragged.items()}


def tiles_of(module: KernelModule, sizes: Mapping[str, int]) -> int:
    """How many tiles there are, or may be."""
    values = {Sym(SymKind.SIZE, n): v for n, v in sizes.items()}
    return evaluate(module.launch.grid, {**values, SMS: MANY_SMS})


def _listed(module: KernelModule, sizes: dict[str, int]) -> dict[str, int]:
    """An order of tiles names each of them."""
    order = module.kernel.grid.order
    if not order:
        return sizes
    return sizes | {module.kernel.tensor(order).axes[0].name: tiles_of(module, sizes)}


def stored_once(kernel: Kernel) -> dict[str, bool]:
    """Outputs whose elements are stored at most once by the kernel as it was written, and whether
    one thread may store them again: in a loop that its indices do not follow.
    """
    made = {op.result.name: op for op in walk(kernel.ops) if not isinstance(op, Loop | Store)}
    stores: dict[str, list[tuple[Store, frozenset[str]]]] = {}
    for op, around in _stores(kernel.ops, frozenset()):
        stores.setdefault(op.tensor, []).append((op, around))
    result: dict[str, bool] = {}
    for name, all_of in stores.items():
        (op, around), *others = all_of
        indexed: set[str] = set()
        plain = not op.add and not others
        for at, axis in zip(op.at, kernel.tensor(name).axes, strict=True):
            of = made.get(at.value or "")
            plain = plain and axis.per == 1 and (at.value is None or isinstance(of, Position))
            indexed |= {of.var if isinstance(of, Position) else at.var or ""}
        if plain and set(kernel.grid.vars) <= indexed | _alone(kernel):
            result[name] = not around <= indexed
    return result


def _alone(kernel: Kernel) -> set[str]:
    """The variable of groups: rows that differ are of different groups."""
    return {kernel.grid.vars[0]} if kernel.grid.kind == "groups" else set()


def _stores(ops: tuple[Op, ...], around: frozenset[str]) -> Iterator[tuple[Store, frozenset[str]]]:
    for op in ops:
        if isinstance(op, Store):
            yield op, around
        elif isinstance(op, Loop):
            yield from _stores(op.body, around | {op.var})


def check_stores(name: str, made: Stores, *, several: bool) -> None:
    """``InterpreterError`` for an element that is stored more often than the kernel does."""
    wrong = made.shared if several else made.count > 1
    if wrong.any():
        at = tuple(int(x[0]) for x in np.nonzero(wrong))
        how = "by several threads" if made.shared[at] else "twice"
        raise InterpreterError(
            f"element {at} of '{name}' is stored {how}",
            where=name,
            why="the kernel stores it once",
            fix="the predicate or the coordinates of the store in the module",
        )
