"""Which elements of an output the author's kernel stores, from its tile IR alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from warploom.ir.tile import (
    At,
    Broadcast,
    Const,
    Fn,
    Kernel,
    Loop,
    Op,
    Pointwise,
    Position,
    Size,
    Store,
    Walk,
)

_FUNCTIONS: dict[Fn, Callable[[int, int], int]] = {
    Fn.ADD: lambda a, b: a + b,
    Fn.SUB: lambda a, b: a - b,
    Fn.MUL: lambda a, b: a * b,
    Fn.MIN: min,
    Fn.MAX: max,
}


def declared_elements(
    kernel: Kernel, tensor: str, sizes: Mapping[str, int], shape: tuple[int, ...]
) -> Any:  # noqa: ANN401 (NumPy's own)
    """True for the elements that some store of the kernel covers.

    An index that is a variable covers its axis. One that is a number covers one element for each
    value of the grid's unit variables, and nothing where it lies outside. Where a number is not a
    function of these, the kernel's own sizes decide, and nothing is demanded here.
    """
    result = np.zeros(shape, bool)
    ops = list(_all(kernel.ops))
    made = {op.result.name: op for op in ops if hasattr(op, "result")}
    units = [v for v in kernel.grid.vars if kernel.var(v).walk is not Walk.TILE]
    ranges = [range(sizes[kernel.var(v).axis]) for v in units]
    stores = [op for op in ops if isinstance(op, Store) and op.tensor == tensor]
    for values in product(*ranges):
        place = dict(zip(units, values, strict=True))
        for op in stores:
            index = [
                _index(kernel, made, a, place, sizes, n) for a, n in zip(op.at, shape, strict=True)
            ]
            if all(i is not None for i in index):
                result[tuple(index)] = True
    return result


def _all(ops: tuple[Op, ...]) -> Iterator[Op]:
    for op in ops:
        yield op
        if isinstance(op, Loop):
            yield from _all(op.body)


def _index(
    kernel: Kernel,
    made: Mapping[str, Op],
    at: At,
    place: Mapping[str, int],
    sizes: Mapping[str, int],
    length: int,
) -> int | slice | None:
    """One element, all of an axis, or None: outside, or no number of the grid."""
    if at.var is not None:
        return place.get(at.var, slice(None))
    number = _number(kernel, made, at.value or "", place, sizes)
    return number if number is not None and 0 <= number < length else None


def _number(
    kernel: Kernel,
    made: Mapping[str, Op],
    name: str,
    place: Mapping[str, int],
    sizes: Mapping[str, int],
) -> int | None:
    match made.get(name):
        case Const(value=value):
            return int(value)
        case Size(tensor=tensor, axis=axis):
            return -(-sizes[axis] // kernel.tensor(tensor).axis(axis).per)
        case Position(var=var):
            return place.get(var)
        case Broadcast(arg=arg):
            return _number(kernel, made, arg, place, sizes)
        case Pointwise(fn=fn, args=args) if fn in _FUNCTIONS:
            a, b = (_number(kernel, made, x, place, sizes) for x in args)
            return None if a is None or b is None else _FUNCTIONS[fn](a, b)
        case _:
            return None
