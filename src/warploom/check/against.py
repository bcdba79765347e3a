"""What an author's function says a launch should leave in its outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.errors import CheckError

Array = NDArray[Any]
Against = Callable[..., Any]


def expected(
    against: Against, given: Mapping[str, Array], outputs: Mapping[str, tuple[int, ...]]
) -> dict[str, Array]:
    """Arrays by the names of outputs; ``outputs`` has their shapes.

    The function may return one array where there is one output. What it raises, and what it returns
    that is no such thing, is an error of the input.
    """
    found = _called(against, given)
    if not isinstance(found, Mapping):
        if len(outputs) != 1:
            raise CheckError(
                f"against returned {_described(found)} for {len(outputs)} outputs",
                where="against",
                fix=f"return a dict with {', '.join(outputs)}",
            )
        found = {next(iter(outputs)): found}
    result: dict[str, Array] = {}
    for name, value in found.items():
        if name not in outputs:
            raise CheckError(
                f"against returned {str(name)[:80]!r}, which is no output",
                where="against",
                fix=f"outputs are {', '.join(outputs)}",
            )
        result[name] = _array(name, value, outputs[name])
    if not result:
        raise CheckError("against returned no output", where="against")
    return result


def _called(against: Against, given: Mapping[str, Array]) -> Any:  # noqa: ANN401
    try:
        return against(**given)
    except (Exception, SystemExit) as error:
        raise CheckError(
            f"against raised {type(error).__name__}: {str(error)[:200]}",
            where="against",
            why=f"it was called with {', '.join(f'{n} {v.shape}' for n, v in given.items())}",
        ) from error


def _array(name: str, value: Any, shape: tuple[int, ...]) -> Array:  # noqa: ANN401
    try:
        result = np.asarray(value)
    except Exception:  # objects of other libraries raise what they like
        result = np.empty(0, object)
    if result.dtype.kind not in "biuf":
        raise CheckError(
            f"against returned {_described(value)} for {name}",
            where="against",
            fix=f"an array of numbers of shape {shape}",
        )
    if result.ndim == 0 and math.prod(shape) == 1:  # a number for an output of one element
        result = result.reshape(shape)
    if result.shape != shape:
        raise CheckError(
            f"against returned {name} of shape {result.shape}, the launch has {shape}",
            where="against",
        )
    return result


def _described(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return "nothing" if value is None else f"a {type(value).__name__}"
