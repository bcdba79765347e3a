"""Arguments of public calls beside tensors: names, numbers, tiles, checked where they come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from warploom.errors import BackendError
from warploom.passes.kernel_config import KernelConfig

Meaning = TypeVar("Meaning")


def one_of(word: object, known: Mapping[Any, Meaning], name: str, fix: str = "") -> Meaning:
    """What a word of a few stands for."""
    try:
        return known[word]
    except (KeyError, TypeError):  # TypeError: lists and their like are no keys
        what = f"unknown {name} {word!r}"
    raise BackendError(what, where=f"argument {name}", fix=fix or ", ".join(known))


def number(value: Any, name: str) -> float:  # noqa: ANN401
    """A number as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        what = f"{name} is {value!r}"
    raise BackendError(what, where=f"argument {name}", fix="a number")


def count(value: object, name: str) -> int:
    """A whole number of 1 or more."""
    if not isinstance(value, int) or value < 1:
        raise BackendError(f"{name} is {value!r}", where=f"argument {name}", fix="1 or more")
    return int(value)


def tiles(given: object, name: str) -> KernelConfig | None:
    """Tiles of the caller's choice, if any."""
    if given is None or isinstance(given, KernelConfig):
        return given
    raise BackendError(
        f"{name} is a {type(given).__name__}",
        where=f"argument {name}",
        fix="a KernelConfig, as compiled kernels have it: compiled.choices[0].config",
    )
