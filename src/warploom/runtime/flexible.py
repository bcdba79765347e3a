"""Functions of the caller in a kernel: lifted, and their captured tensors given with every call.

A function is lifted once; a later call with the same function, or with another one that reads the
same source and captures equal things, finds the kernels made for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from warploom.errors import KernelCallError
from warploom.frontend.closures import Lifted, held, lift
from warploom.runtime.attention_checks import usual_scale
from warploom.runtime.kernel_calls import Calls
from warploom.runtime.tensors import is_torch

MOST_KEPT = 256  # sets of functions whose kernels are kept
WIDE = {"int64": "int32", "int16": "int32", "uint8": "int32", "bool": "int32", "float64": "float32"}
Key = tuple[int, tuple[tuple[str, Lifted], ...], tuple[tuple[str, int], ...]]


def flexible(
    calls: Calls,
    score: Callable[..., Any] | None,
    visible: object | None,
    options: tuple[Any, ...],
    sinks: Any | None = None,  # noqa: ANN401
) -> tuple[Calls, tuple[Any, ...], tuple[Any, ...]]:
    """Calls of a kernel with these functions, its options, and the tensors they capture."""
    wanted = {"score": score, "visible": _mask(visible), "sink": _sink(sinks)}
    lifted, tensors = _lifted({n: f for n, f in wanted.items() if f is not None})
    key = (id(calls), tuple(lifted.items()), tuple((n, len(t.shape)) for n, t in tensors.items()))
    found = _CALLS.get(key)
    if found is None:
        tile_kernel = calls.tile_kernel.with_lifted(lifted, dict(key[2]))
        with _LOCK:
            empty = {"summed": calls.summed, "counted": calls.counted}
            given: dict[str, Any] = {"check": calls.check, "usual": usual_scale, **empty}
            found = _CALLS[key] = Calls(tile_kernel, calls.spelled, **given)
            while len(_CALLS) > MOST_KEPT:
                del _CALLS[next(iter(_CALLS))]
    types, choices, *rest = options
    return found, (types, (*choices, *lifted.items()), *rest), tuple(map(_fit, tensors.values()))


def captured(score: Callable[..., Any] | None, visible: object | None) -> tuple[Any, ...]:
    """The tensors these functions capture."""
    wanted = {"score": score, "visible": _mask(visible)}
    return tuple(_lifted({n: f for n, f in wanted.items() if f is not None})[1].values())


def _mask(visible: object | None) -> Callable[..., Any] | None:
    """A mask function, or that of a FlexAttention block mask."""
    own = getattr(visible, "mask_mod", visible)
    if own is not None and not callable(own):
        raise KernelCallError(
            f"visible is a {type(visible).__name__}",
            where="argument visible",
            fix="a function of (batch, head, query, key), or a BlockMask",
        )
    return own


def _sink(sinks: Any | None) -> Callable[..., Any] | None:  # noqa: ANN401
    """The score of the key without a value, by head."""
    if sinks is None:
        return None

    def sink(head: Any) -> Any:  # noqa: ANN401
        return sinks[head]

    return sink


def _lifted(
    functions: dict[str, Callable[..., Any]],
) -> tuple[dict[str, Lifted], dict[str, Any]]:
    """Lift; what was lifted before is found by the functions and what their cells hold now."""
    found: Any = _LIFTED
    try:
        for function in functions.values():
            found = found.setdefault(function, WeakKeyDictionary())
    except TypeError:  # something that cannot be told apart from others
        return lift(functions)
    names = tuple(functions)
    known, now = found.get(_LAST), list(held(functions.values()))
    if known is not None and known[0] == names and _alike(known[1], now):
        return known[2]  # type: ignore[no-any-return]
    result = lift(functions)
    with _LOCK:
        found[_LAST] = (names, now, result)
    return result


def _alike(known: list[Any], now: list[Any]) -> bool:
    return len(known) == len(now) and all(a is b for a, b in zip(known, now, strict=True))


def _fit(tensor: Any) -> Any:  # noqa: ANN401
    """A captured tensor as kernels read it: i32 or a float of at most 32 bits, with an axis."""
    if not is_torch(tensor):
        return tensor
    kind = WIDE.get(str(tensor.dtype).removeprefix("torch."))
    if kind is not None:
        tensor = tensor.int() if kind == "int32" else tensor.float()
    return tensor if len(tensor.shape) else tensor.reshape(1)


class _Last:
    """The key under which the last lifting of a chain of functions is kept."""


_LAST = _Last()
_LOCK = threading.Lock()
_CALLS: dict[Key, Calls] = {}
_LIFTED: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
